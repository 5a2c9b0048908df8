"""The open file: what is opened twice, who may close it, how rows are grouped in it."""

import subprocess
import sys

import duckdb
import pandas as pd
import pytest

from dlsched.domain.errors import StoreError
from dlsched.store import Store
from dlsched.store.connection import connect
from dlsched.store.snapshot import Snapshot
from tests.support.runs_for_store import record, small_scenario, tables_of

OPEN_ELSEWHERE = "import duckdb, sys\nduckdb.connect(sys.argv[1]).execute('SELECT count(*) FROM runs')"


def is_free(path):
    """Whether another process can open the file."""
    asked = subprocess.run([sys.executable, "-c", OPEN_ELSEWHERE, path], capture_output=True, check=False)
    return asked.returncode == 0


def test_what_one_process_opens_twice_is_one_store(tmp_path):
    path = tmp_path / "it's one.duckdb"
    with Store(path) as one, Store(path) as two:
        run_id = one.save_run(record())
        assert two.run_info(run_id).policy == "fifo"
        with pytest.raises(StoreError, match="already open in this process in another mode"):
            Store(path, read_only=True)
        one.set_note(run_id, "still open")
    with Store(path, read_only=True) as one, Store(path, read_only=True) as two:
        assert one.run_info(run_id).note == two.run_info(run_id).note == "still open"


def test_a_store_behind_a_link_is_the_same_store_also_to_who_copies_it(tmp_path):
    (tmp_path / "far").mkdir()
    with Store(tmp_path / "far" / "s.duckdb") as store:
        first = store.save_run(record())
    link = tmp_path / "s.duckdb"
    link.symlink_to(tmp_path / "far" / "s.duckdb")
    with Store(link) as one, Store(tmp_path / "far" / "s.duckdb") as two:
        second = one.save_run(record(seed=2))
        assert two.run_info(second).seed == 2
        with Snapshot(link) as copied:
            assert {first, second} == set(copied.list_runs()["run_id"])


def test_a_call_has_its_cursor_for_itself_and_the_next_call_takes_it_over(tmp_path):
    cursors = connect(tmp_path / "s.duckdb", read_only=False)
    with cursors.one() as first, cursors.one() as second:
        assert first is not second
        first.execute("CREATE TABLE t AS SELECT 1 AS x")
        assert second.execute("SELECT x FROM t").fetchall() == [(1,)]
    with cursors.one() as third:
        assert third in (first, second)
    with pytest.raises(duckdb.Error), cursors.one() as failed:
        failed.execute("SELECT y FROM t")
    with cursors.one() as fourth, cursors.one() as fifth:
        assert failed not in (fourth, fifth)
    cursors.close()


def test_what_does_not_fit_into_memory_goes_beside_the_file(tmp_path):
    with connect(tmp_path / "s.duckdb", read_only=False).one() as cursor:
        assert cursor.execute("SELECT current_setting('temp_directory')").fetchone() == (f"{tmp_path}/s.duckdb.tmp",)


def test_the_file_is_given_back_with_all_cursors(tmp_path):
    path = tmp_path / "s.duckdb"
    store = Store(path)
    run_id = store.save_run(record())
    assert store.run_info(run_id).run_id == run_id
    assert not is_free(path)
    store.close()
    assert is_free(path)
    with pytest.raises(StoreError, match="could not be read"):
        store.run_info(run_id)


def test_rows_lie_in_small_groups(tmp_path):
    """A checkpoint compresses the last group of a table anew: 122,880 rows of DuckDB's own would be a hundred runs."""
    scenario, path = small_scenario(2), tmp_path / "s.duckdb"
    tables = tables_of(scenario)
    tables["waits"] = pd.concat([tables["waits"]] * 100_000, ignore_index=True)
    with Store(path) as store:
        run_id = store.save_run(record(scenario=scenario, tables=tables))
        assert len(store.waits(run_id)) == len(tables["waits"])
    with duckdb.connect(str(path), read_only=True) as raw:
        groups = raw.execute("SELECT row_group_id, max(count) FROM pragma_storage_info('waits') GROUP BY 1").fetchall()
    assert len(groups) >= 3
    assert max(rows for _, rows in groups) <= 40_000
