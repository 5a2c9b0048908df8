"""What the commands ``size`` and ``growth`` ask alike: targets, policy, claim, and what differs between draws."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from pydantic import BaseModel

from dlsched.cli.arguments import add_draws_vary
from dlsched.cli.simulate import parse_params
from dlsched.cli.study_command import add_flags
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
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
    parser.add_argument("--policy", default="fifo", metavar="KEY", help="policy, as listed by: policies (fifo)")
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the policy; may be repeated"
    )
    add_flags(parser, spec, {"claim": "CLAIM"})
    parser.add_argument(
        "--level",
        dest="percent_of_draws",
        type=float,
        metavar="%",
        help="of nearly-every: so many percent of draws (95)",
    )
    add_draws_vary(parser)


def goal_of(options: Namespace, scenario: Scenario) -> dict[str, Any]:
    """Return the fields of the question that both have; what was not typed is left out."""
    question = {
        "scenario": scenario.content_hash,
        "targets": [read_target(text).model_dump() for text in options.target],
        "policy": options.policy,
        "params": parse_params(options.param),
        "vary": dict(read_vary(text) for text in options.vary),
    }
    level = options.percent_of_draws
    return question if level is None else question | {"level": level / 100}


def read_vary(text: str) -> tuple[str, float]:
    """Return what differs between draws, of "days" or "failures=500"; InputError naming the option as typed."""
    key, equals, value = text.partition("=")
    try:
        return key.strip(), float(value) if equals else 1.0
    except ValueError:
        raise InputError(f"--vary {text}", f"{value!r:.40} is not a number", "Write it as in failures=500") from None
