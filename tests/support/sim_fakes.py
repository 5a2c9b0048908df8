"""Small scenarios and policies for tests of the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.plan import Allocation, Plan, Share, Step, run_on
from dlsched.domain.policy import ListRule, ReviewRule
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.state import State
from dlsched.domain.workload import Workload
from dlsched.sim.engine import run_engine
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import prepare


def jobs(*rows: tuple[float, float, int], **columns: Any) -> Workload:
    """Return jobs "a", "b", ... of (submit_s, work, workers) with one GPU a worker."""
    names = [chr(ord("a") + number) if number < 26 else f"j{number}" for number in range(len(rows))]
    submit_s, work, workers = zip(*rows, strict=True)
    given = {"job_id": names, "submit_s": submit_s, "work": work, "workers": workers}
    return Workload.from_columns({**given, **columns})


def nodes(count: int = 1, gpus: int = 8, absences: Iterable[Absence] = (), **vm: Any) -> Cluster:
    """Return equal fixed nodes."""
    return Cluster(pools=(Pool(vm=VmType(name="vm", gpus=gpus, **vm), count=count),), absences=tuple(absences))


def scenario(workload: Workload, cluster: Cluster | None = None, speed: str = "rigid", **options: Any) -> Scenario:
    """Return a scenario on one 8-GPU node unless told otherwise."""
    return Scenario(workload, cluster or nodes(), SimulationRules(**options), SpeedSpec(kind=speed))


class Fake:
    """A policy that is a function of the state; ``seen`` keeps what every call saw."""

    kernel_rule: ListRule | None = None

    def __init__(self, plan: Callable[[State], Plan], review: ReviewRule | None = None) -> None:
        self.review = review or ReviewRule()
        self.seen: list[tuple[float, int]] = []
        self._plan = plan

    def plan(self, state: State) -> Plan:
        self.seen.append((state.now_s, int(state.cause)))
        return self._plan(state)


def fifo_plan(state: State) -> Plan:
    """Start waiting jobs in order until one does not fit."""
    placer, starts = state.placer(), {}
    for row, workers in zip(state.waiting.tolist(), state.requested(state.waiting).tolist(), strict=True):
        shares = placer.place(row, workers)
        if shares is None:
            break
        starts[row] = run_on(shares)
    return Plan(starts)


def script(plans: Mapping[float, Any]) -> Callable[[State], Plan]:
    """Return a policy that answers these plans, or only allocations, at these times and nothing at others."""

    def plan(state: State) -> Plan:
        answer = plans.get(state.now_s, Plan())
        return answer if isinstance(answer, Plan) else Plan(answer)

    return plan


def on(*shares: tuple[int, int]) -> Allocation:
    """Return an allocation of (node, workers) until completion."""
    return run_on(tuple(Share(node, workers) for node, workers in shares))


def step(start_s: float | None, *shares: tuple[int, int]) -> Step:
    """Return a step of (node, workers) from ``start_s``; no shares = 0 workers."""
    named = tuple(Share(node, workers) for node, workers in shares)
    return Step(sum(share.workers for share in named), named, start_s)


def simulate(given: Scenario, policy: Fake, run_seed: int = 0) -> RunLog:
    """Run a policy in the generic engine."""
    return run_engine(prepare(given, run_seed), policy, run_seed)


def pieces(log: RunLog, row: int) -> list[tuple[float, float, int, int]]:
    """Return (start_s, end_s, workers, PieceEnd) of a row's pieces."""
    columns = (log.piece_start_s, log.piece_end_s, log.piece_workers, log.piece_end)
    return [tuple(c[p].item() for c in columns) for p in (log.piece_row == row).nonzero()[0]]
