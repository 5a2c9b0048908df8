"""The part Growth: the form of months ahead with deliveries and retirements, and when a target is missed."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.figures.growth import by_month
from dlsched.studies.design import Variant
from dlsched.studies.growth import GrowthSpec, check, read_spec, usual_runs
from dlsched.studies.growth.answer import Growth, GrowthStep, month_of, to_order
from dlsched.studies.growth.words import (
    ASSUMED,
    cards_of,
    cautions_of,
    certainty,
    question_words,
    sentence,
    table_rows,
)
from dlsched.studies.sizing.words import rented_premises, rule_premises
from dlsched.ui.answers import Shown
from dlsched.ui.fields import targets
from dlsched.ui.fields.targets import Goal, tag_of
from dlsched.ui.frame import charts, parts, tables
from dlsched.ui.frame.tables import is_empty, number_of, text_of
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import memo_options, size_state
from dlsched.ui.plan.size import keys_of, name_of
from dlsched.ui.scenario import price_lists, trust
from dlsched.ui.study_page import Asked
from dlsched.wording.formats import amount, capital

MONTH, TYPE, NODES = "Month", "Node type", "Nodes ±"
BEGIN = re.compile(r"[1-9]\d{3}-(0[1-9]|1[0-2])")
TABLE_HELP = (
    "What is delivered (nodes above 0) or retired (below 0), from the start of which month on. Month 0 is today's; a "
    "month can also be typed as 2027-03 where the first month has a date."
)


def fields(scenario: Scenario, _: GrowthSpec | None) -> Asked[GrowthSpec]:
    """Show the fields and return what they ask; InputError where that cannot be computed."""
    size_state.take_wanted(scenario)
    plain = _months(tag_of(scenario))
    goal = targets.fields(scenario)
    steps = _steps(scenario, str(plain["begin"]))
    rest = {"scenario": scenario.content_hash, "steps": [step.model_dump() for step in steps]}
    spec = read_spec(plain | goal.question | rest)
    check(spec, scenario)

    def button(is_stored: bool) -> str:
        if is_stored:
            return "Show these months from the store"
        runs = spec.months + 1 if goal.exact and not spec.percent else usual_runs(spec)
        return f"Project {amount(spec.months, 'month')}, {size_state.about(runs, scenario, goal.variant)}"

    return Asked(spec, question_words(spec, goal.words), f"Growth, {scenario.name[:60]}", button)


def fill(scenario: Scenario, shown: GrowthSpec | None) -> None:
    """Give the fields their first values for a scenario, and those of a question when it is opened."""
    tag = tag_of(scenario)
    targets.fill_in(scenario, None if shown is None else _goal_of(shown))
    usual = GrowthSpec.model_fields
    values: dict[str, Any] = {name: usual[name].default for name in ("percent", "months", "lead_months")}
    values["begin"] = f"{price_lists.today():%Y-%m}"
    if shown is not None:
        values = {name: getattr(shown, name) for name in values}
        rows = [[str(step.month), step.key, step.nodes] for step in shown.steps]
        tables.replace(f"growth-steps-{tag}", pd.DataFrame(rows, columns=[MONTH, TYPE, NODES], dtype=object))
    for name, value in values.items():
        if shown is not None or f"growth-{name}-{tag}" not in st.session_state:
            st.session_state[f"growth-{name}-{tag}"] = value


def _goal_of(spec: GrowthSpec) -> Goal:
    """Return what a question asks that a search for a size asks too."""
    variant = Variant(policy=spec.policy, params=spec.params)
    return Goal(spec.targets, spec.claim, spec.level, variant, spec.futures, condition=spec.condition)


def _months(tag: str) -> dict[str, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        percent = st.number_input(
            "Growth of demand (% a month)", -50.0, 100.0, step=0.5, key=f"growth-percent-{tag}", format="%g",
            persist_state="session", width=215, help="Compounded: 3% a month is 1.43x after a year",
        )  # fmt: skip
        months = st.number_input("Months ahead", 1, 60, key=f"growth-months-{tag}", persist_state="session", width=130,
                                 help="Each month is simulated separately, like today's")  # fmt: skip
        begin = st.text_input("First month", key=f"growth-begin-{tag}", persist_state="session", width=130,
                              placeholder="no date", help="Today's month, as 2026-11; empty: numbers")  # fmt: skip
        lead = st.number_input("Delivery takes (months)", 0, 60, key=f"growth-lead_months-{tag}", width=190,
                               persist_state="session", help="From an order to nodes that run jobs")  # fmt: skip
    if begin and not BEGIN.fullmatch(begin.strip()):
        raise InputError("First month", f"must be a year and a month, got {begin[:20]!r}", "Write it as 2026-11")
    return {"percent": percent, "months": months, "begin": begin.strip(), "lead_months": lead}


# ---- deliveries and retirements ----------------------------------------------------------------------


def _steps(scenario: Scenario, begin: str) -> list[GrowthStep]:
    keys, tag = keys_of(scenario), tag_of(scenario)
    columns = {
        MONTH: st.column_config.TextColumn(help=TABLE_HELP),
        TYPE: st.column_config.SelectboxColumn(
            options=keys, format_func=lambda key: capital(name_of(str(key))), help="Empty: the first"
        ),
        NODES: st.column_config.NumberColumn(format="%d", step=1, help="+4: delivered; −4: retired"),
    }
    st.markdown("Deliveries and retirements", help=TABLE_HELP)
    empty = pd.DataFrame({MONTH: [], TYPE: [], NODES: []}, dtype=object)
    frame = tables.editor(empty, f"growth-steps-{tag}", columns, alt="Deliveries and retirements by month", height=150)
    _from_size_found(scenario, frame)
    return read_steps(frame, keys, begin)


def _from_size_found(scenario: Scenario, frame: pd.DataFrame) -> None:
    """Offer to start with the size that was found, as nodes that are delivered in month 0."""
    found = size_state.newest_size(scenario.content_hash)
    if found is None or found.answer is None or found.answer == found.today:
        return
    rows = [["0", vm.key, count - vm.today] for vm, count in zip(found.types, found.answer, strict=True)]
    wanted = pd.DataFrame([row for row in rows if row[2]], columns=[MONTH, TYPE, NODES], dtype=object)
    size = found.words(found.answer).removeprefix("up to ")
    st.button(
        f"Start with the {safe(size)} found", key="growth-from-size", type="tertiary",
        on_click=tables.replace, args=(f"growth-steps-{tag_of(scenario)}", pd.concat([wanted, frame])),
        help="The nodes beyond today's are delivered in month 0",
    )  # fmt: skip


def read_steps(frame: pd.DataFrame, keys: list[str], begin: str) -> list[GrowthStep]:
    """Return the steps of the table's rows; empty rows are left out.

    Raises
    ------
    InputError
        Naming the row that lacks a month or a number of nodes.
    """
    steps = []
    for place, row in enumerate(frame.to_dict("records"), 1):
        if all(is_empty(row.get(name)) for name in (MONTH, TYPE, NODES)):
            continue
        nodes = number_of(row.get(NODES))
        if nodes is None or nodes != int(nodes) or not nodes:
            got = text_of(row.get(NODES)) or "nothing"
            raise InputError(f"Deliveries, row {place}", f"nodes must be a whole number, got {got}", "Write +4 or -4")
        steps.append(
            GrowthStep(month=_month(text_of(row.get(MONTH)), begin, place), key=text_of(row.get(TYPE)) or keys[0],
                 nodes=int(nodes))
        )  # fmt: skip
    return steps


def _month(text: str, begin: str, place: int) -> int:
    """Return the number of a month: "4", or "2027-03" counted from the first one."""
    if text.isascii() and text.isdigit() and len(text) < 4:
        return int(text)
    if begin and BEGIN.fullmatch(text):
        year, month = (int(part) for part in text.split("-"))
        first_year, first = (int(part) for part in begin.split("-"))
        number = 12 * (year - first_year) + month - first
        if number >= 0:
            return number
    example = " or {:04d}-{:02d}".format(*month_of(begin, 3)) if begin else ""
    raise InputError(f"Deliveries, row {place}", f"the month must be a number from 0 on, got {text or 'nothing'!r}",
                     f"Write 3{example}")  # fmt: skip


# ---- the answer --------------------------------------------------------------------------------------


def view(shown: Shown[GrowthSpec, Growth], scenario: Scenario, is_current: bool) -> None:
    """Show an answer; ``is_current``: it answers what the form asks."""
    answer = shown.answer
    parts.guard_rails(cautions_of(answer, stale=shown.stale, elsewhere=shown.elsewhere))
    own = [] if shown.elsewhere else trust.premises(scenario)
    premises = [*ASSUMED, *rule_premises(answer.rule, answer.futures.vary), *rented_premises(answer.rented_nodes), *own]
    parts.sentence(sentence(answer), size_state.caveats(shown, scenario), premises, key="growth")
    parts.cards(cards_of(answer))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all months run under")
        st.badge(certainty(answer), color="gray", help="All months meet the same futures")
        if not shown.elsewhere and to_order(answer) is not None:
            st.space("stretch")
            memo_options.buttons("growth", shown.experiment_id, scenario, is_current=is_current)
    metric = parts.pick("Target", answer.rule.labels, "growth-metric")
    charts.show(by_month(answer, metric, charts.page_theme()), "growth-months", caption=True)
    frame = pd.DataFrame(table_rows(answer))
    alt = f"{amount(len(frame), 'month')}: demand, nodes, each target with its verdict"
    charts.table(frame, "growth", alt, csv_help="One line for each month")
