"""The controls of the Throughput page: source of the times, network, nodes and servers, alpha."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError
from dlsched.speed.network_fit import BAD_FIT
from dlsched.studies.speed_models.throughput import MEASURED, NETWORK_WORDS, SpeedCurves
from dlsched.ui.frame.parts import error_box
from dlsched.ui.lab.throughput_source import SOURCES, TIMES, UPLOAD, Source, four_times, layout_form, study_network
from dlsched.ui.lab.throughput_upload import measurements_file, series_of

LINKS = {NETWORK_WORDS[network]: network for network in ("hybrid", "exact", "fcfs")}
LINKS_HELP = (
    "How transfers meet on the server's link. Hybrid: one after the other on idle links, shared on busy ones. "
    "Exact: shared. FCFS: one after the other."
)
ALPHA_HELP = "The knee is the last width whose nodes each still cut the time by this share or more"


@dataclass(frozen=True, eq=False)
class TimingsInput:
    """What the controls say: the curves, where they come from, and examples of a mini-batch where given."""

    curves: SpeedCurves
    source: Source
    batch: float | None


def chosen() -> tuple[TimingsInput | None, DeltaGenerator]:
    """Show the controls; return what they say, None while there is no curve, and a place for the next steps."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.segmented_control(
            "How fast a step is", SOURCES, default=TIMES, required=True, key="source", bind="query-params",
            help="Four times of a mini-batch, a network of the HELL/KNEE study, or measurements of yours",
        )  # fmt: skip
        st.space("stretch")
        action = st.container(width="content")
    try:
        return _asked(source), action
    except DlschedError as error:
        error_box(error)
        return None, action


def _asked(kind: str | None) -> TimingsInput | None:
    given = measurements_file() if kind == UPLOAD else None
    if kind == UPLOAD and given is None:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = series_of(*given) if given else four_times() if kind == TIMES else study_network()
        looked_at = _network(source)
        alpha = st.slider(
            "Knee at (alpha)", 0.001, 0.2, 0.01, 0.001, key="alpha", bind="query-params", format="percent", width=150,
            help=ALPHA_HELP,
        )  # fmt: skip
        layout, batch = layout_form(source)
    best = None if source.fits is None else source.fits.best
    curves = SpeedCurves(
        source.times, layout, looked_at, alpha,
        measured=None if best is None else best.measured, beside="hybrid" if best is None else best.network,
    )  # fmt: skip
    return TimingsInput(curves, source, batch)


def _network(source: Source) -> str:
    """Ask which curve is looked at; begin with the measured one where no network comes near it."""
    if source.fits is None:
        word = st.segmented_control(
            "Links", list(LINKS), default="hybrid", required=True, key="links", bind="query-params", help=LINKS_HELP
        )
        return LINKS[word or "hybrid"]
    best = source.fits.best
    begin = NETWORK_WORDS[MEASURED if best.mean_error > BAD_FIT else best.network]
    word = st.segmented_control(
        "Curve", [*LINKS, MEASURED], default=begin, required=True, key=f"curve-{source.tag}",
        help=f"The one that is looked at and goes to your jobs. {LINKS_HELP}",
    )  # fmt: skip
    return LINKS.get(word or begin, MEASURED)
