"""What the Throughput page says of a speed curve: banners, sentence, cards, charts, and how it is computed."""

from __future__ import annotations

import streamlit as st

from dlsched.figures.throughput import speed_up_chart, station_chart
from dlsched.studies.speed_models.throughput import (
    MEASURED,
    NETWORK_WORDS,
    SpeedCurves,
    fit_guards,
    throughput_sentence,
)
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, chips, guard_rails, sentence
from dlsched.ui.lab.throughput_source import Source, stations_words
from dlsched.ui.lab.throughput_upload import fit_section
from dlsched.wording.assumptions import Premise
from dlsched.wording.formats import amount, factor, share
from dlsched.workload.profiles.demo_throughput import NOISE, SEED


def answer(curves: SpeedCurves, source: Source, batch: float | None) -> None:
    """Show banners, sentence, cards, assumptions, the two charts and how well measurements fit."""
    guard_rails(fit_guards(source.fits) if source.fits is not None else [])
    sentence(throughput_sentence(curves))
    cards(_cards(curves))
    with st.container(horizontal=True, vertical_alignment="center"):
        if source.generated:
            st.badge("generated measurements", color="orange", help=generated_why())
        chips(assumptions(curves, source), "throughput")
    theme = charts.page_theme()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        charts.show(speed_up_chart(curves, theme, batch), "throughput")
    with right:
        charts.show(station_chart(curves, theme), "iteration")
    fit_section(source)


def _cards(curves: SpeedCurves) -> list[tuple[str, str, str]]:
    lay, hell, knee = curves.layout, curves.hell, curves.knee
    hell_x, knee_x = factor(curves.speed_up(hell)), factor(curves.speed_up(knee))
    slowest = (
        "Only workers take time: more of them are never in each other's way."
        if curves.bottleneck == "workers"
        else "Where many workers wait for each other: the station with the largest time of its own."
    )
    limit = factor(curves.limit) if curves.limit < float("inf") else "none"
    return [
        ("Speed-up, HELL", hell_x, f"On {lay.words(hell)}, {share(curves.speed_up(hell) / hell)} "
         "efficiency. The HELL point has the best product of speed and efficiency: w / speed² is least."),
        ("Knee", amount(knee, "node"), f"{lay.words(knee)}, {knee_x} as fast: the last width whose nodes each still "
         f"cut the time by {share(curves.alpha)} (alpha) or more."),
        ("Limit of the speed-up", limit, "No number of workers gets past it in this model: the time of one mini-batch "
         "alone, over the longest time at a link or the server."),
        ("Bottleneck", curves.bottleneck.capitalize(), f"{slowest} One mini-batch alone: "
         f"{stations_words(curves.times[curves.model])}."),
    ]  # fmt: skip


def generated_why() -> str:
    """Return what the generated measurements are."""
    return (
        f"Made up: the hybrid network with {NOISE:.0%} noise, seed {SEED}. They show how the fit works and say nothing "
        "of your jobs."
    )


LINKS_WHY = {
    "exact": "Transfers share a link evenly; exact for such a network.",
    "fcfs": "A link carries one transfer after the other; an approximation that may fall with more workers.",
    "hybrid": "One transfer after the other on idle links, shared on busy ones (80% to 100% used); an approximation.",
}


def assumptions(curves: SpeedCurves, source: Source) -> list[Premise]:
    """Return what the curve takes for granted."""
    lay, found = curves.layout, []
    if source.generated:
        found.append(Premise("generated measurements", generated_why()))
    if source.study is not None:
        where = "other nodes than in the study" if source.own_nodes else "1 Gbit/s, 1.229 TFLOP/s, batches of 1,024"
        why = "Times are model size over bandwidth and operations over nominal speed, not measured; the server takes 0."
        found.append(Premise(f"Table III, {where}", why))
    if curves.chosen == MEASURED:
        found.append(Premise("measured curve", "Straight lines between the numbers of workers that were measured."))
    found.append(Premise(f"{NETWORK_WORDS[curves.model]} network", LINKS_WHY[curves.model]))
    if source.fits is not None:
        found.append(Premise("uplink = downlink", "Throughput alone cannot tell them apart."))
        most = int(source.fits.best.measured.workers[-1])
        if curves.chosen != MEASURED and int(lay.num_workers[-1]) > most:
            found.append(Premise(f"extrapolated beyond {amount(most, 'worker')}", "Nothing was measured there."))
    if lay.shared_server:
        found.append(
            Premise("servers cost their nodes nothing", "Every node has a worker, servers run beside them.", "")
        )
    else:
        why = "One node holds a worker with its server, as fast as on two nodes; more nodes are workers and servers."
        servers = "one server node" if lay.servers == 1 else f"{lay.servers} server nodes, fewer on few nodes"
        found.append(Premise(servers, why))
    if lay.servers > 1:
        found.append(Premise("parameters split evenly", "Links and server take 1/m of their time with m servers."))
    stale = "Workers do not wait for each other; that old gradients may need more steps is left out."
    return [*found, Premise("the same steps on any number of nodes", stale)]


def how() -> None:
    """Show the model in words."""
    with st.expander("How it is computed", key="throughput-how"):
        st.markdown(HOW)


HOW = """
Each worker always has one mini-batch under way. It computes a gradient at the worker, which nobody else uses; sends it
over the uplink to the server; the server applies it; the new parameters come back over the downlink. With one worker
that takes the sum of the four times. With more, mini-batches meet at links and server and wait for each other there.

Mean value analysis tells how long, adding one worker at a time: a mini-batch that comes to a station finds there what a
network with one worker less has there on average. Mini-batches per second are then workers over the time of a round.

- **exact**: transfers share a link, the server takes one after the other in random times. Exact for such a network.
- **FCFS**: a link carries one transfer after the other, each as long as the last. Approximate.
- **hybrid**: FCFS on a link that is used below 80%, shared when always used, a mixture in between. Approximate. The
  study found it nearest to its measurements on CPU nodes; on GPU nodes FCFS was nearer for most of its jobs.

**Speed-up** is against one node, a worker with its server. **Efficiency** is speed-up over nodes. **Ideal** is one more
time the speed for each node. The **bound** says what no order of service can pass: workers that never wait, and the
slowest of links and server always busy.

**HELL point**: the width w with the least time over efficiency, that is the least w / speed². **Knee**: nodes are added
while each cuts the time by alpha or more; where a node brings nothing by itself (the first server's), the next one is
judged with it.

**Measurements** are fitted by least squares of the relative errors, from several starts. Throughput tells what the
sum and the slowest station are, not which station it is: uplink and downlink get the same time, and stations that would
not improve the fit stay at 0. Where an error stays above 15% the workers probably wait for each other (synchronous
training), which this network does not model: use the measured curve.
"""
