"""More quota, computed: every choice in the same futures, each different run once."""

from __future__ import annotations

from concurrent.futures import Executor

from dlsched.domain.columns import RESOURCES
from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.store.record import CellStore
from dlsched.studies.design import VariantTask
from dlsched.studies.inspect.queues.run import queues_of_run
from dlsched.studies.more_quota.answer import FutureNumbers, MoreQuota, Outcome
from dlsched.studies.more_quota.spec import MoreQuotaSpec, sides_of
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress


def run_more_quota(
    spec: MoreQuotaSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> MoreQuota:
    """Return what more quota does; a run that fails has its error, the others go on.

    Raises
    ------
    InputError
        A queue without quota or that does not exist, a policy that cannot run, or a question about another scenario.
    """
    before, choices = sides_of(spec, scenario)
    by_side = [side.tasks(scenario) for side in (before, *(side for _, side in choices))]
    tasks = {task.key: task for of_side in by_side for task in of_side}
    results = dict(zip(tasks, run_all([*tasks.values()], numbers_of, executor, progress, noun="run"), strict=True))
    told = [tuple(results[task.key] for task in of_side) for of_side in by_side]
    assert scenario.queues is not None
    return MoreQuota(
        scenario=scenario.content_hash,
        scenario_name=scenario.name,
        resource=next(iter(scenario.queues.resources), RESOURCES[0]),
        before=told[0],
        outcomes=tuple(
            Outcome(choice=choice, numbers=numbers) for (choice, _), numbers in zip(choices, told[1:], strict=True)
        ),
        futures=spec.futures,
    )


def numbers_of(task: VariantTask, progress: Progress | None = None) -> FutureNumbers:
    """Return what is told of one run; its error where it fails."""
    try:
        run = task.run(progress)
        answer = queues_of_run(run)
    except DlschedError as error:
        return FutureNumbers(wait_p95_s={}, error=str(error))
    return FutureNumbers(
        wait_p95_s={one.queue: one.wait_p95_s for one in answer.queues},
        stopped=answer.stopped,
        lost_h=answer.total("lost_h"),
        idle_h=answer.total("idle_h"),
        makespan_s=run.metrics.get("makespan"),
    )
