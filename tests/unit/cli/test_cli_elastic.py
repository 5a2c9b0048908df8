"""``solve elastic`` from standard input to standard output."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dlsched.cli.main import main
from dlsched.policies.rolling_horizon.solver import METHODS

JOBS = {
    "remaining": [3, 0.2, 8.5], "nodes": 14, "widths": [1, 2, 4, 8], "steps": 2, "step_hours": 0.25,
    "min_nodes": [1, 1, 2], "max_nodes": [8, 4, 8],
}  # fmt: skip


def solved(capsys, monkeypatch, instances: Any, status: int = 0) -> Any:
    class Input:
        buffer = io.BytesIO(json.dumps(instances).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["solve", "elastic"]) == status
    return json.loads(capsys.readouterr().out)


def test_every_method_finds_the_same_value(capsys, monkeypatch):
    answers = solved(capsys, monkeypatch, [JOBS | {"method": method, "seed": 3} for method in METHODS])
    best = answers[METHODS.index("enumerate")]["objective"]
    for method, answer in zip(METHODS, answers, strict=True):
        assert answer["status"] == "optimal"
        assert answer["objective"] == pytest.approx(best, abs=1e-6), method
        assert answer["bound"] == pytest.approx(best, abs=1e-5)
        assert answer["nodes_now"] == [row[0] for row in answer["plan"]]
        assert sum(answer["nodes_now"]) <= 14
        assert answer["cpu_s"] >= 0


def test_by_hand_with_defaults(capsys, monkeypatch):
    # everybody fits at 2 nodes: 2 x 0.8 node-hours an hour, five steps of five minutes, 15/12 x 1.6 of 4 node-hours
    answer = solved(capsys, monkeypatch, {"remaining": [4, 4], "nodes": 4, "widths": [2, 1]})
    assert answer["nodes_now"] == [2, 2]
    assert answer["objective"] == pytest.approx(2 * 15 / 12 * 1.6 / 4)
    assert answer["status"] == "optimal"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"min_nodes": [1, 3, 1], "max_nodes": [8, 3, 8]}, "job 1 has no legal number of nodes"),
        ({"widths": [16]}, "job 0 has no legal number of nodes"),
        ({"min_nodes": [1, 16, 1], "max_nodes": None}, "job 1 has no legal number of nodes"),
        ({"min_nodes": [8, 4, 8]}, "sum to 20, but the pool has 14"),
        ({"nodes": 0}, "sum to 4, but the pool has 0"),
    ],
)
def test_infeasible_is_an_answer_with_its_reason(capsys, monkeypatch, change, reason):
    answer = solved(capsys, monkeypatch, JOBS | change)
    assert answer["status"] == "infeasible"
    assert reason in answer["reason"]
    assert (answer["objective"], answer["bound"], answer["nodes_now"], answer["plan"]) == (None, None, [], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"remaining": [3, 0, 1]}, "instance, remaining.1: Input should be greater than 0, got 0"),
        ({"remaining": [3, -1, 1]}, "instance, remaining.1: Input should be greater than 0, got -1"),
        ({"remaining": [3, float("nan"), 1]}, "instance, remaining.1"),
        ({"remaining": [3, 1]}, "instance, min_nodes: must have 2 entries, as many jobs as remaining, got 3"),
        ({"max_nodes": [1]}, "instance, max_nodes: must have 3 entries, as many jobs as remaining, got 1"),
        ({"min_nodes": [4, 1, 2], "max_nodes": [2, 4, 8]}, "min_nodes.0: must be at most max_nodes, 2, got 4"),
        ({"min_nodes": [0, 1, 1]}, "instance, min_nodes.0"),
        ({"widths": []}, "instance, widths"),
        ({"widths": [0.5]}, "instance, widths.0"),
        ({"steps": 0}, "instance, steps: Input should be greater than or equal to 1, got 0"),
        ({"step_hours": 0}, "instance, step_hours: Input should be greater than 0"),
        ({"nodes": -1}, "instance, nodes"),
        ({"method": "magic"}, "instance, method"),
        ({"speed": 1}, "instance, speed: Extra inputs are not permitted"),
        (
            {"remaining": [1] * 2000, "min_nodes": None, "max_nodes": None, "steps": 900},
            "jobs x widths x steps must be at most 1,000,000, got 7,200,000",
        ),
    ],
)
def test_bad_instances_answer_with_their_error(capsys, monkeypatch, change, message):
    good, bad = solved(capsys, monkeypatch, [JOBS, JOBS | change], status=2)
    assert good["status"] == "optimal"
    assert list(bad) == ["error"]
    assert message in bad["error"]
