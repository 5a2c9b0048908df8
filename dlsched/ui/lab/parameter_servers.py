"""The part Parameter servers of Speed-up: a job of the scenario or one that is described, and what it says of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.figures.pipeline import WORDS
from dlsched.figures.servers import MOST_NAMED, layer_charts, split_chart, width_chart
from dlsched.speed.pipeline import Layers
from dlsched.studies.speed_models.server_split import (
    OPTIMUS,
    ServerSplit,
    layers_sentence,
    parts_words,
    split_cards,
    split_of,
    split_sentence,
    unlimited_words,
    worth_words,
    worthless_words,
)
from dlsched.ui.frame import charts, link, session
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.parts import cards, chips, empty, error_box, guard_rails, mistakes_shown, sentence
from dlsched.ui.lab import described_job
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import amount, number
from dlsched.workload.studies.registry import parse
from dlsched.workload.studies.smd import ServerJobsSpec, layers_of, sample_server_jobs

# ---- controls -------------------------------------------------------------------------------------------


SCENARIO, DESCRIBED = "Job of the scenario", "Describe a job"
SPLIT, LAYERS = "Workers and servers", "Layers"
VIEW = "servers_view"
"""Key of the control, and parameter of the URL, that says which view is open."""
MOST_OFFERED = 2000


@dataclass(frozen=True, eq=False)
class DescribedInput:
    """The job that is looked at, its answer, and its layers where they are known; ``overlap`` is what it uses."""

    jobs: Workload
    row: int
    options: SimulationRules
    split: ServerSplit
    layers: Layers | None
    overlap: str
    chips: tuple[Premise, ...]


def chosen(current: Scenario) -> tuple[DescribedInput | None, str, DeltaGenerator]:
    """Show the controls.

    Returns what they ask (None if that has no answer: it says why), which view is open, and a place for buttons.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        begin = SCENARIO if current.workload.has_servers else DESCRIBED
        source = st.segmented_control(
            "Job", (SCENARIO, DESCRIBED), default=begin, required=True, key="ps_source", bind="query-params",
            help="A job with parameter servers of the scenario in the bar above, or one that you describe",
        )  # fmt: skip
        place = st.container(width="content")
        view = st.segmented_control(
            "View", (SPLIT, LAYERS), default=SPLIT, required=True, key=VIEW, bind="query-params"
        )
        st.space("stretch")
        action = st.container(width="content")
    if source == SCENARIO and not current.workload.has_servers:
        _no_servers()
        return None, str(view), action
    try:
        return (_of_scenario(current, place) if source == SCENARIO else _described(place)), str(view), action
    except DlschedError as error:
        error_box(error)
        return None, str(view), action


def _no_servers() -> None:
    def opened() -> None:
        session.keep(sample_server_jobs())
        st.rerun()

    empty(
        "No job of this scenario has parameter servers. Describe a job instead, or open a scenario that has some.",
        "Open the sample: 50 jobs with parameter servers", opened, "ps-sample", computes=True,
    )  # fmt: skip


def _of_scenario(current: Scenario, place: DeltaGenerator) -> DescribedInput:
    """Ask for a job of the scenario; its number is kept in the URL, never its name.

    Raises
    ------
    InputError
        The job has no times of a step, or its limit does not hold one worker and one server.
    """
    jobs = current.workload
    row = _row(jobs, current.content_hash[: session.HASH_DIGITS], place)
    updates = current.speed.updates
    split = split_of(jobs, updates, row, current.cluster)
    chips = [Premise("one node", "All workers and servers are taken to be as near as on one node, at speed 1.")]
    layers, overlap = _layers_by_job(current).get(str(jobs.job_id[row])), ""
    if layers is not None and current.generator is not None:
        overlap = str(current.generator.get("overlap", ""))
        chips.append(Premise(f"generated, seed {current.seed}", "Drawn from the ranges of the SMD study.", "Jobs"))
    return DescribedInput(jobs, row, current.options, split, layers, overlap, tuple(chips))


def _row(jobs: Workload, tag: str, place: DeltaGenerator) -> int:
    rows = np.flatnonzero(jobs.servers > 0).tolist() if jobs.servers is not None else []
    offered = rows[:MOST_OFFERED]
    key, named = f"ps-job-{tag}", st.query_params.get("job", "")
    linked = int(named) if named.isascii() and named.isdecimal() and len(named) < 10 else -1
    if linked in set(rows) and linked not in offered:
        offered = [*offered, linked]
    if linked not in offered:
        link.misread("job")
    if key not in st.session_state and linked in offered:
        st.session_state[key] = linked
    more = f" The first {MOST_OFFERED:,} of {len(rows):,} are offered." if len(rows) > MOST_OFFERED else ""
    row = place.selectbox(
        "Which job", offered, format_func=lambda one: str(jobs.job_id[one])[:60], key=key, width=200,
        help=f"{amount(len(rows), 'job')} of the scenario with parameter servers, by submission.{more}",
    )  # fmt: skip
    st.query_params["job"] = str(row)
    return int(row)


def _layers_by_job(current: Scenario) -> dict[str, Layers]:
    """Return the layers of each job where the generator can draw them again; empty where they are not known."""
    if current.generator is None:
        return {}
    return _drawn_layers(current.content_hash, current)


@shared
def _drawn_layers(content_hash: str, _scenario: Scenario) -> dict[str, Layers]:
    spec = parse(_scenario.generator or {})
    return layers_of(spec, _scenario.seed) if isinstance(spec, ServerJobsSpec) else {}


def _described(place: DeltaGenerator) -> DescribedInput:
    """Ask for all that makes a job.

    Raises
    ------
    InputError
        Numbers that no job can have, or a limit that does not hold one worker and one server.
    """
    job, options, where = described_job.form(place)
    jobs = job.workload()
    split = split_of(jobs, job.updates, 0)
    samples = "the batch of a step, shared by the workers" if job.updates == "sync" else "a worker's mini-batch"
    chips = [
        where,
        Premise(
            f"{job.overlap} overlap" if job.overlap != "sequential" else "no overlap",
            "What the layers hide of each other is taken to be the same for any number of workers and servers.",
        ),
        Premise(f"{number(job.samples)} samples", f"They are {samples}. Backward is taken to last as long with any."),
        Premise("one node", "Time that more nodes may cost is left out."),
    ]
    return DescribedInput(jobs, 0, options, split, job.layers, job.overlap, tuple(chips))


# ---- the answer -----------------------------------------------------------------------------------------


MOST_BESIDE = 12


def next_step(current: Scenario, action: DeltaGenerator) -> None:
    """Show what comes after this part: run policies where the scenario has such jobs, else generate some."""
    if current.workload.has_servers:
        if action.button("Next: run policies", type="primary", key="ps-run"):
            session.go("Run")
    elif action.button(
        "Generate such jobs", key="ps-generate", type="primary" if not _asks_for_sample() else "secondary",
        help="Opens Jobs, where you can generate a whole batch of jobs with parameter servers",
    ):  # fmt: skip
        session.go("Jobs")


def _asks_for_sample() -> bool:
    return "ps-sample" in st.session_state


def show(described: DescribedInput) -> None:
    """Show banners, sentence, cards, the table of times, assumptions, and workers alone."""
    split, theme = described.split, charts.page_theme()
    guard_rails(_cautions(described))
    sentence(split_sentence(split), ())
    cards(split_cards(split))
    with st.container(horizontal=True, vertical_alignment="center"):
        chips(list(described.chips), "servers")
        st.markdown(worth_words(described.jobs, described.options, described.row, split))
    is_wide = len(split.window[0]) > MOST_BESIDE  # numbers of so many columns need the whole width
    above = st.container()
    left, right = st.columns([3, 2], gap="medium")
    with above if is_wide else left:
        charts.show(split_chart(split, theme), "split", caption=split.is_cut)
    with left if is_wide else right:
        charts.show(width_chart(split, theme), "widths")
    with right:
        st.markdown(parts_words(split))
        st.markdown(OPTIMUS)


def _cautions(described: DescribedInput) -> list[Caution]:
    problem, best_s = described.split.problem, described.split.best.time
    worthless = worthless_words(described.jobs, described.options, problem.mode, described.row, best_s)
    texts = (unlimited_words(problem), worthless)
    return [Caution("orange", text) for text in texts if text]


def show_layers(described: DescribedInput) -> None:
    """Show how the layers of one iteration overlap, in each of the ways to send them."""
    if described.layers is None:
        st.markdown(
            "The layers of this job are not known, only the times of its steps. Describe a job to see how its layers "
            "overlap."
        )
        return
    sentence(layers_sentence(described.layers), ())
    uses = next((word for key, word in WORDS.items() if key == described.overlap), described.overlap)
    if len(described.layers) > MOST_NAMED:
        bars = f"of more than {MOST_NAMED} layers bars that touch are drawn joined, hovering names the layer"
    else:
        bars = "numbers in bars are layers, 1 is nearest to the input"
    st.markdown(
        f":gray[{amount(len(described.layers), 'layer')}, on one worker; {bars}. This job uses: {uses}. "
        "The dashed line is the end of the iteration.]"
    )
    with mistakes_shown():
        for place, chart in enumerate(layer_charts(described.layers, charts.page_theme())):
            charts.show(chart, f"layers-{place}")
