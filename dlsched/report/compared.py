"""Policies and changes of a scenario in the same futures under one condition, against the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.findings import compare_sentence
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import Cell, Comparison, compare, comparison_table
from dlsched.policies import registry
from dlsched.report.alternatives import Condition
from dlsched.report.shown import Shown
from dlsched.studies.design import EditedScenarios, Futures, RunResult, Variant, basis_of, resolve_variant, run_variants
from dlsched.studies.design.factors import conditions_of, without_neutral
from dlsched.studies.design.variants import Value
from dlsched.studies.simulation import Progress, read_policy
from dlsched.studies.sweep.spec import policy_of
from dlsched.studies.what_if import WhatIfSpec, moved
from dlsched.studies.what_if.words import subject
from dlsched.wording.assumptions import Premise, assumptions, draw_premises
from dlsched.wording.caveats import Caveat, caveats_of, plain_caveats
from dlsched.wording.counted import counted_of

LEAST, MOST = 2, 6


@dataclass(frozen=True, eq=False)
class Draw(RunResult):
    """One choice at one seed: what its run says."""

    policy: str = ""
    seed: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Shown):
    """What was asked and computed, all of it under one ``condition``.

    ``frame`` and ``runs`` hold the numbers. ``variants`` and ``draws`` by name, the baseline first; what failed is left
    out. ``trust``: what a stored calibration says of the baseline. ``jobs``: tables of jobs that are known, by name and
    seed.
    """

    scenario: Scenario
    condition: Condition
    variants: Mapping[str, Variant]
    futures: Futures
    basis: Basis
    draws: Mapping[str, Sequence[Draw]]
    failed: tuple[Draw, ...] = ()
    trust: Caveat | None = None
    jobs: Mapping[tuple[str, int], pd.DataFrame] | None = None

    @property
    def violations(self) -> list[Draw]:
        """The draws of which the auditor complains."""
        return [draw for draws in self.draws.values() for draw in draws if draw.audit]

    @property
    def sentence(self) -> str:
        """What the comparison says, and how sure that is."""
        return compare_sentence(self.comparison)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must stand beside the sentence."""
        policies = [registry.find(self.variants[name].policy) for name in self.draws]
        return caveats_of(self.scenario, policies, trust=self.trust, resampled=self.basis.days > 0)

    @cached_property
    def comparison(self) -> Comparison:
        """The comparison of what did not fail."""
        runs = [(name, [draw.metrics or {} for draw in draws]) for name, draws in self.draws.items()]
        rents, counted = self.scenario.cluster.rents, counted_of(self.scenario)
        return compare(runs, runs[0][0], basis=self.basis, rents=rents, counted=counted)

    @property
    def assumptions(self) -> tuple[Premise, ...]:
        """All that the answer rests on: its caveats, then the rest."""
        metrics = [draw.metrics or {} for draws in self.draws.values() for draw in draws]
        stops_jobs = any(one.get("preemptions") or one.get("resizes") for one in metrics)
        rest = assumptions(self.scenario, stops_jobs=stops_jobs, today=date.today())
        return *self.caveats, *draw_premises(self.futures.vary), *rest

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each metric and option, see :func:`dlsched.metrics.stats.compare.comparison_table`."""
        return comparison_table(self.comparison)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run: ``name``, ``policy``, ``seed`` and all metrics by key, in seconds and dollars."""
        return pd.DataFrame([
            {"name": name, "policy": draw.policy, "seed": draw.seed, **(draw.metrics or {})}
            for name, draws in self.draws.items() for draw in draws
        ])  # fmt: skip

    @property
    def table(self) -> pd.DataFrame:
        """Metrics by option as texts: the value, its range, the verdict against the baseline; * marks the best."""
        return table_of(self.comparison)

    def to_plain(self) -> dict[str, Any]:
        """Return all of it in JSON's own types; numbers that are undefined are NaN."""
        comparison, usual = self.comparison, dict[str, str]()
        for name, variant in self.variants.items():
            if not variant.changes:
                usual.setdefault(variant.policy, name)
        as_they_are = set(usual.values())
        return {
            "scenario": self.scenario.name,
            "scenario_hash": self.scenario.content_hash,
            "condition": self.condition.changes,
            "baseline": comparison.baseline,
            "policies": {variant.policy: {"label": name, "params": variant.params}
                         for name, variant in self.variants.items() if name in self.draws and name in as_they_are},
            "changes": {name: {"policy": variant.policy, "params": variant.params, "set": variant.changes}
                        for name, variant in self.variants.items() if name in self.draws and name not in as_they_are},
            "futures": self.futures.model_dump(mode="json"),
            "basis": self.basis.model_dump(mode="json"),
            "certainty": comparison.certainty,
            "sentence": self.sentence,
            "caveats": plain_caveats(self.caveats),
            "rows": self.frame.to_dict("records"),
            "runs": [{"name": name, "policy": draw.policy, "seed": draw.seed, "metrics": draw.metrics,
                      "audit": draw.audit} for name, draws in self.draws.items() for draw in draws],
            "failed": [{"policy": draw.policy, "seed": draw.seed, "error": draw.error} for draw in self.failed],
        }  # fmt: skip


def table_of(comparison: Comparison) -> pd.DataFrame:
    """Return one row for each metric and one column for each option, as texts; see :attr:`Compared.table`."""
    names = [f"{comparison.baseline} (baseline)", *comparison.names[1:]]
    return pd.DataFrame([
        {"metric": row.kpi.label, **{name: _cell(cell) for name, cell in zip(names, row.cells, strict=True)}}
        for row in comparison.rows
    ])  # fmt: skip


def _cell(cell: Cell) -> str:
    """Return the value with its range, the verdict against the baseline, and a mark where it is best."""
    return ", ".join(filter(None, (cell.text, cell.told.verdict or cell.told.size))) + (" *" if cell.best else "")


def run_compared(
    scenario: Scenario,
    variants: Mapping[str, Variant],
    condition: Condition,
    futures: Futures,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Return named variants computed in all futures, the first of them the baseline.

    Nothing random: one future says all, so that only one is run. ``executor``: None = here, one after the other.

    Raises
    ------
    InputError
        For what cannot be run, or where fewer than two variants, or not the baseline, ran to the end.
    """
    under = [one.model_copy(update={"changes": {**condition.changes, **one.changes}}) for one in variants.values()]
    edited = EditedScenarios(scenario)
    basis = basis_of(scenario, [resolve_variant(edited, one, futures) for one in under], futures)
    futures = futures.recorded if basis.is_exact else futures
    batch = run_variants(scenario, under, futures, executor, progress=progress)
    draws = {
        name: [Draw(one.metrics, one.audit, one.error, variant.policy, seed)
               for seed, one in zip(futures.seeds, by_seed, strict=True)]
        for (name, variant), by_seed in zip(variants.items(), batch.results, strict=True)
    }  # fmt: skip
    failed = tuple(draw for of in draws.values() for draw in of if draw.error)
    kept = {name: of for name, of in draws.items() if not any(draw.error for draw in of)}
    if next(iter(variants)) not in kept or len(kept) < LEAST:
        raise InputError(f"policy {failed[0].policy}", f"failed: {failed[0].error}", "Correct it, or leave it out")
    return Compared(scenario, condition, variants, futures, basis, kept, failed)


def named_variants(
    scenario: Scenario,
    policies: Sequence[str],
    options: Sequence[tuple[str, Mapping[str, Value]]],
    params: Mapping[str, Mapping[str, Any]],
    typed: str = "option ",
) -> dict[str, Variant]:
    """Return the options by name: each policy on the unchanged scenario, then each change in words.

    ``options``: policy and changes of each, those of parameters as POLICY.PARAMETER; ``params`` by policy, those that
    differ from their defaults; ``typed``: what stands before changes in a message.

    Raises
    ------
    InputError
        For a bad name, parameter or change, one that changes nothing or is a condition, and one given twice.
    """

    def checked_params(policy: str, given: Mapping[str, Any]) -> dict[str, Any]:
        read = read_policy(policy, given)
        return {name: read.values[name] for name in read.spec.by_field(given)}

    checked = {policy: checked_params(policy, given) for policy, given in params.items()}
    variants = {registry.find(one).label: Variant(policy=one, params=checked.get(one, {})) for one in policies}
    base = next(iter(variants.values()))
    for policy, asked in options:
        what = typed + ",".join(f"{key}={value}" for key, value in asked.items())
        given = {key: value for key, value in asked.items() if policy_of(key)}
        for key in given:
            if policy_of(key) != policy:
                why = f"{key} is a parameter of {policy_of(key)}, and this option runs under {policy}"
                raise InputError(what, why, f"Add policy={policy_of(key)}")
        usual = checked.get(policy, {})
        own = usual | checked_params(policy, {key.partition(".")[2]: value for key, value in given.items()})
        changes = without_neutral(scenario, {key: value for key, value in asked.items() if key not in given})
        for key in conditions_of(scenario, changes):
            why = f"{key} is a condition, not an option"
            raise InputError(what, why, f"Write it as in --condition {key}={asked[key]}")
        variant = Variant(policy=policy, changes=changes, params=own)
        spec = WhatIfSpec(scenario=scenario.content_hash, baseline=base, changed=variant)
        if not changes and read_policy(policy, own).values == read_policy(policy, usual).values:
            do = "Give another value, or name a policy with --policies"
            raise InputError(what, "changes nothing in the scenario", do)
        name = subject(moved(spec, scenario)).words
        if name in variants:
            raise InputError(what, "is given twice", "Remove one of them")
        variants[name] = variant
    return variants
