"""Runs grouped as a reader thinks of them."""

import pandas as pd

from dlsched.ui.frame.runs_of import holding, series_of


def runs(*rows: tuple[str, str, str, int, bool, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run_id", "policy", "params", "seed", "stale", "code_version"])


def test_draws_of_one_policy_are_one_series_by_seed() -> None:
    found = series_of(
        runs(
            ("b", "fifo", "{}", 1, False, "v2"), ("a", "fifo", "{}", 0, False, "v2"), ("c", "sjf", "{}", 0, False, "v2")
        )
    )
    assert [(s.label, s.run_ids, s.seeds) for s in found] == [("FIFO", ("a", "b"), (0, 1)), ("SJF", ("c",), (0,))]
    assert holding(found, "b") == found[0]
    assert holding(found, "x") is None


def test_other_parameters_are_another_series_with_a_number() -> None:
    found = series_of(runs(("a", "las", '{"q": 60}', 0, False, "v2"), ("b", "las", '{"q": 90}', 0, False, "v2")))
    assert [s.label for s in found] == ["LAS", "LAS (2)"]


def test_runs_of_an_older_version_are_not_mixed_in() -> None:
    found = series_of(runs(("old", "fifo", "{}", 0, True, "v1"), ("new", "fifo", "{}", 0, False, "v2")))
    assert [(s.label, s.run_ids) for s in found] == [("FIFO", ("new",)), ("FIFO, older version", ("old",))]


def test_series_stand_in_the_order_of_the_registry_whatever_ran_last() -> None:
    found = series_of(runs(("c", "sjf", "{}", 0, False, "v2"), ("a", "fifo", "{}", 0, False, "v2")))
    assert [s.label for s in found] == ["FIFO", "SJF"]
