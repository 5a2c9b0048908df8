"""The specification of a policy that is another process, and where its command line may come from."""

from __future__ import annotations

import os
import shlex
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path

from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.external.policy import ExternalPolicy

KEY = "external"
VARIABLE = "DLSCHED_EXTERNAL"
"""Variable with the command line: set by the command line and by who configures a server, never by a page or a link."""
_SHOWN_DIGITS = 6


class ExternalParams(FrozenModel):
    """The command line is no parameter: parameters come from links and files too, which must not start programs."""

    timeout_s: float = Field(
        10.0,
        gt=0,
        le=3600,
        title="Longest time for an answer",
        description="Time that the process has for each answer; a run ends with an error after it.",
        json_schema_extra={"unit": "s"},
    )


def external_policy(command: str) -> PolicySpec:
    """Return the policy that a command line starts, as in ``./my_scheduler --fast``; no shell reads it.

    Its results are kept under the command line and the contents of the files that it names.

    Raises
    ------
    InputError
        If the command line is empty or has an unclosed quote.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise InputError("policy external, command", f"{error}, got {command[:200]!r}", "Close the quote") from None
    if not argv:
        do = f"Give it with --param command=..., or in the variable {VARIABLE}"
        raise InputError("policy external, command", "must name a program, got nothing", do)
    digest = _digest(_files(argv))
    words = " ".join(command.split())
    return PolicySpec(
        key=KEY,
        label="External process",
        family="From outside",
        summary="Asks a program of your own, over its standard input and output.",
        build=partial(_built, argv, digest),
        params=ExternalParams,
        needs=frozenset({Need.FIXED_NODES}),
        knows="what the program makes of what it is told",
        check=_refuse_servers,
        origin=f"process {words[:120]}" + (f" (file hash {digest[:_SHOWN_DIGITS]})" if digest else ""),
        fingerprint=f"process {words}+{digest}",
    )


def configured_policy() -> PolicySpec | None:
    """Return the policy of the command line in the variable; None if it is not set. Files are read anew if changed."""
    command = os.environ.get(VARIABLE, "")
    return external_policy(command) if command.strip() else None


def _built(argv: list[str], digest: str, params: ExternalParams) -> ExternalPolicy:
    """Return the policy of a run; InputError if its files are others by now, or on this machine."""
    if _digest(_files(argv)) != digest:
        why = "a file that it names has changed since it was asked for, or is another one on this worker"
        raise InputError(f"policy {KEY}, {' '.join(argv)[:200]}", why, "Ask again, with the same files on all workers")
    return ExternalPolicy(argv, params.timeout_s)


def _refuse_servers(scenario: Scenario) -> None:
    if scenario.workload.has_servers:
        raise InputError("policy external", "cannot run jobs with parameter servers", "Choose another policy")


def _files(argv: list[str]) -> tuple[tuple[str, int, int], ...]:
    """Return the files that a command line names, each with time and size."""
    paths = [Path(word) for word in argv if os.path.isfile(word)]
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths)


@lru_cache(maxsize=64)
def _digest(files: tuple[tuple[str, int, int], ...]) -> str:
    digest = blake2b(digest_size=6)
    for path, _, _ in files:
        digest.update(Path(path).read_bytes() + b"\0")
    return digest.hexdigest() if files else ""
