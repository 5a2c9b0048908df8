"""Figs 4 to 8 of the ModelArts study: the printed examples, and verdicts that notice when one comes out otherwise."""

from __future__ import annotations

import json

import pytest

from dlsched.studies.reproductions.modelarts import examples
from dlsched.studies.reproductions.modelarts.runs import GREEDY, OPTIMAL
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Setting


def test_every_figure_of_results_has_a_key():
    keys = [one.key for one in REPRODUCTIONS if one.key.startswith("modelarts-")]
    assert keys == [f"modelarts-{number}" for number in range(4, 17)]
    assert [find(key).figure for key in keys] == [f"Fig. {number}" for number in range(4, 17)]


@pytest.mark.parametrize(
    ("key", "verdict"),
    [
        ("modelarts-4", "same"),
        ("modelarts-5", "same"),
        ("modelarts-6", "partly"),  # its measurements are private
        ("modelarts-7", "same"),
        ("modelarts-8", "same"),
    ],
)
def test_the_examples_come_out_as_printed(key, verdict):
    outcome = find(key).run(Setting(quick=True))
    assert outcome.verdict == verdict
    assert ("Every part" in outcome.why) is (verdict == "same")
    json.dumps(outcome.data, allow_nan=False)


def test_figure_4_in_numbers():
    first, second = find("modelarts-4").run(Setting()).data["examples"]
    assert (first["after"], first["scenarios"]) == ([2, 2, 2, 4], [2])
    assert (second["after"], second["scenarios"]) == ([2, 4, 2, 2], [3])


def test_figure_5_by_hand():
    done = find("modelarts-5").run(Setting()).data["share_done"]
    assert done == pytest.approx([0.5 / 3, 1.3 / 3, 1.8 / 3, 1.0])


def test_figure_6_by_hand():
    data = find("modelarts-6").run(Setting()).data
    assert data["simulated"] == pytest.approx([1, 1.6, 2.56, 4.096, 6.5536])
    assert data["planned"] == pytest.approx(data["simulated"])


def test_figure_7_by_hand():
    data = find("modelarts-7").run(Setting()).data
    assert data["worth"] == pytest.approx(0.5 + 4)
    assert data["best"] == pytest.approx(0.5 + 4)
    assert data["best_plan"][0] == 2


def test_figure_8_follows_the_nodes_of_both_jobs():
    data = find("modelarts-8").run(Setting()).data
    for key in (OPTIMAL, GREEDY):
        first, second = data[key]["nodes_over_time"]
        assert (first["job"], first["from_s"], first["to_s"], first["nodes"]) == ("job 1", 0, pytest.approx(129), 8)
        assert (second["job"], second["from_s"], second["nodes"]) == ("job 2", pytest.approx(129), 8)


@pytest.mark.parametrize(
    ("key", "name", "value", "verdict"),
    [
        pytest.param("modelarts-4", "EXAMPLES_4", (((2, 2), (15, 1), (4, 2), 6),), "different", id="other job grows"),
        pytest.param("modelarts-5", "DEMAND_5", 4.0, "different", id="not done in time"),
        pytest.param("modelarts-6", "SPEEDS_6", {1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0, 16: 16.0}, "different", id="linear"),
        pytest.param("modelarts-8", "_start_of_2", lambda _: (131.5, 8), "partly", id="job 2 starts late"),
    ],
)
def test_another_outcome_is_noticed(monkeypatch, key, name, value, verdict):
    monkeypatch.setattr(examples, name, value)
    outcome = find(key).run(Setting())
    assert outcome.verdict == verdict
    assert "Not seen" in outcome.why
