"""Which decision of which run a page looks into, and the work that brings it back, in the background.

Runs do not keep the state of their decisions: blocks of them are worked out again, and the answers are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.errors import DlschedError, InputError, StoreError
from dlsched.policies.registry import find
from dlsched.runner.background import StudyTask
from dlsched.store.record import experiment_key
from dlsched.store.runs import RunInfo
from dlsched.studies import registry
from dlsched.studies.inspect.look_ahead.answer import decisions_of
from dlsched.ui.frame import loaders, parts, session
from dlsched.ui.pending import PendingTasks
from dlsched.wording.formats import moment

BLOCK = 25
"""Decisions that are worked out together: the steps before and after are there at once."""


@dataclass(frozen=True)
class Jump:
    """A button that leads to one decision."""

    label: str
    number: int
    why: str


@dataclass(frozen=True)
class Replays:
    """Decisions as one page looks into them.

    ``kind`` of the computation and its ``title``; ``prefix`` begins the keys of the page's widgets; ``param`` is the
    name in the URL, and what the page calls a decision.
    """

    kind: str
    title: str
    prefix: str
    param: str
    policies: tuple[str, ...]

    @property
    def work(self) -> PendingTasks:
        """The work in the background that a tab waits for."""
        return PendingTasks(self.prefix)

    def runs(self) -> pd.DataFrame:
        """Return the stored runs of the scenario under one of the policies, newest first."""
        found: pd.DataFrame = session.runs_of(session.scenario().content_hash)
        ours: pd.DataFrame = found[found["policy"].isin(self.policies)].reset_index(drop=True)
        return ours

    def offer(self, info: RunInfo, label: str, why: str, script: str) -> None:
        """Show a button that opens the decisions of a run on the page of a script."""
        if st.button(label, key=f"result-{self.prefix}", help=why):
            session.look_at_run(info.run_id)
            session.go(script)

    def refuse_unknown(self, found: pd.DataFrame, other: str) -> None:
        """Where the URL names a run that is not there, say so with a way to the newest of those found, and stop."""
        named = session.run_id()
        try:
            if named is not None and named not in set(found["run_id"]):
                loaders.info(named)  # a run of another policy is no mistake; one that is not there is
        except StoreError as error:
            parts.error_box(error)
            if st.button(other, type="primary", key=f"{self.prefix}-newest"):
                session.look_at_run("")
                st.rerun()
            st.stop()

    def offer_demo(self, why: str, button: str, run: Callable[[], object]) -> None:
        """Say why there is no run to look into, with a button that makes some, and stop."""
        if statuses := self.work.under_way():
            self.work.follow(self.work.board(statuses))
        if self.work.ended():
            self.work.show_ended()
            st.stop()
        parts.empty(why, button, run, f"{self.prefix}-empty")
        if self.work.is_waiting():
            st.rerun()
        st.stop()

    def run_of(self, found: pd.DataFrame) -> str:
        """Return the run that is looked at, the newest of those found where none of them is named."""
        ids, named = found["run_id"].tolist(), session.run_id()
        run_id = str(named if named in ids else ids[0])
        st.query_params["run"] = run_id
        return run_id

    def number_key(self, run_id: str) -> str:
        """Return the key of the field with the decision's number."""
        return f"{self.prefix}-number-{run_id}"

    def chosen(self, run_id: str, last: int, first_choice: int) -> int:
        """Return the decision that is looked at: of this tab, else of the URL, else ``first_choice``."""
        key = self.number_key(run_id)
        if key not in st.session_state:
            named = st.query_params.get(self.param, "")
            wanted = int(named) if named.isascii() and named.isdecimal() and len(named) < 9 else first_choice
            st.session_state[key] = min(max(wanted, 1), last)
        number = int(st.session_state[key])
        if st.query_params.get(self.param) != str(number):
            st.query_params[self.param] = str(number)
        return number

    def choose(self, run_id: str, number: int) -> None:
        """Look at another decision; a callback of the buttons."""
        st.session_state[self.number_key(run_id)] = number
        self.work.forget_ended()

    def pick_run(self, found: pd.DataFrame, run_id: str) -> str:
        """Show the runs there are where there are several; return the one that is picked."""
        labels = {
            run: f"{find(policy).label}{f', draw {seed}' if seed else ''} ({run[:4]})"
            for run, policy, seed in zip(found["run_id"], found["policy"], found["seed"], strict=True)
        }
        if len(labels) < 2:
            return run_id
        ids = list(labels)
        return str(st.selectbox("Run", ids, index=ids.index(run_id), key=f"{self.prefix}-run-{run_id}", width=270,
                                format_func=labels.__getitem__))  # fmt: skip

    def choice(self, info: RunInfo, decisions: pd.DataFrame, found: pd.DataFrame, jump: Jump, hint: str) -> int:
        """Show run, number, previous, next and a jump; return the decision that is looked at.

        ``found`` are the runs there are. Starts the page anew when another run is picked.
        """
        last, run_id = len(decisions), info.run_id
        number = self.chosen(run_id, last, jump.number)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            if (picked := self.pick_run(found, run_id)) != run_id:
                session.look_at_run(picked)
                st.query_params.pop(self.param, None)
                st.rerun()
            st.number_input(f"{self.param.capitalize()}, of {last:,}", 1, last, key=self.number_key(run_id), width=170,
                            help=hint)  # fmt: skip
            self._step("Previous", "previous", run_id, number - 1, disabled=number <= 1)
            self._step("Next", "next", run_id, number + 1, disabled=number >= last)
            self._step(jump.label, "largest", run_id, jump.number, disabled=number == jump.number, why=jump.why)
            at_s = float(decisions["time_s"].iloc[number - 1])
            st.markdown(f":gray[{moment(at_s)}]")
            st.space("stretch")
            if st.button("Open the Gantt of this run", type="primary", key=f"{self.prefix}-gantt"):
                session.look_at_run(run_id)
                session.go("results/result.py", tab="Gantt")
        return number

    def _step(self, label: str, key: str, run_id: str, number: int, *, disabled: bool, why: str | None = None) -> None:
        st.button(label, key=f"{self.prefix}-{key}", on_click=self.choose, args=(run_id, number), disabled=disabled,
                  help=why)  # fmt: skip

    def question_of(self, info: RunInfo, number: int, last: int) -> dict[str, Any]:
        """Return the question whose answer holds a decision: the block around it."""
        first = (number - 1) // BLOCK * BLOCK + 1
        return {
            "scenario": info.scenario_hash, "policy": info.policy, "params": info.params, "seed": info.seed,
            "first": first, "last": min(first + BLOCK - 1, last),
        }  # fmt: skip

    def plain(self, spec: Mapping[str, Any], number: int) -> dict[str, Any] | None:
        """Return a decision where the store has it; InputError when the run comes out shorter today."""
        found = registry.find(self.kind)
        experiment = session.store().find_experiment(experiment_key(self.kind, found.canonical(spec), found.version))
        if experiment is None:
            return None
        answer = _answer(str(session.store().path), experiment)
        if number not in answer:
            raise InputError(
                f"{self.param} {number:,}", "does not come again with today's code", "Run the policy again"
            )
        return answer[number]

    def ask(self, spec: Mapping[str, Any], subject: object) -> None:
        """Have a block of decisions worked out in the background."""
        name = f"{self.title}, {self.param}s {spec['first']:,} to {spec['last']:,}"
        self.work.begin([session.runner().ask(StudyTask(self.kind, dict(spec), name, subject))])

    def story(self, run_id: str, job: str) -> None:
        """Open the story of a job in Result."""
        session.look_at_run(run_id)
        st.session_state["open_job"] = job
        session.go("results/result.py")

    def bring(
        self, spec: Mapping[str, Any], number: int, ask: Callable[[], None], show: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """Show a decision where it is known, else have it worked out; return where progress goes while it is."""
        statuses = self.work.under_way()
        try:
            found = self.plain(spec, number)
        except DlschedError as error:
            parts.error_box(error)
            st.stop()
        if found is not None:
            show(found)
        elif self.work.ended():
            self.work.show_ended()
        else:
            with parts.mistakes_shown():
                if not statuses:
                    ask()
                    if not (statuses := self.work.under_way()):
                        st.rerun()  # it is over already
                return dict(self.work.board(statuses))
        return {}


@st.cache_resource(max_entries=12, show_spinner=False)
def _decisions(_path: str, run_id: str) -> pd.DataFrame:
    return decisions_of(session.store().decisions(run_id))


def decisions(run_id: str) -> pd.DataFrame:
    """Return the decisions of a run, numbered from 1."""
    return _decisions(str(session.store().path), run_id)


@st.cache_resource(max_entries=16, show_spinner=False)
def _answer(_path: str, experiment_id: str) -> dict[int, dict[str, Any]]:
    record = session.store().get_experiment(experiment_id)
    return {int(one["number"]): one for one in record.answer["decisions"]}
