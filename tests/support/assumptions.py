"""Assumptions as texts, for tests that compare what they say."""

from __future__ import annotations

from dlsched.domain.assumptions import Assumption
from dlsched.domain.scenario import Scenario


def words_of(scenario: Scenario) -> tuple[str, ...]:
    """Return what a scenario takes for granted, as it is shown."""
    return tuple(one.words for one in scenario.assumptions)


def read(*texts: str) -> tuple[Assumption, ...]:
    """Return the assumptions of texts, as older scenarios hold them."""
    return tuple(Assumption.model_validate(text) for text in texts)
