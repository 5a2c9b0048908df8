"""One decision as it is shown, and which calls of a run are decisions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats, Ints
from dlsched.studies.inspect.re_execute import Decisions, InspectedDecision


class LookAhead(InspectedDecision):
    """What one decision planned for its J jobs over T steps, and what the greedy allocator does in the same state.

    step_s     length of a step
    jobs       (J,) ids; ``row`` (J,) their rows
    held       (J,) workers before the decision, 0 = it waits
    plan       (J, T) workers of the optimal allocator; 0 throughout = it is not in the plan and waits
    greedy     (J,) workers of the greedy allocator
    objective  of the plan, ``bound`` above it; None without a plan
    status     of the solver, ``method`` how it was found, ``reason`` why there is no plan
    scenarios  which of the greedy allocator's cases were met, in its words
    idle       workers for which the first step of the plan and the greedy allocator leave room; None if workers
               of jobs differ
    rest       jobs that wait before and after, in both plans; they are not among the J
    got        (J,) workers after the decision. Fewer than decided where they do not fit on the nodes; more where the
               first step leaves idle what a job holds, or a job of the queue starts with what is left
    """

    step_s: float
    jobs: tuple[str, ...]
    row: tuple[int, ...]
    held: tuple[int, ...]
    plan: tuple[tuple[int, ...], ...]
    greedy: tuple[int, ...]
    objective: float | None
    bound: float | None
    status: str
    method: str
    reason: str
    scenarios: str
    idle: tuple[int, int] | None
    rest: int
    got: tuple[int, ...]

    @property
    def steps(self) -> int:
        """T."""
        return len(self.plan[0]) if self.plan else 0

    @property
    def first(self) -> tuple[int, ...]:
        """Workers of each job in the first step of the plan."""
        return tuple(steps[0] for steps in self.plan)

    def decided(self, *, follows_plan: bool) -> tuple[int, ...]:
        """Workers of each job as decided: of the plan's first step where the run follows it, else of greedy."""
        return self.first if follows_plan else self.greedy

    @property
    def gap(self) -> float | None:
        """Bound - objective as a share of the bound; None without a plan."""
        if self.objective is None or self.bound is None:
            return None
        return max(0.0, self.bound - self.objective) / max(1.0, abs(self.bound))


LookAheads = Decisions[LookAhead]


def unit_of(scenario: Scenario) -> str:
    """Return what a worker of the jobs is: a node where each takes all GPUs of one, else a worker."""
    sizes = {float(vm.gpus) for vm in scenario.cluster.vm_types}
    asked = set(scenario.workload.gpus_per_worker.tolist())
    return "node" if len(sizes) == 1 and asked == sizes and 0.0 not in sizes else "worker"


def decisions_of(calls: pd.DataFrame) -> pd.DataFrame:
    """Return the calls of a run's policy that decided about widths, with their ``number`` from 1.

    ``calls`` as metrics.tables.decisions_table. Only decisions leave a note; the calls between start jobs.
    """
    found = calls[calls["note"].fillna("") != ""].reset_index(drop=True)
    return found.assign(number=np.arange(1, len(found) + 1))


def changes_at(pieces: pd.DataFrame, times_s: Floats) -> Ints:
    """Return how many workers change hands at each of some times: of jobs that run, and of jobs that start.

    ``pieces`` one row for each piece of a job on a node, as metrics.tables.segments_of. What ends is not a change.
    """
    if not len(times_s) or pieces.empty:
        return np.zeros(len(times_s), dtype=np.int64)
    each = pieces.groupby("piece").agg(row=("row", "first"), start_s=("start_s", "min"), end_s=("end_s", "max"))
    each["workers"] = pieces.groupby("piece")["workers"].sum()
    each = each.sort_values(["row", "start_s"], kind="stable")
    before = each.shift()
    follows = (before["row"] == each["row"]) & np.isclose(before["end_s"], each["start_s"], rtol=1e-12, atol=1e-9)
    changed = (each["workers"] - before["workers"].where(follows, 0)).abs().to_numpy(float)
    order = np.argsort(times_s, kind="stable")
    place = np.searchsorted(times_s[order], each["start_s"].to_numpy(float) - 1e-6)
    near = np.minimum(place, len(times_s) - 1)
    hit = np.abs(times_s[order][near] - each["start_s"].to_numpy(float)) <= 1e-6
    total = np.zeros(len(times_s))
    np.add.at(total, order[near[hit]], changed[hit])
    return total.astype(np.int64)
