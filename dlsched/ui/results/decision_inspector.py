"""Looking into the decisions of a stored run: choose a decision, have it worked out again, show it.

Runs do not keep the state of their decisions: blocks of them are worked out again in the background, and the answers
are kept. A view of this kind is a module with an :class:`Inspector` and a function that shows one decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask
from dlsched.store.runs import RunInfo
from dlsched.studies.inspect.look_ahead.answer import decisions_of
from dlsched.studies.inspect.re_execute import Decisions, InspectedDecisions, Kept
from dlsched.ui.answers import Answer, Answers, Shown
from dlsched.ui.frame import link, loaders, parts, session
from dlsched.ui.frame.caches import shared
from dlsched.ui.study_page import bring

INSIDE = "Inside"
"""The part of Run details that holds these views."""
BLOCK = 25
"""Decisions that are worked out together: the steps before and after are there at once."""
STORY_HELP = "Why it waited, where it ran, every change of its GPU count"


@dataclass(frozen=True)
class Jump:
    """A button that leads to one decision."""

    label: str
    number: int
    why: str


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """The run whose decisions are shown; ``is_stale``: made by other code than today's."""

    info: RunInfo
    scenario: Scenario
    is_stale: bool

    @property
    def question(self) -> dict[str, Any]:
        """The run as a question about all of its decisions."""
        info = self.info
        return {"scenario": info.scenario_hash, "policy": info.policy, "params": info.params, "seed": info.seed}


@dataclass(frozen=True, eq=False)
class Inspector(Generic[Answer]):
    """A view into the decisions of runs of some ``policies``.

    ``demo``, under the button ``run_demo``, is a scenario with the policies to run on it; the last one is opened.
    """

    title: str
    answers: Answers[Any, Answer]
    policies: Sequence[str]
    run_demo: str
    demo_help: str
    demo: Callable[[], tuple[Scenario, Sequence[str]]]

    def start_demo(self) -> None:
        """Run the demo and look at it from now on; a callback of its button."""
        sample, policies = self.demo()
        session.keep(sample)
        tasks = [RunTask(sample, key, {}, 0, find(key).label) for key in policies]
        self.answers.work.begin(session.runner().submit(tasks))

    def story_button(self, job: str) -> None:
        """Show the way to the story of a job, in the part Jobs."""
        if st.button("Show why it waited", key=f"{self.answers.key}-story", help=STORY_HELP):
            st.session_state["open_job"] = job
            st.rerun()

    def how(self, text: str) -> None:
        """Show how the page comes to its numbers."""
        with st.expander("How it is computed", key=f"{self.answers.key}-how"):
            st.markdown(text)


@dataclass(frozen=True, eq=False)
class DecisionInspector(Inspector[Any], Generic[Kept]):
    """A view that shows one decision of a run after the other.

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
        """Show number, previous, next and a jump; return the decision that is looked at."""
        last, run_id, prefix = len(decisions), run.info.run_id, self.answers.key
        number = self._number(run_id, last, jump.number)
        steps = (
            ("Previous", "previous", number - 1, number <= 1, None),
            ("Next", "next", number + 1, number >= last, None),
            (jump.label, "largest", jump.number, number == jump.number, jump.why),
        )
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            st.number_input(f"{self.spec.noun.capitalize()} (of {last:,})", 1, last, key=self.number_key(run_id),
                            width=170, help=hint)  # fmt: skip
            for label, key, to, disabled, why in steps:
                st.button(label, key=f"{prefix}-{key}", on_click=self.go_to, args=(run_id, to), disabled=disabled,
                          help=why)  # fmt: skip
            st.markdown(f":gray[{loaders.clock(run_id).moment(float(decisions['time_s'].iloc[number - 1]))}]")
        return number

    def _number(self, run_id: str, last: int, usual: int) -> int:
        """Return the decision that is looked at: of this tab, else of the URL, else the usual one."""
        key, param = self.number_key(run_id), self.spec.noun
        if key not in st.session_state:
            named = st.query_params.get(param, "")
            is_number = named.isascii() and named.isdecimal() and len(named) < 9
            if not is_number:
                link.misread(param)
            st.session_state[key] = min(max(int(named) if is_number else usual, 1), last)
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


@shared
def decisions(run_id: str) -> pd.DataFrame:
    """Return the decisions of a run, numbered from 1."""
    return decisions_of(session.store().decisions(run_id))
