"""``steady``: how long jobs are in the system at which load, under which policy."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from dlsched.cli.output import clear_line, print_json, print_table, progress_line
from dlsched.domain.errors import InputError
from dlsched.studies.registry import compute
from dlsched.studies.steady import Pair, SteadyAnswer, SteadyPoint
from dlsched.wording.formats import amount, show_interval


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    record = compute("steady", asked(options), progress_line(options.json))
    answer = SteadyAnswer.from_plain(record.answer)
    found = [f"{point.label} at load {point.load:g}, {text}" for point in answer.points for text in point.audit]
    if options.json:
        print_json(record.answer)
    else:
        clear_line()
        _show(answer)
    if found:
        print(f"dlsched: the audit found {amount(len(found), 'violation')}, first {found[0]}", file=sys.stderr)
    return 1 if found else 0


def asked(options: Namespace) -> dict[str, Any]:
    """Return the specification: that of the file, if any, with what was typed."""
    spec = _read(Path(options.file)) if options.file else {}
    if options.policies is not None:
        spec["policies"] = [{"key": key} for key in options.policies]
    if options.nodes:
        stream = spec.get("stream", {})
        spec["stream"] = {**(stream if isinstance(stream, dict) else {}), "nodes": options.nodes}
    typed = {"loads": options.loads, "most_jobs": options.jobs_most, "target": options.target, "seed": options.seed}
    spec |= {name: value for name, value in typed.items() if value is not None}
    if options.jobs_most is not None and "first_jobs" not in spec:
        spec["first_jobs"] = min(4000, options.jobs_most)
    return spec


def _read(path: Path) -> dict[str, Any]:
    try:
        spec = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be read ({error.strerror})", "Check the path") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"file {path}", f"is not JSON ({error})", "Write one object, or use the options") from error
    if not isinstance(spec, dict):
        raise InputError(f"file {path}", f"must hold one JSON object, got {type(spec).__name__}", "Correct it")
    return spec


def _show(answer: SteadyAnswer) -> None:
    stream = answer.spec.stream
    print(f"Time in system, hours, {amount(stream.nodes, 'node')}, seed {answer.spec.seed}; ± is the 95% interval")
    print_table(("load", "policy", "mean", "p95", "jobs", "state"), [_row(point) for point in answer.points])
    if answer.pairs:
        print("\nDifference on the same jobs, hours")
        print_table(("load", "policy", "against", "difference"), [_difference(pair) for pair in answer.pairs])
    print(answer.audited)


def _row(point: SteadyPoint) -> tuple[str, ...]:
    mean, p95 = "", ""
    if point.response_h is not None:
        mean = show_interval("number", point.response_h.mean, point.response_h.half_width)
        p95 = f"{point.p95_h:.0f}"
    chunk = f", {amount(point.params['chunk'], 'node')} a chunk" if point.chunks_tried else ""
    return (f"{point.load:g}", point.label + chunk, mean, p95, f"{point.jobs_simulated:,}", point.words)


def _difference(pair: Pair) -> tuple[str, ...]:
    change = show_interval("number", pair.difference_h.mean, pair.difference_h.half_width, signed=True)
    return (f"{pair.load:g}", pair.label, pair.other, change if pair.tells_apart else "not distinguishable")
