"""What Result and Compare compute before they draw: cards, slots, filters, who wins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.metrics.job_classes import letters
from dlsched.metrics.stats.basis import EXACT_BASIS
from dlsched.metrics.stats.compare import compare
from dlsched.ui.frame.loaders import vm_types
from dlsched.ui.results import cards
from dlsched.ui.results.compare import most_stars
from dlsched.ui.results.cost import cost_parts
from dlsched.ui.results.jobs import filtered, node_ranges, readable
from dlsched.ui.results.timeline import filling_slots, held_of_open, one_size
from dlsched.ui.results.window import Window
from tests.support.runs_for_store import small_scenario

SMALL, LARGE = VmType(name="small", gpus=4), VmType(name="large", gpus=8)
SLOTS = small_scenario().replace(cluster=Cluster(slots=2, catalogue=(SMALL, LARGE)))


def test_nodes_have_one_size_only_where_all_are_equal() -> None:
    def on(*pools: Pool) -> float | None:
        return one_size(small_scenario().replace(cluster=Cluster(pools=pools)))

    assert on(Pool(vm=LARGE, count=2), Pool(vm=LARGE, count=1, partition="a")) == 8.0
    assert on(Pool(vm=LARGE, count=2), Pool(vm=SMALL, count=1)) is None
    assert on(Pool(vm=VmType(name="cpu", gpus=0), count=2)) is None
    assert one_size(SLOTS) is None


def test_cards_suit_the_data() -> None:
    full = {"late_share": 0.1, "total_cost": 5.0, "preemptions": 0}
    assert cards.card_keys(full) == ["wait_p95", "late_share", "total_cost", "allocation_ratio", "completed"]
    every = full | {"jobs": 9, "completed": 9}
    assert cards.card_keys(every) == ["wait_p95", "late_share", "total_cost", "allocation_ratio"]
    assert cards.card_keys({"preemptions": 3}) == [
        "not_running_p95",
        "slowdown_mean",
        "allocation_ratio",
        "completed",
    ]


def test_where_widths_change_the_first_card_is_the_time_in_system() -> None:
    assert cards.card_keys({"utility_total": 2.0, "used_of_reserved": 0.6, "allocation_ratio": 0.5})[1:3] == [
        "utility_total",
        "used_of_reserved",
    ]
    assert cards.card_keys({"utility_total": 2.0, "late_share": 0.1})[1] == "late_share"
    assert cards.card_keys({"preemptions": 3, "other_width_share": 0.1})[0] == "jct_mean"
    assert cards.card_keys({"preemptions": 0, "other_width_share": 0.0})[0] == "wait_p95"


def test_cards_name_their_parts() -> None:
    metrics = {"late_share": 0.0613, "late_jobs": 571, "completed": 9_171, "jobs": 9_383, "rejected": 12,
               "total_cost": 50.0, "vm_cost": 42.0, "tardiness_cost": 8.0, "rejection_cost": 0.0}  # fmt: skip
    assert cards.card_text("late_share", metrics) == "6.1% (571)"
    assert cards.card_text("completed", metrics) == "9,171 of 9,383"
    assert cards.card_help("completed", metrics).endswith("12 rejected, 0 unfinished, 0 cancelled, 0 failed.")
    assert cards.card_help("total_cost", metrics).endswith("Here: $42.00 machines + $8.00 lateness.")


def test_vm_types_of_nodes_and_of_free_slots() -> None:
    pieces = pd.DataFrame({"node": [1, 0, 0], "start_s": [5.0, 0.0, 10.0]}, index=[7, 8, 9])
    fixed = SLOTS.replace(cluster=Cluster(pools=(Pool(vm=SMALL, count=1), Pool(vm=LARGE, count=1))))
    assert vm_types(pieces, fixed, pd.DataFrame()).to_dict() == {7: "large", 8: "small", 9: "small"}
    stays = pd.DataFrame(
        {"node": [0, 0, 1], "start_s": [0.0, 10.0, 2.0], "vm_type": ["small", "large", "small"], "cost": 0.0}
    )
    assert vm_types(pieces, SLOTS, stays).to_dict() == {7: "small", 8: "small", 9: "large"}


def test_a_machine_in_full_use_fills_its_slot_whatever_its_size() -> None:
    pieces = pd.DataFrame({"gpus": [4.0, 4.0], "vm_type": ["small", "large"]})
    assert filling_slots(pieces, SLOTS)["gpus"].tolist() == [8.0, 4.0]


def test_share_held_of_the_machines_that_were_open() -> None:
    pieces = pd.DataFrame({"node": [0, 1], "start_s": [0.0, 50.0], "end_s": [100.0, 100.0], "gpus": [2.0, 8.0]})
    stays = pd.DataFrame(
        {"node": [0, 1], "start_s": [0.0, 50.0], "end_s": [100.0, 150.0], "vm_type": ["small", "large"]}
    )
    # Held 2 x 100 + 8 x 50 of 4 x 100 + 8 x 100 GPU-seconds; then node 1 alone, and nothing at all.
    assert held_of_open(pieces, stays, SLOTS, Window(0, 200, 0, 1)) == 0.5
    assert held_of_open(pieces, stays, SLOTS, Window(0, 100, 1, 1)) == 1.0
    assert held_of_open(pieces, stays, SLOTS, Window(160, 200, 0, 1)) == 0.0


JOBS = pd.DataFrame(
    {
        "job_id": ["a1", "a2", "b1"],
        "user": ["ann", None, "bob"],
        "status": ["completed", "failed", "completed"],
        "tardiness_s": [3_600.0, np.nan, 0.0],
        "wait_s": [1_800.0, np.nan, 0.0],
        "gpus": [1.0, 2.0, 1.0],
        "utility": [np.nan] * 3,
        "preemptions": [0, 0, 0],
        "restarts": [0, 1, 0],
    }
)


@pytest.mark.parametrize(
    ("text", "status", "late", "found"),
    [
        ("", [], False, ["a1", "a2", "b1"]),
        ("A", [], False, ["a1", "a2"]),
        ("ANN", [], False, ["a1"]),
        ("1", ["completed"], False, ["a1", "b1"]),
        ("", ["failed"], True, []),
        ("", [], True, ["a1"]),
        ("(", [], False, []),
    ],
)
def test_filter_of_jobs(text, status, late, found) -> None:
    assert filtered(JOBS, text, status, late)["job_id"].tolist() == found


def test_table_of_jobs_leaves_out_what_says_nothing() -> None:
    view = readable(JOBS)
    assert list(view.columns) == ["Job", "Status", "User", "GPUs", "Wait", "Late by", "Restarts"]
    assert view["Wait"].tolist()[0] == 1800


def test_parts_of_the_bill_add_up() -> None:
    metrics: dict[str, float | int | None] = {
        "vm_cost": 100.0,
        "idle_cost": 20.0,
        "goodput": 0.75,
        "tardiness_cost": 8.0,
        "rejection_cost": 0.0,
    }
    parts = cost_parts(metrics)
    assert parts == {
        "Useful work": 60.0,
        "Restarts and lost work": 20.0,
        "Paid but idle": 20.0,
        "Lateness": 8.0,
    }


def test_the_run_that_is_best_most_often() -> None:
    base = {"wait_p95": 10.0, "jct_mean": 20.0, "preemptions": 0}
    runs = [("A", base), ("B", {"wait_p95": 5.0, "jct_mean": 10.0, "preemptions": 3}), ("C", base)]
    assert most_stars(compare(runs, "A", basis=EXACT_BASIS)) == "B"
    assert most_stars(compare([("A", base), ("B", base)], "A", basis=EXACT_BASIS)) == "A"


def test_neighbouring_nodes_are_named_together():
    assert node_ranges([9, 1, 4, 5, 6]) == "n1, n4–n6, n9"
    assert node_ranges(range(100)) == "n0–n99"
    assert node_ranges([]) == ""


def test_letters_go_on_after_z() -> None:
    assert [letters(place) for place in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
