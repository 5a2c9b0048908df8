"""The command ``queues``: the same numbers as the page, with queues beside a trace, and what it refuses."""

import json

from dlsched.cli.main import main
from dlsched.studies.inspect.queues import queues_of_run
from dlsched.studies.simulation import simulate
from dlsched.workload.load import load
from dlsched.workload.scenario_file import write_scenario
from tests.support.quota_runs import scenario_of_teams
from tests.unit.workload.readers.kubernetes.test_queue_objects import gpus, obj, queue
from tests.unit.workload.readers.kubernetes.test_workloads import ran


def test_json_is_the_answer_of_the_page(tmp_path, capsys):
    path = tmp_path / "teams.toml"
    write_scenario(scenario_of_teams(), path)
    assert main(["queues", str(path), "--json", "--processes", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    answer = queues_of_run(simulate(load(path), "queue-tree"))
    assert told["queues"] == answer.to_plain()["queues"]
    assert told["more_quota"] is None
    assert told["sentence"].startswith("No queue waits") or "p95 wait" in told["sentence"]


def test_people_see_tables_and_more_quota(tmp_path, capsys):
    path, rows = tmp_path / "teams.toml", tmp_path / "queues.csv"
    write_scenario(scenario_of_teams(), path)
    more = ["--more", "vision", "--steps", "4", "--processes", "1", "--csv", str(rows)]
    assert main(["queues", str(path), *more]) == 0
    told = capsys.readouterr().out
    assert "4 more GPUs for vision: its p95 wait stays" in told
    assert "Jain's index" in told
    assert rows.read_text().startswith("Queue,Cohort,Jobs")


def test_queues_beside_a_list_of_workloads(tmp_path, capsys):
    jobs, queues = tmp_path / "jobs.json", tmp_path / "queues.json"
    jobs.write_text(json.dumps([ran("a"), ran("b")]))
    queues.write_text(json.dumps([queue("vision", gpus()), obj("LocalQueue", "team", {"clusterQueue": "vision"})]))
    assert main(["queues", str(jobs), "--queues", str(queues), "--json", "--processes", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["queue"], one["jobs"]) for one in told["queues"]] == [("vision", 2)]
    assert main(["queues", str(jobs)]) == 2
    assert "it has no queues" in capsys.readouterr().err
