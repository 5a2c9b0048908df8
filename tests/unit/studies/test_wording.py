"""The whole wording of each study on answers written by hand: one file a study, so that a change of words is seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dlsched.metrics.stats.basis import EXACT_BASIS
from dlsched.studies.calibration import words as calibration_words
from dlsched.studies.calibration.answer import calibrate
from dlsched.studies.calibration.record import record_of
from dlsched.studies.calibration.tables import policy_rows
from dlsched.studies.design import Futures
from dlsched.studies.growth import words as growth_words
from dlsched.studies.sizing import words as size_words
from dlsched.studies.sizing.answer import one_more
from dlsched.studies.sizing.campaigns import Campaign
from dlsched.studies.steady import words as steady_words
from dlsched.studies.sweep import words as sweep_words
from dlsched.studies.what_if import words as what_if_words
from dlsched.studies.what_if.answer import WhatIf, comparison_of
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from tests.support.calibrations import HAND, replay
from tests.support.sizings import ORDERS, RECORDED, growth, sizing, waits
from tests.support.steady_answers import three_policies
from tests.support.sweeps import ARRIVALS, MIN, made, two_policies
from tests.support.what_ifs import MORE_JOBS, POLICY, TODAY, answer, draws
from tests.support.wording import check_wording

HERE = Path(__file__).parent
Cards = Iterable[tuple[str, str, str]]


def cards(found: Cards) -> list[str]:
    return [f"{label} | {value} | {hint}" for label, value, hint in found]


def cautions(found: Iterable[Caution]) -> list[str]:
    return [f"{one.level}: {one.text} {one.action}".rstrip() for one in found]


def premises(found: Iterable[Premise]) -> list[str]:
    return [f"{one.label}: {one.why}" for one in found]


def rows(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [" | ".join(found[0]), *(" | ".join(map(str, row.values())) for row in found)]


def of_size() -> dict[str, list[str]]:
    found, exact = sizing(), sizing(EXACT_BASIS)
    few = tuple(one for one in found.sizes if one.counts in ((1,), (2,), (3,)))
    none = sizing(sizes=few, answer=None, neighbours=(), status="none", headroom=())
    unpriced = sizing(sizes=tuple(one.model_copy(update={"usd_month": None}) for one in found.sizes), cost_by="gpus")
    bad = sizing(sizes=(few[0].model_copy(update={"draws": waits([9.0], audit=("node 0 held twice",))}), *few[1:]),
                 answer=None, neighbours=(), headroom=())  # fmt: skip
    recorded = sizing(RECORDED, campaign=Campaign(user="u", share=0.2, days=28), condition={"demand": 1.3})
    told = (found, recorded, exact, none, unpriced)
    return {
        "sentence": [size_words.sentence(one) for one in told],
        "how sure": [f"{size_words.certainty(one)}: {size_words.sure_words(one)}" for one in told],
        "why there is none": size_words.why_none(none),
        "beside it": [
            size_words.neighbour_words(found), *(size_words.one_more_words(found, one) for one in one_more(found))
        ],
        "cards": cards((*size_words.cards_of(found), *size_words.cards_of(none))),
        "sizes": rows(size_words.rows_of(found)),
        "headroom": [size_words.headroom_words(found, one) for one in found.headroom],
        "headroom, cards": cards(size_words.headroom_cards(found)),
        "banners": cautions((
            *size_words.cautions_of(bad, stale=True, elsewhere=True), *size_words.cautions_of(recorded),
            *size_words.cautions_of(sizing(reasons=("the search stopped at 100 runs",))),
        )),
        "assumptions": premises((
            *size_words.premises_of(sizing(RECORDED, futures=Futures.first(2, {"days": 1.0, "run_time_spread": 0.3}))),
            *size_words.premises_of(exact),
        )),
    }  # fmt: skip


def of_growth() -> dict[str, list[str]]:
    found, calm = growth(), growth(months=growth().months[:2], steps=(), orders=())
    late, unsure = growth(lead_months=5), growth(months=growth().months[:3], steps=(), orders=ORDERS[:1])
    more = growth(condition={"demand": 1.3})
    broken = growth().months[4].model_copy(update={"draws": (), "error": "fewer than no nodes"})
    return {
        "sentence": [growth_words.sentence(one) for one in (found, calm, late, unsure, more)],
        "cards": cards(growth_words.cards_of(found)),
        "months": rows(growth_words.table_rows(found)),
        "banners": cautions(
            growth_words.cautions_of(growth(months=(*found.months[:4], broken)), stale=True, elsewhere=True)
        ),
        "assumptions": premises(growth_words.ASSUMED),
    }


def of_sweep() -> dict[str, list[str]]:
    found = two_policies()
    one = made({"jct_mean": {"fifo": [[100 * MIN], [50 * MIN]]}}, exact=True)
    alone = made({"jct_mean": {"fifo": [[50 * MIN], [40 * MIN], [65 * MIN]]}}, (ARRIVALS,), "one-at-a-time", exact=True)
    first, second, *others = found.cells
    varied = Futures.first(2, {"days": 1.0, "failures": 480.0})
    cells = (first.model_copy(update={"audit": ("node 0 holds two",), "completed": 9}),
             second.model_copy(update={"error": "too wide"}), *others)  # fmt: skip
    bad = found.model_copy(update={"cells": cells})
    return {
        "question": [
            sweep_words.question_words(each.mode, each.axes, list(each.labels.values()))
            for each in (found, alone)
        ],
        "sentence": [sweep_words.finding(each, "jct_mean") for each in (found, one, alone)],
        "cards": cards(sweep_words.cards_of(found, "jct_mean")),
        "situations": [sweep_words.point_words(alone, point) for point in range(len(alone.points))],
        "banners": cautions(sweep_words.cautions_of(bad, stale=True, elsewhere=True)),
        "assumptions": premises((
            *sweep_words.premises_of(found.model_copy(update={"futures": varied})),
            *sweep_words.premises_of(one)[1:2],
        )),
    }  # fmt: skip


def of_what_if() -> dict[str, list[str]]:
    cheaper, dearer = (30_000, 30_000, 30_000), (49_400, 49_400, 49_400)
    gain = draws((0.06, 0.061, 0.062), (3600, 4100, 3700), dearer)
    mixed = draws((0.06, 0.061, 0.062), (7200, 7600, 7400), cheaper)
    unsure = draws((0.10, 0.18, 0.14), (3700, 3900, 3800), (40_000, 40_001, 39_990))

    def told(made: WhatIf) -> str:
        return what_if_words.sentence(made, comparison_of(made))

    answers = (
        answer(TODAY, gain), answer(TODAY, gain, POLICY), answer(TODAY, mixed), answer(TODAY, unsure),
        answer(TODAY, TODAY), answer(TODAY[:1], gain[:1]), answer(TODAY[:1], gain[:1], basis=EXACT_BASIS),
        answer(TODAY, TODAY).model_copy(update={"moved": ()}), answer(TODAY, [{}] * 3, POLICY),
        answer(TODAY, gain, conditions=(MORE_JOBS,)),
        answer(TODAY, mixed, conditions=(MORE_JOBS,)).model_copy(update={"moved": ()}),
    )  # fmt: skip
    return {
        "sentence": [told(one) for one in answers],
        "completed": [what_if_words.completed_words(one, comparison_of(one)) for one in answers[:2]],
        "what differs": rows(what_if_words.settings(answers[1])),
    }


def of_steady() -> dict[str, list[str]]:
    found = three_policies()
    return {
        "sentence": [steady_words.steady_sentence(found)],
        "cards": cards(steady_words.steady_cards(found)),
        "states": [steady_words.state_words(point)[0] for point in found.points],
        "banners": cautions(steady_words.steady_cautions(found, stale=True)),
        "assumptions": premises(steady_words.steady_premises(found)),
    }


def of_calibration() -> dict[str, list[str]]:
    found = calibrate(record_of(HAND), [replay([0, 120, 120, 120]), replay([0, 60, 240, 10], "sjf")])
    return {
        "sentence": [calibration_words.sentence(found), calibration_words.sentence(found, "sjf")],
        "jobs": [calibration_words.counted(found)],
        "policies": [" | ".join(row) for row in policy_rows(found)],
        "banners": cautions(calibration_words.cautions_of(found, default_cluster=True, stale=True)),
        "assumptions": premises((calibration_words.trust_caveat(found), *calibration_words.assumptions_of(found))),
    }


STUDIES = {
    "calibration": of_calibration,
    "sizing": of_size, "growth": of_growth, "sweep": of_sweep, "what_if": of_what_if, "steady": of_steady,
}  # fmt: skip


@pytest.mark.parametrize("study", STUDIES)
def test_the_wording_is_that_of_its_file(study: str) -> None:
    check_wording(HERE / study / "wording.txt", STUDIES[study]())
