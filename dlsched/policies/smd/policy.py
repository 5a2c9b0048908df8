"""The adapter: jobs that wait are looked at once an interval, and admitted jobs run until they complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import Plan, WaitReason
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.shared.facts import JobFacts
from dlsched.policies.shared.wait_reasons import WaitReasonTracker
from dlsched.policies.smd.admission import Offers, Room, Verdict, by_knapsack, first_come, start_smaller
from dlsched.policies.smd.choices import ChoiceBook, Choose, Gang
from dlsched.policies.smd.params import IntervalParams, RivalParams, SmdParams
from dlsched.policies.smd.problem import Choice, Split
from dlsched.policies.smd.ratios import approximate
from dlsched.policies.smd.rounding import round_up_or_down
from dlsched.policies.smd.rules import equal, optimus
from dlsched.policies.smd.split import exact

Admit = Callable[[Offers, Room, Sequence[Ints]], Verdict]
"""From what is offered, what there is, and the queues (places in the offers) to who starts."""


@dataclass(frozen=True, eq=False)
class Decided:
    """A decision of an interval before it is carried out.

    ``at_once`` (K,) what the offers had been worth, started at submission; ``started`` (S,) places in the offers,
    ascending, ``gangs`` (S) and ``worth`` (S,) of what starts; rows that are ``rejected``, and rows of which even all
    nodes could ``never`` hold a gang.
    """

    offers: Offers
    verdict: Verdict
    at_once: Floats
    started: Ints
    gangs: tuple[Gang, ...]
    worth: Floats
    rejected: Ints
    never: tuple[int, ...]

    @property
    def value(self) -> float | None:
        """What they are worth together; None if no job has a utility function."""
        return None if np.isnan(self.offers.value).all() else float(np.nansum(self.worth))


class IntervalPolicy:
    """Every interval, chooses workers and servers of each job that waits, and admits jobs.

    An admitted job uses its gang and blocks its user's limit until it completes; it is never stopped. Of a resource
    without a limit it blocks what it uses. A limit above what the nodes have that are up counts as all they have.

    Parameters
    ----------
    choose
        Workers and servers of one job; ``is_exact``: they are the best there are.
    admit
        Which jobs are admitted.
    params
        Interval, and what share of its utility keeps a job in the queue.
    """

    kernel_rule = None

    def __init__(self, choose: Choose, admit: Admit, params: IntervalParams, *, is_exact: bool = False) -> None:
        self.review = ReviewRule(EventKind.NONE, every_s=params.interval_s)
        self._admit, self._keep_share = admit, params.keep_share
        self._facts, self._wait_reasons = JobFacts(), WaitReasonTracker()
        self._book = ChoiceBook(choose, self._facts, is_exact=is_exact)

    def plan(self, state: State) -> Plan:
        """Return who is admitted with which workers and servers, who is rejected, and why the others wait."""
        return self.plan_of(state, self.decide(state)) if len(state.waiting) else Plan()

    def plan_of(self, state: State, decided: Decided) -> Plan:
        """Return the plan that carries a decision out; reasons that were told before are not told again."""
        waiting = state.waiting
        offers, verdict, started = decided.offers, decided.verdict, decided.started
        left = np.isin(waiting, [*offers.rows[started], *decided.rejected, *decided.never], invert=True)
        codes = np.full(len(waiting), int(WaitReason.NO_NODE))
        codes[np.isin(waiting, offers.rows)] = verdict.codes
        running = np.concatenate([state.running, offers.rows[started]])
        return Plan(
            {int(offers.rows[place]): allocation for place, allocation in verdict.started.items()},
            rejected=(*decided.rejected.tolist(), *decided.never),
            reasons=self._wait_reasons.of(waiting[left], codes[left], running),
            note=_note(len(started), len(waiting), len(decided.rejected) + len(decided.never)),
            status=verdict.status,
            objective=decided.value,
            bound=verdict.bound,
        )

    def decide(self, state: State, admit: Admit | None = None) -> Decided:
        """Return who would be admitted and rejected now, by this policy's admission or another; nothing changes."""
        self._facts.update(state)
        self._book.update(state)
        offers, shut_out = self._offers(state, state.waiting)
        room = Room(state.placer())
        verdict = (admit or self._admit)(offers, room, self._queues(offers.rows))
        if not verdict.started and not len(state.running):
            start_smaller(verdict, offers, room)

        started = np.array(sorted(verdict.started), dtype=np.int64)
        gangs = tuple(verdict.gangs[place] for place in started.tolist())
        stays = ~np.isin(np.arange(len(offers.rows)), started)
        at_once = _value(state, offers.rows, offers.gangs, state.jobs.submit_s[offers.rows])
        return Decided(
            offers,
            verdict,
            at_once,
            started,
            gangs,
            _value(state, offers.rows[started], gangs),
            offers.rows[stays & ~self._is_kept(offers.value, at_once)],
            tuple(row for row in shut_out.tolist() if not self._book.could_ever(state, row)),
        )

    def _offers(self, state: State, waiting: Ints) -> tuple[Offers, Ints]:
        """Return the jobs of which the nodes that are up could hold a gang, and the rows of the others."""
        offered = {row: offer for row in waiting.tolist() if (offer := self._book.of(state, row)) is not None}
        rows = np.array(list(offered), dtype=np.int64)
        asks, gangs = [ask for ask, _ in offered.values()], [gang for _, gang in offered.values()]
        jobs = state.jobs
        workers, servers = (np.array([gang[part] for gang in gangs], dtype=float)[:, None] for part in (0, 1))
        used = workers * jobs.demand[rows] + servers * jobs.server_demand[rows]
        limit = np.array([ask.problem.limit for ask in asks]).reshape(used.shape)  # at most what is up
        weight = np.where(np.isfinite(jobs.limit[rows]), np.maximum(limit, used), used)
        offers = Offers(rows, asks, gangs, _value(state, rows, gangs), weight)
        return offers, waiting[np.isin(waiting, rows, invert=True)]

    def _queues(self, rows: Ints) -> list[Ints]:
        """Return the queues, one for partitions that share nodes, as places in ``rows``."""
        return [np.searchsorted(rows, queue) for queue in self._facts.queues(rows).values()]

    def _is_kept(self, value: Floats, at_once: Floats) -> NDArray[np.bool_]:
        """Return which jobs are worth the wait: those without a utility function, and those that keep enough."""
        with np.errstate(invalid="ignore"):
            enough = (value > 0) & (value >= self._keep_share * at_once)
        return np.isnan(value) | enough


def smd(params: SmdParams) -> IntervalPolicy:
    """Return SMD: the best workers and servers of each job, then the jobs worth most together."""
    if params.inner == "exact":
        return IntervalPolicy(lambda problem, _: exact(problem), admission(params), params, is_exact=True)

    def algorithm_1(problem: Split, rng: np.random.Generator) -> Choice:
        return round_up_or_down(problem, approximate(problem, params.epsilon), rng, draws=params.draws)

    return IntervalPolicy(algorithm_1, admission(params), params)


def esw(params: RivalParams) -> IntervalPolicy:
    """Return ESW: as many servers as workers, as many as the limit allows."""
    return IntervalPolicy(lambda problem, _: equal(problem), admission(params), params)


def optimus_policy(params: RivalParams) -> IntervalPolicy:
    """Return Optimus: one worker or server more at a time, as long as it saves time."""
    return IntervalPolicy(lambda problem, _: optimus(problem), admission(params), params)


def admission(params: SmdParams | RivalParams) -> Admit:
    """Return the admission that parameters name."""
    if params.admission == "first-come":
        return lambda offers, room, queues: first_come(offers, room, queues)
    return lambda offers, room, _: by_knapsack(offers, room, params.knapsack, params.size)


def _value(state: State, rows: Ints, gangs: Sequence[Gang], start_s: Floats | None = None) -> Floats:
    """Return what rows are worth when they start now, or then, with these gangs; NaN without a utility function."""
    step_s = np.array([gang.step_s for gang in gangs], dtype=float)
    start = np.full(len(rows), state.now_s) if start_s is None else start_s
    return state.utility(rows, start + state.restart_ahead_s(rows) + state.remaining(rows) * step_s)


def _note(admitted: int, waiting: int, rejected: int) -> str:
    return f"{admitted} of {waiting} admitted" + (f", {rejected} rejected" if rejected else "")
