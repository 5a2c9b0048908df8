"""Workload generators, one module a kind or paper. ``draw`` turns a plain specification and a seed into jobs."""

from dlsched.workload.generators.arrivals import gaps_of, hourly_rates_of
from dlsched.workload.generators.gpuaas import GpuaasSpec
from dlsched.workload.generators.load import expected_load, scale_to_load
from dlsched.workload.generators.mix import JobClass, JobMixSpec
from dlsched.workload.generators.modelarts import ModelArtsSpec
from dlsched.workload.generators.registry import KINDS, canonical, draw, parse, plain, speed_of
from dlsched.workload.generators.resample import resample_days
from dlsched.workload.generators.server_jobs import ServerJobsSpec
from dlsched.workload.generators.slotted_jobs import SlottedJobsSpec
from dlsched.workload.generators.training_stream import StreamSpec

__all__ = [
    "KINDS",
    "GpuaasSpec",
    "JobClass",
    "JobMixSpec",
    "ModelArtsSpec",
    "ServerJobsSpec",
    "SlottedJobsSpec",
    "StreamSpec",
    "canonical",
    "draw",
    "expected_load",
    "gaps_of",
    "hourly_rates_of",
    "parse",
    "plain",
    "resample_days",
    "scale_to_load",
    "speed_of",
]
