"""The part Size: the form of a search for a size, its answer, and what comes next."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.figures.size import cost_and_service
from dlsched.studies.design import Variant, changed
from dlsched.studies.design.factors import NODES_OF, factor_of
from dlsched.studies.queues import busiest_types
from dlsched.studies.sizing import SizeSpec, check, read_spec, usual_runs
from dlsched.studies.sizing.answer import Sizing, one_more
from dlsched.studies.sizing.sizes import ALL, is_one_number, most_by_default, varying_names
from dlsched.studies.sizing.spec import MOST_NODES, MOST_TYPES
from dlsched.studies.sizing.words import (
    cards_of,
    cautions_of,
    certainty,
    metric_names,
    neighbour_words,
    notes_of,
    one_more_words,
    premises_of,
    ranges_words,
    rows_of,
    sure_words,
    why_none,
)
from dlsched.studies.sizing.words import sentence as sentence_of
from dlsched.studies.what_if import written_link
from dlsched.ui.answers import Shown
from dlsched.ui.fields import targets
from dlsched.ui.fields.targets import Goal, tag_of
from dlsched.ui.frame import charts, session, writing
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import cards, guard_rails, mistakes_shown, pick, sentence
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import memo_options, size_state
from dlsched.ui.plan.size_state import what_if_of
from dlsched.ui.scenario import trust
from dlsched.ui.study_page import Asked
from dlsched.wording.cautions import Caution, overload_cautions
from dlsched.wording.formats import amount
from dlsched.workload.import_report import in_seconds, offered_load

LACK_HELP = (
    "A size must complete as many jobs as today's cluster in the same future. Jobs that are rejected or unfinished at "
    "the end would otherwise make waits look short."
)


# ---- the form ----------------------------------------------------------------------------------------


def fields(scenario: Scenario, _: SizeSpec | None) -> Asked[SizeSpec]:
    """Show the fields and return what they ask; InputError where that cannot be computed."""
    return ask(scenario, "How many {machines} keep {goal}? Search from {sizes}.", "the cheapest size")


def ask(scenario: Scenario, question: str, wanted: str) -> Asked[SizeSpec]:
    """Show the fields and return what they ask, in the words of a part; errors as :func:`fields`."""
    size_state.take_wanted(scenario)
    goal = targets.fields(scenario)
    spec = read_spec(goal.question | _nodes(scenario, goal))
    check(spec, scenario)

    def button(is_stored: bool) -> str:
        if is_stored:
            return f"Show {wanted} from the store"
        runs = usual_runs(spec, exact=goal.exact)
        return f"Find {wanted}, {size_state.about(runs, scenario, goal.variant)}"

    rented = scenario.cluster.rents_all
    sizes = ranges_words(spec.types, rented=rented)
    words = question.format(machines="rented machines" if rented else "nodes", sizes=sizes, goal=goal.words)
    return Asked(spec, words, f"Size, {scenario.name[:60]}", button)


def fill(scenario: Scenario, shown: SizeSpec | None) -> None:
    """Give the fields their first values for a scenario, and those of a question when it is opened."""
    tag = tag_of(scenario)
    if shown is None:
        targets.fill_in(scenario, None)
        return
    variant = Variant(policy=shown.policy, params=shown.params)
    targets.fill_in(
        scenario, Goal(shown.targets, shown.claim, shown.level, variant, shown.futures, condition=shown.condition)
    )
    if shown.types:
        st.session_state[f"size-types-{tag}"] = [one.key for one in shown.types]
        for one in shown.types:
            st.session_state[f"size-least-{one.key}-{tag}"] = one.least
            st.session_state[f"size-most-{one.key}-{tag}"] = one.most
    st.session_state[f"size-lack-{tag}"] = shown.lack_percent
    st.session_state[f"size-runs-{tag}"] = shown.most_runs


def keys_of(scenario: Scenario) -> list[str]:
    """Return the numbers of nodes that can vary: of the whole cluster, or of each VM type where there are several.

    Of more types than can vary at once those of the busiest queue come first.
    """
    names = varying_names(scenario.cluster)
    if len(names) > MOST_TYPES:
        names = [name for name in busiest_types(scenario.workload, scenario.cluster) if name in names]
    return [ALL] if is_one_number(scenario.cluster) else [NODES_OF + name for name in names]


def name_of(key: str, what: str = "nodes") -> str:
    """Return a number of nodes in words: "nodes", "A100 nodes"; "8-GPU nodes" of a type "8-GPU node"."""
    return what if key == ALL else f"{key.removeprefix(NODES_OF).removesuffix(' node')} {what}"


def _nodes(scenario: Scenario, goal: Goal) -> dict[str, Any]:
    """Show the fields of the nodes and return what of the question is of the search alone, in plain data."""
    tag = tag_of(scenario)
    varying = _varying(scenario, tag)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        types = [_range(scenario, key, tag) for key in varying]
        lack, most_runs = _limits(tag)
    return {
        "scenario": scenario.content_hash,
        "types": types,
        "lack_percent": lack,
        "most_runs": most_runs,
    }


def _varying(scenario: Scenario, tag: str) -> list[str]:
    keys, field = keys_of(scenario), f"size-types-{tag}"
    if len(keys) == 1:
        return keys
    if field not in st.session_state:
        st.session_state[field] = keys[:MOST_TYPES]
    chosen = st.multiselect(
        "Node types that may vary", keys, key=field, persist_state="session", max_selections=MOST_TYPES,
        format_func=lambda key: str(key).removeprefix(NODES_OF), help="The others keep the nodes they have today",
    )  # fmt: skip
    if not chosen:
        raise InputError("Node types that may vary", "there is none, so there is only one size", "Choose one or more")
    return list(chosen)


def _range(scenario: Scenario, key: str, tag: str) -> dict[str, Any]:
    today = int(factor_of(scenario, key).own(scenario) or 0)
    fields = {"least": 1 if key == ALL else 0, "most": most_by_default(scenario.cluster, today)}
    what = name_of(key, "rented machines" if scenario.cluster.rents_all else "nodes")
    labels = {"least": f"Search from … {safe(what)}", "most": f"to … {safe(what)}"}
    for side, usual in fields.items():
        field = f"size-{side}-{key}-{tag}"
        if field not in st.session_state:
            st.session_state[field] = usual
        fields[side] = st.number_input(
            labels[side], 0, MOST_NODES, key=field, persist_state="session", width=190,
            help=f"Today {today:,}. Sizes outside are not tried",
        )  # fmt: skip
    return {"key": key} | fields


def _limits(tag: str) -> tuple[float, int]:
    usual = SizeSpec.model_fields
    for name, value in (("lack", usual["lack_percent"].default), ("runs", usual["most_runs"].default)):
        st.session_state.setdefault(f"size-{name}-{tag}", value)
    with st.popover("More", key="size-limits", help="Jobs that may be left unfinished, and when to stop"):
        lack = st.number_input(
            "Jobs that may be left unfinished (% of today's)", 0.0, 50.0, format="%g", help=LACK_HELP,
            key=f"size-lack-{tag}", persist_state="session",
        )  # fmt: skip
        most = st.number_input(
            "Stop after this many runs", 100, 20_000, step=500, key=f"size-runs-{tag}", persist_state="session",
            help="The best size found until then is the answer",
        )  # fmt: skip
    return float(lack), int(most)


# ---- the answer --------------------------------------------------------------------------------------


def view(shown: Shown[SizeSpec, Sizing], scenario: Scenario, is_current: bool) -> None:
    """Show an answer; ``is_current``: it answers what the form asks, so that what comes next is the main button."""
    answer = shown.answer
    load = [] if shown.elsewhere else _overload(answer, scenario)
    guard_rails([*cautions_of(answer, stale=shown.stale, elsewhere=shown.elsewhere), *load])
    own = [] if shown.elsewhere else trust.premises(scenario)
    sentence(sentence_of(answer), size_state.caveats(shown, scenario), [*premises_of(answer), *own], key="size")
    for text in why_none(answer):
        st.markdown(f"{safe(text, 500)}.")
    cards(cards_of(answer))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all sizes run under")
        st.badge(f"{amount(answer.runs, 'run')}, {amount(len(answer.sizes), 'size')}", color="gray",
                 help="What the search tried; the cheapest is among these")  # fmt: skip
        st.badge(certainty(answer), color="gray", help=dollars(sure_words(answer)))
        if not shown.elsewhere and answer.answer is not None:
            st.space("stretch")
            _next_steps(shown, scenario, is_current=is_current)
    names = metric_names(answer)
    metric = pick("Target", names, "size-metric")
    charts.show(cost_and_service(answer, metric, charts.page_theme()), "size-frontier", caption=True)
    lines = [neighbour_words(answer), *(one_more_words(answer, more) for more in one_more(answer)), *notes_of(answer)]
    for line in filter(None, lines):
        st.markdown(safe(line, 500))
    _table(answer)


def _table(answer: Sizing) -> None:
    frame = pd.DataFrame(rows_of(answer))
    st.subheader("Every size tried", anchor=False)
    alt = f"{amount(len(frame), 'size')} tried, with cost, each target's verdict and futures that met them"
    charts.table(frame, "size", alt, file_name="sizes", csv_help="One line for each size")


def _next_steps(shown: Shown[SizeSpec, Sizing], scenario: Scenario, *, is_current: bool) -> None:
    """Offer what comes after an answer: keep it, write it down, change it, take it over."""
    answer = shown.answer
    why = "Today's cluster is the cheapest that meets the targets: there is nothing to choose"
    memo_options.buttons("size", shown.experiment_id, scenario, is_current=is_current,
                         why_not=why if answer.answer == answer.today else "")  # fmt: skip
    if answer.answer != answer.today and st.button(
        "Open in What if", key="size-what-if",
        help="This size against today's in the same futures: which users gain, which lose",
    ):  # fmt: skip
        with mistakes_shown():
            link = written_link(what_if_of(shown.spec, answer, scenario))
            st.switch_page(SCRIPTS["What if"], query_params={**session.url_params(), **link})
    if answer.answer != answer.today and writing.button(
        "Save as scenario", key="size-save", help="A new version of the scenario with these nodes; opens Run"
    ):  # fmt: skip
        with mistakes_shown():
            _save_as_scenario(answer, scenario)
            session.go("Run")


def _overload(answer: Sizing, scenario: Scenario) -> list[Caution]:
    """Return the banner of a size that meets the targets of these jobs and still cannot keep up with them."""
    if answer.answer is None:
        return []
    try:
        nodes = {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)}
        made = changed(scenario, {**answer.condition, **nodes})
    except DlschedError:
        return []
    load = offered_load(in_seconds(made), made.cluster)
    return overload_cautions(load, made, "On the size found", "Take a longer trace, or a tighter target")


def _save_as_scenario(answer: Sizing, scenario: Scenario) -> None:
    """Make a version of the scenario with the nodes found, and look at it from now on."""
    if answer.answer is None:
        return
    made = changed(scenario, {vm.key: count for vm, count in zip(answer.types, answer.answer, strict=True)})
    session.keep(made.replace(name=scenario.name), based_on=scenario.content_hash)


HOW = """
**Which sizes are tried.** For one VM type the search brackets and bisects; for several it walks along the cheapest
counts that may do. A few futures show where the answer may be, all of them decide; a size that can no longer meet
the targets is stopped early and listed without numbers. Every size with numbers ran the same futures, and every run is
audited. Sizes just below the answer and one node more are among them.

**How often it must hold.** For a recorded trace: in what was recorded, and on average over the months reshuffled from
its days, or in a given share of them. For generated jobs: the whole 95% interval of the mean is within every target, or
a given share of the futures meets all targets at once. A size that neither clearly meets nor clearly misses the targets
is borderline, and never counts as one that meets them. A size must complete as many jobs as today's cluster does in the
same future.

**The cheapest size tried** may not be the cheapest possible: sizes between those in the table were skipped because
larger ones failed or smaller ones met the targets, as more nodes usually serve better. Where a larger size does worse
in the same futures, that is real, and the page says so.

**Headroom** is found with more jobs over the same time, in steps of 5%. **Growth** simulates every month by itself,
with more jobs like today's; jobs that wait at the end of a month are not carried over.
"""
