"""Replays of a recorded trace: how near the simulation comes to the waits that were recorded."""

from dlsched.experiments.calibration.question import CalibrationSpec, read_spec
from dlsched.experiments.calibration.run import check, default_policies, guess_s, offered_policies, run_calibration

__all__ = [
    "CalibrationSpec",
    "check",
    "default_policies",
    "guess_s",
    "offered_policies",
    "read_spec",
    "run_calibration",
]
