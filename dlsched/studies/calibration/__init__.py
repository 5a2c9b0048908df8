"""Replays of a recorded trace: how near the simulation comes to the waits that were recorded."""

from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.calibration.run import check, default_policies, estimate_s, offered_policies, run_calibration
from dlsched.studies.calibration.spec import CalibrationSpec
from dlsched.studies.calibration.words import sentence
from dlsched.studies.study import Study

__all__ = [
    "STUDY",
    "CalibrationSpec",
    "check",
    "default_policies",
    "offered_policies",
    "read_spec",
    "run_calibration",
]

STUDY = Study(
    kind="calibration",
    label="Calibration",
    page="Jobs",
    spec=CalibrationSpec,
    answer=Calibration,
    check=check,
    run=run_calibration,
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/calibration",),
)
read_spec = STUDY.read_spec
