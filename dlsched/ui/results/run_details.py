"""The page Run details: which policy's run, what it says in a sentence, and its parts, as far as its decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from dlsched.domain.errors import StoreError
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.metrics.findings import result_sentence
from dlsched.metrics.summary import Metrics
from dlsched.policies.registry import find_stored
from dlsched.store.runs import RunInfo
from dlsched.ui.frame import futures_numbers, link, loaders, page, parts, runs_of, session
from dlsched.ui.frame.navigation import PART
from dlsched.ui.frame.runs_of import Series, SeriesNumbers
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import what_if_state
from dlsched.ui.results import cards, cost, inside, jobs, overview, timeline
from dlsched.ui.results.decision_inspector import INSIDE, OpenedRun
from dlsched.ui.scenario import trust
from dlsched.wording.cautions import Caution, cautions
from dlsched.wording.certainty import interval_note
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import capital
from dlsched.workload.import_report import in_seconds, offered_load

TITLE = "Run details"
PARTS: dict[str, Callable[[str, Scenario], None]] = {
    "Overview": overview.overview_part,
    "Timeline": timeline.timeline_part,
    "Jobs": jobs.jobs_part,
    "Cost": cost.cost_part,
    "Numbers": overview.numbers_part,
}
"""Parts of every run; a run whose policy has a view into its decisions has Inside too."""
OWN_SENTENCE = ("Timeline", "Jobs", INSIDE)
"""Parts that answer a question of their own, and say it themselves."""


@dataclass(frozen=True, eq=False)
class _Opened:
    """The run on the page; ``own`` runs of its policy with their ``numbers``, among ``everything`` of the scenario."""

    info: RunInfo
    metrics: Metrics
    scenario: Scenario
    own: Series
    numbers: SeriesNumbers
    everything: Sequence[Series]

    @property
    def policy(self) -> PolicySpec:
        """What the registry says of the policy."""
        return find_stored(self.info.policy)


def run_details_page() -> None:
    """Show the page."""
    page.begin(TITLE, url=("scenario", "run"), assumed=False)
    run = _open_run()
    page.name_tab(run.own.label, TITLE, run.info.scenario_name)
    _follow_requests(run.info.run_id)
    _switch(run)
    part = _header(run)
    warnings, rents = _warnings(run), run.scenario.cluster.free_slots
    counted = counted_of(run.scenario)
    show_decisions = inside.part_of(run.info.policy)
    if part == INSIDE and show_decisions is not None:
        parts.guard_rails([one for one in warnings if one.level == "red"])  # it has banners of its own
        show_decisions(OpenedRun(run.info, run.scenario, run.own.stale))
        return
    parts.guard_rails([one for one in warnings if one.level != "info"])
    if part not in OWN_SENTENCE:
        text = result_sentence(
            run.policy.label, run.numbers.headline(run.own.label), money_first=rents, counted=counted
        )
        caveats = trust.caveats(run.scenario, [run.policy.key], resampled=run.numbers.basis.days > 0)
        parts.sentence(text, caveats, trust.premises(run.scenario, [run.metrics]), key="result")
        if part == "Overview":
            cards.show(run.numbers, run.own.label, counted, money_first=rents)
        _certainty(run)
        if part == "Overview":
            overview.main_picture(run.info.run_id, run.scenario)
            _badges(run, warnings)
    with parts.mistakes_shown():
        PARTS[part](run.info.run_id, run.scenario)
    if part not in OWN_SENTENCE and run.numbers.futures is not None:
        futures_numbers.follow(run.numbers.futures)


def _open_run() -> _Opened:
    """Return the run that is looked at; stop the page, with a way on, where there is none."""
    run_id = session.run_id()
    if (st.session_state.get(PART) or st.query_params.get(PART)) == INSIDE:
        run_id = _with_a_view(run_id)
    if run_id is None:
        parts.empty(
            "No run of this scenario yet. Choose policies and run them; the result opens here.",
            "Go to Run", lambda: session.go("Run"), "result-empty",
        )  # fmt: skip
        link.stop()
    try:
        info, metrics, scenario = loaders.info(run_id), loaders.metrics(run_id), loaders.scenario_of(run_id)
    except StoreError as error:
        parts.error_box(error)
        with st.container(horizontal=True):
            if st.button("Import an export file", key="result-import"):
                session.look_at_run("")
                session.go("Run", part="History")
            if st.button("Show the newest run of this scenario", type="primary", key="result-newest"):
                session.look_at_run("")
                st.query_params.pop("run", None)
                st.rerun()
        link.stop()
    st.query_params["run"] = run_id  # the newest run of a scenario, too: later there may be a newer one
    everything = runs_of.series_on(info.scenario_hash)
    own = runs_of.holding(everything, run_id) or runs_of.chosen_of([run_id])[0]
    return _Opened(info, metrics, scenario, own, runs_of.numbers_of([own]), everything)


def _with_a_view(run_id: str | None) -> str | None:
    """Return the run where its decisions can be shown, else the newest of the scenario of which they can.

    A link asks for Inside: where the scenario has no such run, samples are offered and the page stops. A run that is
    not in the store is returned as it is.
    """
    runs = session.runs_of(session.scenario().content_hash)
    seen = runs[runs["policy"].map(lambda policy: inside.part_of(policy) is not None).astype(bool)]
    if run_id in seen["run_id"].tolist() or (run_id is not None and run_id not in runs["run_id"].tolist()):
        return run_id
    if seen.empty:
        inside.demos()
        link.stop()
    session.look_at_run(str(seen["run_id"].iloc[0]))
    return session.run_id()


def _follow_requests(run_id: str) -> None:
    """Open the story of the job that a picture asked for."""
    if job_id := st.session_state.pop("open_job", None):
        jobs.choose_named(run_id, job_id)
        st.session_state[PART] = "Jobs"


def _switch(run: _Opened) -> None:
    """Offer the policies that ran on this scenario, and the runs in full where a policy has several."""
    run_id, own = run.info.run_id, run.own
    by_label = {series.label: series for series in run.everything}
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if len(by_label) > 1:
            label = st.segmented_control(
                "Policy", list(by_label), default=own.label if own.label in by_label else None, required=True,
                key=f"result-policy-{run_id}", label_visibility="collapsed",
            )  # fmt: skip
            wanted = by_label.get(str(label), own)
            if wanted != own:
                seed = run.info.seed if run.info.seed in wanted.seeds else wanted.seeds[0]
                session.look_at_run(wanted.run_of(seed))
                if inside.part_of(wanted.policy) is None and st.session_state.get(PART) == INSIDE:
                    st.session_state[PART] = "Overview"
                for name in ("decision", "interval"):  # of the run that is left
                    st.query_params.pop(name, None)
                st.rerun()
        if len(own.seeds) > 1:
            _choose_future(run_id, own, run.info.seed)


def _certainty(run: _Opened) -> None:
    """Say once how sure the numbers are, and of which future the charts and tables are."""
    numbers = run.numbers
    of = {"exact": "", "recorded": " Charts and tables below are of the recorded month."}.get(
        numbers.basis.kind, f" Charts and tables below are of one future, number {run.info.seed}."
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":gray[{capital(interval_note(numbers.basis, numbers.count))}.{of}]", width="content")
        if numbers.futures is not None:
            futures_numbers.offer_missing(numbers.futures, "result")


def _header(run: _Opened) -> str:
    """Show the parts and the ways to other pages; return the part that is open."""
    run_id, own, ticked = run.info.run_id, run.own, session.ticked_runs()
    names = [*PARTS, INSIDE] if inside.part_of(run.info.policy) is not None else [*PARTS]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        part = parts.part_of_page(names)
        st.space("stretch")
        hint = "Change nodes, demand or the policy, and see the effect"
        if st.button("What if …", key="result-whatif", help=hint):
            what_if_state.open_about(run_id)
        if st.button("Add to memo", key="result-memo", help="As an option of the memo for your decision maker"):
            session.tick([*ticked, run_id])
            session.go("Memo")
        others = [series.run_ids[0] for series in run.everything if series != own]
        if not others:
            if st.button("Run another policy", type="primary", key="result-next"):
                session.go("Run")
        elif st.button(f"Compare all {len(others) + 1}" if len(others) > 1 else "Compare both",
                       type="primary", key="result-next"):  # fmt: skip
            session.tick(ticked if run_id in ticked and len(ticked) > 1 else [run_id, *others])
            session.go("Compare")
    return part


def _choose_future(run_id: str, own: Series, shown_seed: int) -> None:
    names = {seed: f"Future {seed}" for seed in own.seeds}
    seed = st.selectbox(
        "Future", list(names), index=own.seeds.index(shown_seed), key=f"future-{run_id}", width=140,
        format_func=names.__getitem__, label_visibility="collapsed",
        help="Charts and tables are of this one; sentence and cards are of all futures",
    )  # fmt: skip
    if own.run_of(seed) != run_id:
        session.look_at_run(own.run_of(seed))
        st.rerun()


def _warnings(run: _Opened) -> list[Caution]:
    scenario, policy = run.scenario, run.policy
    left_out = 0 if scenario.generator else len(scenario.workload) - int(run.metrics.get("jobs") or 0)
    return cautions(
        scenario,
        run.metrics,
        audit=run.info.audit,
        load=offered_load(in_seconds(scenario), scenario.cluster),
        left_out=left_out,
        remark=policy.remark_on(dict(run.info.params), scenario),
    )


def _badges(run: _Opened, warnings: Sequence[Caution]) -> None:
    """Show audit, notes and bounds in a line."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        is_clean = not run.info.audit
        st.badge("audit ok" if is_clean else "audit failed", color="blue" if is_clean else "red",
                 help="The log was re-checked by a program that shares no code with the simulator.")  # fmt: skip
        if run.info.made_by:
            st.badge(f"by {safe(run.info.made_by, 60)}", color="gray",
                     help=f"Saved {run.info.created_at:%Y-%m-%d %H:%M} UTC")  # fmt: skip
        for one in warnings:
            if one.level == "info":
                st.badge(dollars(one.text), color="gray", help=dollars(one.action))
        # where machines are rented the sentence tells the bound on the cost
        for limited in overview.badges(run.metrics, without_cost=run.scenario.cluster.free_slots):
            st.badge(dollars(f"{limited.limit.kpi.label}: {limited.short}"), color="gray",
                     help=dollars(f"{capital(limited.words)} (proven)."))  # fmt: skip
