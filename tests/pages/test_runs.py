"""The Runs page: table, filters, delete with undo, import of foreign files."""

from datetime import UTC, datetime

import pytest

from dlsched.store.record import RunLabel
from dlsched.ui.simulate import runs as runs_page
from tests.support.runs_for_store import record, small_scenario


def select(app, *rows: int):
    key = next(key for key in app.session_state.to_dict() if str(key).startswith("runs-table-"))
    app.session_state[key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
    return app.run()


@pytest.fixture
def page(open_page, store):
    for policy in ("fifo", "sjf", "las"):
        store.save_run(record(policy=policy))
    return open_page("simulate/runs.py")


def test_empty_list_has_a_reason_and_a_button(open_page):
    app = open_page("simulate/runs.py")
    assert not app.exception
    assert any("No run yet" in part.value for part in app.markdown)
    assert app.button(key="runs-empty").proto.type == "primary"


def test_table_and_filters(page):
    assert not page.exception
    assert page.header[0].value.replace("\\", "") == "3 runs of 1 scenario are kept in results.duckdb."
    assert len(page.dataframe[0].value) == 3
    app = page.multiselect(key="runs-policy").set_value(["sjf"]).run()
    assert list(app.dataframe[0].value["Policy"]) == ["SJF"]
    app.multiselect(key="runs-policy").set_value([])
    app = app.text_input(key="runs-text").set_value("nowhere").run()
    assert len(app.dataframe[0].value) == 0


def test_fifty_rows_a_page(open_page, store):
    scenario = small_scenario()
    for seed in range(51):
        store.save_run(record(scenario, seed=seed))
    app = open_page("simulate/runs.py")
    assert len(app.dataframe[0].value) == 50
    page = next(field for field in app.number_input if field.label == "Page 1 of 2")
    app = page.set_value(2).run()
    assert len(app.dataframe[0].value) == 1


def test_older_and_interrupted_runs_say_so_and_can_be_run_again(open_page, store):
    scenario = small_scenario()
    store.save_run(record(scenario))
    store.save_scenario(scenario)
    store.mark_running([RunLabel("k" * 32, scenario.content_hash, scenario.name, "sjf", {}, 3)])
    runs = store.list_runs(code_version="another")
    table = runs_page.table_of(runs)
    assert sorted(table["Audit"]) == ["ok, older version: run again", "running"]
    interrupted = runs.assign(state=runs["state"].replace("running", "interrupted"))
    assert "interrupted, nothing kept" in list(runs_page.table_of(interrupted)["Audit"])
    assert len(runs_page.again_of(interrupted)) == 2


def test_ticked_rows_can_be_compared_deleted_and_brought_back(page, store):
    app = select(page, 0, 1)
    assert app.button(key="runs-compare").label == "Compare 2 ticked"
    app = app.button(key="runs-delete").click().run()
    assert app.button(key="delete-sure").label == "Delete 2"
    gone = store.list_runs()["run_id"].tolist()[:2]
    store.delete_runs(gone)  # what the dialog does: its buttons are beyond the reach of this kind of test
    app.session_state["undo-delete"] = gone
    app = app.run()
    assert app.info[0].value == "2 runs deleted."
    app.button(key="undo").click().run()
    assert len(store.list_runs()) == 3


def test_a_note_is_kept(page, store):
    app = select(page, 0)
    area = app.text_area[0]
    app = area.set_value("looks [odd](http://x)").run()
    app.button(key="save-note").click().run()
    assert "looks [odd](http://x)" in set(store.list_runs()["note"])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"a,b\n1,2\n"])
def test_a_foreign_file_is_refused_in_one_message(page, store, content):
    app = page.file_uploader(key="runs-import").upload("runs.zip", content, "application/zip").run()
    app = app.button(key="import-now").click().run()
    assert not app.exception
    assert len(app.error) == 1
    assert len(store.list_runs()) == 3


def test_an_export_is_taken_in_by_another_store(page, store, tmp_path):
    from dlsched.store import Store

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
    shown = runs_page.table_of(store.list_runs())["When (UTC)"].iloc[0]
    assert shown[:10] == datetime.now(UTC).strftime("%Y-%m-%d")
    assert len(shown) == len("2026-01-01 00:00")
