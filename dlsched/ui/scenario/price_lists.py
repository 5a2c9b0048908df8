"""The price lists a reader can choose from: the one of this store, the bundled ones, that of the scenario."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import streamlit as st
from pydantic import ValidationError

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import amount
from dlsched.workload.catalogue import EXAMPLES, PRICE_LISTS, price_list
from dlsched.workload.prices.price_list import Offer, PriceList, to_vm_types, without_times

SAVED = "price-list"
"""Where the store keeps the list that is edited on the page Prices: one for all scenarios and sessions."""
OWN, SCENARIO = "Your price list", "This scenario"


def today() -> date:
    """Return the current day, which prices are held against."""
    return date.today()


def own() -> PriceList:
    """Return the list edited on the page Prices; before anything was changed, the current example prices."""
    return saved() or price_list(EXAMPLES)


def saved() -> PriceList | None:
    """Return the list of this store; None when none was kept, or one that this version cannot read."""
    stored = session.store().get_setting(SAVED)
    if stored is None:
        return None
    try:
        return PriceList.model_validate(stored)
    except ValidationError:
        return None


def save(prices: PriceList) -> None:
    """Keep the list in the store."""
    said = f"price list: {amount(len(prices.offers), 'machine type')}"
    session.store().set_setting(SAVED, prices.model_dump(mode="json"), said)


def of_cluster(cluster: Cluster) -> PriceList:
    """Return the priced machine types of a cluster as a list; what it does not know of them stays empty."""
    return PriceList(
        offers=tuple(
            Offer(name=vm.name, gpu_type=vm.gpu_type or "none", gpus=vm.gpus, cpus=vm.cpus, mem_gib=vm.mem_gib,
                  disk_gib=vm.disk_gib, usd_per_h=vm.usd_per_h)
            for vm in cluster.vm_types if vm.usd_per_h
        )
    )  # fmt: skip


def types_to_rent(cluster: Cluster) -> dict[str, tuple[VmType, ...]]:
    """Return the machine types that can be rented, by the list they come from; the scenario's own come first."""
    own_types = {SCENARIO: cluster.catalogue} if cluster.free_slots else {}
    speeds = {vm.name: vm.speed for vm in cluster.vm_types}
    lists = {OWN: saved()} | {bundled.label: price_list(bundled) for bundled in PRICE_LISTS}
    return own_types | {label: to_vm_types(prices, speeds) for label, prices in lists.items() if prices and prices.used}


def all_lists() -> list[PriceList]:
    """Return every list that prices may have come from, the reader's own first."""
    return [own(), *(price_list(bundled) for bundled in PRICE_LISTS)]


def types_without_times(scenario: Scenario, vm_types: Sequence[VmType | Offer]) -> Sequence[str]:
    """Return the GPU types that jobs cannot run on because the scenario has no run times for them."""
    jobs = scenario.workload
    used = set() if jobs.profile is None else {str(profile) for profile in jobs.profile}
    return without_times(vm_types, scenario.speed.times, used)


def times_warning(scenario: Scenario, vm_types: Sequence[VmType | Offer]) -> None:
    """Say which GPU types jobs cannot run on because the scenario has no run times for them, with the way to some."""
    lacking = types_without_times(scenario, vm_types)
    if not lacking:
        return
    named = ", ".join(safe(name) for name in lacking[:8]) + (" and others" if len(lacking) > 8 else "")
    st.warning(f"No run times for **{named}**: jobs cannot run there, so policies never rent it.", icon="⚠️")
    st.page_link(SCRIPTS["Speed-up"], label="Predict them on Speed-up, Training time",
                 query_params=session.url_params(part="Training time"))  # fmt: skip
