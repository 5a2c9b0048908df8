"""Looking into the decisions of a stored run: choose run and decision, have it worked out again, show it.

Runs do not keep the state of their decisions: blocks of them are worked out again in the background, and the answers
are kept. A page of this kind is a module with an :class:`Inspector` and a function that shows one decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import InputError, StoreError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask
from dlsched.store.runs import RunInfo
from dlsched.studies.inspect.look_ahead.answer import decisions_of
from dlsched.studies.inspect.re_execute import Decisions, InspectedDecisions, Kept
from dlsched.ui.answers import Answer, Answers, Shown
from dlsched.ui.frame import loaders, page, parts, session
from dlsched.ui.study_page import bring

BLOCK = 25
"""Decisions that are worked out together: the steps before and after are there at once."""
STORY_HELP = "Why it waited, where it ran, every change of its width"


@dataclass(frozen=True)
class Jump:
    """A button that leads to one decision."""

    label: str
    number: int
    why: str


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """The run that is looked into; ``runs`` there are to choose from; ``is_stale``: made by other code than today's."""

    info: RunInfo
    scenario: Scenario
    runs: pd.DataFrame
    is_stale: bool

    @property
    def question(self) -> dict[str, Any]:
        """The run as a question about all of its decisions."""
        info = self.info
        return {"scenario": info.scenario_hash, "policy": info.policy, "params": info.params, "seed": info.seed}


@dataclass(frozen=True, eq=False)
class Inspector(Generic[Answer]):
    """A page that looks into the decisions of runs.

    ``labels``: for each policy whose runs it looks into, what the button says that leads here from Result; ``why`` it
    is worth a look. ``newest`` labels the way to the newest such run. Without any, ``empty`` says what is missing, and
    ``demo``, under the button ``run_demo``, is a scenario with the policies to run on it.
    """

    title: str
    answers: Answers[Any, Answer]
    labels: Mapping[str, str]
    why: str
    newest: str
    empty: str
    run_demo: str
    demo: Callable[[], tuple[Scenario, Sequence[str]]]

    def offer(self, info: RunInfo) -> None:
        """Show a button that opens this page, where it looks into runs of the policy."""
        if info.policy in self.labels and st.button(
            self.labels[info.policy], key=f"result-{self.answers.key}", help=self.why
        ):
            session.look_at_run(info.run_id)
            session.go(self.title)

    def open_run(self) -> OpenedRun:
        """Begin the page and return the run that is looked at, the newest where none is named.

        Stops the page where the URL names a run that is not in the store, or there is none to look into: then with a
        way to one.
        """
        page.begin(self.title, url=("scenario", "run"), assumed=False)
        runs = session.runs_of(session.scenario().content_hash)
        runs = runs[runs["policy"].isin(list(self.labels))].reset_index(drop=True)
        ids, named = runs["run_id"].tolist(), session.run_id()
        try:
            if named is not None and named not in ids:
                loaders.info(named)  # a run of another policy is no mistake; one that is not there is
        except StoreError as error:
            parts.error_box(error)
            if st.button(self.newest, type="primary", key=f"{self.answers.key}-newest"):
                session.look_at_run("")
                st.rerun()
            st.stop()
        if not ids:
            self._offer_demo()
        run_id = str(named if named in ids else ids[0])
        st.query_params["run"] = run_id
        is_stale = bool(runs.loc[runs["run_id"] == run_id, "stale"].iloc[0])
        return OpenedRun(loaders.info(run_id), loaders.scenario_of(run_id), runs, is_stale)

    def _offer_demo(self) -> None:
        """Say why there is no run to look into, with a button that makes some, and stop."""
        work = self.answers.work
        if statuses := work.under_way():
            work.follow(work.board(statuses))
        if work.ended():
            work.show_ended()
            st.stop()
        parts.empty(self.empty, self.run_demo, self._run_demo, f"{self.answers.key}-empty")
        if work.is_waiting():
            st.rerun()
        st.stop()

    def _run_demo(self) -> None:
        sample, policies = self.demo()
        session.keep(sample)
        session.look_at_run("")
        tasks = [RunTask(sample, key, {}, 0, find(key).label) for key in policies]
        self.answers.work.begin(session.runner().submit(tasks))

    def choose_run(self, run: OpenedRun, *url_params: str) -> None:
        """Show the runs there are where there are several; start the page anew when another one is picked.

        ``url_params``: what in the address was of this run alone.
        """
        run_id, runs = run.info.run_id, run.runs
        labels = {
            one: f"{find(policy).label}{f', future {seed}' if seed else ''} ({one[:4]})"
            for one, policy, seed in zip(runs["run_id"], runs["policy"], runs["seed"], strict=True)
        }
        if len(labels) < 2:
            return
        ids, key = list(labels), f"{self.answers.key}-run-{run_id}"
        picked = st.selectbox("Run", ids, index=ids.index(run_id), key=key, width=270, format_func=labels.__getitem__)
        if picked != run_id:
            session.look_at_run(str(picked))
            for name in url_params:
                st.query_params.pop(name, None)
            st.rerun()

    def gantt_button(self, run_id: str) -> None:
        """Show, at the right, the way to the run's Gantt."""
        st.space("stretch")
        if st.button("Open the Gantt of this run", type="primary", key=f"{self.answers.key}-gantt"):
            session.look_at_run(run_id)
            session.go("Run details", tab="Gantt")

    def story_button(self, run_id: str, job: str) -> None:
        """Show the way to the story of a job, in Result."""
        if st.button("Read its story", key=f"{self.answers.key}-story", help=STORY_HELP):
            session.look_at_run(run_id)
            st.session_state["open_job"] = job
            session.go("Run details")

    def how(self, text: str) -> None:
        """Show how the page comes to its numbers."""
        with st.expander("How it is computed", key=f"{self.answers.key}-how"):
            st.markdown(text)


@dataclass(frozen=True, eq=False)
class DecisionInspector(Inspector[Any], Generic[Kept]):
    """A page that shows one decision of a run after the other.

    ``spec``: the type of its questions, which says what a decision is called, also in the URL.
    """

    spec: type[InspectedDecisions]

    def number_key(self, run_id: str) -> str:
        """Return the key of the field with the decision's number."""
        return f"{self.answers.key}-number-{run_id}"

    def go_to(self, run_id: str, number: int) -> None:
        """Look at another decision; a callback of buttons and charts."""
        st.session_state[self.number_key(run_id)] = number
        self.answers.work.forget_ended()

    def choose(self, run: OpenedRun, decisions: pd.DataFrame, jump: Jump, hint: str) -> int:
        """Show run, number, previous, next and a jump; return the decision that is looked at.

        Starts the page anew when another run is picked.
        """
        last, run_id, prefix = len(decisions), run.info.run_id, self.answers.key
        number = self._number(run_id, last, jump.number)
        steps = (
            ("Previous", "previous", number - 1, number <= 1, None),
            ("Next", "next", number + 1, number >= last, None),
            (jump.label, "largest", jump.number, number == jump.number, jump.why),
        )
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            self.choose_run(run, self.spec.noun)
            st.number_input(f"{self.spec.noun.capitalize()}, of {last:,}", 1, last, key=self.number_key(run_id),
                            width=170, help=hint)  # fmt: skip
            for label, key, to, disabled, why in steps:
                st.button(label, key=f"{prefix}-{key}", on_click=self.go_to, args=(run_id, to), disabled=disabled,
                          help=why)  # fmt: skip
            st.markdown(f":gray[{loaders.clock(run_id).moment(float(decisions['time_s'].iloc[number - 1]))}]")
            self.gantt_button(run_id)
        return number

    def _number(self, run_id: str, last: int, usual: int) -> int:
        """Return the decision that is looked at: of this tab, else of the URL, else the usual one."""
        key, param = self.number_key(run_id), self.spec.noun
        if key not in st.session_state:
            named = st.query_params.get(param, "")
            wanted = int(named) if named.isascii() and named.isdecimal() and len(named) < 9 else usual
            st.session_state[key] = min(max(wanted, 1), last)
        number = int(st.session_state[key])
        if st.query_params.get(param) != str(number):
            st.query_params[param] = str(number)
        return number

    def bring(
        self, run: OpenedRun, number: int, last: int, show: Callable[[Kept], None], subject: Callable[[], object]
    ) -> dict[str, DeltaGenerator]:
        """Show a decision where it is known, else have the block around it worked out; as :func:`study_page.bring`.

        ``subject``: what the question travels with.
        """
        first = (number - 1) // BLOCK * BLOCK + 1
        spec = self.answers.study.read_spec(run.question | {"first": first, "last": min(first + BLOCK - 1, last)})
        noun = self.spec.noun
        name = f"{self.title}, {noun}s {spec.first:,} to {spec.last:,}"

        def show_it(shown: Shown[Any, Decisions[Kept]]) -> None:
            if number in shown.answer.by_number:
                show(shown.answer.by_number[number])
            else:
                why, way = "does not come again with today's code", "Run the policy again"
                parts.error_box(InputError(f"{noun} {number:,}", why, way))

        return bring(self.answers, spec, show_it, lambda: self.answers.ask([spec], subject(), name))


@st.cache_resource(max_entries=12, show_spinner=False)
def decisions(run_id: str) -> pd.DataFrame:
    """Return the decisions of a run, numbered from 1."""
    return decisions_of(session.store().decisions(run_id))
