"""What a reproduction is: the claim of a paper, how we compute it, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dlsched.experiments.run import Progress

Verdict = Literal["same", "partly", "different"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """``ours`` in one sentence with numbers, the verdict and ``why``; ``data`` are the figure's numbers."""

    ours: str
    verdict: Verdict
    why: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """How thorough to be: ``quick`` = small sizes, seconds; ``progress`` is told how far it is."""

    quick: bool = False
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A figure or table of a paper."""

    key: str
    paper: str
    figure: str
    claim: str
    run: Callable[[Setting], Outcome]
