"""Figs 7 to 12 of the SMD study: batches by hand, verdicts part by part, and small real runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dlsched.domain.workload import RESOURCES
from dlsched.policies.registry import find as find_policy
from dlsched.policies.smd.knapsack import guarantee
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.studies.reproductions.smd import batch as batches
from dlsched.studies.reproductions.smd import ratio, used, utility
from dlsched.studies.reproductions.smd.batch import Admission, Policy
from dlsched.studies.reproductions.smd.utility import Size
from dlsched.workload.studies.smd import ServerJobsSpec, server_jobs_scenario

SEEDS = (1, 2, 3)
QUICK = Setting(quick=True)


def test_every_figure_of_results_has_a_key():
    keys = [one.key for one in REPRODUCTIONS if one.key.startswith("smd-")]
    assert keys == [f"smd-{number}" for number in range(7, 13)]
    assert [find(key).figure for key in keys] == [f"Fig. {number}" for number in range(7, 13)]
    assert all(find(key).claim.endswith(".") for key in keys)


@pytest.mark.parametrize(
    ("updates", "forward_per", "unit_s"),
    [("async", "sample", 3600), ("sync", "sample", 86_400), ("sync", "mini-batch", 3600)],
)
def test_a_job_is_worth_its_sigmoid_at_its_completion(updates, forward_per, unit_s):
    batch = batches.draw_batch(ServerJobsSpec(jobs=5, updates=updates, forward_per=forward_per), 3)
    jobs, choices = batch.jobs, batch.choices("ESW")
    assert jobs.batch_s is not None
    assert jobs.step_s is not None
    assert jobs.transfer_s is not None
    assert jobs.worker_overhead_s is not None
    assert jobs.server_overhead_s is not None
    assert jobs.utility_1 is not None
    assert jobs.utility_2 is not None
    assert jobs.utility_3 is not None
    for row, (choice, value) in enumerate(zip(choices, batch.value(choices).tolist(), strict=True)):
        w, p = choice.workers, choice.servers
        step_s = jobs.batch_s[row] / w + jobs.step_s[row] + jobs.transfer_s[row] * w / p
        step_s += jobs.worker_overhead_s[row] * w + jobs.server_overhead_s[row] * p
        late = jobs.work[row] * step_s / (w if updates == "async" else 1) / unit_s - jobs.utility_3[row]
        assert value == pytest.approx(jobs.utility_1[row] / (1 + math.exp(jobs.utility_2[row] * late)))
        held = w * jobs.demand[row] + p * jobs.server_demand[row]
        assert batch.used(choices)[row] == pytest.approx(held)
        assert (held <= jobs.limit[row] * (1 + 1e-9)).all()


def test_a_smaller_batch_is_the_first_jobs_of_a_larger_one():
    small, large = (batches.draw_batch(ServerJobsSpec(jobs=count), 4) for count in (3, 6))
    assert small.value(small.choices("SMD")) == pytest.approx(large.value(large.choices("SMD"))[:3])
    assert small.reserved == pytest.approx(large.reserved[:3])


@pytest.mark.parametrize(
    ("admission", "selected"),
    [
        ("knapsack", [1, 2]),  # 5 + 5 of 9
        ("first come", [0]),  # 6, and 5 more do not fit
        ("first come, others pass", [0, 2]),  # 6 + 4
    ],
)
def test_who_gets_in_by_hand(admission, selected):
    reserved = np.array([[6.0, 0.0], [5.0, 0.1], [4.0, 0.2]])
    capacity = np.array([10.0, 0.3])
    taken = batches.admitted(np.array([1.0, 5.0, 5.0]), reserved, capacity, admission)
    assert np.flatnonzero(taken).tolist() == selected


def test_jobs_that_fill_the_capacity_within_rounding_fit():
    three = np.full((3, 1), 0.1)  # 0.1 + 0.1 + 0.1 > 0.3 in floating point
    assert batches.admitted(np.ones(3), three, np.array([0.3]), "first come").all()


@pytest.mark.parametrize("updates", ["async", "sync"])
@pytest.mark.parametrize(("policy", "key"), [("SMD", "smd"), ("Optimus", "optimus"), ("ESW", "esw")])
@pytest.mark.parametrize(("admission", "param"), [("knapsack", "knapsack"), ("first come", "first-come")])
def test_a_batch_is_worth_what_the_policy_decides_first(updates, policy, key, admission, param):
    spec = ServerJobsSpec(jobs=15, units=1, updates=updates)
    prepared, policy_spec = prepare(server_jobs_scenario(spec, 5)), find_policy(key)
    log = run_engine(prepared, policy_spec.build(policy_spec.parse({"admission": param})))
    batch = batches.draw_batch(spec, 5)
    value = batch.value(batch.choices(policy))
    taken = batches.admitted(value, batch.reserved, batches.UNIT_OF_CAPACITY, admission)
    assert 0 < taken.sum() < 15
    assert value[taken].sum() == pytest.approx(float(log.decision_objective[0]))


def study_of(ours, optimus, esw, equal=(0.0, 0.0)) -> utility.UtilityStudy:
    """Return totals at two sizes, 1 and 2 units; with equal admission Optimus and ESW have so much less than SMD."""
    sizes = (Size(50, 1), Size(50, 2))
    totals: dict[tuple[Size, Policy, Admission], list[float]] = {}
    for place, size in enumerate(sizes):
        for admission in batches.ADMISSIONS:
            alike = admission == "knapsack"
            smd = ours[place] if alike else optimus[place]
            means: dict[Policy, float] = {
                "SMD": smd,
                "Optimus": smd - equal[0] if alike else optimus[place],
                "ESW": smd - equal[1] * (place + 1) if alike else esw[place],
            }
            for policy, mean in means.items():
                totals[size, policy, admission] = [mean + draw for draw in (-1.0, 0.0, 1.0)]
    return utility.UtilityStudy(totals, sizes, SEEDS)


@pytest.mark.parametrize(
    ("study", "verdict", "said"),
    [
        pytest.param(study_of((100, 200), (50, 60), (40, 50)), "partly", "above Optimus (knapsack), at 1", id="tied"),
        pytest.param(
            study_of((100, 200), (99, 60), (40, 50)), "partly", "(first come), at 1 unit (100.0", id="no gain"
        ),
        pytest.param(study_of((100, 101), (50, 60), (40, 50)), "partly", "more gained on Optimus (first", id="shrinks"),
        pytest.param(study_of((100, 101), (100, 101), (100, 101)), "different", "above ESW (first come)", id="none"),
    ],
)
def test_the_verdict_of_figure_7(monkeypatch, study, verdict, said):
    monkeypatch.setattr(utility, "run_study", lambda *_: study)
    outcome = find("smd-7").run(Setting())
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert "uncertain" not in outcome.why
    json.dumps(outcome.data, allow_nan=False)


def test_figure_7_is_the_same_where_smd_is_far_above_with_either_admission(monkeypatch):
    study = study_of((100, 200), (50, 60), (40, 50), equal=(20, 20))
    grown = {
        (size, policy, admission): [
            total - (20 if policy == "Optimus" and admission == "knapsack" and size.units == 2 else 0)
            for total in values
        ]
        for (size, policy, admission), values in study.results.items()
    }
    monkeypatch.setattr(utility, "run_study", lambda *_: utility.UtilityStudy(grown, study.sizes, SEEDS))
    outcome = find("smd-7").run(Setting())
    assert outcome.verdict == "same"
    assert "Every part" in outcome.why


@pytest.mark.parametrize(("less", "unsure"), [(0.003, False), (3.0, True)])
def test_more_draws_are_asked_for_only_where_something_is_to_gain(less, unsure):
    """Optimus (knapsack) has 0, 0 and ``less`` below 200 in three draws: at most 1.8 x less, against 0.5% of 200."""
    study = study_of((100, 200), (50, 60), (40, 50))
    totals = {key: list(values) for key, values in study.results.items()}
    totals[study.sizes[1], "Optimus", "knapsack"][2] -= less
    checks = utility.checks_of(utility.UtilityStudy(totals, study.sizes, SEEDS), "units")
    (check,) = [one for one in checks if one.text.startswith("more gained on Optimus (knapsack)")]
    assert (check.holds, check.unsure) == (False, unsure)


@pytest.mark.parametrize(
    ("less", "words"),
    [
        (0.0, "Optimus ties SMD within 0.5%: under 0.01% apart in any of 6 batches."),
        (0.4, "Optimus ties SMD within 0.5%: at most 0.4% apart in any of 6 batches."),
        (1.98, "Optimus does not tie SMD within 0.5%: up to 2% apart in 6 batches."),
    ],
)
def test_whether_optimus_ties_is_computed(less, words):
    """The furthest batch is the least one of the smaller size: 100 - 1 = 99."""
    assert utility.tie_sentence(study_of((100, 200), (50, 60), (40, 50), equal=(less, 0))).endswith(words)


def test_gains_are_smd_with_the_knapsack_less_the_other_paired_by_seed():
    study = study_of((100, 200), (50, 60), (40, 50))
    gain = study.gain(study.sizes[1], "ESW", "first come")
    assert (gain.mean, gain.half_width, gain.n) == (150, 0, 3)
    assert study.growth_with_size("ESW", "first come").mean == (200 - 50) - (100 - 40)


def test_how_much_of_the_gain_is_admission():
    """SMD and Optimus come to 50 and 60 first come: all of it; to 75 and 130 and to 50 and 60: 25 + 70 of 50 + 140."""
    study = study_of((100, 200), (50, 60), (40, 50))
    assert (
        utility.admission_sentence(study)
        == "Of SMD's gain on Optimus (first come), about 100% comes from admission control."
    )
    better = {
        key: [total + {1: 25, 2: 70}[key[0].units] for total in totals] if key[1:] == ("SMD", "first come") else totals
        for key, totals in study.results.items()
    }
    words = utility.admission_sentence(utility.UtilityStudy(better, study.sizes, SEEDS))
    assert words == "Of SMD's gain on Optimus (first come), about 50% comes from admission control."


@pytest.mark.parametrize("key", ["smd-7", "smd-8", "smd-9", "smd-10"])
def test_figures_7_to_10_in_small(monkeypatch, key):
    monkeypatch.setattr(utility, "QUICK_SEEDS", (1, 2))
    told: list[float] = []
    outcome = find(key).run(Setting(quick=True, progress=lambda share, _: told.append(share)))
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    sizes = ["1", "2", "3", "4", "5"] if data["over"] == "units" else ["20", "40", "60", "80", "100"]
    for admissions in data["total_utility"].values():
        assert list(admissions) == list(batches.ADMISSIONS)
        for totals in admissions.values():
            assert list(totals) == sizes
        # with as many jobs or more room, and free choice, the best set is worth more
        best = [admissions["knapsack"][size]["mean"] for size in sizes]
        assert best == sorted(best)
        for admission in ("first come", "first come, others pass"):
            assert all(mine["mean"] <= top for mine, top in zip(admissions[admission].values(), best, strict=True))
    for size in sizes:
        totals = {policy: data["total_utility"][policy]["knapsack"][size]["mean"] for policy in batches.METHODS}
        assert totals["SMD"] >= totals["Optimus"] * (1 - 1e-9)
        assert totals["SMD"] >= totals["ESW"] * (1 - 1e-9)
    assert told == [0.5, 1.0]
    assert "With equal admission Optimus ties SMD" in outcome.ours


def test_theorem_5_by_hand():
    """Times are 1.01 x (24 + 4) as long."""
    unit_s = 36_000.0  # so long times are worth something, but not all of it
    batch = replace(batches.draw_batch(ServerJobsSpec(jobs=4), 2), unit_s=unit_s)
    choices, jobs = batch.choices("SMD"), batch.jobs
    assert jobs.utility_1 is not None
    assert jobs.utility_2 is not None
    assert jobs.utility_3 is not None
    late = jobs.work * np.array([one.time for one in choices]) / unit_s * 1.01 * 28 - jobs.utility_3
    expected = 0.99 * jobs.utility_1 / (1 + np.exp(jobs.utility_2 * late))
    assert (expected[[1, 2]] > 1).all()
    assert (expected[[0, 1]] < 0.97 * jobs.utility_1[[0, 1]]).all()
    assert ratio.theorem_5(batch, choices) == pytest.approx(expected, rel=1e-6)


@pytest.fixture
def few_jobs(monkeypatch):
    monkeypatch.setattr(ratio, "JOBS", (2, 5))
    monkeypatch.setattr(ratio, "QUICK_SEEDS", (1, 2))


def test_figure_11_in_small(few_jobs):
    outcome = find("smd-11").run(QUICK)
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    assert list(data["ratio"]) == list(ratio.VARIANTS)
    for variant, by_updates in data["ratio"].items():
        for updates, means in by_updates.items():
            assert list(means) == ["2", "5"]
            assert all(0 < one["mean"] <= 1 + 1e-9 for one in means.values())
            assert data["least_ratio"][variant][updates] <= min(one["mean"] for one in means.values()) + 1e-12
    assert {one["mean"] for one in data["ratio"][ratio.EXACT]["sync"].values()} == {1.0}
    # 5 jobs of at most 20 instances fit into 1000: admission decides nothing
    assert data["batches_that_fit_together"] == 2 * 2 * 2
    assert {one["mean"] for one in data["ratio"][ratio.EXACT_INNER]["async"].values()} == {1.0}
    assert data["ratio"][ratio.STUDY] == data["ratio"][ratio.EXACT_OUTER]
    assert data["bound_with_our_subsets"] == guarantee(1, len(RESOURCES)) == 0
    assert "sets of 399 jobs" in outcome.why
    assert guarantee(399, len(RESOURCES)) == pytest.approx(1 - batches.EPSILON)


def ratios_of(sync, asynchronous) -> ratio.RatioStudy:
    """Return ratios by number of jobs; the theorem promises 0.1."""
    means = {"sync": sync, "async": asynchronous}
    spread = (-1e-4, 0.0, 1e-4)
    ratios = {
        (variant, updates, jobs): [means[updates][place] + draw for draw in spread]
        for variant in ratio.VARIANTS
        for updates in ratio.KINDS
        for place, jobs in enumerate(ratio.JOBS)
    }
    bound = {(ratio.BOUND, updates, jobs): [0.1] * 3 for updates in ratio.KINDS for jobs in ratio.JOBS}
    return ratio.RatioStudy(ratios | bound, SEEDS, 0)


@pytest.mark.parametrize(
    ("sync", "asynchronous", "verdict", "said"),
    [
        pytest.param((0.90, 0.91), (0.95, 0.96), "same", "Every part", id="all of it"),
        pytest.param((0.97, 0.98), (0.95, 0.96), "partly", "sync below that of async, at 2 jobs", id="sync better"),
        pytest.param((0.91, 0.90), (0.95, 0.96), "partly", "larger with 5 jobs than with 2, sync", id="falls"),
        pytest.param((0.05, 0.05), (0.05, 0.05), "different", "above the theorem's bound, sync", id="below the bound"),
    ],
)
def test_the_verdict_of_figure_11(monkeypatch, few_jobs, sync, asynchronous, verdict, said):
    study = ratios_of(sync, asynchronous)
    monkeypatch.setattr(ratio, "run_study", lambda _: study)
    outcome = find("smd-11").run(Setting())
    assert outcome.verdict == verdict
    assert said in outcome.why
    assert "Theorem 5 promises at most 0.1" in outcome.ours


def test_what_is_used_of_what_is_reserved_by_hand():
    """The first and the last job are in: (2 + 3) / (4 + 6) and (1 + 0) / (1 + 3)."""
    using, reserved = np.array([[2.0, 1], [9, 9], [3, 0]]), np.array([[4.0, 1], [9, 9], [6, 3]])
    assert used.share_used(using, reserved, np.array([True, False, True])) == pytest.approx([0.5, 0.25])


def shares_of(smd: float, esw: float) -> used.UseStudy:
    """Return shares that are the same in every case."""
    mean = {"SMD": smd, "ESW": esw, "Optimus": smd}
    shares = {
        (case, capacity, jobs, policy, admission): [np.full(4, mean[policy] + draw) for draw in (-0.01, 0.0, 0.01)]
        for case in used.SETUPS
        for capacity in used.CAPACITIES
        for jobs in used.JOBS
        for policy in batches.METHODS
        for admission in batches.ADMISSIONS
    }
    return used.UseStudy(shares, SEEDS)


@pytest.mark.parametrize(
    ("smd", "esw", "verdict", "said"),
    [
        pytest.param(0.40, 0.6, "same", "Every part", id="all of it"),
        pytest.param(0.49, 0.6, "partly", "Too uncertain to say: 30% to 50% used", id="near the edge"),
        pytest.param(0.55, 0.6, "partly", "Not seen: 30% to 50% used", id="more"),
        pytest.param(0.20, 0.1, "different", "less used than by ESW", id="less, and ESW less"),
    ],
)
def test_the_verdict_of_figure_12(monkeypatch, smd, esw, verdict, said):
    study = shares_of(smd, esw)
    monkeypatch.setattr(used, "run_study", lambda _: study)
    outcome = find("smd-12").run(Setting())
    assert outcome.verdict == verdict
    assert said in outcome.why


def test_figure_12_in_small(monkeypatch):
    monkeypatch.setattr(used, "JOBS", (10, 20))
    monkeypatch.setattr(used, "QUICK_SEEDS", (1, 2))
    outcome = find("smd-12").run(QUICK)
    data = json.loads(json.dumps(outcome.data, allow_nan=False))
    assert set(data["used_of_reserved"]) == {"instances", "units"}
    for by_case in data["used_of_reserved"].values():
        assert len(by_case) == len(used.SETUPS)
        for by_policy in by_case.values():
            for by_admission in by_policy.values():
                assert list(by_admission) == list(batches.ADMISSIONS)
                assert all(0 < one["mean"] <= 1 for shares in by_admission.values() for one in shares.values())
    first = used.SETUPS[0].words
    by_resource = data["used_of_reserved_by_resource"][first]["20"]
    mean = data["used_of_reserved"]["instances"][first]["SMD"]["knapsack"]["20"]["mean"]
    assert np.mean(list(by_resource.values())) == pytest.approx(mean)
    # 20 jobs reserve at most 400 of 1000 instances: who gets in does not matter
    assert data["used_of_reserved"]["instances"][first]["SMD"]["first come"]["20"]["mean"] == pytest.approx(mean)
