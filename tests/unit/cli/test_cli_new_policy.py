"""The project that new-policy writes runs as its README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dlsched.cli.main import main

ROOT = Path(__file__).resolve().parents[3]


def outcome(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", *args], cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("parent")
    assert main(["new-policy", "my_ageing_2", "--folder", str(parent)]) == 0
    return parent / "my_ageing_2"


def test_the_commands_of_its_readme_run(project: Path):
    typed = re.findall(r"^    dlsched (simulate .+)$", (project / "README.md").read_text(), re.MULTILINE)
    done = outcome(project, "dlsched", *typed[0].split())
    assert done.returncode == 0, done.stderr
    assert "My ageing 2 on 2 nodes" in done.stdout
    assert "audit: clean" in done.stdout


def test_it_runs_on_a_bundled_sample_too(project: Path):
    sample = ROOT / "data" / "samples" / "campus.csv"
    done = outcome(project, "dlsched", "simulate", str(sample), "--policy", "my_ageing_2:SPEC", "--param", "age_s=60")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_its_own_tests_pass(project: Path):
    done = outcome(project, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_its_entry_point_names_the_policy(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(project))
    given = tomllib.loads((project / "pyproject.toml").read_text())
    ((name, value),) = given["project"]["entry-points"]["dlsched.policies"].items()
    spec = EntryPoint(name, value, "dlsched.policies").load()
    assert spec.key == name == given["project"]["name"] == "my-ageing-2"


def test_nothing_is_overwritten(project: Path, capsys: pytest.CaptureFixture):
    before = (project / "my_ageing_2.py").read_text()
    assert main(["new-policy", "my_ageing_2", "--folder", str(project.parent)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert (project / "my_ageing_2.py").read_text() == before


@pytest.mark.parametrize("name", ["My-Policy", "../x", "1st", "class", "random", "numpy", "dlsched", "a" * 60, ""])
def test_a_name_that_cannot_be_a_module_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture):
    assert main(["new-policy", "--folder", str(tmp_path), "--", name]) == 2
    assert "policy name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "file").write_text("")
    assert main(["new-policy", "mine", "--folder", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
