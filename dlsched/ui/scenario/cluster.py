"""The Cluster page: what the cluster is, its node types and events as tables and back, rented machines, saving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Absence, Cluster, Pool, Scaling, VmType
from dlsched.domain.columns import CPU, DISK
from dlsched.domain.counted import counted_capacity
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S
from dlsched.figures.cluster import capacity
from dlsched.metrics.findings import cluster_sentence
from dlsched.placement import can_ever_fit
from dlsched.ui.frame import charts, session, tables
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import cards, guard_rails, sentence
from dlsched.ui.frame.tables import is_empty, number_of, text_of
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import price_lists, terms
from dlsched.wording.cautions import cautions
from dlsched.wording.clock import clock_of
from dlsched.wording.counted import COUNTED, GPUS, Counted, counted_of
from dlsched.wording.formats import amount, count, listed, money, share
from dlsched.wording.resources import scarcest_card
from dlsched.workload.catalogue import vm_examples
from dlsched.workload.import_report import in_seconds, offered_load
from dlsched.workload.prices.price_list import PriceList, chosen, price_notes, to_vm_types

FIXED, FREE = "Owned nodes", "Rent on demand"
MOST_NODES = 100_000
MEANING = {
    FIXED: "Always on, unless scheduled otherwise below; nodes on demand or spot are rented as jobs need them.",
    FREE: "The policy chooses which machines to rent, and when, up to this many at a time.",
}


@dataclass(frozen=True)
class Tables:
    """What the tables say: the cluster of the rows that are finished and right, and what is wrong with the others.

    ``cluster`` None: no node is left. ``unfinished`` rows lack a value; ``mistake`` is the first of the wrong ones.
    """

    cluster: Cluster | None
    unfinished: tuple[InputError, ...] = ()
    mistake: InputError | None = None

    @property
    def can_be_saved(self) -> bool:
        """Whether nothing is wrong; a row that is only begun is left out."""
        return self.cluster is not None and self.mistake is None


def headline(scenario: Scenario, shown: Tables, *, unsaved: bool) -> None:
    """Show banners, sentence, one line on where the tables stand, and the cards; of unsaved tables too."""
    cluster, jobs = scenario.cluster, scenario.workload
    fits = can_ever_fit(jobs, cluster, scenario.options.placement)
    load, never = offered_load(in_seconds(scenario), cluster), int(np.sum(~fits))
    counted = counted_of(scenario)
    asked = jobs.requested[:, counted.index]
    widest = int(np.argmax(asked))
    warnings = cautions(
        scenario, load=None if np.isnan(load) else load, never_fit=never,
        widest=float(asked[~fits].max()) if never else 0.0,
    )  # fmt: skip
    guard_rails([caution for caution in warnings if caution.level != "info"])
    price_lists.times_warning(scenario, cluster.vm_types)
    sentence(cluster_sentence(cluster, float(asked[widest]), counted=counted, fits=bool(fits[widest])), ())
    st.markdown(_standing(scenario, shown, unsaved))
    cards(_cards(cluster, load, scarcest_card(scenario), counted))


def _standing(scenario: Scenario, shown: Tables, unsaved: bool) -> str:
    """Return where the tables stand: always one line, so that no table moves under the hand that fills it."""
    if (mistake := shown.mistake) is not None:
        return f":red[⛔ **{safe(mistake.what, 120)}**: {safe(mistake.why, 200)}. {safe(mistake.do, 120)}.]"
    if shown.unfinished:
        cells = "; ".join(f"**{safe(one.what, 120)}** {safe(one.why, 80)}" for one in shown.unfinished[:3])
        return f":violet[✎ Not finished, so left out: {cells}.]"
    if unsaved:
        return ":violet[Not saved yet: runs still use the cluster as it was.]"
    origin = next((one for one in scenario.assumptions if one.is_about_cluster and not one.is_about_prices), None)
    if origin is not None:
        return f"{safe(origin.words, 600)}. Change it below, or continue with it."
    return ":gray[Saved. Changes below show their effect at once; saving them makes a new version.]"


def _cards(
    cluster: Cluster, load: float, scarce: tuple[str, str, str] | None, counted: Counted
) -> list[tuple[str, str, str]]:
    units = counted_capacity(cluster, counted.index)
    if cluster.free_slots:
        offers = [(vm.usd_per_h, of) for vm, of in zip(cluster.vm_types, units, strict=True)]
        priced = [usd / of for usd, of in offers if usd is not None and of]
        most = cluster.slots * float(units.max())
        least = money(min(priced)) if priced else "no price set"
        return [
            ("Machines, up to", count(cluster.slots), "Machines that may be rented at once."),
            ("Machine types", count(len(cluster.catalogue)), "Types the policy may rent."),
            (counted.say("Most GPUs"), count(most), "If all machines are of the largest type."),
            (counted.say("Cheapest GPU-hour"), least,
             counted.say("Price of one GPU for an hour with the cheapest type.")),
        ]  # fmt: skip
    hourly = cluster.usd_per_h
    unpriced = "no price set" if any(vm.usd_per_h is None for vm in cluster.vm_types) else "by use"
    why = (
        "Nodes that are always there; rented ones are paid while they are rented."
        if cluster.rents_nodes
        else "A node type has no price: costs are unknown, not 0."
        if hourly is None
        else "All nodes together, while they are available."
    )
    why_load = "GPU time requested divided by GPU time available while jobs arrive. Above 100% the queue keeps growing."
    return [
        ("Nodes", count(cluster.num_nodes), "Nodes of all types."),
        _size_card(cluster, counted),
        ("Price", unpriced if hourly is None else f"{money(hourly)}/h", why),
        scarce or ("Load", share(load), why_load),
    ]  # fmt: skip


def _size_card(cluster: Cluster, counted: Counted) -> tuple[str, str, str]:
    """Return the card of what all nodes have together; cores of CPU nodes where no GPU is there."""
    shown = counted if cluster.num_gpus or counted != GPUS else COUNTED[CPU]
    room = float(counted_capacity(cluster, shown.index)[cluster.nodes.vm].sum())
    hint = shown.say("GPUs of all nodes.") if room else "No node states its cores, so they limit no job."
    return (shown.say("GPUs"), count(room) if room else "no limit", hint)


def fixed(current: Scenario) -> Tables:
    """Show the number of nodes, the tables of types and events and the capacity they give; return what they say."""
    before = current.cluster
    pools_key, events_key = keys(current)
    start = pools_frame(before)
    if before.free_slots:
        start = with_pool(start, before.catalogue[0], before.slots)
    nodes_at = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Node types**", width="content")
        _add_type(pools_key, start)
        with_terms = terms.shows(before, tables.widget_key(pools_key))
    # A type added from the catalogue may state its disk too.
    disk = shows_disk(current) or bool(tables.held(pools_key, start)["disk_gib"].notna().any())
    columns = pool_columns(disk=disk, features=shows_features(current), terms_too=with_terms)
    pools = tables.editor(start, pools_key, columns, alt="Node types: machine type, number of nodes, size and price")
    with nodes_at:
        _nodes(pools_key, pools)
    rents = pools["terms"].isin(["on-demand", "spot"]).any()
    rule = terms.scaling(before, pools_key) if rents else None
    picture = st.container()
    st.markdown("**Capacity over time** (optional): nodes that are added, removed, maintained or fail")
    events = tables.editor(
        events_frame(before), events_key, EVENT_COLUMNS, alt="Events: what happens to which nodes on which day"
    )
    said = read_tables(pools, events, before, rule)
    if said.cluster is not None and said.cluster.absences:
        with picture:
            _capacity(current.replace(cluster=said.cluster))
    return said


def _nodes(key: str, pools: pd.DataFrame) -> None:
    """Show the number of nodes of a cluster with one type as a field of its own, which changes the table below."""
    rows = tables.filled_rows(pools)
    if len(rows) != 1:
        return
    field, nodes = f"nodes-{key}", number_of(rows[0][1]["nodes"])
    if nodes is not None and 1 <= nodes <= MOST_NODES and st.session_state.get(field) != int(nodes):
        st.session_state[field] = int(nodes)

    def change() -> None:
        now = pools.astype(object)
        now.loc[now.index[rows[0][0] - 1], "nodes"] = st.session_state[field]
        tables.replace(key, now)

    st.number_input("Nodes", 1, MOST_NODES, key=field, on_change=change, width=180, help="Nodes of the one type below")


def _capacity(scenario: Scenario) -> None:
    """Show the available GPUs until the last job could have run and the last change has come."""
    jobs, cluster = in_seconds(scenario), scenario.cluster
    last_s = max([0.0, *(a.start_s if a.end_s is None else a.end_s for a in cluster.absences)])
    horizon_s = max(float((jobs.submit_s + jobs.work).max()), 1.1 * last_s, 1.0)
    counted = counted_of(scenario)
    chart = charts.drawn(capacity, cluster, horizon_s, charts.page_theme(), clock_of(scenario.workload), counted.index)
    charts.show(chart.of(counted), "capacity")


def kind_of_machines(current: Scenario) -> str:
    """Show the switch between owned nodes and machines rented on demand, with what it means."""
    kind = st.segmented_control(
        "Machines", [FIXED, FREE], required=True, default=FREE if current.cluster.free_slots else FIXED,
        key=f"machines-{tables.widget_key(keys(current)[0])}", persist_state="session",
    )  # fmt: skip
    with st.container(width="stretch"):
        st.markdown(f":gray[{MEANING[kind]}]")
    return kind


def keys(current: Scenario) -> tuple[str, str]:
    """Return the keys of the two tables: unsaved rows belong to one version of the scenario."""
    tag = current.content_hash[: session.HASH_DIGITS]
    return f"pools-{tag}", f"events-{tag}"


def _add_type(key: str, start: object) -> None:
    mine = price_lists.own()
    offers = {vm.name: vm for vm in to_vm_types(chosen(mine, [offer.name for offer in mine.offers]))}

    with st.popover("Add a machine type", help="Types from your price list; edit them in the table"):
        dates = sorted({f"{offer.source or 'no source'}, {offer.as_of or 'no date'}" for offer in mine.offers})
        st.markdown(f":gray[From your price list: {safe('; '.join(dates), 300)}.]")
        _to_catalogue("edit-catalogue-pools")
        name = st.selectbox("Machine type", list(offers), key="vm-example", format_func=lambda n: _priced(offers[n]))
        nodes = st.number_input("Nodes", 1, 10_000, 1, key="vm-example-nodes")
        if st.button(f"Add {nodes} to the table", key="vm-add"):
            tables.replace(key, with_pool(tables.held(key, start), offers[name], int(nodes)))  # type: ignore[arg-type]
            st.rerun()


def _priced(vm: VmType) -> str:
    return f"{vm.name} · {'no price' if vm.usd_per_h is None else f'{money(vm.usd_per_h)}/h'}"


def _to_catalogue(key: str) -> None:
    with st.container(key=key):
        st.page_link(SCRIPTS["Prices"], label="Edit on Prices", query_params=session.url_params())


def free(current: Scenario) -> Tables:
    """Show how many machines may be rented and which types; return what that says."""
    cluster, key = current.cluster, tables.widget_key(keys(current)[0])
    lists = price_lists.types_to_rent(cluster)
    left, middle, right = st.columns([1, 2, 4], vertical_alignment="bottom")
    slots = left.number_input(
        "Up to … rented machines", 1, MOST_NODES, cluster.slots or cluster.num_nodes, key=f"slots-{key}",
        persist_state="session",
        help="How many machines may be rented at once",
    )  # fmt: skip
    label = middle.selectbox(
        "Types and prices from", list(lists), key=f"list-{key}", persist_state="session",
        help="Prices are copied into the scenario when it is saved; later changes to the list affect no run",
        format_func=lambda name: f"{name}: {amount(len(lists[name]), 'type')}",
    )  # fmt: skip
    offers = {vm.name: vm for vm in lists[label]}
    names = right.multiselect(
        "Machine types to choose from", list(offers), list(offers), key=f"types-{key}-{label}", persist_state="session",
        help="Types the policy may rent", format_func=lambda name: _priced(offers[name]),
    )  # fmt: skip
    _to_catalogue("edit-catalogue")
    if not names:
        none = InputError("machine types", "none is selected, so nothing can be rented", "Choose at least one")
        return Tables(None, mistake=none)
    try:
        made = Cluster(
            slots=int(slots), catalogue=tuple(offers[name] for name in names),
            absences=cluster.absences if cluster.free_slots else (),
        )  # fmt: skip
    except ValidationError as error:
        return Tables(None, mistake=from_validation("rented machines", error))
    return Tables(cluster if made == cluster else made)


# ---- tables and back ---------------------------------------------------------------------------------

EVENTS = ("arrives", "leaves", "maintenance", "fails")
_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn
POOL_COLUMNS: Mapping[str, Any] = {
    "vm": _text("Machine type", max_chars=80, help="Name of the machine type; the same name is the same type"),
    "nodes": _number(
        "Nodes", min_value=0, max_value=MOST_NODES, step=1, default=1, help="Number of nodes of this type"
    ),
    "gpu type": _text("GPU", max_chars=80, help="GPU type, matched against jobs that require one"),
    "gpus": _number("GPUs each", min_value=0, max_value=1024, step=1, default=8, help="GPUs of one node"),
    "cpus": _number("CPUs each", min_value=0.0, help="CPU cores of one node; empty = not a limit"),
    "mem_gib": _number("GiB each", min_value=0.0, help="Memory of one node; empty = not a limit"),
    "disk_gib": _number("Disk GiB each", min_value=0.0, help="Disk of one node; empty = not a limit"),
    "usd_per_h": _number("$/h each", min_value=0.0, format="%.2f", help="Price of one node; empty = no price set"),
    "partition": _text(
        "Partitions",
        max_chars=1000,
        help="Only jobs of these partitions, joined by |, may run here; empty = open to all",
    ),
    "features": _text(
        "Features", max_chars=2000, help="What these nodes have that jobs may request, joined by |; empty = not known"
    ),
    **terms.COLUMNS,
}
EVENT_COLUMNS: Mapping[str, Any] = {
    "what": st.column_config.SelectboxColumn(
        "What", options=list(EVENTS),
        help="arrives: available from that day. leaves: removed from that day. "
        "maintenance: down, announced. fails: down, unannounced.",
    ),
    "first node": _number("First node", min_value=0, step=1, help="Nodes are numbered from 0 across all types"),
    "nodes": _number("Nodes", min_value=1, step=1, default=1, help="This node and the following ones"),
    "from day": _number("Day", min_value=0.0, help="Days from the first job: day 26, 08:43 is 26.363"),
    "to day": _number("Until day", min_value=0.0, help="For maintenance and failures; empty = for good"),
    "billed": st.column_config.CheckboxColumn("Billed while down", default=False, help="Also billed while it is down"),
}  # fmt: skip
_COLUMN_OF = {"name": "vm", "count": "nodes", "gpu_type": "gpu type", **terms.COLUMN_OF}
"""Field of the model -> column of the pools table, where they differ."""


def pools_frame(cluster: Cluster) -> pd.DataFrame:
    """Return the pools as an editable table."""
    rows = [
        _pool_row(pool.vm, pool.count, pool.partition, pool.features) + terms.row_of(pool.terms)
        for pool in cluster.pools
    ]
    numbers = ("nodes", "gpus", "cpus", "mem_gib", "disk_gib", "usd_per_h", *terms.NUMBERS)
    return pd.DataFrame(rows, columns=[*POOL_COLUMNS]).astype(dict.fromkeys(numbers, float))


def with_pool(pools: pd.DataFrame, vm: VmType, nodes: int) -> pd.DataFrame:
    """Return the table with one more pool."""
    more = pd.DataFrame([_pool_row(vm, nodes) + terms.row_of(None)], columns=pools.columns).astype(
        pools.dtypes.to_dict()
    )
    return pd.concat([pools, more], ignore_index=True) if len(pools) else more


def _pool_row(vm: VmType, nodes: int, partition: str = "", features: str = "") -> tuple[Any, ...]:
    size = vm.gpu_type, vm.gpus, vm.cpus, vm.mem_gib, vm.disk_gib
    return (vm.name, nodes, *size, vm.usd_per_h, partition, features)


def shows_disk(scenario: Scenario) -> bool:
    """Whether disk says anything here: a machine type states it, or a job asks for it."""
    jobs = scenario.workload
    wanted = (jobs.demand[:, DISK] > 0) | (jobs.server_demand[:, DISK] > 0)
    return bool(wanted.any()) or any(vm.disk_gib is not None for vm in scenario.cluster.vm_types)


def shows_features(scenario: Scenario) -> bool:
    """Whether features say anything here: a node has one, or a job asks for one."""
    wanted = scenario.workload.features
    return any(pool.features for pool in scenario.cluster.pools) or (wanted is not None and any(wanted))


def pool_columns(*, disk: bool = True, features: bool = True, terms_too: bool = True) -> dict[str, Any]:
    """Return the column settings of the pools table; what is not asked for is hidden."""
    told = {"disk_gib": disk, "features": features, **dict.fromkeys(terms.COLUMNS, terms_too)}
    hidden = {name for name, shown in told.items() if not shown}
    return {name: None if name in hidden else column for name, column in POOL_COLUMNS.items()}


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
        {"first node": float, "nodes": float, "from day": float, "to day": float, "billed": "boolean", "what": object}
    )


def read_tables(pools: pd.DataFrame, events: pd.DataFrame, before: Cluster, rule: Scaling | None = None) -> Tables:
    """Return the cluster of the rows that are finished and right, and what is wrong with the others.

    What the tables do not show (speed of a type) stays as it was in ``before``. ``rule``: when nodes are
    rented, where some are; None = as before.
    """
    rows: list[Pool] = []
    unfinished: list[InputError] = []
    wrong: list[InputError] = []
    for row, record in tables.filled_rows(pools):
        where = f"node type row {row}"
        if (lacking := _lacking(record, ("vm", "nodes", "gpus"), where, POOL_COLUMNS)) is not None:
            unfinished.append(lacking)
            continue
        try:
            rows.append(_pool(where, record, before))
        except InputError as mistake:
            wrong.append(mistake)
    if not sum(pool.count for pool in rows):
        none = InputError("cluster", "a cluster needs at least one node", "Give a node type at least one node")
        return Tables(None, mistake=next(iter([*wrong, *unfinished]), none))
    try:
        rents = any(pool.is_rented for pool in rows)
        rule = None if not rents or (before.scaling is None and rule == Scaling()) else rule or before.scaling
        cluster = Cluster(pools=tuple(rows), scaling=rule)
    except ValidationError as error:
        clash = InputError("cluster", from_validation("", error).why, "Give one of them another name")
        return Tables(None, tuple(unfinished), clash)
    absences: list[Absence] = []
    for row, record in tables.filled_rows(events.drop(columns=["nodes", "billed"])):  # these two begin filled
        where = f"event row {row}"
        if (lacking := _lacking(record, ("what", "first node", "from day"), where, EVENT_COLUMNS)) is not None:
            unfinished.append(lacking)
            continue
        try:
            absences += _absences(events.astype(object).iloc[row - 1].to_dict(), where, cluster.num_nodes)
        except InputError as mistake:
            wrong.append(mistake)
    edited = cluster.model_copy(update={"absences": tuple(absences)})
    try:
        Cluster(pools=cluster.pools, absences=edited.absences, scaling=rule)
    except ValidationError as error:
        why = from_validation("", error).why
        wrong.append(InputError("event", why, "Name a node that is owned or reserved"))
    same = _canonical(edited) == _canonical(before)
    return Tables(before if same else edited, tuple(unfinished), wrong[0] if wrong else None)


def _lacking(record: dict[Any, Any], names: Sequence[str], where: str, columns: tables.Columns) -> InputError | None:
    """Return which cells of a row are empty that must not be; None for a finished row."""
    empty = [str(columns[name]["label"]) for name in names if is_empty(record[name])]
    if not empty:
        return None
    verb = "is empty" if len(empty) == 1 else "are empty"
    noun = "column" if len(empty) == 1 else "columns"
    return InputError(f"{where}, {noun} {listed(empty)}", verb, "Fill it in, or delete the row")


def _pool(where: str, record: dict[Any, Any], before: Cluster) -> Pool:
    name, partition, gpu_type = text_of(record["vm"]), text_of(record["partition"]), text_of(record["gpu type"])
    features = text_of(record["features"])
    alike = next((vm for vm in (*before.vm_types, *vm_examples()) if vm.name == name), None)
    alike_pools = (p for p in before.pools if (p.vm.name, p.partition) == (name, partition))
    kind = text_of(record["terms"]) or "owned"
    twin = min(alike_pools, key=lambda p: (p.kind != kind, p.features != features), default=None)
    if not gpu_type and record["gpus"] and not (alike and alike.gpu_type == ""):
        gpu_type = "GPU"
    try:
        vm = VmType(
            name=name, gpu_type=gpu_type, gpus=record["gpus"], cpus=number_of(record["cpus"]),
            mem_gib=number_of(record["mem_gib"]), disk_gib=number_of(record["disk_gib"]),
            usd_per_h=number_of(record["usd_per_h"]),
            speed=alike.speed if alike else 1.0,
        )  # fmt: skip
        owned, names = (twin.owned, twin.nodes) if twin else (True, "")
        return Pool(
            vm=vm, count=record["nodes"], partition=partition, owned=owned, nodes=names, features=features,
            terms=terms.terms_of(record, twin, where),
        )  # fmt: skip
    except ValidationError as error:
        raise tables.mistake_in(error, where, POOL_COLUMNS, _COLUMN_OF) from error


def _absences(record: dict[Any, Any], where: str, num_nodes: int) -> list[Absence]:
    first, nodes = int(record["first node"]), 1 if is_empty(record["nodes"]) else int(record["nodes"])
    _check_nodes(where, first, nodes, num_nodes)
    start_s, end_s = _span(where, str(record["what"]), float(record["from day"]), number_of(record["to day"]))
    billed = not is_empty(record["billed"]) and bool(record["billed"])
    return [
        Absence(node=node, start_s=start_s, end_s=end_s, cause=record["what"], billed=billed)
        for node in range(first, first + nodes)
    ]


def _check_nodes(where: str, first: int, nodes: int, num_nodes: int) -> None:
    if nodes < 1 or first < 0:
        cell = tables.place(where, "nodes" if nodes < 1 else "first node", EVENT_COLUMNS)
        raise InputError(cell, "is too small", "Nodes are numbered from 0, and at least one must be affected")
    if first + nodes > num_nodes:
        last = num_nodes - 1
        why = f"names node {count(first + nodes - 1)}, but there are {amount(num_nodes, 'node')}: 0 to {count(last)}"
        raise InputError(tables.place(where, "first node", EVENT_COLUMNS), why, "Name an existing node")


def _span(where: str, cause: str, day: float, until: float | None) -> tuple[float, float | None]:
    """Return from when to when nodes are away, seconds."""
    start_s, end_s = round(day * DAY_S, 6), None if until is None else round(until * DAY_S, 6)
    if not 0 <= start_s < float("inf"):
        raise InputError(tables.place(where, "from day", EVENT_COLUMNS), f"must be 0 or more, got {day:g}")
    if cause == "arrives":
        if start_s == 0:
            why = "a node that arrives must come after day 0"
            raise InputError(
                tables.place(where, "from day", EVENT_COLUMNS),
                why,
                "Delete the row: the node is available from the start",
            )
        return 0.0, start_s
    if cause == "leaves":
        return start_s, None
    if end_s is not None and end_s <= start_s:
        why = f"must be after day {day:g}, got {until:g}"
        raise InputError(tables.place(where, "to day", EVENT_COLUMNS), why, "Correct one of the two days")
    return start_s, end_s


def _canonical(cluster: Cluster) -> Cluster:
    """Return the cluster with its absences in one order and to the microsecond, as days in the table are."""
    by_node = sorted(cluster.absences, key=lambda a: (a.node, a.start_s, a.until_s, a.cause, a.billed))
    rounded = [
        absence.model_copy(
            update={
                "start_s": round(absence.start_s, 6),
                "end_s": None if absence.end_s is None else round(absence.end_s, 6),
            }
        )
        for absence in by_node
    ]
    return cluster.model_copy(update={"absences": tuple(rounded)})


def notes_of(
    assumptions: Sequence[Assumption], before: Cluster, after: Cluster, lists: Sequence[PriceList]
) -> tuple[Assumption, ...]:
    """Return the assumptions of a scenario whose cluster was edited.

    The note on where the cluster came from goes. Notes on prices stay while a price they may speak of is still there,
    and are added for the types that came from one of the price lists.
    """
    had = {(vm.name, vm.usd_per_h) for vm in before.vm_types if vm.usd_per_h is not None}
    have = {(vm.name, vm.usd_per_h) for vm in after.vm_types if vm.usd_per_h is not None}
    gone = [one for one in assumptions if one.is_about_cluster and not (one.is_about_prices and had & have)]
    standing = [one for one in assumptions if one not in gone]
    came = [vm for vm in after.vm_types if (vm.name, vm.usd_per_h) in have - had]
    notes = [price_notes(came, prices, len(after.vm_types)) for prices in lists]
    return tuple(dict.fromkeys([*standing, *next(filter(None, notes), ())]))


def renting(scenario: Scenario, prices: PriceList) -> Scenario:
    """Return the scenario that rents the ticked types of a price list; owned nodes become as many rental slots.

    Speeds of types it has already are kept. Its notes on prices are the list's from now on.

    Raises
    ------
    InputError
        If no type is ticked.
    """
    before = scenario.cluster
    catalogue = to_vm_types(prices, {vm.name: vm.speed for vm in before.vm_types})
    absences = before.absences if before.free_slots else ()
    cluster = Cluster(slots=before.num_nodes, catalogue=catalogue, absences=absences)
    standing = [one for one in scenario.assumptions if not one.is_about_cluster]
    notes = price_notes(catalogue, prices, len(catalogue))
    return scenario.replace(cluster=cluster, assumptions=tuple(dict.fromkeys([*standing, *notes])))
