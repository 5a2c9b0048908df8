"""What the commands ``size`` and ``growth`` ask alike: targets, policy, claim, and what differs between draws."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from dlsched.cli.simulate import parse_params
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.sizing.targets import read_target


def goal_of(options: Namespace, scenario: Scenario) -> dict[str, Any]:
    """Return the fields of the question that both have; what was not typed is left out."""
    asked = {
        "scenario": scenario.content_hash,
        "targets": [read_target(text).model_dump() for text in options.target],
        "policy": options.policy,
        "params": parse_params(options.param),
        "claim": options.claim,
        "vary": dict(read_vary(text) for text in options.vary),
    }
    return asked if options.level is None else asked | {"level": options.level / 100}


def read_vary(text: str) -> tuple[str, float]:
    """Return what differs between draws, of "days" or "failures=500"; InputError naming the option as typed."""
    key, equals, value = text.partition("=")
    try:
        return key.strip(), float(value) if equals else 1.0
    except ValueError:
        raise InputError(f"--vary {text}", f"{value!r:.40} is not a number", "Write it as in failures=500") from None
