"""Figs 1, 12, 13 and 14 of the HELL/KNEE study: streams of training jobs on 100 nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dlsched.speed.widths import hell_widths
from dlsched.studies.reproductions.claims import Check, outcome_of
from dlsched.studies.reproductions.hell_knee.networks import PAPER
from dlsched.studies.reproductions.hell_knee.steady import (
    ALIKE,
    SteadyComparison,
    named,
    run_study,
    steady_spec,
    tables,
)
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Setting
from dlsched.wording.formats import PLUS_MINUS
from dlsched.workload.studies.hell_knee import LARGE, TABLE_III, StreamSpec, TrainingNetwork

NODES = 100
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
LOADS_1 = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.66)
UNSTABLE_FROM = 0.3
"""Load from which SRPT's queue grows, by the study's 10–30%."""
MALLEABLE = ("hell", "knee", "srpt", "waterfill", "jsq-chunk")
MOLDABLE = ("moldable-hell", "moldable-knee", "jsq-chunk")


def figure_1(setting: Setting) -> Outcome:
    """Mean response of AlexNet jobs under HELL and JSQ-Chunk."""
    alexnet = tuple(network for network in TABLE_III if network.name == "AlexNet")
    study = _studied(setting, alexnet, LOADS_1, ("hell", "jsq-chunk"))
    checks = [_shorter(study, "hell", "jsq-chunk", load) for load in study.loads]
    return _outcome(study, checks, (study.loads[0], study.loads[-1]), _edge(alexnet[0]))


def _edge(network: TrainingNetwork) -> str:
    """Return which load a cluster can carry on which every job has HELL's width."""
    rates = StreamSpec(nodes=NODES).curve(network)
    width = int(hell_widths(rates)[-1])
    efficiency = rates[width - 1] / (width * rates[0])
    return (
        f"HELL's width for {network.name} is {width} nodes, {efficiency:.2f} of the rate of {width} jobs on one node "
        f"each, so that load {efficiency:.2f} is about the most it can carry."
    )


def figure_12(setting: Setting, networks: Sequence[TrainingNetwork]) -> Outcome:
    """Mean response of malleable policies over load."""
    study = _studied(setting, networks, LOADS, MALLEABLE)
    low, high = study.loads[0], study.loads[-1]
    others = [name for name in study.names if name != "hell"]
    unstable = [load for load in study.loads if study.grows("srpt", load)]
    checks = [
        _alike(study, "hell", "knee", low),
        *(_shorter(study, "hell", name, high) for name in others),
        Check(
            f"srpt grows from load {UNSTABLE_FROM:g} on (grows at {_listed(unstable)})",
            set(unstable) >= {load for load in study.loads if load >= UNSTABLE_FROM},
        ),
        *(_shorter(study, name, "srpt", low) for name in study.names if name != "srpt"),
        *(_always_shorter(study, name, "jsq-chunk") for name in ("hell", "knee")),
    ]
    return _outcome(study, checks, (low, high))


def figure_13(setting: Setting, networks: Sequence[TrainingNetwork]) -> Outcome:
    """Mean response of moldable policies over load."""
    study = _studied(setting, networks, LOADS, MOLDABLE)
    low, high = study.loads[0], study.loads[-1]
    hell, knee, jsq = MOLDABLE
    checks = [
        _alike(study, hell, knee, low),
        _shorter(study, knee, hell, high),
        *(_always_shorter(study, name, jsq) for name in (hell, knee)),
    ]
    return _outcome(study, checks, (low, high), "KNEE's alpha runs from 0.01 to 0.1 with the load; the range is ours.")


def _alike(study: SteadyComparison, name: str, other: str, load: float) -> Check:
    text = f"{name} and {other} within {ALIKE:.0%} at load {load:g} ({study.compared(name, other, load)})"
    return Check(text, study.alike(name, other, load))


def _shorter(study: SteadyComparison, name: str, other: str, load: float) -> Check:
    text = f"{name} shorter than {other} at load {load:g} ({study.compared(name, other, load)})"
    return Check(text, study.shorter(name, other, load))


def _always_shorter(study: SteadyComparison, name: str, other: str) -> Check:
    seen = [load for load in study.loads if study.shorter(name, other, load)]
    text = f"{name} shorter than {other} at all loads (seen at {_listed(seen)})"
    return Check(text, len(seen) == len(study.loads))


def _studied(
    setting: Setting, networks: Sequence[TrainingNetwork], loads: Sequence[float], names: Sequence[str]
) -> SteadyComparison:
    stream = StreamSpec(nodes=NODES, networks=tuple(networks))
    return run_study(setting, steady_spec(setting, stream, loads, named(*names)))


def _outcome(study: SteadyComparison, checks: Sequence[Check], loads: Sequence[float], more: str = "") -> Outcome:
    """Return the outcome: means at some loads in words, all numbers as data."""
    sentences = [f"Load {study.responses(load)}." for load in loads]
    ours = f"Mean response, 95% intervals. {' '.join(sentences)}"
    best = [f"{study.point('jsq-chunk', load).params['chunk']} nodes at load {load:g}" for load in loads]
    notes = (f"JSQ-Chunk's best chunks: {', '.join(best)}.", _capped(study), more)
    return outcome_of(ours, checks, tables(study), " ".join(note for note in notes if note))


def _capped(study: SteadyComparison) -> str:
    """Return at how many points the interval stayed wider than asked for."""
    capped = sum(point.state == "cap reached" for point in study.answer.points)
    if not capped:
        return ""
    target = study.answer.spec.target
    return f"{capped} of {len(study.answer.points)} means are less sure than {PLUS_MINUS} {target:.0%}."


def _listed(loads: Sequence[float]) -> str:
    return ", ".join(f"{load:g}" for load in loads) or "none"


SCHEDULES = (
    PAPER.figure(
        1,
        "AlexNet alone: HELL has shorter mean responses than JSQ-Chunk with its best chunk, at loads 0.1 to 0.66.",
        figure_1,
        CpuTime(10, 19),
    ),
    *(
        PAPER.figure(
            f"12{letter}",
            f"Malleable jobs, {words}: KNEE and HELL are alike at low load, HELL is best at high load, SRPT worst, "
            "JSQ-Chunk above both.",
            partial(figure_12, networks=networks),
            time,
        )
        for letter, networks, words, time in (
            ("a", TABLE_III, "four networks", CpuTime(33, 130, full_is_measured=False)),
            ("b", LARGE, "the two large networks", CpuTime(24, 96, full_is_measured=False)),
        )
    ),
    *(
        PAPER.figure(
            f"13{letter}",
            f"Moldable jobs, {words}: HELL and KNEE are alike at low load, KNEE is better at high load, both are "
            "better than JSQ-Chunk.",
            partial(figure_13, networks=networks),
            time,
        )
        for letter, networks, words, time in (
            ("a", TABLE_III, "four networks", CpuTime(10, 22)),
            ("b", LARGE, "the two large networks", CpuTime(9.1, 19)),
        )
    ),
)
