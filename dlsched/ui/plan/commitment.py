"""The part Commit or rent: the form of what can be committed to and rented, the cost of a year, and break-even."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.cluster import Cluster, Pool, Terms
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import MINUTE_S
from dlsched.figures.commitment import cost_by_nodes, hours_of_use, service_by_nodes
from dlsched.studies.commitment import CommitmentSpec, check, read_spec, usual_runs
from dlsched.studies.commitment.answer import Commitment, rents_nothing
from dlsched.studies.commitment.offer import scenario_with
from dlsched.studies.commitment.spec import MOST_NODES
from dlsched.studies.commitment.words import (
    break_even_words,
    cards_of,
    cautions_of,
    certainty,
    premises_of,
    question_words,
    reached_lines,
    rows_of,
    sentence,
    simulated_words,
    waits_words,
)
from dlsched.studies.design import Variant
from dlsched.ui.answers import Shown
from dlsched.ui.fields import targets
from dlsched.ui.fields.targets import Goal, tag_of
from dlsched.ui.frame import charts, parts, session, writing
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import memo_options, size_state
from dlsched.ui.scenario import trust
from dlsched.ui.study_page import Asked
from dlsched.wording.formats import amount, duration

TERMS = {"owned": "owned", "reserved-1-year": "reserved for 1 year", "reserved-3-years": "reserved for 3 years"}
RENTS = {"on-demand": "on demand", "spot": "spot"}
PRICE_HELP = "Price of one node in $/h, all its GPUs together. Empty: no price is known"
NO_PRICE = "Type the price of a node per hour, or set it on the page Cluster"


# ---- the form ------------------------------------------------------------------------------------------


def fields(scenario: Scenario, _: CommitmentSpec | None) -> Asked[CommitmentSpec]:
    """Show the fields and return what they ask; InputError where that cannot be computed."""
    size_state.take_wanted(scenario)
    # Prices come first: where one is missing, what to do stands on the first screen.
    offered = {} if scenario.cluster.free_slots else _to_commit(scenario) | _to_rent(scenario)
    st.markdown("**Targets**", help="What every mix must reach")
    goal = targets.fields(scenario)
    spec = read_spec(goal.question | {"scenario": scenario.content_hash} | offered)
    mix = check(spec, scenario)

    def button(is_stored: bool) -> str:
        if is_stored:
            return "Show the cheapest mix from the store"
        runs = usual_runs(spec, scenario, exact=goal.exact)
        return f"Find the cheapest mix, {size_state.about(runs, mix.scenario, goal.variant)}"

    return Asked(spec, question_words(spec, goal.words), f"Commitment, {scenario.name[:60]}", button)


def fill(scenario: Scenario, shown: CommitmentSpec | None) -> None:
    """Give the fields their first values for a scenario, and those of a question when it is opened."""
    asked = None
    if shown is not None:
        variant = Variant(policy=shown.policy, params=shown.params)
        asked = Goal(shown.targets, shown.claim, shown.level, variant, shown.futures, condition=shown.condition)
    targets.fill_in(scenario, asked)
    if scenario.cluster.free_slots or (shown is None and _key(scenario, "terms") in st.session_state):
        return
    base = _base_of(scenario.cluster, "" if shown is None else shown.base)
    rented = _rented_of(scenario.cluster, "" if shown is None else shown.rent)
    usual = CommitmentSpec.model_fields
    values: dict[str, Any] = {name: usual[name].default for name in ("most", "rent_most", "every", "most_runs")}
    values |= _own_values(base, rented, scenario.cluster)
    if shown is not None:
        asked_for = {name: getattr(shown, name) for name in values}
        values |= {name: value for name, value in asked_for.items() if value not in (None, "as-is")}
    values["or_after_s"] = [wait_s / MINUTE_S for wait_s in (() if shown is None else shown.or_after_s)]
    values |= {"base": base.vm.name if base else "", "rent": rented.vm.name if rented else ""}
    _set(scenario, values)


def _set(scenario: Scenario, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        st.session_state[_key(scenario, name)] = value / MINUTE_S if name in IN_MINUTES else value


def _set_own(scenario: Scenario, name: str) -> None:
    """Give the fields of a node type that was just chosen the prices and terms that it has."""
    chosen = str(st.session_state[_key(scenario, name)])
    if name == "base":
        own = _own_values(_base_of(scenario.cluster, chosen), None, scenario.cluster)
        _set(scenario, {field: own[field] for field in ("terms", "base_usd_per_h")})
        return
    own = _own_values(None, _rented_of(scenario.cluster, chosen), scenario.cluster)
    _set(scenario, {field: value for field, value in own.items() if field not in ("terms", "base_usd_per_h")})


WAITS_MIN = (0.0, 5.0, 15.0, 30.0, 60.0, 120.0, 240.0, 480.0)
"""Waits before renting that are offered."""
IN_MINUTES = ("boot_s", "idle_timeout_s", "rent_after_s")
"""Times whose fields count minutes."""


def _key(scenario: Scenario, name: str) -> str:
    return f"commit-{name}-{tag_of(scenario)}"


def _base_of(cluster: Cluster, name: str = "") -> Pool | None:
    """Return the node type that can be committed to: the one named, else the one with most nodes."""
    pools = [pool for pool in cluster.pools if not pool.is_rented]
    named = [pool for pool in pools if pool.vm.name == name]
    return next(iter(named), max(pools, key=lambda pool: pool.count, default=None))


def _rented_of(cluster: Cluster, name: str = "") -> Pool | None:
    pools = [pool for pool in cluster.pools if pool.is_rented]
    return next((pool for pool in pools if pool.vm.name == name), pools[0] if pools else None)


def _own_values(base: Pool | None, rented: Pool | None, cluster: Cluster) -> dict[str, Any]:
    """Return what the scenario has: terms and prices of both pools, boot, idle time, when nodes are rented."""
    terms = (rented.terms if rented else None) or Terms(kind="on-demand")
    years = base.terms.commitment_years if base is not None and base.terms is not None else 0
    return {
        "terms": {0: "owned", 1: "reserved-1-year", 3: "reserved-3-years"}[years],
        "base_usd_per_h": base.vm.usd_per_h if base else None,
        "rent_terms": terms.kind,
        "rent_usd_per_h": rented.vm.usd_per_h if rented else None,
        "boot_s": terms.boot_s,
        "idle_timeout_s": terms.idle_timeout_s,
        "evictions_per_h": terms.evictions_per_h,
        "rent_after_s": cluster.rent_after_s,
    }


def _changed(values: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return the values that are not those of the scenario, so that a question has one form, typed or not."""
    return {name: value for name, value in values.items() if value != own[name]}


def _to_commit(scenario: Scenario) -> dict[str, Any]:
    """Show what can be committed to and return it in plain data; parts.MissingError without a price."""
    cluster = scenario.cluster
    names = [pool.vm.name for pool in cluster.pools if not pool.is_rented]
    st.markdown("**Commit to**", help="Paid for all 8,760 hours of a year, used or not")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        base = _choice(scenario, "base", "Node type", names, "Its number varies; the others stay as they are")
        terms = st.selectbox(
            "Terms", list(TERMS), key=_key(scenario, "terms"), persist_state="session", width=200,
            format_func=TERMS.__getitem__, help="The price decides; the years are for the record",
        )  # fmt: skip
        usd = _number(scenario, "base_usd_per_h", "Price ($/h)", PRICE_HELP)
        most = st.number_input(
            "Up to … nodes", 0, MOST_NODES, key=_key(scenario, "most"), persist_state="session", width=140,
            help="The most that are tried. 0: as many as meet the target without any rented node; more never pay",
        )  # fmt: skip
    if usd is None:
        raise parts.MissingError("Price of a committed node", "is not set", NO_PRICE)
    own = _own_values(_base_of(cluster, base), None, cluster)
    plain = _changed({"terms": terms, "base_usd_per_h": usd}, own)
    return plain | {"most": most} | ({"base": base} if len(names) > 1 else {})


def _to_rent(scenario: Scenario) -> dict[str, Any]:
    """Show what can be rented and return it in plain data; parts.MissingError without a price."""
    cluster = scenario.cluster
    names = [pool.vm.name for pool in cluster.pools if pool.is_rented]
    st.markdown("**Rent the rest**", help="Paid from the request on: boots and idle time too")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rent = _choice(scenario, "rent", "Node type", names, "The others that can be rented are left out")
        kind = st.selectbox(
            "Terms", list(RENTS), key=_key(scenario, "rent_terms"), persist_state="session", width=140,
            format_func=RENTS.__getitem__, help="Spot nodes may be taken back while jobs run",
        )  # fmt: skip
        values = {
            "rent_terms": kind,
            "rent_usd_per_h": _number(scenario, "rent_usd_per_h", "Price ($/h)", PRICE_HELP),
            "boot_s": _minutes(scenario, "boot_s", "Boot (min)", "From a request until jobs can start; it is paid"),
            "idle_timeout_s": _minutes(
                scenario, "idle_timeout_s", "Idle (min)", "Idle for so long, a node is returned"
            ),
        }
        if kind == "spot":
            values["evictions_per_h"] = _number(
                scenario, "evictions_per_h", "Evictions/h", "How often a node is taken back, mean per hour of use"
            )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values["rent_after_s"] = _minutes(
            scenario, "rent_after_s", "Rent for jobs that have waited (min)",
            "0: as soon as a job waits. Where the target allows waits, waiting first rents less", width=270,
        )  # fmt: skip
        others = _key(scenario, "or_after_s")
        usual = sorted({*WAITS_MIN, *st.session_state.get(others, ())})
        or_after = st.multiselect(
            "Also try", usual, key=others, persist_state="session", max_selections=8, width=300,
            placeholder="other waits", format_func=lambda minutes: duration(minutes * MINUTE_S),
            help="Each wait is searched by itself; the cheapest of all is the answer",
        )  # fmt: skip
        rent_most = st.number_input(
            "Up to … at once", 0, MOST_NODES, key=_key(scenario, "rent_most"), persist_state="session", width=140,
            help="0: as many as the cluster has of them, else 4 times today's nodes",
        )  # fmt: skip
        limits = _limits(scenario)
    if values["rent_usd_per_h"] is None:
        raise parts.MissingError("Price of a rented node", "is not set", NO_PRICE)
    own = _own_values(None, _rented_of(cluster, rent), cluster)
    others_s = tuple(minutes * MINUTE_S for minutes in sorted(or_after))
    more = {"or_after_s": others_s, "rent_most": rent_most} | limits
    return _changed(values, own) | more | ({"rent": rent} if len(names) > 1 else {})


def _limits(scenario: Scenario) -> dict[str, Any]:
    with st.popover("More", key="commit-limits", help="Which numbers are simulated, and when to stop"):
        every = st.checkbox(
            "Simulate every number", key=_key(scenario, "every"), persist_state="session",
            help="Else beyond 16 numbers a coarse grid that gets finer around the cheapest",
        )  # fmt: skip
        runs = st.number_input(
            "Stop after this many runs", 100, 50_000, step=500, key=_key(scenario, "most_runs"),
            persist_state="session", help="The best number found until then is the answer",
        )  # fmt: skip
    return {"every": every, "most_runs": runs}


def _choice(scenario: Scenario, name: str, label: str, names: list[str], help_text: str) -> str:
    if len(names) < 2:
        return names[0] if names else ""
    chosen = st.selectbox(
        label, names, key=_key(scenario, name), persist_state="session", width=200, help=help_text,
        on_change=_set_own, args=(scenario, name),
    )  # fmt: skip
    return str(chosen)


def _number(scenario: Scenario, name: str, label: str, help_text: str, width: int = 120) -> float | None:
    return st.number_input(
        label, 0.0, None, key=_key(scenario, name), persist_state="session", format="%g", width=width,
        placeholder="none", help=help_text.replace("$", "\\$"),
    )  # fmt: skip


def _minutes(scenario: Scenario, name: str, label: str, help_text: str, width: int = 110) -> float:
    return MINUTE_S * float(_number(scenario, name, label, help_text, width) or 0.0)


# ---- the answer ----------------------------------------------------------------------------------------


def view(shown: Shown[CommitmentSpec, Commitment], scenario: Scenario, is_current: bool) -> None:
    """Show an answer; ``is_current``: it answers what the form asks."""
    answer = shown.answer
    parts.guard_rails(cautions_of(answer, stale=shown.stale, elsewhere=shown.elsewhere))
    own = [] if shown.elsewhere else trust.premises(scenario)
    premises = [*premises_of(answer), *own]
    parts.sentence(sentence(answer), size_state.caveats(shown, scenario), premises, key="commitment")
    for line in filter(None, (waits_words(answer), *reached_lines(answer))):
        st.markdown(safe(line, 800))
    parts.cards(cards_of(answer))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all mixes run under")
        waits = f", {amount(len(answer.waits), 'wait')}" if answer.waits else ""
        st.badge(f"{amount(answer.runs, 'run')}{waits}, {amount(len(answer.tried), 'mix', 'mixes')}", color="gray",
                 help="What the search tried; the mixes are those of the cheapest wait")  # fmt: skip
        st.badge(certainty(answer), color="gray", help="All mixes meet the same futures")
        if not shown.elsewhere and (answer.best is not None or rents_nothing(answer)):
            st.space("stretch")
            asks = size_state.what_if_of_mix(shown.spec, answer, scenario)
            why = "" if asks else "This is today's mix, or has terms, prices or nodes of its own: save it as a scenario"
            memo_options.buttons("commitment", shown.experiment_id, scenario, is_current=is_current, why_not=why)
            _save_button(shown.spec, answer, scenario)
    theme = charts.page_theme()
    charts.show(cost_by_nodes(answer, theme), "commitment-cost", caption=True)
    metric = parts.pick("Target", answer.rule.labels, "commitment-metric")
    charts.show(service_by_nodes(answer, metric, theme), "commitment-service", caption=True)
    st.subheader("Break-even", anchor=False)
    st.markdown(safe(break_even_words(answer), 800))
    charts.show(hours_of_use(answer, theme), "commitment-hours", caption=True)
    st.subheader("Every mix simulated", anchor=False)
    st.markdown(safe(simulated_words(answer), 800))
    noted = [(row, row["Note"].partition(",")[0]) for row in rows_of(answer)]  # in a column of its own it is cut off
    rows = [{**row, "Committed": f"{row['Committed']}, {note}" if note else row["Committed"]} for row, note in noted]
    frame = pd.DataFrame(rows).drop(columns="Note")
    alt = f"{amount(len(frame), 'mix', 'mixes')}: committed nodes, cost of a year by kind, targets, regret"
    charts.table(frame, "commitment", alt, file_name="mixes", csv_help="One line for each number of committed nodes")


def _save_button(spec: CommitmentSpec, answer: Commitment, scenario: Scenario) -> None:
    """Offer to make a version of the scenario with the answer, and to look at it from now on."""
    told = "A new version of the scenario with this answer: nodes, terms and prices, without the conditions; opens Run"
    if writing.button("Save as scenario", key="commitment-save", help=told):
        with parts.mistakes_shown():
            made = scenario_with(answer, spec, scenario)
            assert made is not None  # else the button is not offered
            session.keep(made.replace(name=scenario.name), based_on=scenario.content_hash)
            session.go("Run")


HOW = """
**Each mix** is a run with so many committed nodes and the rest rented as jobs need them, in the same futures. Committed
nodes are paid for 8,760 hours a year, used or not; rented ones from request to return, scaled from the time in which
jobs arrive to a year. The year is taken to be like these days: no seasons, no growth beyond the conditions.

**The answer** is the number of nodes with the least mean cost over the futures, among those that meet the targets.
Renting nothing is searched for too, as on the part Size. **Regret** is what a number costs more than the best number
of each future would: how much it can cost not to know the future.

**When to rent** matters as much as the price where the target allows waits. Every wait under *Also try* is searched
with all its mixes; chart and table show those of the cheapest.

**Which numbers are simulated.** All up to 16; beyond, a grid that gets finer around the cheapest. The cost may have
several dips, so the table lists what was simulated.

**Break-even** is a rule of thumb: a node pays that is needed for more than (committed price / rented price) of the
hours. It ignores queueing, boots, idle time and placement.
"""
