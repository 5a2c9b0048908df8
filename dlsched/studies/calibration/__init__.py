"""Replays of a recorded trace: how near the simulation comes to the waits that were recorded."""

from dlsched.studies.calibration.run import check, default_policies, guess_s, offered_policies, run_calibration
from dlsched.studies.calibration.spec import CalibrationSpec, read_spec

__all__ = [
    "CalibrationSpec",
    "check",
    "default_policies",
    "guess_s",
    "offered_policies",
    "read_spec",
    "run_calibration",
]
