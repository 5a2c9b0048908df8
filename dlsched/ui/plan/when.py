"""The page When jobs start: the queue of now or of an instant of the log, and how far such intervals held."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.figures.when_starts import intervals
from dlsched.studies.design import Variant
from dlsched.studies.when_starts import SCORE_STUDY, STUDY, Score, ScoreSpec, When, WhenSpec, with_history
from dlsched.studies.when_starts.queue_at import Record, queue_at
from dlsched.studies.when_starts.score import instants_of
from dlsched.studies.when_starts.spec import usual_policy
from dlsched.studies.when_starts.words import (
    GPUS_NOTE,
    SCORE_NOTE,
    change_rows,
    change_sentence,
    job_sentence,
    notes_of,
    plain_rows,
    rows_of,
    score_rows,
    score_sentence,
    sentence,
)
from dlsched.ui import answers
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.fields.policy_and_params import policy_field, say_todays_policy, todays_policy
from dlsched.ui.frame import charts, session, writing
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.parts import sentence as headline
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, kept_file, read_once
from dlsched.ui.scenario import trust
from dlsched.ui.study_page import Asked, Form, bring, study_page
from dlsched.wording.clock import clock_of
from dlsched.wording.formats import about_seconds, amount
from dlsched.wording.typed import NotRead
from dlsched.workload.import_report import in_seconds
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import ReadOptions, read_trace

WHENS = Answers(STUDY, prefix="when")
SCORES = Answers(SCORE_STUDY, prefix="when-score")
DROP = "when-queue"
COMMAND = "squeue --json > queue.json"
KUEUE_COMMAND = "kubectl get workloads.kueue.x-k8s.io -A -o json > queue.json"
NO_JOB = ""
TRIED_INSTANTS = 9
MOST_NAMES = 2000
HOW = (
    "Each future draws how long every running and waiting job really runs: from the shares of their time limits that "
    "ended jobs of the same user used, and, for a job that runs, only from those above what it has used by now. Where "
    "the jobs of a user come in campaigns, a future draws from one stretch of jobs that ended one after the other. "
    "Running jobs stay on their nodes, and the policy decides from now on, believing the time limits."
)


def follow_link() -> None:
    """Take over the answer that the address names."""
    answers.follow_link(WHENS)


def show(current: Scenario) -> None:
    """Show the page of a scenario: a queue to upload, the question with its answer, the score of its log."""
    _upload(current)
    record = _record(current.content_hash, current)
    if not record.jobs.has_recorded_starts and record.now_s is None:
        st.markdown(
            "These jobs have no recorded start times, so there is no queue at any instant. Upload the queue as it is "
            "now, or a log with start times on **Jobs**."
        )
        return
    top, below = st.container(), st.container()
    with below:
        places = _score(current, record)
    with top:
        study_page(WHENS, current, Form(_fill, _fields), _view, before="When do the waiting jobs start?", how=HOW)
    if places:
        SCORES.work.follow(places)


@shared
def _record(scenario_hash: str, _scenario: Scenario) -> Record:
    return Record.of(in_seconds(_scenario))


# ---- the queue as it is now ------------------------------------------------------------------------------


def _upload(current: Scenario) -> None:
    """Take the queue of a scheduler and put it on the log of the scenario."""
    with st.expander("Upload the queue as it is now", key="when-upload", icon=":material/upload:"):
        left, right = st.columns([3, 2])
        with right:
            st.markdown("Export it from Slurm:")
            st.code(COMMAND, language="bash")
            st.markdown("or from Kueue:")
            st.code(KUEUE_COMMAND, language="bash", wrap_lines=True)
        with left:
            file = kept_file("Drop the queue: squeue --json, or Workloads of Kueue", DROP,
                             "It stays on this host, and is put together with the log of this scenario")  # fmt: skip
            if file is None:
                return
            try:
                queue = _queue_of(file.tag, file)
                made = with_history(queue, current) if current.workload.has_recorded_starts else queue
            except DlschedError as error:
                error_box(error)
                return
            record = Record.of(in_seconds(queue))
            waiting = int((record.pending | record.on_hold).sum())
            running = len(queue.workload) - waiting
            st.markdown(f"{amount(running, 'running job')}, {amount(waiting, 'waiting job')}.")
            if writing.button("Use this queue", type="primary", key="when-use",
                         help="Makes a new scenario of the queue and the ended jobs of this one"):  # fmt: skip
                made = made.replace(name=f"Queue, {current.name}"[:60])
                session.keep(made)
                if (today := todays_policy(current)) is not None:
                    say_todays_policy(made, today)
                WHENS.open(None)
                st.rerun()


@shared
def _queue_of(tag: str, _file: File) -> Scenario:
    options = ReadOptions(pending="keep")
    read = read_once(_file.name, f"{tag}-{options.pending}", read_trace, _file.content, _file.name, options)
    queue = scenario_of(read, "queue")
    if Record.of(in_seconds(queue)).now_s is None:
        raise InputError(f"file {_file.name}", "no job in it waits", f"Export the queue as it is now: {COMMAND}")
    return queue


# ---- the question ----------------------------------------------------------------------------------------


def _tag(scenario: Scenario) -> str:
    return scenario.content_hash[:8]


def _usual(scenario: Scenario) -> Variant:
    """Return the policy of today where it is stated, else what its settings say."""
    return todays_policy(scenario) or Variant(policy=usual_policy(scenario))


@shared
def _usual_instant_s(scenario_hash: str, _record: Record) -> float:
    """Return when the queue was written; of a log, the instant of its second half with most waiting of some tried."""
    if _record.now_s is not None:
        return _record.now_s
    tried = instants_of(_record, TRIED_INSTANTS)
    waiting = [int((~queue_at(_record, float(at_s)).running).sum()) for at_s in tried]
    return float(tried[waiting.index(max(waiting))])


def _fill(scenario: Scenario, shown: WhenSpec | None) -> None:
    tag, clock = _tag(scenario), clock_of(scenario.workload)
    if shown is None and f"when-policy-{tag}" in st.session_state:
        return
    try:
        at_s = _usual_instant_s(scenario.content_hash, _record(scenario.content_hash, scenario))
    except InputError:
        at_s = float(scenario.workload.submit_s[-1])
    usual = _usual(scenario)
    values = {"at": clock.moment(at_s), "policy": usual.policy, "later": False, "job": NO_JOB, "futures": 200}
    if shown is not None:
        values = {"at": clock.moment(shown.at_s), "policy": shown.policy, "later": shown.later, "job": shown.job,
                  "futures": shown.futures}  # fmt: skip
        at_s = shown.at_s
    st.session_state[f"when-exact-{tag}"] = (clock.moment(at_s), at_s)
    for name, value in values.items():
        st.session_state[f"when-{name}-{tag}"] = value


def _fields(scenario: Scenario, _: WhenSpec | None) -> Asked[WhenSpec]:
    tag, clock = _tag(scenario), clock_of(scenario.workload)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        typed = st.text_input("Instant", key=f"when-at-{tag}", persist_state="session", width=220,
                              help="Jobs that run or wait then are simulated from there on")  # fmt: skip
        policy = policy_field(scenario, f"when-policy-{tag}", "Policy from then on")
        futures = st.number_input("Futures", 10, 2000, step=50, key=f"when-futures-{tag}", width=120,
                                  persist_state="session", help="Run times are drawn anew in each")  # fmt: skip
    at_s = _instant(typed, scenario)
    names = _waiting_names(scenario, at_s)
    if st.session_state.get(f"when-job-{tag}") not in (NO_JOB, *names):
        st.session_state[f"when-job-{tag}"] = NO_JOB
    with st.container(horizontal=True, vertical_alignment="bottom"):
        job = st.selectbox(
            "What if this job asked for less", (NO_JOB, *names), key=f"when-job-{tag}", persist_state="session",
            width=320, format_func=lambda name: name or "no job",
            help="Half the GPUs, one node, a usual limit, half the limit, in the same futures",
        )  # fmt: skip
        later = st.checkbox("Jobs arrive later too", key=f"when-later-{tag}", persist_state="session",
                            help=WhenSpec.model_fields["later"].description)  # fmt: skip
    usual = _usual(scenario)
    spec = WhenSpec(
        scenario=scenario.content_hash, at_s=at_s, policy=policy, futures=int(futures), later=later, job=job or "",
        params=usual.params if usual.policy == policy else {},
    )  # fmt: skip
    STUDY.check(spec, scenario)
    what = f"When do the jobs start that wait on {clock.moment(at_s)}?"
    if job:
        what += f" What if {job} asked for less?"

    def button(is_stored: bool) -> str:
        return "Show the starts from the store" if is_stored else (
            f"Simulate {amount(spec.futures, 'future')}, {about_seconds(STUDY.estimate_s(spec, scenario))}"
        )  # fmt: skip

    return Asked(spec, what, f"Start times, {scenario.name[:60]}", button)


def _instant(typed: str, scenario: Scenario) -> float:
    shown, exact_s = st.session_state.get(f"when-exact-{_tag(scenario)}", ("", 0.0))
    if typed.strip() == shown:
        return float(exact_s)
    try:
        at_s = clock_of(scenario.workload).read(typed)
    except NotRead as error:
        raise InputError("Instant", str(error), "Correct it") from None
    if at_s < 0:
        raise InputError("Instant", "is before the first job of the log", "Give a later time")
    return at_s


def _waiting_names(scenario: Scenario, at_s: float) -> list[str]:
    queue = queue_at(_record(scenario.content_hash, scenario), at_s)
    return [str(name) for name in queue.jobs.job_id[~queue.running][:MOST_NAMES]]


# ---- the answer ------------------------------------------------------------------------------------------


def _view(shown: Shown[WhenSpec, When], scenario: Scenario, is_current: bool) -> None:
    answer = shown.answer
    clock = clock_of(scenario.workload)
    headline(sentence(answer), trust.caveats(scenario, [answer.policy]), key="when")
    score = _known_score(shown.spec)
    if score is not None:
        st.markdown(f":gray[{safe(score_sentence(score), 600)}]")
    elif answer.ended:
        st.markdown(":gray[Whether such intervals hold on this log is not known yet: see the score below.]")
    if answer.job:
        _less(answer, scenario)
    if (chart := intervals(answer, charts.page_theme(), clock)) is not None:
        charts.show(chart, "when-intervals")
    if answer.jobs:
        st.subheader("Waiting jobs", anchor=False)
        wide = {name: st.column_config.Column(width=150) for name in ("80% interval", "Likely start")}
        st.dataframe(pd.DataFrame(rows_of(answer, clock)), hide_index=True, key="when-table", placeholder="–",
                     column_config=wide, alt="Start, interval and reason of each waiting job")  # fmt: skip
        charts.csv_button(pd.DataFrame(plain_rows(answer)), "when", "Download all rows")
    st.markdown(f":gray[{safe(' '.join(notes_of(answer)), 2000)}]")


def _less(answer: When, scenario: Scenario) -> None:
    """Show when the chosen job starts and what asking for less would do."""
    job = next(job for job in answer.jobs if job.job_id == answer.job)
    st.markdown(f"**{safe(job_sentence(answer, job, clock_of(scenario.workload)), 500)}**")
    for less in answer.changes:
        st.markdown(f"- {safe(change_sentence(less, job), 400)}")
    if answer.changes:
        st.dataframe(pd.DataFrame(change_rows(answer)), hide_index=True, key="when-less", placeholder="–",
                     alt="What the job could ask for instead, and when it would start")  # fmt: skip
        st.markdown(f":gray[{GPUS_NOTE}]")
    else:
        st.markdown(":gray[It cannot ask for less: one worker, and a limit of a minute or none.]")


# ---- the score -------------------------------------------------------------------------------------------


def _score_spec(spec: WhenSpec) -> ScoreSpec:
    return ScoreSpec(scenario=spec.scenario, policy=spec.policy, params=spec.params, later=spec.later)


def _known_score(spec: WhenSpec) -> Score | None:
    found = SCORES.answer_to(_score_spec(spec))
    return None if found is None else found.answer


def _score(current: Scenario, record: Record) -> dict[str, DeltaGenerator]:
    """Show the score of the log under the policy of the form, or the button that works it out."""
    if not record.whole.any():
        return {}
    tag, usual = _tag(current), _usual(current)
    policy = str(st.session_state.get(f"when-policy-{tag}", usual.policy))
    later = bool(st.session_state.get(f"when-later-{tag}", False))
    spec = ScoreSpec(scenario=current.content_hash, policy=policy, later=later,
                     params=usual.params if usual.policy == policy else {})  # fmt: skip
    st.subheader("Did such intervals hold on this log?", anchor=False)

    def shown(found: Shown[ScoreSpec, Score]) -> None:
        st.markdown(safe(score_sentence(found.answer), 600))
        st.dataframe(pd.DataFrame(score_rows(found.answer)), hide_index=True, key="when-errors",
                     alt="How far off told starts were, by rule")  # fmt: skip
        st.markdown(f":gray[{SCORE_NOTE}]")

    places = bring(SCORES, spec, shown, lambda: None, at_once=False)
    if not places and SCORES.answer_to(spec) is None and not SCORES.work.ended():
        about = about_seconds(SCORE_STUDY.estimate_s(spec, current))
        if writing.button(f"Score at {amount(spec.instants, 'instant')}, {about}", key="when-score-ask",
                     help="Told at instants of the second half by what was known then, and compared"):  # fmt: skip
            SCORES.ask([spec], current, f"Score, {current.name[:60]}")
            st.rerun()
    return places
