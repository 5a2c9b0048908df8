"""Regression of training times: known laws are found again, errors are honest, order does not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.speed.regression import LEAST_CONFIGURATIONS, MOST_TERMS, Runs, fit_all, fit_network, folds
from dlsched.speed.terms import BATCH, DISK, FEATURES, GFLOPS, GPUS, ITERATIONS, candidates, design, words

SPEEDS = np.array([4000.0, 9000, 15_000, 19_500])


def a_grid(seed: int = 1, rows: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    iterations, batch = rng.integers(100, 1000, rows), rng.choice([32, 64, 128], rows)
    return np.column_stack(
        [iterations, batch, rng.choice(SPEEDS, rows), rng.integers(1, 9, rows), np.full(rows, np.nan)]
    ).astype(float)


def runs_of(features: np.ndarray, seconds: np.ndarray, name: str = "net") -> Runs:
    types = np.array([f"type {speed:g}" for speed in features[:, GFLOPS]], dtype=object)
    return Runs(np.array([name] * len(seconds), dtype=object), types, features, np.asarray(seconds, dtype=float))


def amdahl(features: np.ndarray, parallel: float = 0.9) -> np.ndarray:
    """20 s to start, then iterations x 300 / GFLOPS, of which the share ``parallel`` is shared by the GPUs."""
    share = 1 - parallel + parallel / features[:, GPUS]
    return np.asarray(20 + 300 * features[:, ITERATIONS] / features[:, GFLOPS] * share)


def test_known_law_is_found_exactly_with_its_terms_and_coefficients():
    features = a_grid()
    fit = fit_network(runs_of(features, amdahl(features)))
    found = {words(term): value for term, value in zip(fit.terms, fit.coefficients / fit.scales, strict=True)}
    assert found == pytest.approx(
        {"a constant": 20, "iterations / (GFLOPS × GPUs)": 270, "iterations / GFLOPS": 30}, rel=1e-9
    )
    assert fit.mape < 1e-12
    assert fit.predict(features) == pytest.approx(amdahl(features))
    assert max(fit.unseen.values()) < 1e-12  # a law through GFLOPS alone holds for a type left out, too


def test_error_is_near_the_noise():
    features = a_grid(rows=400)
    noise = np.random.default_rng(3).normal(1, 0.05, 400)
    fit = fit_network(runs_of(features, amdahl(features) * noise))
    # the mean of |N(0, 0.05)| is 0.05 sqrt(2 / pi) = 0.0399: nothing can predict the noise itself
    assert 0.035 < fit.mape < 0.047
    assert len(fit.fold_mapes) == 5
    assert fit.fold_mapes.min() <= fit.mape <= fit.fold_mapes.max()


def test_times_that_depend_on_nothing_give_a_model_as_bad_as_their_mean_not_a_good_fit():
    features, rng = a_grid(rows=60), np.random.default_rng(5)
    fit = fit_network(runs_of(features, rng.lognormal(3, 0.8, 60)))
    assert fit.mape > 0.3


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_row_order_changes_nothing(seed):
    features = a_grid(rows=60)
    seconds = amdahl(features) * np.random.default_rng(2).normal(1, 0.1, 60)
    order = np.random.default_rng(seed).permutation(60)
    first = fit_network(runs_of(features, seconds))
    again = fit_network(runs_of(features[order], seconds[order]))
    assert again.terms == first.terms
    assert again.predicted == pytest.approx(first.predicted[order], rel=1e-8)


def test_repeated_configurations_share_a_fold():
    features = np.repeat(a_grid(rows=40), 3, axis=0)
    place = folds(runs_of(features, np.ones(120)))
    assert (place.reshape(40, 3) == place[::3, None]).all()
    assert len(np.unique(place)) == 5


def test_half_of_the_iterations_take_half_of_what_grows_with_them():
    features = a_grid()
    fit = fit_network(runs_of(features, amdahl(features) * np.random.default_rng(0).normal(1, 0.02, 200)))
    row = np.repeat(features[:1], 3, axis=0)
    row[:, ITERATIONS] = [200, 400, 600]
    one, two, three = fit.predict(row)
    assert three - two == pytest.approx(two - one)


def test_what_never_varies_or_is_not_always_known_is_left_out_and_told():
    features = a_grid(rows=80)
    features[:, BATCH] = 64
    features[1:, DISK] = 3.0
    fit = fit_network(runs_of(features, amdahl(features)))
    assert fit.fixed == {BATCH: 64}
    assert fit.unknown == (DISK,)
    assert set(fit.ranges) == {ITERATIONS, GFLOPS, GPUS}
    assert {feature for term in fit.terms for feature, _ in term} <= set(fit.ranges)


def test_outside_means_beyond_the_rows_in_a_feature_in_use():
    features = a_grid()
    fit = fit_network(runs_of(features, amdahl(features)))
    asked = np.array([[500, 64, 9000, 4, 1], [500, 64, 67_000, 4, 1], [500, 64, 9000, 16, 1], [5, 64, 9000, 4, 1.0]])
    assert fit.outside(asked).tolist() == [False, True, True, True]


def test_a_time_of_zero_or_less_is_no_prediction():
    rng = np.random.default_rng(4)
    features = a_grid(rows=100)
    features[:, GPUS] = rng.integers(1, 5, 100)
    fit = fit_network(runs_of(features, 100 - 20 * features[:, GPUS]))
    far = features[:1].copy()
    far[:, GPUS] = 8  # 100 - 160 s
    assert np.isnan(fit.predict(far)).all()


def test_one_time_for_all_is_predicted_by_the_constant():
    features = a_grid(rows=30)
    fit = fit_network(runs_of(features, np.full(30, 42.0)))
    assert fit.terms == ((),)
    assert fit.predict(features) == pytest.approx(np.full(30, 42.0))


def test_features_that_say_the_same_do_not_break_the_fit():
    features = a_grid(rows=80)
    features[:, DISK] = 2 * features[:, BATCH]
    fit = fit_network(runs_of(features, amdahl(features)))
    assert fit.mape < 1e-9
    assert len(fit.terms) <= MOST_TERMS


def test_too_few_rows_are_refused_by_name_and_others_go_on():
    features = a_grid(rows=40)
    enough, few = runs_of(features, amdahl(features)), runs_of(features[:1], amdahl(features[:1]), "tiny")
    both = Runs(*(np.concatenate([getattr(enough, name), getattr(few, name)])
                  for name in ("network", "gpu_type", "features", "seconds")))  # fmt: skip
    fits = fit_all(both)
    assert [fit.network for fit in fits.models] == ["net"]
    assert f"needs at least {LEAST_CONFIGURATIONS}" in fits.refused["tiny"]
    assert fits.rows == 40
    with pytest.raises(InputError, match="needs at least"):
        fit_all(few)
    with pytest.raises(InputError, match="no profiling rows"):
        fits.of("other")


def test_unseen_types_cost_more_than_seen_ones_when_speed_is_not_in_the_gflops():
    features = a_grid(rows=240)
    own = dict(zip(SPEEDS, (1.0, 0.4, 1.5, 0.7), strict=True))
    seconds = amdahl(features) * np.array([own[speed] for speed in features[:, GFLOPS]])
    fit = fit_network(runs_of(features, seconds))
    assert fit.unseen_mape is not None
    assert fit.unseen_mape > 5 * fit.mape


def test_terms_and_their_words():
    terms = candidates([BATCH, GPUS, ITERATIONS])
    assert len(terms) == 2 * (1 + 4 + 4)
    assert len(set(terms)) == len(terms)
    assert not any((ITERATIONS, -1) in term for term in terms)
    values = np.array([[10.0, 4, 1, 8, 1]])
    by_words = dict(zip(map(words, terms), design(values, terms)[0], strict=True))
    assert by_words["a constant"] == 1
    assert by_words["iterations × batch size / GPUs"] == 10 * 4 / 8
    assert by_words["1 / (batch size × GPUs)"] == 1 / 32
    assert len(FEATURES) == values.shape[1]
