"""``dlsched reproduce``: the load scale reaches the runs, and one line says what is wrong with it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from dlsched.cli import study_command
from dlsched.cli.main import main
from dlsched.runner.executor import WorkerPool
from dlsched.studies.reproductions.modelarts import runs


def test_the_load_scale_reaches_the_runs(capsys, monkeypatch):
    monkeypatch.setattr(runs, "QUICK", runs.Sizes((3, 8), (1, 2), 40))
    monkeypatch.setattr(study_command, "open_pool", lambda *_: WorkerPool(ThreadPoolExecutor(1), 1, remote=False))
    assert main(["reproduce", "modelarts-11", "--quick", "--load-scale", "1.5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["cases"]) == ["long jobs, baseline, load scale 1.5"]
    assert "load scale 1.5: " in answer["ours"]
    assert answer["cpu_s"] > 0


def test_the_answer_ends_with_its_cost(capsys):
    assert main(["reproduce", "modelarts-5"]) == 0
    *_, verdict, cost = capsys.readouterr().out.splitlines()
    assert verdict == "Verdict: same. Every part of the claim is seen."
    assert cost.startswith("CPU time: ")


@pytest.mark.parametrize(
    ("key", "load", "message"),
    [
        ("modelarts-11", "0", "load scale: must be from 0.1 to 10, got 0."),
        ("modelarts-11", "nan", "load scale: must be from 0.1 to 10, got nan."),
        ("hell-knee-7", "1", "reproduction 'hell-knee-7': has no load scale to choose."),
    ],
)
def test_a_load_scale_that_cannot_be_is_one_line(capsys, key, load, message):
    assert main(["reproduce", key, "--load-scale", load]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
