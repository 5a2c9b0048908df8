"""How to compute the numbers of a memo again: commands to copy, and the name of the scenario file they read."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.report.alternatives import Alternative
from dlsched.studies.design.variants import Futures
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.sizing.conditions import written
from dlsched.wording.typed import text_of

LONGEST_NAME = 40
PROGRAM = ("dlsched",)


def file_name(scenario_name: str) -> str:
    """Return the name of the file a scenario is downloaded as: letters, digits, dash and underscore.

    It does not start with a dash: a command would take it for an option.
    """
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in scenario_name)
    return (plain.lstrip("-")[:LONGEST_NAME] or "scenario") + ".json"


def simulate_command(option: Alternative) -> str:
    """Return the command that makes the first run of an option; "" where one run on the file cannot express it."""
    own = option.futures.changes_in(option.futures.seeds[0])
    if not option.policy or option.changes or option.condition.changes or own:
        return ""
    params = [part for key, value in option.params.items() for part in ("--param", f"{key}={_value(value)}")]
    seed = ["--seed", str(option.futures.seeds[0])]
    return _typed("simulate", file_name(option.origin.name), "--policy", option.policy, *params, *seed)


def compare_command(options: Sequence[Alternative]) -> str:
    """Return the one command that computes all options again, the first as baseline; "" where one cannot say it.

    One command compares policies and changes of one file, over the draws from 0 on. A policy has the parameters of its
    first option, and others what differs from these.
    """
    first, usual = options[0], dict[str, Mapping[str, Any]]()
    for option in options:
        usual.setdefault(option.policy, option.params)
    is_moved = [bool(option.changes) or option.params != usual[option.policy] for option in options]
    as_it_is = [option.policy for option, moved in zip(options, is_moved, strict=True) if not moved]
    one_file = len({option.origin.scenario_hash for option in options}) == 1
    from_0 = all(option.futures == Futures.first(first.futures.count, first.futures.vary) for option in options)
    sayable = all(_is_sayable(option, usual[option.policy]) for option in options)
    sayable = sayable and len(set(as_it_is)) == len(as_it_is)
    if first.changes or not (one_file and from_0 and sayable):
        return ""
    condition = ",".join(f"{key}={_value(value)}" for key, value in first.condition.changes.items())
    typed = [("--condition", condition)] if condition else []
    typed += [
        ("--set", _set(option, first.policy, usual[option.policy]))
        for option, moved in zip(options, is_moved, strict=True)
        if moved
    ]
    typed += vary_flags(first.futures)
    typed += [
        ("--param", f"{policy}.{key}={_value(value)}") for policy, of in usual.items() for key, value in of.items()
    ]
    names = ("--policies", ",".join(as_it_is), "--futures", str(first.futures.count))
    return _typed("compare", file_name(first.origin.name), *names, *(part for pair in typed for part in pair))


def _moved_params(option: Alternative, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from the usual ones of the policy, as POLICY.PARAMETER."""
    return {f"{option.policy}.{key}": value for key, value in option.params.items() if usual.get(key) != value}


def _is_sayable(option: Alternative, usual: Mapping[str, Any]) -> bool:
    """Whether a policy of the registry made an option, with changes that ``--set`` can hold.

    A value with a comma would run into the next key, and a name with "=" would end before it. What goes back to its
    default is not typed.
    """
    changes = {**option.changes, **option.condition.changes, **_moved_params(option, usual)}
    in_words = not any("=" in key or "," in str(value) for key, value in changes.items())
    return bool(option.policy) and in_words and usual.keys() <= option.params.keys()


def _set(option: Alternative, baseline: str, usual: Mapping[str, Any]) -> str:
    """Return changes as ``--set`` reads them: "nodes=10", "policy=sjf,nodes=10,demand=1.2", "slurm.phase=30"."""
    policy = {} if option.policy == baseline else {"policy": option.policy}
    changes = policy | dict(option.changes) | _moved_params(option, usual)
    return ",".join(f"{key}={_value(value)}" for key, value in changes.items())


def size_command(sizing: Sizing, scenario_name: str) -> str:
    """Return the command that searches for a size again."""
    rule, sides = sizing.rule, {"at most": "<=", "at least": ">="}
    targets = [("--target", f"{one.metric}{sides[one.side]}{text_of(one.kpi.kind, one.limit)}") for one in rule.targets]
    types = [f"{vm.key.removeprefix('nodes.')}={vm.least}:{vm.most}" for vm in sizing.types]
    typed = [*targets, ("--policy", sizing.policy), ("--types", ",".join(types)), ("--claim", rule.claim)]
    typed += [("--level", f"{100 * rule.level:.12g}")] if rule.claim == "nearly-every" else []
    typed += [("--param", f"{key}={_value(value)}") for key, value in sizing.params.items()]
    typed += [("--condition", text) for text in written(sizing.condition)]
    if not rule.exact:
        typed += [("--futures", str(sizing.futures.count)), *vary_flags(sizing.futures)]
    return _typed("size", file_name(scenario_name), *(part for pair in typed for part in pair))


def vary_flags(futures: Futures) -> list[tuple[str, str]]:
    """Return what differs between futures as it is typed."""
    return [("--vary", f"{key}={_value(value)}") for key, value in futures.vary.items()] or [("--vary", "none")]


def commands(options: Sequence[Alternative], sizing: Sizing | None = None) -> tuple[str, ...]:
    """Return the command for all options at once, if there is one, that of a search for a size, of each option."""
    searched = () if sizing is None else (size_command(sizing, options[0].origin.name),)
    typed = (compare_command(options), *searched, *(simulate_command(option) for option in options))
    return tuple(dict.fromkeys(command for command in typed if command))


def settings(options: Sequence[Alternative]) -> dict[str, Mapping[str, Any]]:
    """Return what the options were computed with, by name, for a table of what differs."""
    return {
        option.name: {
            "policy": option.policy,
            "parameter": option.params,
            "change": {key: _value(value) for key, value in option.changes.items()},
            "condition": option.condition.words,
            "differs between futures": {key: _value(value) for key, value in option.futures.vary.items()},
            "scenario": option.origin.scenario_hash[:8],
            "futures": seeds_words(option.futures.seeds),
            "code version": option.code_version,
        }
        for option in options
    }


def seeds_words(seeds: Sequence[int]) -> str:
    """Return seeds in few words: "0 to 9", "0, 3, 7"."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value)


def _typed(*parts: str) -> str:
    return " ".join((*PROGRAM, *(shlex.quote(part) for part in parts)))
