"""Figs 6 to 17 of the PD-ORS study: cases by hand, verdicts part by part, and small real runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from dlsched.domain.errors import DlschedError
from dlsched.domain.units import HOUR_S
from dlsched.policies.primal_dual.reach import why_never
from dlsched.studies.reproductions.pd_ors import ratio, runs, time, utility
from dlsched.studies.reproductions.pd_ors.runs import (
    PATIENT,
    USUAL,
    JobsOnMachines,
    PlanResult,
    PlanTask,
    Policy,
    PolicyStudy,
)
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.workload.generators.arrivals import Bursts
from tests.support.slot_jobs import job

QUICK = Setting(quick=True)
SEEDS = (1, 2, 3)
SMALL = JobsOnMachines(jobs=20, machines=20, slots=12)


def test_every_figure_of_results_has_a_key() -> None:
    keys = [one.key for one in REPRODUCTIONS if one.key.startswith("pd-ors-")]
    assert keys == [f"pd-ors-{number}" for number in range(5, 18)]
    assert [find(key).figure for key in keys] == [f"Fig. {number}" for number in range(5, 18)]
    assert all(find(key).claim.endswith(".") for key in keys)


# ---- cases --------------------------------------------------------------------------------------------------


def test_cases_of_one_seed_share_their_jobs() -> None:
    few, many = (runs.drawn(SMALL._replace(jobs=jobs), 4) for jobs in (5, 20))
    works = {one.name: one.work for one in many.jobs}
    assert {one.name for one in few.jobs} == {f"j{number:03d}" for number in range(1, 6)}
    assert all(works[one.name] == one.work for one in few.jobs)
    patient = {one.name: one for one in runs.drawn(SMALL._replace(mix=PATIENT), 4).jobs}
    assert all(patient[one.name].work == one.work for one in many.jobs)
    assert any(patient[one.name].utility != one.utility for one in many.jobs)


def test_a_tenth_of_the_work_is_just_that() -> None:
    whole, tenth = (runs.drawn(SMALL._replace(work=work), 4) for work in (1.0, 0.1))
    pairs = list(zip(whole.jobs, tenth.jobs, strict=True))
    assert [short.work for _, short in pairs] == pytest.approx([0.1 * long.work for long, _ in pairs])
    assert all(short.near == long.near for long, short in pairs)


def test_bursts_are_arrivals_in_order_over_all_slots() -> None:
    case = JobsOnMachines(jobs=100, machines=30, slots=80, bursts=True)
    counts = np.zeros(80)
    for seed in range(1, 21):
        instance = runs.drawn(case, seed)
        arrival = [one.arrival for one in instance.jobs]
        assert [one.name for one in instance.jobs] == [f"j{number:03d}" for number in range(1, 101)]
        assert arrival == sorted(arrival) == [one.first for one in instance.jobs]
        assert arrival[0] >= 0
        assert arrival[-1] < 80
        counts += np.sort(np.bincount(arrival, minlength=80))
    even = [np.sort(np.bincount(np.random.default_rng(n).integers(0, 80, 100), minlength=80))[-8:] for n in range(20)]
    assert counts[-8:].sum() > 1.3 * np.sum(even)  # the busiest tenth is busier than by chance


def test_an_answer_counts_slots_to_the_end_and_all_of_them_where_there_is_none(monkeypatch) -> None:
    answer = runs.plan_jobs(PlanTask((SMALL, "PD-ORS"), 2))
    instance = runs.drawn(SMALL, 2)
    found = runs.pd_ors(instance)
    assert answer.completed == sum(schedule is not None for schedule in found) > 0
    for one, schedule, slots in zip(instance.jobs, found, answer.training_slots, strict=True):
        assert slots == (max(schedule) - one.arrival + 1 if schedule else 12)
    earned = [one.worth(max(schedule)) for one, schedule in zip(instance.jobs, found, strict=True) if schedule]
    assert answer.utility == pytest.approx(sum(earned))


def test_illegal_schedules_are_no_answer() -> None:
    instance = runs.drawn(SMALL, 2)
    found = runs.pd_ors(instance)
    with pytest.raises(DlschedError, match="machine"):
        runs.legal_utility(replace(instance, capacity=instance.capacity / 50), found)


def test_a_crowded_case_is_of_jobs_that_could_be_done_alone(monkeypatch) -> None:
    monkeypatch.setitem(ratio.KINDS, ratio.CROWDED_WORDS, ratio.CROWDED._replace(jobs=600, machines=20))
    instance = ratio.tiny(ratio.CROWDED_WORDS, 3)
    assert len(instance.jobs) == ratio.CROWD
    assert [why_never(one, instance.capacity, 6) for one in instance.jobs] == [None] * ratio.CROWD
    assert [one.arrival for one in instance.jobs] == sorted(one.arrival for one in instance.jobs)
    whole = runs.drawn(ratio.KINDS[ratio.CROWDED_WORDS], 3)
    last = max(int(one.name[1:]) for one in instance.jobs)
    able = [one for one in whole.jobs if why_never(one, instance.capacity, 6) is None]
    assert sum(int(one.name[1:]) <= last for one in able) == ratio.CROWD


# ---- verdicts -----------------------------------------------------------------------------------------------


def study_of(
    means: Mapping[Policy, Sequence[float]],
    cases: Sequence[JobsOnMachines],
    slots: Sequence[int] = (),
    spread: float = 1.0,
) -> PolicyStudy:
    """Return answers by policy with these mean utilities in the cases; draws differ by ``spread``."""
    answers = {
        (case, policy): [
            PlanResult(mean + spread * draw, tuple(slots) or (1, 2, 3), 1)
            for draw in ((-1, 0) if policy == "Dorm" else (-1, 0, 1))
        ]
        for policy, values in means.items()
        for case, mean in zip(cases, values, strict=True)
    }
    return PolicyStudy(answers, SEEDS)


def of_figure(number: int, **means: Sequence[float]) -> tuple[PolicyStudy, tuple[JobsOnMachines, ...]]:
    """Return a study of the quick sizes of a figure; all rivals but those named reach 10 and 20."""
    figure = utility.FIGURES[number]
    cases = utility.cases_of(figure, QUICK)
    given: dict[Policy, Sequence[float]] = {"PD-ORS": means.pop("ours")}
    for rival in figure.rivals:
        given[rival] = means.get(rival.lower(), (10, 20))
    return study_of(given, cases), cases


@pytest.mark.parametrize(
    ("number", "means", "verdict", "said"),
    [
        pytest.param(6, {"ours": (100, 200)}, "same", "Every part", id="far above, and growing"),
        pytest.param(6, {"ours": (100, 104)}, "partly", "more gained on FIFO at 100 machines", id="shrinks"),
        pytest.param(
            7, {"ours": (100, 200), "drf": (99, 20)}, "partly", "5% above DRF, at 20 jobs (100.0 and 99.0)", id="near"
        ),
        pytest.param(
            6,
            {"ours": (10, 10), "fifo": (10, 10), "drf": (20, 20), "dorm": (20, 20)},
            "different",
            "5% above FIFO",
            id="no gain",
        ),
        pytest.param(8, {"ours": (100, 200), "oasis": (99, 150)}, "same", "Every part", id="above is enough"),
        pytest.param(8, {"ours": (100, 200), "oasis": (100, 150)}, "partly", "above OASiS, at 20 jobs", id="equal"),
        pytest.param(12, {"ours": (100, 104)}, "same", "Every part", id="no growth claimed"),
        pytest.param(13, {"ours": (100, 200), "oasis": (200, 100)}, "partly", "above OASiS, at 40", id="OASiS wins"),
    ],
)
def test_the_verdict_of_a_figure_of_utility(monkeypatch, number, means, verdict, said) -> None:
    study, _ = of_figure(number, **means)
    monkeypatch.setattr(utility, "run_study", lambda *_: study)
    outcome = find(f"pd-ors-{number}").run(QUICK)
    assert outcome.verdict == verdict
    assert said in outcome.why
    json.dumps(outcome.data, allow_nan=False)


def test_where_a_rival_ties_at_every_seed_it_is_said() -> None:
    study, cases = of_figure(8, ours=(100, 200), oasis=(100, 199))
    assert "at every seed: OASiS at 20 jobs;" in utility.ties(utility.FIGURES[8], cases, study)
    assert utility.ties(utility.FIGURES[8], cases[1:], study) == ""


def test_dorm_is_compared_on_the_seeds_it_has() -> None:
    """Ours 99, 100, 101, Dorm's 9, 10: 90 at both of its seeds."""
    study, cases = of_figure(6, ours=(100, 200))
    found = study.gain(cases[0], "Dorm")
    assert (found.mean, found.half_width, found.n) == (90, 0, 2)
    assert study.beside(cases[0], "Dorm") == (99.5, 9.5)
    grown = study.gain_growth(cases[0], cases[1], "FIFO")  # 200 - 20 less 100 - 10
    assert (grown.mean, grown.half_width, grown.n) == (90, 0, 3)
    assert "under Dorm those of the first 2" in runs.sample_of(study)


@pytest.mark.parametrize(
    ("patient", "verdict", "said"),
    [
        pytest.param((110, 120, 130), "same", "Every part", id="smaller gain"),
        pytest.param((250, 250, 250), "partly", "smaller gain with (30%, 69%, 1%)", id="larger gain"),
        pytest.param((110, 200, 130), "partly", "at 30 machines (by 0.00", id="as large at one"),
        pytest.param((90, 220, 210), "partly", "above OASiS', at 10 machines (0.90", id="loses at one"),
    ],
)
def test_the_verdict_of_figure_15(monkeypatch, patient, verdict, said) -> None:
    cases = [*utility.cases_with("machines", USUAL, QUICK), *utility.cases_with("machines", PATIENT, QUICK)]
    study = study_of({"PD-ORS": (200, 200, 200, *patient), "OASiS": (100,) * 6}, cases, spread=0.1)
    monkeypatch.setattr(utility, "run_study", lambda *_: study)
    outcome = find("pd-ors-15").run(QUICK)
    assert outcome.verdict == verdict
    assert said in outcome.why
    json.dumps(outcome.data, allow_nan=False)


def test_a_ratio_is_of_all_seeds_together() -> None:
    """(99 + 100 + 101) / (49 + 50 + 51)."""
    cases = utility.cases_with("jobs", USUAL, QUICK)
    study = study_of({"PD-ORS": (100,) * 3, "OASiS": (50,) * 3}, cases)
    assert [case.jobs for case in cases] == [20, 60, 100]
    assert utility.ratio(study, cases[0]).mean == pytest.approx(2.0)


def times_of(ours: Sequence[int], theirs: Sequence[int]) -> PolicyStudy:
    """Return training times that are the same at all seeds."""
    answers = {
        (case, policy): [PlanResult(1.0, tuple(ours if policy == "PD-ORS" else theirs), 2)] * 3
        for case in time.CASES.values()
        for policy in time.POLICIES
    }
    return PolicyStudy(answers, SEEDS)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        pytest.param((1, 2, 80), (1, 5, 6), "same", id="shorter, though the longest is longer"),
        pytest.param((80, 80, 1), (80, 80, 80), "different", id="all slots under every policy"),
        pytest.param((5, 5, 5), (4, 4, 9), "different", id="longer"),
    ],
)
def test_the_verdict_of_figure_9(monkeypatch, ours, theirs, verdict) -> None:
    monkeypatch.setattr(time, "run_study", lambda *_: times_of(ours, theirs))
    outcome = find("pd-ors-9").run(QUICK)
    assert outcome.verdict == verdict
    assert "no policy at all completes more than" in outcome.why
    assert max(outcome.data["most_jobs_any_policy_completes"]) < 50
    json.dumps(outcome.data, allow_nan=False)


def test_where_half_the_jobs_can_be_done_nothing_is_said_to_be_out_of_reach() -> None:
    assert "at most 50 of 100" in time._limit([30, 50])
    assert "whatever the policy" in time._limit([30, 49])


def answers_of(best: float, greedy: float, bound: float, at: Mapping[float, float]) -> list[ratio.HindsightResult]:
    """Return three answers; what rounding reaches at each factor, and elsewhere half of what it does at 1."""
    reached = {(way, g): at.get(g, at[1.0] / 2) for way in ratio.TRIES for g in ratio.GAINS}
    counts = dict.fromkeys(reached, 5)
    return [
        ratio.HindsightResult(
            part * best, part * bound, part * greedy, {v: part * r for v, r in reached.items()}, counts, counts
        )
        for part in (1.0, 1.01, 0.99)
    ]


@pytest.mark.parametrize(
    ("plain", "crowded", "verdict", "said"),
    [
        pytest.param((12, 10, 12), (13, 10, 13), "same", "Every part", id="both"),
        pytest.param((12, 10, 12), (15, 10, 15), "partly", f"1.4, {ratio.CROWDED_WORDS} (1.50", id="crowded is not"),
        pytest.param((12, 10, 15), (13, 10, 13), "partly", f"1.4, {ratio.PLAIN_WORDS} (1.20", id="not proven"),
        pytest.param((15, 10, 15), (15, 10, 15), "different", "Not seen: ratio at most 1.4", id="none"),
    ],
)
def test_the_verdict_of_figure_10(monkeypatch, plain, crowded, verdict, said) -> None:
    kinds = {ratio.PLAIN_WORDS: plain, ratio.CROWDED_WORDS: crowded}
    answers = {kind: answers_of(best, ours, bound, {1.0: 1.0}) for kind, (best, ours, bound) in kinds.items()}
    monkeypatch.setattr(ratio, "run_study", lambda *_: ratio.HindsightStudy(answers))
    outcome = find("pd-ors-10").run(QUICK)
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert outcome.data[ratio.PLAIN_WORDS]["ratio"]["mean"] == pytest.approx(plain[0] / plain[1])
    json.dumps(outcome.data, allow_nan=False)


@pytest.mark.parametrize(
    ("at", "verdict", "said"),
    [
        pytest.param({1.0: 8.0}, "same", "Every part", id="best at 1"),
        pytest.param({1.0: 8.0, 1.2: 9.0}, "partly", "less at 1.2 (by -0.10", id="better above"),
        pytest.param(dict.fromkeys(ratio.GAINS, 8.0), "different", "less at 0.2 (by 0.00", id="all alike"),
    ],
)
def test_the_verdict_of_figure_11(monkeypatch, at, verdict, said) -> None:
    answers = {kind: answers_of(10.0, 8.0, 10.0, at) for kind in ratio.KINDS}
    monkeypatch.setattr(ratio, "run_study", lambda *_: ratio.HindsightStudy(answers))
    outcome = find("pd-ors-11").run(QUICK)
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert "0.80 ±" in outcome.ours
    json.dumps(outcome.data, allow_nan=False)


# ---- small real runs ----------------------------------------------------------------------------------------


def test_a_figure_of_utility_in_small(monkeypatch) -> None:
    figure = replace(utility.FIGURES[12], cases=tuple(SMALL._replace(jobs=n, bursts=True) for n in (10, 20, 25)))
    monkeypatch.setitem(utility.FIGURES, 12, replace(figure, axis="jobs"))
    monkeypatch.setattr(runs, "QUICK_SEEDS", (1, 2, 3))
    monkeypatch.setitem(runs.DORM_SEEDS, 12, (2, 2))
    told: list[float] = []
    outcome = find("pd-ors-12").run(Setting(quick=True, progress=lambda share, _: told.append(share)))
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    assert told[-1] == 1.0
    assert list(data["total_utility"]) == ["PD-ORS", "OASiS", "FIFO", "DRF", "Dorm"]
    assert {size: one["n"] for size, one in data["total_utility"]["Dorm"].items()} == {"20": 2, "25": 2}
    at = data["total_utility"]["OASiS"]["25"]["mean"] + data["pd_ors_minus"]["OASiS"]["25"]["mean"]
    assert at == pytest.approx(data["total_utility"]["PD-ORS"]["25"]["mean"])
    assert "arrivals in bursts, generated" in outcome.why


def test_the_ratio_in_small(monkeypatch) -> None:
    monkeypatch.setitem(ratio.KINDS, ratio.CROWDED_WORDS, ratio.CROWDED._replace(jobs=300, machines=20))
    monkeypatch.setattr(ratio, "CROWD", 2)
    monkeypatch.setattr(ratio, "NODE_LIMIT", 5)
    monkeypatch.setitem(ratio.TRIES, ratio.PRINTED, 100)
    study = ratio.run_study(QUICK, {ratio.CROWDED_WORDS: 2, ratio.PLAIN_WORDS: 1}, (0.2, 1.0))
    assert {kind: len(found) for kind, found in study.results.items()} == {
        ratio.CROWDED_WORDS: 2,
        ratio.PLAIN_WORDS: 1,
    }
    for one in study.results[ratio.CROWDED_WORDS]:
        assert 0 < one.greedy <= one.best <= one.bound
        assert all(0 <= reached <= one.best for reached in one.rounded.values())
        assert all(one.failed[variant] <= one.slots[variant] for variant in one.rounded)
    assert study.ratio(ratio.CROWDED_WORDS).mean >= 1.0
    assert study.failed(ratio.CROWDED_WORDS, (ratio.PRINTED, 0.2)) > study.failed(
        ratio.CROWDED_WORDS, (ratio.PRINTED, 1.0)
    )


def test_in_bursts_by_hand(monkeypatch) -> None:
    """Arrivals at 1, 2 and 4 h and a next one at 8 h, over 4 slots: in slots 0, 1 and 2."""
    hours = np.array([1.0, 2.0, 4.0, 8.0]) * HOUR_S
    monkeypatch.setattr(Bursts, "times_s", lambda *_: hours)
    found = runs.in_bursts([job("j1"), job("j2"), job("j3")], 4, 1)
    assert [(one.name, one.arrival, one.first) for one in found] == [("j1", 0, 0), ("j2", 1, 1), ("j3", 2, 2)]
