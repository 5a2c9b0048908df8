"""Steady-state experiments: how long jobs are in the system at which load, under which policy, and how sure that is."""

from dlsched.studies.steady.answer import ChunkTried, Curve, Pair, SteadyAnswer, SteadyPoint
from dlsched.studies.steady.run import run_steady
from dlsched.studies.steady.spec import SteadyPolicy, SteadySpec, read_spec

__all__ = [
    "ChunkTried",
    "Curve",
    "Pair",
    "SteadyAnswer",
    "SteadyPoint",
    "SteadyPolicy",
    "SteadySpec",
    "read_spec",
    "run_steady",
]
