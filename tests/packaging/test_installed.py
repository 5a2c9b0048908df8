"""The wheel in an empty environment, used from another folder by someone who may not write to it."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dlsched
from tests.browser.conftest import Server
from tests.packaging.conftest import LEFT_OUT, Installation
from tools.settled import settle

pytestmark = pytest.mark.slow
RUN_LIMIT_MS = 240_000
BLUE = "rgb(24, 90, 221)"
"""The theme's leading colour."""


class Installed(Server):
    """The app, started by its command."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        super().__init__(folder / "results.duckdb")
        self.installation = installation

    def command(self) -> list[str]:
        options = ("--no-browser", "--port", str(self.port), "--store", self.store.name)
        return self.installation.command("dlsched", "app", *options)

    def environment(self) -> dict[str, str]:
        return self.installation.environment(DLSCHED_WORKERS="1")


@pytest.fixture
def app(installation: Installation) -> Iterator[Installed]:
    server = Installed(installation, installation.elsewhere)
    server.start()
    yield server
    server.kill()


def test_the_wheel_holds_app_pages_data_theme_and_types(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    bundle = {"app.py", "pages/home/home.py", "data/demo.toml", "data/samples/campus.csv", ".streamlit/config.toml"}
    assert {f"dlsched/_bundle/{name}" for name in bundle} | {"dlsched/py.typed"} <= names
    assert {name.split("/")[0] for name in names} == {"dlsched", f"dlsched-{dlsched.__version__}.dist-info"}
    assert not [name for name in names if re.search(r"__pycache__|secrets|\.nb[ic]$|\.duckdb", name)]


def test_commands_work_from_another_folder_and_write_nothing_there(installation: Installation) -> None:
    before = installation.files()
    assert installation.run("dlsched", "--version").stdout == f"{dlsched.__version__}\n"
    typed = ("simulate", "sample:campus", "--policy", "easy-backfill", "--json")
    done = installation.run("dlsched", *typed)
    assert done.returncode == 0, done.stderr
    here = dlsched.simulate(dlsched.load("sample:campus"), "easy-backfill")
    told = json.loads(done.stdout)["metrics"]
    assert {key: value for key, value in told.items() if "cpu" not in key} == pytest.approx(
        {key: value for key, value in here.metrics.items() if "cpu" not in key}
    )
    assert installation.files() == before
    assert [*installation.elsewhere.iterdir()] == []


def test_code_is_compiled_into_the_folder_of_the_user(installation: Installation) -> None:
    module = f"dlsched.policies.slurm.kernels.{LEFT_OUT}"
    before = installation.files()
    assert installation.run("python", "-c", f"import {module}").returncode == 0
    assert len([*installation.code_cache.rglob(f"{LEFT_OUT}.*.nb[ic]")]) == 2
    assert installation.files() == before


def test_code_is_compiled_without_a_folder_to_keep_it(installation: Installation, tmp_path: Path) -> None:
    code = (
        "import os\n"
        "import dlsched.policies.slurm.kernels.fairness\n"
        "folder = os.environ['NUMBA_CACHE_DIR']\n"
        "print(sum(name.endswith('.nbc') for _, _, names in os.walk(folder) for name in names), folder)"
    )
    done = installation.run("python", "-c", code, HOME=os.devnull, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"1 {tmp_path}")
    assert [*tmp_path.iterdir()] == []  # it is gone with the process


@pytest.mark.browser
def test_the_app_runs_the_demo_in_its_worker(app: Installed, browser: Any) -> None:
    before = app.installation.files()
    tab = browser.new_page()
    tab.goto(app.url)
    settle(tab)
    run = tab.locator(".st-key-run-demo button").first
    assert run.evaluate("at => getComputedStyle(at).backgroundColor") == BLUE
    run.click()
    tab.wait_for_url("**/compare**", timeout=RUN_LIMIT_MS)
    tab.get_by_text("over 21 simulated versions").first.wait_for(timeout=RUN_LIMIT_MS)
    assert app.installation.files() == before
    assert app.store.is_file()
