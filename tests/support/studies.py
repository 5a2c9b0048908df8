"""Studies whose answers come from a function of the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from dlsched.studies import registry
from dlsched.studies.simulation import Progress

Reply = Callable[[Mapping[str, Any], Any, Progress | None], Mapping[str, Any]]
"""From plain question, scenario and progress to plain answer."""


def replied_by(monkeypatch: pytest.MonkeyPatch, kind: str, reply: Reply) -> None:
    """Let questions of a kind be answered by another function."""
    real = registry.find(kind)

    def run(spec: Any, scenario: Any, executor: Any = None, store: Any = None, progress: Progress | None = None) -> Any:
        return real.answer.from_plain(reply(spec.model_dump(mode="json"), scenario, progress))

    studies = tuple(replace(one, run=run) if one is real else one for one in registry.STUDIES)
    monkeypatch.setattr(registry, "STUDIES", studies)
