"""``solve``: the pure cores of the methods, one instance or a list of them from standard input."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from dlsched.cli.output import print_json
from dlsched.domain.errors import DlschedError, InputError

Solver = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def _capacity(given: Mapping[str, Any]) -> Mapping[str, Any]:
    from dlsched.policies.gpuaas.capacity import read, solve

    task = read(given)
    return _timed(lambda: solve(task))


def _throughput(given: Mapping[str, Any]) -> Mapping[str, Any]:
    from dlsched.speed.throughput_instance import read, solve

    task = read(given)
    return _timed(lambda: solve(task))


def _elastic(given: Mapping[str, Any]) -> Mapping[str, Any]:
    from dlsched.policies.rolling_horizon.instance import read, solve

    return solve(read(given))  # counts CPU itself, with that of the solver's own process


def _split(given: Mapping[str, Any]) -> Mapping[str, Any]:
    from dlsched.policies.smd.split_instance import read, solve

    task = read(given)
    return _timed(lambda: solve(task))


def _pipeline(given: Mapping[str, Any]) -> Mapping[str, Any]:
    from dlsched.speed.pipeline_instance import read, solve

    task = read(given)
    return _timed(lambda: solve(task))


def _knapsack(given: Mapping[str, Any]) -> Mapping[str, Any]:
    from dlsched.policies.smd.knapsack_instance import read, solve

    task = read(given)
    return _timed(lambda: solve(task))


def _reservation(given: Mapping[str, Any]) -> Mapping[str, Any]:
    from dlsched.policies.primal_dual.instance import read, solve

    task = read(given)
    return _timed(lambda: solve(task))


def _timed(solver: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return an answer with the CPU seconds of finding it, without those of reading the instance."""
    before_s = time.process_time()
    found = solver()
    return {**found, "cpu_s": time.process_time() - before_s}


KINDS: dict[str, Solver] = {
    "capacity": _capacity,
    "elastic": _elastic,
    "knapsack": _knapsack,
    "pipeline": _pipeline,
    "reservation": _reservation,
    "split": _split,
    "throughput": _throughput,
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
        print(f"dlsched: {bad} of {len(answers)} instances are bad, see their error", file=sys.stderr)
    return 2 if bad else 0


def answer(solver: Solver, instance: Any) -> Mapping[str, Any]:
    """Return the answer to one instance, or its error."""
    if not isinstance(instance, dict):
        return {"error": f"an instance is a JSON object, got {type(instance).__name__}"}
    try:
        return solver(instance)
    except DlschedError as error:
        return {"error": str(error)}


def _read(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError("standard input", f"is not JSON ({error})", "Give one instance or a list of them") from error
