"""``--read KEY=VALUE`` and ``--energy KEY=VALUE``: how the trace of a command is read, and what energy it counts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dlsched.domain.energy import EnergySetup, gpu_types_of
from dlsched.domain.errors import InputError, validated
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.wording.clock import clock_of
from dlsched.wording.formats import listed
from dlsched.workload.energy_setup import counting_energy, known_power, with_hours
from dlsched.workload.load import load
from dlsched.workload.readers import ReadOptions, load_mapping
from dlsched.workload.readers.options import parse_choice
from dlsched.workload.readers.registry import find_format

FILES = ("mapping", "cluster", "throughputs")
"""Choices whose value is the path of a file."""


def loaded(options: Namespace, **usual: Any) -> Scenario:
    """Return the scenario of the file that was typed, a trace read as was typed, else with the ``usual`` choices."""
    reading = options_typed(options)
    asked = {name: value for name, value in usual.items() if name not in reading.model_fields_set}
    scenario = load(options.file, reading.model_copy(update=asked))
    return with_energy(scenario, options.energy) if options.energy else scenario


def with_energy(scenario: Scenario, typed: Sequence[str]) -> Scenario:
    """Return a scenario whose energy is counted as ``--energy KEY=VALUE`` says, on top of what it has.

    ``TYPE=IDLE:BUSY`` gives the watts of a GPU type; other types draw what is known of their boards.

    Raises
    ------
    InputError
        An unknown key, a value that does not suit, or a GPU type of the cluster whose power is not known.
    """
    types = gpu_types_of(scenario.cluster)
    setup = scenario.energy or EnergySetup(power=known_power(types))
    power, fields, hours = {one.gpu_type: one.model_dump() for one in setup.power}, setup.model_dump(), []
    for text in typed:
        key, _, value = (part.strip() for part in text.partition("="))
        if key == "hours":
            hours.append(value)
        elif key in ("pue", "usd_per_kwh", "g_per_kwh"):
            given = _numbers(text, [value])
            fields[key] = given[0] if key == "pue" else given
        elif key in types:
            idle_w, busy_w = _numbers(text, value.split(":"), 2)
            power[key] = {"gpu_type": key, "idle_w": idle_w, "busy_w": busy_w}
        else:
            keys = ("pue", "usd_per_kwh", "g_per_kwh", "hours", *sorted(types))
            raise InputError(f"--energy {text}", f"there is no {key!r}", names_hint(key, keys))
    setup = validated(EnergySetup, fields | {"power": list(power.values())}, "--energy")
    for path in hours:
        setup = with_hours(setup, _content(f"--energy hours={path}", path), path, clock_of(scenario.workload).zero)
    if unknown := setup.unknown_types(types):
        way = f"Give the watts of one GPU, idle and busy, as in --energy {unknown[0] or 'GPU'}=60:400"
        raise InputError("--energy", f"the power of {listed([repr(name) for name in unknown])} is not known", way)
    return counting_energy(scenario, setup)


def _numbers(typed: str, parts: Sequence[str], wanted: int = 1) -> list[float]:
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != wanted:
        form = "a number" if wanted == 1 else "two numbers, IDLE:BUSY"
        raise InputError(f"--energy {typed}", f"its value must be {form}", "Write it as in --energy H100=105:700")
    return numbers


def options_typed(options: Namespace) -> ReadOptions:
    """Return the reading choices of ``--read KEY=VALUE``, ``--cluster``, ``--queues`` and ``--slurm FILE``.

    Lists are separated by commas: ``cores_per_gpu=1:8,2:16``. A column mapping and a description of the cluster are
    given as files.

    Raises
    ------
    InputError
        An unknown or repeated key, with near names; a value that does not suit.
    """
    given: dict[str, Any] = {}
    for text in [*options.read, *([f"cluster={options.cluster}"] if options.cluster else [])]:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise InputError(f"--read {text}", "is not of the form KEY=VALUE", "Write it as in --read cpu_jobs=drop")
        if key in ("queues", "slurm") or key not in ReadOptions.model_fields:
            hint = names_hint(key, ReadOptions.model_fields)
            raise InputError(f"--read {text}", f"there is no reading choice {key!r}", hint)
        if key in given:
            raise InputError(f"--read {text}", f"{key} is given twice", "Give it once")
        given[key] = _value(key, value)
    if options.queues:
        given["queues"] = [_content(f"--queues {path}", path) for path in options.queues]
    if options.slurm:
        given["slurm"] = [_content(f"--slurm {path}", path) for path in options.slurm]
    if given.get("format", "auto") != "auto":
        find_format(given["format"])
    return validated(ReadOptions, given, "--read")


def _value(key: str, text: str) -> Any:
    if key in FILES:
        content = _content(f"--read {key}={text}", text)
        return load_mapping(content) if key == "mapping" else content
    return parse_choice(key, text)


def _content(typed: str, path: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        why = f"the file cannot be read ({getattr(error, 'strerror', None) or error})"
        raise InputError(typed, why, "Check the path") from None
