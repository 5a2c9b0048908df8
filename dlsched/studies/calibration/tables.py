"""The measures of a calibration as rows of tables: for people, and as a file."""

from __future__ import annotations

from typing import Any

from dlsched.domain.scenario import Scenario
from dlsched.studies.calibration.answer import Calibration, ComparedTimes, Moments, PolicyFit
from dlsched.studies.calibration.measures import Measures
from dlsched.studies.calibration.record import complete_from_s
from dlsched.studies.calibration.words import (
    VERDICTS,
    correlation_words,
    explained_words,
    times_words,
    verdict_of,
)
from dlsched.wording.formats import MISSING, amount, duration, share, show_interval

MOST_ROWS = 10
"""Groups whose measures are shown to people; a file has all."""
MEASURE_HEADER = (
    "jobs", "typical factor", "mean factor", "rank correlation", "within 2x", "long waits within 2x", "mean ratio",
    "R²", "p95 recorded", "p95 replayed", "never start",
)  # fmt: skip
"""What `measure_cells` returns; jobs is n, long waits are over 10 min in the log or in the replay."""
POLICY_HEADER = ("policy", "half", *MEASURE_HEADER)
GROUP_HEADER = ("jobs", "what-ifs", "ratio", "recorded", "replayed", "JCT ratio")
"""Columns of `group_rows` after that with the group's name."""


def measure_cells(found: Measures | None) -> tuple[str, ...]:
    """Return the measures over some jobs for people; dashes without a job."""
    if found is None:
        return ("0", *[MISSING] * (len(MEASURE_HEADER) - 1))
    long = f"{share(found.within_2x_of_long)} of {found.long_waits:,}" if found.long_waits else MISSING
    return (
        f"{found.jobs:,}",
        times_words(found.typical_factor),
        times_words(found.mean_factor),
        correlation_words(found.rank_correlation),
        share(found.within_2x),
        long,
        times_words(found.mean_ratio),
        explained_words(found.explained),
        duration(found.recorded_p95_s),
        duration(found.replayed_p95_s),
        f"{found.never_start:,}",
    )


def policy_rows(answer: Calibration) -> list[tuple[str, ...]]:
    """Return two lines a policy, the nearest first: the second half, which is judged, and the first."""
    ordered = sorted(answer.replays, key=lambda one: (one.policy != answer.nearest, one.second.mean_factor))
    return [
        (replay.label, half, *measure_cells(found))
        for replay in ordered
        for half, found in (("second", replay.second), ("first", replay.first))
    ]


def measure_rows(replay: PolicyFit, by: str) -> list[tuple[str, ...]]:
    """Return the measures on the second half of the groups with the most jobs."""
    cells = [(group.name, *measure_cells(group.second)) for group in replay.groups[by][:MOST_ROWS]]
    return [row[:-1] for row in cells]  # jobs that never start belong to no group


def group_rows(replay: PolicyFit, by: str) -> list[tuple[object, ...]]:
    """Return a line for each group: name, jobs, verdict, ratio of mean waits, both of them, ratio of mean JCTs."""
    return [
        (
            group.name,
            group.wait.jobs,
            VERDICTS[verdict_of(group)],
            times_words(group.wait.ratio),
            duration(group.wait.recorded.mean_s),
            duration(group.wait.replayed.mean_s),
            MISSING if group.jct is None else times_words(group.jct.ratio),
        )
        for group in replay.groups[by]
    ]


def bias_words(replay: PolicyFit) -> str:
    """Return the bias of the mean wait with its interval, or with the number of jobs where there is none."""
    bias = replay.bias_s
    text = show_interval("duration", bias.mean, bias.half_width, signed=True)
    return text if bias.half_width is not None else f"{text} ({amount(replay.wait.jobs, 'job')} of 1 day)"


def inputs_of(scenario: Scenario) -> list[tuple[str, str, str]]:
    """Return what a replay of a scenario rests on: the input, what is used, and what would improve it."""
    jobs, cluster = scenario.workload, scenario.cluster
    known = [one.words for one in scenario.assumptions if one.kind == "found-cluster" or one.is_about_default_cluster]
    limited = 0 if jobs.limit_s is None else int((jobs.limit_s > 0).sum())
    limits = {"believe": "believed by policies", "kill": "believed by policies and enforced", "ignore": "ignored"}
    held = 0 if jobs.held_s is None else int((jobs.held_s > 0).sum())
    early = int((jobs.submit_s < complete_from_s(jobs)).sum())
    return [
        ("Nodes", known[0] if known else f"{amount(cluster.num_nodes, 'node')}, as described",
         "scontrol show nodes -o, slurm.conf or sinfo"),
        ("Absent nodes", amount(len(cluster.absences), "absence") if cluster.absences else "none",
         "times of maintenance and failures"),
        ("Jobs from before the log is complete", f"{amount(early, 'job')}: replayed, not compared",
         "some days more of the log"),
        ("Time limits", f"{limited:,} of {amount(len(jobs), 'job')} have one; {limits[scenario.options.limits]}"
         if limited else "none", "TimelimitRaw in sacct"),
        ("Holds and dependencies", f"{amount(held, 'job')} held before arrival", "Submit and Eligible in sacct"),
        ("Limits per user, priorities", "none: each policy runs as it is",
         "sacctmgr show qos, sacctmgr show assoc, sprio -l"),
    ]  # fmt: skip


INPUTS_HEADER = ("Input", "Used", "Give this to improve it")


def rows_of(answer: Calibration) -> list[dict[str, Any]]:
    """Return every policy, grouping and group as rows of a table, seconds; each policy first over all jobs."""
    rows = []
    for replay in answer.replays:
        rows.append(_row(replay, "all", "all jobs", replay.wait, replay.jct, "", replay.first, replay.second))
        for by, groups in replay.groups.items():
            rows += [
                _row(replay, by, one.name, one.wait, one.jct, VERDICTS[verdict_of(one)], None, one.second)
                for one in groups
            ]
    return rows


def _row(
    replay: PolicyFit,
    by: str,
    name: str,
    wait: ComparedTimes,
    jct: ComparedTimes | None,
    verdict: str,
    first: Measures | None,
    second: Measures | None,
) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": replay.label, "by": by, "group": name, "jobs": wait.jobs}
    row |= _columns("wait", wait.recorded, wait.replayed) | {"wait ratio": wait.ratio}
    row["jobs with end"] = 0 if jct is None else jct.jobs
    row |= _columns("JCT", None, None) if jct is None else _columns("JCT", jct.recorded, jct.replayed)
    row |= {"JCT ratio": None if jct is None else jct.ratio, "verdict": verdict}
    for half, found in (("second half", second), ("first half", first)):
        plain = {} if found is None else found.model_dump()
        row |= {f"{half}: {key}": plain.get(key) for key in Measures.model_fields}
    return row


def _columns(what: str, recorded: Moments | None, replayed: Moments | None) -> dict[str, float | None]:
    columns: dict[str, float | None] = {}
    for side, moments in (("recorded", recorded), ("replayed", replayed)):
        for name in ("mean", "median", "p95"):
            columns[f"{what} {name} {side}, s"] = None if moments is None else getattr(moments, f"{name}_s")
    return columns
