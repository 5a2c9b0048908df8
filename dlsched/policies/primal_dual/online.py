"""PD-ORS: each job on arrival gets its best schedule at today's prices, or is turned away (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual.cheapest import Candidate, cheapest
from dlsched.policies.primal_dual.prices import LEAST_WORTH, Bounds, Claim, bounds_of, claim_of, prices
from dlsched.policies.primal_dual.problem import Instance, Job, Schedule
from dlsched.policies.primal_dual.reach import why_never
from dlsched.policies.primal_dual.slot_cost import CHUNKS, Offer, SlotMethod, greedy, one_or_several

BoundsFrom = Literal["seen", "all", "given"]
"""Jobs that set the price bounds: those submitted so far, all of them in advance (clairvoyant), or bounds given."""

GREEDY = one_or_several(greedy)

NOT_WORTH = "not worth its price"
NO_ROOM = "no room left in time"


@dataclass(frozen=True, eq=False)
class Decision:
    """What became of one job.

    schedule     slot -> booking, None = turned away
    best         the schedule with the best payoff, also of a job turned away; None if there is none
    alternative  the next best last slot; None if there is none
    paid         price of ``best`` by resource (R,)
    why          why it was turned away, empty when admitted
    price        (slots, H, R) per unit, as this job met them; None if it cannot finish even alone
    """

    schedule: Schedule | None
    best: Candidate | None
    alternative: Candidate | None
    paid: Floats
    why: str
    price: Floats | None = None

    @property
    def payoff(self) -> float:
        """Worth less price of the best schedule; minus infinity without one."""
        return self.best.payoff if self.best else -np.inf


@dataclass(eq=False)
class PdOrs:
    """Decides about one job after the other.

    ``capacity`` (H, R) of every slot. Without ``bounds`` the prices stand on the jobs seen so far, this one included.
    ``method`` says what parts of a job cost in one slot.
    """

    capacity: Floats
    slots: int
    bounds: Bounds | None = None
    method: SlotMethod = GREEDY
    chunks: int = CHUNKS
    least_worth: float = LEAST_WORTH
    _seen: list[Claim] = field(default_factory=list)

    def decide(self, job: Job, committed: Floats, *, again: bool = False) -> Decision:
        """Return the decision about a job, ``committed`` (slots, H, R) held already; this commits nothing.

        ``again``: the job was admitted before and lost its bookings, or was not done at their end. It is not turned
        away for its price any more, and says nothing new about the price bounds.
        """
        nothing = np.zeros(self.capacity.shape[1])
        why = why_never(job, self.capacity, self.slots)
        if why is not None:
            return Decision(None, None, None, nothing, why)
        all_prices = self._prices(job, committed, again=again)
        price = all_prices[job.first :]
        offer = Offer.of(job, self.capacity - committed[job.first :], price)
        found = cheapest(job, offer, self.method, self.chunks)
        if found is None:
            return Decision(None, None, None, nothing, NO_ROOM, all_prices)
        best, *others = found.candidates
        paid = nothing.copy()
        for slot, booking in found.schedule.items():
            paid += (job.held(booking) * price[slot - job.first, booking.machine]).sum(axis=0)
        admitted = again or best.payoff > 0
        return Decision(
            found.schedule if admitted else None,
            best,
            others[0] if others else None,
            paid,
            "" if admitted else NOT_WORTH,
            all_prices,
        )

    def _prices(self, job: Job, committed: Floats, *, again: bool) -> Floats:
        bounds = self.bounds
        if bounds is None:
            claim = None if again else claim_of(job, self.capacity, self.slots, self.least_worth)
            self._seen += [claim] if claim else []
            bounds = bounds_of(self._seen, self.capacity, self.slots)
        return prices(bounds, self.capacity, committed)


def bounds_of_all(instance: Instance, least_worth: float = LEAST_WORTH) -> Bounds:
    """Return the price bounds of all jobs, also of those yet to come."""
    claims = (claim_of(job, instance.capacity, instance.slots, least_worth) for job in instance.jobs)
    return bounds_of([claim for claim in claims if claim], instance.capacity, instance.slots)


def plan(instance: Instance, scheduler: PdOrs) -> list[Decision]:
    """Decide about all jobs of an instance, in their order, and commit what is admitted."""
    committed = np.zeros((instance.slots, *instance.capacity.shape))
    decisions = []
    for job in instance.jobs:
        decisions.append(scheduler.decide(job, committed))
        commit(job, decisions[-1].schedule, committed)
    return decisions


def commit(job: Job, schedule: Schedule | None, committed: Floats) -> None:
    """Add what a schedule holds to ``committed`` (slots, H, R)."""
    for slot, booking in (schedule or {}).items():
        committed[slot, booking.machine] += job.held(booking)


def schedules(decisions: Sequence[Decision]) -> list[Schedule | None]:
    """Return the schedule of each decision."""
    return [decision.schedule for decision in decisions]
