"""The cluster of a log and of ``--cluster FILE`` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dlsched.cli.main import main
from tests.support.slurm_files import FILES

SACCT = "data/samples/slurm-sacct.txt"


@pytest.fixture
def conf(tmp_path: Path) -> str:
    path = tmp_path / "slurm.conf"
    path.write_text("ClusterName=lab\nNodeName=gpu[01-16] CPUs=64 RealMemory=524288 Gres=gpu:a100:8\n")
    return str(path)


def test_import_shows_the_node_types_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--check", SACCT]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    place = lines.index(["Node", "type", "Nodes", "Cores", "Memory", "GPUs", "Partitions", "Source"])
    assert lines[place + 1][-8:] == ["11", "64", "512", "GiB", "8", "gpu", "the", "log"]
    assert "Cluster: from the log (nodes: those that jobs ran on; cores: most ever held at once" in out


def test_import_in_json_says_where_each_part_comes_from(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--check", "--json", "--cluster", conf, SACCT]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = answer["cluster_found"]
    assert found["source"] == "slurm.conf"
    assert found["origin"]["GPUs"] == "Gres"
    assert found["origin"]["partitions"] == "of the jobs that ran there in the log"
    assert [(kind["nodes"], kind["gpus"], kind["partitions"]) for kind in found["node_types"]] == [
        (12, 8, "gpu"), (4, 8, ""),
    ]  # fmt: skip
    assert sum(pool["count"] for pool in answer["cluster"]["pools"]) == 16


def test_simulate_runs_on_the_described_cluster(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", SACCT, "--policy", "fifo-skip", "--cluster", conf, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["audit"] == []


def test_a_description_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "n.txt").write_text("a,b\n1,2\n")
    assert main(["import", "--check", SACCT, "--cluster", str(tmp_path / "n.txt")]) == 2
    assert "it describes no cluster that is known" in capsys.readouterr().err


@pytest.fixture
def slurm(tmp_path: Path) -> list[str]:
    typed = []
    for name, text in FILES.items():
        (tmp_path / f"{name}.txt").write_text(text)
        typed += ["--slurm", str(tmp_path / f"{name}.txt")]
    return typed


def test_settings_of_slurm_are_read_beside_a_log(slurm: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--check", "--json", SACCT, *slurm]) == 0
    found = json.loads(capsys.readouterr().out)["slurm"]
    assert found["partitions"] == ["cpu", "gpu"]
    assert (found["qos"], found["accounts"], found["users"]) == (["normal", "high"], 4, 2)
    assert found["options"]["bf_interval"] == 120
    assert found["sources"][1] == "sacctmgr show qos (2 QOS)"
    assert "SchedulerParameters bf_continue" in found["notes"][0]


def test_a_run_and_a_scenario_file_take_them_too(
    slurm: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", SACCT, *slurm, "--policy", "fifo", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["audit"] == []
    path = str(tmp_path / "s.toml")
    assert main(["scenario", SACCT, "--write", path]) == 0
    assert main(["scenario", path, *slurm, "--write", path]) == 0
    assert main(["simulate", path, "--policy", "fifo", "--json"]) == 0
    capsys.readouterr()
    assert "[slurm.options]" in Path(path).read_text()


def test_jobs_beyond_a_limit_are_left_waiting_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of three jobs asks for four GPUs where its account may use two; no rule is broken, so the audit is clean."""
    jobs, limits = tmp_path / "jobs.csv", tmp_path / "assoc.txt"
    jobs.write_text("job_id,submit_s,run_s,num_gpus,group\na,0,60,1,lab\nb,1,60,4,lab\nc,2,60,2,lab\n")
    limits.write_text("Cluster|Account|User|Share|GrpTRES\nx|root||1|\nx|lab||1|gres/gpu=2\n")
    assert main(["simulate", str(jobs), "--slurm", str(limits), "--policy", "slurm"]) == 0
    seen = capsys.readouterr().out
    assert "1 job left waiting: larger than a limit of its user, account or QOS, so that it never starts" in seen
    assert "audit: clean" in seen


def test_a_file_without_settings_is_one_line(conf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--check", SACCT, "--slurm", conf]) == 2
    assert "it has no settings of Slurm that count. Give slurm.conf" in capsys.readouterr().err
    assert main(["import", "--check", SACCT, "--slurm", str(tmp_path / "none")]) == 2
    assert "the file cannot be read (No such file or directory)" in capsys.readouterr().err


MIX = """format_version = 1
name = "Mix"

[[cluster.pools]]
count = 1
vm = { name = "own", gpus = 8, usd_per_h = 9.0 }

[[cluster.pools]]
count = 4
vm = { name = "cloud", gpus = 8, usd_per_h = 30.0 }
terms = { kind = "on-demand", boot_s = 300, idle_timeout_s = 600 }

[cluster.scaling]
wait_s = 900

[workload.columns]
job_id = ["a", "b"]
submit_s = [0, 0]
work = [7200, 3600]
workers = [8, 8]
"""


def test_simulate_shows_what_owned_and_rented_nodes_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mix.toml"
    path.write_text(MIX)
    assert main(["simulate", str(path), "--policy", "easy-backfill"]) == 0
    out = capsys.readouterr().out
    assert "5 nodes, 40 GPUs, up to 4 of them rented" in out
    # b waits 900 s, then a node boots for 300 s, works for 3600 s and is idle for 600 s: 4500 s at $30 an hour
    assert re.search(r"Cost of owned nodes +\$18.00 +owned_cost", out)
    assert re.search(r"Cost of on-demand nodes +\$37.50 +on_demand_cost", out)
    assert "audit: clean" in out
