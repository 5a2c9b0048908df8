"""``sweep``: one or two things changed over a range, under several policies, in the same futures."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dlsched.cli.arguments import (
    add_compute_options,
    add_csv,
    add_file,
    add_futures,
    add_json,
    add_keep_numbers,
    part_of,
)
from dlsched.cli.goal import futures_of
from dlsched.cli.output import print_mind, print_table, printable, progress_line
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags, complain, kept, known_trust, opened, tell, typed
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.compare import told as told_change
from dlsched.policies.registry import find
from dlsched.studies.design.factors import factors_for
from dlsched.studies.design.measures import MEASURES, is_paired
from dlsched.studies.sweep import STUDY, SweepSpec, Swept, check, run_sweep
from dlsched.studies.sweep.answer import (
    Regret,
    Sweep,
    against_policy,
    choice_points,
    frontier,
    regrets,
    rows_of,
    shown,
    value_at,
)
from dlsched.studies.sweep.run import read_axis
from dlsched.studies.sweep.words import (
    certainty,
    failed_words,
    finding,
    point_words,
    unequal_words,
    value_text,
    violations,
)
from dlsched.wording.cautions import violation_words
from dlsched.wording.caveats import Caveat, caveats_of, plain_caveats
from dlsched.wording.formats import MISSING, amount, listed, number, show_interval

COSTS = ("cost_month", "vm_cost", "total_cost")
METRICS = ("wait_mean", "wait_p95", "jct_mean", "late_share", "cost_month", "completed")
NOT_IN_TABLE = ("compared", "oversize", "solve_p50_s", "solve_p95_s", "solve_longest_s")
"""They are in JSON and CSV."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    add_file(parser, nargs="?")
    parser.add_argument(
        "--vary",
        dest="axes_typed",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="what to vary: nodes=4,8,16 or demand=0.8:1.2:5 (from, to, number of values); give it twice for two "
        "ranges; ? lists the keys",
    )
    parser.add_argument(
        "--one-at-a-time", action="store_true", help="change one value at a time, all others as in the scenario"
    )
    add_flags(parser, SweepSpec, {"policies": "A,B", "reference": "A", "metrics": "A,B"})
    parser.set_defaults(metrics=METRICS)
    add_futures(parser, varies=False)
    add_keep_numbers(parser)
    add_csv(parser, "one line per run")
    parser.add_argument(
        "--part",
        type=part_of,
        metavar="K/N",
        help="compute only part K of N, for job arrays; the command merge puts the parts together",
    )
    parser.add_argument("--out", metavar="FILE", help="with --part: file to write the part to, as in part-3.parquet")
    add_compute_options(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when a run failed or the audit found a violation."""
    if options.file is None or not options.axes_typed:
        raise InputError("sweep", "needs a file and --vary", "Write it as in: sweep FILE --vary nodes=4,8,16")
    scenario = loaded(options)
    if any(text in ("?", "help") for text in options.axes_typed):
        _show_factors(scenario)
        return 0
    own = {
        "scenario": scenario.content_hash,
        "axes": [_axis(text, scenario) for text in options.axes_typed],
        "mode": "one-at-a-time" if options.one_at_a_time else "grid",
        "futures": futures_of(options, scenario).model_dump(),
    }
    spec = STUDY.read_spec(typed(options, SweepSpec) | own)
    if options.part is not None or options.out is not None:
        return _compute_part(spec, scenario, options)
    swept = computed(spec, scenario, options)
    return told(swept, scenario, options, swept.answer.to_plain(), lambda: rows_of(swept.answer))


def computed(spec: SweepSpec, scenario: Scenario, options: Namespace) -> Swept:
    """Return the answer; runs are taken from the store and kept there where one is given."""
    check(spec, scenario)
    with kept(options) as store, opened(options) as executor:
        return run_sweep(spec, scenario, executor, store, progress_line(options.json))


def _compute_part(spec: SweepSpec, scenario: Scenario, options: Namespace) -> int:
    """Compute one part and write it; 1 when a run failed: its error is in the file too."""
    from dlsched.plugins import needed
    from dlsched.runner.dask_worker import identity
    from dlsched.studies.sweep.parts import run_part, write_part

    if options.part is None or options.out is None:
        raise InputError("sweep", "needs both --part and --out", "Write it as in --part 3/40 --out part-3.parquet")
    for flag in ("save", "csv"):
        if (value := getattr(options, flag)) is not None:
            why = "cannot be combined with --part"
            raise InputError(f"--{flag} {value}".rstrip(), why, "Give it to the command merge instead")
    check(spec, scenario)
    number, of = options.part
    versions = identity() | {one.key: f"{one.origin} ({one.fingerprint[:12]})" for one in needed()}
    with opened(options) as executor:
        part = run_part(spec, scenario, number, of, versions, executor, progress_line(options.json))
    write_part(part, options.out)
    plain = {"part": number, "of": of, "runs": len(part.results), "failed": len(part.failed), "file": options.out}
    runs = amount(len(part.results), "run")
    tell(options, plain, lambda: print(f"part {number} of {of}: {runs}, written to {printable(options.out)}"))
    failed = f"{amount(len(part.failed), 'run')} failed; the first: {part.failed[0]}" if part.failed else ""
    return complain(failed)


def told(
    swept: Swept,
    scenario: Scenario,
    options: Namespace,
    plain: Mapping[str, Any],
    rows: Callable[[], Sequence[Mapping[str, Any]]],
) -> int:
    """Print the answer as the options say; return the exit status."""
    answer = swept.answer
    trust = known_trust(scenario, answer.policies[0], options)
    caveats = caveats_of(scenario, map(find, answer.policies), trust=trust, resampled="days" in answer.futures.vary)
    more = {"computed": swept.computed, "stored": swept.stored, "caveats": plain_caveats(caveats)}
    tell(options, {**plain, **more}, lambda: _show(swept, caveats), rows)
    found = violations(swept.answer)
    return complain(failed_words(swept.answer), violation_words(found) if found else "")


def _axis(text: str, scenario: Scenario) -> dict[str, Any]:
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise InputError(f"--vary {text}", "is not of the form KEY=VALUES", "Write it as in --vary nodes=4,8,16")
    return {"key": key.strip(), "values": read_axis(scenario, key.strip(), values)}


def _show_factors(scenario: Scenario) -> None:
    rows = [(factor.key, factor.unit or factor.kind, factor.help) for factor in factors_for(scenario)]
    print_table(
        ("key", "value", "what"),
        [*rows, ("POLICY.PARAMETER", "", "a parameter of a policy; the command policies lists them")],
    )


def _show(swept: Swept, caveats: Sequence[Caveat]) -> None:
    sweep = swept.answer
    stored = f", {swept.stored:,} from the store" if swept.stored else ""
    print(f"{printable(sweep.scenario_name)}: {amount(swept.computed, 'run')} computed{stored}; {certainty(sweep)}")
    print_mind(caveats)
    there = {key for cell in sweep.cells for key, value in cell.values.items() if value is not None}
    metrics = [key for key in sweep.metrics if key in there and key not in NOT_IN_TABLE]
    if metrics:
        if MEASURES[metrics[0]].better != "neutral":
            print(printable(finding(sweep, metrics[0])))
        _show_cells(sweep, metrics)
        if len(sweep.policies) > 1 and MEASURES[metrics[0]].better != "neutral":
            _show_regret(sweep, metrics[0])
        _show_frontier(sweep, metrics)
    if is_paired(metrics):
        print(f"\nGain and additional jobs: compared with {sweep.labels[sweep.reference]}. {MEASURES['gain'].tooltip}")
    if words := unequal_words(sweep):
        print(printable(words))


def _show_cells(sweep: Sweep, metrics: list[str]) -> None:
    others = len(sweep.policies) > 1
    against = (f"{MEASURES[metrics[0]].label} vs. {sweep.labels[sweep.reference]}",) if others else ()
    header = (*(axis.key for axis in sweep.axes), "policy", *(MEASURES[key].label for key in metrics), *against)
    rows = []
    for point, values in enumerate(sweep.points):
        for policy in sweep.policies:
            numbers = [_number(sweep, point, policy, key) for key in metrics]
            difference = (_against(sweep, point, policy, metrics[0]),) if others else ()
            at = [shown(value) or "unchanged" for value in values]
            rows.append((*at, sweep.labels[policy], *numbers, *difference))
    print_table(header, rows)


def _number(sweep: Sweep, point: int, policy: str, metric: str) -> str:
    return value_text(MEASURES[metric], value_at(sweep, point, policy, metric))


def _against(sweep: Sweep, point: int, policy: str, metric: str) -> str:
    if policy == sweep.reference:
        return ""
    change = against_policy(sweep, point, policy, metric)
    return MISSING if change is None else told_change(MEASURES[metric], change).text


def _show_regret(sweep: Sweep, metric: str) -> None:
    kpi = MEASURES[metric]
    print(f"\nRegret ({kpi.label}): the gap to the best policy at each point; * marks the least regret")
    header = ("policy", *(point_words(sweep, point) for point in range(len(sweep.points))), "worst")
    print_table(header, [_regret_row(sweep, found, metric) for found in regrets(sweep, metric)])


def _regret_row(sweep: Sweep, found: Regret, metric: str) -> tuple[str, ...]:
    kind = MEASURES[metric].kind
    each = [
        "best" if loss == 0 else _loss(kind, loss, percent)
        for loss, percent in zip(found.losses, found.percents, strict=True)
    ]
    worst = MISSING if found.worst is None else show_interval(kind, found.worst, None, signed=True)
    return (sweep.labels[found.policy], *each, worst + (" *" if found.safest else ""))


def _loss(kind: Any, loss: float | None, percent: float | None) -> str:
    if loss is None:
        return MISSING
    more = "" if percent is None else f" ({number(percent)}%)"
    return show_interval(kind, loss, None, signed=True) + more


def _show_frontier(sweep: Sweep, metrics: list[str]) -> None:
    service = metrics[0]
    cost = next((key for key in COSTS if key in metrics and key != service), None)
    if cost is None or MEASURES[service].better == "neutral":
        return
    for among in _offers(sweep):
        kept = [choice for choice in frontier(sweep, cost, service, among) if not choice.dominated]
        names = [f"{sweep.labels[one.policy]} ({printable(point_words(sweep, one.point))})" for one in kept]
        if names:
            both = f"{MEASURES[cost].label} and {MEASURES[service].label}"
            print(f"\nBest trade-offs of {both}: {listed(names)}")


def _offers(sweep: Sweep) -> list[tuple[int, ...]]:
    """Return the points that compete: those that differ in what can be chosen; of single ones only the baseline."""
    groups = dict.fromkeys(tuple(choice_points(sweep, point)) for point in range(len(sweep.points)))
    return [group for group in groups if len(group) > 1] or [next(iter(groups))]
