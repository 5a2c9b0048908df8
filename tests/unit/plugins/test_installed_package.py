"""A plug-in package with a distribution of its own, through the command line in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.plugin_package import MODULE, write_distribution, write_package

ROOT = Path(__file__).resolve().parents[3]
LINES = 40


class Shell:
    """Commands in a folder without our code, with a plug-in package on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        self.trace, self.store = folder / "jobs.csv", folder / "store.duckdb"
        with (ROOT / "data" / "samples" / "campus.csv").open() as file:
            self.trace.write_text("".join(file.readline() for _ in range(LINES)))
        path = os.pathsep.join([str(self.site), str(ROOT)])
        self.environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dlsched", *args]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment | environment, capture_output=True, text=True, check=False
        )

    def json(self, *args: str) -> Any:
        done = self.run(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def sweep(self, processes: str = "1") -> Any:
        vary = ("--vary", "nodes=8,10", "--policies", "fifo,mine", "--futures", "0")
        return self.json("sweep", str(self.trace), *vary, "--processes", processes, "--save", str(self.store))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    write_package(tmp_path / "site")
    return Shell(tmp_path)


@pytest.mark.slow
def test_it_is_found_run_audited_shown_and_no_stale_answer_is_reused_after_its_version_changes(shell: Shell) -> None:
    listed = {spec["key"]: spec for spec in shell.json("policies")}
    assert listed["mine"]["origin"] == "mypkg 1.0"
    assert listed["fifo"]["origin"] == ""

    store = ("--store", str(shell.store))
    done = shell.json("simulate", str(shell.trace), "--policy", "mine", "--save", *store)
    assert (done["audit"], done["plugin"], done["metrics"]["completed"]) == ([], "mypkg 1.0", LINES - 1)
    assert " | mypkg 1.0+" in done["code_version"]
    assert shell.json("runs", "show", done["run_id"], *store)["plugin"] == "mypkg 1.0"
    assert "plug-in: mypkg 1.0" in shell.run("runs", "show", done["run_id"], *store).stdout
    (run,) = shell.json("runs", "list", *store)["runs"]
    assert (run["plugin"], run["stale"]) == ("mypkg 1.0", False)

    first = shell.sweep(processes="2")
    assert (first["computed"], first["stored"]) == (4, 0)
    assert {"kind": "plug-in", "text": "My policy from mypkg 1.0"} in first["caveats"]
    again = shell.sweep()
    assert (again["computed"], again["stored"]) == (0, 4)

    write_package(shell.site, "1.1")
    newer = shell.sweep()
    assert (newer["computed"], newer["stored"]) == (2, 2), "only the runs of the plug-in are computed again"
    (run,) = shell.json("runs", "list", *store)["runs"]
    assert run["stale"]
    write_package(shell.site, "1.1", MODULE + "\n# another source of the same version\n")
    assert shell.sweep()["computed"] == 2
    repeated = shell.json("simulate", str(shell.trace), "--policy", "mine", "--save", *store)
    assert repeated["run_id"] != done["run_id"]
    assert repeated["metrics"]["jct_mean"] == done["metrics"]["jct_mean"]


@pytest.mark.slow
def test_a_broken_package_is_named_and_breaks_nothing_else(shell: Shell) -> None:
    (shell.site / "broken.py").write_text("raise RuntimeError('no licence')\n")
    write_distribution(shell.site, "broken", "3.0", {"dlsched.policies": "other = broken:SPEC"})
    done = shell.run("policies", "--json")
    assert done.returncode == 0
    assert {"fifo", "mine"} <= {spec["key"] for spec in json.loads(done.stdout)}
    assert "entry point other of broken" in done.stderr
    assert "importing it raised RuntimeError: no licence (broken.py, line 1)" in done.stderr
    assert shell.json("simulate", str(shell.trace), "--policy", "mine")["audit"] == []
    assert shell.run("simulate", str(shell.trace), "--policy", "fifo", "--json").stderr == ""


@pytest.mark.slow
def test_a_module_of_the_current_folder_is_a_policy_by_its_name(shell: Shell) -> None:
    (shell.folder / "own.py").write_text(MODULE.replace('"mine"', '"own"').replace("My policy", "Own policy"))
    compared = shell.json("compare", str(shell.trace), "--policies", "own:SPEC,fifo", "--futures", "2",
                          "--processes", "2", "--param", "own:SPEC.narrow_first=true")  # fmt: skip
    assert compared["policies"]["own"]["params"] == {"narrow_first": True}
    assert not compared["failed"]
    done = shell.json("simulate", str(shell.trace), "--policy", "own:SPEC")
    assert done["policy"] == "own"
    assert done["plugin"].startswith("own (file hash ")
    (shell.folder / "bad.py").write_text("class Bad:\n    def plan(self, state):\n        return state.nothing\n")
    failed = shell.run("simulate", str(shell.trace), "--policy", "bad:Bad")
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    assert failed.stderr.startswith("dlsched: Policy bad from bad (file hash ")
    assert "AttributeError" in failed.stderr
    for reference, why in {
        "nowhere:SPEC": "there is no module nowhere",
        "own:NOTHING": "module own has no NOTHING",
        "own:Params": "must be a PolicySpec",
        "os:sep": "must be a PolicySpec",
    }.items():
        refused = shell.run("simulate", str(shell.trace), "--policy", reference)
        assert refused.returncode == 2
        assert why in refused.stderr
        assert refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_its_reader_and_its_speed_model_are_used_and_said(shell: Shell) -> None:
    trace, scenario = shell.folder / "jobs.minutes", shell.folder / "case.json"
    trace.write_text("#minutes\n0,60,2\n10,30,4\n")
    read = shell.json("import", str(trace), "--check")
    assert read["format"] == "minutes"
    assert any("mypkg 1.0" in one for one in read["assumptions"])
    assert shell.run("scenario", str(trace), "--write", str(scenario)).returncode == 0
    document = json.loads(scenario.read_text())
    document["speed"] = {"kind": "amdahl", "params": {"serial_share": 0.5}}
    scenario.write_text(json.dumps(document))
    done = shell.json("simulate", str(scenario), "--policy", "modelarts-greedy")
    assert done["audit"] == []
    assert " | mypkg 1.0+" in done["code_version"]
    assert done["plugin"] == "mypkg 1.0"
    document["speed"]["params"] = {"serial_share": "much"}
    scenario.write_text(json.dumps(document))
    refused = shell.run("simulate", str(scenario), "--policy", "fifo")
    assert refused.returncode == 2
    assert "speed model amdahl, serial_share" in refused.stderr
    document["speed"] = {"kind": "amdal"}
    scenario.write_text(json.dumps(document))
    assert "Try 'amdahl'" in shell.run("simulate", str(scenario), "--policy", "fifo").stderr
