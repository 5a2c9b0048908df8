"""``--read KEY=VALUE``: how the trace of a command is read."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from dlsched.domain.errors import InputError, validated
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.workload.load import load
from dlsched.workload.readers import ReadOptions, load_mapping
from dlsched.workload.readers.options import parse_choice
from dlsched.workload.readers.registry import find_format

FILES = ("mapping", "cluster", "throughputs")
"""Choices whose value is the path of a file."""


def loaded(options: Namespace) -> Scenario:
    """Return the scenario of the file that was typed, a trace read as was typed."""
    return load(options.file, options_typed(options))


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
