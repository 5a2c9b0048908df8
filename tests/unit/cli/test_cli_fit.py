"""``dlsched fit``: the numbers of the half it has not seen, as JSON and for people."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dlsched.cli import study_command
from dlsched.cli.main import main
from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.runner.executor import WorkerPool
from dlsched.store import Store
from dlsched.studies import stored_trust
from dlsched.studies.fitting import Fit
from dlsched.workload.load import load
from dlsched.workload.scenario_file import write_scenario
from tests.support.recorded_jobs import recorded_scenario


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_command, "open_pool", lambda *_: WorkerPool(ThreadPoolExecutor(1), 1, remote=False))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "recorded.json"
    write_scenario(recorded_scenario("easy-backfill", jobs=300), str(path))
    return str(path)


def test_json_starts_with_the_measures_of_the_second_half(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", file, "--replays", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for part in (found, found["fifo"], found["easy"]):
        assert {"n", "typical_factor", "within_2x", "rank_correlation", "bias_s"} <= set(part)
    assert (found["grade"], found["typical_factor"]) == ("replays", pytest.approx(1, abs=0.01))
    assert found["fifo"]["typical_factor"] >= found["typical_factor"]
    assert found["flags"] == "--policy easy-backfill"
    assert found["learned"]["policy"] == "easy-backfill"
    own = {name: value for name, value in found.items() if name in Fit.model_fields}
    assert Fit.from_plain(own).summary()["typical_factor"] == found["typical_factor"]


def test_people_read_what_stood_idle_then_the_grade_then_what_was_learned(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", file, "--replays", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("While jobs that fit waited, ")
    assert "EASY backfill would leave" in lines[0]
    assert lines[1].startswith("Replays the log: typical factor 1.0")
    assert lines[2] == "What-ifs may carry numbers about waits."
    assert "every wait is the mean of 2 replays" in lines[3]
    assert any(line.startswith("Effective capacity") and "2 of 2 nodes" in line for line in lines)
    assert lines[-1] == "The fitted policy: --policy easy-backfill"


def test_a_kept_fit_goes_before_a_calibration(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "s.duckdb")
    assert main(["calibrate", file, "--policies", "fifo", "--save", store]) == 0
    assert main(["fit", file, "--replays", "2", "--save", store]) == 0
    capsys.readouterr()
    scenario = recorded_scenario("easy-backfill", jobs=300)
    with Store(store) as opened:
        said = stored_trust.trust_in(opened, scenario, "easy-backfill")
        other = stored_trust.trust_in(opened, scenario.replace(name="another"), "sjf")
    assert said is not None
    assert "fitted EASY backfill" in said.label
    assert said.is_mild
    assert other is not None
    assert "not of SJF" in other.why


def test_the_scenario_that_was_judged_is_written_where_flags_do_not_say_it(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A time of absence that came from the whole log is looked for again in the first half."""
    scenario = load(file)
    away = Absence(node=1, start_s=0, end_s=60_000, cause="maintenance", billed=True)
    jobs = scenario.workload.with_columns(recorded_nodes=["n1"] * len(scenario.workload))
    cluster = scenario.cluster.model_copy(update={"absences": (away,)})
    write_scenario(scenario.replace(workload=jobs, cluster=cluster), file)
    assert main(["fit", file, "--replays", "2"]) == 0
    assert "which no flag says: write that scenario with --write OUT." in capsys.readouterr().out
    assert main(["fit", file, "--replays", "2", "--write", str(tmp_path / "judged.json")]) == 0
    assert "judged.json is the scenario it was judged on" in capsys.readouterr().out
    assert load(tmp_path / "judged.json").cluster != load(file).cluster


def test_what_cannot_be_fitted_is_said_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = recorded_scenario("fifo")
    cases = {
        "none of 150 jobs has a recorded start": bare.replace(
            workload=bare.workload.with_columns(recorded_start_s=None, recorded_end_s=None)
        ),
        "the file is a sample of the jobs": bare.replace(
            cluster=Cluster(pools=(Pool(vm=VmType(name="eight", gpus=8), count=400),))
        ),
        "at least 40 are needed": bare.replace(workload=bare.workload.select(slice(0, 60))),
    }
    for text, scenario in cases.items():
        path = tmp_path / "refused.json"
        write_scenario(scenario, str(path))
        assert main(["fit", str(path), "--json"]) != 0
        said = capsys.readouterr()
        assert said.out == ""
        assert text in said.err
        assert len(said.err.strip().splitlines()) == 1
