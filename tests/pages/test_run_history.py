"""The part History of the page Run: experiments and their runs, filters, delete with undo, import of foreign files."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from dlsched.policies.registry import policy_label
from dlsched.store import Store
from dlsched.store.record import RunLabel
from dlsched.ui.simulate import history
from dlsched.ui.simulate.experiments import experiments_of, experiments_table, futures_words, runs_table
from tests.support.runs_for_store import record, small_scenario


def select(app, *rows: int, table: str = "history-table-"):
    key = next(key for key in app.session_state.to_dict() if str(key).startswith(table))
    app.session_state[key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
    return app.run()


@pytest.fixture
def page(open_page, store):
    for policy in ("fifo", "sjf", "las"):
        store.save_run(record(policy=policy))
    return open_page("simulate/run.py", part="History")


def test_empty_history_has_a_reason_and_a_button(open_page):
    app = open_page("simulate/run.py", part="History")
    assert not app.exception
    assert any("No run yet" in part.value for part in app.markdown)
    assert app.button(key="history-empty").proto.type == "primary"


def test_a_line_for_what_was_run_together_and_its_runs_below(page):
    assert not page.exception
    assert page.header[0].value.replace("\\", "") == "1 experiment with 3 runs of 1 scenario in results.duckdb."
    (line,) = page.dataframe[0].value.to_dict("records")
    assert line["Scenario"] == "four jobs v1"
    assert line["Policies"] == "FIFO, SJF, LAS"
    assert (line["Futures"], line["Runs"]) == ("0", 3)
    assert len(page.dataframe) == 1
    app = select(page, 0)
    assert sorted(app.dataframe[1].value["Policy"]) == ["FIFO", "LAS", "SJF"]
    assert "Scenario" not in app.dataframe[1].value  # all of one


def test_filters_keep_the_experiments_with_such_a_run(page, store):
    store.save_run(record(small_scenario(5, name="five jobs"), policy="drf"))
    app = page.run()
    assert len(app.dataframe[0].value) == 2
    app = app.multiselect(key="history-policy").set_value(["sjf"]).run()
    assert list(app.dataframe[0].value["Scenario"]) == ["four jobs v1"]
    app.multiselect(key="history-policy").set_value([])
    app = app.text_input(key="history-text").set_value("five").run()
    assert list(app.dataframe[0].value["Scenario"]) == ["five jobs v1"]
    app = app.text_input(key="history-text").set_value("nowhere").run()
    assert len(app.dataframe[0].value) == 0


def test_the_old_address_of_runs_opens_the_history(open_page, store):
    store.save_run(record())
    app = open_page("simulate/run.py")
    assert app.segmented_control(key="part").value == "Policies"
    app = app.segmented_control(key="part").set_value("History").run()
    assert app.title[0].value == "Run"
    assert "1 experiment" in app.header[0].value


# ---- what belongs together ---------------------------------------------------------------------------


def listed(store, minutes):
    """Return the runs of a store as if each had ended so many minutes after the first, oldest first."""
    runs = store.list_runs(code_version="0.0.0-test").iloc[::-1].reset_index(drop=True)
    start = datetime(2026, 11, 1, 12)
    return runs.assign(created_at=[pd.Timestamp(start + timedelta(minutes=minute)) for minute in minutes])


def test_what_starts_long_after_the_end_of_the_run_before_is_another_experiment(store):
    for seed in range(4):
        store.save_run(record(seed=seed))
    found = experiments_of(listed(store, [0, 9, 30, 31]))
    assert [list(one.runs["seed"]) for one in found] == [[2, 3], [0, 1]]  # newest first
    long = listed(store, [0, 9, 30, 31]).assign(wall_s=[1.0, 1.0, 25 * 60.0, 1.0])
    assert [list(one.runs["seed"]) for one in experiments_of(long)] == [[0, 1, 2, 3]]


def test_versions_of_a_scenario_and_of_the_code_are_experiments_of_their_own(store):
    store.save_run(record())
    store.save_run(record(small_scenario(5)))
    store.save_run(record(policy="sjf", code_version="older"))
    assert len(experiments_of(store.list_runs(code_version="0.0.0-test"))) == 3


def test_a_comparison_takes_one_run_of_each_policy(store):
    for policy in ("sjf", "fifo"):
        for seed in (1, 0):
            store.save_run(record(policy=policy, seed=seed, name=policy_label(policy)))
    (one,) = experiments_of(store.list_runs())
    picked = [store.run_info(run) for run in one.of_policies]
    assert [(info.policy, info.seed) for info in picked] == [("fifo", 0), ("sjf", 0)]
    assert one.name == ""
    assert experiments_table([one])["Futures"].tolist() == ["0 to 1"]


@pytest.mark.parametrize(("seeds", "words"), [([0], "0"), ([2, 0, 1], "0 to 2"), ([0, 2], "0, 2"), ([], "")])
def test_futures_are_counted_from_zero(seeds, words):
    assert futures_words(seeds) == words


# ---- pages, states, actions --------------------------------------------------------------------------


def test_so_many_lines_a_page(open_page, store):
    for jobs in range(2, history.PER_PAGE + 3):
        store.save_run(record(small_scenario(jobs)))
    app = open_page("simulate/run.py", part="History")
    assert len(app.dataframe[0].value) == history.PER_PAGE
    page = next(field for field in app.number_input if field.label == "Page 1 of 2")
    app = page.set_value(2).run()
    assert len(app.dataframe[0].value) == 1


def test_older_and_interrupted_runs_say_so_and_can_be_run_again(store):
    scenario = small_scenario()
    store.save_run(record(scenario))
    store.mark_running([RunLabel("k" * 32, scenario.content_hash, scenario.name, "sjf", {}, 3)])
    runs = store.list_runs(code_version="another")
    assert sorted(experiments_table(experiments_of(runs))["State"]) == ["1 running", "older version: run again"]
    interrupted = runs.assign(state=runs["state"].replace("running", "interrupted"))
    assert "1 interrupted" in set(runs_table(interrupted)["State"])
    assert len(history.again_of(interrupted)) == 2


def test_a_failed_audit_is_told(store):
    store.save_run(record(audit=("the machine cost differs",)))
    assert runs_table(store.list_runs())["State"].tolist() == ["1 audit failed"]


def test_an_experiment_can_be_compared_deleted_and_restored(page, store):
    app = select(page, 0)
    assert app.button(key="history-compare").label == "Compare 3"
    app = app.button(key="history-delete").click().run()
    assert app.button(key="delete-sure").label == "Delete 3"
    gone = store.list_runs()["run_id"].tolist()[:2]
    store.delete_runs(gone)  # what the dialog does: its buttons are beyond the reach of this kind of test
    app.session_state["undo-delete"] = gone
    app = app.run()
    assert app.info[0].value == "2 runs deleted."
    app.button(key="undo").click().run()
    assert len(store.list_runs()) == 3


def test_selected_runs_alone_are_acted_upon(page):
    app = select(select(page, 0), 1, table="history-runs-")
    assert app.button(key="history-compare").disabled
    assert app.button(key="history-delete").label == "Delete 1…"
    app = select(app, 0, 2, table="history-runs-")
    app = app.button(key="history-compare").click().run()
    assert app.title[0].value == "Compare"
    assert len(app.session_state["ticked_runs"]) == 2


def test_an_experiment_can_be_named_and_its_runs_noted(page, store):
    app = select(page, 0)
    field = next(field for field in app.text_input if field.label == "Name of the experiment")
    field.set_value("before the holidays")
    app.text_area[0].set_value("looks [odd](http://x)")
    app = app.button(key="save-words").click().run()
    assert set(store.list_runs()["note"]) == {"looks [odd](http://x)"}
    assert app.dataframe[0].value["Name"].tolist() == ["before the holidays"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"a,b\n1,2\n"])
def test_a_foreign_file_is_refused_in_one_message(page, store, content):
    app = page.file_uploader(key="runs-import").upload("runs.zip", content, "application/zip").run()
    app = app.button(key="import-now").click().run()
    assert not app.exception
    assert len(app.error) == 1
    assert len(store.list_runs()) == 3


def test_an_export_is_taken_in_by_another_store(page, store, tmp_path):
    ids = store.list_runs()["run_id"].tolist()
    content = store.export_runs(ids)
    store.delete_runs(ids)
    store.purge_deleted()
    app = page.run()
    app = app.file_uploader(key="runs-import").upload("runs.zip", content, "application/zip").run()
    app = app.button(key="import-now").click().run()
    assert not app.exception
    assert len(store.list_runs()) == 3
    with Store(tmp_path / "other.duckdb") as other:
        assert len(other.import_runs(content).added) == 3


def test_when_is_shown_to_the_minute(store):
    store.save_run(record())
    shown = experiments_table(experiments_of(store.list_runs()))["When (UTC)"].iloc[0]
    assert shown[:10] == datetime.now(UTC).strftime("%Y-%m-%d")
    assert len(shown) == len("2026-01-01 00:00")
