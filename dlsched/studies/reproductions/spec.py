"""What is asked about a figure of a paper, and its answer, in JSON's own types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.studies.reproductions.registry import find
from dlsched.studies.reproductions.reproduction import Outcome, Setting
from dlsched.studies.simulation import Progress

VERDICTS = ("same", "partly", "different")


class ReproductionSpec(FrozenModel):
    """A figure by its key, by a quick run (small sizes) or a full one."""

    key: str = Field(min_length=1, max_length=80, description="Key of the reproduction.")
    quick: bool = Field(True, description="Small sizes, to be done in seconds to minutes.")


def read_asked(plain: Mapping[str, Any]) -> ReproductionSpec:
    """Return the question of plain data; InputError naming the field, or near keys of an unknown one."""
    asked = validated(ReproductionSpec, dict(plain), "reproduction")
    find(asked.key)
    return asked


def answered(asked: ReproductionSpec, progress: Progress | None = None) -> dict[str, Any]:
    """Compute a figure anew; return its outcome in JSON's own types."""
    return to_plain(find(asked.key).run(Setting(asked.quick, progress)))


def to_plain(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome in JSON's own types; a number that is none or infinite becomes null."""
    return {"ours": outcome.ours, "verdict": outcome.verdict, "why": outcome.why, "data": _plain(outcome.data)}


def from_plain(plain: Mapping[str, Any]) -> Outcome:
    """Return the outcome behind an answer.

    Raises
    ------
    InputError
        If something is missing, or the verdict is none there is.
    """
    try:
        ours, verdict, why, data = (plain[name] for name in ("ours", "verdict", "why", "data"))
    except KeyError as error:
        raise InputError("answer of a reproduction", f"has no {error.args[0]!r}", "Run it again") from error
    if verdict not in VERDICTS:
        raise InputError("answer of a reproduction", f"has the verdict {verdict!r:.40}", "Run it again")
    return Outcome(ours, verdict, why, data)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):  # a number of NumPy
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
