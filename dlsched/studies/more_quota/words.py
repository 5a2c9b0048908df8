"""What is said of more quota: who gains, who loses, and what it costs; no page library."""

from __future__ import annotations

import pandas as pd

from dlsched.domain.columns import RESOURCES
from dlsched.studies.more_quota.answer import Change, MoreQuota, Outcome
from dlsched.studies.more_quota.spec import Choice
from dlsched.wording.counted import COUNTED, GPUS, Counted
from dlsched.wording.formats import amount, capital, duration, number, signed

SAME_WORK = 0.01
"""Makespans this close, relative, are the same work done."""


def unit_of(answer: MoreQuota) -> Counted:
    """Return what the quotas of an answer count."""
    return COUNTED.get(RESOURCES.index(answer.resource), GPUS)


def errors_of(answer: MoreQuota) -> list[str]:
    """Return what ended runs, each once."""
    sides = (answer.before, *(outcome.numbers for outcome in answer.outcomes))
    return list(dict.fromkeys(one.error for side in sides for one in side if one.error))


def more_words(answer: MoreQuota, choice: Choice) -> str:
    """Return "8 more GPUs for vision"."""
    unit = unit_of(answer)
    return f"{number(choice.more)} more {unit.one if choice.more == 1 else unit.many} for {choice.queue}"


def sentence_of(answer: MoreQuota) -> str:
    """Return the most telling choice: the one with the largest gain for the queue that is given more."""
    gains = [(own.before_s - own.after_s, outcome) for outcome in answer.outcomes if (own := answer.own(outcome))]
    if not gains:
        return "No run could be compared."
    return outcome_words(answer, max(gains, key=lambda one: one[0])[1])


def outcome_words(answer: MoreQuota, outcome: Outcome) -> str:
    """Return one choice in a sentence: its own p95 wait, who loses, stopped jobs, and whether more work gets done."""
    own, loser = answer.own(outcome), answer.loser(outcome)
    if own is None:
        return f"{capital(more_words(answer, outcome.choice))}: no run could be compared."
    parts = [_moves("its", own), _moves(f"{loser.queue}'s", loser) if loser else "no other queue waits longer"]
    before, after = answer.before[0], outcome.numbers[0]
    if before.stopped != after.stopped:
        now = (
            f"{amount(after.stopped, 'job')} are" if after.stopped > 1 else "1 job is" if after.stopped else "no job is"
        )
        parts.append(f"{now} stopped, instead of {before.stopped:,}")
    work = ""
    if before.makespan_s and after.makespan_s and abs(after.makespan_s / before.makespan_s - 1) < SAME_WORK:
        work = "; no more work gets done, as the nodes are the same"
    return f"{capital(more_words(answer, outcome.choice))}: {', '.join(parts)}{work}.{_certainty(own)}"


def _moves(whose: str, one: Change) -> str:
    if one.before_s == one.after_s:
        return f"{whose} p95 wait stays {duration(one.after_s)}"
    verb = "falls" if one.delta_s < 0 else "rises"
    return f"{whose} p95 wait {verb} from {duration(one.before_s)} to {duration(one.after_s)}"


def _certainty(own: Change) -> str:
    return f" It falls in {own.falls:,} of {own.futures:,} futures." if own.futures > 1 else ""


def frame_of(answer: MoreQuota) -> pd.DataFrame:
    """Return one row a choice, of future 0; times in seconds. "Falls in" counts the futures."""
    unit = unit_of(answer)
    rows = []
    for outcome in answer.outcomes:
        choice, own, loser = outcome.choice, answer.own(outcome), answer.loser(outcome)
        before, after = answer.before[0], outcome.numbers[0]
        rows.append(
            {
                "Queue": choice.queue,
                f"More ({unit.many})": f"+{number(choice.more)}" + (" (all)" if choice.is_all else ""),
                f"Quota ({unit.many})": choice.after,
                "p95 wait now": None if own is None else own.before_s,
                "p95 wait then": None if own is None else own.after_s,
                "Falls in": "–" if own is None else f"{own.falls} of {own.futures}",
                "Loses most": "none" if loser is None else loser.queue,
                "Its p95 wait now": None if loser is None else loser.before_s,
                "Its p95 wait then": None if loser is None else loser.after_s,
                "Change in jobs stopped": (
                    signed(after.stopped - before.stopped) if after.stopped != before.stopped else "same"
                ),
                f"Lost ({unit.one}-h)": after.lost_h, f"Unused ({unit.one}-h)": after.idle_h,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)
