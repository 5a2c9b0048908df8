"""What the page Parameter servers says of a job: sentence, cards, table of times, layers, and how it is computed."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.domain.utility import has_utility
from dlsched.figures.palette import Theme
from dlsched.figures.pipeline import WORDS
from dlsched.figures.servers import MOST_NAMED, layer_charts, numbers_of, split_chart, width_chart
from dlsched.studies.speed_models.server_split import (
    ServerSplit,
    enough_servers,
    split_sentence,
    unlimited_words,
    worth_at,
    worthless_words,
)
from dlsched.ui.frame import charts, session
from dlsched.ui.frame.parts import cards, chips, guard_rails, mistakes_shown, sentence
from dlsched.ui.lab.servers_form import DescribedInput
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import amount, duration, number, share

MOST_BESIDE = 12
OPTIMUS = (
    "With the same admission rule Optimus is within 0.5% of SMD. :gray[That is over many jobs as in the SMD study, all "
    "on one cluster; the lead that the study shows comes from whom Optimus admits, first come first served.]"
)


def next_step(current: Scenario, action: DeltaGenerator) -> None:
    """Show what comes after this page: run policies where the scenario has such jobs, else generate some."""
    if current.workload.has_servers:
        if action.button("Next: run policies", type="primary", key="ps-run"):
            session.go("simulate/run.py")
    elif action.button(
        "Generate such jobs", key="ps-generate", type="primary" if not _asks_for_sample() else "secondary",
        help="Opens Workload, where a whole batch of jobs with parameter servers can be drawn",
    ):  # fmt: skip
        session.go("scenario/workload.py")


def _asks_for_sample() -> bool:
    return "ps-sample" in st.session_state


def answer(asked: DescribedInput) -> None:
    """Show banners, sentence, cards, the table of times, assumptions, then workers alone and the layers."""
    found, theme = asked.split, charts.page_theme()
    guard_rails(_guards(asked))
    sentence(split_sentence(found))
    cards(_cards(found))
    with st.container(horizontal=True, vertical_alignment="center"):
        chips(list(asked.chips), "servers")
        st.markdown(_worth(asked))
    if len(found.window[0]) > MOST_BESIDE:  # numbers of so many columns need the whole width
        _table(found, theme)
        left, right = st.columns([3, 2], gap="medium")
        with left:
            charts.show(width_chart(found, theme), "widths")
    else:
        left, right = st.columns([3, 2], gap="medium")
        with left:
            _table(found, theme)
        with right:
            charts.show(width_chart(found, theme), "widths")
    with right:
        st.markdown(_parts(found))
        st.markdown(OPTIMUS)
    _layers(asked)


def _table(found: ServerSplit, theme: Theme) -> None:
    charts.show(split_chart(found, theme), "split", caption=found.is_cut)


def _guards(asked: DescribedInput) -> list[Caution]:
    problem, best_s = asked.split.problem, asked.split.best.time
    worthless = worthless_words(asked.jobs, asked.options, problem.mode, asked.row, best_s)
    texts = (unlimited_words(problem), worthless)
    return [Caution("orange", text) for text in texts if text]


def _cards(found: ServerSplit) -> list[tuple[str, str, str]]:
    best, alike, grown = found.best, found.equal, found.optimus
    used, resource = found.used
    label = f"Limit used, {resource}" if resource else "Limit used"
    which = f"Of {resource} the largest share is used." if resource else "The job has no limit."
    return [
        ("Best, SMD", duration(best.time), f"With {numbers_of(best)}: the least time of all numbers within the limit, "
         "proven by looking at every number of servers."),
        ("Equal numbers, ESW", duration(alike.time), f"With {numbers_of(alike)}: as many of each as the limit holds. "
         f"{_longer(alike.time, best.time)}"),
        ("Optimus", duration(grown.time), f"With {numbers_of(grown)}: from one of each, one more at a time of what "
         f"saves more, until neither helps. {_longer(grown.time, best.time)}"),
        (label, share(used) if resource else "–", f"By SMD's numbers. {which} Where a policy reserves the limit, the "
         "rest stays unused."),
    ]  # fmt: skip


def _longer(time_s: float, best_s: float) -> str:
    over = time_s / best_s - 1
    return f"{share(over)} longer than the best." if over > 1e-9 else "As fast as the best."


def _parts(found: ServerSplit) -> str:
    parts = found.parts
    total = sum(parts)
    told = (("computing", parts.computing_s), ("transfers", parts.transfers_s), ("overheads", parts.overhead_s))
    words = ", ".join(f"{share(part / total)} is {name}" for name, part in told)
    return f"Of the best time {words}. {enough_servers(found)}"


def _worth(asked: DescribedInput) -> str:
    """Return what the job is worth with each rule; "" where it has no utility."""
    if not has_utility(asked.jobs):
        return ":gray[These jobs have no utility: only their time is compared.]"
    worths = {
        name: number(worth_at(asked.jobs, asked.options, asked.row, one.time))
        for name, one in asked.split.choices.items()
    }
    at_once = number(float(asked.jobs.utility_1[asked.row]))  # type: ignore[index]
    others = f"{worths['ESW']} with equal numbers, {worths['Optimus']} with Optimus"
    return f"Worth {worths['SMD']} of {at_once} when it starts at once; {others}."


def _layers(asked: DescribedInput) -> None:
    st.subheader("Layers of one iteration", anchor=False)
    if asked.layers is None:
        st.markdown(
            "The layers of this job are not known, only the times of its steps. Describe a job to see how its layers "
            "overlap."
        )
        return
    uses = next((word for key, word in WORDS.items() if key == asked.overlap), asked.overlap)
    if len(asked.layers) > MOST_NAMED:
        bars = f"of more than {MOST_NAMED} layers bars that touch are drawn joined, hovering names the layer"
    else:
        bars = "numbers in bars are layers, 1 is nearest to the input"
    st.markdown(
        f":gray[{amount(len(asked.layers), 'layer')}, on one worker; {bars}. The job above uses: {uses}. The dashed "
        "line is the end of the iteration.]"
    )
    with mistakes_shown():
        for place, chart in enumerate(layer_charts(asked.layers, charts.page_theme())):
            charts.show(chart, f"layers-{place}")


def how() -> None:
    """Show the model in words."""
    with st.expander("How it is computed", key="servers-how"):
        st.markdown(HOW)


HOW = """
Workers compute gradients; parameter servers gather them and send the new parameters back. One training step takes

- **computing**: forward over the samples, backward over the layers. Synchronous workers share the samples of a step, so
  forward gets shorter with each worker; asynchronous workers each make steps of their own, more with each worker.
- **transfers**: the model is sent both ways over the servers' links. More workers share a link, more servers have more
  links: the time grows with workers over servers. Only what computing does not hide counts, by the layers below.
- **overheads**: some seconds for each worker and each server.

**Best (SMD)**: beside each number of servers the best number of workers is known in closed form; every number of
servers is looked at, so nothing within the limit is faster. **Equal numbers (ESW)**: one server for each worker, as
many as the limit holds, also where fewer would be faster: the study does not say how many. **Optimus**: from one of
each, one more of what saves more time, while it helps. Its steps are compared by time and not by worth, which vanishes
where a job is late.

**Layers**: *one after the other* computes backward, then pushes all gradients, pulls all parameters, then computes
forward. *Wait-free* pushes a layer once its gradient is there, and pulls it when it is pushed. *Priority* sends the
layers nearest to the input first, so that forward begins sooner; its published formula is corrected here. Shares of
forward, backward and transfers on the longest chain say how much of each counts in a step.
"""
