"""``solve pipeline`` from standard input to standard output."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dlsched.cli.main import main

HAND = {"forward": [4, 1], "backward": [2, 1], "transfer": [3, 5], "slice": 0.5, "overlap": "priority"}


def solved(capsys, monkeypatch, instances: Any, status: int = 0) -> Any:
    class Input:
        buffer = io.BytesIO(json.dumps(instances).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["solve", "pipeline"]) == status
    return json.loads(capsys.readouterr().out)


def test_by_hand_and_the_seed_changes_nothing(capsys, monkeypatch):
    answers = solved(
        capsys, monkeypatch, [HAND | {"overlap": o, "seed": 4} for o in ("sequential", "wait-free", "priority")]
    )
    assert [answer["iteration"] for answer in answers] == [24, 19, 11.5]
    assert answers[1]["eta"] == pytest.approx([1, 1 / 3, 13 / 16])
    assert set(answers[2]) == {"iteration", "eta", "cpu_s"}


def test_without_a_slice_transfers_break_off_at_once(capsys, monkeypatch):
    plain = {name: value for name, value in HAND.items() if name != "slice"}
    assert solved(capsys, monkeypatch, plain)["iteration"] == 11


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forward": []}, "layers, backward: must have 0 entries, as many layers as forward, got 2"),
        ({"forward": [], "backward": [], "transfer": []}, "layers: their number must be from 1 to 100,000, got 0"),
        ({"backward": [1, -1]}, "layer 2, backward: must be from 0 to 1e+15, got -1"),
        ({"backward": [1, float("nan")]}, "instance, backward.1: Input should be a finite number"),
        ({"transfer": [1, "2"]}, "instance, transfer.1: Input should be a valid number, got '2'"),
        ({"transfer": 3}, "instance, transfer: Input should be a valid list"),
        ({"slice": -0.1}, "layers, slice: must be from 0 to 1e+15, got -0.1"),
        ({"overlap": "fifo"}, "instance, overlap: Input should be 'sequential', 'wait-free' or 'priority', got 'fifo'"),
        ({"layers": 2}, "instance, layers: Extra inputs are not permitted"),
    ],
)
def test_bad_instances_answer_with_their_error(capsys, monkeypatch, change, message):
    good, bad = solved(capsys, monkeypatch, [HAND, HAND | change], status=2)
    assert good["iteration"] == 11.5
    assert list(bad) == ["error"]
    assert message in bad["error"]
