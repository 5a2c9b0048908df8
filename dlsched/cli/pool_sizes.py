"""``pool-sizes``: a sweep over sizes of the pool and mishaps, compared job by job with a reference."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dlsched.cli.arguments import (
    add_compute_options,
    add_csv,
    add_file,
    add_futures,
    add_json,
    add_keep_numbers,
    add_whole_nodes,
    names,
    whole_numbers,
)
from dlsched.cli.goal import futures_of
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags
from dlsched.cli.sweep import computed, told
from dlsched.cli.whole_nodes import on_asked_nodes
from dlsched.domain.scenario import Scenario
from dlsched.studies.design.factors import OWN
from dlsched.studies.design.measures import PAIRED
from dlsched.studies.sweep import STUDY, SweepSpec
from dlsched.studies.sweep.answer import mean_rows
from dlsched.studies.sweep.presets import PRESETS, axes_of

METRICS = ("jct_mean", "wait_mean", "jct_p95", "completed", "allocation_ratio", *PAIRED)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    add_file(parser)
    parser.add_argument(
        "--nodes",
        type=whole_numbers,
        metavar="N,M",
        help="cluster sizes in nodes (default: half to twice the present size)",
    )
    add_flags(parser, SweepSpec, {"policies": "A,B", "reference": "A"})
    parser.add_argument(
        "--variants",
        type=names,
        metavar="A,B",
        help="disturbances: own (as in the scenario), baseline (none), estimates, mishaps, delay",
    )
    add_futures(parser, varies=False)
    add_keep_numbers(parser)
    add_csv(parser, "the mean values")
    add_compute_options(parser)
    add_whole_nodes(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when a run failed or the audit found a violation."""
    scenario = on_asked_nodes(loaded(options), options)
    swept = computed(question_of(options, scenario), scenario, options)
    means = mean_rows(swept.answer)
    return told(swept, scenario, options, {**swept.answer.to_plain(), "means": means}, lambda: means)


def question_of(options: Namespace, scenario: Scenario) -> SweepSpec:
    """Return the sweep that was typed."""
    one = next(one for one in PRESETS if one.key == "pool-size")
    sizes, _ = axes_of(one.key, scenario)
    policies = list(options.policies or one.policies)
    greedy = one.policies[-1]
    return STUDY.read_spec(
        {
            "scenario": scenario.content_hash,
            "axes": [
                {"key": sizes.key, "values": options.nodes or sizes.values},
                {"key": "mishaps", "values": options.variants or (OWN,)},
            ],
            "mode": one.mode,
            "policies": policies,
            "reference": options.reference or (greedy if greedy in policies else policies[-1]),
            "futures": futures_of(options, scenario).model_dump(),
            "metrics": METRICS,
        }
    )
