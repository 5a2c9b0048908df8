"""``pool-sizes``: policies on the same jobs over the size of the pool, with what goes wrong."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from dlsched.cli.compute import opened
from dlsched.cli.output import clear_line, print_json, print_table, printable, progress_line, write_csv
from dlsched.cli.whole_nodes import on_asked_nodes
from dlsched.domain.scenario import Scenario
from dlsched.studies.pool_sizes import PoolSizesSpec, check, default_nodes, read_spec, run_pool_sizes
from dlsched.studies.pool_sizes.answer import MEASURES, Cell, PoolSizes, gain_of, mean_of, rows_of, with_violations
from dlsched.wording.formats import amount, show_interval
from dlsched.workload.load import load

SHOWN = ("total", "wait", "additional", "completed", "workers", "held")


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    scenario = on_asked_nodes(load(options.file), options)
    spec = asked(options, scenario)
    check(spec, scenario)
    answer = computed(spec, scenario, options)
    if options.csv:
        write_csv(rows_of(answer), options.csv)
    if options.json:
        print_json(answer.to_plain())
    else:
        clear_line()
        _show(answer)
    found = with_violations(answer)
    if found:
        cell, draw = found[0]
        first = f"{cell.policy} on {cell.nodes} nodes, draw {draw.seed}, {draw.audit[0]}"
        print(f"dlsched: the audit found violations in {amount(len(found), 'run')}, first {first}", file=sys.stderr)
    return 1 if found else 0


def asked(options: Namespace, scenario: Scenario) -> PoolSizesSpec:
    """Return the question that was typed; what was not follows from the scenario."""
    typed = {"nodes": options.nodes, "policies": options.policies, "variants": options.variants, "draws": options.draws,
             "reference": options.reference}  # fmt: skip
    spec: dict[str, Any] = {"scenario": scenario.content_hash, "nodes": default_nodes(scenario)}
    return read_spec(spec | {name: value for name, value in typed.items() if value is not None})


def computed(spec: PoolSizesSpec, scenario: Scenario, options: Namespace) -> PoolSizes:
    """Return the answer, computed where the options say."""
    with opened(options) as executor:
        return run_pool_sizes(spec, scenario, executor, progress=progress_line(options.json))


def _show(answer: PoolSizes) -> None:
    print(f"{printable(answer.scenario_name)}, {amount(answer.present, 'node')} at present; {sure_words(answer)}")
    header = ("nodes", "goes wrong", "policy", *(MEASURES[key].label for key in SHOWN), "gain", "proven")
    print_table(header, [_row(answer, cell) for cell in answer.cells])
    if answer.others:
        name = answer.labels[answer.reference]
        print(f"Gain: by how much longer jobs take under {name}, in %, over the jobs completed under both.")
    print("Every run was audited.")


def sure_words(answer: PoolSizes) -> str:
    """Return how sure the numbers are."""
    exact = [variant for variant in answer.variants if variant in answer.exact]
    if len(exact) == len(answer.variants):
        return "exact for these jobs: nothing is random, so there is no interval"
    sure = "1 draw, rough" if answer.draws == 1 else f"{answer.draws} draws, ± is the 95% interval"
    return sure + (f"; exact where nothing is random: {', '.join(exact)}" if exact else "")


def _row(answer: PoolSizes, cell: Cell) -> tuple[str, ...]:
    numbers = []
    for key in SHOWN:
        of, kind = mean_of(cell, MEASURES[key]), MEASURES[key].kind
        numbers.append("–" if of is None else show_interval(kind, of.mean, of.half_width))
    gain, decisions = gain_of(cell), cell.decisions
    proven = "" if decisions is None else f"{decisions.proven:,} of {decisions.solved:,}"
    better = "" if gain is None else show_interval("number", gain.mean, gain.half_width, signed=True)
    return (str(cell.nodes), cell.variant, answer.labels[cell.policy], *numbers, better, proven)
