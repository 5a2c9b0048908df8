"""``solve reservation`` from standard input to standard output."""

from __future__ import annotations

import io
import json
from math import exp
from typing import Any

import pytest

from dlsched.cli.main import main
from dlsched.policies.primal_dual.instance import read

METHODS = ("offline", "pd-ors", "oasis", "fifo", "drf", "dorm")


def job(arrival: int, **change: Any) -> dict[str, Any]:
    """Return a job of 200 samples: a worker trains 91 in a slot together (1 / 0.011), 50 when spread (1 / 0.02)."""
    plain = {
        "arrival": arrival, "epochs": 2, "samples": 100, "batch": 4, "time_per_sample": 0.01, "model_mb": 10,
        "ratio": 2, "external_mb_per_slot": 1000, "internal_mb_per_slot": 10000,
        "worker_demand": [1, 2], "server_demand": [0, 1], "utility": [10, 1, 2],
    }  # fmt: skip
    return plain | change


# Four workers fill both machines and train all in one slot, spread: as fast as can be.
GIVEN = {"slots": 5, "capacity": [[2, 6], [2, 6]], "jobs": [job(1), job(0)]}


def solved(capsys, monkeypatch, instances: Any, status: int = 0) -> Any:
    class Input:
        buffer = io.BytesIO(json.dumps(instances).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["solve", "reservation"]) == status
    return json.loads(capsys.readouterr().out)


def at(slot: int) -> float:
    return 10 / (1 + exp(slot - 2))


@pytest.mark.parametrize(
    "change", [{"method": "offline"}, *({"slot_method": m} for m in ("greedy", "rounded", "exact"))]
)
def test_two_jobs_by_hand_in_the_order_given(capsys, monkeypatch, change):
    answer = solved(capsys, monkeypatch, GIVEN | change)
    assert answer["completion_slot"] == [1, 0]
    assert answer["utility"] == pytest.approx(2 * at(0))
    assert answer["reasons"] == [None, None]
    assert answer["cpu_s"] >= 0
    assert sum(row[3] for row in answer["schedule"] if row[0] == 0) == 4
    assert {tuple(row[:2]) for row in answer["schedule"]} == {(0, 1), (1, 0)}
    if "method" in change:
        assert (answer["status"], answer["bound"]) == ("optimal", pytest.approx(2 * at(0)))
    else:
        assert (answer["status"], answer.get("bound")) == ("feasible", None)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_contract_and_says_why_not(capsys, monkeypatch, method):
    holds_none = [job(2, worker_demand=[3, 1]), job(1, server_demand=[0, 7])]
    jobs = [job(0), job(0, epochs=1000), *holds_none, job(7)]
    answer = solved(capsys, monkeypatch, GIVEN | {"jobs": jobs, "method": method, "seed": 3})
    late, nowhere = "cannot finish in time", "no machine holds a "
    assert answer["reasons"] == [None, late, nowhere + "worker", nowhere + "server", late]
    last = answer["completion_slot"][0]
    assert answer["completion_slot"] == [last, None, None, None, None]
    assert answer["utility"] == pytest.approx(at(last))
    samples = dict.fromkeys(range(5), 0.0)
    for slot in range(5):
        rows = [row for row in answer["schedule"] if row[1] == slot]
        assert len({row[0] for row in rows}) <= 1  # nobody but job 0
        workers, servers = sum(row[3] for row in rows), sum(row[4] for row in rows)
        assert 2 * servers >= workers <= 4
        assert all(row[3] <= 2 and 2 * row[3] + row[4] <= 6 for row in rows)
        samples[slot] = workers / _slots_each(len(rows))
    assert sum(samples.values()) >= 200 * (1 - 1e-9)


def _slots_each(machines: int) -> float:
    """Return slots a sample takes: 0.01 + 2 x 10 x 2 / (speed x 4)."""
    return 0.01 + 40 / ((10000 if machines == 1 else 1000) * 4)


def test_why_a_job_is_turned_away(capsys, monkeypatch):
    poor = job(0, utility=[1e-6, 0, 0])
    answers = solved(capsys, monkeypatch, [
        GIVEN | {"jobs": [job(0), poor], "slots": 1},
        GIVEN | {"jobs": [poor], "bounds": "given", "price_upper": [5, 5], "price_lower": 1},
        GIVEN | {"jobs": [poor, job(0)], "slots": 1, "method": "offline"},
    ])  # fmt: skip
    reasons = [answer["reasons"] for answer in answers]
    assert reasons[0] == [None, "no room left in time"]
    assert reasons[1] == ["not worth its price"]
    assert reasons[2] == ["the other jobs are worth more without it", None]


def test_jobs_are_decided_in_order_of_arrival_then_as_given():
    task = read(GIVEN | {"jobs": [job(2), job(0), job(2), job(0)]})
    assert task.order == (1, 3, 0, 2)
    assert [one.arrival for one in task.instance.jobs] == [0, 0, 2, 2]


def test_bounds_of_jobs_seen_and_of_none(capsys, monkeypatch):
    answers = solved(capsys, monkeypatch, [GIVEN | {"bounds": "seen"}, GIVEN | {"jobs": []}])
    assert [answer["completion_slot"] for answer in answers] == [[1, 0], []]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"jobs": [job(0, ratio=0)]}, "instance, jobs.0.ratio: Input should be greater than or equal to 0.001, got 0"),
        ({"jobs": [job(0), job(0, batch=0)]}, "instance, jobs.1.batch: Input should be greater than or equal to 1"),
        ({"jobs": [job(-1)]}, "instance, jobs.0.arrival: Input should be greater than or equal to 0, got -1"),
        ({"jobs": [job(0, epochs=0)]}, "instance, jobs.0.epochs: Input should be greater than 0, got 0"),
        ({"jobs": [job(0, utility=[1, 2])]}, "instance, jobs.0.utility.2: Field required"),
        ({"jobs": [job(0, utility=[1, -2, 1])]}, "instance, jobs.0.utility.1: Input should be greater than or equal"),
        ({"jobs": [job(0, model_mb=0, time_per_sample=0)]}, "jobs.0.time_per_sample: is 0 and so is model_mb"),
        ({"jobs": [job(0, worker_demand=[1])]}, "instance, jobs.0.worker_demand: must have 2 entries, as many as"),
        ({"jobs": [job(0, server_demand=[1, -1])]}, "instance, jobs.0.server_demand.1: Input should be greater than"),
        ({"jobs": [job(0, internal_mb_per_slot=10)]}, "must be at least external_mb_per_slot, 1000, got 10"),
        ({"jobs": [job(0, memory=3)]}, "instance, jobs.0.memory: Extra inputs are not permitted"),
        ({"capacity": [[2, 6], [2]]}, "instance, capacity.1: must have 2 entries, as many as that of machine 0, got 1"),
        ({"capacity": []}, "instance, capacity: List should have at least 1 item"),
        ({"slots": 0}, "instance, slots: Input should be greater than or equal to 1, got 0"),
        ({"slots": 9999}, "slots x machines x chunks must be at most 10,000,000, got 199,960,002"),
        ({"method": "best"}, "instance, method: Input should be 'offline', 'pd-ors', 'oasis', 'fifo', 'drf' or 'dorm'"),
        ({"bounds": "given"}, "instance, bounds: given needs price_upper and price_lower"),
        ({"price_lower": 1}, "have an effect only if bounds = given"),
        ({"bounds": "given", "price_lower": 1, "price_upper": [1]}, "instance, price_upper: must have 2 entries"),
        ({"method": "offline", "slots": 30}, "slots"),
    ],
)  # fmt: skip
def test_bad_instances_answer_with_their_error(capsys, monkeypatch, change, message):
    good, bad = solved(capsys, monkeypatch, [GIVEN, GIVEN | change], status=2)
    assert good["completion_slot"] == [1, 0]
    assert list(bad) == ["error"]
    assert message in bad["error"]
