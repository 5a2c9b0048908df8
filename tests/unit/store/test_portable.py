import io
import json
import zipfile
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dlsched.domain.errors import InputError, StoreError
from dlsched.store import Store, portable
from dlsched.store.record import run_key
from tests.support.runs_for_store import record, small_scenario


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s.duckdb") as opened:
        yield opened


@pytest.fixture
def other(tmp_path):
    with Store(tmp_path / "other.duckdb") as opened:
        yield opened


@pytest.fixture
def exported(store):
    first = small_scenario()
    store.save_scenario(first)
    store.save_scenario(first.replace(seed=3, name="changed"), based_on=first.content_hash)
    ids = [store.save_run(record(first.replace(seed=3))), store.save_run(record(seed=1, audit=("bad",)))]
    store.set_note(ids[0], "=1+1 is only a note")
    return store.export_runs(ids), ids


def rewritten(content, change):
    """Return an export whose parts (name -> bytes) went through ``change``."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return sink.getvalue()


def with_manifest(content, change):
    def edit(parts):
        manifest = json.loads(parts["manifest.json"])
        change(manifest, parts)
        parts["manifest.json"] = json.dumps(manifest).encode()

    return rewritten(content, edit)


def replaced_file(content, table, data, rows):
    def edit(manifest, parts):
        name = manifest["runs"][0]["tables"][table]
        parts[name] = data
        manifest["files"][name] = {"sha256": sha256(data).hexdigest(), "rows": rows}

    return with_manifest(content, edit)


def parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_runs_travel_to_another_store(store, other, exported):
    content, ids = exported
    report = other.import_runs(content)
    assert (set(report.added), report.known) == (set(ids), ())
    for run_id in ids:
        assert other.metrics(run_id) == store.metrics(run_id)
        for table in ("jobs", "segments", "nodes", "decisions", "waits", "series"):
            assert getattr(other, table)(run_id).equals(getattr(store, table)(run_id))
        here, there = store.run_info(run_id), other.run_info(run_id)
        assert (there.note, there.audit, there.params, there.created_at) == (
            here.note,
            here.audit,
            here.params,
            here.created_at,
        )
        assert (here.origin, there.origin) == ("here", "imported")
        assert other.get_scenario(there.scenario_hash).content_hash == here.scenario_hash
    versions = other.list_scenarios().set_index("scenario_hash")["version"].to_dict()
    assert sorted(versions.values()) == [1, 2]
    again = other.import_runs(content)
    assert (again.added, set(again.known)) == ((), set(ids))


def test_a_taken_version_number_moves_on(other, exported):
    content, _ = exported
    first = small_scenario()
    other.save_scenario(first)
    mine = other.save_scenario(first.replace(seed=8), based_on=first.content_hash)
    other.import_runs(content)
    lines = other.list_scenarios().set_index("scenario_hash")["version"].to_dict()
    assert sorted(lines.values()) == [1, 2, 3]
    assert lines[mine.scenario_hash] == 2


def test_export_of_an_unknown_run(store):
    with pytest.raises(StoreError, match="is not in this store"):
        store.export_runs(["0" * 12])
    with pytest.raises(StoreError, match="Name at least one run"):
        store.export_runs([])


def _drop(name):
    return lambda content: rewritten(content, lambda parts: parts.pop(next(p for p in parts if name in p)))


def _set(path, value):
    def edit(manifest, parts):
        at = manifest
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return lambda content: with_manifest(content, edit)


def _flip_byte(content):
    def edit(parts):
        name = next(p for p in parts if "segments" in p)
        parts[name] = parts[name][:-9] + b"X" + parts[name][-8:]

    return rewritten(content, edit)


def _traversal(content):
    return with_manifest(
        content,
        lambda manifest, parts: (
            manifest["runs"][0]["tables"].update(segments="../../evil.parquet"),
            parts.update({"../../evil.parquet": b""}),
        ),
    )


def _work_changed(content):
    def edit(manifest, parts):
        name = manifest["scenarios"][0]["workload"]
        table = pq.read_table(io.BytesIO(parts[name]))
        half = pa.compute.multiply(table.column("work"), 0.5)
        parts[name] = parquet(table.set_column(table.column_names.index("work"), "work", half))
        manifest["files"][name]["sha256"] = sha256(parts[name]).hexdigest()

    return with_manifest(content, edit)


HOSTILE = {
    "empty": (lambda c: b"", "not a readable zip"),
    "text": (lambda c: b"job_id,submit\n1,2\n", "not a readable zip"),
    "cut short": (lambda c: c[: len(c) // 2], "not a readable zip"),
    "no manifest": (_drop("manifest"), "has no manifest.json"),
    "manifest is no JSON": (lambda c: rewritten(c, lambda p: p.update({"manifest.json": b"{"})), "is not JSON"),
    "deep JSON": (lambda c: rewritten(c, lambda p: p.update({"manifest.json": b"[" * 200_000})), "is not JSON"),
    "another format": (_set(["format"], "zip"), "manifest.json, format"),
    "newer": (_set(["version"], 7), "has format 7, but this version of dlsched reads only format 1. Update dlsched"),
    "file missing": (_drop("segments"), "both in the manifest and in the file"),
    "file too many": (lambda c: rewritten(c, lambda p: p.update(extra=b"x")), "extra: must be both in the manifest"),
    "byte changed": (_flip_byte, "does not match the hash"),
    "path out of the zip": (_traversal, "segments"),
    "seed changed": (_set(["runs", 0, "seed"], 5), "does not match the key"),
    "policy changed": (_set(["runs", 0, "policy"], "oracle"), "does not match the key"),
    "long note": (_set(["runs", 0, "note"], "x" * 5000), "manifest.json, runs.0.note"),
    "unknown field": (_set(["runs", 0, "exec"], "rm"), "manifest.json, runs.0.exec"),
    "no cluster": (_set(["scenarios", 0, "definition"], {}), "scenario .* is not complete"),
    "cluster changed": (
        _set(["scenarios", 0, "definition", "cluster", "pools", 0, "count"], 3),
        "does not match its hash",
    ),
    "bad cluster": (_set(["scenarios", 0, "definition", "cluster", "pools", 0, "count"], -3), "pools.0.count"),
    "work changed": (_work_changed, "does not match its hash"),
    "metric is text": (_set(["runs", 0, "metrics", "jobs"], "many"), "runs.0.metrics.jobs"),
    "not Parquet": (lambda c: replaced_file(c, "waits", b"PAR1 no PAR1", 1), "its Parquet data are damaged"),
    "other columns": (lambda c: replaced_file(c, "waits", parquet(pa.table({"a": [1]})), 1), "has other columns"),
    "more rows than stated": (
        lambda c: replaced_file(c, "waits", parquet(pa.table({"a": range(9)})), 1),
        "should have 1 rows, has 9",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence_and_leave_nothing(other, exported, case):
    content, _ = exported
    change, message = HOSTILE[case]
    with pytest.raises(InputError, match=message) as caught:
        other.import_runs(change(content))
    assert "\n" not in str(caught.value)
    assert other.list_runs().empty
    assert other.list_scenarios().empty


@pytest.mark.parametrize("value", [10**400, float("inf")], ids=["integer beyond float", "infinite"])
@pytest.mark.parametrize("path", ["wall_s", "seed", "cpu_s/x", "prices/x", "read_counts/x", "metrics/jobs"])
def test_numbers_that_the_store_cannot_hold_are_refused(other, exported, path, value):
    content, _ = exported
    with pytest.raises(InputError, match=rf"manifest.json, runs.0.{path.replace('/', '.')}"):
        other.import_runs(_set(["runs", 0, *path.split("/")], value)(content))
    assert other.list_runs().empty


@pytest.mark.parametrize("value", [10**400, float("inf")], ids=["integer beyond float", "infinite"])
def test_a_parameter_that_no_number_holds_is_refused_or_can_be_shown(other, exported, value):
    """Parameters are of any kind, and the key of a forged run can be right."""

    def forge(manifest, parts):
        run = manifest["runs"][0]
        run["params"] = {"x": value}
        run["run_key"] = run_key(run["scenario_hash"], run["policy"], run["params"], run["seed"], run["code_version"])

    content, _ = exported
    try:
        report = other.import_runs(with_manifest(content, forge))
    except InputError as error:
        assert "params" in str(error)  # noqa: PT017
        assert other.list_runs().empty
    else:
        assert other.run_info(report.added[0]).params == {"x": value}
        assert len(other.list_runs()) == 2


def test_a_zip_bomb_is_not_unpacked(other, monkeypatch):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", "{}")
        archive.writestr("zeros", bytes(5_000_000))
    monkeypatch.setattr(portable, "MAX_UNPACKED_BYTES", 1_000_000)
    with pytest.raises(InputError, match="unpacks to 5 MiB; the limit is 1 MiB"):
        other.import_runs(sink.getvalue())


def test_a_parquet_bomb_stops_at_the_limit(other, exported, monkeypatch):
    content, _ = exported
    rows = 2_000_000
    waits = pa.table(
        {
            "job_id": pa.repeat("x" * 50, rows),
            "row": pa.repeat(pa.scalar(1, pa.int64()), rows),
            "from_s": pa.repeat(1.0, rows),
            "to_s": pa.repeat(1.0, rows),
            "reason": pa.repeat("no_room", rows),
        }
    )
    monkeypatch.setattr(portable, "MAX_TABLES_BYTES", 10 * 2**20)
    with pytest.raises(InputError, match=r"waits.parquet: it is too large when decompressed: \d+ MiB or more"):
        other.import_runs(replaced_file(content, "waits", parquet(waits), rows))


def test_a_file_too_big_is_not_opened(other, monkeypatch):
    monkeypatch.setattr(portable, "MAX_FILE_BYTES", 10)
    with pytest.raises(InputError, match="the limit is"):
        other.import_runs(b"x" * 11)
