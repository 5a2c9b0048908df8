"""When jobs start, in words: the sentence, the tables, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlsched.studies.when_starts.answer import (
    LEAST_SCORED,
    SLACK_S,
    SOON_S,
    TODAY_S,
    AskedForLess,
    Change,
    Quantiles,
    Score,
    WaitingJob,
    When,
)
from dlsched.wording.clock import Clock
from dlsched.wording.formats import MISSING, amount, cut, duration, factor, number, share

AIM = 0.8
LEAST_OFF = 0.1
"""Coverage this far from 80% is said to be too small or too large; ours."""
CHANGES: Mapping[Change, str] = {
    "half-gpus": "half the GPUs", "one-node": "one node", "usual-limit": "a usual limit",
    "half-limit": "half the limit",
}  # fmt: skip


def sentence(answer: When) -> str:
    """Return how many of the waiting jobs start soon; names that users gave are not in it."""
    jobs = answer.expected
    if not jobs:
        return "No job waits for room at this instant."
    if not answer.ended:
        soon, today = (
            sum(job.worst_s is not None and job.worst_s <= limit_s for job in jobs) for limit_s in (SOON_S, TODAY_S)
        )
        return (
            f"{amount(len(jobs), 'job')} {_wait(len(jobs))}. With every job running to its time limit, "
            f"{_soon_words(soon, today, len(jobs), 'would')}."
        )
    soon, today = (sum(_starts_by(job, limit_s) for job in jobs) for limit_s in (SOON_S, TODAY_S))
    return (
        f"{amount(len(jobs), 'job')} {_wait(len(jobs))}: {_soon_words(soon, today, len(jobs), 'should')} "
        f"(median of {answer.futures:,} futures, {answer.label})."
    )


def _wait(jobs: int) -> str:
    return "waits" if jobs == 1 else "wait"


def _soon_words(soon: int, today: int, jobs: int, modal: str) -> str:
    """Return how many of the jobs start within 1 h and within 24 h, each number once."""
    if not today:
        return "no start is expected within 24 h"
    if jobs == 1:
        return f"it {modal} start within {'1 h' if soon else '24 h, but not within 1 h'}"
    all_today = "all" if today == jobs else f"{today:,}"
    if not soon:
        return f"{all_today} {modal} start within 24 h, none of them within 1 h"
    if soon < today:
        return f"{soon:,} {modal} start within 1 h and {all_today} within 24 h"
    return f"{all_today} {modal} start within 1 h{'' if soon == jobs else ', and no more within 24 h'}"


def _starts_by(job: WaitingJob, limit_s: float) -> bool:
    return job.starts is not None and job.starts.median_s is not None and job.starts.median_s <= limit_s


def in_words(value_s: float | None) -> str:
    """Return a time until a start: now, 3 h 12 min; "not seen" where it does not come in so many futures."""
    if value_s is None:
        return "not seen"
    return "now" if value_s < 1 else duration(value_s)


def _in(value_s: float | None) -> str:
    """Return a time until a start within a sentence: now, in 3 h 12 min."""
    return "in few of the futures" if value_s is None else "now" if value_s < 1 else f"in {duration(value_s)}"


def _span(starts: Quantiles) -> str:
    low, high = in_words(starts.low_s), in_words(starts.high_s)
    return low if low == high else f"{low} to {high}"


def job_sentence(answer: When, job: WaitingJob, clock: Clock) -> str:
    """Return when one job starts; its name may be what a user gave."""
    name = f"Job {cut(job.job_id, 60)} ({_size(job)})"
    if job.starts is None:
        return f"{name} waits: {cut(job.reason, 80)}. Its start cannot be predicted."
    if not answer.ended:
        return f"{name} starts in {in_words(job.worst_s)} if every job runs to its time limit."
    if job.starts.median_s is None:
        return f"{name} does not start in most of the {answer.futures:,} futures."
    at = clock.moment(answer.at_s + job.starts.median_s)
    when = "now" if job.starts.median_s < 1 else f"in {duration(job.starts.median_s)}, {at}"
    return (
        f"{name} should start {when} (80% of the futures: {_span(job.starts)}; within 24 h in {share(job.within_24h)})."
    )


def _size(job: WaitingJob) -> str:
    return amount(job.gpus, "GPU") if job.gpus else amount(job.cores, "core")


def change_sentence(less: AskedForLess, job: WaitingJob) -> str:
    """Return what asking for less would do: "With 4 instead of 8 GPUs it would start 2 h earlier (...)"."""
    if less.change in ("half-gpus", "one-node"):
        unit = "GPUs" if job.gpus else "cores"
        with_what = f"With {number(less.after)} instead of {number(less.before)} {unit}"
    else:
        with_what = f"With a limit of {duration(less.after)} instead of {duration(less.before)}"
    if less.sooner < 0.005:
        text = f"{with_what} it would not start earlier."
    else:
        text = (
            f"{with_what} it would start {_in(less.starts.median_s)}. That is earlier in {share(less.sooner)} of the "
            f"futures, by {_earlier(less.earlier)}."
        )
    if less.killed is not None:
        text += f" {share(less.killed)} of similar jobs ran longer than that limit."
    return text


def _earlier(gain: Quantiles) -> str:
    low, median, high = (
        MISSING if value is None else duration(value) for value in (gain.low_s, gain.median_s, gain.high_s)
    )
    return median if low == high else f"{median} (80%: {low} to {high})"


def notes_of(answer: When) -> list[str]:
    """Return what must be known to read the starts."""
    notes = []
    if answer.ended and answer.expected:
        of = amount(answer.with_limits or answer.ended, "ended job")
        shares = ", as shares of their time limits" if answer.with_limits else ""
        notes.append(
            f"Run times are drawn from {of} of the log{shares}: those of the same user, else of the same group, else "
            "of all. Policies believe the time limits."
        )
    elif answer.expected:
        notes.append(
            "The file has no ended jobs, so nothing is known of how long jobs really run: these are starts with every "
            "job running to its time limit, without an interval. Give a log of ended jobs."
        )
    if answer.by_priority:
        notes.append("Waiting jobs stand in the order of the priorities in the file.")
    if answer.later:
        notes.append("Jobs arrive later too: those of other days of the log, at the same time of the day.")
    elif answer.expected:
        notes.append("No further jobs arrive: later jobs that the policy puts ahead can push a start back.")
    if answer.placed:
        notes.append(
            f"Placed by rule: {answer.placed:,} of {amount(answer.running, 'running job')}, as their recorded nodes "
            "are missing, not in the cluster, or taken."
        )
    if answer.left_out:
        notes.append(
            f"Left out: {amount(answer.left_out, 'running job')} that would not fit the cluster beside the others. "
            "Describe the cluster."
        )
    if answer.unknown:
        notes.append(f"Left out: {amount(answer.unknown, 'job')} of which it is not known whether they have started.")
    if waiting := len(answer.jobs) - len(answer.expected):
        notes.append(f"No start can be predicted for {amount(waiting, 'job')} on hold or too large for the cluster.")
    return notes


def rows_of(answer: When, clock: Clock) -> list[dict[str, Any]]:
    """Return a row for each waiting job, times in words."""
    return [
        {
            "Job": job.job_id,
            "User": job.user,
            "Partition": job.partition,
            "Cores" if answer.counts_cores else "GPUs": number(job.cores if answer.counts_cores else job.gpus),
            "Place": f"{job.place:,}" if job.place else MISSING,
            "Starts in": MISSING if job.starts is None or not answer.ended else in_words(job.starts.median_s),
            "80% interval": _interval(answer, job),
            "Within 1 h": MISSING if job.starts is None or not answer.ended else share(job.within_1h),
            "Within 24 h": MISSING if job.starts is None or not answer.ended else share(job.within_24h),
            "By limits": MISSING if job.starts is None else in_words(job.worst_s),
            "Likely start": _moment(answer, job, clock),
            "Why it waits": cut(job.reason, 80),
        }
        for job in answer.jobs
    ]


def _interval(answer: When, job: WaitingJob) -> str:
    if job.starts is None or not answer.ended:
        return MISSING
    return _span(job.starts)


def _moment(answer: When, job: WaitingJob, clock: Clock) -> str:
    start_s = job.worst_s if not answer.ended else None if job.starts is None else job.starts.median_s
    return MISSING if start_s is None else clock.moment(answer.at_s + start_s)


def plain_rows(answer: When) -> list[dict[str, Any]]:
    """Return a row for each waiting job, times in seconds from the instant; for files."""
    none = Quantiles(low_s=None, median_s=None, high_s=None)
    return [job.model_dump(exclude={"starts"}) | (job.starts or none).model_dump() for job in answer.jobs]


def change_rows(answer: When) -> list[dict[str, Any]]:
    """Return a row for each way to ask for less."""
    return [
        {
            "Ask for": CHANGES[less.change],
            "Instead of": number(less.before) if less.change in ("half-gpus", "one-node") else duration(less.before),
            "New": number(less.after) if less.change in ("half-gpus", "one-node") else duration(less.after),
            "Starts in": in_words(less.starts.median_s),
            "80% interval": _span(less.starts),
            "Earlier": _earlier(less.earlier),
            "Earlier in": share(less.sooner),
            "Similar jobs over the limit": MISSING if less.killed is None else share(less.killed),
        }
        for less in answer.changes
    ]


GPUS_NOTE = (
    "With fewer GPUs a job needs longer; its limit stays as it is here. A limit that is too short ends the job before "
    "it is done."
)


# ---- the score -------------------------------------------------------------------------------------------


def score_sentence(score: Score) -> str:
    """Return how often jobs started within the interval: "On this log 78% of 1,204 jobs (95%: 71% to 85%) …"."""
    if score.coverage is None or score.jobs < LEAST_SCORED:
        return f"Too few jobs of the log waited to score the intervals (n = {score.jobs:,})."
    known = score.low is not None and score.high is not None
    span = f" (95% interval {share(score.low)} to {share(score.high)})" if known else ""
    return (
        f"On the second half of this log {share(score.coverage)}{span} of {amount(score.jobs, 'waiting job')} started "
        f"within the 80% interval, at {amount(len(score.instants), 'instant')}; {_verdict(score)}."
    )


def _verdict(score: Score) -> str:
    if score.coverage is None or score.low is None or score.high is None:
        return "one instant says little"
    if score.low <= AIM <= score.high or abs(score.coverage - AIM) < LEAST_OFF:
        return "the intervals hold on this log"
    if score.coverage > AIM:
        return "the intervals are wider than they need to be"
    side = "earlier" if score.early > 2 * score.late else "later" if score.late > 2 * score.early else ""
    if side:
        return (
            f"most others started {side}: {score.label} is not how this cluster decides, so do not rely on the "
            "intervals"
        )
    return "the intervals are too narrow, so do not rely on them: run times or decisions differ from those drawn"


def score_rows(score: Score) -> list[dict[str, str]]:
    """Return how far off the told starts were, beside two simple rules."""
    return [
        {"Rule": name, "Typical factor": MISSING if value is None else factor(value)}
        for name, value in (
            (f"Median of the futures ({score.label})", score.errors.futures),
            ("Median wait of the jobs before", score.errors.past_wait),
            ("Every job runs to its limit", score.errors.limits),
        )
    ]


SCORE_NOTE = (
    "At each instant only what had happened by then counts. Typical factor: exp of the median of |ln((predicted + 60 s)"
    f" / (recorded + 60 s))| of the time until the start; a start up to {SLACK_S:.0f} s outside the interval counts as "
    "within. The 95% interval is over instants, as jobs of one instant start together."
)
