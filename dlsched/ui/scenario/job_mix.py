"""Generate jobs on the page Jobs: arrivals, classes, seed; what is typed is drawn at once, nothing is saved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.assumptions import with_other_jobs
from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError, validated
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.units import MINUTE_S
from dlsched.domain.workload import Workload
from dlsched.ui.frame import tables
from dlsched.ui.frame.caches import shared
from dlsched.workload.generators.arrivals import gaps_of, hourly_rates_of
from dlsched.workload.generators.drawing import plain
from dlsched.workload.studies.job_mix import JobClass, JobMixSpec, at_load
from dlsched.workload.studies.registry import draw

LABEL = "Job mix"
OFFICE_HOURS = (2, 1, 1, 1, 1, 1, 2, 4, 7, 10, 11, 11, 9, 10, 11, 11, 10, 8, 6, 5, 4, 4, 3, 3)
WEEKDAYS = (1.0, 1.0, 1.0, 1.0, 1.0, 0.4, 0.4)
PATTERNS: dict[str, dict[str, Any]] = {
    "Steady (Poisson)": {"kind": "poisson"},
    "Daily rhythm": {"kind": "daily", "hour_weights": list(OFFICE_HOURS), "weekday_weights": list(WEEKDAYS)},
    "Bursts": {"kind": "bursts"},
    "Batches": {"kind": "batches"},
    "Hours of the current jobs": {"kind": "hourly-rates"},
    "Gaps of the current jobs": {"kind": "gaps"},
}
DURATIONS = {"lognormal": "lognormal", "Pareto": "pareto", "as current jobs": "empirical"}
MOST_RUN_TIMES = 5000
_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn
COLUMNS: Mapping[str, Any] = {
    "class": _text("Class", max_chars=80, help="Name of the class"),
    "share": _number("Share", min_value=0.0, default=10.0, help="On any scale; 0 = left out"),
    "gpus": _text("GPUs", default="1", help="GPU counts to choose from, equally likely: 1, 2, 4"),
    "run time": st.column_config.SelectboxColumn(
        "Run time", options=list(DURATIONS), default="lognormal", help="Distribution of run times"
    ),
    "median min": _number(
        "Median (min)", min_value=0.0, default=60.0, help="Half of the jobs run for less; for Pareto, the shortest time"
    ),
    "p90 min": _number("p90 (min)", min_value=0.0, default=240.0, help="Nine of ten jobs run for less (lognormal)"),
    "users": _text("Users", help="Names separated by commas; empty = no users"),
    "due from x": _number(
        "Due from (x)", min_value=0.0, help="Due = submission + at least this multiple of the run time"
    ),
    "due to x": _number(
        "Due to (x)", min_value=0.0, help="… and at most this multiple; empty = no due dates"
    ),
}  # fmt: skip
_COLUMN_OF = {
    "name": "class", "share": "share", "gpus": "gpus", "run_time": "run time", "median_s": "median min",
    "shortest_s": "median min", "p90_s": "p90 min", "users": "users", "low": "due from x", "high": "due to x",
    "due": "due to x",
}  # fmt: skip
CLASSES = pd.DataFrame(
    [
        ("debug", 55.0, "1", "lognormal", 8.0, 60.0, "", 1.0, 4.0),
        ("train", 37.0, "1, 2, 4, 8", "lognormal", 150.0, 900.0, "", 1.2, 3.0),
        ("large", 8.0, "16, 32", "lognormal", 480.0, 1800.0, "", 1.5, 3.0),
    ],
    columns=[*COLUMNS],
)


def generate(current: Scenario) -> Scenario:
    """Show the form of a job mix and return the jobs it draws, on the cluster of ``current``.

    Raises
    ------
    InputError
        When the form does not make a mix; it names the class and the column.
    """
    has_gpus = current.cluster.num_gpus > 0
    first, second, third, fourth, fifth = st.columns([2, 2, 3, 2, 2])
    jobs = first.number_input(
        "Jobs", 1, 1_000_000, 1200, key="gen-jobs", persist_state="session", help="How many to draw"
    )
    rate: float
    if has_gpus:
        rate = second.number_input(
            "Load (%)", 1, 1000, 85, key="gen-load", persist_state="session",
            help="GPU time these jobs request divided by the cluster's GPU time while they arrive; arrivals are scaled "
            "to match. Another seed gives a slightly different load.",
        )  # fmt: skip
    else:
        rate = second.number_input("Jobs per hour", 0.01, 1e6, 5.0, key="gen-rate", persist_state="session",
                                   help="The cluster has no owned GPUs, so load is undefined")  # fmt: skip
    pattern = third.selectbox("Arrivals", list(PATTERNS), index=1, key="gen-pattern", persist_state="session",
                              help="When jobs arrive; the last two copy the current scenario")  # fmt: skip
    seed = fourth.number_input("Seed", 0, 10**6, 7, key="gen-seed", persist_state="session",
                               help="Another seed draws different jobs from the same mix")  # fmt: skip
    late = fifth.number_input(
        "Lateness ($/h)", 0.0, 1e6, 5.0, key="gen-late", persist_state="session",
        help="Planning cost of each hour a job is late; 0 = none",
    )  # fmt: skip
    table = tables.editor(CLASSES, "gen-classes", COLUMNS, alt="Classes of jobs: share, GPUs, run time, due date")
    spec = spec_of(table, int(jobs), PATTERNS[pattern], float(late), current)
    with st.spinner("Drawing"):
        if has_gpus:
            spec = _at_load(json.dumps(plain(spec)), current.cluster.model_dump_json(), rate / 100, int(seed))
        else:
            spec = scaled_to_rate(spec, rate)
        plain_spec = plain(spec)
        drawn = _drawn(json.dumps(plain_spec), int(seed))
    # Tables and step times belong to the jobs they were made for.
    speed = SpeedSpec() if current.speed.kind in ("table", "parameter-server") else current.speed
    return current.replace(
        workload=drawn, generator=plain_spec, seed=int(seed), data_kind="generated", name="Job mix", read={},
        assumptions=with_other_jobs(current.assumptions), speed=speed,
    )  # fmt: skip


@shared
def _at_load(spec: str, cluster: str, load: float, seed: int) -> JobMixSpec:
    mix = validated(JobMixSpec, json.loads(spec), "job mix")
    return at_load(mix, Cluster.model_validate_json(cluster), load, seed)


@shared
def _drawn(spec: str, seed: int) -> Workload:
    return draw(json.loads(spec), seed)


def spec_of(
    table: pd.DataFrame, jobs: int, arrivals: Mapping[str, Any], late_usd_per_h: float, current: Scenario
) -> JobMixSpec:
    """Return the checked specification of the form; InputError names the row and the column of the table."""
    filled = tables.filled_rows(table)
    if not filled:
        raise InputError("job mix", "has no class of jobs", "Add a row to the table of classes")
    for row, record in filled:
        tables.need_filled(record, ["share"], _where(row), COLUMNS)
    used = [(row, record) for row, record in filled if record["share"] != 0]
    if not used:
        raise InputError(
            tables.place("job mix", "share", COLUMNS), "all shares are 0", "Give one class a share above 0"
        )
    classes = [_class(row, record, late_usd_per_h, current) for row, record in used]
    spec = {"jobs": jobs, "arrivals": _arrivals(arrivals, current), "classes": classes}
    return validated(JobMixSpec, spec, "generator")


def scaled_to_rate(spec: JobMixSpec, jobs_per_h: float) -> JobMixSpec:
    """Return the mix with its arrivals at this average rate."""
    arrivals = spec.arrivals.scaled(jobs_per_h / spec.arrivals.mean_jobs_per_h)
    return validated(JobMixSpec, {**spec.model_dump(), "arrivals": arrivals.model_dump()}, "job mix")


def _arrivals(chosen: Mapping[str, Any], current: Scenario) -> dict[str, Any]:
    if chosen["kind"] == "hourly-rates":
        return plain(hourly_rates_of(current.workload))
    if chosen["kind"] == "gaps":
        return plain(gaps_of(current.workload))
    return {**chosen, "jobs_per_h": 5.0}


def _class(row: int, record: Mapping[Any, Any], late_usd_per_h: float, current: Scenario) -> JobClass:
    """Return one checked class of the mix."""
    values: dict[str, Any] = {
        "name": tables.text_of(record["class"]) or f"class {row}",
        "share": record["share"],
        "gpus": _parts(record["gpus"]),
        "run_time": _run_time(row, record, current),
        "users": _parts(record["users"]),
    }
    if not tables.is_empty(record["due to x"]):
        low = 1.0 if tables.is_empty(record["due from x"]) else record["due from x"]
        values["due"] = {"kind": "run-times", "low": low, "high": record["due to x"]}
        if late_usd_per_h:
            values["late_usd_per_h"] = [late_usd_per_h, late_usd_per_h]
    try:
        return JobClass.model_validate(values)
    except ValidationError as error:
        raise tables.mistake_in(error, _where(row), COLUMNS, _COLUMN_OF) from error


def _where(row: int) -> str:
    return f"class row {row}"


def _run_time(row: int, record: Mapping[Any, Any], current: Scenario) -> dict[str, Any]:
    kind = DURATIONS.get(str(record["run time"]), "lognormal")
    if kind == "empirical":
        ordered = np.sort(current.workload.work)
        evenly = np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_RUN_TIMES)).astype(np.int64)
        return {"kind": "empirical", "values_s": ordered[evenly].tolist()}
    needed = ("median min",) if kind == "pareto" else ("median min", "p90 min")
    tables.need_filled(record, needed, _where(row), COLUMNS)
    if kind == "pareto":
        return {"kind": "pareto", "shortest_s": MINUTE_S * float(record["median min"])}
    return {
        "kind": "lognormal",
        "median_s": MINUTE_S * float(record["median min"]),
        "p90_s": MINUTE_S * float(record["p90 min"]),
    }


def _parts(text: Any) -> list[str]:
    return [part.strip() for part in tables.text_of(text).split(",") if part.strip()]
