"""``steady``: how long jobs are in the system at which load, under which policy."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from dlsched.cli.arguments import add_compute_options, add_json, names, numbers, whole
from dlsched.cli.output import print_table
from dlsched.cli.study_command import add_flags, answer_to, complain, tell, typed
from dlsched.domain.errors import InputError
from dlsched.studies.steady import STUDY, Pair, SteadyAnswer, SteadyPoint, SteadySpec
from dlsched.wording.cautions import audit_words
from dlsched.wording.formats import amount, show_interval


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("file", metavar="SPEC", nargs="?", help="JSON file with the experiment; put options before it")
    parser.add_argument(
        "--policies", type=names, metavar="A,B", dest="keys", help="policy keys; the command policies lists them"
    )
    parser.add_argument("--loads", type=numbers, metavar="X,Y", help="loads, each above 0 and below 1")
    parser.add_argument("--nodes", type=whole(1), metavar="N", help="number of nodes with one GPU each (default: 100)")
    add_flags(parser, SteadySpec, {"most_jobs": "N", "target": "T", "seed": "S"}, most_jobs="jobs_most")
    add_compute_options(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    answer = answer_to(STUDY, STUDY.read_spec(question_of(options)), None, options)
    tell(options, answer.to_plain(), lambda: _show(answer))
    found = [f"{point.label} at load {point.load:g}, {text}" for point in answer.points for text in point.audit]
    return complain(audit_words(found) if found else "")


def question_of(options: Namespace) -> dict[str, Any]:
    """Return the question: that of the file, if any, with what was typed."""
    spec = _read(Path(options.file)) if options.file else {}
    if options.keys is not None:
        spec["policies"] = [{"key": key} for key in options.keys]
    if options.nodes:
        stream = spec.get("stream", {})
        spec["stream"] = {**(stream if isinstance(stream, dict) else {}), "nodes": options.nodes}
    spec |= typed(options, SteadySpec)
    if options.most_jobs is not None and "first_jobs" not in spec:
        spec["first_jobs"] = min(4000, options.most_jobs)
    return spec


def _read(path: Path) -> dict[str, Any]:
    try:
        spec = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be read ({error.strerror})", "Check the path") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"file {path}", f"is not JSON ({error})", "Write one JSON object, or use the options"
        ) from error
    if not isinstance(spec, dict):
        raise InputError(f"file {path}", f"must hold one JSON object, got {type(spec).__name__}", "Correct it")
    return spec


def _show(answer: SteadyAnswer) -> None:
    stream = answer.spec.stream
    print(f"Turnaround time, hours, {amount(stream.nodes, 'node')}, seed {answer.spec.seed}; ± is the 95% interval")
    print_table(("load", "policy", "mean", "p95", "jobs", "state"), [_row(point) for point in answer.points])
    if answer.pairs:
        print("\nDifference on the same jobs in hours")
        print_table(("load", "policy", "against", "difference"), [_difference(pair) for pair in answer.pairs])
    print(answer.audited)


def _row(point: SteadyPoint) -> tuple[str, ...]:
    mean, p95 = "", ""
    if point.response_h is not None:
        mean = show_interval("number", point.response_h.mean, point.response_h.half_width)
        p95 = f"{point.p95_h:.0f}"
    chunk = f", {amount(point.params['chunk'], 'node')} per chunk" if point.chunks_tried else ""
    return (f"{point.load:g}", point.label + chunk, mean, p95, f"{point.jobs_simulated:,}", point.words)


def _difference(pair: Pair) -> tuple[str, ...]:
    change = show_interval("number", pair.difference_h.mean, pair.difference_h.half_width, signed=True)
    return (f"{pair.load:g}", pair.label, pair.other, change if pair.tells_apart else "about the same")
