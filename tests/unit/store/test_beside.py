"""A store that another process has open: through that process, or from a copy of the file."""

import json
import os
import pickle
import random
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from multiprocessing.connection import Connection

import duckdb
import numpy as np
import pandas as pd
import pytest

from dlsched.domain.actor import Actor
from dlsched.domain.errors import InputError, NotAllowed, StoreError, StoreInUse
from dlsched.store import Store, client, server, snapshot
from dlsched.store.client import open_store
from dlsched.store.server import READS, WRITES, ServedAt, StoreServer, address_file, authenticated, read_address
from dlsched.store.snapshot import Snapshot
from tests.support.runs_for_store import record, small_scenario, tables_of
from tests.support.served_store import a_command, an_app, held

ANN = Actor("ann")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.duckdb"


@pytest.fixture
def impatient(monkeypatch):
    """Let calls give up soon where another process has the store."""
    monkeypatch.setattr(client, "READ_PATIENCE_S", 0.1)
    monkeypatch.setattr(client, "WRITE_PATIENCE_S", 0.1)


def served_at(path) -> ServedAt:
    found = read_address(path)
    assert found is not None
    return found


def knock(path, request, key=None):
    """What a server answers to bytes of a request, by a connection of our own; None if it hangs up."""
    served = served_at(path)
    with closing(server.open_socket(served.address)) as opened:
        connection = authenticated(opened, key or bytes.fromhex(served.key), as_server=False)
        if connection is None:
            return None
        with connection:
            connection.send_bytes(request if isinstance(request, bytes) else pickle.dumps(request))
            return connection.recv()


def test_every_method_of_a_store_is_one_that_reads_or_one_that_writes():
    public = {name for name, value in vars(Store).items() if callable(value) and not name.startswith("_")}
    within = {"acting", "close", "save_finished"}  # the last names users: a command writes under its own name only
    assert public - within == READS | WRITES
    assert not READS & WRITES


def test_without_another_process_the_file_is_opened_and_given_back(path):
    with open_store(path, ANN, writes=True) as store:
        run_id = store.save_run(record())
        with duckdb.connect(str(path)) as raw:  # not kept open between calls
            assert raw.execute("SELECT count(*) FROM runs").fetchall() == [(1,)]
        assert store.run_info(run_id).made_by == "ann"
        assert store.acting(Actor("bob")).actor.name == "bob"


def test_all_that_commands_do_goes_through_the_process_that_has_the_store(path, tmp_path):
    with Store(tmp_path / "other.duckdb") as other:
        content = other.export_runs([other.save_run(record(seed=9))])
    with held(path), open_store(path, ANN, writes=True) as store:
        with pytest.raises(StoreInUse, match=r"in use by process \d+"):
            Store(path)
        run_id = store.save_run(record())
        store.set_note(run_id, "a note")
        assert store.import_runs(content).added
        frame = store.list_runs()
        assert isinstance(frame, pd.DataFrame)
        assert dict(zip(frame["run_id"], frame["note"], strict=True))[run_id] == "a note"
        assert list(store.jobs(run_id)["job_id"]) == [f"job {number}" for number in range(4)]
        assert np.isnan(store.jobs(run_id)["due_s"]).all()
        scenario = store.get_scenario(small_scenario().content_hash)
        assert scenario.content_hash == small_scenario().content_hash
        store.delete_runs([run_id])
        with pytest.raises(StoreError, match="is not in this store"):
            store.run_info(run_id)
        store.restore_runs([run_id])
        exported = store.export_runs([run_id])
        trail = store.trail(kind="run")
        assert list(trail["action"]) == ["restored", "deleted", "imported", "noted", "saved"]
        assert set(trail["who"]) == {"ann"}
    with Store(tmp_path / "third.duckdb") as third:
        assert third.import_runs(exported).added == (run_id,)
        assert third.run_info(run_id).made_by == "ann"
    assert not address_file(path).exists()
    with Store(path) as store:
        assert store.run_info(run_id).note == "a note"


def test_errors_come_back_as_they_are(path):
    with held(path), open_store(path, ANN) as store:
        with pytest.raises(InputError, match="import file"):
            store.import_runs(b"no zip")
        with pytest.raises(StoreError, match="could not do that: TypeError"):
            store.set_setting("x", "y", **{"nonsense": 1})  # type: ignore[arg-type]
        assert store.list_runs().empty


def test_a_reader_writes_nothing_whichever_side_says_so(path):
    with held(path):
        with open_store(path, Actor("rita")) as store:  # the app knows better
            with pytest.raises(NotAllowed, match="rita may read here"):
                store.save_run(record())
            assert store.list_runs().empty
        with pytest.raises(NotAllowed, match="ann may read here"):
            open_store(path, Actor("ann", may_write=False), writes=True)
        with open_store(path, Actor("ann", may_write=False)) as store:
            with pytest.raises(NotAllowed, match="ann may read"):
                store.save_run(record())
            assert store.list_runs().empty


def test_large_results_go_through_and_the_process_stays_usable(path):
    rows = 400_000
    decisions = pd.DataFrame({"time_s": np.arange(rows, dtype=float), "note": [f"{i:0300d}" for i in range(rows)]})
    scenario = small_scenario(4)
    big = record(scenario, tables=tables_of(scenario) | {"decisions": decisions})
    with Store(path) as store:
        run_id = store.save_run(big)
        with closing(StoreServer(store)):
            opened = client.StoreClient(path, ANN, print)
            opened._app = opened._call_up(StoreInUse("not served"))
            with closing(opened):
                back = opened.decisions(run_id)
                assert len(back) == rows
                assert back["note"].str.len().sum() == 300 * rows  # 120 MB
                assert back["note"].iloc[-1] == f"{rows - 1:0300d}"
                assert store.find_run(big.key) == run_id


# ---- who may connect -----------------------------------------------------------------------------------


def test_a_wrong_key_is_refused_and_nothing_of_it_is_unpickled(path, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    with Store(path) as store, closing(StoreServer(store)):
        assert knock(path, Bomb(), b"x" * 32) is None
        served = served_at(path)
        with closing(server.open_socket(served.address)) as opened, Connection(opened.dup().detach()) as raw:
            raw.recv_bytes()
            raw.send(Bomb())  # where the answer to the challenge belongs
            assert raw.recv_bytes(256) == b"#FAILURE#"
            with pytest.raises((EOFError, ConnectionResetError)):
                raw.recv_bytes()
        assert not (tmp_path / "exploded").exists()
        worked, answer = knock(path, ("list_runs", "ann", (), {}))
        assert worked
        assert answer.empty


@pytest.mark.parametrize("method", ["close", "_writing", "__init__", "acting", "path", "nonsense"])
def test_only_methods_for_commands_can_be_called(path, method):
    with Store(path) as store, closing(StoreServer(store)):
        worked, error = knock(path, (method, "ann", (), {}))
        assert not worked
        assert "has no method" in str(error)
        worked, error = knock(path, b"no pickle")
        assert not worked
        assert isinstance(error, StoreError)


def test_who_says_nothing_is_hung_up_on_and_keeps_no_other_waiting(path, monkeypatch):
    monkeypatch.setattr(server, "HANDSHAKE_S", 0.3)
    with Store(path) as store, closing(StoreServer(store)) as serving:
        address = served_at(path).address
        silent = [server.open_socket(address) for _ in range(10)]
        assert knock(path, ("list_runs", "ann", (), {}))[0]
        deadline = time.monotonic() + 120
        while serving._open and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not serving._open
        for one in silent:
            one.close()


def test_connections_are_limited(path, monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    with Store(path) as store, closing(StoreServer(store)):
        address = served_at(path).address
        silent = [server.open_socket(address) for _ in range(2)]
        time.sleep(0.2)
        assert knock(path, ("list_runs", "ann", (), {})) is None
        for one in silent:
            one.close()


def test_the_address_is_for_this_account_only(path):
    with Store(path) as store, closing(StoreServer(store)):
        file = address_file(path)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        folder = os.path.dirname(str(served_at(path).address))
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        file.chmod(0o644)
        assert read_address(path) is None  # another account may know the key
        file.chmod(0o600)
        kept = file.with_name("elsewhere")
        file.rename(kept)
        file.symlink_to(kept)
        assert read_address(path) is None
        file.unlink()
        for text in ("", "{", "[]", "7", '{"address": "x"}', json.dumps(vars(ServedAt("x", "no hex", 1, "1")))):
            file.write_text(text)
            file.chmod(0o600)
            assert read_address(path) is None
    assert not os.path.exists(folder)


def test_a_port_of_this_machine_serves_where_a_path_is_too_long_for_a_socket(path, monkeypatch, tmp_path):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with Store(path) as store, closing(StoreServer(store)):
        served = served_at(path)
        assert isinstance(served.address, int)
        with closing(server.open_socket(served.address)) as opened:
            assert opened.getpeername()[0] == "127.0.0.1"
        assert knock(path, ("list_runs", "ann", (), {}))[0]


def test_the_server_ends_with_its_store_and_leaves_the_file_of_a_later_one(path):
    with Store(path) as store:
        first = StoreServer(store)
        second = StoreServer(store)
        first.close()
        assert read_address(path) is not None
        assert knock(path, ("list_runs", "ann", (), {}))[0]
        served = served_at(path)
        second.close()
        assert read_address(path) is None
        with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
            server.open_socket(served.address)


# ---- copies --------------------------------------------------------------------------------------------


def test_reads_come_from_a_copy_where_no_server_answers_and_writes_are_refused(path, impatient):
    with Store(path) as store:
        run_id = store.save_run(record())
    told: list[str] = []
    with held(path, serves=False), open_store(path, ANN, warn=told.append) as store:
        assert list(store.list_runs()["run_id"]) == [run_id]
        assert store.metrics(run_id)["jobs"] == 4
        assert store.export_runs([run_id])
        assert len(told) == 1
        assert "in use by process" in told[0]
        assert "copy of" in told[0]
        copy = store._copy
        assert copy is not None
        folder = copy._folder
        with pytest.raises(StoreInUse, match="in use by process"):
            store.set_note(run_id, "x")
        with pytest.raises(NotAllowed):
            copy.set_note(run_id, "x")
        with pytest.raises(StoreInUse):
            open_store(path, ANN, writes=True)
    assert not folder.exists()


@pytest.mark.parametrize("stale", ["killed", "port", "key", "version"])
def test_an_address_that_does_not_work_is_as_none(path, impatient, stale):
    with Store(path) as store:
        run_id = store.save_run(record())
        with closing(StoreServer(store)):
            left = vars(served_at(path))
    with socket.socket() as other, held(path, serves=stale in {"key", "version"}):
        other.bind(("127.0.0.1", 0))
        changed = {
            "killed": left,
            "port": left | {"address": other.getsockname()[1]},
            "key": left | {"address": (read_address(path) or ServedAt("", "", 0, "")).address},
            "version": vars(read_address(path) or ServedAt("", "", 0, "")) | {"version": "0.1"},
        }[stale]
        address_file(path).write_text(json.dumps(changed))
        address_file(path).chmod(0o600)
        told: list[str] = []
        with open_store(path, ANN, warn=told.append) as store:
            assert list(store.list_runs()["run_id"]) == [run_id]
            with pytest.raises(StoreInUse, match=r"dlsched 0\.1" if stale == "version" else "in use by process"):
                store.set_note(run_id, "x")
        assert len(told) == 1


def test_a_copy_is_whole_while_runs_are_written_and_checkpoints_made(path):
    with held(path, serves=False, every_s=0.001) as holder:
        holder.next_run()
        for _ in range(10):
            least = len(holder.kept)
            copy = Snapshot(path)
            with copy:
                stored = copy.list_runs()
                assert len(stored) >= least
                for run_id in stored["run_id"][:3]:
                    assert len(copy.jobs(run_id)) == len(copy.segments(run_id)) == 300
            holder.next_run()
        assert holder.process.poll() is None


def test_a_copy_that_a_checkpoint_crossed_is_made_again(path, monkeypatch):
    with Store(path) as store:
        store.save_run(record())
    headers = iter([b"1", b"2", b"2", b"2"])
    monkeypatch.setattr(snapshot, "_headers", lambda path: next(headers))
    Snapshot(path).close()
    assert list(headers) == []
    ever = iter(range(10**6))
    monkeypatch.setattr(snapshot, "_headers", lambda path: next(ever))
    monkeypatch.setattr(snapshot, "TRIES", 3)
    with pytest.raises(StoreError, match="changes too fast"):
        Snapshot(path)


def test_the_order_of_copying_is_log_first(path, monkeypatch):
    copied = []
    monkeypatch.setattr(shutil, "copyfile", lambda source, to: copied.append(source.name))
    path.write_bytes(b"x")
    snapshot._copied(path, path.with_name("copy"))
    assert copied == ["s.duckdb.wal", "s.duckdb"]


def test_a_file_that_is_no_store_is_said_so_not_copied(path):
    path.write_text("hello")
    with open_store(path) as store, pytest.raises(StoreError, match="is not a result store"):
        store.list_runs()


# ---- processes that come, go and die -------------------------------------------------------------------


def test_an_app_that_starts_waits_for_a_command(path):
    opened = Store(path)
    threading.Timer(0.5, opened.close).start()
    code = "import sys; from dlsched.store import Store; Store(sys.argv[1], wait_s=float(sys.argv[2])).close()"
    late, soon = (
        subprocess.run([sys.executable, "-c", code, path, wait_s], capture_output=True, text=True, check=False)
        for wait_s in ("20", "0")
    )
    assert late.returncode == soon.returncode == 0, late.stderr


def test_the_second_process_gets_the_clear_message(path):
    with held(path), pytest.raises(StoreInUse, match=r"in use by process \d+ on this machine.*Close the other one"):
        Store(path, wait_s=0.1)


def test_20_kills_of_command_or_app_leave_no_lock_and_lose_no_run(path):
    dice = random.Random(3)
    kept: list[str] = []
    app, command = an_app(path, every_s=0.02, seed=10**6), a_command(path, 0)
    for turn in range(1, 21):
        command.next_run()
        app.next_run()
        time.sleep(0.1 * dice.random())
        if dice.random() < 0.5:
            kept += command.kill()
            command = a_command(path, 1000 * turn)
        else:
            kept += app.kill()
            app = an_app(path, every_s=0.02, seed=10**6 + 1000 * turn)
    kept += app.kill()
    command.next_run()  # it goes on by itself, without the app
    kept += command.kill()
    with Store(path) as store:
        stored = store.list_runs()
        assert set(kept) <= set(stored["run_id"])
        assert set(stored["made_by"]) == {"", "ann"}
        for run_id in stored["run_id"]:
            assert len(store.jobs(run_id)) == len(store.segments(run_id)) == 300
