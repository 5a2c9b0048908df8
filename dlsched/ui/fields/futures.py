"""The futures a study looks at: how many draws, and what differs between them beside what the scenario draws."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.studies.design import Replications
from dlsched.studies.design.variants import Value
from dlsched.ui.frame.text import safe
from dlsched.wording.certainty import NOTHING_VARIES
from dlsched.wording.formats import amount, share
from dlsched.wording.settings import VARY_LABELS, vary_help, vary_words

DRAWS, MOST_DRAWS, MOST_CONFIRM = 10, 200, 400
SPREAD, FAILURES = "run_time_spread", "failures"
USUAL: Mapping[str, Value] = {"days": 1.0, SPREAD: 0.3, FAILURES: 480.0}
"""Values of what varies, once it is chosen: run times ± 30%, each node fails every 20 days."""


@dataclass(frozen=True)
class Futures:
    """So many draws, and what is drawn anew for each by key; ``confirm`` fresh draws of a study that has them."""

    draws: int = DRAWS
    vary: Mapping[str, Value] = field(default_factory=dict)
    confirm: int = 0

    @property
    def replications(self) -> Replications:
        """The draws 0, 1, … with what varies."""
        return Replications(seeds=tuple(range(self.draws)), vary=dict(self.vary))


def fill(prefix: str, tag: str, futures: Futures) -> None:
    """Give the fields of a form their values; ``prefix`` and ``tag`` begin and end their keys."""
    vary = {**USUAL, **futures.vary}
    st.session_state[_key(prefix, "draws", tag)] = futures.draws
    st.session_state[_key(prefix, "confirm", tag)] = futures.confirm
    st.session_state[_key(prefix, "vary", tag)] = [key for key in VARY_LABELS if key in futures.vary]
    st.session_state[_key(prefix, "spread", tag)] = round(100 * float(vary[SPREAD]))
    st.session_state[_key(prefix, "fails", tag)] = float(vary[FAILURES]) / 24


def chosen(prefix: str, tag: str) -> Futures:
    """Return what the fields say."""
    state = st.session_state
    draws, confirm = (int(state[_key(prefix, name, tag)]) for name in ("draws", "confirm"))
    names = state.get(_key(prefix, "vary", tag)) or []
    percent, days = state[_key(prefix, "spread", tag)], state[_key(prefix, "fails", tag)]
    values = {"days": 1.0, SPREAD: percent / 100, FAILURES: 24.0 * days}
    return Futures(draws, {key: value for key, value in values.items() if key in names}, confirm)


def fields(
    prefix: str,
    tag: str,
    scenario: Scenario,
    label: str = "Draws",
    *,
    exact: bool = False,
    least: int = 1,
    confirms: bool = True,
    without: Collection[str] = (),
    on_change: Callable[[], None] | None = None,
) -> Futures:
    """Show the fields in a menu that says what they hold, after :func:`fill`; return what they say.

    Parameters
    ----------
    label
        Of the number of draws.
    exact
        Nothing is random, so that one draw says all: their number cannot be chosen.
    least
        Draws at the least; from 2 on there is an interval.
    confirms
        Whether the study has fresh draws too, where there are any.
    without
        Keys that cannot vary here.
    """
    vary_key = _key(prefix, "vary", tag)
    offered = [key for key in VARY_LABELS if key not in without]
    st.session_state[vary_key] = [key for key in st.session_state[vary_key] or [] if key in offered]
    now = chosen(prefix, tag)
    confirm = now.confirm if confirms else 0
    with st.popover(safe(words(replace(now, confirm=confirm), scenario, exact=exact), 90), key=f"{prefix}-draws-menu",
                    help="How often everything random is drawn, and what differs from draw to draw"):  # fmt: skip
        if own := varying(scenario):
            st.markdown(f"Drawn anew in any case: {safe(own, 300)}.")
        st.pills(
            "Vary also", offered, selection_mode="multi", key=vary_key, persist_state="session",
            format_func=VARY_LABELS.__getitem__, help=vary_help(), on_change=on_change,
        )  # fmt: skip
        if SPREAD in now.vary:
            _number(prefix, "spread", tag, "Run times, spread (± %)", 1, 500, on_change,
                    "Coefficient of variation; at 30% most are within 0.6x and 1.5x")  # fmt: skip
        if FAILURES in now.vary:
            _number(prefix, "fails", tag, "Each node fails every (days)", 0.01, 40_000.0, on_change,
                    "Mean time between two failures of one node")  # fmt: skip
        draws_field(_key(prefix, "draws", tag), label, exact=exact, least=least, on_change=on_change)
        if confirm:
            _number(prefix, "confirm", tag, "Fresh draws that confirm a size", 2, MOST_CONFIRM, on_change,
                    "The size found was chosen because it looked good: only draws it was not chosen by say if it is",
                    disabled=exact)  # fmt: skip
        if exact:
            st.markdown(NOTHING_VARIES)
    return chosen(prefix, tag)


def draws_field(
    key: str,
    label: str = "Draws",
    *,
    exact: bool,
    least: int = 1,
    on_change: Callable[[], None] | None = None,
) -> int:
    """Show the number of draws, which the session holds under a key; where one says all it cannot be chosen."""
    return int(
        st.number_input(label, least, MOST_DRAWS, key=key, persist_state="session", disabled=exact, on_change=on_change,
                        help="How often everything random is drawn again. All sides meet the same draws; more draws, "
                        "narrower intervals")
    )  # fmt: skip


def _number(
    prefix: str, name: str, tag: str, label: str, least: float, most: float, on_change: Callable[[], None] | None,
    why: str, *, disabled: bool = False,
) -> None:  # fmt: skip
    st.number_input(label, least, most, key=_key(prefix, name, tag), persist_state="session", on_change=on_change,
                    help=why, disabled=disabled, format="%g" if isinstance(least, float) else None)  # fmt: skip


def words(futures: Futures, scenario: Scenario, *, exact: bool) -> str:
    """Return how many draws there are and what varies: "10 draws, 40 to confirm: days resampled, run times ± 30%"."""
    if exact:
        return "One trace, nothing random"
    own = ["generated jobs"] if scenario.generator is not None else []
    if not own and varying(scenario):
        own = ["what is random in the scenario"]
    varies = ", ".join([*own, *vary_words(futures.vary)])
    confirm = f", {futures.confirm} to confirm" if futures.confirm else ""
    return f"{amount(futures.draws, 'draw')}{confirm}" + (f": {varies}" if varies else "")


def varying(scenario: Scenario) -> str:
    """Return what the scenario itself draws anew, in words; "" for nothing."""
    options = scenario.options
    parts = []
    if scenario.generator is not None:
        parts.append("the jobs, drawn anew from their mix")
    if options.estimate_error:
        parts.append(f"believed run times (± {share(options.estimate_error)})")
    if options.bug_share:
        parts.append(f"which {share(options.bug_share)} of the jobs die early")
    if options.cancel_share:
        parts.append(f"which {share(options.cancel_share)} of the jobs are cancelled")
    return "; ".join(parts)


def _key(prefix: str, name: str, tag: str) -> str:
    return f"{prefix}-{name}-{tag}" if tag else f"{prefix}-{name}"
