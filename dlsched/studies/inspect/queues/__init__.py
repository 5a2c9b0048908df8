"""Queues of a run with quotas: re-executed, as quotas over time, stopped jobs, waits by cause and shares."""

from __future__ import annotations

from dlsched.domain.scenario import Scenario
from dlsched.studies.estimate import estimate_run
from dlsched.studies.inspect.queues.answer import Queues
from dlsched.studies.inspect.queues.run import queues_of_run, run_queues
from dlsched.studies.inspect.queues.spec import QueuesSpec
from dlsched.studies.inspect.queues.words import sentence_of
from dlsched.studies.inspect.re_execute import check_scenario
from dlsched.studies.study import Study, one_piece

__all__ = ["STUDY", "QueuesSpec", "queues_of_run", "run_queues"]

RUN_S = 2.0


def estimate_s(spec: QueuesSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds a run takes once more."""
    return RUN_S if scenario is None else estimate_run(scenario, spec.policy).seconds


STUDY = Study(
    kind="queues",
    label="Queues",
    page="Queues",
    spec=QueuesSpec,
    answer=Queues,
    check=check_scenario,
    run=one_piece(run_queues),
    estimate_s=estimate_s,
    words=sentence_of,
    sources=("studies/inspect/queues",),
)
