"""One or two things changed over a range, under several policies, on the same random draws."""

from dlsched.experiments.sweep.changes import CHANGES, Change, change_of, changed
from dlsched.experiments.sweep.run import Swept, check, run_sweep
from dlsched.experiments.sweep.spec import AxisSpec, SweepSpec, read_spec

__all__ = [
    "CHANGES",
    "AxisSpec",
    "Change",
    "SweepSpec",
    "Swept",
    "change_of",
    "changed",
    "check",
    "read_spec",
    "run_sweep",
]
