"""What varies between the draws of a what-if, chosen by the reader."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.studies.design import Replications
from dlsched.studies.design.variants import Value
from dlsched.studies.what_if import DRAWS, WhatIfSpec, is_exact
from dlsched.ui.frame.text import safe
from dlsched.ui.plan import what_if_work
from dlsched.ui.simulate import run_view
from dlsched.wording.formats import amount
from dlsched.wording.settings import VARY_LABELS, vary_help, vary_words

DAYS, SPREAD, FAILURES = "days", "run_time_spread", "failures"
USUAL: dict[str, Value] = {DAYS: 1, SPREAD: 0.3, FAILURES: 500.0}
MOST_DRAWS_HERE = 200


def words(spec: WhatIfSpec, scenario: Scenario) -> str:
    """Return how many draws there are and what varies, in a few words."""
    if is_exact(spec, scenario):
        return "one trace, nothing random"
    own = ["generated jobs"] if scenario.generator is not None else []
    if not own and run_view.varying(scenario):
        own = ["what is random in the scenario"]
    varies = ", ".join([*own, *vary_words(spec.draws.vary)]) or "the policy's own random numbers"
    return f"{amount(len(spec.draws.seeds), 'draw')}: {varies}"


def choose(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Ask what varies between draws and how many there are."""
    with st.popover(safe(words(spec, scenario), 90), key="whatif-draws-menu", help="What varies between draws"):
        own = run_view.varying(scenario)
        if own:
            st.markdown(f"Drawn anew in any case: {safe(own, 300)}.")
        vary = spec.draws.vary
        st.session_state["whatif-vary"] = [key for key in VARY_LABELS if key in vary]
        st.pills(
            "Vary also", list(VARY_LABELS), selection_mode="multi", format_func=VARY_LABELS.__getitem__,
            key="whatif-vary", on_change=_vary, help=vary_help(),
        )  # fmt: skip
        if SPREAD in vary:
            st.session_state["whatif-vary-spread"] = round(100 * float(vary[SPREAD]))
            st.number_input("Run times, spread (± %)", 1, 500, key="whatif-vary-spread", on_change=_vary,
                            help="Coefficient of variation; at 30% most are within 0.6x and 1.5x")  # fmt: skip
        if FAILURES in vary:
            st.session_state["whatif-vary-failures"] = float(vary[FAILURES]) / 24
            st.number_input("Each node fails every (days)", 0.01, 40_000.0, key="whatif-vary-failures", format="%g",
                            on_change=_vary, help="Mean time between two failures of one node")  # fmt: skip
        exact = is_exact(spec, scenario)
        st.session_state["whatif-draws"] = len(spec.draws.seeds)
        st.number_input("Draws", 1, MOST_DRAWS_HERE, key="whatif-draws", on_change=_vary, disabled=exact,
                        help="Both sides meet the same draws; more draws, narrower intervals")  # fmt: skip
        if exact:
            st.markdown("Nothing varies: exact for this trace, not a forecast. Vary something to get intervals.")


def vary_run_times() -> None:
    """Draw run times anew: the offer where nothing is random."""
    spec: WhatIfSpec = st.session_state[what_if_work.SPEC]
    what_if_work.put(spec.model_copy(update={"draws": _draws({SPREAD: USUAL[SPREAD]}, DRAWS)}))


def _vary() -> None:
    """Take over what the widgets say."""
    spec: WhatIfSpec = st.session_state[what_if_work.SPEC]
    chosen = st.session_state["whatif-vary"]
    values: dict[str, Value] = {}
    for key in (one for one in VARY_LABELS if one in chosen):
        values[key] = spec.draws.vary.get(key, USUAL[key])
    if SPREAD in values and SPREAD in spec.draws.vary:
        values[SPREAD] = st.session_state["whatif-vary-spread"] / 100
    if FAILURES in values and FAILURES in spec.draws.vary:
        values[FAILURES] = 24.0 * st.session_state["whatif-vary-failures"]
    many = int(st.session_state["whatif-draws"])
    if values.keys() - spec.draws.vary.keys() and many == 1:
        many = DRAWS
    what_if_work.put(spec.model_copy(update={"draws": _draws(values, many)}))


def _draws(vary: dict[str, Value], many: int) -> Replications:
    return Replications(seeds=tuple(range(many)), vary=vary)
