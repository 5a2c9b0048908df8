"""The futures of a scenario: chosen once in the scenario bar, the same on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.studies.design import Futures, usual_futures
from dlsched.studies.design.futures import REPLAYS
from dlsched.studies.design.shaking import SLURM
from dlsched.studies.design.variants import Value
from dlsched.ui.frame import identity, session
from dlsched.ui.frame.text import safe
from dlsched.wording.assumptions import is_random
from dlsched.wording.formats import amount, listed, share
from dlsched.wording.settings import VARY_LABELS, vary_help, vary_words

PREFIX = "futures/"
"""Key of the setting in the store: one for each family of versions of a scenario."""
MOST = 200
SPREAD, FAILURES = "run_time_spread", "failures"
USUAL: Mapping[str, Value] = {"days": 1.0, SPREAD: 0.3, FAILURES: 480.0, "shaking": 1.0}
"""Values of what varies, once it is chosen: run times ± 30%, each node fails every 20 days."""


def futures_of(scenario: Scenario, baseline: str = "") -> Futures:
    """Return the futures that all pages look at: those that were chosen, else the usual ones under a baseline."""
    chosen = _chosen(scenario)
    usual = usual_futures(scenario, baseline)
    if chosen is None:
        return usual
    try:
        found = Futures.first(int(chosen["count"]), chosen["vary"])
    except (DlschedError, ValueError, KeyError, TypeError):  # of an older version of this program
        return usual
    return found if scenario.generator is None else Futures.first(found.count)


def _chosen(scenario: Scenario) -> Any:
    return session.setting(PREFIX + session.lineage_of(scenario))


def choose(scenario: Scenario, futures: Futures) -> None:
    """Let all pages look at these futures of a scenario, and of its versions, from now on."""
    now = {"count": futures.count, "vary": futures.vary}
    said = f"futures of {scenario.name}: {', '.join([f'{futures.count:,}', *vary_words(futures.vary)])}"
    session.store().set_setting(PREFIX + session.lineage_of(scenario), now, said)


def menu(scenario: Scenario) -> None:
    """Show what futures there are as a menu of the scenario bar, and change them there."""
    now = futures_of(scenario)
    tag = f"{scenario.content_hash[:8]}-{now.count}-{'-'.join(now.vary)}"
    with st.popover(safe(words(scenario, now), 60), key="futures-menu"):
        st.markdown("**Futures of this scenario**, the same on every page")
        st.markdown(_explained(scenario, now))
        if usual_futures(scenario, SLURM) not in (now, usual_futures(scenario)) and not _chosen(scenario):
            st.markdown(
                f"Where the baseline is Slurm, What if takes {REPLAYS} replays of the log until you choose here."
            )
        if reason := identity.why_not():
            st.markdown(f":gray[{reason}.]")
            return
        count = st.number_input(
            "Futures besides future 0", 0, MOST, now.count, key=f"futures-count-{tag}",
            help="With 40 a change must be better in 38 to be called better; with 10, in all of them",
        )  # fmt: skip
        vary = {} if scenario.generator is not None else _vary(now, tag)
        wanted = Futures.first(int(count), vary)
        if wanted != now:
            choose(scenario, wanted)
            st.rerun()


def _vary(now: Futures, tag: str) -> dict[str, Value]:
    names = st.pills(
        "What differs between futures", list(VARY_LABELS), selection_mode="multi", default=list(now.vary),
        key=f"futures-vary-{tag}", format_func=VARY_LABELS.__getitem__, help=vary_help(),
    )  # fmt: skip
    values = {**USUAL, **now.vary}
    if SPREAD in names:
        percent = st.number_input(
            "Run times, spread (± %)", 1, 500, round(100 * float(values[SPREAD])), key=f"futures-spread-{tag}",
            help="Coefficient of variation; at 30% most are within 0.6x and 1.5x",
        )  # fmt: skip
        values[SPREAD] = percent / 100
    if FAILURES in names:
        days = st.number_input(
            "Each node fails every (days)", 0.01, 40_000.0, float(values[FAILURES]) / 24, format="%g",
            key=f"futures-failures-{tag}", help="Mean time between two failures of one node",
        )  # fmt: skip
        values[FAILURES] = 24 * days
    return {key: values[key] for key in VARY_LABELS if key in names}


def words(scenario: Scenario, futures: Futures) -> str:
    """Return what futures there are in a few words: "Recorded + 40 futures", "21 futures", "As recorded"."""
    if futures.are_replays:
        return amount(len(futures.seeds), "replay")
    if futures.vary and futures.count:
        return f"Recorded + {amount(futures.count, 'future')}"
    if is_random(scenario):
        return amount(len(futures.seeds), "future")
    return "As recorded"


def _explained(scenario: Scenario, futures: Futures) -> str:
    """Return what future 0 is, and what the others are made of."""
    if scenario.generator is not None:
        return "Every future is a new draw of the jobs from their mix."
    if not futures.vary:
        own = _drawn_words(scenario)
        drawn = f"Each future draws {own} again." if own else "Nothing differs between futures: one run is enough."
        return f"The jobs are as recorded. {drawn}"
    if futures.are_replays:
        return f"Every future is a replay of what was recorded, with {listed(vary_words(futures.vary))}."
    return f"Future 0 is what was recorded. The others are made from it: {listed(vary_words(futures.vary))}."


def _drawn_words(scenario: Scenario) -> str:
    """Return what the rules of the simulation draw anew in every future; "" for nothing."""
    options = scenario.options
    drawn = {
        "believed run times (± {})": options.estimate_error,
        "which {} of the jobs crash early": options.bug_share,
        "which {} of the jobs are cancelled": options.cancel_share,
    }
    parts = [words_of.format(share(part)) for words_of, part in drawn.items() if part]
    parts += ["when spot nodes are taken back"] if scenario.cluster.has_evictions else []
    return listed(parts) if parts else ""
