"""GPU as a service on the Workload page: jobs of known applications for rented machines; a whole scenario at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.ui.frame import tables
from dlsched.ui.frame.text import dollars
from dlsched.ui.scenario.workload_generate import given
from dlsched.wording.formats import duration
from dlsched.workload.generators.drawing import plain
from dlsched.workload.studies.gpu_as_a_service import APPLICATIONS, GpuaasSpec, ServiceApplication, gpuaas_scenario
from dlsched.workload.studies.registry import parse

RATES = {
    "exponential": "Base", "low": "Low", "mixed": "High and low in turn", "high450": "High", "high": "Very high",
}  # fmt: skip
LABELS = {
    "name": "Application", "share": "Share", "parallel": "Speeds up (%)", "m60_ratio": "M60 time (x)",
    "low": "One K80, from (h)", "high": "One K80, to (h)",
}  # fmt: skip
_COLUMN_OF = {"name": "name", "share": "share", "parallel": "parallel", "m60_ratio": "m60_ratio", "k80_hours": "high"}
TABLE = pd.DataFrame(
    [
        (one.name, one.share, 100 * one.parallel, one.m60_ratio, *one.k80_hours)
        for one in APPLICATIONS
    ],
    columns=[*LABELS],
)  # fmt: skip


def generate() -> Scenario:
    """Show the form and return the scenario it makes: jobs, free slots, machine types, run times.

    Raises
    ------
    InputError
        When the form does not make a workload; it names the row and the column.
    """
    numbers, seed = _numbers()
    table = tables.editor(
        TABLE, "service-applications", _columns(), alt="Applications: share of the jobs, speed laws, run time"
    )
    st.markdown(
        ":gray[Run time with g GPUs = run time with one x (rest + share that speeds up / g). "
        "How long jobs run is assumed; replace it by yours.]"
    )
    spec = spec_of(table, numbers)
    with st.spinner("Drawing"):
        return _drawn(json.dumps(plain(spec)), seed)


def _numbers() -> tuple[dict[str, Any], int]:
    """Return what the form says besides the applications, and the seed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        nodes = st.number_input("Nodes", 1, 1_000, 10, key="service-nodes", persist_state="session", width=120,
                                help="Free slots: each holds a machine of a type the policy chooses")  # fmt: skip
        jobs = st.number_input("Jobs", 1, 100_000, None, placeholder="10 a node", key="service-jobs", width=150,
                               persist_state="session", help="How many to draw; empty = ten for each node")  # fmt: skip
        due = _range("Due", "x", (1.0, 3.0), 1.0, "multiple of the fastest run time after submission")
        late = _range("Late", "$/h", (10.8, 54.0), 0.0, "cost of each hour late, a planning weight")
        seed = st.number_input("Seed", 0, 10**6, 1, key="service-seed", persist_state="session", width=120,
                               help="Another seed draws other jobs of the same kind")  # fmt: skip
    gaps = {rate: duration(float(GpuaasSpec(nodes=nodes, jobs=21, rate=rate).mean_gaps_s().mean())) for rate in RATES}
    rate = st.radio(
        "How fast jobs come", list(RATES), key="service-rate", persist_state="session", horizontal=True,
        format_func=RATES.__getitem__, captions=[f"one every {gaps[rate]}" for rate in RATES],
        help="In the mean, for so many nodes; gaps are exponential. As in the path-relinking study, whose rates are "
        "fitted to the numbers of jobs it reports at once",
    )  # fmt: skip
    chosen = {"nodes": nodes, "jobs": jobs, "rate": rate, "due": due, "late_usd_per_s": [usd / HOUR_S for usd in late]}
    return chosen, int(seed)


def _range(what: str, unit: str, start: tuple[float, float], least: float, words: str) -> list[float]:
    found = []
    for end, degree, value in (("from", "Least", start[0]), ("to", "Largest", start[1])):
        label = dollars(f"{what} {end} ({unit})")
        key = f"service-{what}-{end}".lower()
        found.append(
            st.number_input(
                label, least, 1e6, value, key=key, width=130, persist_state="session", help=f"{degree} {words}"
            )
        )
    return found


def _columns() -> dict[str, Any]:
    number = st.column_config.NumberColumn
    hours = "hours on one K80, drawn evenly from this range"
    return {
        "name": st.column_config.TextColumn(LABELS["name"], max_chars=80, help="Network and framework"),
        "share": number(LABELS["share"], min_value=0.0, default=1.0, help="Of the jobs, on any scale; 0 = left out"),
        "parallel": number(
            LABELS["parallel"], min_value=0.0, max_value=100.0, default=90.0,
            help="Share of the run time that more GPUs divide; the rest stays",
        ),
        "m60_ratio": number(
            LABELS["m60_ratio"], min_value=0.0, default=1.0, help="Run time on an M60 over run time on a K80"
        ),
        "low": number(LABELS["low"], min_value=0.0, default=40.0, help=f"Least run time: {hours}"),
        "high": number(LABELS["high"], min_value=0.0, default=160.0, help=f"Largest run time: {hours}"),
    }  # fmt: skip


def spec_of(table: pd.DataFrame, numbers: Mapping[str, Any]) -> GpuaasSpec:
    """Return the checked specification of the form; InputError names the row and the column of the table."""
    rows = list(enumerate(table.astype(object).to_dict("records"), 1))
    filled = [(row, record) for row, record in rows if any(given(value) for value in record.values())]
    used = [_application(row, record) for row, record in filled if record["share"] != 0]
    if not used:
        raise InputError("GPU as a service", "has no application with a share above 0", "Add a row or give it a share")
    parsed = parse({"kind": "gpuaas", **numbers, "applications": used})
    assert isinstance(parsed, GpuaasSpec)
    return parsed


def _application(row: int, record: Mapping[Any, Any]) -> dict[str, Any]:
    """Return one checked application."""
    for column in LABELS:
        if not given(record[column]):
            raise _refusal(row, column, "is empty", "Fill it in, or delete the row")
    made = {
        "name": str(record["name"]).strip(),
        "share": record["share"],
        "parallel": float(record["parallel"]) / 100,
        "m60_ratio": record["m60_ratio"],
        "k80_hours": [record["low"], record["high"]],
    }
    try:
        ServiceApplication.model_validate(made)
    except ValidationError as error:
        where = error.errors()[0]["loc"]
        column = "low" if where[-1] == 0 else _COLUMN_OF[str(where[0])]
        raise _refusal(row, column, from_validation("", error).why, "Correct the value") from error
    return made


def _refusal(row: int, column: str, why: str, do: str) -> InputError:
    return InputError(f"application row {row}, column {LABELS[column]}", why, do)


@st.cache_resource(max_entries=3, show_spinner=False)
def _drawn(spec: str, seed: int) -> Scenario:
    parsed = GpuaasSpec.model_validate_json(spec)
    return gpuaas_scenario(parsed, seed)
