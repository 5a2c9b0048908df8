"""More quota for a queue: what its jobs gain, which queues lose, and what is stopped or stays unused for it."""

from __future__ import annotations

from dlsched.domain.scenario import Scenario
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.more_quota.answer import MoreQuota
from dlsched.studies.more_quota.run import run_more_quota
from dlsched.studies.more_quota.spec import MoreQuotaSpec, check
from dlsched.studies.more_quota.words import sentence_of
from dlsched.studies.study import Study

__all__ = ["STUDY", "MoreQuotaSpec", "estimate_s", "run_more_quota"]


def estimate_s(spec: MoreQuotaSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds a question takes."""
    runs = (1 + len(spec.queues) * (len(spec.steps) + spec.up_to_nodes)) * len(spec.futures.seeds)
    return runs * (LIST_RUN_S if scenario is None else estimate_run(scenario, spec.policy).seconds)


STUDY = Study(
    kind="more-quota",
    label="More quota",
    page="Queues",
    spec=MoreQuotaSpec,
    answer=MoreQuota,
    check=check,
    run=run_more_quota,
    estimate_s=estimate_s,
    words=sentence_of,
    sources=("studies/more_quota", "studies/inspect/queues", "studies/design", "workload"),
)
