"""``compare``: policies and changes of a scenario in the same futures under one condition, against a baseline."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dlsched.cli.goal import futures_of
from dlsched.cli.output import print_mind, print_table, printable, progress_line
from dlsched.cli.reading import loaded
from dlsched.cli.simulate import parse_params, with_options
from dlsched.cli.study_command import complain, known_trust, opened, tell
from dlsched.domain.errors import InputError
from dlsched.policies import registry
from dlsched.report.alternatives import condition_of
from dlsched.report.compared import LEAST, MOST, Compared, named_variants, run_compared
from dlsched.studies.sizing.conditions import read_condition
from dlsched.studies.sweep.spec import policy_of
from dlsched.wording.cautions import violation_words
from dlsched.wording.formats import amount, capital


def run(options: Namespace) -> int:
    """Carry out the command; 1 when a run failed or the audit found a violation."""
    found = computed(options)
    tell(options, found.to_plain(), lambda: _show(found), lambda: _table(found.frame))
    return complaints(found)


def computed(options: Namespace) -> Compared:
    """Return what was typed, computed: all policies and changes in all futures, the baseline first.

    Raises
    ------
    InputError
        For a bad name, parameter or change, fewer than two choices, or a baseline that failed.
    """
    policies = asked_policies(options)
    sets = [read_set(text, policies[0]) for text in options.set]
    params = params_by_policy(options.param, list(dict.fromkeys([*policies, *(policy for policy, _ in sets)])))
    scenario = with_options(loaded(options), options)
    happens = [part for text in options.condition for part in split_changes(text)]
    condition = condition_of(scenario, read_condition(happens, scenario))
    variants = named_variants(scenario, policies, sets, params, "--set ")
    futures = futures_of(options, scenario, policies[0])
    with opened(options) as executor:
        found = run_compared(scenario, variants, condition, futures, executor, progress_line(options.json))
    return replace(found, trust=known_trust(scenario, policies[0], options))


def split_changes(text: str) -> list[str]:
    """Return the parts of "nodes=10,nodes.A100, 80 GB=2": a name may hold commas, so what has no "=" begins the next.

    What is left behind the last "=" belongs to its value.
    """
    parts = [""]
    for piece in text.split(","):
        parts[-1] += f",{piece}" if parts[-1] else piece
        if "=" in piece:
            parts.append("")
    *whole, rest = parts
    return [*whole[:-1], f"{whole[-1]},{rest}" if rest else whole[-1]] if whole else [rest]


def read_set(text: str, policy: str) -> tuple[str, dict[str, Any]]:
    """Return policy and changes of "nodes=10" or "policy=sjf,nodes=10,sjf.x=1"; ``policy`` where it names none."""
    found: dict[str, Any] = {}
    for part in split_changes(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and key and value):
            why = "is not of the form KEY=VALUE"
            raise InputError(f"--set {text}", why, "Write it as in --set nodes=10,demand=1.2")
        if key in found:
            raise InputError(f"--set {text}", f"names {key} twice", "Remove one of them")
        found[key] = parse_params([f"{key}={value}"])[key] if policy_of(key) else value
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


def _table(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return numbers only: texts such as "+$88" would be formulas to a spreadsheet. Unknown ones are empty."""
    numbers = frame.drop(columns=["text", "delta_text"])
    rows = numbers.astype(object).where(numbers.notna(), "").to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]


def _show(found: Compared) -> None:
    comparison = found.comparison
    under = f", with {found.condition.words}" if found.condition.words else ""
    print(f"{printable(found.scenario.name)}{under}: {found.sentence}")
    print_mind(found.caveats)
    table = found.table
    print_table(table.columns.astype(str).tolist(), table.to_numpy().tolist())
    print(
        f"{capital(comparison.interval_note)}. Better and worse are relative to the baseline; * marks the best, "
        "ties included."
    )
    if not found.violations:
        print("Every run was audited.")
