"""One or two things changed over a range, under several policies, on the same random draws."""

from dlsched.studies.sweep.run import Swept, answer_of, check, planned, run_sweep
from dlsched.studies.sweep.spec import AxisSpec, SweepSpec, read_spec

__all__ = ["AxisSpec", "SweepSpec", "Swept", "answer_of", "check", "planned", "read_spec", "run_sweep"]
