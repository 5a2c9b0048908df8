"""The part of the page Jobs, Trust, that fits a scheduler to the first half of a log and judges it on the second."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.figures.calibration import wait_by_group
from dlsched.studies.calibration.record import GROUPING_WORDS, has_same_record
from dlsched.studies.calibration.tables import GROUP_HEADER, group_rows
from dlsched.studies.calibration.words import THRESHOLDS
from dlsched.studies.design import Variant
from dlsched.studies.fitting import Fit, FitSpec, check, read_spec
from dlsched.studies.fitting.answer import FITTED
from dlsched.studies.fitting.judged import judged_scenario, nodes_words
from dlsched.studies.fitting.run import estimate_s
from dlsched.studies.fitting.words import (
    FAMILY_HEADER,
    GRADES,
    JUDGED_HEADER,
    LEARNED_HEADER,
    MEANS,
    assumptions_of,
    band_words,
    before_any_policy,
    cards_of,
    cautions_of,
    counted,
    family_rows,
    flags,
    judged_rows,
    learned_rows,
    nearer_words,
    sentence,
    unexplained,
)
from dlsched.ui.answers import Shown
from dlsched.ui.fields.policy_and_params import say_todays_policy, todays_policy
from dlsched.ui.frame import charts, session, writing
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario.trust import FITS
from dlsched.wording.assumptions import Premise
from dlsched.wording.formats import about_seconds, amount, capital, count

WORK = FITS.work


def part(scenario: Scenario) -> dict[str, DeltaGenerator]:
    """Show the part where jobs have recorded starts; return where progress goes while replays are under way."""
    if not scenario.workload.has_recorded_starts:
        st.markdown("These jobs have no recorded start times: there are no waits to fit a scheduler to.")
        return {}
    statuses = WORK.under_way()
    newest = _newest(scenario)
    if newest is not None:
        _answer(newest, scenario)
    places: dict[str, DeltaGenerator] = {}
    if statuses:
        places = WORK.board(statuses)
    elif WORK.ended():
        WORK.show_ended(again=False)
    if newest is None or newest.stale:
        with st.container(border=True):
            st.markdown(
                "Learn your scheduler from the first half of this log (nodes, outages, passes, capacity, limits, "
                "order of the queue, closed hours), and see how close it comes on the second half: that is how far to "
                "trust a what-if."
            )
            if scenario.read.get("dropped") and scenario.workload.cancel_after_s is None:
                st.markdown(
                    f":gray[Rows of the log that were left out: {count(scenario.read['dropped'])}. Jobs that left "
                    "without a start held places in the queue, and the command dlsched fit keeps them. To keep "
                    "those of a Slurm or SWF log here: Upload, Reading choices, *Jobs that left without a start*.]"
                )
            _button(scenario, busy=bool(statuses))
    return places


def _newest(scenario: Scenario) -> Shown[FitSpec, Fit] | None:
    """Return the newest fit of a scenario, else of the nearest earlier version with the same recorded jobs."""
    found = FITS.newest(scenario.content_hash)
    version = session.info_of(scenario.content_hash)
    while found is None and version is not None and version.based_on:
        version = session.info_of(version.based_on)
        found = None if version is None else FITS.newest(version.scenario_hash)
        if found is not None and not has_same_record(
            session.load_scenario(found.spec.scenario).workload, scenario.workload
        ):
            return None
    return found


def _button(scenario: Scenario, *, busy: bool) -> None:
    plain = {"scenario": scenario.content_hash}
    about_s = estimate_s(read_spec(plain), scenario)
    if writing.button(
        f"Fit to the first half, {about_seconds(about_s)}", key="fit-compute", type="primary", disabled=busy,
        help="Runs in the background; you can cancel it",
    ):  # fmt: skip
        with mistakes_shown():
            spec = read_spec(plain)
            check(spec, scenario)
            FITS.ask([spec], scenario, "Fit of the scheduler")
            st.rerun()


def _answer(shown: Shown[FitSpec, Fit], scenario: Scenario) -> None:
    answer, tag = shown.answer, shown.experiment_id[:8]
    default_cluster = [one for one in scenario.assumptions if one.is_about_default_cluster]
    guard_rails(cautions_of(answer, default_cluster=bool(default_cluster), stale=shown.stale))
    for text in before_any_policy(answer):
        st.markdown(safe(text, 600))
    st.markdown(f"**{safe(sentence(answer), 600)}** {MEANS[answer.measures.grade]}")
    if nearer := nearer_words(answer):
        st.markdown(nearer)
    cards(cards_of(answer))
    with st.container(horizontal=True, vertical_alignment="center"):
        _keep(answer, scenario)
        st.space("stretch")
        why = "The log does not say which machines it was recorded on; the replays use these."
        chips([*(Premise(one.words, why, "Cluster") for one in default_cluster), *assumptions_of(answer)], "fit")
    if told := unexplained(answer):
        st.markdown("**What stays unexplained, and what would tell**")
        st.markdown("\n".join(f"- {safe(text, 600)}" for text in told))
    st.markdown("**On the second half, which nothing was learned from**")
    frame = pd.DataFrame(judged_rows(answer), columns=[_title(name) for name in JUDGED_HEADER])
    st.dataframe(frame, hide_index=True, key="fit-judged", alt="The fitted policy, FIFO and EASY backfill, second half")
    st.markdown(f":gray[{GRADES} {safe(counted(answer), 900)} {safe(band_words(answer), 600)}]")
    _groups(answer, tag)
    st.markdown("**What was learned, and what was given**")
    st.table(pd.DataFrame(learned_rows(answer), columns=list(LEARNED_HEADER)).map(dollars), hide_index=True,
             border="horizontal", alt="What the replays rest on")  # fmt: skip
    with st.expander("Families that were tried", key="fit-families"):
        st.table(pd.DataFrame(family_rows(answer), columns=list(FAMILY_HEADER)), hide_index=True, border="horizontal",
                 alt="Families of policies with their mean factors")  # fmt: skip
        st.markdown(HOW)


def _groups(answer: Fit, tag: str) -> None:
    by = st.segmented_control(
        "Groups by", answer.judged.groupings, default=answer.judged.default_by, required=True, key=f"fit-by-{tag}",
        format_func=lambda key: GROUPING_WORDS[key].capitalize() if key != "gpus" else "GPUs",
        help="Each group of jobs has its own trust, from the second half",
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        charts.show(wait_by_group(answer.judged, FITTED, by, charts.page_theme()), "fit", caption=True)
    with right:
        rows = pd.DataFrame(
            group_rows(answer.fitted, by), columns=[_title(one) for one in (GROUPING_WORDS[by], *GROUP_HEADER)]
        )
        alt = f"Mean waits of {amount(len(rows), 'group')} in the second half, recorded and replayed, most jobs first"
        st.markdown("**Mean wait and verdict, second half**")
        st.dataframe(rows, hide_index=True, key="fit-groups", alt=alt, height=340 if len(rows) > 8 else "auto")
        st.markdown(f":gray[{THRESHOLDS}]")


def _keep(answer: Fit, scenario: Scenario) -> None:
    """Offer the fitted policy as what runs today."""
    learned = answer.learned
    variant = Variant(policy=learned.policy, params=dict(learned.params))
    if todays_policy(scenario) == variant:
        st.badge("Runs today: this policy", color="green", icon=":material/check:")
    else:
        writing.button("This is what runs today", key="fit-keep", on_click=_say, args=(scenario, variant, answer),
                  help=f"Saved with the version of this scenario that it was judged on ({nodes_words(answer)}); all "
                  "pages that compare start from it")  # fmt: skip
    with st.popover("Command line", key="fit-flags", help="The fitted policy for dlsched simulate and compare"):
        st.code(flags(answer), language=None, wrap_lines=True)


def _say(scenario: Scenario, variant: Variant, answer: Fit) -> None:
    """Keep the fitted policy as what runs today, and the nodes and absences it was judged with as a new version."""
    say_todays_policy(scenario, variant)
    if scenario.content_hash == answer.scenario:
        judged = judged_scenario(answer, scenario)
        if judged is not scenario:
            session.keep(judged, based_on=scenario.content_hash)


def _title(name: str) -> str:
    """Return the heading of a column; names of statistics keep their letters."""
    return name if name.startswith(("R²", "p95")) else capital(name)


HOW = """
Everything is **learned** from jobs submitted and started before the median submission. **Families** build on each
other: each is fitted on the first quarter of the log and kept if its mean |log factor| on the second quarter is at
least 3% lower; what is kept is fitted again on the whole first half. The **second half** is judged once, at the end.

**Mean factor**: exp of the mean of |log((replayed + 60 s) / (recorded + 60 s))|. **Replays** differ by up to a second
in each run time and by fractions of a second in the scheduler's clock; every wait is their mean.
"""
