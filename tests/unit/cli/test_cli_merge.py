"""``sweep --part`` and ``merge``: the answer of one process from files; one line for what does not belong together."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dlsched.cli.main import main
from dlsched.domain.errors import PlanError
from dlsched.domain.scenario import SimulationRules
from dlsched.runner import dask_worker
from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.studies.sweep import parts
from dlsched.workload.scenario_file import write_scenario
from tests.support.runs_for_store import small_scenario

Out = pytest.CaptureFixture[str]
SCENARIO = small_scenario(30, options=SimulationRules(estimate_error=0.5, restart_s=1.0))
HERE = ["--processes", "1"]


@pytest.fixture
def sweep(tmp_path: Path) -> list[str]:
    """Return a sweep as it is typed: 2 sizes, 2 policies, 2 futures."""
    file = tmp_path / "s.json"
    write_scenario(SCENARIO, str(file))
    return ["sweep", str(file), "--vary", "nodes=1,2", "--policies", "sjf,fifo", "--futures", "1", *HERE]


def computed(sweep: list[str], folder: Path, of: int, *more: str) -> list[str]:
    """Return the files of all parts of a sweep."""
    folder.mkdir(exist_ok=True)
    files = [str(folder / f"part-{number}.parquet") for number in range(1, of + 1)]
    for number, file in enumerate(files, start=1):
        assert main([*sweep, *more, "--part", f"{number}/{of}", "--out", file]) == 0
    return files


def one_line(capsys: Out) -> str:
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


@pytest.mark.parametrize("of", [1, 3, 8, 11], ids=["one", "uneven", "a-run-each", "more-parts-than-runs"])
def test_the_merged_answer_is_that_of_one_process(sweep: list[str], tmp_path: Path, capsys: Out, of: int) -> None:
    files = computed(sweep, tmp_path / "parts", of)
    capsys.readouterr()
    for shown in ([], ["--json"]):
        told = []
        for number, typed in enumerate((sweep, ["merge", *reversed(files)])):
            assert main([*typed, *shown, "--csv", str(tmp_path / f"{number}.csv")]) == 0
            told.append(capsys.readouterr().out)
        assert told[0] == told[1] != ""
        assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def test_each_part_holds_its_share_and_says_so(sweep: list[str], tmp_path: Path, capsys: Out) -> None:
    files = computed(sweep, tmp_path, 3)
    assert [pq.read_metadata(file).num_rows for file in files] == [3, 3, 2]
    assert capsys.readouterr().out.splitlines()[2] == f"part 3 of 3: 2 runs, written to {files[2]}"
    assert main([*sweep, "--json", "--part", "1/3", "--out", files[0]]) == 0
    assert json.loads(capsys.readouterr().out) == {"part": 1, "of": 3, "runs": 3, "failed": 0, "file": files[0]}
    assert sorted(path.name for path in tmp_path.glob("*part*")) == [Path(file).name for file in files]


def test_merged_runs_are_kept_for_the_next_sweep(sweep: list[str], tmp_path: Path, capsys: Out) -> None:
    store = str(tmp_path / "store.duckdb")
    files = computed(sweep, tmp_path / "parts", 2)
    assert main(["merge", *files, "--save", store]) == 0
    with Store(store) as opened:
        assert len(opened.cells_of(SCENARIO.content_hash)) == 8
    capsys.readouterr()
    assert main([*sweep, "--save", store, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["computed"], answer["stored"]) == (0, 8)


def test_failed_runs_travel_with_their_error(
    sweep: list[str], tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(scenario: Any, policy: str, *more: Any) -> Any:
        if policy == "sjf":
            raise PlanError("node 1 is full")
        return simulate(scenario, policy, *more)

    monkeypatch.setattr("dlsched.studies.design.run.simulate", fails)
    files = [str(tmp_path / f"{number}.parquet") for number in (1, 2)]
    for number, file in enumerate(files, start=1):
        main([*sweep, "--part", f"{number}/2", "--out", file])
    assert "runs failed; the first: node 1 is full" in capsys.readouterr().err
    answers = []
    for typed in (sweep, ["merge", *files]):
        assert main([*typed, "--json"]) == 1
        answers.append(capsys.readouterr())
    assert answers[0] == answers[1]


# ---- what does not belong together ---------------------------------------------------------------------


def test_missing_parts_are_named_with_the_way_out(sweep: list[str], tmp_path: Path, capsys: Out) -> None:
    files = computed(sweep, tmp_path, 8)
    capsys.readouterr()
    assert main(["merge", files[0], files[2], files[6]]) == 2
    assert one_line(capsys) == (
        "dlsched: merge: parts 2,4-6,8 of 8 are missing. Compute parts 2,4-6,8 with sweep --part N/8 "
        "(in Slurm: --array=2,4-6,8).\n"
    )
    assert main(["merge", *files[:-1]]) == 2
    assert "merge: part 8 of 8 is missing. Compute part 8 with" in one_line(capsys)


@pytest.mark.parametrize(
    ("more", "of", "why"),
    [
        pytest.param(["--reference", "fifo"], 2, "asks another question than .*: reference differ", id="question"),
        pytest.param([], 3, r"is one of 3 parts, but .*1\.parquet one of 2", id="number-of-parts"),
    ],
)
def test_parts_of_different_sweeps_are_refused(
    sweep: list[str], tmp_path: Path, capsys: Out, more: list[str], of: int, why: str
) -> None:
    first, _ = computed(sweep, tmp_path / "a", 2)
    second = computed(sweep, tmp_path / "b", of, *more)[1]
    capsys.readouterr()
    assert main(["merge", first, second]) == 2
    assert_matches(why, one_line(capsys))


def test_parts_of_another_scenario_are_refused(sweep: list[str], tmp_path: Path, capsys: Out) -> None:
    first, _ = computed(sweep, tmp_path / "a", 2)
    write_scenario(small_scenario(31), sweep[1])
    _, second = computed(sweep, tmp_path / "b", 2)
    capsys.readouterr()
    assert main(["merge", first, second]) == 2
    assert_matches("is about scenario [0-9a-f]{8}, but .* about [0-9a-f]{8}", one_line(capsys))


def test_parts_of_other_versions_are_refused(
    sweep: list[str], tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = computed(sweep, tmp_path / "a", 2)
    ours = dask_worker.identity()
    with monkeypatch.context() as patched:
        patched.setattr(dask_worker, "identity", lambda: ours | {"numpy": "1.0"})
        _, other = computed(sweep, tmp_path / "b", 2)
    capsys.readouterr()
    assert main(["merge", first, other]) == 2
    assert_matches(rf"was computed with numpy 1\.0, but .* with {ours['numpy']}", one_line(capsys))
    monkeypatch.setattr("dlsched.cli.merge.identity", lambda: ours | {"dlsched": "9.9.9+abc"})
    assert main(["merge", first, second]) == 2
    assert_matches(r"was computed with dlsched .*, but this machine has 9\.9\.9\+abc", one_line(capsys))


def test_a_part_twice_a_changed_one_and_no_part_are_refused(sweep: list[str], tmp_path: Path, capsys: Out) -> None:
    first, second = computed(sweep, tmp_path / "a", 2)
    again, junk, table = (str(tmp_path / name) for name in ("again.parquet", "junk.parquet", "table.parquet"))
    shutil.copy(first, again)
    Path(junk).write_bytes(Path(first).read_bytes()[:500])
    pq.write_table(pq.read_table(first).replace_schema_metadata({}), table)
    other = pq.read_table(second)
    swapped = str(tmp_path / "swapped.parquet")
    pq.write_table(pq.read_table(first).replace_schema_metadata(other.schema.metadata), swapped)
    capsys.readouterr()
    for typed, why in (
        ([first, again, second], "is part 1 of 2, as .* is. Give one of them"),
        ([first, first], "is named twice"),
        ([first, junk], "its Parquet data are damaged"),
        ([first, table], "is not a part of a sweep"),
        ([first, swapped], "does not hold the runs of part 2 of 2"),
        ([first, str(tmp_path / "none.parquet")], "does not exist"),
    ):
        assert main(["merge", *typed]) == 2
        assert_matches(why, one_line(capsys))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2}, {"version": None}, {"part": 0}, {"part": 3}, {"of": 10**9}, {"of": "2"}, {"question": {}},
        {"question": 3}, {"scenario": {}}, {"scenario": None}, {"jobs": "?"}, {"jobs": ""}, {"versions": 3},
        {"format": "other"},
    ],
    ids=repr,
)  # fmt: skip
def test_a_changed_head_is_one_line(sweep: list[str], tmp_path: Path, capsys: Out, change: dict[str, Any]) -> None:
    (file,) = computed(sweep, tmp_path, 1)
    table = pq.read_table(file)
    head = json.loads(table.schema.metadata[b"dlsched"])
    pq.write_table(table.replace_schema_metadata({b"dlsched": json.dumps(head | change)}), file)
    capsys.readouterr()
    assert main(["merge", file]) == 2
    assert f"file {file}: " in one_line(capsys)


@pytest.mark.parametrize("metrics", ['{"jct_mean": "1"}', '{"jct_mean": NaN}', "[1]", "x", '{"jct_mean": 1e999}'])
def test_a_metric_that_is_no_number_is_refused(metrics: str) -> None:
    with pytest.raises((ValueError, AttributeError)):
        parts._result_of({"metrics": metrics, "audit": "[]", "error": ""}, "file p")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--part", "1/2"], "needs both --part and --out"),
        (["--out", "x.parquet"], "needs both --part and --out"),
        (["--part", "1/2", "--out", "x.parquet", "--save"], "--save: cannot be combined with --part"),
        (["--part", "1/2", "--out", "x.parquet", "--csv", "y"], "--csv y: cannot be combined with --part"),
        (["--part", "1/1", "--out", "/nowhere/x.parquet"], "cannot be written"),
    ],
)
def test_options_that_do_not_go_together(sweep: list[str], capsys: Out, more: list[str], why: str) -> None:
    assert main([*sweep, *more]) == 2
    assert why in one_line(capsys)


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/5001", "-1/3", "1/", "²/3"])
def test_a_part_that_is_none(sweep: list[str], capsys: Out, text: str) -> None:
    with pytest.raises(SystemExit):
        main([*sweep, f"--part={text}", "--out", "x.parquet"])
    assert "must be K/N with K from 1 to N" in one_line(capsys)


def assert_matches(pattern: str, text: str) -> None:
    assert re.search(pattern, text), text
