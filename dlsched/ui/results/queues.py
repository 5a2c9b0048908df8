"""The page Queues: a run with quotas by queue: quota over time, stopped jobs, waits, more quota, fairness, switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from dlsched.domain.queue_lookup import nodes_of
from dlsched.domain.scenario import Scenario
from dlsched.figures import queues as figures
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask
from dlsched.store.runs import RunInfo
from dlsched.studies.calibration.measures import LARGEST_FACTOR, LEAST_EXPLAINED, LEAST_RANKS
from dlsched.studies.design.factors import factor_of
from dlsched.studies.design.variants import Value
from dlsched.studies.inspect.queues import STUDY, QueuesSpec
from dlsched.studies.inspect.queues.answer import CAUSE_HELP, CAUSE_WORDS, Queues
from dlsched.studies.inspect.queues.words import (
    cards_of,
    cautions_of,
    fairness_words,
    often_frame,
    queues_frame,
    sentence_of,
    stopped_words,
    stops_frame,
    trust_frame,
    trust_words,
    unit_of,
)
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.frame import charts, link, loaders, page, runs_of, session, tables
from dlsched.ui.frame.parts import cards, empty, guard_rails, part_of_page, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import sweep_form, what_if_state
from dlsched.ui.results.more_quota import more_quota_part
from dlsched.ui.scenario import trust
from dlsched.ui.study_page import bring
from dlsched.wording.formats import Kind, amount, capital, number
from dlsched.wording.settings import setting_words

TITLE = "Queues"
QUEUES = Answers(STUDY)
MOST_SHOWN = 6
HOW = f"""The run is simulated once more, with the same jobs, and the policy's journal is read: who held which quota,
who borrowed, who was stopped for whom. Nothing random changes, so the numbers are those of the stored run.

- **Borrowed** is use above the nominal quota of a queue, flavor by flavor. **Lent** is what others used of its quota:
  what is borrowed is taken from the cohort's own quota first, then from the spare quota of its queues in proportion.
  What the cohort lacks comes from the cohort above it, the same share for each queue that borrows.
- **Unused quota** is what neither the queue nor others used.
- **Waits** count until the first start of a job. What a job waits after it was stopped is not in them.
- **Share** is the dominant resource share: borrowed over what the cohort could lend, over the weight of the queue.
- **Trust** compares the waits of this run with the recorded ones: a queue *replays* with R² of at least
  {LEAST_EXPLAINED:g} and a typical factor of at most {LARGEST_FACTOR:g}, and *ranks only* with a rank correlation of at
  least {LEAST_RANKS:g}. These thresholds are ours.
- **Jain's index** is (sum of x)² / (n × sum of x²), x = borrowed hours over weight, over queues with jobs."""
SWITCHES: tuple[tuple[str, Value, str], ...] = (
    ("borrowing", "off", "No queue uses more than its own quota"),
    ("reclaim.*", "never", "Lent quota comes back only when a job ends"),
    ("reclaim.*", "lower", "Lent quota is taken back from jobs of lower priority"),
    ("reclaim.*", "any", "Lent quota is taken back from any job"),
    ("within.*", "never", "No job stops another one of its own queue"),
    ("within.*", "lower", "Jobs stop jobs of lower priority in their own queue"),
    ("fair_sharing", "on", "What is borrowed is shared by weight"),
    ("strategy.*", "strict", "The first job that cannot be admitted blocks its queue"),
    ("strategy.*", "best-effort", "Jobs behind one that cannot be admitted may go first"),
)
"""Changes of all queues that planners ask for: key, value, what it means."""
LENT = (0.0, 0.25, 0.5, 1.0)
"""Parts of a queue's quota that it may lend, in a range."""


def queues_page() -> None:
    """Show the page."""
    current = page.begin(TITLE, url=("scenario", "run"), assumed=False)
    info = _run(current)
    spec = QueuesSpec(scenario=info.scenario_hash, policy=info.policy, params=info.params, seed=info.seed)
    page.name_tab(TITLE, info.scenario_name)

    def show(shown: Shown[QueuesSpec, Queues]) -> None:
        _answer(shown, info, current)

    places = bring(QUEUES, spec, show, lambda: QUEUES.ask([spec], current, "Queues"))
    if places:
        QUEUES.work.follow(places)


def _run(current: Scenario) -> RunInfo:
    """Return the run that is looked at: the one named if it has quotas, else the newest; stop the page without any."""
    runs = session.runs_of(current.content_hash)
    runs = runs[runs["policy"].isin(QueuesSpec.policies)]
    if current.queues is None:
        empty(
            "This scenario has no quotas. Add queues on the page Cluster: drop what kubectl prints, or make a queue of "
            "each group of your jobs.",
            "Go to Cluster", lambda: session.go("Cluster"), "queues-none",
        )  # fmt: skip
        link.stop()
    if runs.empty:
        _first_run(current)
        link.stop()
    found = runs_of.series_of(runs)
    named = session.run_id()
    chosen = next((one for one in found if named in one.run_ids), found[0])
    if len(found) > 1:
        labels = {one.run_ids[0]: one.label for one in found}
        first = st.segmented_control(
            "Run", list(labels), default=chosen.run_ids[0], required=True, format_func=labels.__getitem__,
            key=f"queues-run-{chosen.run_ids[0]}", label_visibility="collapsed",
        )  # fmt: skip
        chosen = next(one for one in found if one.run_ids[0] == first)
    run_id = named if named in chosen.run_ids else chosen.run_ids[0]
    if named != run_id:
        session.look_at_run(run_id)
    st.query_params["run"] = run_id
    return loaders.info(run_id)


def _first_run(current: Scenario) -> None:
    """Offer to run the policy on a scenario that has no run with quotas yet, and show it under way."""
    work, (policy, *_) = QUEUES.work, QueuesSpec.policies
    if statuses := work.under_way():
        work.follow(work.board(statuses))
        return
    if work.ended():
        work.show_ended(again=False)
    assert current.queues is not None

    def start() -> None:
        work.begin(session.runner().submit([RunTask(current, policy, {}, 0, find(policy).label)]))
        st.rerun()

    empty(
        f"No run with quotas yet. The policy **{find(policy).label}** admits jobs by the quotas of the scenario's "
        f"{amount(len(current.queues.tree), 'queue')}.",
        f"Run {find(policy).label}", start, "queues-empty", computes=True,
    )  # fmt: skip


def _answer(shown: Shown[QueuesSpec, Queues], info: RunInfo, current: Scenario) -> None:
    answer = shown.answer
    guard_rails(cautions_of(answer, stale=shown.stale))
    caveats = trust.caveats(current, [info.policy])
    sentence(sentence_of(answer), caveats, trust.premises(current, [loaders.metrics(info.run_id)]), key="queues")
    cards(cards_of(answer))
    parts: Mapping[str, Callable[[], None]] = {
        "Quota over time": lambda: _over_time(answer, info),
        "Stopped jobs": lambda: _stopped(answer, info),
        "Waits": lambda: _waits(answer),
        "More quota": lambda: more_quota_part(answer, info, current),
        "Fairness": lambda: _fairness(answer, info),
        "Policy switches": lambda: _switches(info, current),
        "Trust": lambda: _trust(answer),
    }
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        part = part_of_page(parts)
        st.space("stretch")
        if st.button("Run details", key="queues-details", help="All other results of this run"):
            session.go("Run details", run=info.run_id)
    parts[part]()
    with st.expander("How it is computed", key="queues-how"):
        st.markdown(HOW)


def _chosen_queues(answer: Queues, key: str) -> list[str]:
    """Let the reader choose queues; those that waited or borrowed most come first."""
    there = list(dict.fromkeys(band.queue for band in answer.bands))
    if len(there) <= MOST_SHOWN:
        return there
    rank = {one.queue: (-(one.wait_p95_s or 0.0), -one.used_h) for one in answer.queues}
    usual = sorted(there, key=rank.__getitem__)[:MOST_SHOWN]
    return st.multiselect("Queues", there, usual, key=key, help="Shown below each other, on one time axis")


def _over_time(answer: Queues, info: RunInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        queues = _chosen_queues(answer, "queues-bands")
        flavor = ""
        if answer.flavors:
            flavor = st.selectbox(
                "Flavor", ["", *answer.flavors], key="queues-flavor", width=200,
                format_func=lambda one: one or "all flavors", help="Kind of node that the quota is for",
            )  # fmt: skip
    chart = figures.quota_chart(answer, queues, charts.page_theme(), loaders.clock(info.run_id), flavor)
    charts.show(chart, "queues-quota")
    st.markdown(
        ":gray[Up to the line a queue uses its own quota; above it, it borrows, in the colour of the cohort that "
        "lends. What others use of its quota is drawn below 0. "
        "The dotted line on top is what its waiting jobs request.]"
    )


def _stopped(answer: Queues, info: RunInfo) -> None:
    unit = unit_of(answer).one
    st.markdown(f"**{safe(stopped_words(answer), 400)}**")
    if not answer.stopped_for:
        return
    by_lost = st.segmented_control(
        "Count", ["Jobs", f"{unit}-h lost"], default="Jobs", required=True, key="queues-count",
        label_visibility="collapsed", help="What the squares count",
    )  # fmt: skip
    charts.show(figures.stopped_chart(answer, charts.page_theme(), by_lost=by_lost != "Jobs"), "queues-stopped")
    lost = f"Lost ({unit}-h)"
    st.markdown("**Most often stopped jobs**")
    often = often_frame(answer)
    st.dataframe(tables.in_words(often, {lost: number}), hide_index=True, key="queues-often",
                 alt="Jobs that were stopped most often")  # fmt: skip
    left_out = answer.stopped - len(answer.stops)
    note = f": the {len(answer.stops):,} with the most lost work" if left_out else ""
    st.markdown(f"**All stopped jobs**{note}")
    stops = stops_frame(answer, loaders.clock(info.run_id))
    st.dataframe(tables.in_words(stops, {lost: number}), hide_index=True, key="queues-stops",
                 alt="Jobs that were stopped for others, in the order of time")  # fmt: skip
    charts.csv_button(stops, "stopped-jobs", "Download this list")


def _waits(answer: Queues) -> None:
    charts.show(figures.waits_chart(answer, charts.page_theme()), "queues-waits")
    seen = [cause for cause in CAUSE_WORDS if any(one.waited_s.get(cause) for one in answer.queues)]
    st.markdown("\n".join(f"- **{CAUSE_WORDS[cause]}**: {CAUSE_HELP[cause]}" for cause in seen))
    st.markdown("**All numbers by queue**")
    frame = queues_frame(answer)
    kinds: dict[str, Kind | Callable[[float], str]] = {"p95 wait": "duration", "Weight": number, "Mean share": "share"}
    for name in map(str, frame):
        if name.startswith("Wait: "):
            kinds[name] = "duration"
        elif name.endswith("-h)"):
            kinds[name] = number
    shown = tables.in_words(frame, kinds)
    st.dataframe(shown, hide_index=True, key="queues-numbers", alt="Numbers of each queue")
    charts.csv_button(frame, "queues", "Download this table")


def _fairness(answer: Queues, info: RunInfo) -> None:
    st.markdown(f"**{safe(fairness_words(answer), 400)}**")
    queues = _chosen_queues(answer, "queues-shares")
    clock = loaders.clock(info.run_id)
    charts.show(figures.shares_chart(answer, queues, charts.page_theme(), clock), "queues-shares")


def _trust(answer: Queues) -> None:
    if not (words := trust_words(answer)):
        st.markdown(
            "Nothing to compare with: no job has a recorded start. Workloads of Kueue and logs of Slurm have them."
        )
        return
    st.markdown(f"**{safe(words, 400)}**")
    frame = trust_frame(answer)
    st.dataframe(frame, hide_index=True, key="queues-trust", alt="Waits of this run against the recorded ones")
    charts.csv_button(frame, "queues-trust", "Download this table")
    st.markdown(
        ":gray[Waits from submission to the first start, a minute added to both for factors. The run follows the rules "
        "of the scenario as they are; nothing is fitted. Jobs that were evicted before their last start are not "
        "compared: their first start is not in the list.]"
    )


def _switches(info: RunInfo, current: Scenario) -> None:
    """Show the one-click what-ifs: each opens What if with its change set, on the same futures."""
    st.markdown("Each opens **What if** with this change set, compared with the run above in the same futures.")
    with st.container(horizontal=True, gap="small"):
        for key, value, help_text in SWITCHES:
            factor = factor_of(current, key)
            if factor.own(current) == value:
                continue
            label = capital(setting_words(key, factor.label, factor.unit, value))
            if st.button(label, key=f"queues-switch-{key}-{value}", help=help_text):
                what_if_state.open_about(info.run_id, {key: value})
    tree = current.queues
    assert tree is not None
    lenders = [name for name, queue in tree.tree.items() if any(one.nominal and one.lend != 0 for one in queue.quota)]
    if lenders:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            queue = st.selectbox("Queue", lenders, key="queues-lender", width=260, help="Its quota is kept back")
            if st.button("Lend nothing", key="queues-lend", help="Others may use none of its quota, also while idle"):
                what_if_state.open_about(info.run_id, {f"lend.{queue}": 0.0})
            nominal = {one.nominal for one in tree.tree[queue].quota}
            if len(nominal) == 1 and st.button(
                "How much may it lend?", key="queues-lend-range",
                help="Opens Capacity > Range: waits with none, a quarter, half and all of its quota lent",
            ):  # fmt: skip
                most = nominal.pop()
                sweep_form.open_range(current, f"lend.{queue}", [most * part for part in LENT], info.policy)
    alone = [name for name, node in nodes_of(tree).items() if name not in tree.tree and node.parent is None]
    if len(alone) > 1:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            cohort = st.selectbox("Cohort", alone, key="queues-cohort", width=260, help="Its queues borrow from both")
            others = [name for name in alone if name != cohort]
            into = st.selectbox("Merge into", others, key="queues-into", width=260, help="It becomes part of this one")
            if st.button("Merge cohorts", key="queues-merge", help="Their queues may lend to each other"):
                what_if_state.open_about(info.run_id, {f"parent.{cohort}": into})
