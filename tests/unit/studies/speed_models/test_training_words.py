"""What is said of a prediction agrees with its numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlsched.speed.regression import Fits, Runs, fit_all
from dlsched.speed.terms import BATCH, GPUS
from dlsched.studies.speed_models.training import (
    error_table,
    formula,
    left_out,
    training_cautions,
    training_sentence,
    unseen_error,
)


def fits_of(**errors: float) -> Fits:
    """Return models whose rows are off by these shares, half of them twice that and half not at all."""
    models = []
    for name, error in errors.items():
        features = np.full((40, 5), np.nan)
        features[:, GPUS], features[:, BATCH] = np.tile([1, 2, 4, 8], 10), np.repeat(np.arange(1, 11), 4)
        seconds = 100 / features[:, GPUS]
        runs = Runs(np.full(40, name, dtype=object), np.full(40, "V100", dtype=object), features, seconds)
        (model,) = fit_all(runs).models
        models.append(replace(model, predicted=seconds * (1 + 2 * error * np.tile([0, 1], 20))))
    return Fits(tuple(models), {})


def test_one_network_is_named_with_its_error_and_its_tail():
    assert training_sentence(fits_of(net=0.07)) == (
        "net: times are predicted to 7% on average (cross-validated, 40 rows); "
        "one row in twenty is off by more than 14%."
    )


def test_several_networks_name_the_worst():
    said = training_sentence(fits_of(a=0.02, b=0.06))
    assert said.startswith("Times of 2 networks are predicted to 4% on average (cross-validated, 80 rows); worst is b ")
    assert "b with 6%" in said


def test_errors_come_worst_first_with_the_spread_of_their_folds():
    rows = error_table(fits_of(a=0.02, b=0.06).models)
    assert [row[0] for row in rows] == ["b", "a"]
    assert rows[0][2] == pytest.approx(0.06)
    assert all(low <= mean <= high for _, _, mean, low, high, _ in rows)


def test_large_errors_and_refused_networks_are_guarded():
    fits = replace(fits_of(good=0.05, bad=0.3), refused={"tiny": "it has one row"})
    levels = {guard.level: guard.text for guard in training_cautions(fits)}
    assert "bad 30%" in levels["orange"]
    assert "good" not in levels["orange"]
    assert "tiny: it has one row" in levels["info"]
    assert training_cautions(fits_of(good=0.05)) == []
    assert unseen_error(fits) is None


def test_an_error_on_types_left_out_is_guarded():
    fits = fits_of(good=0.05)
    blind = replace(fits.models[0], unseen={"K80": 0.1, "P600": 5.0})
    (guard,) = training_cautions(Fits((blind,), {}))
    assert "the mean error is 255%" in guard.text


def test_terms_and_what_was_left_out_in_words():
    (model,) = fits_of(net=0.0).models
    assert formula(model) == "a constant + 1 / GPUs"
    assert left_out(model) == "iterations not in the file, GFLOPS not in the file, disk seconds not in the file"
