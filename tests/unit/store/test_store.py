import os
import subprocess
import sys
import threading
from datetime import timedelta

import duckdb
import numpy as np
import pandas as pd
import pytest

from dlsched.domain.actor import Actor
from dlsched.domain.assumptions import stated
from dlsched.domain.cluster import Absence
from dlsched.domain.errors import NotAllowed, StoreError
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import SimulationRules, SpeedSpec
from dlsched.store import Store, runs
from dlsched.store.connection import PATH_VARIABLE, store_path
from dlsched.store.record import CellRecord, Finished
from tests.support.assumptions import words_of
from tests.support.known import known
from tests.support.runs_for_store import record, small_scenario, tables_of


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


# ---- scenarios -----------------------------------------------------------------------------------------


def test_a_scenario_comes_back_whole(tmp_path):
    plain = small_scenario()
    scenario = plain.replace(
        cluster=plain.cluster.model_copy(update={"absences": (Absence(node=1, start_s=5.0, end_s=9.0),)}),
        options=SimulationRules(restart_s=30.0, oversize="cap"),
        speed=SpeedSpec(kind="scaling"),
        seed=7,
        generator={"kind": "mix", "classes": [1, 2]},
        data_kind="generated",
        read={"rows": 5, "kept": 4, "repaired": 0, "dropped": 1},
        assumptions=stated("due times made up"),
    )
    with Store(tmp_path / "s.duckdb") as store:
        store.save_scenario(scenario)
    with Store(tmp_path / "s.duckdb") as store:
        back = store.get_scenario(scenario.content_hash[:8])
    assert back.content_hash == scenario.content_hash
    assert back.workload.meta == {"source": "by hand", "time_zone": "UTC"}
    assert back.read == scenario.read
    assert words_of(back) == words_of(scenario)
    assert (back.name, back.data_kind) == ("four jobs", "generated")
    np.testing.assert_array_equal(back.workload.due_s, [90.0, np.nan, 110.0, np.nan])


def test_the_order_of_the_source_is_kept(store):
    scenario = small_scenario()
    turned = scenario.replace(workload=scenario.workload.with_columns(order=np.array([3, 2, 1, 0])))
    store.save_scenario(turned)
    assert store.get_scenario(turned.content_hash).workload.order.tolist() == [3, 2, 1, 0]


def test_versions_follow_each_other_in_a_line(store):
    first = small_scenario()
    second, third = first.replace(seed=1), first.replace(seed=2)
    store.save_scenario(first)
    assert store.save_scenario(second, based_on=first.content_hash).version == 2
    info = store.save_scenario(third, based_on=second.content_hash)
    assert (info.version, info.based_on, info.lineage) == (3, second.content_hash, first.content_hash)
    store.rename_scenario(second.content_hash, "Q3 trace")
    assert store.list_scenarios()["name"].tolist() == ["Q3 trace"] * 3


def test_saving_again_keeps_name_and_brings_a_deleted_one_back(store):
    scenario = small_scenario()
    store.save_scenario(scenario)
    store.delete_scenario(scenario.content_hash)
    assert store.list_scenarios().empty
    assert store.save_scenario(scenario.replace(name="other")).name == "four jobs"
    assert len(store.list_scenarios()) == 1


def family(store):
    """Save two versions of a scenario with a run each, and another scenario with one; return the first three's ids."""
    first = small_scenario()
    second = first.replace(seed=1)
    store.save_scenario(first)
    store.save_scenario(second, based_on=first.content_hash)
    runs_of = [store.save_run(record(one)) for one in (first, second)]
    store.save_run(record(small_scenario(6)))
    return first, second, runs_of


def test_a_deleted_scenario_takes_versions_and_runs_with_it_and_brings_them_back(store):
    first, second, _ = family(store)
    before = (store.list_scenarios(), store.list_runs())
    deletion = store.delete_scenario(second.content_hash)
    assert (deletion.name, deletion.versions, deletion.runs) == ("four jobs", 2, 2)
    assert deletion.scenario_hash == second.content_hash
    assert store.scenario_info(first.content_hash) is None
    assert set(store.list_scenarios()["jobs"]) == {6}
    assert set(store.list_runs()["jobs"]) == {6}
    assert store.deletions() == [deletion]
    store.restore(deletion)
    pd.testing.assert_frame_equal(store.list_scenarios(), before[0])
    pd.testing.assert_frame_equal(store.list_runs(), before[1])
    assert store.deletions() == []


def test_what_was_deleted_earlier_stays_deleted_when_a_scenario_comes_back(store):
    first, _, (gone, kept) = family(store)
    store.delete_runs([gone])
    deletion = store.delete_scenario(first.content_hash)
    assert deletion.runs == 1
    assert [(one.versions, one.runs) for one in store.deletions()] == [(2, 1), (0, 1)]
    store.restore(deletion)
    assert kept in set(store.list_runs()["run_id"])
    assert gone not in set(store.list_runs()["run_id"])
    store.restore(store.deletions()[0])
    assert gone in set(store.list_runs()["run_id"])


def test_a_scenario_saved_again_comes_back_without_its_runs_which_can_still_be_restored(store):
    first, second, ids = family(store)
    store.delete_scenario(first.content_hash)
    store.save_scenario(first)
    assert store.scenario_info(second.content_hash) is None
    assert not set(ids) & set(store.list_runs()["run_id"])
    (deletion,) = store.deletions()
    assert (deletion.versions, deletion.runs) == (1, 2)
    store.restore(deletion)
    assert set(ids) <= set(store.list_runs()["run_id"])


def test_two_deletions_of_a_scenario_are_brought_back_one_by_one(store):
    first, second, _ = family(store)
    earlier = store.delete_scenario(first.content_hash)
    store.save_scenario(first)
    later = store.delete_scenario(first.content_hash)
    assert store.deletion_of(first.content_hash[:8]).when == later.when
    assert store.deletion_of(second.content_hash[:8]).when == earlier.when
    store.restore(earlier)
    assert store.scenario_info(second.content_hash) is not None
    assert store.scenario_info(first.content_hash) is None
    assert store.deletion_of(second.content_hash) is None
    assert store.deletion_of("0" * 32) is None


def test_deleted_scenarios_are_purged_with_their_runs_and_jobs_and_others_stay(store):
    first, _, _ = family(store)
    store.delete_scenario(first.content_hash)
    store.purge_deleted(timedelta(days=1))
    assert len(store.deletions()) == 1
    assert store.purge_deleted() == 2
    assert store.deletions() == []
    with pytest.raises(StoreError):
        store.get_scenario(first.content_hash)
    assert len(store.get_scenario(small_scenario(6).content_hash).workload) == 6


def test_deleting_what_is_not_there_says_so(store):
    with pytest.raises(StoreError, match="is not in this store"):
        store.delete_scenario("0" * 32)


def test_a_copy_is_a_line_of_its_own_with_the_settings_and_without_the_runs(store):
    first, second, _ = family(store)
    store.set_setting(f"futures/{first.content_hash}", {"count": 7})
    one, two = store.duplicate_scenario(second.content_hash), store.duplicate_scenario(second.content_hash)
    assert len({one.lineage, two.lineage, first.content_hash}) == 3
    assert (one.name, one.version, one.based_on) == ("four jobs (copy)", 1, None)
    assert store.get_setting(f"futures/{one.lineage}") == {"count": 7}
    runs_by = store.list_scenarios().set_index("scenario_hash")["runs"]
    assert (runs_by[one.scenario_hash], runs_by[second.content_hash]) == (0, 1)
    copied = store.get_scenario(one.scenario_hash)
    assert copied.content_hash == one.scenario_hash
    assert copied.workload.content_hash == second.workload.content_hash
    assert copied.replace(copy_number=0).content_hash == second.content_hash
    assert store.save_scenario(copied.replace(seed=5), one.scenario_hash).lineage == one.lineage
    store.delete_scenario(one.scenario_hash)
    assert store.scenario_info(second.content_hash) is not None


def test_unknown_scenario_says_so(store):
    with pytest.raises(StoreError, match="Scenario 91c0 is not in this store"):
        store.get_scenario("91c0")


# ---- runs ----------------------------------------------------------------------------------------------


def test_a_run_comes_back_as_it_was(store):
    saved = record(audit=("node 3 is overfull",))
    run_id = store.save_run(saved)
    assert store.find_run(saved.key) == run_id == saved.key[:12]
    assert store.find_runs([saved.key, "no such key"]) == {saved.key: run_id}
    assert store.find_runs([]) == {}
    assert store.metrics(run_id) == {"jobs": 4, "wait_p95": 12.5, "cost_month": None, "late_share": 0.25}
    assert isinstance(store.metrics(run_id)["jobs"], int)
    info = store.run_info(run_id)
    assert info.params == {"quantum_s": 60.0}
    assert info.audit == ["node 3 is overfull"]
    assert info.prices == {"two": 3.6}
    assert store.get_scenario(info.scenario_hash) .content_hash == saved.scenario.content_hash  # fmt: skip
    pd.testing.assert_frame_equal(store.jobs(run_id)[["job_id", "submit_s", "user", "row"]],
                                  saved.tables["job_outcomes"][["job_id", "submit_s", "user", "row"]],
                                  check_dtype=False)  # fmt: skip
    assert "group" not in store.jobs(run_id).columns
    assert len(store.nodes(run_id)) == 2
    assert len(store.decisions(run_id)) == 4
    assert store.series(run_id)["gpus_held"].tolist() == [1.0, 2.0]


def test_saving_the_same_run_twice_keeps_one(store):
    assert store.save_run(record()) == store.save_run(record())
    assert len(store.list_runs()) == 1
    assert len(store.segments(record().key[:12])) == 4


def test_windows_take_what_touches_them(store):
    run_id = store.save_run(record())  # job i runs from 10 i to 10 i + 60 on node i % 2
    assert store.segments(run_id, from_s=65.0)["job_id"].tolist() == ["job 1", "job 2", "job 3"]
    assert store.segments(run_id, to_s=20.0)["job_id"].tolist() == ["job 0", "job 1"]
    assert store.segments(run_id, from_s=60.0, to_s=90.0, nodes=[0])["job_id"].tolist() == ["job 2"]
    assert store.segments(run_id, job="job 3")["start_s"].tolist() == [30.0]
    assert store.jobs(run_id, from_s=75.0, nodes=[1])["job_id"].tolist() == ["job 3"]
    assert store.decisions(run_id, from_s=10.0, to_s=30.0)["time_s"].tolist() == [10.0, 20.0]
    assert store.waits(run_id, from_s=15.0, job="job 1")["reason"].tolist() == ["no_room"]
    assert store.segments(run_id, job="' OR 1=1 --").empty


def test_only_the_columns_that_are_asked_for_are_read(store):
    run_id = store.save_run(record())
    assert list(store.jobs(run_id, columns=("due_s",))) == ["due_s"]
    some = store.segments(run_id, from_s=65.0, columns=("job_id", "node"))
    assert some.equals(store.segments(run_id, from_s=65.0)[["job_id", "node"]])


def test_a_job_that_never_left_is_in_every_later_window(store):
    tables = tables_of(small_scenario())
    tables["job_outcomes"].loc[0, "left_s"] = np.nan
    run_id = store.save_run(record(tables=tables))
    assert store.jobs(run_id, from_s=1e9)["job_id"].tolist() == ["job 0"]


def test_list_has_what_the_page_shows(store):
    store.save_scenario(small_scenario())
    store.save_run(record(seed=0))
    other = store.save_run(record(seed=1, audit=("bad",)))
    store.set_note(other, "look at this")
    store.rename_run(other, " second ")
    frame = store.list_runs(code_version="newer")
    assert frame["run_id"].iloc[0] == other  # newest first
    line = frame.iloc[0]
    assert (line["draws"], line["violations"], line["note"], line["name"]) == (2, 1, "look at this", "second")
    assert (line["wait_p95"], line["late_share"], line["version"]) == (12.5, 0.25, 1)
    assert frame["stale"].all()
    assert not store.list_runs(code_version=record().code_version)["stale"].any()
    assert line["size_bytes"] > 0
    assert pd.isna(line["cost_month"])


def test_empty_list_has_the_columns_too(store):
    assert {"state", "run_id", "wait_p95", "note"} <= set(store.list_runs().columns)


def test_delete_undo_and_purge(store):
    first, second = store.save_run(record(seed=0)), store.save_run(record(seed=1))
    store.delete_runs([first, second])
    assert store.list_runs().empty
    assert store.find_run(record().key) is None
    with pytest.raises(StoreError, match="is not in this store"):
        store.metrics(first)
    store.restore_runs([second])
    assert store.list_runs()["run_id"].tolist() == [second]
    assert store.purge_deleted(timedelta(days=1)) == 0
    assert store.purge_deleted() == 1
    store.restore_runs([first])
    assert store.list_runs()["run_id"].tolist() == [second]
    assert len(store.segments(second)) == 4


def test_a_deleted_run_that_is_made_again_replaces_the_old_one(store):
    run_id = store.save_run(record())
    store.delete_runs([run_id])
    assert store.save_run(record(audit=("now bad",))) == run_id
    assert store.run_info(run_id).audit == ["now bad"]
    assert len(store.jobs(run_id)) == 4


def test_unknown_columns_are_refused_and_nothing_is_kept(store):
    tables = tables_of(small_scenario())
    tables["series"]["colour"] = "red"
    with pytest.raises(StoreError, match="series: the store has no column 'colour'"):
        store.save_run(record(tables=tables))
    del tables["series"]
    with pytest.raises(StoreError, match="missing or unknown: series"):
        store.save_run(record(tables=tables))
    assert store.list_runs().empty


def test_a_failure_half_way_leaves_nothing(store, monkeypatch):
    def broken(cursor, name, *rest):
        if name == "decisions":
            raise RuntimeError("the disk went away")
        return real(cursor, name, *rest)

    real = runs._insert_table
    monkeypatch.setattr(runs, "_insert_table", broken)
    with pytest.raises(RuntimeError):
        store.save_run(record())
    monkeypatch.undo()
    assert store.list_runs().empty
    assert store.list_scenarios().empty
    with store._reading() as cursor:
        assert cursor.execute("SELECT count(*) FROM segments").fetchall() == [(0,)]
    assert store.save_run(record())


def test_runs_under_way_are_listed_and_a_crash_makes_them_interrupted(tmp_path, monkeypatch):
    label = record().label
    with Store(tmp_path / "s.duckdb") as store:
        store.mark_running([label])
        assert store.list_runs()["state"].tolist() == ["running"]
    monkeypatch.setattr(runs, "SESSION", "a later process")
    with Store(tmp_path / "s.duckdb") as store:
        line = store.list_runs().iloc[0]
        assert (line["state"], line["policy"], line["key"]) == ("interrupted", "fifo", label.key)
        store.save_run(record())
        assert store.list_runs()["state"].tolist() == ["stored"]
        store.mark_running([record(seed=5).label])
        store.clear_running([record(seed=5).key])
        assert store.list_runs()["state"].tolist() == ["stored"]


def test_past_times_of_a_policy(store):
    store.save_run(record(wall_s=3.0))
    assert store.past_seconds("fifo") == [(4, 3.0)]
    assert store.past_seconds("srtf") == []


# ---- settings, threads, files --------------------------------------------------------------------------


def test_settings(store):
    store.set_setting("mapping/mine", {"job_id": "Job", "drop": ["x"]})
    store.set_setting("mapping/mine", {"job_id": "JobID"})
    store.set_setting("baseline", "7f3a")
    assert store.get_setting("mapping/mine") == {"job_id": "JobID"}
    assert store.list_settings("mapping/") == {"mapping/mine": {"job_id": "JobID"}}
    store.set_setting("baseline", None)
    assert store.get_setting("baseline", "none") == "none"


def test_threads_share_a_store(store):
    run_id = store.save_run(record())
    problems = []

    def work(number):
        try:
            for _ in range(5):
                store.set_setting(f"draft/{number}", number)
                assert len(store.segments(run_id)) == 4
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(store.list_settings("draft/")) == 8


def test_vacuum_keeps_what_is_used(store):
    kept = store.save_run(record())
    gone = store.save_run(record(scenario=small_scenario(6)))
    store.delete_runs([gone])
    store.delete_scenario(small_scenario(6).content_hash)
    before, after = store.vacuum()
    assert before > 0
    assert after > 0
    assert len(store.jobs(kept)) == 4
    with pytest.raises(StoreError):
        store.get_scenario(small_scenario(6).content_hash)


def test_path_comes_from_argument_then_variable_then_home(monkeypatch, tmp_path):
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "env.duckdb"))
    assert store_path("x.duckdb").name == "x.duckdb"
    assert store_path() == tmp_path / "env.duckdb"
    monkeypatch.delenv(PATH_VARIABLE)
    assert store_path().parts[-2:] == (".dlsched", "results.duckdb")


def test_second_process_is_told_who_has_the_store(tmp_path):
    script = (
        "import sys\nfrom dlsched.store import Store\nfrom dlsched.domain.errors import StoreError\n"
        "try:\n    Store(sys.argv[1], read_only=sys.argv[2] == 'ro')\nexcept StoreError as error:\n    print(error)"
    )
    path = tmp_path / "s.duckdb"
    with Store(path):
        for mode in ("rw", "ro"):
            done = subprocess.run(
                [sys.executable, "-c", script, path, mode], capture_output=True, text=True, check=True
            )
            assert f"This store is in use by process {os.getpid()} on this machine" in done.stdout
            assert "--store" in done.stdout


def test_read_only_reads_and_refuses_to_write(tmp_path):
    with pytest.raises(StoreError, match="There is no store at"):
        Store(tmp_path / "none.duckdb", read_only=True)
    with Store(tmp_path / "s.duckdb") as store:
        run_id = store.save_run(record())
    with Store(tmp_path / "s.duckdb", read_only=True) as store:
        assert len(store.jobs(run_id)) == 4
        with pytest.raises(StoreError, match="for reading only"):
            store.set_note(run_id, "x")


@pytest.mark.parametrize("content", [b"this is a text", b"\x00" * 20_000])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.duckdb"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is not a result store, or it is damaged"):
        Store(path)
    assert path.read_bytes() == content


def test_a_folder_in_place_of_the_file(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path)


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "s.duckdb"
    with duckdb.connect(str(path)) as other:
        other.execute("CREATE TABLE theirs (x INTEGER)")
    with pytest.raises(StoreError, match="belongs to another program"):
        Store(path)


def test_a_run_carries_the_name_of_its_user_and_a_reader_writes_nothing(tmp_path):
    with Store(tmp_path / "s.duckdb") as store:
        run_id = store.acting(Actor("ann")).save_run(record(plugin="mypkg 1.0"))
        info, (line,) = store.run_info(run_id), store.list_runs().to_dict("records")
        assert (info.made_by, info.plugin) == (line["made_by"], line["plugin"]) == ("ann", "mypkg 1.0")
        reader = store.acting(Actor("bob", may_write=False))
        assert reader.run_info(run_id) == info
        for write in (lambda: reader.delete_runs([run_id]), lambda: reader.set_note(run_id, "x")):
            with pytest.raises(StoreError, match="bob may read here, but not change anything"):
                write()
        assert store.run_info(run_id) == info


def test_queues_keep_their_order_which_breaks_ties(tmp_path):
    quota = [{"flavor": "h100", "resource": "gpus", "nominal": 1}]
    first, second = (
        small_scenario(queues=QueueTree.model_validate({"tree": {name: {"quota": quota} for name in names}}))
        for names in ("ba", "ab")
    )
    assert first.content_hash != second.content_hash
    with Store(tmp_path / "s.duckdb") as store:
        store.save_scenario(first)
        kept = store.get_scenario(first.content_hash)
        assert list(known(kept.queues).tree) == ["b", "a"]
        assert kept.content_hash == first.content_hash


def test_changes_count_what_was_written_by_any_user(store):
    before = store.changes
    other = store.acting(Actor("ann"))
    run_id = other.save_run(record())
    assert store.changes == other.changes == before + 1
    store.list_runs()
    settings = store.setting_changes
    store.set_setting("draft/a", 1)
    assert store.changes == before + 1
    assert store.setting_changes == other.setting_changes != settings
    numbers = store.cell_changes
    cell = CellRecord("a" * 32, "b" * 32, "fifo", 0, {"jct_mean": 1.0}, ())
    store.save_finished([Finished(cells=[cell], made_by="ann")])
    assert store.changes == before + 1
    assert store.cell_changes == other.cell_changes != numbers
    names = store.scenario_changes
    store.save_run(record(seed=8))
    assert store.changes == before + 2
    assert store.scenario_changes == other.scenario_changes == names
    store.save_run(record(scenario=small_scenario(6)))
    assert store.scenario_changes == other.scenario_changes != names
    with pytest.raises(NotAllowed):
        store.acting(Actor("rita", may_write=False)).set_note(run_id, "no")
    assert store.changes == before + 3
