"""What more quota does: waits by queue, stopped jobs and unused quota of each choice, future by future."""

from __future__ import annotations

from dlsched.domain.model import Answer, FrozenModel
from dlsched.studies.design import Futures
from dlsched.studies.more_quota.spec import Choice

NOTICED_S = 60.0
"""A change of a p95 wait below this is none."""


class FutureNumbers(FrozenModel):
    """One run: p95 wait by queue (None if no job started), stopped jobs, work lost and quota unused in unit-hours.

    ``makespan_s``: from the first submission to the last completion. ``error``: what ended the run, "" for none.
    """

    wait_p95_s: dict[str, float | None]
    stopped: int = 0
    lost_h: float = 0.0
    idle_h: float = 0.0
    makespan_s: float | None = None
    error: str = ""


class Outcome(FrozenModel):
    """One choice in all futures."""

    choice: Choice
    numbers: tuple[FutureNumbers, ...]


class Change(FrozenModel):
    """How the p95 wait of a queue moves in future 0, and in how many of the futures it falls and rises."""

    queue: str
    before_s: float
    after_s: float
    falls: int
    rises: int
    futures: int

    @property
    def delta_s(self) -> float:
        """By how much it rises."""
        return self.after_s - self.before_s


class MoreQuota(Answer):
    """The answer: ``before`` with the quotas as they are, and the outcomes, all in the same futures.

    ``resource``: what quotas count, a column of RESOURCES.
    """

    scenario: str
    scenario_name: str
    resource: str
    before: tuple[FutureNumbers, ...]
    outcomes: tuple[Outcome, ...]
    futures: Futures

    def changes(self, outcome: Outcome) -> list[Change]:
        """Return how the p95 wait of each queue moves, in the order of the queues."""
        pairs = [pair for pair in zip(self.before, outcome.numbers, strict=True) if not pair[0].error + pair[1].error]
        found = []
        for queue in pairs[0][0].wait_p95_s if pairs else ():
            both = [(old.wait_p95_s.get(queue), new.wait_p95_s.get(queue)) for old, new in pairs]
            known = [(old, new) for old, new in both if old is not None and new is not None]
            if known:
                falls = sum(old - new > NOTICED_S for old, new in known)
                rises = sum(new - old > NOTICED_S for old, new in known)
                before_s, after_s = known[0]
                found.append(
                    Change(queue=queue, before_s=before_s, after_s=after_s, falls=falls, rises=rises,
                           futures=len(known))
                )  # fmt: skip
        return found

    def own(self, outcome: Outcome) -> Change | None:
        """Return the change of the queue that is given more."""
        return next((one for one in self.changes(outcome) if one.queue == outcome.choice.queue), None)

    def loser(self, outcome: Outcome) -> Change | None:
        """Return the other queue whose p95 wait rises most; None if none rises noticeably."""
        others = [one for one in self.changes(outcome) if one.queue != outcome.choice.queue]
        worst = max(others, key=lambda one: one.delta_s, default=None)
        return worst if worst is not None and worst.delta_s > NOTICED_S else None
