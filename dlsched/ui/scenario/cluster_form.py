"""Widgets of the Cluster page: what the cluster is, its tables or free slots, saving."""

from __future__ import annotations

import numpy as np
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.scenario import Scenario
from dlsched.figures.cluster import capacity
from dlsched.metrics.findings import cluster_sentence
from dlsched.placement import can_ever_fit
from dlsched.ui.frame import charts, session, tables
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import cards, guard_rails, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import price_lists
from dlsched.ui.scenario.cluster_view import (
    cluster_of,
    event_columns,
    events_frame,
    pool_columns,
    pools_frame,
    shows_disk,
    with_pool,
)
from dlsched.wording.cautions import cautions
from dlsched.wording.formats import amount, count, money, share
from dlsched.wording.resources_asked import scarcest_card
from dlsched.workload.import_report import in_seconds, offered_load
from dlsched.workload.notes import is_default_note
from dlsched.workload.prices.price_list import chosen, to_vm_types

FIXED, FREE = "Fixed nodes", "Free machine types"
MEANING = {
    FIXED: "The nodes below, each for as long as it is there.",
    FREE: "Up to so many machines at once; the policy chooses which types to rent, and when.",
}


def headline(scenario: Scenario, *, unsaved: bool, mistake: InputError | None) -> None:
    """Show banners, sentence, one line on where the tables stand, and the cards; of unsaved tables too."""
    cluster, jobs = scenario.cluster, scenario.workload
    fits = can_ever_fit(jobs, cluster, scenario.options.placement)
    load, never = offered_load(in_seconds(scenario), cluster), int(np.sum(~fits))
    widest = int(np.argmax(jobs.gpus))
    found = cautions(
        scenario, load=None if np.isnan(load) else load, never_fit=never,
        widest_gpus=float(jobs.gpus[~fits].max()) if never else 0.0,
    )  # fmt: skip
    guard_rails([guard for guard in found if guard.level != "info"])
    price_lists.times_warning(scenario, cluster.vm_types)
    sentence(cluster_sentence(cluster, float(jobs.gpus[widest]), fits=bool(fits[widest])))
    st.markdown(_standing(scenario, unsaved, mistake))
    cards(_cards(cluster, load, scarcest_card(scenario)))


def _standing(scenario: Scenario, unsaved: bool, mistake: InputError | None) -> str:
    """Return where the tables stand: always one line, so that no table moves under the hand that fills it."""
    if mistake is not None:
        return f":red[⛔ **{safe(mistake.what, 120)}**: {safe(mistake.why, 200)}. {safe(mistake.do, 120)}.]"
    if unsaved:
        return ":violet[Not saved yet: runs still use the cluster as it was.]"
    default = next(filter(is_default_note, scenario.assumptions), None)
    if default is not None:
        return f"{safe(default, 300)}. Change it below, or go on with it."
    return ":gray[Saved. A change below shows its effect at once, and becomes a new version when you save it.]"


def _cards(cluster: Cluster, load: float, scarce: tuple[str, str, str] | None) -> list[tuple[str, str, str]]:
    if cluster.free_slots:
        priced = [vm.usd_per_h / vm.gpus for vm in cluster.catalogue if vm.usd_per_h is not None and vm.gpus]
        most = cluster.slots * max(vm.gpus for vm in cluster.catalogue)
        least = money(min(priced)) if priced else "no price set"
        return [
            ("Free slots", count(cluster.slots), "Machines that may be rented at once."),
            ("Machine types", count(len(cluster.catalogue)), "Types the policy may rent."),
            ("Most GPUs", count(most), "All slots with the largest type."),
            ("Cheapest GPU-hour", least, "Price of one GPU for an hour, of the cheapest type to choose from."),
        ]  # fmt: skip
    hourly = cluster.usd_per_h
    why = (
        "Some pool has no price: costs are unknown, not 0."
        if hourly is None
        else "All nodes together, while they are up."
    )
    asked = "GPU time asked for over GPU time there is while jobs arrive. Above 100% the queue only grows."
    return [
        ("Nodes", count(cluster.num_nodes), "Nodes of all pools."),
        ("GPUs", count(cluster.num_gpus), "GPUs of all nodes."),
        ("Price", "no price set" if hourly is None else f"{money(hourly)}/h", why),
        scarce or ("Load", share(load), asked),
    ]  # fmt: skip


def fixed(current: Scenario) -> Cluster:
    """Show the tables of pools and events with the capacity they give; return the cluster as it stands there.

    Raises
    ------
    InputError
        When the tables do not make a cluster; what is shown stays, so that it can be corrected.
    """
    before = current.cluster
    pools_key, events_key = keys(current)
    start = pools_frame(before)
    if before.free_slots:
        start = with_pool(start, before.catalogue[0], before.slots)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Pools of equal nodes**")
        _add_type(pools_key, start)
    # A type added from the catalogue may state its disk too.
    disk = shows_disk(current) or bool(tables.held(pools_key, start)["disk_gib"].notna().any())
    pools = tables.editor(
        start, pools_key, pool_columns(disk=disk), alt="Pools: machine type, number of nodes, size and price"
    )
    picture = st.container()
    st.markdown("**Capacity over time** (optional): nodes that arrive, leave, are maintained, or fail")
    events = tables.editor(
        events_frame(before), events_key, event_columns(), alt="Events: what happens to which nodes on which day"
    )
    cluster = before
    try:
        cluster = cluster_of(pools, events, before)
    finally:  # tables with a mistake keep the picture of the saved cluster
        if not cluster.free_slots:
            with picture:
                _capacity(current.replace(cluster=cluster))
    return cluster


def _capacity(scenario: Scenario) -> None:
    """Show the GPUs that are there until the last job could have run and the last change has come."""
    jobs, cluster = in_seconds(scenario), scenario.cluster
    last_s = max([0.0, *(a.start_s if a.end_s is None else a.end_s for a in cluster.absences)])
    horizon_s = max(float((jobs.submit_s + jobs.work).max()), 1.1 * last_s, 1.0)
    charts.show(capacity(cluster, horizon_s, charts.page_theme()), "capacity")


def kind_of_machines(current: Scenario) -> str:
    """Show the switch between fixed nodes and free machine types, with what it means."""
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

    with st.popover("Add a machine type", help="Types and prices of your catalogue; change them in the table"):
        dates = sorted({f"{offer.source or 'no source'}, {offer.as_of or 'no date'}" for offer in mine.offers})
        st.markdown(f":gray[From your catalogue: {safe('; '.join(dates), 300)}.]")
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
        st.page_link(SCRIPTS["Catalogue"], label="Edit in Catalogue", query_params=session.url_params())


def free(current: Scenario) -> Cluster:
    """Show the number of slots and the types for them; return the cluster as it stands there.

    Raises
    ------
    InputError
        When no type is chosen.
    """
    cluster, key = current.cluster, tables.widget_key(keys(current)[0])
    lists = price_lists.types_to_rent(cluster)
    left, middle, right = st.columns([1, 2, 4], vertical_alignment="bottom")
    slots = left.number_input(
        "Free slots", 1, 100_000, cluster.slots or cluster.num_nodes, key=f"slots-{key}", persist_state="session",
        help="How many machines may be rented at once",
    )  # fmt: skip
    label = middle.selectbox(
        "Types and prices from", list(lists), key=f"list-{key}", persist_state="session",
        help="Prices are frozen into the scenario when it is saved: a later change of a list changes no run",
        format_func=lambda name: f"{name}: {amount(len(lists[name]), 'type')}",
    )  # fmt: skip
    offers = {vm.name: vm for vm in lists[label]}
    names = right.multiselect(
        "Machine types to choose from", list(offers), list(offers), key=f"types-{key}-{label}", persist_state="session",
        help="Those that the policy may rent", format_func=lambda name: _priced(offers[name]),
    )  # fmt: skip
    _to_catalogue("edit-catalogue")
    try:
        made = Cluster(
            slots=int(slots), catalogue=tuple(offers[name] for name in names),
            absences=cluster.absences if cluster.free_slots else (),
        )  # fmt: skip
    except ValidationError as error:
        raise from_validation("free slots", error) from error
    return cluster if made == cluster else made
