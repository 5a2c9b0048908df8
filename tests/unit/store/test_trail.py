"""The trail: each change that a user asked for is one row, in the transaction of the change."""

from datetime import UTC, datetime, timedelta

import pytest

from dlsched.domain.actor import Actor
from dlsched.domain.errors import StoreError
from dlsched.store import Store, trail
from dlsched.store.record import CellRecord, ExperimentRecord, Finished, run_id_of
from tests.support.runs_for_store import record, small_scenario

ANN = Actor("ann")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened.acting(ANN)


def lines(store, **chosen):
    """The trail from the oldest row on, without times."""
    frame = store.trail(**chosen)
    assert tuple(frame.columns) == trail.COLUMNS
    return list(frame[["who", "action", "kind", "what", "detail"]].itertuples(index=False, name=None))[::-1]


def test_a_run_with_its_scenario_is_two_rows_and_again_none(store):
    scenario = small_scenario()
    run_id = store.save_run(record(scenario, name="first"))
    expected = [
        ("ann", "saved", "scenario", scenario.content_hash, "four jobs, version 1"),
        ("ann", "saved", "run", run_id, "fifo on four jobs, seed 0: first"),
    ]
    assert lines(store) == expected
    store.save_run(record(scenario, name="first"))
    store.save_scenario(scenario)
    assert lines(store) == expected
    (when,) = store.trail(kind="run")["done_at"]
    assert timedelta() <= datetime.now(UTC).replace(tzinfo=None) - when < timedelta(minutes=1)


def test_what_several_users_left_carries_the_name_of_each(store):
    first, second = small_scenario(), small_scenario(5)
    question = ExperimentRecord("toy", {"x": 1}, {"y": 2}, "v1", "mine")
    store.save_finished(
        [
            Finished(run=record(first), made_by="bob"),
            Finished(run=record(second), made_by="eve"),
            Finished(run=record(first, seed=1), cells=[CellRecord("k" * 32, "s" * 32, "fifo", 0, {"jobs": 1}, ())]),
            Finished(run=record(first, seed=1), experiment=question, made_by="bob"),
        ]
    )
    runs = store.list_runs().set_index("run_id")
    for saved, name in ((record(first), "bob"), (record(second), "eve"), (record(first, seed=1), "bob")):
        assert runs.loc[run_id_of(saved.key), "made_by"] == name
    assert [(who, kind) for who, _, kind, _, _ in lines(store)] == [
        ("bob", "scenario"), ("bob", "run"), ("bob", "run"), ("bob", "experiment"), ("eve", "scenario"), ("eve", "run"),
    ]  # fmt: skip
    assert store.find_cells(["k" * 32])


def test_changes_of_runs(store):
    ids = store.save_runs([record(seed=seed) for seed in (0, 1)])
    bob = store.acting(Actor("bob"))
    bob.set_note(ids[0], "n" * 500)
    bob.rename_run(ids[0], " better ")
    bob.delete_runs([*ids, "unknown"])
    bob.delete_runs(ids)
    store.restore_runs(ids[1:])
    assert lines(store, who="bob") == [
        ("bob", "noted", "run", ids[0], "n" * 199 + "…"),
        ("bob", "renamed", "run", ids[0], "better"),
        ("bob", "deleted", "run", ids[0], "fifo on four jobs, seed 0: better"),
        ("bob", "deleted", "run", ids[1], "fifo on four jobs, seed 1"),
    ]
    assert lines(store, action="restored") == [("ann", "restored", "run", ids[1], "fifo on four jobs, seed 1")]
    bob.purge_deleted()
    assert lines(store, action="purged") == [("bob", "purged", "run", ids[0], "fifo on four jobs, seed 0: better")]


def test_changes_of_scenarios(store):
    first = store.save_scenario(small_scenario())
    second = store.save_scenario(small_scenario(5), first.scenario_hash)
    store.save_run(record(small_scenario(5)))
    store.rename_scenario(first.scenario_hash, "renamed")
    copied = store.duplicate_scenario(first.scenario_hash)
    gone = store.delete_scenario(first.scenario_hash)
    store.restore(gone)
    store.delete_scenario(copied.scenario_hash)
    store.purge_deleted()
    assert [line[1:] for line in lines(store, kind="scenario")] == [
        ("saved", "scenario", first.scenario_hash, "four jobs, version 1"),
        ("saved", "scenario", second.scenario_hash, "four jobs, version 2"),
        ("renamed", "scenario", first.scenario_hash, "four jobs to renamed"),
        ("saved", "scenario", copied.scenario_hash, "renamed (copy), version 1"),
        ("deleted", "scenario", second.scenario_hash, "renamed: 2 versions, 1 run"),
        ("restored", "scenario", second.scenario_hash, "renamed: 2 versions, 1 run"),
        ("deleted", "scenario", copied.scenario_hash, "renamed (copy): 1 version, 0 runs"),
        ("purged", "scenario", copied.scenario_hash, "renamed (copy)"),
    ]
    made_by = store.list_scenarios()["made_by"]
    assert set(made_by) == {"ann"}


def test_an_answer_and_a_setting_that_others_see_are_in_the_trail_bookkeeping_is_not(store):
    experiment_id = store.save_experiment(ExperimentRecord("size", {"a": 1}, {"b": 2}, "1", name="how many"))
    store.set_setting("used_scenarios", ["x"])
    store.set_setting("todays-policy/x", {"policy": "fifo"}, "today's policy of x: FIFO")
    store.save_cells([CellRecord("k" * 32, "s" * 32, "fifo", 0, {"jobs": 1}, ())])
    label = record().label
    store.mark_running([label])
    store.clear_running([label.key])
    assert [line[1:] for line in lines(store)] == [
        ("saved", "experiment", experiment_id, "size: how many"),
        ("set", "setting", "todays-policy/x", "today's policy of x: FIFO"),
    ]


def test_imported_runs_keep_their_maker_and_the_trail_names_who_imported_them(store, tmp_path):
    run_id = store.save_run(record(plugin="mypkg 1.0"))
    content = store.export_runs([run_id])
    with Store(tmp_path / "other.duckdb") as opened:
        other = opened.acting(Actor("bob"))
        other.import_runs(content)
        other.import_runs(content)
        info = other.run_info(run_id)
        assert (info.made_by, info.plugin, info.origin) == ("ann", "mypkg 1.0", "imported")
        assert set(other.list_scenarios()["made_by"]) == {"ann"}
        assert [line[:3] for line in lines(other)] == [("bob", "imported", "scenario"), ("bob", "imported", "run")]


def test_what_was_refused_or_failed_leaves_no_row(store):
    run_id = store.save_run(record())
    before = lines(store)
    with pytest.raises(StoreError, match="bob may read"):
        store.acting(Actor("bob", may_write=False)).delete_runs([run_id])
    for fails in (
        lambda: store.set_note("unknown", "x"),
        lambda: store.save_runs([record(seed=7), record(seed=8, params={"bad": object()})]),
    ):
        with pytest.raises((StoreError, TypeError)):
            fails()
    assert lines(store) == before
    assert len(store.list_runs()) == 1


def test_rows_are_found_by_a_part_of_their_text_newest_first_up_to_a_limit(store):
    ids = store.save_runs([record(seed=seed) for seed in range(5)])
    assert [line[3] for line in lines(store, text="SEED 3")] == [ids[3]]
    assert [line[3] for line in lines(store, text=ids[2][2:9].upper())] == [ids[2]]
    assert list(store.trail(kind="run", limit=2)["what"]) == [ids[4], ids[3]]
    assert store.trail(who="eve").empty


def test_the_oldest_rows_go_where_there_are_too_many(store, monkeypatch):
    monkeypatch.setattr(trail, "MAX_ROWS", 4)
    ids = store.save_runs([record(seed=seed) for seed in range(3)])
    for number in range(3):
        store.set_note(ids[0], f"note {number}")
    assert [line[4] for line in lines(store)] == ["fifo on four jobs, seed 2", "note 0", "note 1", "note 2"]
