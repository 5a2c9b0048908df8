"""Figs 9 to 12 of the ModelArts study: queueing time, total time and additional jobs over the size of the pool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from dlsched.metrics.stats.intervals import Interval, mean_interval
from dlsched.studies.reproductions.hell_knee.steady import Check, missed, verdict_of
from dlsched.studies.reproductions.modelarts.runs import (
    ALL,
    FILTERED,
    LONG,
    PAPER,
    Case,
    Measure,
    Study,
    run_study,
    said,
    surely_above,
    total_min,
    wait_min,
)
from dlsched.studies.reproductions.reproduction import Outcome, Reproduction, Setting
from dlsched.wording.formats import PLUS_MINUS, listed, share
from dlsched.workload.studies.modelarts import (
    ALL_MEAN_S,
    EFFICIENCY,
    LONG_JOBS,
    LONG_MEAN_S,
    SPAN_S,
    TRACE_JOBS,
    ModelArtsSpec,
)

LOADS = (1.0, 2.0)
DENSE = (2.0,)
"""Load scale at which Figs 12 to 15 are run: at the published density our trace leaves larger pools half empty."""
STUDY_NODES = range(70, 191, 20)
NEAR = 0.05
"""A share this close to the printed one counts as it; the study gives no interval."""
MOST_ADDITIONAL, MOST_OF_ALL_JOBS, MOST_WAIT_SAVED = 17.4, 24.1, 0.32
FEW = 0.5
"""Additional jobs below this are next to nothing."""
AS_PRECISE = 0.5
"""An interval confirms a printed number only if it is no wider, up or down, than this share of it."""
_SPEC = ModelArtsSpec()
NODES_NEEDED = LONG_JOBS * LONG_MEAN_S / SPAN_S
NODES_USED = NODES_NEEDED / EFFICIENCY ** math.log2(_SPEC.max_nodes)
"""Nodes that the long jobs keep busy on average at load scale 1 with one node each, and with their most nodes each."""
SYNTHETIC = (
    "The jobs are synthetic, as the study's trace is private. Published are their times and not their nodes. With one "
    f"node each, as assumed here, the long jobs keep {NODES_NEEDED:.0f} nodes busy on average at load scale 1, the "
    f"published density, and {NODES_USED:.0f} with their most nodes, {_SPEC.max_nodes} each. What can be gained "
    "depends on how the pool compares with these; sizes of pools cannot be compared with the study's one by one."
)
_DENSER = "At the published density larger pools leave our jobs next to nothing to gain, hence load scale 2."


def figure_9(setting: Setting) -> Outcome:
    """Mean queueing time over the number of nodes."""
    cases = baseline(setting)
    study = run_study(setting, cases)
    checks = []
    for case in cases:
        checks += _times(study, case, "queueing time", wait_min)
        where = max(study.sizes.nodes, key=partial(_wait_saved, study, case))
        largest = _wait_saved(study, case, where)
        text = f"largest cut {MOST_WAIT_SAVED:.0%} at 150 nodes, load scale {case[2]:g} (ours {largest:.0%} at {where})"
        checks.append(Check(text, where == 150 and abs(largest - MOST_WAIT_SAVED) <= NEAR))
    sentences = [
        f"{_sentence(study, case, 'Queueing', wait_min)} Shares saved: {_shares_saved(study, case)}." for case in cases
    ]
    data = data_of(study, cases, checks)
    data["wait_saved"] = {
        f"load scale {case[2]:g}": {str(nodes): _wait_saved(study, case, nodes) for nodes in study.sizes.nodes}
        for case in cases
    }
    return Outcome(" ".join(sentences), verdict_of(checks), why_of(study, checks), data)


def figure_10(setting: Setting) -> Outcome:
    """Mean total time over the number of nodes."""
    cases = baseline(setting)
    study = run_study(setting, cases)
    checks = [check for case in cases for check in _times(study, case, "total time", total_min)]
    sentences = [_sentence(study, case, "Total", total_min) for case in cases]
    return Outcome(" ".join(sentences), verdict_of(checks), why_of(study, checks), data_of(study, cases, checks))


def figure_11(setting: Setting) -> Outcome:
    """Additional jobs for 100 of greedy's over the number of nodes."""
    cases = baseline(setting)
    study = run_study(setting, cases)
    checks = [check for case in cases for check in (*gains_everywhere(study, case), *_bell(study, case))]
    sentences = [f"{gain_sentence(study, case)} {_counts(study, case)}" for case in cases]
    return Outcome(
        " ".join(sentences), verdict_of(checks), why_of(study, checks, READING), data_of(study, cases, checks)
    )


def figure_12(setting: Setting) -> Outcome:
    """Additional jobs when all jobs are scaled, short ones too, and when short ones keep their nodes."""
    (load,) = setting.loads(DENSE)
    long, every, kept = ((jobs, "baseline", load) for jobs in (LONG, ALL, FILTERED))
    study = run_study(setting, (long, every, kept))
    at, base = study.best(every), study.best(long)
    more = study.gain_beyond(every, at, long, base)
    most, least = study.gain(every, at), study.gain(long, base)
    checks = [
        *gains_everywhere(study, every),
        above(f"largest gain larger than with long jobs only (difference {said(more)})", more),
        confirmed(f"up to {MOST_OF_ALL_JOBS:g} with all jobs (ours up to {said(most)})", most, MOST_OF_ALL_JOBS),
        confirmed(f"up to {MOST_ADDITIONAL:g} with long jobs only (ours up to {said(least)})", least, MOST_ADDITIONAL),
    ]
    filtered = study.gain_beyond(kept, at, every, at)
    words = (
        f"{gain_sentence(study, every)} Long jobs only: up to {said(least)} at {base} nodes. Where "
        f"the optimal allocator lets running jobs that end within 5 minutes keep their nodes, the gain at {at} nodes "
        f"changes by {said(filtered)}."
    )
    data = data_of(study, (long, every, kept), checks)
    why = why_of(study, checks, f"{density_of(load)} {WHOSE_WORK} {READING}".strip(), every_job=True)
    return Outcome(words, verdict_of(checks), why, data)


WHOSE_WORK = (
    f"The long jobs have {share(LONG_JOBS * LONG_MEAN_S / (TRACE_JOBS * ALL_MEAN_S))} of the work, so that mean total "
    "times are mostly theirs, and our reading of additional jobs with them."
)
READING = (
    "Additional jobs are our reading: by how much greedy's mean total time is longer, in %. Jobs completed by the last "
    "submission, in the data, can differ only by those still in the system then."
)


def baseline(setting: Setting) -> tuple[Case, ...]:
    """Return the long jobs, nothing going wrong, at every load scale."""
    return tuple((LONG, "baseline", load) for load in setting.loads(LOADS))


def gains_everywhere(study: Study, case: Case) -> list[Check]:
    """Return whether the optimal allocator trains more jobs, size by size."""
    gains = {nodes: study.gain(case, nodes) for nodes in study.sizes.nodes}
    text = f"more jobs with optimal, load scale {case[2]:g}, at"
    return [above(text, gain, f"{nodes} nodes ({said(gain)})") for nodes, gain in gains.items()]


def above(text: str, found: Interval, where: str = "") -> Check:
    """Return whether a number is surely above 0."""
    return Check(text, surely_above(found), where, unsure=found.high is None or found.high > 0)


def at_most(text: str, found: Interval, most: float, where: str = "") -> Check:
    """Return whether a number is surely not above a printed one."""
    holds = found.high is not None and found.high <= most
    return Check(text, holds, where, unsure=found.low is None or found.low <= most)


def confirmed(text: str, found: Interval, printed: float) -> Check:
    """Return whether a printed number lies in an interval that is narrow enough to say so."""
    half = found.half_width
    there = half is None or abs(found.mean - printed) <= half
    return Check(text, half is not None and there and half <= AS_PRECISE * printed, unsure=there)


def density_of(load: float) -> str:
    """Return why a figure of the published density is run at this load scale; empty where it was asked for."""
    return _DENSER if (load,) == DENSE else ""


def gain_sentence(study: Study, case: Case) -> str:
    """Return the additional jobs at every size in words."""
    gains = ", ".join(f"{said(study.gain(case, nodes))} at {nodes}" for nodes in study.sizes.nodes)
    return f"Additional jobs for 100 of greedy's, load scale {case[2]:g}: {gains} nodes."


def why_of(study: Study, checks: Sequence[Check], more: str = "", *, every_job: bool = False) -> str:
    """Return what is not seen, what the numbers rest on, and what had to be assumed."""
    sure = f"{PLUS_MINUS} is the 95% interval over traces; a part of the claim counts as seen where all of it agrees."
    sizes = f"The study has pools of {STUDY_NODES[0]} to {STUDY_NODES[-1]} nodes in steps of {STUDY_NODES.step}."
    parts = (seen(checks), sample_of(study, every_job=every_job), sizes, sure, SYNTHETIC, _nothing_to_gain(study), more)
    return " ".join(part for part in parts if part)


def seen(checks: Sequence[Check]) -> str:
    """Return what of the claim is not seen, or that all of it is."""
    return missed(checks) or "Every part of the claim is seen."


def sample_of(study: Study, *, every_job: bool = False) -> str:
    """Return which jobs were run; ``every_job``: all of them, and the long ones alone."""
    long = "those of 5 minutes and more"
    jobs = f"all jobs, and {long} alone," if every_job else f"the jobs of {long.removeprefix('those of ')}"
    short = (
        " So short a trace begins and ends empty and fills no pool for long." if study.sizes.jobs < TRACE_JOBS else ""
    )
    nodes = listed([str(nodes) for nodes in study.sizes.nodes])
    return f"Both allocators ran {jobs} of {study.sizes.words} on {nodes} nodes.{short}"


def data_of(study: Study, cases: Sequence[Case], checks: Sequence[Check]) -> dict[str, Any]:
    """Return all numbers of a study by case and size."""
    return {
        "nodes": list(study.sizes.nodes),
        "seeds": list(study.sizes.seeds),
        "trace_jobs": study.sizes.jobs,
        "cases": {name_of(case): study.table(case) for case in cases},
        "checks": [{"claim": f"{check.text} {check.where}".rstrip(), "holds": check.holds} for check in checks],
    }


def name_of(case: Case) -> str:
    """Return a case in words."""
    return f"{case[0]}, {case[1]}, load scale {case[2]:g}"


def _times(study: Study, case: Case, what: str, measure: Measure) -> list[Check]:
    """Return whether a mean time is shorter with optimal, size by size, and falls with the size under both."""
    sizes, at = study.sizes.nodes, f"load scale {case[2]:g}"
    saved = {nodes: study.saved(measure, case, nodes) for nodes in sizes}
    text = f"{what} shorter with optimal, {at}, at"
    checks = [above(text, cut, f"{nodes} nodes ({said(cut, 2)} min)") for nodes, cut in saved.items()]
    for side, name in enumerate(("optimal", "greedy")):
        means = [mean_interval(study.pairs(measure, case, nodes)[side]).mean for nodes in sizes]
        falls = all(later <= earlier for earlier, later in pairwise(means)) and means[-1] < means[0]
        checks.append(Check(f"{what} of {name} falls with more nodes, {at}", falls))
    return checks


def _bell(study: Study, case: Case) -> list[Check]:
    """Return whether the gain is largest between the smallest and the largest pool, and as large as printed."""
    first, *_, last = study.sizes.nodes
    best = study.best(case)
    inner = best not in (first, last)
    rises = inner and surely_above(study.gain_beyond(case, best, case, first))
    sinks = inner and surely_above(study.gain_beyond(case, best, case, last))
    largest = study.gain(case, best)
    return [
        Check(f"bell-shaped, load scale {case[2]:g} (largest at {best} nodes)", rises and sinks, unsure=inner),
        Check(f"largest at 110 nodes, load scale {case[2]:g} (ours at {best})", best == 110),
        confirmed(
            f"up to {MOST_ADDITIONAL:g}, load scale {case[2]:g} (ours {said(largest)})", largest, MOST_ADDITIONAL
        ),
    ]


def _counts(study: Study, case: Case) -> str:
    """Return how many jobs completed by the last submission at every size, over all seeds."""
    parts = []
    for nodes in study.sizes.nodes:
        done = [answer.done for answer in study.answers[*case, nodes]]
        parts.append(f"{sum(ours for ours, _ in done):,} and {sum(theirs for _, theirs in done):,} at {nodes}")
    return f"Completed by the last submission, with optimal and with greedy: {', '.join(parts)} nodes."


def _sentence(study: Study, case: Case, what: str, measure: Measure) -> str:
    parts = []
    for nodes in study.sizes.nodes:
        ours, theirs = (mean_interval(values).mean for values in study.pairs(measure, case, nodes))
        saved = said(study.saved(measure, case, nodes), 2)
        parts.append(f"{nodes} nodes {ours:.1f} and {theirs:.1f} min (saved {saved})")
    return f"{what} time, optimal and greedy, load scale {case[2]:g}: {', '.join(parts)}."


def _shares_saved(study: Study, case: Case) -> str:
    return ", ".join(f"{_wait_saved(study, case, nodes):.0%} at {nodes}" for nodes in study.sizes.nodes) + " nodes"


def _nothing_to_gain(study: Study) -> str:
    """Return which pools are so large that they leave next to nothing to gain; empty where there is none."""
    where = {
        case[2]: [
            str(nodes)
            for nodes in study.sizes.nodes
            if nodes > NODES_USED * case[2] and abs(study.gain(case, nodes).mean) < FEW
        ]
        for case in dict.fromkeys(key[:3] for key in study.answers)
        if case[:2] == (LONG, "baseline")
    }
    texts = [f"{listed(nodes)} nodes at load scale {load:g}" for load, nodes in where.items() if nodes]
    if not texts:
        return ""
    return f"With {' and with '.join(texts)} nearly every job has its most nodes under either allocator."


def _wait_saved(study: Study, case: Case, nodes: int) -> float:
    """Return by which share optimal's mean queueing time is shorter, over all seeds; 0 where nobody waits."""
    ours, theirs = (sum(values) for values in study.pairs(wait_min, case, nodes))
    return 1 - ours / theirs if theirs > 0 else 0.0


GAIN = (
    Reproduction(
        "modelarts-9",
        PAPER,
        "Fig. 9",
        "Queueing time falls with more nodes; optimal's is shorter at every size, by up to 32% (at 150 nodes).",
        figure_9,
        LOADS,
    ),
    Reproduction(
        "modelarts-10",
        PAPER,
        "Fig. 10",
        "Total time falls with more nodes; optimal's is shorter at every size.",
        figure_10,
        LOADS,
    ),
    Reproduction(
        "modelarts-11",
        PAPER,
        "Fig. 11",
        "While greedy trains 100 jobs optimal trains more at every size, up to 17.4 more at 110 nodes; bell-shaped.",
        figure_11,
        LOADS,
    ),
    Reproduction(
        "modelarts-12",
        PAPER,
        "Fig. 12",
        "With jobs of less than 5 minutes too, optimal trains up to 24.1 more for each 100 of greedy's, against 17.4.",
        figure_12,
        DENSE,
    ),
)
