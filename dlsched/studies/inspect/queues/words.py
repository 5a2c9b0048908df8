"""What is said of a run with quotas: sentence, cards, banners, tables; no page library."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from dlsched.domain.columns import RESOURCES
from dlsched.studies.calibration.measures import Grade
from dlsched.studies.calibration.tables import MEASURE_HEADER, measure_cells
from dlsched.studies.inspect.queues.answer import CAUSE_WORDS, REASON_WORDS, Cause, QueueNumbers, Queues
from dlsched.studies.inspect.words import stale_cautions
from dlsched.wording.cautions import Caution
from dlsched.wording.clock import Clock
from dlsched.wording.counted import COUNTED, GPUS, Counted
from dlsched.wording.formats import amount, capital, duration, listed, number, share

STOPPED_OFTEN = 10
"""A job stopped more often than this makes a banner."""
GRADE_WORDS: Mapping[Grade, str] = {
    "replays": "replays", "ranks": "ranks only", "fails": "does not replay", "no-waits": "no waits to compare",
    "few": "too few jobs",
}  # fmt: skip
"""How near the run comes to the record of a queue, as in a calibration."""
NO_WAIT_S = 60.0
"""A p95 wait below this is none."""


def unit_of(answer: Queues) -> Counted:
    """Return what the amounts of an answer are called."""
    return COUNTED.get(RESOURCES.index(answer.resource), GPUS)


def sentence_of(answer: Queues) -> str:
    """Return the queue that waits longest, how long, and the main cause."""
    worst = answer.worst()
    if worst is None or worst.wait_p95_s is None:
        return "No job of any queue started."
    if worst.wait_p95_s < NO_WAIT_S:
        return f"No queue waits: the longest p95 wait is {duration(worst.wait_p95_s)}, of {worst.queue}."
    cause: Cause = max(CAUSE_WORDS, key=worst.cause_share)
    part = share(worst.cause_share(cause))
    wait = f"{capital(worst.queue)} has the longest p95 wait, {duration(worst.wait_p95_s)}"
    holders = listed(worst.holders[:2]) if worst.holders else "other queues"
    because: Mapping[Cause, str] = {
        "lent": f"with quota to spare: during {part} of its waiting, {holders} used quota lent by it, "
        "which its jobs may not reclaim",
        "quota": f"and {part} of its waiting is above its own quota",
        "strict": f"and {part} of its waiting is behind the first job of a strict queue",
        "leaving": f"and {part} of its waiting is for stopped jobs to leave",
        "nodes": f"with quota to spare: during {part} of its waiting, no node had room",
        "other": f"and {part} of its waiting has another reason",
    }
    return f"{wait}, {because[cause]}."


def cards_of(answer: Queues) -> list[tuple[str, str, str]]:
    """Return the four cards: the worst wait against its quota, borrowed, stopped jobs, quota that nothing used."""
    unit, worst = unit_of(answer), answer.worst()
    hours = answer.end_s - answer.start_s
    used, borrowed, nominal = (answer.total(of) for of in ("used_h", "borrowed_h", "nominal_h"))
    idle = answer.total("idle_h")
    if worst is None or worst.wait_p95_s is None:
        first = ("p95 wait", "no start", "No job started.")
    else:
        mean = worst.used_h * 3600 / hours
        own = worst.nominal_h * 3600 / hours
        first = (
            f"p95 wait of {worst.queue}", duration(worst.wait_p95_s),
            f"The longest of all queues. On average {worst.queue} used {unit.amount(round(mean, 1))} and has a quota "
            f"of {number(own)}.",
        )  # fmt: skip
    return [
        first,
        (
            f"Borrowed, {share(borrowed / used if used else 0.0)} of use", f"{number(borrowed)} {unit.one}-h",
            f"Use above the nominal quota of the queue, in {unit.one}-hours; all queues together.",
        ),
        (
            f"Stopped, {number(answer.total('lost_h'))} {unit.one}-h lost", amount(answer.stopped, "job"),
            "Jobs stopped for other jobs, and the work they have to do again. A job counts each time it is stopped.",
        ),
        (
            f"Unused, {share(idle / nominal if nominal else 0.0)} of quota", f"{number(idle)} {unit.one}-h",
            "Nominal quota that neither its own queue nor another one used, from the first submission to the last "
            "completion.",
        ),
    ]  # fmt: skip


def cautions_of(answer: Queues, *, stale: bool = False) -> list[Caution]:
    """Return the banners: jobs stopped again and again, a run by other code."""
    found = stale_cautions("queue", stale=stale)
    if answer.often and answer.often[0].times > STOPPED_OFTEN:
        one = answer.often[0]
        many = sum(each.times > STOPPED_OFTEN for each in answer.often)
        text = (
            f"Job {one.job} was stopped {one.times} times and lost {number(one.lost_h)} {unit_of(answer).one}-hours"
            + (f"; {amount(many - 1, 'more job')} more than {STOPPED_OFTEN} times" if many > 1 else "")
            + "."
        )
        found.append(Caution("orange", text, "See the most often stopped jobs below, and “Policy switches”"))
    return found


def queues_frame(answer: Queues) -> pd.DataFrame:
    """Return one row a queue; hours are hours of one unit, waits in seconds."""
    unit = unit_of(answer).one
    return pd.DataFrame(
        [
            {
                "Queue": one.queue, "Cohort": one.parent, "Jobs": one.jobs, "Started": one.started,
                "p95 wait": one.wait_p95_s,
                **{f"Wait: {words}": _mean(one, cause) for cause, words in CAUSE_WORDS.items()},
                f"Quota ({unit}-h)": one.nominal_h, f"Used ({unit}-h)": one.used_h,
                f"Borrowed ({unit}-h)": one.borrowed_h, f"Lent ({unit}-h)": one.lent_h,
                f"Unused ({unit}-h)": one.idle_h, "Stopped": one.stopped, "Stopped others": one.caused,
                f"Lost ({unit}-h)": one.lost_h, "Weight": one.weight, "Mean share": one.share,
            }
            for one in answer.queues
        ]
    )  # fmt: skip


def _mean(one: QueueNumbers, cause: Cause) -> float:
    """Return the mean seconds of a job that have this cause."""
    return one.waited_s.get(cause, 0.0) / one.jobs if one.jobs else 0.0


def stops_frame(answer: Queues, clock: Clock) -> pd.DataFrame:
    """Return the stopped jobs, one row each, in the order of time."""
    unit = unit_of(answer).one
    return pd.DataFrame(
        [
            {
                "Time": clock.moment(one.time_s), "Stopped job": one.job, "Queue": one.queue, "For job": one.for_job,
                "Of queue": one.for_queue, "Why": REASON_WORDS.get(one.reason, one.reason),
                f"Lost ({unit}-h)": one.lost_h, "Stopped before": one.earlier,
            }
            for one in answer.stops
        ]
    )  # fmt: skip


def often_frame(answer: Queues) -> pd.DataFrame:
    """Return the jobs that were stopped most often."""
    unit = unit_of(answer).one
    return pd.DataFrame(
        [{"Job": one.job, "Queue": one.queue, "Times stopped": one.times, f"Lost ({unit}-h)": one.lost_h}
         for one in answer.often]
    )  # fmt: skip


def stopped_words(answer: Queues) -> str:
    """Return who was stopped for whom, the largest first."""
    if not answer.stopped:
        return "No job was stopped for another."
    most = max(answer.stopped_for, key=lambda one: one.jobs)
    whom = "jobs of its own" if most.queue == most.for_queue else f"jobs of {most.for_queue}"
    return (
        f"{amount(answer.stopped, 'job')} stopped; most often jobs of {most.queue} for {whom} "
        f"({most.jobs:,} times, {number(most.lost_h)} {unit_of(answer).one}-h lost)."
    )


def fairness_words(answer: Queues) -> str:
    """Return how evenly queues borrow."""
    if answer.jain is None:
        return "No queue used more than its quota."
    most = max(answer.queues, key=lambda one: one.share)
    return (
        f"Jain's index of borrowed hours over weight is {answer.jain:.2f} (1 = all queues in proportion). "
        f"{capital(most.queue)} has the largest mean share: {share(most.share)} of what it could get."
    )


def trust_words(answer: Queues) -> str:
    """Return how near the run comes to what was recorded, by queue; "" without a recorded start."""
    grades = {one.queue: one.replayed.grade for one in answer.queues if one.replayed is not None}
    if not grades:
        return ""
    parts = [
        f"{GRADE_WORDS[grade]} for {listed(names)}"
        for grade in GRADE_WORDS
        if (names := [name for name, own in grades.items() if own == grade])
    ]
    return f"Against the recorded starts: {'; '.join(parts)}."


def trust_frame(answer: Queues) -> pd.DataFrame:
    """Return the measures of the waits against the recorded ones, one row a queue with jobs that are compared."""
    header = [name if name.startswith("p95") else capital(name) for name in MEASURE_HEADER]
    return pd.DataFrame(
        [
            {
                "Queue": one.queue, "Against the record": GRADE_WORDS[one.replayed.grade],
                "Not compared": f"{one.not_compared:,}",
                **dict(zip(header, measure_cells(one.replayed), strict=True)),
            }
            for one in answer.queues
            if one.replayed is not None
        ]
    )  # fmt: skip
