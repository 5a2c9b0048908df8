"""``compare``: policies and changes of a scenario in the same futures under one condition, against a baseline."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dlsched.cli.goal import futures_of
from dlsched.cli.output import print_mind, print_table, printable, progress_line
from dlsched.cli.reading import loaded
from dlsched.cli.simulate import parse_params, with_options
from dlsched.cli.study_command import complain, known_trust, opened, tell
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.findings import compare_sentence
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import Cell, Comparison, compare, comparison_table
from dlsched.policies import registry
from dlsched.report.alternatives import Condition, condition_of
from dlsched.studies.design import (
    EditedScenarios,
    Futures,
    RunResult,
    Variant,
    basis_of,
    resolve_variant,
    run_variants,
)
from dlsched.studies.design.factors import conditions_of, without_neutral
from dlsched.studies.simulation import resolve_policy
from dlsched.studies.sizing.conditions import read_condition
from dlsched.studies.what_if import WhatIfSpec, moved
from dlsched.studies.what_if.words import subject
from dlsched.wording.cautions import violation_words
from dlsched.wording.caveats import Caveat, caveats_of, plain_caveats
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import amount, capital

LEAST, MOST = 2, 6


@dataclass(frozen=True, eq=False)
class Draw(RunResult):
    """One choice at one seed: what its run says."""

    policy: str = ""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Compared:
    """What was asked and computed, all of it under one ``condition``.

    ``variants`` and ``draws`` by name, the baseline first; what failed is left out. ``trust``: what a stored
    calibration says of the baseline.
    """

    scenario: Scenario
    condition: Condition
    variants: Mapping[str, Variant]
    futures: Futures
    basis: Basis
    draws: Mapping[str, Sequence[Draw]]
    failed: tuple[Draw, ...]
    trust: Caveat | None = None

    @property
    def violations(self) -> list[Draw]:
        """The draws of which the auditor complains."""
        return [draw for draws in self.draws.values() for draw in draws if draw.audit]

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must stand beside the sentence."""
        policies = [registry.find(self.variants[name].policy) for name in self.draws]
        return caveats_of(self.scenario, policies, trust=self.trust, resampled=self.basis.days > 0)

    @property
    def comparison(self) -> Comparison:
        """The comparison of what did not fail."""
        runs = [(name, [draw.metrics or {} for draw in draws]) for name, draws in self.draws.items()]
        rents, counted = self.scenario.cluster.free_slots, counted_of(self.scenario)
        return compare(runs, runs[0][0], basis=self.basis, rents=rents, counted=counted)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when a run failed or the audit found a violation."""
    found = computed(options)
    comparison = found.comparison
    frame = comparison_table(comparison)
    plain = _plain(found, comparison, frame.to_dict("records"))
    tell(options, plain, lambda: _show(found, comparison), lambda: _table(frame))
    return complaints(found)


def computed(options: Namespace) -> Compared:
    """Return what was typed, computed: all policies and changes on all draws, the baseline first.

    Nothing random: one draw says all, so that only one is made.

    Raises
    ------
    InputError
        For a bad name, parameter or change, fewer than two choices, or a baseline that failed.
    """
    policies = asked_policies(options)
    sets = [read_set(text, policies[0]) for text in options.set]
    params = params_by_policy(options.param, list(dict.fromkeys([*policies, *(policy for policy, _ in sets)])))
    scenario = with_options(loaded(options), options)
    happens = [part for text in options.condition for part in text.split(",")]
    condition = condition_of(scenario, read_condition(happens, scenario))
    variants = _variants(scenario, policies, sets, params)
    under = [one.model_copy(update={"changes": {**condition.changes, **one.changes}}) for one in variants.values()]
    futures = futures_of(options, scenario)
    edited = EditedScenarios(scenario)
    basis = basis_of(scenario, [resolve_variant(edited, one, futures) for one in under], futures)
    futures = futures.recorded if basis.is_exact else futures
    with opened(options) as executor:
        batch = run_variants(
            scenario, under, futures, executor,
            progress=progress_line(options.json),
        )  # fmt: skip
    draws = {
        name: [Draw(one.metrics, one.audit, one.error, variant.policy, seed)
               for seed, one in zip(futures.seeds, by_seed, strict=True)]
        for (name, variant), by_seed in zip(variants.items(), batch.results, strict=True)
    }  # fmt: skip
    failed = tuple(draw for of in draws.values() for draw in of if draw.error)
    kept = {name: of for name, of in draws.items() if not any(draw.error for draw in of)}
    if next(iter(variants)) not in kept or len(kept) < LEAST:
        raise InputError(f"policy {failed[0].policy}", f"failed: {failed[0].error}", "Correct it, or leave it out")
    trust = known_trust(scenario, policies[0], options)
    return Compared(scenario, condition, variants, futures, basis, kept, failed, trust)


def _variants(
    scenario: Scenario,
    policies: Sequence[str],
    sets: Sequence[tuple[str, Mapping[str, str]]],
    params: Mapping[str, Mapping[str, Any]],
) -> dict[str, Variant]:
    """Return the options by name: each policy on the unchanged scenario, then each change in words."""
    checked = {}
    for policy, given in params.items():
        values = resolve_policy(scenario, policy, given).values
        checked[policy] = {name: values[name] for name in given}
    variants = {registry.find(policy).label: Variant(policy=policy, params=checked[policy]) for policy in policies}
    base = next(iter(variants.values()))
    for policy, typed in sets:
        changes = without_neutral(scenario, dict(typed))
        for key in conditions_of(scenario, changes):
            why = f"{key} is a condition, not an option"
            raise InputError(f"--set {_typed(typed)}", why, f"Write it as in --condition {key}={typed[key]}")
        variant = Variant(policy=policy, changes=changes, params=checked[policy])
        spec = WhatIfSpec(scenario=scenario.content_hash, baseline=base, changed=variant)
        if not changes:
            why = "changes nothing in the scenario"
            raise InputError(f"--set {_typed(typed)}", why, "Give another value, or name a policy with --policies")
        name = subject(moved(spec, scenario)).words
        if name in variants:
            raise InputError(f"--set {_typed(typed)}", "is given twice", "Remove one of them")
        variants[name] = variant
    return variants


def _typed(changes: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in changes.items())


def read_set(text: str, policy: str) -> tuple[str, dict[str, str]]:
    """Return policy and changes of "nodes=10" or "policy=sjf,nodes=10,demand=1.2"; ``policy`` where it names none."""
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and key and value):
            why = "is not of the form KEY=VALUE"
            raise InputError(f"--set {text}", why, "Write it as in --set nodes=10,demand=1.2")
        if key in found:
            raise InputError(f"--set {text}", f"names {key} twice", "Remove one of them")
        found[key] = value
    return registry.find(found.pop("policy", policy)).key, found


def asked_policies(options: Namespace) -> list[str]:
    """Return the policies that were typed, the baseline first; one is enough beside changes."""
    named = [registry.find(policy).key for policy in options.policies or []]
    policies = list(dict.fromkeys(named))
    baseline = registry.find(options.baseline).key if options.baseline else ""
    if baseline:
        policies = [baseline, *(policy for policy in policies if policy != baseline)]
    many = len(policies) + len(options.set)
    if not LEAST <= many <= MOST or not policies:
        beside = " and changes" if options.set else ""
        why = f"must name {LEAST} to {MOST} policies{beside}, got {many}"
        raise InputError("--policies", why, "Write them as in --policies fifo,srtf")
    return policies


def params_by_policy(given: Sequence[str], policies: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of ``POLICY.K=V`` texts by policy."""
    found: dict[str, dict[str, Any]] = {policy: {} for policy in policies}
    for key, value in parse_params(given).items():
        policy, point, name = key.partition(".")
        if not point or policy not in found:
            why = f"must start with one of {', '.join(policies)} and a dot"
            raise InputError(f"--param {key}", why, f"Write it as in --param {policies[0]}.NAME=VALUE")
        found[policy][name] = value
    return found


def complaints(found: Compared) -> int:
    """Say on standard error what failed and what the audit found; 1 if there is any."""
    failed = violations = ""
    if found.failed:
        first = found.failed[0]
        at = f"{first.policy} at seed {first.seed}: {first.error}"
        failed = f"{amount(len(found.failed), 'run')} failed; the first: {at}"
    if found.violations:
        violations = violation_words([(f"{one.policy} at seed {one.seed}", one.audit[0]) for one in found.violations])
    return complain(failed, violations)


def _cell(cell: Cell) -> str:
    """Return the value with its range, the verdict against the baseline, and a mark where it is best."""
    return ", ".join(filter(None, (cell.text, cell.told.verdict or cell.told.size))) + (" *" if cell.best else "")


def _table(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return numbers only: texts such as "+$88" would be formulas to a spreadsheet. Unknown ones are empty."""
    numbers = frame.drop(columns=["text", "delta_text"])
    rows = numbers.astype(object).where(numbers.notna(), "").to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]


def _plain(found: Compared, comparison: Comparison, rows: list[dict[Any, Any]]) -> dict[str, Any]:
    return {
        "scenario": found.scenario.name,
        "scenario_hash": found.scenario.content_hash,
        "condition": found.condition.changes,
        "baseline": comparison.baseline,
        "policies": {variant.policy: {"label": name, "params": variant.params}
                     for name, variant in found.variants.items() if name in found.draws and not variant.changes},
        "changes": {name: {"policy": variant.policy, "params": variant.params, "set": variant.changes}
                    for name, variant in found.variants.items() if name in found.draws and variant.changes},
        "futures": found.futures.model_dump(mode="json"),
        "basis": found.basis.model_dump(mode="json"),
        "certainty": comparison.certainty,
        "sentence": compare_sentence(comparison),
        "caveats": plain_caveats(found.caveats),
        "rows": rows,
        "runs": [{"name": name, "policy": draw.policy, "seed": draw.seed, "metrics": draw.metrics,
                  "audit": draw.audit} for name, draws in found.draws.items() for draw in draws],
        "failed": [{"policy": draw.policy, "seed": draw.seed, "error": draw.error} for draw in found.failed],
    }  # fmt: skip


def _show(found: Compared, comparison: Comparison) -> None:
    under = f", with {found.condition.words}" if found.condition.words else ""
    print(f"{printable(found.scenario.name)}{under}: {compare_sentence(comparison)}")
    print_mind(found.caveats)
    header = ("metric", f"{comparison.baseline} (baseline)", *comparison.names[1:])
    print_table(header, [(row.kpi.label, *map(_cell, row.cells)) for row in comparison.rows])
    print(
        f"{capital(comparison.interval_note)}. Better and worse are relative to the baseline; * marks the best, "
        "ties included."
    )
    if not found.violations:
        print("Every run was audited.")
