"""Generate jobs on the Workload page: arrivals, classes, seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.ui.parts import error_box
from dlsched.workload.generators import (
    JobMixSpec,
    canonical,
    draw,
    gaps_of,
    hourly_rates_of,
    parse,
    plain,
    scale_to_load,
)

OFFICE_HOURS = (2, 1, 1, 1, 1, 1, 2, 4, 7, 10, 11, 11, 9, 10, 11, 11, 10, 8, 6, 5, 4, 4, 3, 3)
WEEKDAYS = (1.0, 1.0, 1.0, 1.0, 1.0, 0.4, 0.4)
PATTERNS: dict[str, dict[str, Any]] = {
    "Steady (Poisson)": {"kind": "poisson"},
    "Daily rhythm": {"kind": "daily", "hour_weights": list(OFFICE_HOURS), "weekday_weights": list(WEEKDAYS)},
    "Bursts": {"kind": "bursts"},
    "Batches": {"kind": "batches"},
    "Rate of the current jobs": {"kind": "hourly-rates"},
    "Gaps of the current jobs": {"kind": "gaps"},
}
DURATIONS = {"lognormal": "lognormal", "pareto": "pareto", "as the current jobs": "empirical"}
CLASSES = pd.DataFrame(
    [
        ("debug", 55.0, "1", "lognormal", 8.0, 60.0, "", 1.0, 4.0),
        ("train", 37.0, "1, 2, 4, 8", "lognormal", 150.0, 900.0, "", 1.2, 3.0),
        ("large", 8.0, "16, 32", "lognormal", 480.0, 1800.0, "", 1.5, 3.0),
    ],
    columns=["class", "share", "gpus", "run time", "median min", "p90 min", "users", "due from x", "due to x"],
)


def generate(current: Scenario) -> Scenario | None:
    """Show the form of a job mix and return the scenario with the drawn jobs; None until asked for."""
    with st.form("generate", border=True):
        first, second, third, fourth = st.columns(4)
        jobs = first.number_input("Jobs", 1, 1_000_000, 1200, help="How many jobs to draw", key="gen-jobs")
        load = second.number_input(
            "Load (%)", 5, 300, 85, help="GPU time asked for over GPU time of the current cluster", key="gen-load"
        )
        pattern = third.selectbox("Arrivals", list(PATTERNS), index=1, key="gen-pattern",
                                  help="When jobs come; the last two use the jobs of the current scenario")  # fmt: skip
        seed = fourth.number_input(
            "Seed", 0, 10**6, 7, help="Another seed draws other jobs of the same mix", key="gen-seed"
        )
        st.markdown(
            "Classes of jobs: share in % or any scale; GPU counts separated by commas; due time = submission + factor × run time."
        )
        table = st.data_editor(
            CLASSES, num_rows="dynamic", hide_index=True, key="gen-classes", column_config=_columns()
        )
        lateness = st.number_input(
            "Lateness ($ per hour and job)", 0.0, 1e6, 5.0, help="Planning weight; 0 = none", key="gen-late"
        )
        asked = st.form_submit_button("Draw these jobs", help="Shows them below; nothing is saved yet")
    if not asked:
        return None
    try:
        spec = spec_of(table, int(jobs), PATTERNS[pattern], float(lateness), current)
        if current.cluster.num_gpus:
            spec = scale_to_load(spec, current.cluster, load / 100)
        plain_spec = canonical(plain(spec))
        drawn = draw(plain_spec, int(seed))
    except DlschedError as error:
        error_box(error)
        return None
    return current.replace(
        workload=drawn,
        generator=plain_spec,
        seed=int(seed),
        data_kind="generated",
        name="job mix",
        read={},
        assumptions=(),
    )


def _columns() -> dict[str, Any]:
    number = st.column_config.NumberColumn
    return {
        "share": number(min_value=0.0, help="Relative share of the jobs"),
        "gpus": st.column_config.TextColumn(help="GPU counts to choose from, equally likely: 1, 2, 4"),
        "run time": st.column_config.SelectboxColumn(options=list(DURATIONS), help="Distribution of the run times"),
        "median min": number(
            "median (min)", min_value=0.01, help="Half of the jobs run shorter; for Pareto the shortest time"
        ),
        "p90 min": number("p90 (min)", min_value=0.01, help="Nine of ten jobs run shorter"),
        "users": st.column_config.TextColumn(help="Names separated by commas; empty = nobody named"),
        "due from x": number("due from (x)", min_value=0.0, help="Least multiple of the run time"),
        "due to x": number("due to (x)", min_value=0.0, help="Largest multiple of the run time; empty = no due times"),
    }


def spec_of(
    table: pd.DataFrame, jobs: int, arrivals: dict[str, Any], late_usd_per_h: float, current: Scenario
) -> JobMixSpec:
    """Return the checked specification of the form; InputError names the class and the field."""
    classes = [
        _class(row, late_usd_per_h, current) for row in table.astype(object).to_dict("records") if row.get("class")
    ]
    spec = {"kind": "job-mix", "jobs": jobs, "arrivals": _arrivals(arrivals, current), "classes": classes}
    parsed = parse(spec)
    assert isinstance(parsed, JobMixSpec)
    return parsed


def _arrivals(chosen: dict[str, Any], current: Scenario) -> dict[str, Any]:
    if chosen["kind"] == "hourly-rates":
        return plain(hourly_rates_of(current.workload))
    if chosen["kind"] == "gaps":
        return plain(gaps_of(current.workload))
    return {**chosen, "jobs_per_h": 5.0}


def _class(row: Mapping[Any, Any], late_usd_per_h: float, current: Scenario) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": str(row["class"]),
        "share": row["share"],
        "gpus": _list(row["gpus"]),
        "run_time": _run_time(row, current),
        "users": _list(row["users"]),
    }
    if _given(row["due to x"]):
        made["due"] = {
            "kind": "run-times",
            "low": row["due from x"] if _given(row["due from x"]) else 1.0,
            "high": row["due to x"],
        }
        if late_usd_per_h:
            made["late_usd_per_h"] = [late_usd_per_h, late_usd_per_h]
    return made


def _run_time(row: Mapping[Any, Any], current: Scenario) -> dict[str, Any]:
    kind = DURATIONS.get(str(row["run time"]), "lognormal")
    if kind == "empirical":
        return {"kind": "empirical", "values_s": [float(v) for v in current.workload.work[:5000]]}
    if kind == "pareto":
        return {"kind": "pareto", "shortest_s": 60 * float(row["median min"])}
    return {"kind": "lognormal", "median_s": 60 * float(row["median min"]), "p90_s": 60 * float(row["p90 min"])}


def _list(text: Any) -> list[str]:
    return [part.strip() for part in str(text or "").split(",") if part.strip() and str(text) != "nan"]


def _given(value: Any) -> bool:
    return value is not None and not pd.isna(value)
