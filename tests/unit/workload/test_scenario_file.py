"""Scenario files: what is read equals what was written, and every defect is one InputError naming the place."""

from __future__ import annotations

import hashlib
import json
import math
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.assumptions import stated
from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.workload import scenario_file
from dlsched.workload.fill import fill
from dlsched.workload.generators.fill_rules import DueRule
from dlsched.workload.scenario_file import (
    from_document,
    read_scenario,
    scenario_bytes,
    to_document,
    write_scenario,
)
from dlsched.workload.studies.registry import canonical, draw

NODES = Cluster(pools=(Pool(vm=VmType(name="node", gpus=4), count=2),))
MIX = canonical(
    {
        "kind": "job-mix",
        "jobs": 20,
        "arrivals": {"kind": "poisson", "jobs_per_h": 3},
        "classes": [{"name": "a", "share": 1, "run_time": {"kind": "pareto", "shortest_s": 60}}],
    }
)


def trace(**columns) -> Workload:
    return Workload.from_columns({"job_id": ["a", "b"], "submit_s": [0, 5], "work": [10, 20], **columns})


def generated(seed: int = 3) -> Scenario:
    return Scenario(draw(MIX, seed), NODES, seed=seed, generator=MIX, data_kind="generated")


def document(**changes) -> dict:
    return {**to_document(Scenario(trace(), NODES)), **changes}


def same(one: Scenario, other: Scenario) -> bool:
    told = ("name", "data_kind", "assumptions")
    return (
        one.content_hash == other.content_hash
        and all(getattr(one, name) == getattr(other, name) for name in told)
        and dict(one.read) == dict(other.read)
        and dict(one.workload.meta) == dict(other.workload.meta)
        and one.workload.order.tolist() == other.workload.order.tolist()
    )


# ---- round trip ------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=12)
finite = st.floats(allow_nan=False, allow_infinity=False)
amounts = st.floats(0, 1e15)


@st.composite
def workloads(draw_value) -> Workload:
    ids = draw_value(st.lists(texts.filter(bool), max_size=6, unique=True))

    def some(values):
        return st.lists(values, min_size=len(ids), max_size=len(ids))

    columns = {
        "job_id": ids,
        "submit_s": draw_value(some(amounts)),
        "work": draw_value(some(st.floats(1e-300, 1e15))),
        "workers": draw_value(some(st.integers(1, 10**9))),
        "gpus_per_worker": draw_value(some(st.floats(1e-9, 1024))),
        "order": draw_value(st.permutations(range(len(ids)))),
    }
    optional = {
        "user": texts,
        "partition": texts,
        "due_s": finite | st.just(math.nan),
        "priority": finite | st.just(math.nan),
        "weight_usd_per_s": st.floats(0, 1e300) | st.just(math.nan),
        "max_workers": st.just(10**9),
        "mem_gib_per_worker": amounts,
    }
    for name in draw_value(st.sets(st.sampled_from(sorted(optional)))):
        columns[name] = draw_value(some(optional[name]))
    return Workload.from_columns(columns, draw_value(st.dictionaries(texts, texts, max_size=3)))


vms = st.builds(
    VmType,
    name=st.text(string.ascii_letters, min_size=1, max_size=8),
    gpus=st.integers(0, 16),
    cpus=st.none() | st.floats(0, 1e6),
    usd_per_h=st.none() | st.floats(0, 1e6),
    speed=st.floats(0.01, 100),
)
pooled = st.builds(
    lambda vm, count, absences: Cluster(pools=(Pool(vm=vm, count=count),), absences=tuple(absences)),
    vms,
    st.integers(1, 5),
    st.lists(st.builds(Absence, node=st.just(0), end_s=st.none() | st.floats(1, 1e9)), max_size=2),
)
slotted = st.builds(lambda vm, slots: Cluster(slots=slots, catalogue=(vm,)), vms, st.integers(1, 5))
scenarios = st.builds(
    Scenario,
    workload=workloads(),
    cluster=pooled | slotted,
    options=st.builds(SimulationRules, restart_s=st.floats(0, 86_400), horizon_s=st.none() | st.floats(1, 1e12)),
    speed=st.builds(SpeedSpec, kind=st.sampled_from(["rigid", "scaling"])),
    seed=st.integers(-(2**63) + 1, 2**63 - 1),
    name=texts,
    data_kind=st.sampled_from(["example", "generated", "trace"]),
    read=st.dictionaries(st.sampled_from(["rows", "kept"]), st.integers(0, 10**9)),
    assumptions=st.lists(texts, max_size=3).map(lambda given: stated(*dict.fromkeys(given))),
)


@given(scenarios, st.sampled_from(["json", "toml"]))
def test_what_is_read_equals_what_was_written(scenario, kind):
    assert same(read_scenario(scenario_bytes(scenario, kind)), scenario)


@given(scenarios)
def test_files_hold_no_infinity_or_nan(scenario):
    def refuse(token):
        raise AssertionError(token)

    json.loads(scenario_bytes(scenario, "json"), parse_constant=refuse)


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_generated_jobs_are_written_as_their_generator_and_drawn_again(kind, tmp_path):
    scenario = fill(generated(), DueRule())
    write_scenario(scenario, tmp_path / f"s.{kind}")
    again = read_scenario(tmp_path / f"s.{kind}")
    assert "columns" not in to_document(scenario)["workload"]
    assert same(again, scenario)
    assert again.workload == scenario.workload


def test_generated_jobs_that_were_edited_keep_the_edit():
    scenario = generated()
    edited = scenario.replace(workload=scenario.workload.select(slice(0, 5)))
    again = read_scenario(scenario_bytes(edited))
    assert len(again.workload) == 5
    assert again.generator == MIX
    assert again.content_hash == edited.content_hash


# ---- tables beside the file ------------------------------------------------------------------------


@pytest.fixture
def big(monkeypatch) -> Scenario:
    monkeypatch.setattr(scenario_file, "INLINE_JOBS", 2)
    third = 1 / 3
    columns = {"job_id": list("abc"), "submit_s": [0.1, 0, 1e15], "work": [third, 1e-300, 7], "order": [2, 0, 1]}
    jobs = Workload.from_columns({**columns, "due_s": [math.nan, third, 5], "user": ["ü", "", "=1"]}, {"source": "x"})
    return Scenario(jobs, NODES)


@pytest.mark.parametrize("name", ["s.json", "s.toml", "a.b.json"])
def test_many_jobs_go_to_a_table_beside_the_file(big, name, tmp_path):
    write_scenario(big, tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, f"{name[:-5]}.jobs.parquet"])
    assert same(read_scenario(tmp_path / name), big)


def test_inline_keeps_all_in_one_file(big, tmp_path):
    write_scenario(big, tmp_path / "s.json", inline=True)
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]
    assert same(read_scenario(tmp_path / "s.json"), big)


def test_changed_table_is_refused(big, tmp_path):
    write_scenario(big, tmp_path / "s.json")
    table = tmp_path / "s.jobs.parquet"
    table.write_bytes(table.read_bytes() + b" ")
    with pytest.raises(InputError, match=r"s\.jobs\.parquet.*has changed"):
        read_scenario(tmp_path / "s.json")


def test_table_that_is_none_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="Parquet data are damaged"):
        from_document(document(workload={"table": "t.parquet"}), tmp_path)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x.csv", "a/../../x.csv", "C:\\x.csv", "c:x.csv", "a\\b.csv", "link", "."]
)
def test_named_files_stay_below_the_folder(name, tmp_path):
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (tmp_path / "x.csv").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "x.csv")
    with pytest.raises(InputError, match=r"plain relative path|cannot be read"):
        from_document(document(workload={"table": name}), folder)


def test_bytes_cannot_name_a_file():
    with pytest.raises(InputError, match="without a folder"):
        from_document(document(workload={"file": "x.csv"}))


# ---- writing ---------------------------------------------------------------------------------------


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "s.json"
    path.write_text("old")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(InputError, match="No space left"):
        write_scenario(Scenario(trace(), NODES), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize("name", ["s.csv", "missing/s.json"])
def test_unwritable_names_are_refused(name, tmp_path):
    with pytest.raises(InputError):
        write_scenario(Scenario(trace(), NODES), tmp_path / name)


# ---- bad documents ---------------------------------------------------------------------------------


def columns(**changes) -> dict:
    return {"workload": {"columns": {"job_id": ["a", "b"], "submit_s": [0, 5], "work": [1, 2], **changes}}}


POOL = {"vm": {"name": "n"}, "count": 1}
BAD_DOCUMENTS = {
    "unknown key": ({"colour": "red"}, "scenario, colour: "),
    "unknown option": ({"options": {"speed": 1}}, "scenario, options.speed: "),
    "wrong type": ({"cluster": {"pools": [{**POOL, "count": "two"}]}}, r"cluster\.pools\.0\.count: .*got 'two'"),
    "no nodes": (
        {"cluster": {"pools": [{**POOL, "count": 0}]}},
        "scenario, cluster: a cluster needs at least one node",
    ),
    "cluster missing": ({"cluster": None}, "scenario, cluster: "),
    "seed as text": ({"seed": "many"}, "scenario, seed: .*got 'many'"),
    "huge seed": ({"seed": 10**30}, "scenario, seed: must be at most"),
    "infinite price": ({"cluster": {"pools": [{**POOL, "count": math.inf}]}}, r"pools\.0\.count: must be a finite"),
    "newer": ({"format_version": 2}, "format_version: is 2: written by a newer dlsched"),
    "older, unknown": ({"format_version": 0}, "format_version: 0 was never used"),
    "version as text": ({"format_version": "1"}, "format_version: must be a whole number"),
    "version missing": ({"format_version": None}, "format_version: is missing"),
    "no jobs named": ({"workload": {}}, "workload: needs one of"),
    "two sources": ({"workload": {"table": "a", "file": "b"}}, "table and file exclude each other"),
    "unknown column": (columns(colour=["r", "g"]), r"columns\.colour: is not a column"),
    "text as number": (columns(work=[1, "2"]), r"columns\.work\.1: must be a number, got '2'"),
    "bool as number": (columns(work=[True, 2]), r"columns\.work\.0: must be a number, got True"),
    "list as text": (columns(user=["a", ["b"]]), r"columns\.user\.1: must be a text"),
    "NaN": (columns(due_s=[math.nan, 2]), r"columns\.due_s\.0: must be a finite number, got nan"),
    "huge": (columns(workers=[1, 1e300]), "row 2, column workers: must be a whole number"),
    "negative run time": (columns(work=[1, -2]), "row 2, column work: must be finite and above 0"),
    "uneven": (columns(work=[1]), "column work: has 1 rows"),
    "empty": (columns(work=[None, 2]), "row 1, column work"),
    "bad order": ({"workload": {**columns()["workload"], "order": [1]}}, "workload.order: has 1 numbers for 2 jobs"),
    "bad hash": ({"workload": {"file": "x", "sha256": "1"}}, "workload.sha256"),
    "unknown kind": ({"workload": {"generator": {"kind": "job-mic"}}}, "Try 'job-mix'"),
    "bad generator": ({"workload": {"generator": {**MIX, "jobs": 0}}}, "generator, jobs: .*got 0"),
    "bad generator with columns": (
        {"workload": {**columns()["workload"], "generator": {"kind": "none"}}},
        "generator, kind: must be a known kind",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS)
def test_bad_document_names_the_place(change, message):
    with pytest.raises(InputError, match=message):
        from_document(document(**change))


def _nested(opening: str, closing: str) -> bytes:
    return (opening * 100_000 + closing * 100_000).encode()


BAD_BYTES = {
    "empty": (b"  \n", "empty"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "UTF-8"),
    "broken JSON": (b'{"name": ', "not valid JSON.*line 1"),
    "broken TOML": (b"name = x\n", "not valid TOML.*line 1"),
    "a list": (b"[1, 2]", "not valid TOML"),
    "NaN": (b'{"format_version": 1, "seed": NaN}', "scenario, seed: must be a finite number"),
    "overflow": (b'{"format_version": 1, "seed": 1e999}', "scenario, seed: must be a finite number, got inf"),
    "TOML infinity": (b"format_version = 1\nseed = inf", "scenario, seed: must be a finite number"),
    "endless number": (b'{"seed": ' + b"1" * 10_000 + b"}", "not valid JSON"),
    "deep JSON": (b'{"a": ' + _nested("[", "]") + b"}", "nested"),
    "deep TOML": (b"a = " + _nested("[", "]"), "nested"),
    "rather deep": (b'{"a": ' + b"[" * 60 + b"]" * 60 + b"}", "nested more than 50 levels deep"),
}


@pytest.mark.parametrize(("data", "message"), BAD_BYTES.values(), ids=BAD_BYTES)
def test_bad_bytes_are_one_plain_error(data, message):
    with pytest.raises(InputError, match=message):
        read_scenario(data)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        read_scenario(tmp_path / "none.json")


def test_byte_order_mark_is_no_obstacle():
    scenario = Scenario(trace(), NODES)
    assert same(read_scenario(b"\xef\xbb\xbf" + scenario_bytes(scenario)), scenario)


def test_older_documents_are_migrated(monkeypatch):
    def rename(old: dict) -> dict:
        return {**{k: v for k, v in old.items() if k != "title"}, "name": old["title"]}

    monkeypatch.setitem(scenario_file.MIGRATIONS, 0, rename)
    old = {**document(format_version=0), "title": "from long ago"}
    del old["name"]
    assert from_document(old).name == "from long ago"


def test_missing_values_are_null_in_json_and_empty_texts_in_toml():
    scenario = Scenario(trace(due_s=[math.nan, 9]), NODES)
    assert json.loads(scenario_bytes(scenario, "json"))["workload"]["columns"]["due_s"] == [None, 9.0]
    assert b'"",\n' in scenario_bytes(scenario, "toml")
    assert np.isnan(read_scenario(scenario_bytes(scenario, "toml")).workload.columns()["due_s"][0])


# ---- a trace file of its own format ----------------------------------------------------------------

CSV = b"job_id,submit_time_s,num_gpus,duration_s\na,0,1,60\nb,5,2,30\nc,9,1,0\n"


def named_trace(folder, **part) -> Scenario:
    (folder / "sub").mkdir()
    (folder / "sub" / "jobs.csv").write_bytes(CSV)
    return from_document(document(workload={"file": "sub/jobs.csv", **part}), folder)


def test_named_trace_is_read_with_its_counts(tmp_path):
    scenario = named_trace(tmp_path, sha256=hashlib.sha256(CSV).hexdigest())
    assert scenario.workload.job_id.tolist() == ["a", "b"]
    assert scenario.read == {"rows": 3, "kept": 2, "repaired": 0, "dropped": 1}
    assert same(read_scenario(scenario_bytes(scenario)), scenario)


def test_named_trace_is_read_as_asked(tmp_path):
    assert len(named_trace(tmp_path, read_options={"zero_run": "one-second"}).workload) == 3


def test_named_trace_that_changed_is_refused(tmp_path):
    with pytest.raises(InputError, match="has changed"):
        named_trace(tmp_path, sha256="0" * 64)


def test_unknown_read_option_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"workload\.read_options, colour"):
        named_trace(tmp_path, read_options={"colour": "red"})
