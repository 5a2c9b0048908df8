"""``solve split`` from standard input to standard output."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dlsched.cli.main import main

ASYNC: dict[str, Any] = {
    "mode": "async", "theta": [1, 2, 6, 8], "worker_demand": [1], "server_demand": [1], "limit": [6],
}  # fmt: skip
SYNC: dict[str, Any] = {
    "mode": "sync", "theta": [1, 2, 3, 4, 100], "worker_demand": [1, 2], "server_demand": [0, 1], "limit": [8, 30],
}  # fmt: skip


def solved(capsys, monkeypatch, instances: Any, status: int = 0) -> Any:
    class Input:
        buffer = io.BytesIO(json.dumps(instances).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["solve", "split"]) == status
    return json.loads(capsys.readouterr().out)


def test_exact_where_nothing_is_said(capsys, monkeypatch):
    first, second = solved(capsys, monkeypatch, [ASYNC, SYNC])
    assert (first["workers"], first["servers"], first["time"]) == (4, 2, 7.5)
    assert (second["workers"], second["servers"], second["time"]) == (7, 4, pytest.approx(25 + 100 / 7))
    for answer in (first, second):
        assert (answer["status"], answer["method"], answer["bound"]) == ("optimal", "exact", answer["time"])
        assert answer["assumed"] == []
        assert answer["cpu_s"] >= 0


def test_the_other_methods(capsys, monkeypatch):
    methods = ("algorithm-1", "esw", "optimus")
    rounded, equal, optimus = solved(capsys, monkeypatch, [ASYNC | {"method": method} for method in methods])
    assert (equal["workers"], equal["servers"], equal["time"]) == (3, 3, pytest.approx(5 + 8 / 3))
    assert (optimus["workers"], optimus["servers"], optimus["time"]) == (4, 2, 7.5)
    assert equal["bound"] is optimus["bound"] is None
    assert rounded["workers"] + rounded["servers"] <= 6
    assert rounded["bound"] <= 7.5 <= rounded["time"]
    assert rounded["relaxed"]["time"] <= 1.1 * rounded["bound"] * (1 + 1e-9)
    assert {answer["status"] for answer in (rounded, equal, optimus)} == {"feasible"}


def test_epsilon_terms_and_seed_are_taken(capsys, monkeypatch):
    base = SYNC | {"method": "algorithm-1"}
    rough, fine, printed, again = solved(
        capsys, monkeypatch, [base | {"epsilon": 0.9}, base | {"epsilon": 0.01}, base | {"terms": "printed"}, base]
    )
    assert rough["bound"] < again["bound"] < fine["bound"]
    assert printed["bound"] != again["bound"]
    drawn = {
        "mode": "async", "theta": [16, 15, 18, 18], "worker_demand": [1], "server_demand": [2], "limit": [35],
        "method": "algorithm-1",
    }  # fmt: skip
    seeds = [drawn | {"seed": seed} for seed in range(12)]
    one, other = ([answer["workers"] for answer in solved(capsys, monkeypatch, seeds)] for _ in range(2))
    assert one == other
    assert set(one) == {26, 27}


@pytest.mark.parametrize("none", [None, float("inf")], ids=["null", "infinite"])
def test_no_limit(capsys, monkeypatch, none):
    answer = solved(capsys, monkeypatch, ASYNC | {"limit": [none]})
    assert answer["workers"] == 1_000
    assert answer["assumed"][0] == "Nothing limits the workers: 1,000 is used as the limit."
    bounded = solved(capsys, monkeypatch, ASYNC | {"limit": [none], "most_workers": 9, "most_servers": 3})
    assert (bounded["workers"], bounded["servers"], bounded["assumed"]) == (9, 3, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "both"}, "instance, mode: Input should be 'sync' or 'async', got 'both'"),
        ({"theta": [1, 2, 3]}, "instance, theta: must have 4 numbers for async training, got 3."),
        ({"theta": [1, 2, 3, "4"]}, "instance, theta.3: Input should be a valid number, got '4'"),
        ({"theta": [1, 2, 3, -4]}, "instance, theta4: must be 0 or within 1e-30 and 1e+30, got -4."),
        ({"theta": [1, 2, 3, float("nan")]}, "instance, theta.3: Input should be a finite number"),
        ({"limit": [float("nan")]}, "instance, limit of resource 1: must be 0 or within 1e-30 and 1e+30, got nan"),
        ({"limit": [6, 6]}, "instance, worker_demand: must have 2 entries, one for each resource of limit, got 1"),
        (
            {"limit": [1.5]},
            "instance, resource 1: one worker and one server need 2 together; the limit is 1.5. Raise the limit",
        ),
        ({"limit": [1e9]}, "instance, limit: allows more than 100,000 workers. Give most_workers."),
        ({"method": "best"}, "instance, method: Input should be 'exact', 'algorithm-1', 'esw' or 'optimus'"),
        ({"epsilon": 0}, "instance, epsilon: Input should be greater than 0, got 0"),
        ({"seed": -1}, "instance, seed: Input should be greater than or equal to 0, got -1"),
        ({"servers": 3}, "instance, servers: Extra inputs are not permitted"),
    ],
)
def test_bad_instances_answer_with_their_error(capsys, monkeypatch, change, message):
    good, bad = solved(capsys, monkeypatch, [ASYNC, ASYNC | change], status=2)
    assert good["time"] == 7.5
    assert list(bad) == ["error"]
    assert message in bad["error"]


def test_a_field_that_is_missing(capsys, monkeypatch):
    given = {key: value for key, value in ASYNC.items() if key != "limit"}
    assert solved(capsys, monkeypatch, given, 2)["error"].startswith("instance, limit: Field required")
