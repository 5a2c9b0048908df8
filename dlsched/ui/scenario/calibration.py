"""The part Calibration of the page Jobs: recorded starts against replayed ones, and how far to trust what-ifs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.figures.calibration import wait_by_group
from dlsched.policies.registry import find
from dlsched.studies.calibration import CalibrationSpec, check, default_policies, offered_policies, read_spec
from dlsched.studies.calibration.answer import Calibration, PolicyFit
from dlsched.studies.calibration.record import GROUPING_WORDS
from dlsched.studies.calibration.tables import (
    GROUP_HEADER,
    INPUTS_HEADER,
    MEASURE_HEADER,
    POLICY_HEADER,
    bias_words,
    group_rows,
    inputs_of,
    measure_rows,
    policy_rows,
    rows_of,
)
from dlsched.studies.calibration.words import (
    GRADES,
    MEANS,
    THRESHOLDS,
    assumptions_of,
    cards_of,
    cautions_of,
    counted,
    reaction_words,
    sentence,
    withheld_words,
)
from dlsched.studies.estimate import estimate_run
from dlsched.ui.answers import Shown
from dlsched.ui.frame import charts, session, writing
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario.trust import CALIBRATIONS
from dlsched.wording.assumptions import Premise
from dlsched.wording.formats import about_seconds, amount, listed

WORK = CALIBRATIONS.work


def part(scenario: Scenario) -> dict[str, DeltaGenerator]:
    """Show the part where jobs have recorded starts; return where progress goes while replays are under way."""
    if not scenario.workload.has_recorded_starts:
        return {}  # as the import check above says
    st.subheader("Calibration", anchor=False)
    statuses = WORK.under_way()
    newest = CALIBRATIONS.newest(scenario.content_hash)
    if newest is not None:
        _answer(newest, scenario)
    places: dict[str, DeltaGenerator] = {}
    if statuses:
        places = WORK.board(statuses)
    elif WORK.ended():
        WORK.show_ended(again=False)
    if newest is not None:
        with st.expander("Replay other policies, or again", key="calibration-again"):
            _form(scenario, newest.spec.policies, busy=bool(statuses))
        return places
    with st.container(border=True):
        st.markdown(
            "This trace has recorded start times. Replay its jobs under some policies and see how close the simulated "
            "waits come to the recorded ones: that tells you how far to trust a what-if."
        )
        _form(scenario, default_policies(scenario), busy=bool(statuses))
    return places


def _form(scenario: Scenario, ticked: Sequence[str], *, busy: bool) -> None:
    offered = offered_policies(scenario)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        policies = st.multiselect(
            "Policies", offered, default=[key for key in ticked if key in offered],
            format_func=lambda key: find(key).label,
            key=f"calibration-policies-{scenario.content_hash[:8]}", max_selections=12,
            help="The trace does not say which policy was in use. The policies offered have all the data they need; "
            "they run with default parameters on the scenario's cluster.",
        )  # fmt: skip
        words = _button_words(scenario, policies) if policies else "Choose a policy"
        if writing.button(words, key="calibration-compute", disabled=busy or not policies):
            with mistakes_shown():
                spec = read_spec({"scenario": scenario.content_hash, "policies": policies})
                check(spec, scenario)
                CALIBRATIONS.ask([spec], scenario, f"Calibration, {amount(len(policies), 'policy', 'policies')}")
                st.rerun()


def _button_words(scenario: Scenario, policies: Sequence[str]) -> str:
    """Return what the button says: Replay 4 policies, about 12 s."""
    about_s = sum(estimate_run(scenario, policy, session.store()).seconds for policy in policies)
    return f"Replay {amount(len(policies), 'policy', 'policies')}, {about_seconds(about_s)}"


def _answer(shown: Shown[CalibrationSpec, Calibration], scenario: Scenario) -> None:
    answer, tag = shown.answer, shown.experiment_id[:8]
    default_cluster = [one for one in scenario.assumptions if one.is_about_default_cluster]
    guard_rails(cautions_of(answer, default_cluster=bool(default_cluster), stale=shown.stale))
    words = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        policy = st.selectbox(
            "Policy", [replay.policy for replay in answer.replays], key=f"calibration-policy-{tag}", width=240,
            index=[replay.policy for replay in answer.replays].index(answer.nearest),
            format_func=lambda key: answer.of(key).label, help="The closest to the recording comes first",
        )  # fmt: skip
        by = st.segmented_control(
            "Groups by", answer.groupings, default=answer.default_by, required=True, key=f"calibration-by-{tag}",
            format_func=lambda key: GROUPING_WORDS[key].capitalize() if key != "gpus" else "GPUs",
            help="First the grouping that best explains where the closest replay is off (adjusted R²)",
        )  # fmt: skip
        why = "The trace does not say which machines it was recorded on; the replay uses these."
        assumed = [*(Premise(one.words, why, "Cluster") for one in default_cluster), *assumptions_of(answer)]
        chips(assumed, "calibration")
    replay = answer.of(policy)
    words.markdown(f"**{safe(sentence(answer, policy, by), 600)}** {MEANS[replay.second.grade]}")
    if told := [text for text in (withheld_words(answer, replay), reaction_words(answer)) if text]:
        words.markdown(safe(" ".join(told), 900))
    cards(cards_of(replay))
    _measures(answer, replay, by)
    left, right = st.columns(2)
    with left:
        charts.show(wait_by_group(answer, policy, by, charts.page_theme()), "calibration", caption=True)
    with right:
        _groups(replay, by)
    _used(answer, scenario)


def _measures(answer: Calibration, replay: PolicyFit, by: str) -> None:
    """Show the measures on both halves, policies side by side, and those of the groups with the most jobs."""
    st.markdown("**Policies: the second half is judged, the first decides which is the nearest**")
    frame = pd.DataFrame(policy_rows(answer), columns=[_title(name) for name in POLICY_HEADER])
    st.dataframe(frame, hide_index=True, key="calibration-table", alt="Policies, the nearest to the record first")
    st.markdown(f":gray[{GRADES} {safe(counted(answer), 900)}]")
    word = GROUPING_WORDS[by]
    st.markdown(f"**Second half by {word}, most jobs first**")
    rows = pd.DataFrame(measure_rows(replay, by), columns=[word, *map(_title, MEASURE_HEADER[:-1])])
    st.dataframe(rows, hide_index=True, key="calibration-measures", alt=f"Measures by {word}, second half")


def _title(name: str) -> str:
    """Return the heading of a column; names of statistics keep their letters."""
    return name if name.startswith(("R²", "p95")) else name.capitalize()


def _groups(replay: PolicyFit, by: str) -> None:
    frame = pd.DataFrame(group_rows(replay, by), columns=[GROUPING_WORDS[by], *GROUP_HEADER])
    alt = f"Mean waits of {amount(len(frame), 'group')}, recorded and replayed, most jobs first"
    st.markdown("**Mean wait and verdict**")
    st.dataframe(frame, hide_index=True, key="calibration-groups", alt=alt, height=340 if len(frame) > 8 else "auto")
    st.markdown(f":gray[{THRESHOLDS}]")


def _used(answer: Calibration, scenario: Scenario) -> None:
    """Show what the replays rest on, what would improve it, and all numbers."""
    with st.expander("What was used, and what would improve it", key="calibration-used"):
        st.table(pd.DataFrame(inputs_of(scenario), columns=list(INPUTS_HEADER)).map(dollars), hide_index=True,
                 border="horizontal", alt="Inputs of the replays")  # fmt: skip
    with st.expander("All numbers, how they are computed", key="calibration-all"):
        biases = [f"{one.label} {bias_words(one)}" for one in answer.replays]
        st.markdown(f"Bias of the mean wait: {safe(listed(biases), 600)}.")
        rows = pd.DataFrame(rows_of(answer))
        st.dataframe(
            rows.head(charts.MAX_TABLE_ROWS), hide_index=True, key="calibration-rows", placeholder="–",
            alt=f"{amount(len(rows), 'line')}: policies and groups, means, medians and p95 of wait and JCT, seconds",
        )  # fmt: skip
        st.download_button(
            "CSV", lambda: charts.csv(rows), file_name="calibration.csv", mime="text/csv", key="calibration-csv",
            type="tertiary", on_click="ignore", help="Every policy and group: means, medians, p95 of wait and JCT",
        )  # fmt: skip
        st.markdown(HOW)


HOW = """
**Replay**: every job is submitted when it was and runs as long as it ran, on this scenario's cluster with its rules;
when each job starts is the policy's choice. **Compared** are jobs with a recorded start that start in every replay, the
same for all policies: submitted after the first recorded end, without the first 5% of them. **Halves**: split at the
median submission; the replay runs over both. **JCT** is the turnaround time, from submission to the end, where the
record has an end.

**Typical factor**: exp of the median of |log((replayed + 60 s) / (recorded + 60 s))|; mean factor: of the mean.
**Within 2x**: share of jobs with a factor of at most 2; long waits are those over 10 min in the log or in the replay.
**Mean ratio**: replayed over recorded mean wait, a minute added to both. **R²**: share of the variance of recorded
waits that the replayed ones explain. **Bias**: replayed minus recorded mean wait, with a 95% interval that treats days
as independent.

**Nearest**: smallest mean factor on the first half. “Not clearly nearer” where the 95% interval of its lead over the
next, paired by day of submission, covers 0.
"""
