"""Market that looks ahead: when a job comes or ends it plays all rules out, and may leave the one that decides.

A rule is played out from where the run is to the end of the jobs that are here. As the rule that decides is among them,
what these jobs cost never rises by a change of rule; it falls by a rule that does better from here on.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas import lists
from dlsched.policies.gpuaas.hours import Leases, market_by_the_hour
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.look_ahead import Known, Play, Rule
from dlsched.policies.gpuaas.market import MarketSettings, market
from dlsched.policies.gpuaas.params import MarketParams
from dlsched.policies.gpuaas.repair import start_one
from dlsched.policies.gpuaas.search import SearchSettings, greedy, path_relinking, randomized_greedy
from dlsched.policies.gpuaas.state_adapter import LEAST_S, StateAdapter, or_none

MARKET = "Market"
ITERATIONS = 100
"""Constructions of the searches in a play and where they decide."""
LEAST_GAIN = 0.02
"""Part of what is still to be paid that another rule must save: jobs that come upset what saves less."""
MOST_NODES_BY_HOUR = 20
"""Most nodes with which rules are played out where leases are billed by the hour: each hour of each is a decision."""
MOST_REVIEWS = 100
"""Most hours or periods of work that are played out where each is a decision; the grid of decision 072 holds 12."""


class Portfolio:
    """The rule that decides now."""

    def __init__(self, params: MarketParams) -> None:
        self._params = params
        self._chosen = MARKET
        self._rows = np.zeros(0, dtype=np.int64)

    def decides(self, instance: Instance, adapter: StateAdapter, paid_s: Floats) -> tuple[str, Rule]:
        """Return the rule that decides now and its name; where other jobs are here than before it is found anew."""
        state, free = adapter.state, bool((instance.node_vm < 0).all())
        by_hour = state.bills_hours and free
        rules = _rules(self._params, change_s=state.change_s, by_hour=by_hour)
        rows = adapter.rows[np.isfinite(instance.fastest)]
        if not np.array_equal(rows, self._rows):
            self._rows = rows
            few = 0 < len(rows) <= self._params.look_ahead
            if free and few and self._ends_soon(instance, change_s=state.change_s, by_hour=by_hour):
                leases = Leases.of(instance, adapter.held, paid_s) if by_hour else None
                self._chosen = _cheapest(
                    _present(instance, adapter, leases), _known(instance, adapter, rows), rules, self._chosen
                )
            else:
                self._chosen = MARKET
        return self._chosen, rules[self._chosen]

    def _ends_soon(self, instance: Instance, *, change_s: float, by_hour: bool) -> bool:
        """Return whether a play of these jobs holds few enough decisions between those that jobs give."""
        if not instance.num_nodes or (by_hour and instance.num_nodes > MOST_NODES_BY_HOUR):
            return False
        reviews_s = [_review_s(self._params, change_s), HOUR_S if by_hour else None]
        review_s = min((every_s for every_s in reviews_s if every_s is not None), default=np.inf)
        busy_s = instance.fastest[np.isfinite(instance.fastest)].sum() / instance.num_nodes
        return bool(busy_s <= MOST_REVIEWS * review_s)


def _cheapest(present: Play, known: Known, rules: dict[str, Rule], chosen: str) -> str:
    """Return the name of the rule that costs least from here, or the one chosen before if no other saves enough."""
    least_usd = (1.0 - LEAST_GAIN) * present.usd_at_end(known, rules[chosen])
    for name, rule in rules.items():
        usd = present.usd_at_end(known, rule, least_usd) if name != chosen else np.inf
        if usd < least_usd:
            chosen, least_usd = name, usd
    return chosen


def _review_s(params: MarketParams, change_s: float) -> float | None:
    """Return the time between decisions by period alone in a play; None = there are none.

    They are played only where a change costs a restart: else they change little and cost much.
    """
    return params.period_s if change_s > 0 else None


def _rules(params: MarketParams, *, change_s: float = 0.0, by_hour: bool = False) -> dict[str, Rule]:
    """Return Market and the other renting policies as rules, each as it decides on its own.

    Without those that solve (P1) exactly, which take too long, and the four by dynamic programming, which cost less
    than all others nowhere on the grid of decision 072 where Market is not far ahead, but for one draw.
    """
    review_s = _review_s(params, change_s)

    def priced(*, mixing: bool, keeps: bool = False) -> Rule:
        settings = MarketSettings(mixing, params.wait_h * HOUR_S, params.later_price)

        def rule(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
            plan = market_by_the_hour(point, held, paid_s, settings) if keeps else market(point, settings)
            waits = [wait_s for wait_s in (plan.wake_in, review_s) if wait_s is not None]
            return plan.schedule, min(waits, default=None)

        return rule

    def relinked(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
        return path_relinking(point, np.random.default_rng(0), SearchSettings(iterations=ITERATIONS)), review_s

    def randomized(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
        return randomized_greedy(point, np.random.default_rng(0), SearchSettings(iterations=ITERATIONS)), review_s

    mixing = params.mixing and change_s == 0
    rules: dict[str, Rule] = {MARKET: priced(mixing=mixing, keeps=by_hour)}
    if mixing:
        rules["Market without changes"] = priced(mixing=False, keeps=by_hour)
    if by_hour:
        rules["Market that gives up paid hours"] = priced(mixing=False)
    rules |= {
        "Greedy": lambda point, held, _: (greedy(point), review_s),
        "Path relinking": relinked,
        "Randomized greedy": randomized,
        "FIFO renting": lambda point, held, _: (lists.start_waiting(point, lists.by_submission(point), held), None),
        "EDF renting": lambda point, held, _: (lists.start_waiting(point, lists.by_due_date(point), held), None),
        "Priority renting": lambda point, held, _: (lists.start_waiting(point, lists.by_weight(point), held), None),
    }
    return {name: _starts(rule) for name, rule in rules.items()}


def _starts(rule: Rule) -> Rule:
    """Return the rule, with one job started where it would leave all waiting."""

    def started(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
        schedule, lasts_s = rule(point, held, paid_s)
        return start_one(point, schedule), lasts_s

    return started


def _known(instance: Instance, adapter: StateAdapter, rows: Ints) -> Known:
    """Return these jobs as they were submitted."""
    state, jobs = adapter.state, adapter.state.jobs
    rates = adapter.table.rates(state, rows)
    times = np.divide(jobs.work[rows, None, None], rates, out=np.full(rates.shape, np.inf), where=rates > 0)
    return Known(
        instance,
        np.maximum(times, LEAST_S),
        or_none(jobs.due_s, rows, np.inf),
        or_none(jobs.weight_usd_per_s, rows, 0.0),
        state.restart_s,
        state.change_s,
    )


def _present(instance: Instance, adapter: StateAdapter, leases: Leases | None) -> Play:
    """Return the state of the run as a play of the jobs that can run."""
    state, can_run = adapter.state, np.isfinite(instance.fastest)
    rows, held = adapter.rows[can_run], adapter.held
    left = state.remaining(rows) / state.jobs.work[rows]
    restart_s = np.where(instance.running[can_run], state.restart_ahead_s(rows), 0.0)
    return Play(state.now_s, left, held.node[can_run], held.gpus[can_run], held.vm, restart_s, leases)
