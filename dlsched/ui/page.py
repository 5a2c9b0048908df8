"""The frame of every page: guard, title, scenario bar."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.findings import assumptions
from dlsched.metrics.formats import count, money, share
from dlsched.ui import session
from dlsched.ui.parts import chips, error_box
from dlsched.ui.text import dollars, safe

STYLE = """<style>
[data-testid=stMainBlockContainer]{max-width:1360px;padding-top:4.4rem;padding-bottom:3rem}
[data-testid=stMetricValue]{font-variant-numeric:tabular-nums}
@media print{[data-testid=stSidebar],[data-testid=stHeader],.st-key-scenario-bar{display:none}}
</style>"""
DARK_STYLE = "<style>[data-testid=stBaseButton-primary]{color:#0e1117}</style>"
DATA_CHIP = {"example": ("example data", "orange"), "generated": ("generated", "orange")}


def begin(title: str, *, url: Sequence[str] = ("scenario",), bar: bool = True) -> Scenario:
    """Open a page: style, store, scenario bar, title; return the scenario that is looked at.

    ``url`` names what the address bar keeps of the page: scenario, run, runs, base.
    """
    st.html(STYLE + (DARK_STYLE if st.context.theme.type == "dark" else ""))
    try:
        session.store()
    except StoreError as error:
        error_box(error)
        st.stop()
    try:
        session.follow_url()
        current = session.scenario()
    except StoreError as error:
        error_box(error)
        if st.button("Go on with the demo", type="primary"):
            st.query_params.clear()
            session.keep(session.demo())
            st.rerun()
        st.stop()
    session.write_url(*url)
    if bar:
        _bar(current)
    st.title(title, anchor=False)
    return current


def _bar(current: Scenario) -> None:
    info = session.scenario_info()
    with st.container(key="scenario-bar", border=True, horizontal=True, vertical_alignment="center", gap="small"):
        _name_menu(info.name, info.version)
        st.badge(f"{count(len(current.workload))} jobs", color="gray")
        st.badge(_size(current), color="gray")
        st.badge(_load(current), color="gray", help="Work asked for per hour over work possible, while jobs arrive.")
        st.badge(dollars(_price(current)), color="gray")
        if current.data_kind in DATA_CHIP:
            label, colour = DATA_CHIP[current.data_kind]
            st.badge(label, color=colour)  # type: ignore[arg-type]
        chips(assumptions(current), "bar")
        _running()
        st.space("stretch")
        _ticked()
        _share()


def _name_menu(name: str, version: int) -> None:
    with st.popover(
        f"**{safe(name, 28)}** · v{version}", key="scenario-menu", help="Switch, rename or copy the scenario"
    ):
        listed = session.store().list_scenarios()
        current = session.scenario().content_hash
        keys = list(listed["scenario_hash"])
        labels = {
            row.scenario_hash: f"{row.name} · v{row.version} · {row.jobs:,} jobs, {row.runs} runs"
            for row in listed.itertuples()
        }
        chosen = st.selectbox(
            "Scenario",
            keys,
            index=keys.index(current) if current in keys else 0,
            format_func=lambda k: labels[k],
            key="bar-switch",
        )
        if chosen != current and st.button("Open it", key="bar-open", type="primary"):
            session.look_at(chosen)
            session.look_at_run("")
            st.query_params.clear()
            st.rerun()
        renamed = st.text_input("Name", name, key=f"bar-name-{current}", max_chars=80)
        if renamed.strip() and renamed != name and st.button("Rename", key="bar-rename"):
            session.store().rename_scenario(current, renamed)
            st.rerun()
        parent = session.scenario_info().based_on
        if parent and st.button(f"Undo last edit (back to v{version - 1})", key="bar-undo"):
            session.look_at(parent)
            st.query_params.clear()
            st.rerun()
        _download(name)


def _download(name: str) -> None:
    from dlsched.workload.scenario_file import scenario_bytes

    file_name = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:40] or "scenario"
    st.download_button(
        "Download scenario file", lambda: scenario_bytes(session.scenario()), file_name=f"{file_name}.json",
        mime="application/json", key="bar-download", on_click="ignore",
    )  # fmt: skip


def _size(current: Scenario) -> str:
    cluster = current.cluster
    return f"{count(cluster.slots)} free slots" if cluster.free_slots else f"{count(cluster.num_gpus)} GPUs"


def _load(current: Scenario) -> str:
    from dlsched.workload.doctor import load_of

    return f"load {share(load_of(current.workload, current.cluster))}"


def _price(current: Scenario) -> str:
    cluster = current.cluster
    if cluster.free_slots or cluster.usd_per_h is None or not cluster.num_gpus:
        return "no price set" if not cluster.free_slots else "catalogue prices"
    return f"{money(cluster.usd_per_h / cluster.num_gpus)}/GPU-h"


def _running() -> None:
    """Show how far background work is, on every page."""
    under_way = [task for task in session.runner().status() if task.state in ("queued", "running")]
    if under_way:
        done = sum(task.share for task in under_way) / len(under_way)
        st.badge(f"{len(under_way)} running {done:.0%}", color="violet")


def _ticked() -> None:
    ticked = session.ticked_runs()
    if not ticked:
        return
    with st.popover(f"Selected runs: {len(ticked)}", key="ticked-menu", help="The first is the baseline (B)"):
        runs = session.store().list_runs().set_index("run_id")
        known = [run for run in ticked if run in runs.index]
        names = {row.Index: f"{row.policy} · draw {row.seed}" for row in runs.loc[known].itertuples()}
        if not known:
            return
        base = st.radio("Baseline (B)", known, format_func=lambda run: names[run], key=f"base-{'-'.join(known)}")
        if base != known[0]:
            session.tick([base, *known])
            st.query_params.clear()
            st.rerun()


def _share() -> None:
    with st.popover("Share", key="share-menu", help="A link to what this page shows"):
        st.markdown("Copy the address of this page: it names the scenario and the runs.")
        st.code(
            (st.context.url or "").split("?")[0] + "?" + "&".join(f"{k}={v}" for k, v in st.query_params.items()),
            language=None,
        )
        st.markdown(
            ":gray[Opens for anyone who can reach this address and this store. For others: export the runs on Runs.]"
        )
