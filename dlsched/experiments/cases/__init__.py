"""Choices to compare: the scenario with changes under a policy, each over the same random draws."""

from dlsched.experiments.cases.case import Case, Draws
from dlsched.experiments.cases.changes import CHANGES, Change, change_of, changed
from dlsched.experiments.cases.run import Outcome, Played, Task, check_case, plan_of, run_cases

__all__ = [
    "CHANGES",
    "Case",
    "Change",
    "Draws",
    "Outcome",
    "Played",
    "Task",
    "change_of",
    "changed",
    "check_case",
    "plan_of",
    "run_cases",
]
