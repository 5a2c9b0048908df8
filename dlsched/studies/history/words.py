"""What happened in words and rows: the sentence, cards, tables, and what must be known beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.domain.units import HOUR_S
from dlsched.studies.history.answer import GROUPING_WORDS, Capacity, GroupRow, History, Times
from dlsched.wording.clock import Clock
from dlsched.wording.formats import Kind, amount, capital, duration, money, number, share

HOUR_WORDS = {"gpus": "GPU-hours", "cpus": "core-hours"}
UNIT_WORDS = {"gpus": "GPUs", "cpus": "cores"}
LEAST_HELD = 0.01
"""Below this share of the jobs, holds are left to the table."""
SAMPLE = "This looks like a sample of jobs, not a whole log"


def sentence(answer: History) -> str:
    """Return what happened in three sentences: waits, hours used, and what stood idle."""
    return " ".join(part for part in (_waits(answer), _hours(answer), idle_sentence(answer)) if part)


def _waits(answer: History) -> str:
    total = answer.total
    if total.wait is None:
        return f"{amount(answer.jobs, 'job')}, none with a recorded start."
    over = f"{share(total.over_1h)} waited more than 1 h" if total.over_1h else "none waited more than 1 h"
    of = "" if answer.started == answer.jobs else f" with a recorded start, of {answer.jobs:,},"
    text = (
        f"{amount(answer.started, 'job')}{of} waited {duration(total.wait.median_s)} at the median and "
        f"{duration(total.wait.p95_s)} at p95; {over}."
    )
    if total.held and total.held >= LEAST_HELD * answer.jobs:
        text += f" {amount(total.held, 'job')} {'was' if total.held == 1 else 'were'} also held before that."
    return text


def _hours(answer: History) -> str:
    hours = answer.hours(answer.total.used)
    if not hours:
        return ""
    lost = answer.lost(answer.total.used) / hours
    ended = f", {share(lost)} of them in jobs that ended without success" if lost else ""
    cost = ""
    if answer.total.used.usd is not None:
        example = " at an example price" if answer.prices.is_example else ""
        cost = f" They cost {money(answer.total.used.usd)}{example}."
    return f"They used {number(hours)} {HOUR_WORDS[answer.resource]}{ended}.{cost}"


def idle_sentence(answer: History) -> str:
    """Return how much stood idle, and how much of it while jobs that fit waited; "" where the cluster is not known."""
    main = answer.main
    if main is None or not main.available_h:
        return ""
    if answer.is_sample:
        return f"{SAMPLE}: what stood idle cannot be told."
    text = f"{share(main.idle_h / main.available_h)} of the {UNIT_WORDS[answer.resource]} stood idle"
    if answer.idle_wanted is None:
        return f"{text}; no job waited meanwhile."
    return f"{text}; while jobs that fit waited, {share(answer.idle_wanted)} of the cluster did."


def cards_of(answer: History) -> list[tuple[str, str, str]]:
    """Return label, value and help of the cards."""
    total, main = answer.total, answer.main
    hours, word = answer.hours(total.used), HOUR_WORDS[answer.resource]
    wait = total.wait
    cards = [
        ("p95 wait", duration(None if wait is None else wait.p95_s),
         f"From arrival to recorded start, of {amount(answer.started, 'job')}; mean "
         f"{duration(None if wait is None else wait.mean_s)}."),
        ("Waited over 1 h", share(total.over_1h), f"Over 10 min: {share(total.over_10min)}."),
        (f"{capital(word)} used", number(hours),
         f"{number(answer.lost(total.used))} of them in jobs that failed, were cancelled, timed out, were preempted or "
         "lost their node."),
    ]  # fmt: skip
    if main is None or answer.is_sample:
        cards.append(("Idle", "–", SAMPLE + "." if answer.is_sample else answer.cluster_words))
    else:
        wanted = f" While jobs waited: {share(answer.idle_wanted)} idle and wanted." * (answer.idle_wanted is not None)
        cards.append(("Idle", share(main.idle_h / main.available_h) if main.available_h else "–",
                      f"{number(main.idle_h)} of {number(main.available_h)} {word} from the first recorded end to the "
                      f"last arrival.{wanted}"))  # fmt: skip
    return cards


def notes_of(answer: History, clock: Clock) -> list[str]:
    """Return what must be known to read the numbers: what is counted, prices, capacity and its window."""
    notes = [*answer.notes, f"Prices: {answer.prices.words}."]
    if answer.window_s is not None and answer.capacity:
        start, end = map(clock.moment, answer.window_s)
        notes.append(f"{answer.cluster_words} Idle hours count from the first recorded end, {start}, to the last "
                     f"arrival, {end}: outside it the log does not show all jobs.")  # fmt: skip
    elif answer.window_s is None:
        notes.append("The log is too short to tell idle hours: all jobs arrived before the first one ended.")
    else:
        notes.append(f"{answer.cluster_words} Idle hours cannot be told.")
    if answer.total.held:
        notes.append("Waits count from the arrival: after dependencies and holds. Waits from Submit count those too.")
    return notes


# ---- tables ------------------------------------------------------------------------------------------


def wait_rows(answer: History, by: str) -> list[dict[str, Any]]:
    """Return a row for each group: jobs and waits in seconds; from Submit too where jobs were held."""
    held = answer.total.held > 0
    return [
        {
            GROUPING_WORDS[by]: row.name,
            "jobs": row.jobs,
            "started": row.started,
            **_times("wait", row.wait),
            "over 10 min": row.over_10min,
            "over 1 h": row.over_1h,
            **({"held": row.held, **_times("wait from Submit", row.felt)} if held else {}),
        }
        for row in answer.groups[by]
    ]


def _times(what: str, times: Times | None) -> dict[str, float | None]:
    names = {"median": "median_s", "p95": "p95_s", "mean": "mean_s"}
    return {f"{name} {what} (s)": None if times is None else getattr(times, field) for name, field in names.items()}


def charge_rows(answer: History, by: str) -> list[dict[str, Any]]:
    """Return the chargeback table: hours and cost of each group, their sum, and what stood idle as a row of its own."""
    rows = [_charge(answer, by, row) for row in answer.groups[by]]
    rows.append(_charge(answer, by, answer.total) | {GROUPING_WORDS[by]: "total"})
    main = answer.main
    if main is not None and not answer.is_sample:
        idle = dict.fromkeys(rows[0])
        idle |= {GROUPING_WORDS[by]: "idle (not charged)", HOUR_WORDS[answer.resource]: main.idle_h}
        rows.append(idle | ({} if answer.idle_usd is None else {"cost ($)": answer.idle_usd}))
    return rows


def _charge(answer: History, by: str, row: GroupRow) -> dict[str, Any]:
    used, found = row.used, {GROUPING_WORDS[by]: row.name, "jobs": row.jobs}
    charged: dict[str, Any] = dict(found)
    if answer.has_gpus:
        charged |= {HOUR_WORDS["gpus"]: used.gpu_h, "GPU-hours without success": used.lost_gpu_h}
    if answer.has_cores:
        charged |= {HOUR_WORDS["cpus"]: used.core_h, "core-hours without success": used.lost_core_h}
    if used.usd is not None:
        total = answer.total.used.usd or 0.0
        charged |= {"cost ($)": used.usd, "share of cost": used.usd / total if total else None}
    return charged


def outcome_rows(answer: History) -> list[dict[str, Any]]:
    """Return a row for each recorded outcome: jobs and hours."""
    return [
        {"outcome": one.outcome, "jobs": one.jobs}
        | ({HOUR_WORDS["gpus"]: one.gpu_h} if answer.has_gpus else {})
        | ({HOUR_WORDS["cpus"]: one.core_h} if answer.has_cores else {})
        for one in answer.outcomes
    ]


def capacity_rows(answer: History) -> list[dict[str, Any]]:
    """Return a row for each resource: hours available, used and idle."""
    return [_capacity(one) for one in answer.capacity]


def _capacity(one: Capacity) -> dict[str, Any]:
    return {
        "resource": UNIT_WORDS[one.resource],
        "in the cluster": one.amount,
        "hours available": one.available_h,
        "hours used": one.used_h,
        "hours idle": one.idle_h,
        "idle": one.idle_h / one.available_h if one.available_h else None,
    }


def idle_rows(answer: History, clock: Clock) -> list[dict[str, Any]]:
    """Return the steps in which most was idle and wanted."""
    several = any(one.partitions for one in answer.worst)
    return [
        {
            "from": clock.moment(one.from_s),
            **({"partitions": one.partitions} if several else {}),
            "idle all through": one.idle,
            "jobs that waited all through and fit": one.waiting,
            "idle and wanted": one.wanted,
        }
        for one in answer.worst
    ]


def outlier_words(answer: History, clock: Clock) -> str:
    """Return how often much stood idle while jobs waited, and the worst case; "" where nothing can be told."""
    if answer.main is None or answer.is_sample or not answer.steps:
        return ""
    step = "hour" if answer.step_s == HOUR_S else duration(answer.step_s)
    steps = amount(answer.steps, step) if step == "hour" else f"{answer.steps:,} steps of {step}"
    if not answer.worst:
        return f"In none of {steps} did a job wait all through beside idle {UNIT_WORDS[answer.resource]} it fits into."
    worst = answer.worst[0]
    text = f"In {answer.idle_steps:,} of {steps} at least 20% stood idle all through while jobs that fit waited."
    where = f" of {worst.partitions}" if worst.partitions else ""
    return (
        f"{text} The worst, from {clock.moment(worst.from_s)}: {share(worst.idle)}{where} idle beside "
        f"{amount(worst.waiting, 'job')} that waited all through it."
    )


FIT_NOTE = (
    "A job fits where it needs no more than what is idle of the nodes it may use, taken together: single nodes and "
    "limits are not looked at, and may be why it waited."
)


def longest_rows(answer: History, clock: Clock) -> list[dict[str, Any]]:
    """Return the jobs that waited longest."""
    named = [name for name in ("user", "group", "partition") if any(getattr(one, name) for one in answer.longest)]
    held = any(one.held_s for one in answer.longest)
    return [
        {"job": one.job_id, **{name: getattr(one, name) for name in named}, UNIT_WORDS[answer.resource]: one.width,
         "arrived": clock.moment(one.submit_s), "wait (s)": one.wait_s,
         **({"held before (s)": one.held_s} if held else {})}
        for one in answer.longest
    ]  # fmt: skip


def kind_of(column: str) -> Kind:
    """Return how the numbers of a column of these tables are written."""
    if column.endswith(" (s)"):
        return "duration"
    if column.endswith(" ($)"):
        return "usd"
    return "share" if column.startswith(("over ", "share", "idle")) else "number"


def title_of(column: str) -> str:
    """Return the heading of a column whose numbers are written with their unit."""
    return column.removesuffix(" (s)").removesuffix(" ($)")


def rows_of(answer: History, groupings: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return all numbers by group as rows with equal keys, for a file: grouping, name, waits, hours, cost."""
    return [_row(by, row) for by in groupings for row in answer.groups[by]] + [_row("all", answer.total)]


def _row(by: str, row: GroupRow) -> Mapping[str, Any]:
    times = {f"{what}_{name}": None if value is None else getattr(value, name)
             for what, value in (("wait", row.wait), ("wait_from_submit", row.felt))
             for name in ("mean_s", "median_s", "p95_s")}  # fmt: skip
    return {
        "by": by, "name": row.name, "jobs": row.jobs, "started": row.started, **times,
        "over_10min": row.over_10min, "over_1h": row.over_1h, "held_jobs": row.held, **row.used.model_dump(),
    }  # fmt: skip
