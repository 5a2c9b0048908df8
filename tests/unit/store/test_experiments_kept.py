"""Answers of experiments in the store, and the step that brings an older file to hold them."""

import duckdb
import pytest

from dlsched.domain.errors import StoreError
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord, experiment_key
from tests.support.runs_for_store import record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.duckdb"


def experiment(load=0.3, answer=12.5, version="1"):
    return ExperimentRecord("steady", {"loads": [load]}, {"mean_h": answer, "pairs": []}, version, "Two policies")


def test_an_answer_outlives_the_process_that_made_it(path):
    with Store(path) as store:
        assert store.find_experiment(experiment().key) is None
        made = store.save_experiment(experiment())
        assert made == experiment().key[:12]
    with Store(path) as store:
        assert store.find_experiment(experiment().key) == made
        kept = store.get_experiment(made)
        assert (kept.kind, kept.name, kept.code_version) == ("steady", "Two policies", "1")
        assert (kept.spec, kept.answer) == ({"loads": [0.3]}, {"mean_h": 12.5, "pairs": []})
        assert kept.key == experiment().key


def test_the_key_is_the_question_and_the_code_not_the_answer_or_the_order_of_fields():
    assert experiment(answer=1.0).key == experiment(answer=2.0).key
    assert len({experiment().key, experiment(load=0.4).key, experiment(version="2").key}) == 3
    assert experiment_key("a", {"x": 1, "y": 2}, "1") == experiment_key("a", {"y": 2, "x": 1}, "1")
    assert experiment_key("a", {}, "1") != experiment_key("b", {}, "1")


def test_a_later_answer_to_the_same_question_takes_its_place(path):
    with Store(path) as store:
        store.save_experiment(experiment(answer=1.0))
        made = store.save_experiment(experiment(answer=2.0))
        assert store.get_experiment(made).answer["mean_h"] == 2.0
        assert len(store.list_experiments()) == 1


def test_the_list_is_newest_first_and_by_kind(path):
    with Store(path) as store:
        ids = [store.save_experiment(experiment(load)) for load in (0.1, 0.2)]
        assert [one.experiment_id for one in store.list_experiments("steady")] == ids[::-1]
        assert store.list_experiments("sweep") == []


def test_an_unknown_experiment_is_said_so(path):
    with Store(path) as store, pytest.raises(StoreError, match="Experiment 0123 is not in this store"):
        store.get_experiment("0123")


def test_a_store_from_before_experiments_gets_their_table_and_keeps_its_runs(path):
    with Store(path) as store:
        run_id = store.save_run(record())
    with duckdb.connect(str(path)) as raw:
        for table in ("experiments", "cells", "trail"):
            raw.execute(f"DROP TABLE {table}")
        for table, column in (("runs", "made_by"), ("runs", "plugin"), ("scenarios", "made_by")):
            raw.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        raw.execute("UPDATE store_version SET version = 1")
    with Store(path) as store:
        info = store.run_info(run_id)
        assert (info.run_id, info.made_by, info.plugin) == (run_id, "", "")
        assert store.get_experiment(store.save_experiment(experiment())).answer["mean_h"] == 12.5
