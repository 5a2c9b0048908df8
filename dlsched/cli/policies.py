"""``policies``: what can be run, with parameters and needs."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from dlsched.cli.output import print_json, print_table, printable
from dlsched.domain.policy import PolicySpec
from dlsched.policies.registry import find, policies, problems


def run(options: Namespace) -> int:
    """Carry out the command."""
    shown = [find(key) for key in options.policies] or policies()
    if options.json:
        print_json([describe(spec) for spec in shown])
    else:
        print_table(("policy", "name", "from", "needs", "parameters"), [_line(spec) for spec in shown])
    for problem in problems():
        print(f"dlsched: {printable(problem.where)} cannot be used: {printable(problem.why)}", file=sys.stderr)
    return 0


def describe(spec: PolicySpec) -> dict[str, Any]:
    """Return a policy as plain values; ``params`` is the JSON schema of its parameters."""
    return {
        "key": spec.key,
        "label": spec.label,
        "family": spec.family,
        "group": spec.group,
        "summary": spec.summary,
        "knows": spec.knows,
        "needs": sorted(need.value for need in spec.needs),
        "paper": spec.paper,
        "clairvoyant": spec.clairvoyant,
        "uses_run_times": spec.uses_run_times,
        "origin": spec.origin,
        "params": spec.params.model_json_schema(),
    }


def _line(spec: PolicySpec) -> tuple[str, ...]:
    defaults = [
        f"{name}={field.get_default(call_default_factory=True)}" for name, field in spec.params.model_fields.items()
    ]
    return (
        spec.key,
        spec.label,
        spec.origin or "dlsched",
        ", ".join(sorted(need.value for need in spec.needs)),
        " ".join(defaults),
    )
