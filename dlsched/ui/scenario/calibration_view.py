"""The part Calibration of the page Workload: recorded starts against replayed ones, and how far to trust what-ifs."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.figures.calibration import wait_by_group
from dlsched.policies.registry import find
from dlsched.studies.calibration import default_policies, offered_policies
from dlsched.studies.calibration.answer import (
    GROUPING_WORDS,
    Calibration,
    Group,
    Replayed,
    explained_of_groups,
    has_record,
)
from dlsched.studies.calibration.words import (
    ASSUMPTIONS,
    POLICY_HEADER,
    THRESHOLDS,
    VERDICTS,
    bias_words,
    counted,
    explained_words,
    policy_rows,
    rows_of,
    sentence,
    verdict_of,
)
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import calibration_work
from dlsched.ui.scenario.calibration_work import WORK, Known
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import MISSING, amount, duration, factor
from dlsched.workload.notes import is_default_note


def part(scenario: Scenario) -> dict[str, DeltaGenerator]:
    """Show the part where jobs have recorded starts; return where progress goes while replays are under way."""
    if not has_record(scenario.workload):
        return {}
    st.subheader("Calibration", anchor=False)
    statuses = WORK.under_way()
    known = calibration_work.newest(scenario.content_hash)
    if known is not None:
        _answer(known, scenario)
    places: dict[str, DeltaGenerator] = {}
    if statuses:
        places = WORK.board(statuses)
    elif WORK.ended():
        WORK.show_ended(again=False)
    if known is None:
        _empty(scenario, busy=bool(statuses))
    else:
        with st.expander("Replay other policies, or again", key="calibration-again"):
            _form(scenario, list(known.spec.policies), busy=bool(statuses))
    return places


def _empty(scenario: Scenario, *, busy: bool) -> None:
    with st.container(border=True):
        st.markdown(
            "This trace has recorded starts. Replay its jobs under some policies and see how near the waits come to "
            "the recorded ones: that says how far to trust a what-if."
        )
        _form(scenario, list(default_policies(scenario)), busy=busy)


def _form(scenario: Scenario, asked: list[str], *, busy: bool) -> None:
    offered = offered_policies(scenario)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        policies = st.multiselect(
            "Policies", offered, default=[key for key in asked if key in offered], format_func=_label,
            key=f"calibration-policies-{scenario.content_hash[:8]}", max_selections=12,
            help="The rule of the recording is not in the trace; those offered have what they need here. "
            "They run with their default parameters on the scenario's cluster.",
        )  # fmt: skip
        words = calibration_work.button_words(scenario, policies) if policies else "Choose a policy"
        if st.button(words, key="calibration-compute", disabled=busy or not policies):
            with mistakes_shown():
                calibration_work.start(scenario, policies)
                st.rerun()


def _label(policy: str) -> str:
    return find(policy).label


def _answer(known: Known, scenario: Scenario) -> None:
    answer, tag = known.answer, known.experiment_id[:8]
    guard_rails(_guards(known, scenario))
    words = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        policy = st.selectbox(
            "Policy", [replay.policy for replay in answer.replays], key=f"calibration-policy-{tag}", width=240,
            index=[replay.policy for replay in answer.replays].index(answer.nearest),
            format_func=lambda key: answer.of(key).label, help="The nearest to the record is shown first",
        )  # fmt: skip
        by = st.segmented_control(
            "Groups by", answer.groupings, default=answer.default_by, required=True, key=f"calibration-by-{tag}",
            format_func=lambda key: GROUPING_WORDS[key].capitalize() if key != "gpus" else "GPUs",
            help="First the one whose groups differ most in how far the nearest replay is off (adjusted R²)",
        )  # fmt: skip
        chips([*_cluster_chips(scenario), *ASSUMPTIONS], "calibration")
    replay = answer.of(policy)
    words.markdown(f"**{safe(sentence(answer, policy, by), 600)}**")
    cards(_cards(replay, by))
    left, right = st.columns(2)
    with left:
        charts.show(wait_by_group(answer, policy, by, charts.page_theme()), "calibration", caption=True)
    with right:
        _groups(replay, by)
    _policies(answer)


def _guards(known: Known, scenario: Scenario) -> list[Caution]:
    found = []
    broken = [replay.label for replay in known.answer.replays if replay.audit]
    if broken:
        found.append(Caution("red", f"The audit found violations in the replay under {broken[0]}.", "Do not use it."))
    if any(map(is_default_note, scenario.assumptions)):
        why = "The cluster is our default, not the one of the recording: waits may differ for that reason alone."
        found.append(Caution("orange", why, "Describe yours on Cluster, then replay."))
    if known.stale:
        found.append(Caution("info", "This calibration is by older code.", "Replay again below."))
    return found


def _cluster_chips(scenario: Scenario) -> list[Premise]:
    why = "The trace does not say on which machines it was recorded; the replay has these."
    return [Premise(note, why, "Cluster") for note in scenario.assumptions if is_default_note(note)]


def _cards(replay: Replayed, by: str) -> list[tuple[str, str, str]]:
    word = GROUPING_WORDS[by]
    return [
        ("Waits explained", explained_words(replay.explained),
         "Share of the variance of recorded waits over jobs that the replayed waits explain as they stand (R², nothing "
         "fitted). None: everybody's mean would be no worse."),
        ("Explained over groups", explained_words(explained_of_groups(replay.groups[by])),
         f"The same of the mean waits by {word}, weighted by jobs."),
        ("Typical job off by", factor(replay.typical_factor),
         "Geometric mean over jobs of replayed over recorded wait, or the other way round; a minute is added to both."),
        ("Bias, mean wait", bias_words(replay),
         "Replayed minus recorded mean wait over jobs, with a 95% interval that takes days as independent."),
    ]  # fmt: skip


def _groups(replay: Replayed, by: str) -> None:
    rows = [_group_row(group) for group in replay.groups[by]]
    columns = [GROUPING_WORDS[by], "jobs", "what-ifs", "ratio", "recorded", "replayed", "JCT ratio"]
    frame = pd.DataFrame(rows, columns=columns)
    alt = f"Mean waits of {amount(len(frame), 'group')}, recorded and replayed, most jobs first"
    st.markdown("**Mean wait and verdict**")
    st.dataframe(frame, hide_index=True, key="calibration-groups", alt=alt, height=340 if len(frame) > 8 else "auto")
    st.markdown(f":gray[{THRESHOLDS}]")


def _group_row(group: Group) -> tuple[object, ...]:
    wait, jct = group.wait, group.jct
    sides = duration(wait.recorded.mean_s), duration(wait.replayed.mean_s)
    verdict, of_jct = VERDICTS[verdict_of(group)], MISSING if jct is None else factor(jct.ratio)
    return group.name, wait.jobs, verdict, factor(wait.ratio), *sides, of_jct


def _policies(answer: Calibration) -> None:
    st.markdown(f":gray[{safe(counted(answer), 900)}]")
    with st.expander("All policies and numbers", key="calibration-all"):
        frame = pd.DataFrame(policy_rows(answer), columns=[name.capitalize() for name in POLICY_HEADER])
        st.dataframe(frame, hide_index=True, key="calibration-table", alt="Policies, the nearest to the record first")
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
**Replay**: every job is submitted when it was and runs as long as it ran, on this scenario's cluster with its
rules; who starts when is the policy's choice. Compared are jobs with a recorded start that start in every replay, the
same for all policies. **JCT** is the time in system, from submission to the end, where the record has an end.

**Nearest**: smallest typical factor. “Not distinguishable” where the 95% interval of its lead over the next, paired by
day of submission, covers 0.
"""
