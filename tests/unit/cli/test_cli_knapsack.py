"""``solve knapsack`` from standard input to standard output."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dlsched.cli.main import main

# Items 2 and 3 fill both capacities: 5 + 4. By density item 2 goes first and item 1 no longer fits.
HAND = {"value": [6, 5, 4], "weight": [[3, 4], [2, 1], [2, 3]], "capacity": [4, 4]}


def solved(capsys, monkeypatch, instances: Any, status: int = 0) -> Any:
    class Input:
        buffer = io.BytesIO(json.dumps(instances).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["solve", "knapsack"]) == status
    return json.loads(capsys.readouterr().out)


def test_every_method_on_an_example_by_hand(capsys, monkeypatch):
    answers = solved(
        capsys, monkeypatch, [HAND | {"method": m, "seed": 1} for m in ("exact", "frieze-clarke", "density")]
    )
    for answer in answers:  # all three take whole items only and reach what parts are worth, which proves it
        assert (answer["selected"], answer["value"], answer["status"]) == ([0, 1, 1], 9, "optimal")
        assert answer["bound"] == pytest.approx(9)
        assert answer["cpu_s"] >= 0


def test_unproven_is_said(capsys, monkeypatch):
    # by density item 1 alone; parts are worth 4 + 7 x 4/6
    given = {"value": [4, 7], "weight": [[2], [6]], "capacity": [6], "method": "density"}
    answer = solved(capsys, monkeypatch, given)
    assert (answer["selected"], answer["value"], answer["status"]) == ([1, 0], 4, "feasible")
    assert answer["bound"] == pytest.approx(4 + 7 * 4 / 6)


def test_exact_where_nothing_is_said_and_a_capacity_without_end(capsys, monkeypatch):
    answer = solved(capsys, monkeypatch, HAND | {"capacity": [float("inf"), 5]})
    assert (answer["selected"], answer["value"], answer["status"]) == ([1, 1, 0], 11, "optimal")


def test_larger_subsets_find_more(capsys, monkeypatch):
    # as one program: item 1 whole and 2/3 of item 2; with item 2 for sure the larger item 1 is in parts
    given = {"value": [4, 7], "weight": [[2], [6]], "capacity": [6], "method": "frieze-clarke"}
    answers = solved(capsys, monkeypatch, [given | {"size": size} for size in (0, 1)])
    assert [answer["selected"] for answer in answers] == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": [1, -1, 1]}, "instance, value.1: Input should be greater than or equal to 0, got -1"),
        ({"value": [1, 1]}, "instance, weight: must have 2 rows, as many as value has entries, got 3"),
        ({"weight": [[1, 1], [1], [1, 1]]}, "instance, weight.1: must have 2 entries, as many as capacity, got 1"),
        ({"weight": [[1, 1], [1, None], [1, 1]]}, "instance, weight.1.1: Input should be a valid number"),
        ({"weight": [[1, 1], [1, -3], [1, 1]]}, "instance, weight.1.1: Input should be greater than or equal to 0"),
        ({"capacity": [4]}, "instance, weight.0: must have 1 entries, as many as capacity, got 2"),
        ({"capacity": [4, float("nan")]}, "instance, capacity.1: Input should be greater than or equal to 0, got nan"),
        ({"capacity": [4, 1e200]}, "resource 2, capacity: must be from 0 to 1e+100, got 1e+200"),
        ({"method": "greedy"}, "instance, method: Input should be 'exact', 'frieze-clarke' or 'density'"),
        ({"size": 3}, "instance, size: Input should be 0, 1 or 2, got 3"),
        ({"items": 3}, "instance, items: Extra inputs are not permitted"),
    ],
)
def test_bad_instances_answer_with_their_error(capsys, monkeypatch, change, message):
    good, bad = solved(capsys, monkeypatch, [HAND, HAND | change], status=2)
    assert good["value"] == 9
    assert list(bad) == ["error"]
    assert message in bad["error"]
