"""Growth as a question for the background: the same answer as here, and no question without its scenario."""

from __future__ import annotations

import pytest

from dlsched.domain.errors import InputError
from dlsched.studies import registry
from dlsched.studies.growth import read_spec, run_growth
from tests.support.runs_for_store import small_scenario

QUESTION = {"policy": "fifo", "targets": [{"metric": "wait_mean", "limit": 60.0}], "months": 2}


def test_the_background_gives_the_same_answer() -> None:
    scenario = small_scenario()
    spec = QUESTION | {"scenario": scenario.content_hash}
    record = registry.compute("growth", spec, subject=scenario)
    assert record.answer == run_growth(read_spec(spec), scenario).to_plain()
    assert record.spec["lead_months"] == 3


def test_a_question_without_its_scenario_is_refused() -> None:
    with pytest.raises(InputError, match="without its scenario"):
        registry.compute("growth", QUESTION | {"scenario": "0"})
