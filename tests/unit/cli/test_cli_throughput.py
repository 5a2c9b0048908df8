"""``solve throughput`` from standard input to standard output."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dlsched.cli.main import main
from dlsched.speed.queueing import StepTimes, throughput
from dlsched.speed.queueing_unequal import unequal_throughput

PAPER = {"worker_s": 0.029, "uplink_s": 0.072, "server_s": 0.018, "downlink_s": 0.072}
TIMES = StepTimes(**PAPER)


def solved(capsys, monkeypatch, instances: Any, status: int = 0) -> Any:
    class Input:
        buffer = io.BytesIO(json.dumps(instances).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["solve", "throughput"]) == status
    return json.loads(capsys.readouterr().out)


def test_published_values(capsys, monkeypatch):
    answers = solved(capsys, monkeypatch, [PAPER | {"workers": 3, "network": n} for n in ("exact", "fcfs", "hybrid")])
    assert [[round(x, 3) for x in answer["minibatches_per_s"]] for answer in answers] == [
        [5.236, 8.098, 9.694],
        [5.236, 9.098, 11.576],
        [5.236, 9.098, 11.377],
    ]
    assert all(answer["cpu_s"] >= 0 for answer in answers)


def test_hybrid_and_one_server_where_nothing_is_said_and_the_seed_changes_nothing(capsys, monkeypatch):
    plain, seeded, more = solved(
        capsys, monkeypatch, [PAPER | {"workers": 9} | extra for extra in ({}, {"seed": 7}, {"servers": 2})]
    )
    assert plain["minibatches_per_s"] == throughput(TIMES, 9, "hybrid").tolist() == seeded["minibatches_per_s"]
    assert more["minibatches_per_s"] == throughput(TIMES, 9, "hybrid", 2).tolist()


def test_lists_are_unequal_workers(capsys, monkeypatch):
    given = PAPER | {"worker_s": [0.029, 1, 3], "workers": 3, "network": "exact"}
    wanted = unequal_throughput([TIMES.model_copy(update={"worker_s": s}) for s in (0.029, 1, 3)], "exact")
    assert solved(capsys, monkeypatch, given)["minibatches_per_s"] == wanted.tolist()
    equal = solved(capsys, monkeypatch, PAPER | {"server_s": [0.018] * 4, "workers": 4, "network": "fcfs"})
    assert equal["minibatches_per_s"] == pytest.approx(throughput(TIMES, 4, "fcfs"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workers": None}, "instance, workers: Input should be a valid integer"),
        ({"workers": 0}, "instance, workers: Input should be greater than or equal to 1"),
        ({"workers": 10_001}, "instance, workers: Input should be less than or equal to 10000"),
        ({"workers": 2.5}, "instance, workers"),
        ({"worker_s": -1}, "instance, worker_s.0: Input should be greater than or equal to 0, got -1"),
        ({"worker_s": [1, "2"]}, "instance, worker_s.1: Input should be a valid number, got '2'"),
        ({"worker_s": True}, "instance, worker_s.0"),
        ({"uplink_s": float("nan")}, "instance, uplink_s.0: Input should be a finite number"),
        ({"uplink_s": {}}, "instance, uplink_s.0: Input should be a valid number"),
        ({"server_s": [1]}, "instance, server_s: must have 2 entries, as many as workers, got 1"),
        ({"downlink_s": []}, "instance, downlink_s: must have 2 entries, as many as workers, got 0"),
        ({"server_s": [1] * 13, "workers": 13}, "instance, server_s: unequal workers are limited to 12, got 13"),
        ({"network": "ps"}, "instance, network: Input should be 'exact', 'fcfs' or 'hybrid', got 'ps'"),
        ({"servers": 0}, "instance, servers"),
        ({"batch": 32}, "instance, batch: Extra inputs are not permitted"),
        (dict.fromkeys(PAPER, 0), "the four times must sum to 1e-09 s or more, got 0 s"),
    ],
)
def test_bad_instances_answer_with_their_error(capsys, monkeypatch, change, message):
    good, bad = solved(capsys, monkeypatch, [PAPER | {"workers": 2}, PAPER | {"workers": 2} | change], status=2)
    assert len(good["minibatches_per_s"]) == 2
    assert list(bad) == ["error"]
    assert message in bad["error"]


def test_a_field_that_is_missing(capsys, monkeypatch):
    answer = solved(capsys, monkeypatch, {"worker_s": 1, "workers": 2, "uplink_s": 1, "server_s": 1}, status=2)
    assert answer["error"].startswith("instance, downlink_s: Field required")
