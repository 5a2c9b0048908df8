"""``compare``: policies on the same draws of one scenario, against a baseline."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dlsched.cli.compute import opened
from dlsched.cli.output import clear_line, print_json, print_table, printable, progress_line, write_csv
from dlsched.cli.simulate import parse_params, with_options
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.experiments.batch import Draw, run_batch
from dlsched.experiments.run import question
from dlsched.metrics.chips import is_random
from dlsched.metrics.compare import Cell, Comparison, compare, comparison_table
from dlsched.metrics.findings import certainty, compare_sentence
from dlsched.metrics.formats import amount
from dlsched.policies import registry
from dlsched.workload.load import load

LEAST, MOST = 2, 6


@dataclass(frozen=True, eq=False)
class Compared:
    """What was asked and computed. ``draws`` by policy, the baseline first; who has a failed draw is left out."""

    scenario: Scenario
    params: Mapping[str, Mapping[str, Any]]
    seeds: tuple[int, ...]
    draws: Mapping[str, Sequence[Draw]]
    failed: tuple[Draw, ...]
    exact: bool

    @property
    def violations(self) -> list[Draw]:
        """The draws of which the auditor complains."""
        return [draw for draws in self.draws.values() for draw in draws if draw.audit]

    @property
    def comparison(self) -> Comparison:
        """The comparison of what did not fail."""
        runs = [
            (registry.find(policy).label, [draw.metrics or {} for draw in draws])
            for policy, draws in self.draws.items()
        ]
        return compare(runs, runs[0][0], exact=self.exact)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when a run failed or the audit found a violation."""
    found = computed(options)
    comparison = found.comparison
    frame = comparison_table(comparison)
    if options.csv:
        write_csv(_table(frame), options.csv)
    if options.json:
        print_json(_plain(found, comparison, frame.to_dict("records")))
    else:
        clear_line()
        _show(found, comparison)
    return complaints(found)


def computed(options: Namespace) -> Compared:
    """Return what was typed, computed: all policies on all draws, the baseline first.

    Nothing random: one draw says all, so that only one is made.

    Raises
    ------
    InputError
        For a bad name or parameter, fewer than two policies, or a baseline that failed.
    """
    policies = asked_policies(options)
    params = params_by_policy(options.param, policies)
    scenario = with_options(load(options.file), options)
    for policy in policies:
        _, values = question(scenario, policy, params[policy])
        params[policy] = {name: values[name] for name in params[policy]}
    exact = not is_random(scenario) and not any(registry.find(policy).draws for policy in policies)
    seeds = tuple(range(1 if exact else options.draws))
    choices = [(policy, params[policy]) for policy in policies]
    with opened(options) as executor:
        draws = run_batch(scenario, choices, seeds, executor, progress=progress_line(options.json))
    by_policy = {policy: [draw for draw in draws if draw.policy == policy] for policy in policies}
    failed = tuple(draw for draw in draws if draw.error)
    kept = {policy: of for policy, of in by_policy.items() if not any(draw.error for draw in of)}
    if policies[0] not in kept or len(kept) < LEAST:
        raise InputError(f"policy {failed[0].policy}", f"failed: {failed[0].error}", "Correct it, or leave it out")
    return Compared(scenario, params, seeds, kept, failed, exact)


def asked_policies(options: Namespace) -> list[str]:
    """Return the policies that were typed, the baseline first."""
    named = [registry.find(policy).key for policy in options.policies or []]
    policies = list(dict.fromkeys(named))
    baseline = registry.find(options.baseline).key if options.baseline else ""
    if baseline:
        policies = [baseline, *(policy for policy in policies if policy != baseline)]
    if not LEAST <= len(policies) <= MOST:
        why = f"{LEAST} to {MOST} policies are compared, got {len(policies)}"
        raise InputError("--policies", why, "Write them as in --policies fifo,srtf")
    return policies


def params_by_policy(given: Sequence[str], policies: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of ``POLICY.K=V`` texts by policy."""
    found: dict[str, dict[str, Any]] = {policy: {} for policy in policies}
    for key, value in parse_params(given).items():
        policy, point, name = key.partition(".")
        if not point or policy not in found:
            why = f"must begin with one of {', '.join(policies)} and a point"
            raise InputError(f"--param {key}", why, f"Write it as in --param {policies[0]}.NAME=VALUE")
        found[policy][name] = value
    return found


def complaints(found: Compared) -> int:
    """Say on standard error what failed and what the audit found; 1 if there is any."""
    if found.failed:
        first = f"{found.failed[0].policy} at seed {found.failed[0].seed}: {found.failed[0].error}"
        print(f"dlsched: {amount(len(found.failed), 'run')} failed, the first {printable(first)}", file=sys.stderr)
    if found.violations:
        first = f"{found.violations[0].policy} at seed {found.violations[0].seed}: {found.violations[0].audit[0]}"
        text = f"the audit found violations in {amount(len(found.violations), 'run')}, first {first}"
        print(f"dlsched: {printable(text)}", file=sys.stderr)
    return 1 if found.failed or found.violations else 0


def _cell(cell: Cell) -> str:
    return (cell.delta_text or cell.text) + (" *" if cell.best else "")


def _table(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return numbers only: texts such as "+$88" would be formulas to a spreadsheet. Unknown ones are empty."""
    numbers = frame.drop(columns=["text", "delta_text"])
    rows = numbers.astype(object).where(numbers.notna(), "").to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]


def _plain(found: Compared, comparison: Comparison, rows: list[dict[Any, Any]]) -> dict[str, Any]:
    return {
        "scenario": found.scenario.name,
        "scenario_hash": found.scenario.content_hash,
        "baseline": comparison.baseline,
        "policies": {policy: {"label": registry.find(policy).label, "params": found.params[policy]}
                     for policy in found.draws},
        "seeds": found.seeds,
        "exact": found.exact,
        "certainty": certainty(comparison),
        "sentence": compare_sentence(comparison),
        "rows": rows,
        "draws": [{"policy": draw.policy, "seed": draw.seed, "metrics": draw.metrics, "audit": draw.audit}
                  for draws in found.draws.values() for draw in draws],
        "failed": [{"policy": draw.policy, "seed": draw.seed, "error": draw.error} for draw in found.failed],
    }  # fmt: skip


def _show(found: Compared, comparison: Comparison) -> None:
    print(f"{printable(found.scenario.name)}: {compare_sentence(comparison)}")
    header = ("number", f"{comparison.baseline} (baseline)", *comparison.names[1:])
    print_table(header, [(row.kpi.label, *map(_cell, row.cells)) for row in comparison.rows])
    print("Others show the difference from the baseline; * is best of its row, shared where draws do not tell.")
    if not found.violations:
        print("Every run was audited.")
