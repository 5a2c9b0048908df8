"""The JSON Schema of scenario files: all files of ours fit it, and it agrees with the reader about single keys."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.cli.main import main
from dlsched.domain.columns import COLUMN
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.files import DATA
from dlsched.workload.load import load
from dlsched.workload.scenario_file import (
    INLINE_JOBS,
    from_document,
    read_scenario,
    scenario_bytes,
    to_document,
    write_scenario,
)
from dlsched.workload.scenario_schema import DIALECT, scenario_schema, schema_text
from dlsched.workload.studies.registry import KINDS, drawn_scenario
from tests.support.runs_for_store import small_scenario
from tests.unit.workload.test_scenario_file import scenarios

SCHEMA = scenario_schema()
CHECK = jsonschema.Draft202012Validator(SCHEMA)
FILES = sorted([*DATA.glob("*.toml"), *(DATA / "samples").iterdir()])
DRAWN = ("job-mix", "gpuaas", "training-stream", "modelarts", "server-jobs", "slotted-jobs")


def parsed(content: bytes, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(content) if kind == "json" else tomllib.loads(content.decode())
    return found


def fits(document: dict[str, Any]) -> bool:
    return bool(CHECK.is_valid(document))


def is_read(document: dict[str, Any]) -> bool:
    try:
        from_document(document)
    except InputError:
        return False
    return True


def test_it_is_a_schema_of_its_dialect() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == DIALECT
    assert json.loads(schema_text()) == SCHEMA


@pytest.mark.parametrize("kind", ["json", "toml"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_sample_fits_as_it_is_written(path: Path, kind: str) -> None:
    if path.suffix == ".toml":
        CHECK.validate(tomllib.loads(path.read_text(encoding="utf-8")))
    CHECK.validate(parsed(scenario_bytes(load(path), kind), kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", DRAWN)
def test_drawn_scenarios_fit(kind: str) -> None:
    assert {*DRAWN, "filled"} == {one.key for one in KINDS}
    given = {"kind": kind, **({"jobs": 9, "classes": MIX_CLASSES, "arrivals": POISSON} if kind == "job-mix" else {})}
    CHECK.validate(parsed(scenario_bytes(drawn_scenario(given, 1)), "json"))


POISSON = {"kind": "poisson", "jobs_per_h": 3}
MIX_CLASSES = [{"name": "a", "share": 1, "run_time": {"kind": "pareto", "shortest_s": 60}}]


@given(scenarios, st.sampled_from(["json", "toml"]))
def test_whatever_is_written_fits(scenario: Scenario, kind: Any) -> None:
    CHECK.validate(parsed(scenario_bytes(scenario, kind), kind))


def test_a_scenario_with_its_jobs_in_a_table_fits(tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    write_scenario(small_scenario(INLINE_JOBS + 1), path)
    CHECK.validate(tomllib.loads(path.read_text(encoding="utf-8")))


values = st.one_of(
    st.none(), st.floats(-1e6, 1e6), st.integers(-(10**6), 10**6), st.just("x"), st.sampled_from([0, 1, 0.5, "cap"])
)


@given(st.sampled_from(sorted(SimulationRules.model_fields)), values)
def test_it_agrees_with_the_reader_about_every_option(name: str, value: Any) -> None:
    document = to_document(small_scenario()) | {"options": {name: value}}
    assert fits(document) == is_read(document)


@given(st.sampled_from(["gpus", "cpus", "usd_per_h", "speed", "name", "gpu_type"]), values)
def test_it_agrees_with_the_reader_about_machine_types(name: str, value: Any) -> None:
    document = to_document(small_scenario())
    document["cluster"]["pools"][0]["vm"][name] = value
    assert fits(document) == is_read(document)


def without(*path: str) -> dict[str, Any]:
    document = to_document(small_scenario())
    part = document
    for key in path[:-1]:
        part = part[key]
    del part[path[-1]]
    return document


def with_part(path: str, value: Any) -> dict[str, Any]:
    document = to_document(small_scenario())
    *keys, last = path.split(".")
    part = document
    for key in keys:
        part = part[key]
    part[last] = value
    return document


WRONG = {
    "no version": without("format_version"),
    "no cluster": without("cluster"),
    "no jobs": without("workload"),
    "no column of work": without("workload", "columns", "work"),
    "newer version": with_part("format_version", 2),
    "unknown key": with_part("colour", "red"),
    "unknown option": with_part("options.colour", "red"),
    "unknown column": with_part("workload.columns.colour", ["red"] * 4),
    "text for a number": with_part("workload.columns.work", ["long"] * 4),
    "fraction for a text": with_part("workload.columns.user", [1.5, 2.5, 3.5, 4.5]),
    "unknown kind of jobs": with_part("workload", {"generator": {"kind": "dice"}}),
    "generator without its fields": with_part("workload", {"generator": {"kind": "job-mix"}}),
    "no source of jobs": with_part("workload", {"meta": {}}),
    "two sources of jobs": with_part("workload.table", "jobs.parquet"),
    "bad reading choice": with_part("workload", {"file": "a.csv", "read_options": {"cpu_jobs": "perhaps"}}),
    "bad hash": with_part("workload.sha256", "abc"),
    "bad kind of assumption": with_part("assumptions", [{"kind": "guess", "text": "x"}]),
    "a long name of a schema": with_part("$schema", "x" * 2001),
}
RIGHT = {
    "as written": to_document(small_scenario()),
    "whole numbers as names": with_part("workload.columns.user", [1, 2, 3, 4]),
    "missing values": with_part("workload.columns.due_s", [None, 90, "", 200]),
    "an assumption in words": with_part("assumptions", ["prices are examples"]),
    "null for what may be empty": with_part("queues", None),
    "a draw": with_part("workload", {"generator": {"kind": "job-mix", "jobs": 3, "arrivals": POISSON,
                                                   "classes": MIX_CLASSES}}),
    "a schema": with_part("$schema", "schema.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*WRONG, *RIGHT])
def test_it_agrees_with_the_reader_about(name: str) -> None:
    document = (WRONG | RIGHT)[name]
    assert (fits(document), is_read(document)) == (name in RIGHT, name in RIGHT)


# ---- what it tells ------------------------------------------------------------------------------------


def test_it_tells_defaults_units_choices_and_meaning() -> None:
    options = SCHEMA["$defs"]["SimulationRules"]["properties"]
    assert options["placement"]["enum"] == ["pool", "best-fit", "pack", "spread"]
    assert (options["restart_s"]["default"], options["restart_s"]["unit"], options["restart_s"]["minimum"]) == (
        0,
        "s",
        0,
    )
    assert SCHEMA["$defs"]["VmType"]["properties"]["mem_gib"]["unit"] == "GiB"
    assert SCHEMA["$defs"]["VmType"]["properties"]["usd_per_h"]["unit"] == "$/h"
    columns = SCHEMA["$defs"]["WorkloadPart"]["properties"]["columns"]["anyOf"][0]["properties"]
    assert {name: (one.get("unit", ""), one["description"]) for name, one in columns.items()} == {
        name: (column.unit, column.help) for name, column in COLUMN.items()
    }
    assert all("description" in one for one in SCHEMA["properties"].values())
    assert "``" not in schema_text()
    assert ":mod:" not in schema_text()


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_the_schema_that_a_file_names_is_kept(kind: str, tmp_path: Path) -> None:
    path, copy = tmp_path / f"s.{kind}", tmp_path / f"copy.{kind}"
    named = small_scenario(schema_ref="../schema.json")
    write_scenario(named, path)
    assert next(iter(parsed(path.read_bytes(), kind))) == "$schema"
    scenario = load(path)
    write_scenario(scenario.replace(seed=3), copy)
    assert read_scenario(copy).schema_ref == "../schema.json"
    assert scenario.content_hash == small_scenario().content_hash
    assert "$schema" not in to_document(small_scenario())


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["scenario", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    assert main(["scenario", "--schema", "--write", str(tmp_path / "s.json")]) == 2
    assert "prints the schema of all scenario files" in capsys.readouterr().err
    assert main(["scenario", "--generate", "gpuaas"]) == 2
    assert "needs --write OUT" in capsys.readouterr().err
