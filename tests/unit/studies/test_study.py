"""What all studies have in common, and what becomes of answers that an older version of the program stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dlsched.domain.errors import InputError, StaleAnswer
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.what_if import run_what_if, unchanged
from tests.support.runs_for_store import small_scenario

TARGET = {"metric": "wait_mean", "limit": 60.0}
RUN: dict[str, Any] = {"scenario": "abc", "params": {}, "seed": 0}
CELL = {"key": "k", "changes": {}, "policy": "fifo", "params": {}, "seed": 0}
SPECS: Mapping[str, dict[str, Any]] = {
    "what-if": {"scenario": "abc", "baseline": {"policy": "fifo"}, "changed": {"policy": "fifo"}},
    "sweep": {"scenario": "abc", "axes": [{"key": "nodes", "values": [1, 2]}]},
    "cells": {"scenario": "abc", "cells": [CELL]},
    "size": {"scenario": "abc", "targets": [TARGET]},
    "growth": {"scenario": "abc", "policy": "fifo", "targets": [TARGET]},
    "commitment": {"scenario": "abc", "targets": [TARGET]},
    "calibration": {"scenario": "abc", "policies": ["fifo"]},
    "fitting": {"scenario": "abc"},
    "history": {"scenario": "abc"},
    "when-starts": {"scenario": "abc", "at_s": 10.0},
    "when-score": {"scenario": "abc"},
    "steady": {},
    "look-ahead": RUN | {"policy": "modelarts-optimal", "first": 1, "last": 2},
    "admissions": RUN | {"policy": "smd", "first": 1, "last": 2},
    "prices": RUN | {"policy": "pd-ors"},
    "hindsight": RUN | {"policy": "pd-ors"},
    "queues": RUN | {"policy": "queue-tree"},
    "more-quota": {"scenario": "abc", "queues": ["vision"]},
    "reproduction": {"key": "smd-9"},
}
KINDS = [study.kind for study in registry.STUDIES]


def test_every_kind_is_there_once_and_an_unknown_one_is_named() -> None:
    assert sorted(KINDS) == sorted(SPECS)
    with pytest.raises(InputError, match="Try 'steady'"):
        registry.find("stedy")


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_has_one_form_and_about_how_long_it_takes(kind: str) -> None:
    study = registry.find(kind)
    plain = study.canonical(SPECS[kind])
    assert study.canonical(plain) == plain
    assert study.estimate_s(study.read_spec(plain)) > 0
    with pytest.raises(InputError, match="of_tomorrow"):
        study.read_spec(SPECS[kind] | {"of_tomorrow": 1})


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_older_version_stored_is_stale_and_no_crash(kind: str, tmp_path: Path) -> None:
    study = registry.find(kind)
    with Store(tmp_path / "s.duckdb") as store:
        for spec, answer in (
            (SPECS[kind] | {"of_yesterday": 1}, {}),  # a question with a field that is gone
            (SPECS[kind], {"of_yesterday": [1, 2]}),  # an answer with other fields
            (SPECS[kind], {"decisions": 3, "outcomes": 3}),  # of another type
        ):
            stored = store.get_experiment(store.save_experiment(ExperimentRecord(kind, spec, answer, "0.0.1+old")))
            with pytest.raises(StaleAnswer, match="made by an older version"):
                study.read_record(stored)


def test_an_answer_of_today_is_read_and_told_in_a_sentence(tmp_path: Path) -> None:
    study, scenario = registry.find("what-if"), small_scenario(4)
    spec = unchanged(scenario, "fifo")
    record = study.compute(spec.model_dump(mode="json"), scenario)
    with Store(tmp_path / "s.duckdb") as store:
        again = study.read_record(store.get_experiment(store.save_experiment(record)))
    assert again == (spec, run_what_if(spec, scenario))
    assert "FIFO" in study.words(again[1])
