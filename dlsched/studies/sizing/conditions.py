"""Conditions: what happens to every size alike, today's included, as changes of the scenario that are not a choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.design.factor import Value
from dlsched.studies.design.factors import factor_of, options_of, without_neutral

LOAD = "demand"
"""The change that makes more jobs."""


def read_condition(texts: Iterable[str], scenario: Scenario, sign: str = "=") -> dict[str, Value]:
    """Return the conditions of "demand=1.3", "prices=1.2", in this order, without those that change nothing.

    Raises
    ------
    InputError
        Naming the condition that cannot be read, or is something to choose.
    """
    found: dict[str, Value] = {}
    for text in texts:
        key, there, value = text.partition(sign)
        if not there:
            raise InputError(f"condition {text!r:.80}", "is not of the form KEY=VALUE", "Write it as in demand=1.3")
        found[key.strip()] = factor_of(scenario, key.strip()).read(value.strip())
    refuse_options(found, scenario)
    return without_neutral(scenario, found)


def refuse_options(condition: Mapping[str, Value], scenario: Scenario) -> None:
    """Raise InputError for a condition that is something to choose, such as nodes."""
    chosen = sorted(options_of(scenario, condition))
    if chosen:
        why = "is something to choose, not something that happens"
        raise InputError(f"condition {chosen[0]}", why, "Ask under another demand, run times, prices or failures")


def written(condition: Mapping[str, Value], sign: str = "=") -> list[str]:
    """Return conditions so that :func:`read_condition` reads the same: "demand=1.3"."""
    return [f"{key}{sign}{value:.12g}" if isinstance(value, float) else f"{key}{sign}{value}"
            for key, value in condition.items()]  # fmt: skip


def condition_at(condition: Mapping[str, Value], load: float) -> dict[str, Value]:
    """Return what happens at a load: the conditions asked about, with so many times as many jobs."""
    found = dict(condition)
    if load != 1.0:
        # Twelve figures, so that the factor is the same in tables, hashes and links.
        found[LOAD] = float(f"{float(found.get(LOAD, 1.0)) * load:.12g}")
    return found
