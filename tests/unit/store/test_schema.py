import duckdb
import pytest

from dlsched.domain.errors import StoreError
from dlsched.store import Store, schema
from tests.support.runs_for_store import record

NEXT_STEP = (
    "ALTER TABLE runs ADD COLUMN mood VARCHAR DEFAULT 'calm'",
    "UPDATE runs SET note = note || ' (moved)'",
)


@pytest.fixture
def old_file(tmp_path):
    with Store(tmp_path / "s.duckdb") as store:
        run_id = store.save_run(record())
        store.set_note(run_id, "kept")
    return tmp_path / "s.duckdb", run_id


def test_an_older_file_is_brought_forward_with_its_runs(old_file, monkeypatch):
    path, run_id = old_file
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, NEXT_STEP))
    with Store(path) as store:
        assert store.run_info(run_id).note == "kept (moved)"
        assert len(store.jobs(run_id)) == 4
        with store._reading() as cursor:
            assert schema.version_of(cursor) == len(schema.STEPS)
            assert cursor.execute("SELECT mood FROM runs").fetchall() == [("calm",)]
    with Store(path) as store:  # the step is carried out once
        assert store.run_info(run_id).note == "kept (moved)"


def test_a_step_that_fails_changes_nothing(old_file, monkeypatch):
    path, run_id = old_file
    broken = (*NEXT_STEP, "SELECT * FROM no_such_table")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, broken))
        with pytest.raises(StoreError, match="no_such_table"):
            Store(path)
    with Store(path) as store:
        assert store.run_info(run_id).note == "kept"


def test_a_newer_file_is_refused_with_the_way_out(old_file):
    path, _ = old_file
    with duckdb.connect(str(path)) as raw:
        raw.execute("UPDATE store_version SET version = 99")
    with pytest.raises(StoreError, match=r"has format 99, .* reads formats up to \d+ only. Update dlsched"):
        Store(path)


def test_a_new_file_has_every_table(tmp_path):
    with Store(tmp_path / "s.duckdb") as store, store._reading() as cursor:
        found = {name for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert {"scenarios", "runs", "metrics", "settings", *schema.TABLES} <= found
