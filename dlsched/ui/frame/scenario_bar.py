"""The scenario bar: what is looked at, its facts and assumptions, running work, ticked runs, a link."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from dlsched.domain.counted import counted_capacity
from dlsched.domain.scenario import Scenario
from dlsched.runner.background import TaskStatus
from dlsched.store.scenarios import ScenarioInfo
from dlsched.ui.frame import futures, run_state, scenario_menu, session
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import chips
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario import trust
from dlsched.wording import formats
from dlsched.wording.counted import GPUS, counted_of, room_words
from dlsched.wording.formats import amount, money, share

DATA_CHIP = {"example": ("example data", "orange"), "generated": ("generated", "orange")}
EDITED = "edited since last run"
AROUND_PX, CHAR_PX, BOX_PX = 310, 7.2, 24
"""Rough widths: sidebar and margins around the bar, one letter, the box and gap around a chip's text."""
MOST_OFFERED = 12


def show(current: Scenario, *, assumed: bool = True) -> None:
    """Show the bar; ``assumed``: with the scenario's assumptions."""
    info = session.scenario_info()
    edited = was_edited(info)
    busy = any(not status.state.is_over for status in run_state.own())
    texts = [safe(info.name, scenario_menu.LONGEST_NAME), "v10", *facts(current)]
    texts += [label for kind, (label, _) in DATA_CHIP.items() if kind == current.data_kind]
    texts += ["10 assumptions"] * assumed + [EDITED] * edited + ["10 running 50%"] * busy
    texts += ["Selected runs: 5"] * bool(session.ticked_runs())
    st.html(_fold_style(*fold_px(texts, facts(current))))
    with st.container(key="scenario-bar", border=True, horizontal=True, vertical_alignment="center", gap="xsmall"):
        scenario_menu.menu(info)
        _facts(current)
        if current.data_kind in DATA_CHIP:
            label, colour = DATA_CHIP[current.data_kind]
            st.badge(label, color=colour)  # type: ignore[arg-type]
        futures.menu(current)
        if assumed:
            chips([*trust.caveats(current, ()), *trust.premises(current)], "bar")
        if edited:
            _edited(info)
        _running()
        st.space("stretch")
        _ticked()
        _share()
    scenario_menu.undo_line()


def fold_px(texts: Sequence[str], facts: Sequence[str]) -> tuple[int, int]:
    """Return the widths of the window below which two, then all four facts fold into one chip.

    ``texts`` are all texts of the bar but the Share button, ``facts`` the four among them.
    """
    wide = AROUND_PX + sum(CHAR_PX * len(text) + BOX_PX for text in (*texts, "Share"))
    folded = wide - sum(CHAR_PX * len(fact) + BOX_PX for fact in facts[2:]) + 2 * BOX_PX
    return round(wide), round(folded)


def _fold_style(two_px: int, four_px: int) -> str:
    def box(*keys: str) -> str:  # the box around a container keeps its gap, so it goes as well
        return ",".join(f"[data-testid=stLayoutWrapper]:has(>.st-key-{key})" for key in keys)

    return f"""<style>
.st-key-scenario-bar{{padding:.4rem .75rem}}
{box("bar-fold-2", "bar-fold-4")}{{display:none}}
@media(max-width:{two_px}px){{{box("bar-facts-b")}{{display:none}}{box("bar-fold-2")}{{display:flex}}}}
@media(max-width:{four_px}px){{
{box("bar-facts-a", "bar-fold-2")}{{display:none}}{box("bar-fold-4")}{{display:flex}}}}
</style>"""


def was_edited(info: ScenarioInfo) -> bool:
    """Whether this version has no run yet, but the one it is based on has."""
    if info.based_on is None or len(session.runs_of(info.scenario_hash)):
        return False
    return len(session.runs_of(info.based_on)) > 0


def facts(current: Scenario) -> list[str]:
    """Return jobs, size, load and price of a scenario in a few words each."""
    cluster = current.cluster
    size = f"up to {amount(cluster.slots, 'machine')}" if cluster.free_slots else _size(current)
    return [amount(len(current.workload), "job"), size, _load(current), _price(current)]


def _size(current: Scenario) -> str:
    return room_words(current.cluster, counted_of(current)) or amount(current.cluster.num_nodes, "node")


def _facts(current: Scenario) -> None:
    jobs, size, load, price = (dollars(fact) for fact in facts(current))
    hint = "Work requested over work possible, while jobs arrive."
    with st.container(key="bar-facts-a", horizontal=True, gap="xsmall", width="content"):
        st.badge(jobs, color="gray")
        st.badge(size, color="gray")
    with st.container(key="bar-facts-b", horizontal=True, gap="xsmall", width="content"):
        st.badge(load, color="gray", help=hint)
        st.badge(price, color="gray")
    for key, label, folded in (("bar-fold-2", "+2", (load, price)), ("bar-fold-4", "+4", (jobs, size, load, price))):
        with st.container(key=key, width="content"), st.popover(label, key=f"{key}-menu"):
            for fact in folded:
                st.markdown(fact)


def _load(current: Scenario) -> str:
    from dlsched.wording.resources import asked_words
    from dlsched.workload.import_report import in_seconds, offered_load

    if (scarce := asked_words(current)) or current.workload.has_servers:
        return scarce or "load unknown"
    load = offered_load(in_seconds(current), current.cluster)
    return f"load {share(load)}" if load == load else "load unknown"


def _price(current: Scenario) -> str:
    cluster = current.cluster
    if cluster.free_slots:
        return "catalogue prices"
    if cluster.rents_nodes:
        return "paid by use"
    if cluster.usd_per_h is None:
        return "no price set"
    counted = counted_of(current)
    units = float(counted_capacity(cluster, counted.index)[cluster.nodes.vm].sum())
    # On a mixed cluster the price of all nodes over its GPUs would be the price of nothing.
    cpu_nodes = counted == GPUS and any(pool.count and not pool.vm.gpus for pool in cluster.pools)
    if not units or cpu_nodes:
        return f"{money(cluster.usd_per_h)}/h"
    return formats.show(counted.price_kind, cluster.usd_per_h / units)


def _edited(info: ScenarioInfo) -> None:
    parent = session.info_of(info.based_on or "")
    with st.popover(f":violet[{EDITED}]", key="bar-edited"):
        st.markdown(
            f"v{info.version} has no run yet. Results you have seen belong to v{parent.version if parent else 1}."
        )
        if st.button(f"Run v{info.version}", key="bar-run-again"):
            session.go("Run")


def _running() -> None:
    """Show how far this user's background work is, on every page; or that what this tab started is ready.

    It is drawn with the page and has no timer, for the reason given in queue.live_queue.
    """
    statuses = run_state.own()
    under_way = {status.name for status in statuses if not status.state.is_over}
    if under_way:
        st.badge(f"{len(under_way)} running {share_done(statuses):.0%}", color="violet")
        return
    ready = [] if run_state.is_followed() else run_state.ready_runs(run_state.batch())
    if ready and st.button(f"{amount(len(ready), 'result')} ready", key="bar-ready", help="Open the result"):
        session.go(run_state.look_at_batch())


def share_done(statuses: Sequence[TaskStatus]) -> float:
    """Return the mean share done of all tasks, rounded down: work that is under way is never at 100%."""
    mean = sum(1.0 if status.state.is_over else status.share for status in statuses) / len(statuses)
    return min(int(100 * mean) / 100, 0.99)


def _ticked() -> None:
    """Offer which runs Compare shows, and which of them is the baseline."""
    ticked = session.ticked_runs()
    if not ticked:
        return
    stored = session.run_names()
    known = [run for run in ticked if run in stored]
    choices = dict.fromkeys([*known, *session.first_runs(session.scenario().content_hash)])
    names = {run: stored[run] for run in [*choices][:MOST_OFFERED]}
    with st.popover(f"Selected runs: {len(known)}", key="ticked-menu"):
        st.markdown("**Runs that Compare shows**")
        for run, name in names.items():
            base = " (B)" if known and run == known[0] else ""
            st.checkbox(safe(name) + base, value=run in known, key=f"bar-tick-{run}-{run in known}",
                        on_change=_toggle, args=(run,))  # fmt: skip
        if known:
            key = f"bar-base-{'-'.join(known)}"
            st.selectbox("Baseline (B)", known, format_func=names.__getitem__, key=key,
                         help="The run that the others are compared with",
                         on_change=lambda: session.tick([st.session_state[key], *known]))  # fmt: skip


def _toggle(run_id: str) -> None:
    ticked = session.ticked_runs()
    session.tick([run for run in ticked if run != run_id] if run_id in ticked else [*ticked, run_id])


def _share() -> None:
    with st.popover("Share", key="share-menu"):
        st.markdown("**Link to what this page shows**")
        address, _, _ = (st.context.url or "").partition("?")
        st.code(link(address), language=None)
        host = "/".join(address.split("/")[:3])
        st.markdown(
            f"Opens for anyone who can reach {safe(host)} and this store. For others: download the HTML memo, one file "
            "that needs neither. To continue the analysis, export the runs (Run, History) or the scenario "
            "(scenario menu)."
        )
        st.page_link(SCRIPTS["Memo"], label="Write the memo", query_params=session.url_params(run=None))


def link(address: str) -> str:
    """Return the address of what this page shows now, with all parameters."""
    params = {"scenario": [session.url_params().get("scenario", "")]}
    params |= {name: st.query_params.get_all(name) for name in st.query_params}  # a name may be there several times
    there = [(name, value) for name, values in params.items() for value in values if value]
    return f"{address}?{urlencode(there, safe=',')}"
