"""Edit a cluster: pools as a table, absences as events, free slots; all of it becomes a new scenario version."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.scenario import Scenario
from dlsched.workload.catalogue import vm_examples

HOUR_S, DAY_S = 3600.0, 86_400.0
POOL_COLUMNS = ("vm", "nodes", "gpu type", "gpus", "cpus", "mem_gib", "usd_per_h", "partition")
EVENT_COLUMNS = ("what", "first node", "nodes", "from day", "to day", "billed")
EVENTS = ("arrives", "leaves", "maintenance", "fails")


def pools_frame(cluster: Cluster) -> pd.DataFrame:
    """Return the pools as an editable table."""
    rows = [
        (p.vm.name, p.count, p.vm.gpu_type, p.vm.gpus, p.vm.cpus, p.vm.mem_gib, p.vm.usd_per_h, p.partition)
        for p in cluster.pools
    ]
    frame = pd.DataFrame(rows, columns=[*POOL_COLUMNS])
    return frame.astype({"cpus": float, "mem_gib": float, "usd_per_h": float})


def pool_columns() -> dict[str, Any]:
    """Return the column settings of the pools table."""
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    return {
        "vm": text("VM type", required=True, help="Name of the machine type; the same name is the same type"),
        "nodes": number("Nodes", min_value=0, max_value=100_000, step=1, required=True, help="How many of them"),
        "gpu type": text("GPU", help="GPU type; jobs that demand a type look at this"),
        "gpus": number("GPUs each", min_value=0, max_value=1024, step=1, required=True),
        "cpus": number("CPUs each", min_value=0.0, help="CPU cores of one node; empty = not a limit"),
        "mem_gib": number("GiB each", min_value=0.0, help="Memory of one node; empty = not a limit"),
        "usd_per_h": number("$/h each", min_value=0.0, format="%.2f", help="Price of one node; empty = no price set"),
        "partition": text("Partition", help="Only jobs of this partition may run here; empty = open to all"),
    }


def events_frame(cluster: Cluster) -> pd.DataFrame:
    """Return the absences as events: neighbouring nodes with equal times share a row."""
    rows: list[list[Any]] = []
    for absence in sorted(cluster.absences, key=lambda a: (a.cause, a.start_s, a.until_s, a.billed, a.node)):
        start = absence.until_s if absence.cause == "arrives" else absence.start_s
        end = None if absence.cause in ("arrives", "leaves") else absence.end_s
        days = [start / DAY_S, None if end is None else end / DAY_S, absence.billed]
        if rows and rows[-1][0] == absence.cause and rows[-1][3:] == days and rows[-1][1] + rows[-1][2] == absence.node:
            rows[-1][2] += 1
        else:
            rows.append([absence.cause, absence.node, 1, *days])
    frame = pd.DataFrame(rows, columns=[*EVENT_COLUMNS])
    return frame.astype(
        {"first node": "Int64", "nodes": "Int64", "from day": float, "to day": float, "billed": bool, "what": object}
    )


def event_columns() -> dict[str, Any]:
    """Return the column settings of the events table."""
    number = st.column_config.NumberColumn
    return {
        "what": st.column_config.SelectboxColumn(
            "What", options=list(EVENTS), required=True,
            help="arrives: there from that day on. leaves: gone from that day on. maintenance: away, known before. fails: away, a surprise.",
        ),
        "first node": number("First node", min_value=0, step=1, required=True, help="Nodes are numbered through the pools from 0"),
        "nodes": number("Nodes", min_value=1, step=1, required=True, default=1),
        "from day": number("Day", min_value=0.0, required=True, help="When it happens, days from the trace's zero"),
        "to day": number("Until day", min_value=0.0, help="For maintenance and failures; empty = for good"),
        "billed": st.column_config.CheckboxColumn("Billed while away", default=False),
    }  # fmt: skip


def cluster_of(pools: pd.DataFrame, events: pd.DataFrame) -> Cluster:
    """Return the cluster of the two tables; InputError names the row, the column and the rule."""
    made = []
    for row, record in enumerate(pools.to_dict("records"), 1):
        if pd.isna(record["vm"]) and pd.isna(record["nodes"]):
            continue
        try:
            vm = VmType(
                name=_text(record["vm"]), gpu_type=_text(record["gpu type"]) or "GPU", gpus=_whole(record["gpus"]),
                cpus=_maybe(record["cpus"]), mem_gib=_maybe(record["mem_gib"]), usd_per_h=_maybe(record["usd_per_h"]),
                speed=_speed_of(_text(record["vm"])),
            )  # fmt: skip
            made.append(Pool(vm=vm, count=_whole(record["nodes"]), partition=_text(record["partition"])))
        except ValidationError as error:
            raise from_validation(f"pool row {row}", error) from error
    try:
        return Cluster(pools=tuple(made), absences=tuple(_absences(events)))
    except ValidationError as error:
        raise from_validation("cluster", error) from error


def _absences(events: pd.DataFrame) -> list[Absence]:
    found = []
    for row, record in enumerate(events.to_dict("records"), 1):
        if pd.isna(record["what"]):
            continue
        if pd.isna(record["first node"]) or pd.isna(record["from day"]):
            raise InputError(f"event row {row}", "needs a first node and a day", "Fill both, or delete the row")
        day, until = float(record["from day"]) * DAY_S, _maybe(record["to day"])
        cause = str(record["what"])
        span = {"arrives": (0.0, day), "leaves": (day, None)}.get(
            cause, (day, None if until is None else until * DAY_S)
        )
        if cause == "arrives" and day <= 0:
            raise InputError(
                f"event row {row}, column Day", "a node that arrives must arrive after day 0", "Delete the row"
            )
        for node in range(_whole(record["first node"]), _whole(record["first node"]) + _whole(record["nodes"])):
            try:
                found.append(
                    Absence(node=node, start_s=span[0], end_s=span[1], cause=cause, billed=bool(record["billed"]))
                )
            except ValidationError as error:
                raise from_validation(f"event row {row}", error) from error
    return found


def free_slots_form(scenario: Scenario) -> Cluster | None:
    """Show slots and the types a policy may put on them; return the cluster when asked to save."""
    cluster = scenario.cluster
    with st.form("slots"):
        slots = st.number_input("Free slots", 1, 100_000, cluster.slots or max(cluster.num_nodes, 1),
                                help="How many machines may be rented at once")  # fmt: skip
        offers = {vm.name: vm for vm in (*cluster.catalogue, *cluster.vm_types, *vm_examples())}
        names = st.multiselect(
            "Machine types to choose from", list(offers), [vm.name for vm in cluster.catalogue] or list(offers)[:3]
        )
        if not st.form_submit_button("Save cluster", type="primary"):
            return None
    try:
        return Cluster(slots=int(slots), catalogue=tuple(offers[name] for name in names))
    except ValidationError as error:
        raise from_validation("cluster", error) from error


def _speed_of(name: str) -> float:
    """Keep the speed of a known example type; a type of the user's own counts as speed 1."""
    return next((vm.speed for vm in vm_examples() if vm.name == name), 1.0)


def _text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(value).strip()


def _whole(value: Any) -> int:
    return -1 if value is None or pd.isna(value) else int(value)


def _maybe(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
