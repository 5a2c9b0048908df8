"""``dlsched steady``: the table, the JSON, the file, and one line for what is wrong."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from dlsched.cli import study_command
from dlsched.cli.main import main
from dlsched.runner.executor import WorkerPool
from dlsched.studies.steady import SteadyAnswer
from dlsched.studies.steady import point as point_module

SMALL = ["steady", "--loads", "0.2,0.4", "--policies", "waterfill,srpt-all-nodes", "--nodes", "10"]
SMALL += ["--jobs-most", "400"]


def test_the_table_has_a_line_for_each_policy_and_load(capsys):
    assert main([*SMALL, "--target", "0.5"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "Turnaround time, hours, 10 nodes, seed 1; ± is the 95% interval"
    assert [line.split()[0] for line in lines[2:6]] == ["0.2", "0.4", "0.2", "0.4"]
    assert all(" 400 " in line for line in lines[2:6])
    assert "within target, ±" in lines[2]
    assert "Difference on the same jobs in hours" in out
    assert lines[-1].startswith("The log of every run was audited")


def test_json_is_the_whole_answer(capsys):
    assert main([*SMALL, "--seed", "7", "--json"]) == 0
    answer = SteadyAnswer.from_plain(json.loads(capsys.readouterr().out))
    assert answer.spec.seed == 7
    assert answer.spec.first_jobs == answer.spec.most_jobs == 400
    assert [(point.policy, point.load) for point in answer.points] == [
        ("waterfill", 0.2), ("waterfill", 0.4), ("srpt-all-nodes", 0.2), ("srpt-all-nodes", 0.4),
    ]  # fmt: skip


def test_a_file_holds_the_experiment_and_options_go_before_it(capsys, tmp_path):
    path = tmp_path / "spec.json"
    spec = {"loads": [0.5], "policies": [{"key": "waterfill", "label": "first come"}], "most_jobs": 300}
    path.write_text(json.dumps(spec | {"first_jobs": 300, "stream": {"nodes": 8, "networks": "large"}}))
    assert main(["steady", str(path), "--loads", "0.3", "--nodes", "5", "--json"]) == 0
    answer = SteadyAnswer.from_plain(json.loads(capsys.readouterr().out))
    assert [(point.label, point.load) for point in answer.points] == [("first come", 0.3)]
    assert (answer.spec.stream.nodes, len(answer.spec.stream.networks)) == (5, 2)


def test_a_violation_is_told_and_is_a_failure(capsys, monkeypatch):
    monkeypatch.setattr(study_command, "open_pool", lambda *_: WorkerPool(ThreadPoolExecutor(1), 1, remote=False))
    monkeypatch.setattr(point_module, "audit", lambda *args: ["node 1 holds 2 of 1"])
    assert main([*SMALL, "--loads", "0.2", "--policies", "waterfill"]) == 1
    assert "The audit found 1 violation. First: Waterfill at load 0.2, 400 jobs: node 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--loads", "0.5,1"], "the queue grows without end"),
        (["--loads", "half"], "invalid list of numbers value: 'half'"),
        (["--policies", "fifoo"], "policy 'fifoo'"),
        (["--policies", "edf"], "needs due dates"),
        (["--policies", ","], "policies"),
        (["--nodes", "0"], "must be at least 1, got 0"),
        (["--jobs-most", "5"], "--jobs-most: must be at least 100, got 5"),
        (["--target", "9"], "target: Input should be less than or equal to 0.5"),
        (["nowhere.json"], "nowhere.json: cannot be read"),
        (["{broken}"], "is not JSON"),
        (["{list}"], "must hold one JSON object, got list"),
    ],
)
def test_bad_input_ends_in_one_line(capsys, tmp_path, args, message):
    (tmp_path / "broken").write_text("{")
    (tmp_path / "list").write_text("[]")
    typed = [arg.format(broken=tmp_path / "broken", list=tmp_path / "list") for arg in args]
    try:
        status: object = main(["steady", *typed])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert message in err
