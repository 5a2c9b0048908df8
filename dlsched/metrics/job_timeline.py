"""One job's own story: why it waited, where it ran, what it cost; from the tables of a run and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.plan import REASON_TEXT, WaitReason
from dlsched.domain.workload import GPU, Texts
from dlsched.metrics.blockers import MOST_NAMED, Blockers, ahead_of, on_its_gpus, reserved_for, stopped_for
from dlsched.policies.shared.queues import queue_of_jobs
from dlsched.wording.counted import COUNTED
from dlsched.wording.formats import amount, duration, listed, money

REASONS = {reason.name.lower(): text for reason, text in REASON_TEXT.items()}
NOT_RECORDED = WaitReason.NOT_RECORDED.name.lower()
NO_ROOM, SPLIT, BEHIND, RESERVED = (
    REASON_TEXT[reason] for reason in (WaitReason.NO_ROOM, WaitReason.SPLIT, WaitReason.BEHIND, WaitReason.RESERVED)
)
SHORT_OF_GPUS = (NO_ROOM, SPLIT)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a job's time: it ``waited`` before its first start, ``ran``, or was ``paused`` later.

    ``reason`` in words for waits and pauses; nodes, workers, servers, GPUs, rate and ``end_reason`` for runs, and
    ``machine`` ("K80 x4" for 4 GPUs of such a machine) where the segments name it.
    """

    kind: Literal["waited", "ran", "paused"]
    from_s: float
    to_s: float
    reason: str = ""
    nodes: tuple[int, ...] = ()
    workers: int = 0
    servers: int = 0
    gpus: float = 0.0
    rate: float = 0.0
    end_reason: str = ""
    machine: str = ""

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.to_s - self.from_s


@dataclass(frozen=True, slots=True)
class JobTimeline:
    """One job's timeline and outcome; None if a number is undefined.

    ``late_s`` is None without a due date; ``paused_s`` is the time after the first start without any GPUs.
    """

    job_id: str
    status: str
    user: str
    gpus: float
    submit_s: float
    first_start_s: float | None
    left_s: float | None
    wait_s: float | None
    run_s: float
    paused_s: float
    restarts: int
    due_s: float | None
    late_s: float | None
    cost: float | None
    late_usd: float | None
    utility: float | None
    spans: tuple[Span, ...]
    blockers: Blockers
    sentence: str


def timeline_of(
    job_id: str,
    jobs: pd.DataFrame,
    segments: pd.DataFrame,
    waits: pd.DataFrame,
    end_s: float,
    *,
    rented: bool = False,
    by_submission: bool = False,
    partitions: Texts | None = None,
) -> JobTimeline:
    """Return the story of one job from the jobs, segments and waits tables of its run, which ended at ``end_s``.

    ``rented``: the policy chose the machines, so they are named, and lateness is a cost beside theirs.
    ``by_submission``: it reserves GPUs for the job that waits and was submitted first, so that can be told.
    ``partitions`` of all nodes, "a|b": they say which jobs share a queue; None = those of equal partition do.

    Raises
    ------
    InputError
        If the run has no such job.
    """
    if partitions is not None and "partition" in jobs:
        jobs = jobs.assign(partition=queue_of_jobs(jobs["partition"].to_numpy(dtype=object), partitions))
    rows = jobs[jobs["job_id"] == job_id]
    if rows.empty:
        raise InputError(f"job {job_id!r}", "is not in this run", "Pick a job of the table")
    job = {str(name): value for name, value in rows.iloc[0].items()}
    left_s = end_s if pd.isna(job["left_s"]) else float(job["left_s"])
    ran = _ran(segments[segments["row"] == job["row"]])
    recorded = waits[waits["row"] == job["row"]]
    spans = _timeline(float(job["submit_s"]), left_s, ran, recorded)
    blockers = _blockers(rows.iloc[0], spans, jobs, segments, waits, by_submission=by_submission)
    stops = [(a.to_s, a.nodes) for a, b in pairwise(spans) if a.end_reason == "preempted" and b.kind == "paused"]
    paused_for = stopped_for(rows.iloc[0], jobs, segments, *stops[0]) if len(stops) == 1 else Blockers()
    return JobTimeline(
        job_id=str(job["job_id"]),
        status=str(job["status"]),
        user=str(job.get("user", "")),
        gpus=float(job["gpus"]),
        submit_s=float(job["submit_s"]),
        first_start_s=_none_if_missing(job["first_start_s"]),
        left_s=_none_if_missing(job["left_s"]),
        wait_s=_none_if_missing(job["wait_s"]),
        run_s=float(job["run_s"]),
        paused_s=sum(span.length_s for span in spans if span.kind == "paused"),
        restarts=int(job["restarts"]),
        due_s=_none_if_missing(job["due_s"]),
        late_s=_none_if_missing(job["tardiness_s"]),
        cost=_none_if_missing(job["cost"]),
        late_usd=_none_if_missing(job.get("tardiness_usd")),
        utility=_none_if_missing(job.get("utility")),
        spans=spans,
        blockers=blockers,
        sentence=_sentence(job, spans, blockers, paused_for, rented=rented),
    )


def _none_if_missing(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _ran(segments: pd.DataFrame) -> tuple[Span, ...]:
    """Return one span for each piece; its nodes joined."""
    spans = []
    for _, piece in segments.groupby("piece", sort=True):
        first = piece.iloc[0]
        spans.append(
            Span(
                "ran",
                float(first["start_s"]),
                float(first["end_s"]),
                nodes=tuple(int(node) for node in piece["node"]),
                workers=int(piece["workers"].sum()),
                servers=int(piece["servers"].sum()) if "servers" in piece else 0,
                gpus=float(piece["gpus"].sum()),
                rate=float(first["rate"]),
                end_reason=str(first["end_reason"]),
                machine=_machine(first, float(piece["gpus"].sum())),
            )
        )
    return tuple(sorted(spans, key=lambda span: span.from_s))


def _machine(piece: pd.Series, gpus: float) -> str:
    kind = str(piece.get("gpu_type") or piece.get("vm_type") or "")
    return f"{kind} x{gpus:g}" if kind else ""


def _timeline(submit_s: float, left_s: float, ran: tuple[Span, ...], waits: pd.DataFrame) -> tuple[Span, ...]:
    """Return runs and, between them, waits with their recorded reasons."""
    by_time = waits.sort_values("from_s")
    recorded = list(zip(by_time["from_s"], by_time["to_s"], by_time["reason"], strict=True))
    gaps = [(a.to_s, b.from_s) for a, b in pairwise(ran)] + ([(ran[-1].to_s, left_s)] if ran else [])
    first = (submit_s, ran[0].from_s if ran else left_s)
    spans = [*_explained("waited", first, recorded), *ran]
    for gap in gaps:
        spans += _explained("paused", gap, recorded)
    return tuple(sorted(spans, key=lambda span: span.from_s))


def _explained(
    kind: Literal["waited", "paused"], gap: tuple[float, float], recorded: list[tuple[float, float, str]]
) -> list[Span]:
    """Return a gap cut into spans by recorded reason; what no record covers says so."""
    at_s, until_s = gap
    spans: list[Span] = []
    for from_s, to_s, reason in recorded:
        from_s, to_s = max(from_s, at_s), min(to_s, until_s)
        if to_s <= from_s:
            continue
        if from_s > at_s:
            spans.append(Span(kind, at_s, from_s, REASONS[NOT_RECORDED]))
        spans.append(Span(kind, from_s, to_s, REASONS[reason]))
        at_s = to_s
    return [*spans, Span(kind, at_s, until_s, REASONS[NOT_RECORDED])] if until_s > at_s else spans


def _blockers(
    job: pd.Series, spans: tuple[Span, ...], jobs: pd.DataFrame, segments: pd.DataFrame, waits: pd.DataFrame, *,
    by_submission: bool,
) -> Blockers:  # fmt: skip
    """Return which jobs were in the way for the reason for which a job waited longest before its first start."""
    reason = _main_reason(spans)
    stretches = [(span.from_s, span.to_s) for span in spans if span.kind == "waited" and span.reason == reason]
    if reason in SHORT_OF_GPUS:
        first = next((span.nodes for span in spans if span.kind == "ran"), ())
        return on_its_gpus(job, jobs, segments, first, stretches)
    if reason == BEHIND:
        return ahead_of(job, jobs, waits, stretches)
    if reason == RESERVED and by_submission:
        return reserved_for(job, jobs, waits, stretches)
    return Blockers()


def _main_reason(spans: tuple[Span, ...]) -> str:
    """Return the reason for which a job waited longest before its first start; "" where it did not wait."""
    by_reason: dict[str, float] = {}
    for span in spans:
        if span.kind == "waited":
            by_reason[span.reason] = by_reason.get(span.reason, 0.0) + span.length_s
    return max(by_reason, key=lambda reason: by_reason[reason], default="")


def _sentence(
    job: dict[str, Any], spans: tuple[Span, ...], blockers: Blockers, paused_for: Blockers, *, rented: bool
) -> str:
    machines = _machines(spans) if rented else ""
    parts = [_waited(job, spans, blockers), _running(job, spans) + machines, _paused(spans, paused_for), _outcome(job)]
    if not pd.isna(job["cost"]):
        late_usd = _none_if_missing(job.get("tardiness_usd")) if rented else None
        parts.append(f"cost {money(job['cost'])}" + (f" and {money(late_usd)} for lateness" if late_usd else ""))
    return "; ".join(part for part in parts if part) + "."


def _machines(spans: tuple[Span, ...]) -> str:
    """Return " with K80 x4, then K80 x8": what a job held, in order; their number where there are many."""
    held = [span.machine for span in spans if span.kind == "ran" and span.machine]
    changes = [name for place, name in enumerate(held) if place == 0 or held[place - 1] != name]
    if not changes:
        return ""
    kinds = len(set(changes))
    if len(changes) > MOST_NAMED:
        return f" with {amount(kinds, 'configuration')}, changed {amount(len(changes) - 1, 'time')}"
    return f" with {', then '.join(changes)}"


def _waited(job: dict[str, Any], spans: tuple[Span, ...], blockers: Blockers) -> str:
    waits = [span for span in spans if span.kind == "waited"]
    waited_s = sum(span.length_s for span in waits)
    if waited_s <= 0:
        return "rejected at once" if job["status"] == "rejected" else "started at once"
    text, main = f"waited {duration(waited_s)}", _main_reason(spans)
    say = COUNTED[int(job.get("counted", GPU))].say
    if main == REASONS[NOT_RECORDED]:
        return f"{text} ({main})"
    because = ", mainly because" if len({span.reason for span in waits}) > 1 else " because"
    return (
        f"{text}{because} {say(_in_the_way(main, blockers, spans))}"
        if blockers.count
        else f"{text}{because}: {say(main)}"
    )


def _in_the_way(reason: str, blockers: Blockers, spans: tuple[Span, ...]) -> str:
    """Return a reason with the jobs that were in the way."""
    if reason == BEHIND:
        return f"{blockers.words} {blockers.were} ahead of it"
    if reason == RESERVED:
        return f"the free GPUs were reserved for {blockers.words}"
    nodes = next((span.nodes for span in spans if span.kind == "ran"), ())
    named = [f"n{node}" for node in sorted(set(nodes))]
    where = "most GPUs" if not named else listed(named) if len(named) <= MOST_NAMED else f"its {len(named)} nodes"
    lacked = "GPUs were free, but not on one node" if reason == SPLIT else "too few GPUs were free"
    return f"{lacked}: {blockers.words} used {where}"


def _running(job: dict[str, Any], spans: tuple[Span, ...]) -> str:
    if not job["run_s"]:
        return "never started"
    widths, gangs = {len(span.nodes) for span in spans if span.kind == "ran"}, _gangs(spans)
    if len(widths) > 1:
        return f"ran {duration(job['run_s'])} on {min(widths)} to {max(widths)} nodes at a time{gangs}"
    nodes = sorted({node for span in spans if span.kind == "ran" for node in span.nodes})
    named = ", ".join(f"n{node}" for node in nodes) if len(nodes) <= MOST_NAMED else f"{len(nodes)} nodes"
    return f"ran {duration(job['run_s'])} on {named}{gangs}"


def _gangs(spans: tuple[Span, ...]) -> str:
    """Return " with 3 workers and 2 servers", or their ranges; "" for jobs without servers."""
    ran = [span for span in spans if span.kind == "ran"]
    if not any(span.servers for span in ran):
        return ""
    counts = (([span.workers for span in ran], "worker"), ([span.servers for span in ran], "server"))
    words = [
        amount(held[0], word) if min(held) == max(held) else f"{min(held)} to {amount(max(held), word)}"
        for held, word in counts
    ]
    return f" with {' and '.join(words)}"


def _paused(spans: tuple[Span, ...], paused_for: Blockers) -> str:
    lengths = [span.length_s for span in spans if span.kind == "paused"]
    if not lengths:
        return ""
    stops = sum(1 for a, b in pairwise(spans) if a.kind == "ran" and b.kind == "paused")
    for_jobs = f", for {paused_for.words}" if paused_for.count else ""
    return f"paused {amount(stops, 'time')}, {duration(sum(lengths))} in all{for_jobs}"


def _outcome(job: dict[str, Any]) -> str:
    words = {
        "rejected": "rejected by the policy",
        "cancelled": "cancelled by its user",
        "failed": "died early through a bug of its own",
        "unfinished": "not done at the end of the run",
    }
    ended = words.get(job["status"], "")
    if pd.isna(job["tardiness_s"]):
        return ended
    late = f"{duration(job['tardiness_s'])} late" if job["tardiness_s"] > 0 else "on time" if not ended else ""
    return ", ".join(part for part in (ended, late) if part)
