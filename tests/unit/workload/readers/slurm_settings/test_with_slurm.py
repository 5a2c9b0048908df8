"""Settings of Slurm in a scenario: limits of partitions, reservations in seconds, what the assumptions say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.load import load
from dlsched.workload.readers import ReadOptions
from dlsched.workload.readers.slurm_settings.found import read_slurm, with_slurm
from dlsched.workload.scenario_file import read_scenario, write_scenario
from tests.support.slurm_files import ASSOC, CONF, QOS, RESERVATIONS

LOG = """\
JobID|User|Account|Partition|QOS|Submit|Start|End|ElapsedRaw|Timelimit|NCPUS|NodeList|State
1|ann|optics|cpu|normal|2024-05-01T09:00:00|2024-05-01T09:00:00|2024-05-01T09:10:00|600|3-00:00:00|32|n01|COMPLETED
2|ann|optics|cpu|normal|2024-05-01T09:00:00|2024-05-01T09:00:00|2024-05-01T09:10:00|600||32|n02|COMPLETED
3|bob|bio|gpu|high|2024-05-01T09:00:00|2024-05-01T09:00:00|2024-05-01T09:10:00|600|00:30:00|32|g1|COMPLETED
4|bob|bio|gpu|high|2024-05-01T09:00:00|2024-05-01T09:00:00|2024-05-01T09:10:00|600||32|g2|COMPLETED
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.txt"
    path.write_text(LOG)
    return path


def test_time_limits_come_from_the_partition_and_else_from_the_log(log: Path) -> None:
    """Job 2 gets DefaultTime of cpu; gpu has neither it nor MaxTime, so job 4 gets the largest limit told there."""
    alone = load(log).workload.limit_s
    assert alone is not None
    assert alone.tolist() == [3 * 86400, 3 * 86400, 1800, 1800]
    scenario = load(log, ReadOptions(slurm=(CONF.encode(),)))
    assert scenario.workload.limit_s is not None
    assert scenario.workload.limit_s.tolist() == [3 * 86400, 3600, 1800, 1800]
    words = next(one.words for one in scenario.assumptions if one.kind == "slurm")
    assert words.startswith("Slurm: settings from slurm.conf (21 options, 2 partitions, 2 node weights)")
    assert "1 job without a time limit gets DefaultTime, else MaxTime, of its partition" in words
    assert "1 job has a time limit above MaxTime of its partition" in words


def test_a_slurm_conf_as_the_cluster_gives_its_settings_too(log: Path) -> None:
    scenario = load(log, ReadOptions(cluster=CONF.encode(), slurm=(QOS.encode(), ASSOC.encode())))
    assert scenario.slurm is not None
    assert {pool.nodes for pool in scenario.cluster.pools} == {"n[01-04]", "g[1-2]"}
    assert [one.name for one in scenario.slurm.partitions] == ["cpu", "gpu"]
    assert [one.name for one in scenario.slurm.qos] == ["normal", "high"]
    only_nodes = load(log, ReadOptions(cluster=b"ClusterName=x\nNodeName=n[01-04],g[1-2] CPUs=32\n"))
    assert only_nodes.slurm is None


def test_reservations_count_from_the_first_job(log: Path) -> None:
    """The log starts at 09:00; the maintenance at 10:00 the same day, the course was over before."""
    scenario = load(log, ReadOptions(slurm=(RESERVATIONS.encode(),)))
    assert scenario.slurm is not None
    kept = scenario.slurm.reservations
    assert [(one.name, one.start_s, one.end_s, one.accounts) for one in kept] == [
        ("maint", 3600, 25 * 3600, ("phys", "optics"))
    ]
    assert "1 reservation is left out" in str(scenario.assumptions)
    undated = scenario.replace(workload=scenario.workload.select(slice(None)), slurm=None)
    undated.workload.meta.clear()  # type: ignore[attr-defined]
    again = with_slurm(undated, read_slurm([(RESERVATIONS.encode(), "res")]))
    assert again.slurm is not None
    assert again.slurm.reservations == ()


def test_a_scenario_file_takes_settings_and_keeps_them(log: Path, tmp_path: Path) -> None:
    given = load(log, ReadOptions(slurm=(CONF.encode(),)))
    write_scenario(given, tmp_path / "s.json")
    again = read_scenario(tmp_path / "s.json")
    assert again.slurm == given.slurm
    assert again.content_hash == given.content_hash
    other = load(tmp_path / "s.json", ReadOptions(slurm=(QOS.encode(),)))
    assert other.slurm is not None
    assert (other.slurm.partitions, len(other.slurm.qos)) == ((), 2)
    assert sum(one.kind == "slurm" for one in other.assumptions) == 1
    with pytest.raises(InputError, match="it is a scenario, not a trace"):
        load(tmp_path / "s.json", ReadOptions(slurm=(QOS.encode(),), cpu_jobs="drop"))


def test_jobs_without_limits_or_partitions_stay_as_they_are() -> None:
    from tests.support.sim_fakes import jobs

    setup = read_slurm([(CONF.encode(), "conf")]).setup
    from dlsched.workload.readers.slurm_settings.found import over_max_time, with_partition_limits

    plain = jobs((0, 1, 1), (0, 1, 1))
    assert with_partition_limits(plain, setup) == (plain, 0)
    assert over_max_time(plain, setup) == 0
    named = plain.with_columns(partition=["cpu", "gpu|other"])
    filled, count = with_partition_limits(named, setup)
    assert filled.limit_s is not None
    assert (filled.limit_s[0], count) == (3600, 1)
    assert np.isnan(filled.limit_s[1])
    both = plain.with_columns(partition=["cpu|gpu", "cpu"], limit_s=[1e7, 1e7])
    assert over_max_time(both, setup) == 1
