"""Throughput side of the HELL/KNEE reproductions: keys, shapes, and what the answers are made of."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dlsched.metrics.stats.intervals import Interval
from dlsched.speed.queueing import NETWORKS, throughput
from dlsched.studies.reproductions.hell_knee import model
from dlsched.studies.reproductions.registry import find
from dlsched.studies.reproductions.reproduction import Setting

KEYS = ("hell-knee-7", "hell-knee-10", "hell-knee-15", "hell-knee-table-2")


@pytest.mark.parametrize("key", KEYS)
def test_quick_answers_are_json_and_never_better_than_partly(key):
    outcome = find(key).run(Setting(quick=True))
    assert outcome.verdict == "partly"  # measurements are not published
    assert outcome.why
    json.dumps(outcome.data, allow_nan=False)


def test_figure_7_has_the_published_curves_and_the_simulation_is_nearly_linear_at_two():
    outcome = find("hell-knee-7").run(Setting(quick=True))
    curves = outcome.data["minibatches_per_s"]
    assert set(curves) == set(NETWORKS)
    assert curves["exact"][:3] == pytest.approx([5.236, 8.098, 9.694], abs=5e-4)
    assert curves["fcfs"][:3] == pytest.approx([5.236, 9.098, 11.576], abs=5e-4)
    simulated = outcome.data["simulated_one_after_the_other"]
    assert len(simulated["mean"]) == len(simulated["half_width"]) == 10
    assert simulated["mean"][1] > 0.95 * 2 * simulated["mean"][0]
    # asymptotic: a link sends 1 / 0.072 mini-batches/s
    assert simulated["mean"][9] == pytest.approx(1 / 0.072, rel=0.01)


def test_figure_7_differs_when_the_order_of_the_models_does(monkeypatch):
    swapped = {"exact": "fcfs", "fcfs": "exact", "hybrid": "hybrid"}
    monkeypatch.setattr(model, "throughput", lambda times, n, net: throughput(times, n, swapped[net]))
    assert model.figure_7(Setting(quick=True)).verdict == "different"


def test_figure_10_compares_widths_from_the_model_with_those_of_the_simulation():
    networks = find("hell-knee-10").run(Setting(quick=True)).data["networks"]
    assert len(networks) == 4
    for one in networks.values():
        assert set(one["hell_nodes"]) == {*NETWORKS, "simulated"}
        assert abs(one["hell_nodes"]["hybrid"] - one["hell_nodes"]["simulated"]) <= 1
        hybrid = np.array(one["minibatches_per_s"]["hybrid"])
        ratio = np.array([1.0, *(w / hybrid[w - 2] ** 2 * hybrid[0] ** 2 for w in range(2, 12))])
        assert one["hell_nodes"]["hybrid"] == np.argmin(ratio) + 1  # S / E on 1..11 nodes


def test_figure_15_more_servers_help_at_most_in_proportion_and_an_uneven_split_less():
    data = find("hell-knee-15").run(Setting(quick=True)).data
    for curves in data["minibatches_per_s"].values():
        one, two, three = (np.array(curves[m]["exact"]) for m in "123")
        assert (one < two).all()
        assert (two < three).all()
        assert (three <= 3 * one + 1e-12).all()
    even, split = data["minibatches_per_s"]["VGG16"]["3"]["hybrid"], data["vgg16_3_servers_split_4_1_1"]
    assert even[0] == pytest.approx(1 / (32 / 35.4 + 2 * 0.8448 / 3))
    assert split[0] == pytest.approx(1 / (32 / 35.4 + 2 * 0.8448 * 4 / 6))


def test_table_2_errors_are_relative_and_leave_one_worker_out(monkeypatch):
    def twice(times: object, workers: int, steps: int) -> Interval:
        factor = 1 if workers == 1 else 2
        return Interval(factor * float(throughput(times, workers, "exact")[-1]), 0.0, 20)  # type: ignore[arg-type]

    monkeypatch.setattr(model, "simulated_throughput", twice)
    outcome = model.table_2(Setting(quick=True))
    for row in outcome.data["error_share"].values():
        assert row["exact"] == pytest.approx({"max": 0.5, "mean": 0.5, "min": 0.5})
        assert row["hybrid"]["mean"] < 0.5
    assert outcome.data["printed_in_the_study"].keys() == outcome.data["error_share"].keys()
    assert outcome.data["workers"] == list(range(2, 11))


def test_table_2_differs_when_the_exact_model_is_nearer(monkeypatch):
    def exact(times: object, workers: int, steps: int) -> Interval:
        return Interval(float(throughput(times, workers, "exact")[-1]), 0.0, 20)  # type: ignore[arg-type]

    monkeypatch.setattr(model, "simulated_throughput", exact)
    assert model.table_2(Setting(quick=True)).verdict == "different"
