"""What a search for a commitment answers: the cost of a year by committed nodes, the least, regret, and break-even."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.statements import Effect, change_of
from dlsched.studies.commitment.use import Use
from dlsched.studies.sizing.question import TargetsAnswer
from dlsched.studies.sizing.rule import Check, Replicate, judge, values_of

HOURS_PER_YEAR = 365 * 24
RENTED_COSTS: Mapping[str, str] = {"on-demand": "on_demand_cost", "spot": "spot_cost"}
"""The metric of what rented nodes cost in a run, by their terms."""
_COST = KPIS["vm_cost"]


class Nodes(FrozenModel):
    """Nodes of one machine type: ``kind`` is owned, reserved, on-demand or spot, ``usd_per_h`` the price of a node.

    ``most``: the most that were tried, or can be rented at once. ``years``: of a reservation; ``boot_s``,
    ``idle_timeout_s``, ``evictions_per_h``: of nodes that are rented.
    """

    name: str
    kind: str
    usd_per_h: float
    most: int
    years: int = 0
    boot_s: float = 0.0
    idle_timeout_s: float = 0.0
    evictions_per_h: float = 0.0


class Commit(FrozenModel):
    """A number of committed nodes and its runs by future; ``error``: why it cannot be run."""

    nodes: int
    draws: tuple[Replicate, ...] = ()
    error: str = ""


class Waited(FrozenModel):
    """The cheapest mix if nodes are rented for jobs that have waited so long; None if none meets the targets."""

    rent_after_s: float
    nodes: int | None
    usd_year: float | None


class Commitment(TargetsAnswer):
    """The whole answer; ``tried`` ascends, and every number ran the same futures.

    ``fixed_usd_per_h``: price of all other nodes, by kind. ``best``: the committed nodes with the least cost of a year
    of those that meet the targets; None if none does. ``all_committed``: the fewest nodes that meet the targets without
    any to rent; None if ``all_most`` do not. ``rent_after_s``: nodes are rented for jobs that have waited so long;
    ``waits``: the cheapest mix of every such wait, where several were searched: all else is about the cheapest of them.
    ``uses``: by future, where all is rented; ``left_out``: machine types that are not asked about; ``stopped``: whether
    the search ran out of runs.
    """

    base: Nodes
    rented: Nodes
    fixed_usd_per_h: Mapping[str, float] = Field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    today: int
    tried: tuple[Commit, ...] = Field(min_length=1)
    best: int | None
    all_committed: int | None
    all_most: int
    rent_after_s: float = 0.0
    waits: tuple[Waited, ...] = ()
    uses: tuple[Use, ...] = Field(min_length=1)
    runs: int
    stopped: bool = False

    def at(self, nodes: int) -> Commit:
        """Return what is known of a number of committed nodes; KeyError for one that was not simulated."""
        for one in self.tried:
            if one.nodes == nodes:
                return one
        raise KeyError(nodes)

    @property
    def every(self) -> bool:
        """Whether every number of nodes was simulated."""
        return len(self.tried) == self.base.most + 1

    def check(self, nodes: int) -> Check:
        """Return the verdict on a number of committed nodes."""
        found = self.at(nodes)
        return judge(self.rule, found.draws, found.error)

    @property
    def meeting(self) -> tuple[int, ...]:
        """The numbers of committed nodes that meet the targets and have a cost."""
        return tuple(
            one.nodes
            for one in self.tried
            if usd_year(self, one.nodes) is not None and self.check(one.nodes).verdict == "meets"
        )


# ---- the cost of a year --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars a year: the mean over the futures that count, with its 95% interval where one may be stated.

    ``recorded``: that of what was recorded, None for drawn jobs. ``n``: how many futures count.
    """

    usd: float
    low: float | None
    high: float | None
    recorded: float | None
    n: int


def usd_year(found: Commitment, nodes: int) -> list[float] | None:
    """Return the cost of a year in every future; None if a run has none.

    Committed and other fixed nodes are paid for 8,760 h; what rented nodes cost in the run is scaled by 8,760 h over
    the time in which its jobs arrive.
    """
    rented = values_of(found.at(nodes).draws, RENTED_COSTS[found.rented.kind])
    if rented is None:
        return None
    always = HOURS_PER_YEAR * (nodes * found.base.usd_per_h + sum(found.fixed_usd_per_h.values()))
    return [always + usd * HOURS_PER_YEAR / use.period_h for usd, use in zip(rented, found.uses, strict=True)]


def counted(found: Commitment, values: Sequence[float]) -> list[float]:
    """Return the values of the futures that count: of a recorded trace those beside what was recorded."""
    return list(values[1:]) if found.rule.recorded else list(values)


def cost_at(found: Commitment, nodes: int) -> Cost | None:
    """Return the cost of a year; None if a run has none."""
    values = usd_year(found, nodes)
    return None if values is None else _cost(found, values)


def _cost(found: Commitment, values: Sequence[float]) -> Cost:
    effect = _effect(found, values, [0.0] * len(values))
    own = counted(found, values)
    recorded = values[0] if found.rule.basis.kind != "drawn" else None
    low, high = (None, None) if effect is None else (effect.low, effect.high)
    return Cost(float(np.mean(own)), low, high, recorded, len(own))


def _effect(found: Commitment, ours: Sequence[float], theirs: Sequence[float]) -> Effect | None:
    """Return the mean difference by future with its interval; None if decision 029 lets nothing be said."""
    return change_of(_COST, ours, theirs, found.rule.basis).effect


def usd_by_kind(found: Commitment, nodes: int) -> dict[str, float] | None:
    """Return the mean cost of a year of committed, other fixed and rented nodes, by kind; None without a cost."""
    cost = cost_at(found, nodes)
    if cost is None:
        return None
    parts = {kind: HOURS_PER_YEAR * usd for kind, usd in found.fixed_usd_per_h.items()}
    parts[found.base.kind] = parts.get(found.base.kind, 0.0) + HOURS_PER_YEAR * nodes * found.base.usd_per_h
    return parts | {found.rented.kind: max(0.0, cost.usd - sum(parts.values()))}


def usd_all_committed(found: Commitment) -> float | None:
    """Return the cost of a year without any node to rent; None if no number of nodes meets the targets so."""
    if found.all_committed is None:
        return None
    per_h = found.all_committed * found.base.usd_per_h + sum(found.fixed_usd_per_h.values())
    return HOURS_PER_YEAR * per_h


@dataclass(frozen=True, slots=True)
class Saving:
    """What the best number of nodes costs less in a year than another choice, future by future.

    ``cheaper``: in how many of the ``n`` futures that count it costs less.
    """

    usd: float
    low: float | None
    high: float | None
    cheaper: int
    n: int


def saving(found: Commitment, against: Sequence[float]) -> Saving | None:
    """Return what the best number saves against the cost of a year by future of another choice; None without a best."""
    ours = None if found.best is None else usd_year(found, found.best)
    if ours is None:
        return None
    effect = _effect(found, against, ours)
    less = [theirs - own for theirs, own in zip(counted(found, against), counted(found, ours), strict=True)]
    low, high = (None, None) if effect is None else (effect.low, effect.high)
    return Saving(float(np.mean(less)), low, high, sum(usd > 0 for usd in less), len(less))


def saving_to_all_rented(found: Commitment) -> Saving | None:
    """Return what the best number saves against renting all; None without a cost of one of them."""
    against = usd_year(found, 0)
    return None if against is None else saving(found, against)


def saving_to_all_committed(found: Commitment) -> Saving | None:
    """Return what the best number saves against renting nothing; None if that does not meet the targets."""
    usd = usd_all_committed(found)
    return None if usd is None else saving(found, [usd] * len(found.uses))


# ---- regret --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Regret:
    """What a number of nodes costs more in a year than the best one of each future would, of those that meet the
    targets: on average and at worst over the futures that count. ``best_in``: the share of them in which it is best.
    """

    mean_usd: float
    worst_usd: float
    best_in: float


def regrets(found: Commitment) -> dict[int, Regret]:
    """Return the regret of every number of nodes that meets the targets; of equal ones the fewest nodes are best."""
    numbers = found.meeting
    if not numbers:
        return {}
    costs = np.array([counted(found, usd_year(found, nodes) or ()) for nodes in numbers])  # (numbers, futures)
    regret, best = costs - costs.min(axis=0), costs.argmin(axis=0)
    return {
        nodes: Regret(float(regret[place].mean()), float(regret[place].max()), float((best == place).mean()))
        for place, nodes in enumerate(numbers)
    }


# ---- hours of use and break-even -----------------------------------------------------------------------


def use_shares(found: Commitment) -> list[float]:
    """Return the share of a year in which at least 1, 2, ... nodes are in use where all are rented.

    The mean over the futures that count of hours over the time in which jobs arrive, at most 1: a run may end after it.
    """
    uses = list(found.uses[1:] if found.rule.recorded else found.uses)
    longest = max((len(use.hours) for use in uses), default=0)
    shares = np.zeros((len(uses), longest))
    for place, use in enumerate(uses):
        shares[place, : len(use.hours)] = np.array(use.hours) / use.period_h
    return [float(share) for share in np.minimum(shares.mean(axis=0), 1.0)]


def break_even_share(found: Commitment) -> float | None:
    """Return the share of hours from which on a committed node is cheaper than a rented one; None at a price of 0."""
    return found.base.usd_per_h / found.rented.usd_per_h if found.rented.usd_per_h > 0 else None


def break_even_nodes(found: Commitment) -> int:
    """Return how many nodes are needed for more than the break-even share of the hours."""
    share = break_even_share(found)
    return 0 if share is None else sum(used > share for used in use_shares(found))


def rents_nothing(found: Commitment) -> bool:
    """Whether committing to as many nodes as do without renting costs less than the best mix, or no mix will do."""
    usd = usd_all_committed(found)
    best = None if found.best is None else cost_at(found, found.best)
    return usd is not None and (best is None or usd <= best.usd)


def none_above(found: Commitment) -> bool:
    """Whether no number above those tried can cost less than what was found: their commitment alone costs as much."""
    best = None if found.best is None else cost_at(found, found.best)
    known = [usd for usd in (None if best is None else best.usd, usd_all_committed(found)) if usd is not None]
    more = (found.base.most + 1) * found.base.usd_per_h + sum(found.fixed_usd_per_h.values())
    return bool(known) and HOURS_PER_YEAR * more >= min(known)
