"""``solve``: the pure cores of the methods, one instance or a list of them from standard input."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from dlsched.cli.output import print_json
from dlsched.domain.errors import DlschedError, InputError

Solver = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def _core(module: str) -> Solver:
    """Return the solver of a module with ``read`` and ``solve``; the module is imported when it is first asked."""

    def solver(given: Mapping[str, Any]) -> Mapping[str, Any]:
        core = import_module(module)
        task = core.read(given)
        before_s = time.process_time()
        found = core.solve(task)
        spent_s = time.process_time() - before_s  # of the answer, without those of reading
        return {**found, "cpu_s": found.get("cpu_s", spent_s)}  # one with a solver's own process counts itself

    return solver


KINDS: dict[str, Solver] = {
    "capacity": _core("dlsched.policies.gpuaas.capacity"),
    "elastic": _core("dlsched.policies.rolling_horizon.instance"),
    "knapsack": _core("dlsched.policies.smd.knapsack_instance"),
    "pipeline": _core("dlsched.speed.pipeline_instance"),
    "queues": _core("dlsched.policies.queue_tree.instance"),
    "reservation": _core("dlsched.policies.primal_dual.instance"),
    "split": _core("dlsched.policies.smd.split_instance"),
    "throughput": _core("dlsched.speed.throughput_instance"),
}
"""Kind -> function of one instance, which raises InputError for a bad one. A method's core is added here."""


def run(options: Namespace) -> int:
    """Carry out the command; 2 when an instance was bad."""
    if options.kind not in KINDS:
        raise InputError(f"kind {options.kind!r}", f"is not known; known: {', '.join(KINDS)}")
    given = _read(sys.stdin.buffer.read())
    instances = given if isinstance(given, list) else [given]
    answers = [answer(KINDS[options.kind], instance) for instance in instances]
    print_json(answers if isinstance(given, list) else answers[0])
    bad = sum("error" in one for one in answers)
    if bad:
        print(
            f"dlsched: {bad} of {len(answers)} instances cannot be solved: see the field error of each", file=sys.stderr
        )
    return 2 if bad else 0


def answer(solver: Solver, instance: Any) -> Mapping[str, Any]:
    """Return the answer to one instance, or its error."""
    if not isinstance(instance, dict):
        return {"error": f"an instance must be a JSON object, got {type(instance).__name__}"}
    try:
        return solver(instance)
    except DlschedError as error:
        return {"error": str(error)}


def _read(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError("standard input", f"is not JSON ({error})", "Give one instance or a list of them") from error
