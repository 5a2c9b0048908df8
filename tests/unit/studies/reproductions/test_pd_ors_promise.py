"""Fig. 5 of PD-ORS: the curve of a formula, by hand."""

import math

import pytest

from dlsched.policies.primal_dual.params import PdOrsParams
from dlsched.studies.reproductions.pd_ors.promise import ROOM, ROWS, WORK, crossing, figure_5, right_side
from dlsched.studies.reproductions.reproduction import Setting


def printed_gain(delta):
    """Lemma 1 as printed."""
    half = 3 * math.log(3 * ROWS / delta) / (2 * ROOM)
    return 1 + half - math.sqrt(half**2 + 2 * half)


@pytest.mark.parametrize("delta", [0.02, 0.1, 1.0])
def test_the_right_side_is_the_printed_formula(delta):
    assert right_side(delta, 40) == pytest.approx(3 * math.exp(-printed_gain(delta) * 20))


@pytest.mark.parametrize("work", WORK)
def test_the_curve_meets_the_line_at_the_crossing_and_lies_below_it_after(work):
    at = crossing(work)
    assert right_side(at, work) == pytest.approx(at, rel=1e-6)
    assert right_side(at / 2, work) > at / 2
    assert right_side(min(1, 2 * at), work) < min(1, 2 * at)


def test_without_work_nothing_is_promised():
    assert crossing(0.0) == 1.0


def test_the_figure():
    outcome = figure_5(Setting(quick=True))
    found = list(outcome.data["crossing_by_workers"].values())
    assert found == sorted(found, reverse=True)
    assert outcome.verdict == "same"
    assert "from 30 workers on" in outcome.ours
    low = outcome.data["by_delta"]["0.1"]
    assert low["gain_for_capacity"] == pytest.approx(printed_gain(0.1))
    assert low["gain_for_work"]["40"] > 1


def test_the_factors_named_in_the_form_are_those_of_the_theorems():
    by_delta = figure_5(Setting()).data["by_delta"]["0.1"]
    told = PdOrsParams.model_fields["gain"].description or ""
    assert f"{by_delta['gain_for_capacity']:.2g} and {by_delta['gain_for_work']['40']:.2g} where" in told
