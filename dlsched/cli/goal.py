"""What the commands ``size`` and ``growth`` ask alike: targets, policy, claim, conditions and futures."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from pydantic import BaseModel

from dlsched.cli.arguments import add_futures
from dlsched.cli.simulate import parse_params
from dlsched.cli.study_command import add_flags
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.design import Futures
from dlsched.studies.design.futures import chosen_futures
from dlsched.studies.sizing.conditions import read_condition
from dlsched.studies.sizing.targets import read_target


def add_goal(parser: ArgumentParser, spec: type[BaseModel]) -> None:
    """Add what :func:`goal_of` reads."""
    parser.add_argument(
        "--target",
        action="append",
        required=True,
        metavar="KEY<=LIMIT",
        help="a metric with its limit, in quotes: 'wait_p95<=1h', 'late_share<=5%%', 'cost_month<=$50,000', "
        "'completed>=1,200'; may be repeated",
    )
    parser.add_argument(
        "--policy",
        default="fifo",
        metavar="KEY",
        help="key of the policy; the command policies lists them (default: fifo)",
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the policy; may be repeated"
    )
    add_flags(parser, spec, {"claim": "CLAIM"})
    parser.add_argument(
        "--level",
        dest="percent_of_futures",
        type=float,
        metavar="%",
        help="with nearly-every: percentage of futures that must meet the targets (default: 95)",
    )
    parser.add_argument(
        "--condition",
        action="append",
        default=[],
        metavar="K=V",
        help="a condition that applies to every size: demand=1.3, durations=1.2, prices=0.9; may be repeated",
    )
    add_futures(parser)


def goal_of(options: Namespace, scenario: Scenario) -> dict[str, Any]:
    """Return the fields of the question that both have; what was not typed is left out."""
    question = {
        "scenario": scenario.content_hash,
        "targets": [read_target(text).model_dump() for text in options.target],
        "policy": options.policy,
        "params": parse_params(options.param),
        "condition": read_condition(options.condition, scenario),
        "futures": futures_of(options, scenario).model_dump(),
    }
    level = options.percent_of_futures
    return question if level is None else question | {"level": level / 100}


def futures_of(options: Namespace, scenario: Scenario, baseline: str = "") -> Futures:
    """Return the futures that were typed; what was not typed is usual for the scenario under the baseline."""
    typed = getattr(options, "vary", None)
    vary = None if typed is None else dict(read_vary(text) for text in typed if text != "none")
    return chosen_futures(scenario, options.futures, vary, baseline)


def read_vary(text: str) -> tuple[str, float]:
    """Return what differs between futures, of "days" or "failures=500"; InputError naming the option as typed."""
    key, equals, value = text.partition("=")
    try:
        return key.strip(), float(value) if equals else 1.0
    except ValueError:
        raise InputError(f"--vary {text}", f"{value!r:.40} is not a number", "Write it as in failures=500") from None
