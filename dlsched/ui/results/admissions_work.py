"""Which run and interval the Admissions page shows, and the work that brings the interval back."""

from __future__ import annotations

from typing import Any

from dlsched.policies.registry import find
from dlsched.runner.background import RunTask
from dlsched.store.runs import RunInfo
from dlsched.studies.inspect.admissions import AdmissionsSpec
from dlsched.ui.frame import loaders, session
from dlsched.ui.results.decision_inspector import Replays
from dlsched.workload.studies.smd import sample_server_jobs

POLICIES = AdmissionsSpec.policies
REPLAYS = Replays("admissions", "Admissions", "admit", "interval", POLICIES)


def offer(info: RunInfo) -> None:
    """Show a button that opens the intervals of a run, where its policy admits jobs by intervals."""
    if info.policy in POLICIES:
        why = "Every interval: who got in, what was free, and who would get in under another rule"
        REPLAYS.offer(info, "See who got in", why, "results/admissions.py")


def ask(info: RunInfo, spec: dict[str, Any]) -> None:
    """Have a block of intervals worked out in the background."""
    REPLAYS.ask(spec, loaders.scenario_of(info.run_id))


def run_demo() -> None:
    """Run the three rules on the sample of jobs with parameter servers."""
    sample = sample_server_jobs()
    session.keep(sample)
    session.look_at_run("")
    REPLAYS.work.begin(session.runner().submit([RunTask(sample, key, {}, 0, find(key).label) for key in POLICIES]))
