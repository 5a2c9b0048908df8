"""Reproductions as questions: canonical form, plain answers, times and printed numbers, what is bundled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.studies import registry
from dlsched.studies.reproductions.bundled import bundled
from dlsched.studies.reproductions.panels import panels_of
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Outcome
from dlsched.studies.reproductions.spec import STUDY
from tools.reproductions import computed

KEYS = [one.key for one in REPRODUCTIONS]
BUNDLED = json.loads(json.dumps(sorted(bundled())))


def test_a_question_has_one_form_and_a_quick_run_is_meant_unless_told() -> None:
    kind = registry.find("reproduction")
    assert kind.canonical({"key": "modelarts-5"}) == {"key": "modelarts-5", "quick": True}
    assert STUDY.read_spec({"key": "smd-9", "quick": False}).quick is False


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        pytest.param({"key": "smd-99"}, "'smd-9'", id="a key near others"),
        pytest.param({"key": ""}, "reproduction, key", id="no key"),
        pytest.param({}, "reproduction, key", id="nothing"),
        pytest.param({"key": "smd-9", "quick": "perhaps"}, "reproduction, quick", id="neither quick nor full"),
        pytest.param({"key": "smd-9", "load_scale": 2}, "load_scale", id="a control that there is not"),
    ],
)
def test_a_bad_question_is_refused_by_name(plain: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        registry.find("reproduction").canonical(plain)


def test_an_answer_comes_back_as_it_went_and_has_only_what_json_has() -> None:
    data = {
        "a": {1: np.float64(0.5)},
        "b": (np.int64(2), float("nan"), float("inf")),
        "c": np.array([1.0, 2.0]).tolist(),
    }
    plain = Outcome("ours", "partly", ("why", "assumed"), data).to_plain()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["data"] == {"a": {"1": 0.5}, "b": [2, None, None], "c": [1.0, 2.0]}
    assert Outcome.from_plain(plain) == Outcome("ours", "partly", ("why", "assumed"), plain["data"])
    assert Outcome.from_plain(plain | {"why": "of an older version"}).reasons == ("of an older version",)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"verdict": "optimal"}, "'optimal'", id="another verdict"),
        pytest.param({"why": ...}, "'why'", id="no reason"),
    ],
)
def test_a_damaged_answer_is_refused(change: Mapping[str, Any], told: str) -> None:
    whole = Outcome("ours", "same", ("why",)).to_plain()
    damaged = {name: part for name, part in (whole | dict(change)).items() if part is not ...}
    with pytest.raises(InputError, match=told):
        Outcome.from_plain(damaged)


def test_computing_says_verdict_and_code() -> None:
    record = registry.compute("reproduction", {"key": "modelarts-5"})
    assert record.answer["verdict"] == "same"
    assert record.answer["data"]["share_done"][-1] >= 1
    assert record.code_version == registry.find("reproduction").version


def test_every_figure_has_its_times_and_its_printed_number() -> None:
    # some have one size only
    assert all(0 < one.time.quick_s <= max(one.time.full_s, 1.0) for one in REPRODUCTIONS)
    assert all(one.printed.words for one in REPRODUCTIONS)
    study = registry.find("reproduction")
    assert study.estimate_s(STUDY.read_spec({"key": "smd-9", "quick": True})) == find("smd-9").time.quick_s
    assert study.estimate_s(STUDY.read_spec({"key": "smd-9", "quick": False})) == find("smd-9").time.full_s


@pytest.mark.parametrize("key", BUNDLED)
def test_what_is_printed_stands_in_a_panel_of_our_numbers(key: str) -> None:
    panels = {panel.key: panel for panel in panels_of(bundled()[key].outcome.data)}
    wanted = find(key).printed
    assert {point.panel for point in wanted.points} <= set(panels)
    assert not wanted.first_panel or wanted.first_panel in panels
    for point in wanted.points:
        if isinstance(point.x, str):
            assert point.x in {one.x for series in panels[point.panel].series.values() for one in series}


def test_bundled_outcomes_are_of_figures_there_are_and_say_when_they_came_about() -> None:
    assert set(BUNDLED) <= set(KEYS)
    assert all(one.version.count("+") == 1 and len(one.on) == len("2026-11-22") for one in bundled().values())


@pytest.mark.slow
@pytest.mark.parametrize("key", ["smd-9", "hell-knee-10"])
def test_two_bundled_outcomes_come_out_again(key: str) -> None:
    again = Outcome.from_plain(computed(key)["answer"])
    assert again == bundled()[key].outcome
