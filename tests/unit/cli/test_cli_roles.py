"""The command line in the role of the account that types it."""

import pytest

from dlsched.cli.main import main
from dlsched.domain.actor import Actor
from dlsched.store import Store
from tests.support.runs_for_store import record
from tests.support.store_rows import rows_of

CONFIG = """
[access]
login = "header"
proxies = ["127.0.0.1"]
planners = ["anna"]
readers = ["rita"]
"""


@pytest.fixture
def filled(tmp_path, monkeypatch):
    """A store with a run, below a config file with roles."""
    path = tmp_path / "results.duckdb"
    with Store(path) as store:
        run_id = store.acting(Actor("anna")).save_run(record())
    (tmp_path / "config.toml").write_text(CONFIG)
    monkeypatch.setenv("DLSCHED_CONFIG", str(tmp_path / "config.toml"))
    return path, run_id


@pytest.fixture
def typed_by(monkeypatch):
    """Return a function that says whose account types."""
    return lambda name: monkeypatch.setattr("dlsched.access.roles.account", lambda: name)


def test_a_reader_reads_and_writes_nothing(filled, typed_by, tmp_path, capsys):
    path, run_id = filled
    before = rows_of(path)
    typed_by("rita")
    store = ["--store", str(path)]
    for words in (["list"], ["show", run_id], ["export", run_id, "--out", str(tmp_path / "x.zip")]):
        assert main(["runs", *words, *store]) == 0
    capsys.readouterr()
    saving = [
        "simulate",
        "data/samples/campus.csv",
        "--policy",
        "fifo",
        "--nodes",
        "10",
        "--gpus-per-node",
        "8",
        "--save",
    ]
    for words in (
        ["runs", "delete", run_id],
        ["runs", "restore", run_id],
        ["runs", "import", str(tmp_path / "x.zip")],
        ["import", "data/samples/campus.csv"],
        saving,
    ):
        assert main([*words, *store]) == 1
        assert "rita may read here, but not change anything" in capsys.readouterr().err
    assert rows_of(path) == before


def test_the_store_of_the_config_file_is_used_where_none_is_named(filled, typed_by, monkeypatch, tmp_path, capsys):
    path, run_id = filled
    (tmp_path / "config.toml").write_text(f'[server]\nstore = "{path}"\n')
    monkeypatch.delenv("DLSCHED_STORE", raising=False)
    assert main(["runs", "show", run_id]) == 0
    monkeypatch.setenv("DLSCHED_STORE", str(tmp_path / "other.duckdb"))
    assert main(["runs", "show", run_id]) == 1


def test_a_planner_writes_and_others_may_not_even_read(filled, typed_by, capsys):
    path, run_id = filled
    typed_by("otto")
    assert main(["runs", "list", "--store", str(path)]) == 1
    assert "otto may not use this server" in capsys.readouterr().err
    typed_by("anna")
    assert main(["runs", "delete", run_id, "--store", str(path)]) == 0
    with Store(path) as store:
        assert store.list_runs().empty
