"""Fits of logs whose scheduler is known, measures by hand, and what cannot be fitted."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmLimits, SlurmOptions, SlurmQos, SlurmSetup
from dlsched.domain.workload import CPU, Workload
from dlsched.studies.calibration.measures import Measures, measures
from dlsched.studies.calibration.record import halves, record_of
from dlsched.studies.fitting import Fit, read_spec, run_fit
from dlsched.studies.fitting import run as fitting_run
from dlsched.studies.fitting.answer import bands_of, ceiling_of
from dlsched.studies.fitting.families import PARTS, Ground, Setting, coordinates, given_in, ground_of, policy_of
from dlsched.studies.fitting.judged import judged_scenario
from dlsched.studies.fitting.replay import Replay, Replayed, replayed, shaken, withheld, without_nodes
from dlsched.studies.fitting.search import Score
from dlsched.studies.fitting.training import judged_in, known_before, nodes_before
from dlsched.studies.fitting.words import MEANS, band_words, counted, nearer_words, sentence, trust_caveat, unexplained
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import simulate
from dlsched.workload.load import load, scenario_of
from dlsched.workload.readers import read_trace
from dlsched.workload.scenario_file import write_scenario
from tests.support.recorded_jobs import recorded_scenario
from tests.support.sacct_log import busy_scenario, sacct_log

REPLAYS = 3


def fitted(scenario: Scenario, **more: Any) -> Fit:
    spec = read_spec({"scenario": scenario.content_hash, "replays": REPLAYS, **more})
    return run_fit(spec, scenario)


def with_capacity(nodes: int, usable: int, policy: str = "easy-backfill") -> Scenario:
    """Return a log of jobs on nodes of 8 GPUs of which only the first ones could be used, on all its nodes."""
    rng = np.random.default_rng(11)
    count = 600
    jobs = Workload.from_columns({
        "job_id": [f"job {n}" for n in range(count)],
        "submit_s": np.sort(rng.uniform(0, count * 1300.0, count)).round(),
        "work": rng.lognormal(8, 1, count).round() + 1,
        "workers": rng.choice([1, 2, 4, 8, 16], count),
        "gpus_per_worker": np.ones(count),
        "user": rng.choice([f"u{n}" for n in range(9)], count).tolist(),
    })  # fmt: skip
    eight = VmType(name="eight", gpus=8)
    run = simulate(Scenario(jobs, Cluster(pools=(Pool(vm=eight, count=usable),))), policy)
    recorded = jobs.with_columns(
        recorded_start_s=run.log.job_first_start_s, recorded_end_s=run.log.job_end_s,
        recorded_status=["completed"] * count,
    )  # fmt: skip
    return Scenario(recorded, Cluster(pools=(Pool(vm=eight, count=nodes),)), name="withheld")


def test_a_log_of_easy_backfill_is_fitted_by_easy_backfill() -> None:
    answer = fitted(recorded_scenario("easy-backfill", jobs=300))
    assert (answer.learned.policy, answer.learned.setting) == ("easy-backfill", Setting())
    assert answer.measures.grade == "replays"
    assert answer.measures.typical_factor == pytest.approx(1, abs=0.01)
    assert answer.measures.jobs + answer.first_jobs < 300
    assert answer.judged.of("easy-backfill").second == answer.measures
    assert answer.judged.of("fifo").second.mean_factor > 1.05
    assert {one.audit for one in answer.judged.replays} == {()}
    assert Fit.from_plain(answer.to_plain()) == answer


def test_effective_capacity_comes_back_from_the_first_half() -> None:
    answer = fitted(with_capacity(10, 6))
    assert answer.learned.setting == Setting(capacity=0.6)
    assert (answer.learned.nodes, answer.learned.usable_nodes) == (10, 6)
    assert [one.part for one in answer.families if one.kept] == [None, "capacity"]
    assert answer.measures.grade == "replays"
    assert answer.judged.of("easy-backfill").second.grade != "replays"
    assert answer.judged.idle_wanted == pytest.approx(known(answer.fitted.idle_wanted), abs=0.02)


def test_jobs_that_left_without_a_start_wait_along_and_are_not_compared() -> None:
    """They block the head of a FIFO queue for as long as they stay: without them others start earlier."""
    scenario = with_capacity(5, 5)
    leaves = np.arange(len(scenario.workload)) % 9 == 4
    blank = scenario.workload.with_columns(
        workers=np.where(leaves, 40, scenario.workload.workers),  # all nodes, which are seldom free together
        recorded_start_s=None, recorded_end_s=None, recorded_status=None,
    )  # fmt: skip
    stays_s = np.where(leaves, 7200.0, np.nan)
    run = simulate(scenario.replace(workload=blank.with_columns(cancel_after_s=stays_s)), "fifo")
    never = np.isnan(run.log.job_first_start_s)
    assert 50 < never.sum() < 70
    recorded = blank.with_columns(
        cancel_after_s=np.where(never, stays_s, np.nan),
        work=np.where(never, blank.work, run.log.job_end_s - run.log.job_first_start_s),
        recorded_start_s=run.log.job_first_start_s, recorded_end_s=run.log.job_end_s,
    )  # fmt: skip
    answer = fitted(scenario.replace(workload=recorded))
    fifo, bare = answer.judged.of("fifo"), fitted(scenario.replace(workload=recorded.select(~never)))
    assert fifo.second.mean_factor == pytest.approx(1, abs=0.02)
    assert bare.judged.of("fifo").second.mean_factor > 1.05
    assert (answer.left, bare.left) == (never.sum(), 0)
    assert answer.judged.recorded == bare.judged.recorded == len(blank) - never.sum()
    assert 0 < answer.left_started <= answer.left  # EASY backfill has room where FIFO has none
    assert f"{answer.left} jobs that left without a start wait along and are not compared" in counted(answer)


def known(value: float | None) -> float:
    assert value is not None
    return value


def test_each_search_is_scored_on_its_own_part_of_the_first_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitted on the first quarter, chosen on the second alone, and looked for again on both."""
    scenario, asked, scorer = with_capacity(10, 6), [], fitting_run.scorer

    def noted(ground: Ground, from_s: float, until_s: float, *more: Any) -> Score:
        asked.append((len(ground.scenario.workload), from_s, until_s))
        return scorer(ground, from_s, until_s, *more)

    monkeypatch.setattr(fitting_run, "scorer", noted)
    answer = fitted(scenario)
    quarter, half = (len(known_before(scenario.workload, at_s)) for at_s in (answer.quarter_s, answer.half_s))
    assert quarter < half
    assert asked == [
        (quarter, 0.0, answer.quarter_s),
        (half, answer.quarter_s, answer.half_s),
        (half, 0.0, answer.half_s),
    ]


def test_what_judges_is_replayed_on_the_nodes_of_the_first_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """FIFO and EASY backfill have all of them all the time; the first replay of each policy is audited."""
    away = (Absence(node=3, start_s=0, end_s=60_000),)
    scenario = of_slurm({"bf_interval": 120}, away, 300)
    tasks: list[Replay] = []
    cuts: list[float] = []

    def noted_all(todo: Sequence[Replay], *more: Any, **options: Any) -> Any:
        tasks.extend(todo)
        return run_all(todo, *more, **options)

    def noted_nodes(scenario: Scenario, cut_s: float) -> Any:
        cuts.append(cut_s)
        return nodes_before(scenario, cut_s)

    monkeypatch.setattr(fitting_run, "run_all", noted_all)
    monkeypatch.setattr(fitting_run, "nodes_before", noted_nodes)
    answer = fitted(scenario)
    assert cuts == [answer.half_s]
    last = tasks[-3 * REPLAYS :]
    assert [task.policy for task in last] == [
        *[answer.learned.policy] * REPLAYS, *["fifo"] * REPLAYS, *["easy-backfill"] * REPLAYS,
    ]  # fmt: skip
    assert [task.scenario.cluster.absences for task in last] == [*[away] * REPLAYS, *[()] * (2 * REPLAYS)]
    assert [(task.shake, task.checked) for task in last] == [(n, n == 0) for _ in range(3) for n in range(REPLAYS)]


def test_a_job_that_never_starts_counts_as_if_it_waited_until_the_last_submission(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = recorded_scenario("fifo")
    jobs = scenario.workload
    monkeypatch.setattr(fitting_run, "run_all", lambda tasks, *_, **__: [Replayed(np.full(len(jobs), np.nan))])
    score = fitting_run.scorer(ground_of(scenario), 0.0, 1e9, None, None)  # type: ignore[arg-type]
    judged = judged_in(jobs, 0.0, 1e9)
    assert jobs.recorded_start_s is not None
    recorded_s, longest_s = (jobs.recorded_start_s - jobs.submit_s)[judged], (jobs.submit_s[-1] - jobs.submit_s)[judged]
    assert score([Setting()]) == [pytest.approx(np.abs(np.log((longest_s + 60) / (recorded_s + 60))).mean())]


def test_what_is_described_is_not_learned() -> None:
    scenario = of_slurm({}, count=100)
    limits, weights = SlurmLimits(MaxJobsPU=2), SlurmOptions(PriorityWeightAge=10)
    assert given_in(scenario) == ()
    assert {part for part in PARTS if coordinates(part, ground_of(scenario))} >= {"limits", "order"}
    described = scenario.replace(slurm=SlurmSetup(qos=(SlurmQos(name="q", limits=limits),)))
    assert given_in(described) == ("limits",)
    assert coordinates("limits", ground_of(described)) == {}
    assert coordinates("order", ground_of(described))
    described = scenario.replace(slurm=SlurmSetup(options=weights))
    assert given_in(described) == ("order",)
    assert coordinates("order", ground_of(described)) == {}


def test_a_setting_is_followed_by_the_parameters_of_slurm() -> None:
    ground = ground_of(of_slurm({}, count=100))
    small, cores = Setting(size=-0.3, user_jobs=4), Setting(size=0.3, user_width=48.0)
    assert policy_of(ground, small)[1].items() >= {
        "PriorityWeightJobSize": 30_000, "PriorityFavorSmall": "YES", "MaxJobsPerUser": 4,
    }.items()  # fmt: skip
    assert policy_of(replace(ground, resource=CPU), cores)[1].items() >= {
        "PriorityFavorSmall": "NO", "MaxCPUsPerUser": 48.0,
    }.items()  # fmt: skip
    assert policy_of(ground, cores)[1]["MaxGPUsPerUser"] == 48.0


def test_the_second_half_decides_nothing_that_is_learned() -> None:
    scenario = with_capacity(10, 6)
    jobs = scenario.workload
    assert jobs.recorded_start_s is not None
    plain = fitted(scenario)
    late = jobs.submit_s >= plain.half_s
    rng = np.random.default_rng(2)
    start_s = np.where(late, jobs.submit_s + rng.uniform(0, 1e5, len(jobs)), jobs.recorded_start_s)
    changed = jobs.with_columns(recorded_start_s=start_s, recorded_end_s=start_s + jobs.work)
    other = fitted(scenario.replace(workload=changed))
    assert other.learned == plain.learned
    assert other.families == plain.families
    assert other.measures != plain.measures
    assert other.measures.grade != "replays"


def test_the_numbers_are_those_of_the_mean_wait_of_the_replays() -> None:
    scenario = recorded_scenario("sjf", jobs=300)
    answer = fitted(scenario)
    jobs = scenario.workload
    assert jobs.recorded_start_s is not None
    tasks = [Replay(scenario, "fifo", shake=number) for number in range(REPLAYS)]
    waits = np.array([replayed(task).wait_s for task in tasks])
    second = jobs.submit_s >= answer.half_s
    recorded_s = (jobs.recorded_start_s - jobs.submit_s)[second]
    ratio = np.log((waits.mean(axis=0)[second] + 60) / (recorded_s + 60))
    fifo = answer.summary()["fifo"]
    assert fifo["n"] == second.sum()
    assert fifo["typical_factor"] == pytest.approx(np.exp(np.median(np.abs(ratio))))
    assert fifo["mean_factor"] == pytest.approx(np.exp(np.mean(np.abs(ratio))))
    assert fifo["within_2x"] == pytest.approx(np.mean(np.abs(ratio) <= np.log(2) + 1e-12))
    assert fifo["bias_s"] == pytest.approx((waits.mean(axis=0)[second] - recorded_s).mean())
    assert set(answer.summary()) >= {"typical_factor", "within_2x", "rank_correlation", "bias_s", "grade", "n", "easy"}


def test_processes_change_nothing() -> None:
    scenario = with_capacity(5, 4)
    spec = read_spec({"scenario": scenario.content_hash, "replays": 2})
    told: list[float] = []
    with ThreadPoolExecutor(2) as pool:
        assert run_fit(spec, scenario, pool, None, lambda done, _: told.append(done)) == run_fit(spec, scenario)
    assert told[-1] == 1
    assert max(told) <= 1


def test_what_progress_raises_stops_the_fit() -> None:
    class Stopped(Exception):
        pass

    def stop(done: float, text: str) -> None:
        raise Stopped

    scenario = with_capacity(5, 4)
    with pytest.raises(Stopped):
        run_fit(read_spec({"scenario": scenario.content_hash}), scenario, None, None, stop)


# ---- replays -----------------------------------------------------------------------------------------


def test_shaken_run_times_are_up_to_a_second_longer_and_the_same_again() -> None:
    scenario = recorded_scenario("fifo")
    one, _ = shaken(scenario, "fifo", {}, 0, 1)
    again, _ = shaken(scenario, "fifo", {}, 0, 1)
    other, _ = shaken(scenario, "fifo", {}, 0, 2)
    longer = one.workload.work - scenario.workload.work
    assert ((longer > 0) & (longer < 1)).all()
    assert np.array_equal(one.workload.work, again.workload.work)
    assert not np.array_equal(one.workload.work, other.workload.work)
    seeded, _ = shaken(scenario, "fifo", {}, 1, 1)
    assert not np.array_equal(one.workload.work, seeded.workload.work)


def test_shaken_passes_of_slurm_are_up_to_0_4_s_further_apart_and_a_second_later() -> None:
    scenario = recorded_scenario("fifo")
    moved = [shaken(scenario, "slurm", {"bf_interval": 60, "phase": 10}, 0, number)[1] for number in range(40)]
    for name, low, most in (("bf_interval", 60, 0.4), ("phase", 10, 1.0)):
        values = np.array([params[name] for params in moved])
        assert ((values > low) & (values < low + most)).all()
        assert np.ptp(values) > 0.8 * most


def test_nodes_that_are_not_used_are_the_last_of_each_type() -> None:
    small, large = VmType(name="small", gpus=2), VmType(name="large", gpus=8)
    absences = (Absence(node=1, start_s=0, end_s=5), Absence(node=4, start_s=1, end_s=6), Absence(node=6, start_s=2))
    cluster = Cluster(pools=(Pool(vm=small, count=4, nodes="a[1-4]"), Pool(vm=large, count=3)), absences=absences)
    fewer = without_nodes(cluster, 0.6)
    assert [(pool.count, pool.nodes) for pool in fewer.pools] == [(3, "a[1-3]"), (2, "")]
    assert [(one.node, one.start_s) for one in fewer.absences] == [(1, 0), (3, 1)]
    assert without_nodes(cluster, 1.0) == cluster
    gone = withheld(cluster.model_copy(update={"absences": ()}), 0.6).absences
    assert [(one.node, one.end_s, one.billed) for one in gone] == [(3, None, True), (6, None, True)]


def test_bands_and_ceiling_by_hand() -> None:
    recorded_s = np.array([0.0, 60.0, 540.0])
    replays = [np.array([0.0, 60.0, 540.0]), np.array([60.0, 60.0, 540.0])]
    bands = bands_of(recorded_s, replays)
    assert (bands.bias_s.mean, bands.bias_s.low, bands.bias_s.high) == pytest.approx((10, 2, 18))
    assert bands.within_2x.mean == 1
    assert ceiling_of(replays).typical_factor == pytest.approx(1)
    assert ceiling_of(replays).mean_factor == pytest.approx(2 ** (1 / 3))


# ---- words and refusals ------------------------------------------------------------------------------


def test_a_headline_says_which_policy_speaks() -> None:
    answer = fitted(with_capacity(10, 6))
    assert sentence(answer).startswith("Replays the log: typical factor 1.0")
    assert "fitted EASY backfill); FIFO" in sentence(answer)
    assert trust_caveat(answer, answer.learned.policy).is_mild
    assert "not of SJF" in trust_caveat(answer, "sjf").why
    assert trust_caveat(answer, "fifo").label.endswith(f"under FIFO (n = {answer.measures.jobs:,})")


def at_random(scenario: Scenario) -> Scenario:
    """Return the log with waits that no scheduler explains."""
    jobs = scenario.workload
    start_s = jobs.submit_s + np.random.default_rng(4).uniform(0, 1e5, len(jobs))
    return scenario.replace(workload=jobs.with_columns(recorded_start_s=start_s, recorded_end_s=start_s + jobs.work))


@pytest.mark.parametrize(
    ("log", "grade", "text"),
    [(recorded_scenario("easy-backfill", jobs=300), "replays", "Replays the log: "),
     (recorded_scenario("sjf", jobs=300), "ranks", "Ranks only: "),
     (at_random(recorded_scenario("fifo", jobs=300)), "fails", "Does not replay the log: ")],
    ids=["replays", "ranks", "fails"],
)  # fmt: skip
def test_words_claim_no_more_than_the_second_half_shows(log: Scenario, grade: str, text: str) -> None:
    """Each grade has its words, with n, and the band of single replays."""
    answer = fitted(log)
    assert answer.measures.grade == answer.summary()["grade"] == grade
    assert sentence(answer).startswith(text)
    assert f"(n = {answer.measures.jobs:,}" in sentence(answer)
    assert f"judged once on {answer.measures.jobs:,} jobs of the second half" in counted(answer)
    assert band_words(answer).startswith("Single replays: typical factor ")
    assert f"(80% of {REPLAYS})" in band_words(answer)
    caveat = trust_caveat(answer)
    assert (caveat.is_mild, caveat.is_bad) == (grade == "replays", grade == "fails")
    assert MEANS[answer.measures.grade] in caveat.why
    assert ("may carry numbers" in caveat.why) is (grade == "replays")


def test_where_fifo_replays_the_log_and_the_fitted_policy_does_not_that_is_said() -> None:
    """Backfill cannot be turned off by what is learned: no limit or priority explains such a log."""
    answer = fitted(recorded_scenario("fifo", jobs=300))
    assert answer.judged.of("fifo").second.grade == "replays"
    assert answer.measures.grade != "replays"
    told = unexplained(answer)
    assert len(told) == 1
    assert told[0].startswith("FIFO as it is replays the log: typical factor 1.0")
    assert told[0].endswith("FIFO). Compare with it as the baseline.")


def test_a_simpler_policy_that_comes_nearer_is_named_though_the_fitted_one_replays_too() -> None:
    answer = fitted(recorded_scenario("easy-backfill", jobs=300))
    assert nearer_words(answer) == ""  # it is EASY backfill itself
    own, fifo, easy = answer.judged.replays
    far, near = (own.second.model_copy(update={"mean_factor": factor}) for factor in (1.3, 1.1))

    def words(easy_now: Measures) -> str:
        replays = (own.model_copy(update={"second": far}), fifo, easy.model_copy(update={"second": easy_now}))
        judged = answer.judged.model_copy(update={"replays": replays})
        return nearer_words(answer.model_copy(update={"judged": judged}))

    said = "EASY backfill as it is comes nearer to the second half than what was fitted: mean factor 1.10x instead of"
    assert words(near).startswith(f"{said} 1.30x, typical factor 1.00x")
    assert words(near.model_copy(update={"explained": 0.1})) == ""  # it only ranks
    assert words(far) == ""


@pytest.mark.parametrize("kind", ["capacity", "size", "log"])
def test_the_scenario_that_is_kept_replays_what_was_judged(kind: str, tmp_path: Path) -> None:
    """Nodes set aside, fewer nodes where the size of a job is a share of the cluster, nodes and absences of a log."""
    log = {"capacity": lambda: with_capacity(10, 6), "size": lambda: with_capacity(10, 6), "log": log_of_sacct}[kind]()
    answer = fitted(log)
    if kind == "size":
        setting = answer.learned.setting.model_copy(update={"size": 0.3})
        policy, params = policy_of(ground_of(log), setting)
        learned = answer.learned.model_copy(update={"setting": setting, "policy": policy, "params": params})
        answer = answer.model_copy(update={"learned": learned})
    kept = judged_scenario(answer, log)
    assert (kept.cluster.num_nodes, len(kept.cluster.absences)) == {
        "capacity": (10, 4), "size": (6, 0), "log": (answer.learned.nodes, answer.learned.absences),
    }[kind]  # fmt: skip
    write_scenario(kept, str(tmp_path / "kept.json"))
    read = load(tmp_path / "kept.json")
    learned = answer.learned
    whole = log.replace(cluster=without_nodes(nodes_before(log, answer.half_s).cluster, learned.setting.capacity))
    judged = replayed(Replay(whole, learned.policy, learned.params)).wait_s
    run = simulate(read, learned.policy, learned.params)
    waits = run.jobs.set_index("job_id")["wait_s"].reindex(log.workload.job_id).to_numpy(float)
    np.testing.assert_array_equal(waits, judged)
    shaken_s = [
        replayed(Replay(read, learned.policy, learned.params, 0, number)).wait_s for number in range(REPLAYS)
    ]  # fmt: skip
    second = halves(record_of(log.workload))[1] & np.isfinite(np.mean(shaken_s, axis=0))
    found = measures(record_of(log.workload).wait_s[second], np.mean(shaken_s, axis=0)[second])
    assert found is not None
    assert kind == "size" or found.typical_factor == pytest.approx(answer.measures.typical_factor)


def log_of_sacct() -> Scenario:
    """Return a log as sacct prints it, of which the second half has nodes that the first one has not."""
    text = sacct_log(simulate(busy_scenario(300), "easy-backfill"))
    return scenario_of(read_trace(text.encode(), "log.txt"), "log")


def test_causes_are_named_only_where_there_is_something_to_explain() -> None:
    log = recorded_scenario("easy-backfill", jobs=300)
    jobs = log.workload
    at_once = jobs.with_columns(recorded_start_s=jobs.submit_s, recorded_end_s=jobs.submit_s + jobs.work)
    answer = fitted(log.replace(workload=at_once))
    assert answer.measures.grade == "fails"  # the cluster of this log has no room to start all jobs at once
    assert "none in the log on the second half" in sentence(answer)
    assert trust_caveat(answer).is_bad
    assert "nodes that the description lacks: give scontrol show nodes" in unexplained(answer)[0]
    roomy = Cluster(pools=(Pool(vm=VmType(name="eight", gpus=8), count=60),))
    answer = fitted(log.replace(workload=at_once, cluster=roomy))
    assert answer.measures.grade == "no-waits"
    assert unexplained(answer) == []


def test_what_cannot_be_fitted_is_refused_with_a_way_out() -> None:
    bare = recorded_scenario("fifo")
    with pytest.raises(InputError, match="none of 150 jobs has a recorded start"):
        fitted(bare.replace(workload=bare.workload.with_columns(recorded_start_s=None)))
    sample = bare.replace(cluster=Cluster(pools=(Pool(vm=VmType(name="eight", gpus=8), count=400),)))
    with pytest.raises(InputError, match="the file is a sample of the jobs"):
        fitted(sample)
    short = bare.replace(workload=bare.workload.select(slice(0, 60)))
    with pytest.raises(InputError, match="Give a longer log"):
        fitted(short)
    together = bare.workload.with_columns(submit_s=np.zeros(len(bare.workload)))
    with pytest.raises(InputError, match="submitted at the same time, so it has no two halves"):
        fitted(bare.replace(workload=together))
    with pytest.raises(InputError, match="asks about scenario x"):
        run_fit(read_spec({"scenario": "x"}), bare)


def test_period_and_limits_of_a_slurm_come_back_from_its_log() -> None:
    """Slurm with passes every 120 s and at most 12 GPUs of a user wrote the log."""
    rng = np.random.default_rng(5)
    count = 700
    user = rng.choice([f"u{n}" for n in range(4)], count)
    jobs = Workload.from_columns({
        "job_id": [f"job {n}" for n in range(count)],
        "submit_s": np.sort(rng.uniform(0, count * 1000.0, count)).round(),
        "work": rng.lognormal(8, 0.8, count).round() + 1,
        "limit_s": np.full(count, 200_000.0),
        "workers": rng.choice([1, 2, 4, 8], count),
        "gpus_per_worker": np.ones(count),
        "user": user.tolist(),
    }, {"format": "sacct"})  # fmt: skip
    bare = Scenario(jobs, Cluster(pools=(Pool(vm=VmType(name="eight", gpus=8), count=4),)))
    run = simulate(bare, "slurm", {"MaxGPUsPerUser": 12, "bf_interval": 120})
    recorded = jobs.with_columns(recorded_start_s=run.log.job_first_start_s, recorded_end_s=run.log.job_end_s)
    answer = fitted(bare.replace(workload=recorded))
    assert answer.learned.policy == "slurm"
    assert answer.learned.setting.user_width == 12
    assert answer.learned.params["MaxGPUsPerUser"] == 12
    assert answer.measures.grade == "replays"
    assert answer.judged.of("easy-backfill").second.mean_factor > answer.measures.mean_factor


def of_slurm(params: dict[str, Any], absences: tuple[Absence, ...] = (), count: int = 700) -> Scenario:
    """Return a log that Slurm wrote with these settings: 9 users of unequal use on 4 nodes of 8 GPUs, too many jobs."""
    rng = np.random.default_rng(7)
    jobs = Workload.from_columns({
        "job_id": [f"job {n}" for n in range(count)],
        "submit_s": np.sort(rng.uniform(0, count * 420.0, count)).round(),
        "work": rng.lognormal(8, 0.8, count).round() + 1,
        "limit_s": rng.choice([14_400.0, 43_200.0, 200_000.0], count),
        "workers": rng.choice([1, 2, 4, 8, 16], count, p=[0.3, 0.25, 0.2, 0.2, 0.05]),
        "gpus_per_worker": np.ones(count),
        "user": rng.choice([f"u{n}" for n in range(9)], count, p=[0.4, 0.2, 0.1, *[0.05] * 6]).tolist(),
    }, {"format": "sacct"})  # fmt: skip
    nodes = Cluster(pools=(Pool(vm=VmType(name="eight", gpus=8), count=4),), absences=absences)
    bare = Scenario(jobs, nodes, name="known")
    run = simulate(bare, "slurm", params)
    recorded = jobs.with_columns(recorded_start_s=run.log.job_first_start_s, recorded_end_s=run.log.job_end_s)
    return bare.replace(workload=recorded)


FAIR = {"PriorityWeightFairshare": 100_000, "PriorityDecayHalfLife_s": 86_400, "bf_interval": 60}
SMALL = {"PriorityWeightJobSize": 100_000, "PriorityFavorSmall": "YES", "bf_interval": 60}
AGED = {"PriorityWeightJobSize": 30_000, "PriorityWeightAge": 100_000, "bf_interval": 60}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "wanted"), [(FAIR, {"fair_share": 1.0}), (SMALL, {"sign": -1.0}), (AGED, {"sign": 1.0})]
)
def test_the_order_of_the_queue_comes_back(params: dict[str, Any], wanted: dict[str, float]) -> None:
    """Found are fair share, and which sizes go first; half-lives and weights that order alike cannot be told."""
    answer = fitted(of_slurm(params))
    setting = answer.learned.setting
    assert {"fair_share": setting.fair_share, "sign": np.sign(setting.size)}.items() >= wanted.items()
    assert answer.learned.params.get("bf_interval", 60) == pytest.approx(60, abs=0.1)  # few starts show no period
    easy = answer.judged.of("easy-backfill").second
    assert answer.measures.mean_factor < easy.mean_factor
    assert known(answer.measures.rank_correlation) > known(easy.rank_correlation)


def test_what_our_slurm_did_with_nodes_away_is_replayed_at_least_as_near_as_by_easy() -> None:
    away = (Absence(node=3, start_s=0, end_s=60_000), Absence(node=2, start_s=200_000, end_s=260_000))
    answer = fitted(of_slurm({"bf_interval": 120}, away, 500))
    assert known(answer.learned.period_s) == pytest.approx(120, abs=0.5)
    assert answer.measures.mean_factor <= answer.judged.of("easy-backfill").second.mean_factor
    assert answer.learned.setting == Setting()
