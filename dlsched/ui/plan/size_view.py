"""What the part Size shows of an answer: sentence, cards, cost against service, every size tried, what comes next."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.size import cost_and_service
from dlsched.policies.registry import find
from dlsched.studies.sizing import SizeSpec
from dlsched.studies.sizing.answer import Sizing, one_more
from dlsched.studies.sizing.words import (
    cards_of,
    cautions_of,
    certainty,
    metric_names,
    neighbour_words,
    notes_of,
    one_more_words,
    premises_of,
    rows_of,
    sure_words,
    why_none,
)
from dlsched.studies.sizing.words import sentence as sentence_of
from dlsched.ui.answers import Shown
from dlsched.ui.frame import charts, session
from dlsched.ui.frame.navigation import SCRIPTS
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown, sentence
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import report_kept, shortlist, size_work
from dlsched.ui.scenario import calibration, price_lists
from dlsched.wording.assumptions import Premise, assumptions
from dlsched.wording.formats import amount


def show(shown: Shown[SizeSpec, Sizing], scenario: Scenario, is_current: bool) -> None:
    """Show an answer; ``is_current``: it answers what the form asks, so that what comes next is the main button."""
    answer = shown.answer
    overload = [] if shown.elsewhere else size_work.overload(answer, scenario)
    guard_rails([*cautions_of(answer, stale=shown.stale, elsewhere=shown.elsewhere), *overload])
    sentence(sentence_of(answer, hits=True))
    for text in why_none(answer):
        st.markdown(f"{safe(text, 500)}.")
    cards(cards_of(answer))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(safe(answer.label), color="gray", help="The policy that all sizes run under")
        st.badge(f"{amount(answer.runs, 'run')}, {amount(len(answer.sizes), 'size')}", color="gray",
                 help="What the search looked at; “cheapest” is among these")  # fmt: skip
        st.badge(certainty(answer), color="gray", help=dollars(sure_words(answer)))
        chips(_chips(shown, scenario), "size")
        if not shown.elsewhere and answer.answer is not None:
            st.space("stretch")
            _next_steps(shown, scenario, is_current=is_current)
    names = metric_names(answer)
    metric = next(iter(names))
    if len(names) > 1:
        metric = str(st.segmented_control("Target", list(names), default=metric, required=True,
                                          key=f"size-metric-{'-'.join(names)}", format_func=names.__getitem__,
                                          label_visibility="collapsed"))  # fmt: skip
    charts.show(cost_and_service(answer, metric, charts.page_theme()), "size-frontier", caption=True)
    _beside(answer)
    _table(answer)


def policy_chips(scenario: Scenario, policy: str) -> list[Premise]:
    """Return how far a replay of the recorded trace can be trusted, where that was asked, and the scenario's own."""
    trust, spec = calibration.known_trust(scenario.content_hash), find(policy)
    own = assumptions(
        scenario, uses_run_times=spec.uses_run_times, clairvoyant=spec.clairvoyant, today=price_lists.today()
    )
    return [*([] if trust is None else [trust]), *own]


def _chips(shown: Shown[SizeSpec, Sizing], scenario: Scenario) -> list[Premise]:
    own = [] if shown.elsewhere else policy_chips(scenario, shown.answer.policy)
    return [*premises_of(shown.answer), *own]


def _beside(answer: Sizing) -> None:
    """Say what lies beside the answer: sizes just below it, one node more, more nodes that do worse."""
    lines = [neighbour_words(answer), *(one_more_words(answer, more) for more in one_more(answer)), *notes_of(answer)]
    for line in filter(None, lines):
        st.markdown(safe(line, 500))


def _table(answer: Sizing) -> None:
    frame = pd.DataFrame(rows_of(answer))
    st.subheader("Every size tried", anchor=False)
    alt = f"{amount(len(frame), 'size')} tried, with cost, each target's verdict and draws that held"
    st.dataframe(frame, hide_index=True, key="size-table", placeholder="–", alt=alt)
    st.download_button("CSV", lambda: charts.csv(frame), file_name="sizes.csv", mime="text/csv", key="size-csv",
                       type="tertiary", on_click="ignore", help="One line for each size")  # fmt: skip


def _next_steps(shown: Shown[SizeSpec, Sizing], scenario: Scenario, *, is_current: bool) -> None:
    """Offer what comes after an answer: keep it, write it down, change it, take it over."""
    answer, about = shown.answer, shown.spec.scenario
    is_kept = shortlist.is_kept(about, shown.experiment_id)
    as_today = answer.answer == answer.today
    why = "Today's cluster is the cheapest that does: there is nothing to choose" if as_today else ""
    first = {"keep": is_current and not is_kept, "memo": is_current and is_kept}
    if is_kept:
        st.button("Kept as an option ✕", key="size-unkeep", on_click=shortlist.drop,
                  args=(about, shown.experiment_id), help="Take it off the options")  # fmt: skip
    else:
        st.button("Keep as option", key="size-keep", on_click=report_kept.ask_about_size, disabled=as_today,
                  args=(shown.experiment_id, scenario), type="primary" if first["keep"] else "secondary",
                  help=why or "The report puts options side by side")  # fmt: skip
    if st.button("Write memo", key="size-memo", type="primary" if first["memo"] else "secondary", disabled=as_today,
                 help=why or "Keeps this as an option and opens the report"):  # fmt: skip
        report_kept.ask_about_size(shown.experiment_id, scenario)
        report_kept.want(shown.experiment_id)
        session.go(SCRIPTS["Report"].partition("/")[2])
    if "What if" in SCRIPTS and answer.answer != answer.today and st.button(
        "Open in What if", key="size-what-if", help="This size against today on the same draws: who wins, who loses"
    ):  # fmt: skip
        with mistakes_shown():
            size_work.open_in_what_if(shown.spec, answer, scenario)
    if answer.answer != answer.today and st.button(
        "Save as scenario", key="size-save", help="A new version of the scenario with these nodes; opens Run"
    ):  # fmt: skip
        with mistakes_shown():
            size_work.save_as_scenario(answer, scenario)
            session.go("simulate/run.py")


HOW = """
**Which sizes are tried.** For one VM type the search brackets and bisects; for several it walks along the cheapest
counts that may do. Each size is simulated on the same draws, and every run is audited. What is found is run again on
fresh draws, and only then it is an answer: the first draws alone would flatter it. Sizes just below are tried too.

**What is claimed.** The average month: the whole 95% interval of the mean is within every target. Nearly every month:
so many percent of the draws meet all targets at once. Where the draws do not tell, the verdict is "unsure"; that is
never counted as met. As many jobs must be done as on today's cluster in the same draw.

**Cheapest we tried** is not "cheapest possible": sizes between those in the table were passed over because larger ones
failed or smaller ones did, as more nodes usually serve better. Where a larger size does worse, the page says so.

**Headroom** is found by letting the same jobs arrive faster, in steps of 5%. **Growth** plays every month by itself,
with today's jobs arriving faster; what waits at the end of a month is not carried over. **Knee**: cost and service
scaled to 0..1, the point furthest below the line from the cheapest to the best of the sizes tried; no recommendation.
"""
