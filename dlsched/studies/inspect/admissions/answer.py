"""One interval of SMD, ESW or Optimus as it is shown: who got in, what that blocks, and what others would have done."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from dlsched.domain.model import FrozenModel
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.step_functions import count_after
from dlsched.studies.inspect.re_execute import Decisions, InspectedDecision

Fate = Literal["in", "carried over", "rejected", "running"]
ADMISSION_WORDS = {"first-come": "first come", "knapsack": "knapsack"}

SAME_S = 1e-6
"""Times this close are one instant."""


class RuleOutcome(FrozenModel):
    """What a rule with an admission does in the same state: the ``rows`` it lets in and what they are ``worth``.

    ``status``: what the knapsack proves, "" without one; ``bound``: with its workers and servers no choice is worth
    more.
    """

    rule: str
    admission: str
    rows: tuple[int, ...]
    worth: float | None
    status: str
    bound: float | None


class Admission(InspectedDecision):
    """One interval of those of a run in which jobs waited: J jobs that waited or ran, R resources that nodes state.

    rule       key of the policy, ``admission`` how it admits
    resources  (R,) names; ``capacity`` (R,) of the nodes that are up
    used       (R,) what jobs held that ran before; ``reserved`` (R,) what they blocked, with what they held
    price      (R,) worth of one more unit in the linear relaxation, over what was free
    jobs       (J,) ids; ``row`` (J,) their rows
    fate       (J,) one of Fate
    workers    (J,) of the gang that is used or would be; 0 = there is none; ``servers`` (J,)
    time_s_of  (J,) seconds from the start to completion with them, as believed; NaN as None
    worth      (J,) of starting now, of running jobs when they started; None without a utility function
    blocks     (J, R) what each blocks while it runs, ``holds`` (J, R) what of that it holds
    reason     (J,) in words
    value      what those that get in are worth together; None without utility functions
    bound      no choice of jobs is worth more with these workers and servers; ``status``: what is proven of the choice
    besides    the three rules with both admissions, this one included
    worthless  every job is worth next to nothing even when started at submission
    """

    rule: str
    admission: str
    resources: tuple[str, ...]
    capacity: tuple[float, ...]
    used: tuple[float, ...]
    reserved: tuple[float, ...]
    price: tuple[float, ...]
    jobs: tuple[str, ...]
    row: tuple[int, ...]
    fate: tuple[Fate, ...]
    workers: tuple[int, ...]
    servers: tuple[int, ...]
    time_s_of: tuple[float | None, ...]
    worth: tuple[float | None, ...]
    blocks: tuple[tuple[float, ...], ...]
    holds: tuple[tuple[float, ...], ...]
    reason: tuple[str, ...]
    value: float | None
    bound: float | None
    status: str
    besides: tuple[RuleOutcome, ...]
    worthless: bool

    def count(self, *fates: Fate) -> int:
        """Return how many jobs have one of these fates."""
        return sum(fate in fates for fate in self.fate)

    @property
    def asked(self) -> int:
        """Jobs that waited."""
        return self.count("in", "carried over", "rejected")

    def after(self) -> tuple[Floats, Floats]:
        """Return what is used and what is reserved after the interval, (R,) each."""
        new = np.array([fate == "in" for fate in self.fate], dtype=bool)
        holds, blocks = (self._table(given)[new].sum(axis=0) for given in (self.holds, self.blocks))
        return np.array(self.used) + holds, np.array(self.reserved) + blocks

    def _table(self, given: tuple[tuple[float, ...], ...]) -> Floats:
        return np.array(given, dtype=float).reshape(len(self.jobs), len(self.resources))

    def used_of_reserved(self) -> float | None:
        """Return used over reserved after the interval, resources as shares of capacity; None if no job runs."""
        used, reserved = self.after()
        capacity = np.array(self.capacity)
        of_all = float((reserved / capacity).sum())
        return float((used / capacity).sum()) / of_all if of_all > 0 else None

    def largest_share(self) -> tuple[Floats, Ints]:
        """Return the largest share of a capacity that each job blocks, and the resource's place, (J,) each."""
        shares = self._table(self.blocks) / np.array(self.capacity)
        return shares.max(axis=1), shares.argmax(axis=1)

    def worth_per_percent(self) -> Floats:
        """Return what each job is worth for one percent of the resource it blocks most of, (J,); NaN: not known."""
        share, _ = self.largest_share()
        worth = np.array([np.nan if one is None else one for one in self.worth])
        return np.asarray(np.divide(worth, 100 * share, out=np.full(len(worth), np.nan), where=share > 0))

    def room_prices(self) -> Floats:
        """Return what the room that each job blocks is worth at the prices of the linear relaxation, (J,)."""
        return np.asarray(self._table(self.blocks) @ np.array(self.price))

    def scarcest(self) -> int | None:
        """Return the resource of which one percent more would be worth most; None if more is worth nothing."""
        worth = np.array(self.price) * np.array(self.capacity)
        return int(worth.argmax()) if len(worth) and worth.max() > 0 else None

    def beside(self, rule: str, admission: str) -> RuleOutcome:
        """Return what a rule with an admission does; KeyError where it was not asked."""
        for one in self.besides:
            if (one.rule, one.admission) == (rule, admission):
                return one
        raise KeyError((rule, admission))


Admissions = Decisions[Admission]


def counts_of(decisions: pd.DataFrame, jobs: pd.DataFrame, pieces: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """Return how many jobs got in, were carried over and rejected at each decision of a run.

    ``decisions`` as ``look_ahead.answer.decisions_of`` makes them; the others are tables of the run: who starts then,
    leaves then as rejected, and waits on.
    """
    times_s = decisions["time_s"].to_numpy(float)

    def at_times(values_s: pd.Series) -> Ints:
        """Return how many values are at each time, (D,)."""
        values = values_s.to_numpy(float)
        return np.asarray(count_after(values, times_s + SAME_S) - count_after(values, times_s - SAME_S))

    begun, over = (count_after(waits[name].to_numpy(float), times_s + SAME_S) for name in ("from_s", "to_s"))
    return pd.DataFrame(
        {
            "number": decisions["number"].to_numpy(),
            "time_s": times_s,
            "admitted": at_times(pieces.groupby("piece")["start_s"].first()),
            "carried over": begun - over,
            "rejected": at_times(jobs.loc[jobs["status"] == "rejected", "left_s"]),
        }
    )


def busiest(counts: pd.DataFrame) -> int:
    """Return the number of the decision at which most jobs asked to get in, the first of equals."""
    asked_to_get_in = counts["admitted"] + counts["carried over"] + counts["rejected"]
    return int(counts["number"].iloc[int(asked_to_get_in.to_numpy().argmax())])
