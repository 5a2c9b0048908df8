"""Whole scenarios of the ModelArts study, a run by hand, files; the jobs of any scenario on whole nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.columns import GANG_COLUMNS
from dlsched.domain.errors import InputError
from dlsched.domain.plan import Step
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.truth import realise
from dlsched.domain.workload import Workload
from dlsched.metrics.summary import summarise
from dlsched.sim.prepare import prepare
from dlsched.speed import build_speed
from dlsched.studies.simulation import simulate as run_policy
from dlsched.workload.fill import fill
from dlsched.workload.generators.fill_rules import DueRule
from dlsched.workload.import_report import fit_of, offered_load
from dlsched.workload.scenario_file import read_scenario, scenario_bytes
from dlsched.workload.speed_curves import give_curve
from dlsched.workload.studies.hell_knee import sample_stream
from dlsched.workload.studies.modelarts import (
    VARIANTS,
    ModelArtsSpec,
    modelarts_scenario,
    node_hours_of,
    nodes_asked,
    on_whole_nodes,
    sample_elastic,
)
from dlsched.workload.studies.registry import drawn_scenario
from tests.support.assumptions import read, words_of
from tests.support.known import known
from tests.support.server_scenarios import training, with_servers
from tests.support.sim_fakes import Fake, script, simulate

SMALL = ModelArtsSpec(nodes=6, jobs=40)
BIG_NODES = Cluster(pools=(Pool(vm=VmType(name="8 x A100", gpu_type="A100", gpus=8), count=5),))


def trace(gpus, run_s, cluster=BIG_NODES, **columns):
    """A trace of one-GPU workers."""
    jobs = Workload.from_columns(
        {
            "job_id": [f"t{row}" for row in range(len(gpus))],
            "submit_s": np.arange(len(gpus)) * 60.0,
            "work": run_s,
            "workers": gpus,
            **columns,
        }
    )
    return Scenario(workload=jobs, cluster=cluster)


def test_a_scenario_has_nodes_a_law_and_says_what_is_assumed():
    scenario = modelarts_scenario(ModelArtsSpec(nodes=110, load_scale=2, requested=(3, 1)), 3)
    (pool,) = scenario.cluster.pools
    assert (pool.count, pool.vm.gpus) == (110, 8)
    assert (scenario.data_kind, scenario.seed, scenario.name) == ("generated", 3, "Elastic training")
    assert (scenario.speed.kind, scenario.speed.efficiency) == ("scaling", 0.8)
    assert scenario.options == SimulationRules()
    words = "\n".join(words_of(scenario))
    assert "synthetic trace: 447 of 1,252 jobs are long; means and time span as published, the rest assumed" in words
    assert "scaled to the published time span, 2 times as dense" in words
    assert "a lognormal tail, sigma 1.5" in words
    assert "nodes requested: 75% for 1, 25% for 2" in words
    assert "powers of two from 1 to 16" in words
    assert "twice the nodes give 1.6 times the speed" in words
    assert "left out" not in words
    assert modelarts_scenario(SMALL, name="mine").name == "mine"
    baseline = "\n".join(words_of(modelarts_scenario(ModelArtsSpec(only_long=True))))
    assert "jobs shorter than 5 minutes left out" in baseline
    assert "every job requests 1" in baseline
    assert "times as dense" not in baseline


def test_the_sample():
    scenario = sample_elastic()
    assert (scenario.name, scenario.data_kind) == ("Elastic training, 110 nodes", "example")
    assert (len(scenario.workload), scenario.cluster.num_nodes, scenario.seed) == (447, 110, 1)


def test_load_is_that_of_the_published_statistics():
    # 447 jobs of 232.6 min on one node each over 49 h 41 min 38 s on 70 nodes: 0.498
    scenario = modelarts_scenario(ModelArtsSpec(jobs=1252 * 50, only_long=True, nodes=70, sigma=1.2), 1)
    assert offered_load(scenario.workload, scenario.cluster) == pytest.approx(0.498, rel=0.01)
    assert node_hours_of(scenario) / 50 == pytest.approx(447 * 232.6 / 60, rel=0.01)
    fit = fit_of(scenario.workload, scenario.cluster)
    assert (fit.never_fit, fit.not_modelled) == ((), ())
    denser = modelarts_scenario(ModelArtsSpec(load_scale=2), 1)
    plain = modelarts_scenario(ModelArtsSpec(), 1)
    assert offered_load(denser.workload, denser.cluster) == pytest.approx(
        2 * offered_load(plain.workload, plain.cluster)
    )


@pytest.mark.parametrize("asked", [1, 4])
def test_a_job_takes_its_node_hours_on_every_width(asked):
    shares = (1.0,) if asked == 1 else (0.0, 0.0, 1.0)
    scenario = modelarts_scenario(ModelArtsSpec(nodes=16, jobs=1, requested=shares))
    hours = node_hours_of(scenario)
    assert hours == pytest.approx(scenario.workload.work[0] / 3600 * {1: 1.0, 4: 2.56}[asked])
    for width, rate in ((1, 1.0), (2, 1.6), (8, 4.096), (16, 6.5536)):
        prepared = prepare(scenario, 0)
        log = simulate(scenario, Fake(script({0.0: {0: (Step(width),)}})))
        metrics = summarise(prepared.scenario, prepared.truth, log)
        assert metrics["jct_mean"] == pytest.approx(3600 * hours / rate)
        assert metrics["gpu_hours_held"] == pytest.approx(8 * width * hours / rate)


@pytest.mark.parametrize("policy", ["fifo", "srtf", "hell-malleable"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rigid_and_elastic_policies_run_every_variant(policy, variant):
    done = run_policy(modelarts_scenario(SMALL, 2, options=VARIANTS[variant]), policy)
    assert done.audit() == []
    counts = [known(done.metrics[name]) for name in ("completed", "failed", "cancelled", "unfinished")]
    assert sum(counts) == 40
    assert (done.metrics["completed"] == 40) == (variant != "mishaps")


def test_variants_are_the_shares_of_the_study():
    spec = ModelArtsSpec(jobs=20_000, only_long=True)
    scenario = modelarts_scenario(spec, 1, options=VARIANTS["mishaps"])
    truth, work = realise(scenario), scenario.workload.work
    jobs = len(work)
    deviation = 4 * np.sqrt(0.25 / jobs)
    assert truth.is_bug.mean() == pytest.approx(0.15, abs=deviation)
    assert truth.work[truth.is_bug].max() <= 300
    assert np.isfinite(truth.cancel_s).mean() == pytest.approx(0.1, abs=deviation)
    off = truth.believed_work / work - 1
    assert (np.abs(off).max() <= 0.1, np.abs(off).max() > 0.099) == (True, True)
    exact = realise(modelarts_scenario(spec, 1, options=VARIANTS["delay"]))
    np.testing.assert_array_equal(exact.believed_work, work)
    assert (VARIANTS["delay"].restart_s, VARIANTS["delay"].restart_mode) == (15, "delayed")


def test_a_generator_named_on_the_command_line_makes_the_same_scenario():
    made = drawn_scenario({"kind": "modelarts", "nodes": "6", "jobs": "40"}, 5)
    assert made.content_hash == modelarts_scenario(SMALL, 5).content_hash
    assert words_of(made) == words_of(modelarts_scenario(SMALL, 5))


def test_another_run_seed_draws_other_jobs():
    scenario = modelarts_scenario(SMALL, 1)
    assert prepare(scenario, 0).scenario.workload == scenario.workload
    assert prepare(scenario, 1).scenario.workload == modelarts_scenario(SMALL, 2).workload


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_files_hold_the_whole_scenario(tmp_path, kind):
    scenario = modelarts_scenario(ModelArtsSpec(nodes=8, jobs=30, requested=(1, 0, 1)), 2, options=VARIANTS["mishaps"])
    path = tmp_path / f"s.{kind}"
    path.write_bytes(scenario_bytes(scenario, kind))
    again = read_scenario(path)
    assert again.content_hash == scenario.content_hash
    assert (words_of(again), again.name) == (words_of(scenario), scenario.name)


def test_due_times_are_filled_by_the_widest_width():
    scenario = fill(modelarts_scenario(SMALL, 1), DueRule(low=2, high=2))
    jobs = scenario.workload
    np.testing.assert_allclose(known(jobs.due_s), jobs.submit_s + 2 * jobs.work / 6.5536, atol=0.002)
    assert known(scenario.generator)["kind"] == "filled"
    np.testing.assert_array_equal(prepare(scenario, 0).scenario.workload.work, jobs.work)


def test_jobs_with_servers_on_whole_nodes_are_timed_in_seconds_and_leave_their_servers():
    # 10 steps of 6/2 + 1 + 2 = 6 s with what the job asks for
    jobs = on_whole_nodes(with_servers(training((0, 10, 2, 1), limit_cpus=[9.0])), nodes=2).workload
    assert (jobs.work.tolist(), jobs.workers.tolist()) == ([60], [1])
    assert not {column.name for column in GANG_COLUMNS} & set(jobs.columns())


def test_a_trace_on_whole_nodes_by_hand():
    given_trace = trace([1, 8, 9, 24, 40, 64], [100.0, 200, 300, 400, 500, 600])
    assert nodes_asked(given_trace).tolist() == [1, 1, 2, 4, 8, 8]
    made = on_whole_nodes(given_trace, most_nodes=4)
    jobs = made.workload
    assert jobs.workers.tolist() == [1, 1, 2, 4, 8, 8]
    assert jobs.work.tolist() == [100, 200, 300, 400, 500, 600]
    assert (set(known(jobs.min_workers)), known(jobs.max_workers).tolist()) == ({1}, [4, 4, 4, 4, 8, 8])
    assert (jobs.gpus_per_worker == 8).all()
    # D r(g): r = 1, 1, 1.6, 2.56, 4.096, 4.096
    assert node_hours_of(made) * 3600 == pytest.approx(100 + 200 + 480 + 1024 + 2048 + 2457.6)
    alone_s = jobs.work / build_speed(made.speed, jobs).rates(np.arange(6), np.ones(6, np.int64))
    assert alone_s.sum() == pytest.approx(node_hours_of(made) * 3600)
    assert made.cluster == BIG_NODES
    assert "whole nodes of 8 GPUs, a power of two of them; 4 of 6 jobs request fewer GPUs" in words_of(made)


def test_what_does_not_concern_nodes_stays():
    columns = {"gpus_per_worker": [1, 0, 0.5], "cpus_per_worker": [4, 4, 4], "user": ["a", "b", "a"]}
    given_trace = trace([2, 1, 3], [60.0, 70, 80], **columns)
    made = on_whole_nodes(given_trace.replace(seed=7, name="mine", assumptions=read("kept")))
    assert known(made.workload.user).tolist() == ["a", "b", "a"]
    assert made.workload.workers.tolist() == [1, 1, 1]
    assert made.workload.cpus_per_worker is None
    assert (made.seed, made.name, made.data_kind, words_of(made)[0]) == (7, "mine", "trace", "kept")


def test_other_clusters_are_replaced():
    small = Cluster(pools=(Pool(vm=VmType(name="4 x T4", gpu_type="T4", gpus=4), count=50),))
    given_trace = trace([16, 4], [600.0, 600.0], small)
    made = on_whole_nodes(given_trace.replace(assumptions=read("Default cluster: 50 x 4 x T4")))
    assert (made.cluster.num_nodes, made.cluster.num_gpus) == (3, 24)
    (about,) = [note for note in words_of(made) if "Default cluster" in note]
    assert "3 x 8-GPU node" in about
    assert on_whole_nodes(given_trace, nodes=9).cluster.num_nodes == 9


def test_a_stream_keeps_its_run_times_and_loses_its_curves():
    before = sample_stream()
    made = on_whole_nodes(before)
    assert made.speed == SpeedSpec(kind="scaling", efficiency=0.8)
    np.testing.assert_allclose(made.workload.work, before.workload.work)
    assert (made.generator, made.workload.profile) == (None, None)
    assert sum("speed curve" in note for note in words_of(made)) == 1
    assert run_policy(made, "fifo").audit() == []
    # and the other way round: curves of the user replace the law
    curved = give_curve(on_whole_nodes(trace([8], [60.0])), {"c": [1.0] * 8}, "mine")
    assert [note for note in words_of(curved) if "speed curve" in note] == ["speed curve: mine"]


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=8))
def test_nodes_asked_are_the_least_power_of_two_that_holds_the_gpus(gpus):
    asked = nodes_asked(trace(gpus, [60.0] * len(gpus)))
    for nodes, count in zip(asked.tolist(), gpus, strict=True):
        assert nodes.bit_count() == 1
        assert nodes * 8 >= count
        assert nodes == 1 or nodes * 4 < count


def test_whole_nodes_twice_is_once():
    once = on_whole_nodes(trace([1, 20], [100.0, 200.0]))
    assert on_whole_nodes(once).content_hash == once.content_hash


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"most_nodes": 12}, "most nodes per job: must be a power of two, got 12"),
        ({"most_nodes": 0}, "must be a power of two, got 0"),
        ({"nodes": 0}, "nodes of the cluster: must be from 1 to 100,000, got 0"),
    ],
)
def test_wrong_sizes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        on_whole_nodes(trace([8], [60.0]), **arguments)
