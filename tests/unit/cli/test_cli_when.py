"""The command when: a queue with a log, an instant of a log, one job that asks for less, the score."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dlsched.cli.main import main
from dlsched.studies.when_starts.queue_at import Record
from dlsched.studies.when_starts.score import instants_of
from dlsched.wording.clock import clock_of
from dlsched.workload.load import load
from tests.support.queues_now import squeue, true_log


@pytest.fixture
def queue(tmp_path: Path) -> str:
    path = tmp_path / "queue.json"
    path.write_text(json.dumps(squeue()))
    return str(path)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("log") / "log.csv"
    columns = true_log(200, seed=2).workload.columns()
    pd.DataFrame(columns).rename(columns={"work": "run_s"}).to_csv(path, index=False)
    return str(path)


def when(*args: str) -> int:
    return main(["when", *args, "--processes", "1"])


def test_a_queue_alone_has_starts_by_its_limits(queue: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert when(queue) == 0
    text = capsys.readouterr().out
    assert "With every job running to its time limit" in text
    assert "Tue 14 Nov 2023, 22:13" in text
    assert "Give a log of ended jobs" in text
    assert "Dependency" in text
    assert "order of the priorities" in text


def test_a_queue_with_a_log_has_intervals(
    queue: str, log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    assert when(queue, "--history", log, "--futures", "30", "--job", "4", "--csv", str(out), "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ended"] == 200
    assert answer["is_now"] is True
    jobs = {job["job_id"]: job for job in answer["jobs"]}
    assert set(jobs) == {"4", "5", "6", "7", "8", "9"}
    assert jobs["8"]["starts"] is None
    assert jobs["4"]["starts"]["low_s"] <= jobs["4"]["starts"]["median_s"] <= jobs["4"]["worst_s"]
    assert jobs["9"]["starts"]["low_s"] >= 7200
    assert "half-gpus" in {less["change"] for less in answer["changes"]}
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["job_id"] for row in rows] == [job["job_id"] for job in answer["jobs"]]
    assert when(queue, "--history", log, "--futures", "30", "--job", "4") == 0
    assert "With 4 instead of 8 GPUs it would" in capsys.readouterr().out


def test_the_job_asked_for_is_listed_however_many_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six jobs wait, of which two lines are printed, and that of the job at the end."""
    monkeypatch.setattr("dlsched.cli.when.MOST_ROWS", 2)
    path = tmp_path / "queue.json"
    path.write_text(json.dumps(squeue()))
    for job, listed, rest in (("9", 3, "and 3 more"), ("4", 2, "and 4 more")):
        assert when(str(path), "--job", job) == 0
        lines = capsys.readouterr().out.splitlines()
        ends = next(n for n, line in enumerate(lines) if line.startswith(rest))
        heads = max(n for n, line in enumerate(lines[:ends]) if line.startswith("Job"))
        rows = [line.split()[0] for line in lines[heads + 1 : ends]]
        assert len(rows) == listed
        assert job in rows


def test_an_instant_of_a_log_and_its_score(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert when(log) == 2
    assert "Give --at TIME" in capsys.readouterr().err
    jobs = load(log).workload
    waits = clock_of(jobs).moment(float(instants_of(Record.of(jobs), 3)[1]))
    assert when(log, "--at", waits, "--futures", "10", "--policy", "fifo") == 0
    assert "within 24 h" in capsys.readouterr().out
    assert when(log, "--at", "day 0, 00:01") == 0
    assert capsys.readouterr().out.strip().endswith("No job waits for room at this instant.")
    assert when(log, "--score", "--instants", "4", "--futures", "10", "--json") == 0
    score = json.loads(capsys.readouterr().out)
    assert 0 < len(score["instants"]) <= 4
    assert score["policy"] == "easy-backfill"
    assert when(log, "--score", "--instants", "4", "--futures", "10") == 0
    assert "Typical factor" in capsys.readouterr().out


def kueue(kind: str, name: str, spec: dict[str, Any], *, created: str = "08:00", **status: Any) -> dict[str, Any]:
    """Return an object of Kueue, created on 3 February 2025."""
    meta = {"name": name, "namespace": "ns", "creationTimestamp": f"2025-02-03T{created}:00Z"}
    api = "kueue.x-k8s.io/v1beta2"
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec, "status": status}


def asks(name: str, queue: str, created: str, limit_h: int = 2, **conditions: str) -> dict[str, Any]:
    """Return a Workload of 8 GPUs; ``conditions``: when each became true."""
    pod = {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "8"}}}]}
    spec = {"queueName": queue, "maximumExecutionTimeSeconds": 3600 * limit_h,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": pod}}]}  # fmt: skip
    told = [{"type": kind, "status": "True", "reason": kind, "lastTransitionTime": f"2025-02-03T{clock}:00Z"}
            for kind, clock in conditions.items()]  # fmt: skip
    if not conditions:
        told = [{"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota",
                 "lastTransitionTime": f"2025-02-03T{created}:00Z"}]  # fmt: skip
    return kueue("Workload", name, spec, created=created, conditions=told)


@pytest.mark.parametrize(("reclaim", "starts_s"), [("Any", (30, 7230)), ("Never", (3600, 5400))])
def test_workloads_that_wait_start_by_their_quotas(
    reclaim: str, starts_s: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Now is 09:00. Queue a runs two jobs of 8 GPUs, one of them on what b lends, until 10:00 and 10:30.

    The job of b takes its GPUs back from the job that a started last, which stops for 30 s, or gets those that are
    free at 10:00 before the job of a, which would borrow. That one goes behind a stopped job, which is older: it starts
    on what b lends after its own job.
    """
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]
    group = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "gpu", "resources": quota}]}]
    rules = {"cohortName": "all", "resourceGroups": group, "preemption": {"reclaimWithinCohort": reclaim}}
    items = [kueue("ResourceFlavor", "gpu", {"nodeLabels": {"kind": "gpu"}})]
    items += [kueue("ClusterQueue", name, rules) for name in "ab"]
    items += [kueue("LocalQueue", f"to-{name}", {"clusterQueue": name}) for name in "abc"]
    items += [
        asks("one", "to-a", "08:00", Admitted="08:00", PodsReady="08:00"),
        asks("two", "to-a", "08:30", Admitted="08:30", PodsReady="08:30"),
        asks("more", "to-a", "08:50"),
        asks("wants", "to-b", "09:00"),
        asks("lost", "to-c", "08:10"),
    ]
    path = tmp_path / "kueue.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert when(str(path), "--policy", "queue-tree", "--futures", "10", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    told = {job["job_id"]: job for job in answer["jobs"]}
    assert answer["running"] == 2
    assert tuple(told[name]["starts"]["median_s"] for name in ("ns/wants", "ns/more")) == starts_s
    assert told["ns/wants"]["reason"] == "WaitingForQuota"
    assert (told["ns/lost"]["starts"], told["ns/lost"]["reason"]) == (None, "ClusterQueue c not found")
    assert when(str(path), "--futures", "10", "--json") == 0  # quotas are given: they decide
    assert json.loads(capsys.readouterr().out)["policy"] == "queue-tree"
    assert when(str(path), "--policy", "queue-tree", "--futures", "10") == 0
    assert "ClusterQueue c not found" in capsys.readouterr().out
    assert when(str(path), "--policy", "fifo", "--futures", "10", "--json") == 0
    told = {job["job_id"]: job for job in json.loads(capsys.readouterr().out)["jobs"]}
    assert [told[name]["starts"]["median_s"] for name in ("ns/more", "ns/wants")] == [3600, 5400]


def test_mistakes_are_named(queue: str, log: str, capsys: pytest.CaptureFixture[str]) -> None:
    for args, told in (
        ((log, "--at", "tomorrow"), "is written as day 26"),
        ((log, "--at", "day 1, 03:00", "--history", log), "is a log itself"),
        ((log, "--score", "--at", "day 1, 03:00"), "cannot be combined with --score"),
        ((queue, "--job", "1"), "does not wait for room"),
        ((queue, "--policy", "smd"), "smd"),
        ((queue, "--futures", "1"), "greater than or equal to 10"),
    ):
        assert when(*args) == 2, args
        assert told in capsys.readouterr().err
