"""A what-if as the parameters of a link, so that another browser shows the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.studies.design import Futures, Variant, usual_futures
from dlsched.studies.design.factor import Factor
from dlsched.studies.design.factors import factor_of, factors_for, without_neutral
from dlsched.studies.design.variants import Value
from dlsched.studies.what_if.spec import WhatIfSpec

LINK_PARAMS = ("policy", "with", "to", "param", "set")
"""policy and with: the baseline's policy and parameters; to and param: those of the other side where they differ; set:
a change. with, param and set may be there several times. Futures are the scenario's, so no link names them."""
Link = Mapping[str, Sequence[str]]


def written_link(spec: WhatIfSpec) -> dict[str, list[str]]:
    """Return the parameters of the link to a question; the scenario is named apart."""
    before, after = spec.baseline, spec.changed
    same_policy = before.policy == after.policy
    base = before.params if same_policy else {}
    params = {name: value for name, value in after.params.items() if name not in base or base[name] != value}
    link = {
        "policy": [before.policy],
        "with": [f"{name}:{json.dumps(value)}" for name, value in before.params.items()],
        "to": [] if same_policy else [after.policy],
        "param": [f"{name}:{json.dumps(value)}" for name, value in params.items()]
        + [f"{name}:" for name in base if name not in after.params],
        "set": [f"{key}:{_text(value)}" for key, value in (spec.condition | after.changes).items()],
    }
    return {name: values for name, values in link.items() if values}


def read_link(link: Link, scenario: Scenario, policy: str, futures: Futures | None = None) -> WhatIfSpec:
    """Return the question a link asks about a scenario; ``policy`` is the baseline's where the link names none.

    ``futures``: on which it is answered, None = the usual ones of the scenario.

    Raises
    ------
    InputError
        Naming the part of the link that cannot be read.
    """
    before = _last(link, "policy") or policy
    after = _last(link, "to") or before
    of_before, of_after = find(before), find(after)  # InputError with the names that are near
    base = of_before.by_field(dict(_params("with", link)))
    params = dict(base if after == before else {})
    for name, value in of_after.by_field(dict(_params("param", link))).items():
        if value is None:
            params.pop(name, None)
        else:
            params[name] = value
    changes = without_neutral(scenario, dict(_changes("set", link, scenario)))
    try:
        baseline = Variant(policy=before, params=base)
        changed = Variant(policy=after, params=params)
        return WhatIfSpec(
            scenario=scenario.content_hash,
            baseline=baseline,
            changed=changed,
            futures=futures or usual_futures(scenario, before),
        ).with_changes(scenario, changes)
    except ValidationError as error:
        raise from_validation("link", error) from error


def _text(value: Value) -> str:
    """Return a value so that it is read as the same number: 1.2, 8."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(value)


def _last(link: Link, name: str) -> str:
    return (link.get(name) or [""])[-1]


def _params(name: str, link: Link) -> list[tuple[str, Any]]:
    """Return parameters of a policy, in order; None if one goes back to its default."""
    found: list[tuple[str, Any]] = []
    for text in link.get(name, ()):
        key, colon, value = text.partition(":")
        try:
            found.append((key, json.loads(value) if value else None))
        except (ValueError, RecursionError):
            colon = ""
        if not colon:
            raise InputError(f"link, {name}={text:.80}", "is not a parameter of a policy", "Write it as name:value")
    return found


def _changes(name: str, link: Link, scenario: Scenario) -> Iterable[tuple[str, Value]]:
    for text in link.get(name, ()):
        factor, value = _factor(text, scenario)
        if factor is None:
            why = "is not a change of this scenario"
            keys = ", ".join(change.key for change in factors_for(scenario))
            raise InputError(f"link, {name}={text:.80}", why, f"Write it as key:value; keys are {keys}")
        yield factor.key, factor.read(value)


def _factor(text: str, scenario: Scenario) -> tuple[Factor | None, str]:
    """Return the factor and the value of "key:value"; the longest key, because names may hold a colon."""
    for at in range(len(text) - 1, 0, -1):
        if text[at] == ":":
            with suppress(InputError):
                return factor_of(scenario, text[:at]), text[at + 1 :]
    return None, ""
