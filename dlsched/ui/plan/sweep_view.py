"""What Range and Sensitivity show of an answer: finding, cards, one picture at a time; the runs of one situation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.sweep import cost_against_service, decision_times, is_numeric, lines
from dlsched.figures.sweep_map import value_map
from dlsched.figures.sweep_tornado import tornado
from dlsched.studies.design.factors import factors_for
from dlsched.studies.design.measures import MEASURES
from dlsched.studies.sweep.answer import Sweep, choice_points, costs_of, metrics_of, rows_of, value_at
from dlsched.studies.sweep.words import (
    BEHIND_WHY,
    KNEE,
    REGRET,
    cards_of,
    cautions_of,
    certainty,
    finding,
    point_words,
    premises_of,
    situation_words,
    spoken_of,
    value_text,
    value_words,
)
from dlsched.ui.frame import charts, writing
from dlsched.ui.frame.parts import cards, guard_rails, mistakes_shown, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import sweep_runs
from dlsched.ui.plan.regret_table import regret_rows, regret_table
from dlsched.ui.plan.sweep_runs import SWEEPS, Shown
from dlsched.ui.scenario import trust
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import overload_cautions
from dlsched.wording.formats import amount
from dlsched.workload.import_report import in_seconds, offered_load

AT = "sweep-at"
BEHIND = "Behind the best"
"""The part with the losses of every policy in every situation."""
EACH = "each of them"
"""In place of a value of the other thing that varies: a line for each."""
Part = Callable[[Sweep, str], None]
_HOW = (
    "Every policy runs in every situation and every future, and each run is audited; a run that fails is counted and "
    "shown, never left out. Of a recorded trace the recorded month comes first, then the range over months put "
    "together from its days; of generated jobs numbers are means with 95% intervals. Differences are paired: all "
    "situations and policies meet the same futures. Numbers of runs are kept in the store: a computation that was "
    "stopped continues where it was, and a question that overlaps another computes only what is new."
)
HOW: Mapping[str, str] = {
    "grid": f"{_HOW}\n\n{REGRET}\n\n{KNEE}",
    "one-at-a-time": f"The unchanged scenario comes first, then each value alone. {_HOW}\n\n{BEHIND_WHY}",
}
"""How the numbers are made, by mode."""
FIRST_METRIC = "wait_p95"
"""What a planner's targets are about, here as in the other parts of the page."""


def show(shown: Shown, scenario: Scenario, is_current: bool) -> None:
    """Show an answer; ``is_current``: it answers what the form asks, so that its runs are the next step."""
    answer = shown.answer
    if shown.partial:
        _put_away(shown, scenario)
    load = None if shown.elsewhere else offered_load(in_seconds(scenario), scenario.cluster)
    overload = overload_cautions(load, scenario, "As the scenario is", "Read waits with care, or try more nodes")
    guard_rails([*cautions_of(answer, stale=shown.stale, elsewhere=shown.elsewhere), *overload])
    offered = metrics_of(answer)
    if not offered:
        sentence("No run came to its end with a number to compare.", ())
        _table(answer, "")
        return
    if st.session_state.get("sweep-metric") not in offered:
        st.session_state["sweep-metric"] = FIRST_METRIC if FIRST_METRIC in offered else offered[0]
    metric = str(st.session_state["sweep-metric"])
    told = () if shown.elsewhere else trust.caveats(scenario, answer.policies, resampled="days" in answer.futures.vary)
    sentence(finding(answer, metric), told, _premises(shown, scenario), key="sweep")
    cards(cards_of(answer, metric))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(
            "Number", offered, key="sweep-metric", width=260, format_func=lambda key: MEASURES[key].label,
            help="What sentence, cards and pictures are about",
        )  # fmt: skip
        picture = _picture(answer)
    picture(answer, metric)
    if not shown.elsewhere:
        _in_full(shown, scenario, is_current=is_current)


def _put_away(shown: Shown, scenario: Scenario) -> None:
    """Say that a sweep was stopped, with a way to the newest complete one."""

    def forget() -> None:
        SWEEPS[shown.spec.mode].work.forget_ended()
        sweep_runs.forget_interrupted(scenario, shown.spec.mode)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(":gray[This answer is not complete. Its finished runs are kept.]")
        writing.button("Dismiss", key="sweep-forget", type="tertiary", on_click=forget,
                  help="Show the newest complete answer instead; runs stay in the store")  # fmt: skip


def _premises(shown: Shown, scenario: Scenario) -> list[Premise]:
    answer = shown.answer
    helps = {change.key: change.help for change in factors_for(scenario)}
    of_axes = [(axis.label, helps[axis.key]) for axis in answer.axes if axis.key in helps]
    own = [] if shown.elsewhere else trust.premises(scenario)
    return [*own, *premises_of(answer, of_axes)]


def _picture(answer: Sweep) -> Part:
    """Ask which picture of the answer is shown."""
    parts: dict[str, Part] = {}
    if answer.mode == "grid":
        parts |= {"Lines": _lines} if is_numeric(answer, 0) else {}
        parts["Map"] = _map
    else:
        parts["Tornado"] = _tornado
    if len(answer.policies) > 1:
        parts[BEHIND] = _regret
    if answer.mode == "grid" and costs_of(answer):
        parts["Cost against service"] = _cost
    if any(cell.values.get("solve_p50_s") is not None for cell in answer.cells) and is_numeric(answer, 0):
        parts["Time of decisions"] = _decisions
    parts["Table"] = _table
    if answer.mode != "grid" and len(answer.policies) > 1 and all(len(axis.values) == 1 for axis in answer.axes):
        parts = {BEHIND: parts.pop(BEHIND), **parts}  # single situations are asked for this table
    kind = f"{'-'.join(parts)}".replace(" ", "").lower()
    chosen = st.segmented_control("Picture", list(parts), default=next(iter(parts)), required=True,
                                  key=f"sweep-part-{kind}", label_visibility="collapsed")  # fmt: skip
    return parts[str(chosen)]


def _clicked(data: Any) -> None:
    """Take the situation of a mark that was clicked; its customdata starts with the point."""
    point = next(iter(data.values()), None) if isinstance(data, Mapping) else data[0] if data else None
    if point is not None:
        st.session_state[AT] = int(point)


def _lines(answer: Sweep, metric: str) -> None:
    axis, other = 0, None
    if len(answer.axes) == 2:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            usable = [place for place in (0, 1) if is_numeric(answer, place)]
            axis = st.selectbox("Along", usable, key=f"sweep-along-{usable}", width=220,
                                format_func=lambda place: answer.axes[place].label)  # fmt: skip
            beside = answer.axes[1 - axis]
            other = st.selectbox(f"At {beside.label.lower()}", [*beside.values, EACH], width=220,
                                 key=f"sweep-beside-{axis}-{beside.values}",
                                 format_func=lambda one: EACH if one == EACH else value_words(beside, one))  # fmt: skip
    policy = _policy(answer, metric, "each") if other == EACH else ""
    chart = lines(answer, metric, charts.page_theme(), axis, other, policy)
    if chart is None:
        st.info("No point has this number yet.")
    charts.show(chart, "sweep-lines", caption=True, on_point=_clicked)


def _policy(answer: Sweep, metric: str, what: str) -> str:
    """Ask which policy's numbers are shown, at first those of the policy that the sentence speaks of."""
    if len(answer.policies) == 1:
        return answer.policies[0]
    first = spoken_of(answer, metric)
    key = f"sweep-{what}-{'-'.join(answer.policies)}-{first}"
    return str(st.segmented_control("Policy", answer.policies, default=first, required=True, key=key,
                                    help="The picture shows the numbers of this policy",
                                    format_func=answer.labels.__getitem__))  # fmt: skip


def _map(answer: Sweep, metric: str) -> None:
    policy = _policy(answer, metric, "map") if len(answer.axes) == 2 else ""
    charts.show(value_map(answer, metric, charts.page_theme(), policy), "sweep-map", caption=True, on_point=_clicked)
    if answer.num_missing:
        st.markdown(":gray[• not run yet]")


def _decisions(answer: Sweep, _: str) -> None:
    other = None
    if len(answer.axes) == 2:
        beside = answer.axes[1]
        other = st.selectbox(f"At {beside.label.lower()}", list(beside.values), width=220,
                             key=f"sweep-decided-{beside.values}",
                             format_func=lambda value: value_words(beside, value))  # fmt: skip
    chart = decision_times(answer, charts.page_theme(), 0, other)
    if chart is None:
        st.info("No decision here took a solver.")
    charts.show(chart, "sweep-decisions", caption=True, on_point=_clicked)


def _tornado(answer: Sweep, metric: str) -> None:
    chart = tornado(answer, _policy(answer, metric, "tornado"), metric, charts.page_theme())
    if chart is None:
        st.info("The unchanged scenario has no such number under this policy.")
    charts.show(chart, "sweep-tornado", caption=True, on_point=_clicked)


def _regret(answer: Sweep, metric: str) -> None:
    st.html(regret_table(answer, metric, charts.page_theme()))
    frame = pd.DataFrame(regret_rows(answer, metric))
    why = REGRET if answer.mode == "grid" else BEHIND_WHY
    st.markdown(f":gray[{safe(why, 600)} {safe(certainty(answer), 200)}.]")
    charts.csv_button(frame, "sweep-regret", "How far each policy is behind the best in every situation")


def _cost(answer: Sweep, metric: str) -> None:
    offered = [key for key in costs_of(answer) if key != metric] or costs_of(answer)
    situations = _situations(answer)
    point = situations[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        cost = st.selectbox("Cost", offered, key=f"sweep-cost-{offered}", width=220,
                            format_func=lambda key: MEASURES[key].label,
                            help="Per month alone where jobs arrive over different times")  # fmt: skip
        if len(situations) > 1:
            point = st.selectbox("Situation", situations, key=f"sweep-situation-{situations}", width=320,
                                 format_func=lambda at: _situation(answer, at),
                                 help="Conditions are the same for all: only options are compared")  # fmt: skip
    among = choice_points(answer, point)
    first = next((key for key in metrics_of(answer) if not MEASURES[key].kind.startswith("usd")), None)
    service = metric if metric != cost and not MEASURES[metric].kind.startswith("usd") else first
    chart = None if service is None else cost_against_service(answer, str(cost), service, charts.page_theme(), among)
    if chart is None:
        st.info("No choice has both numbers yet.")
    charts.show(chart, "sweep-cost", caption=True, on_point=_clicked)


def _situations(answer: Sweep) -> list[int]:
    """Return one point for each situation: of the points that differ in choices alone the first."""
    seen: dict[tuple[int, ...], int] = {}
    for point in range(len(answer.points)):
        seen.setdefault(tuple(choice_points(answer, point)), point)
    return list(seen.values())


def _situation(answer: Sweep, point: int) -> str:
    """Return a situation in words: what its choices have in common."""
    among = choice_points(answer, point)
    if len(among) == 1:
        return point_words(answer, point)
    same = [
        situation_words(axis, value)
        for place, axis in enumerate(answer.axes)
        if (value := answer.points[point][place]) is not None
        and all(answer.points[one][place] == value for one in among)
    ]
    return ", ".join(same) or "as it is"


def _table(answer: Sweep, metric: str) -> None:
    frame = pd.DataFrame(_values(answer))
    alt = f"{amount(len(frame), 'line')}: situations and policies; {certainty(answer)}"
    st.dataframe(frame, hide_index=True, key="sweep-table", placeholder="–", alt=alt)
    st.download_button("CSV of all runs", lambda: charts.csv(pd.DataFrame(rows_of(answer))), file_name="sweep.csv",
                       mime="text/csv", key="sweep-csv", type="tertiary", on_click="ignore",
                       help="One line for each situation, policy and future, with what failed")  # fmt: skip


def _values(answer: Sweep) -> list[dict[str, str]]:
    return [
        {
            "Situation": point_words(answer, point),
            "Policy": answer.labels[policy],
            **{
                MEASURES[key].label: value_text(MEASURES[key], value_at(answer, point, policy, key))
                for key in answer.metrics
            },
            "Failed": str(sum(bool(cell.error) for cell in answer.at(point, policy)) or ""),
        }
        for point in range(len(answer.points))
        for policy in answer.policies
    ]


def _in_full(shown: Shown, scenario: Scenario, *, is_current: bool) -> None:
    answer = shown.answer
    points = list(range(len(answer.points)))
    if st.session_state.get(AT) not in points:
        st.session_state[AT] = 0
    with st.container(horizontal=True, vertical_alignment="bottom"):
        point = st.selectbox(
            "One situation in full", points, key=AT, width=380, format_func=lambda at: point_words(answer, at),
            help="Or click a mark in a picture. These runs keep their jobs and timeline; here only numbers are kept",
        )  # fmt: skip
        policies = amount(len(answer.policies), "policy", "policies")
        if writing.button(
            f"Run {policies} here in full", key="sweep-see", type="primary" if is_current else "secondary",
            help="Future 0, as a scenario of its own; kept runs open at once",
        ):  # fmt: skip
            with mistakes_shown():
                sweep_runs.look_at_runs(scenario, shown, int(point))
