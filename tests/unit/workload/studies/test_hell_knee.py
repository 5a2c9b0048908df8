"""Whole scenarios of training jobs, a run by hand, files and store; speed curves for the jobs of a trace."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.plan import Step
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.metrics.summary import summarise
from dlsched.sim.prepare import prepare
from dlsched.speed import build_speed
from dlsched.store import Store
from dlsched.studies.simulation import simulate as run_policy
from dlsched.workload.defaults import default_cluster
from dlsched.workload.fill import fill
from dlsched.workload.generators.fill_rules import DueRule
from dlsched.workload.import_report import fit_of, offered_load
from dlsched.workload.load import load
from dlsched.workload.scenario_file import read_scenario, scenario_bytes, to_document, write_scenario
from dlsched.workload.speed_curves import give_curve
from dlsched.workload.studies.hell_knee import StreamSpec, mean_alone_s, sample_stream, stream_scenario
from dlsched.workload.studies.registry import drawn_scenario
from tests.support.assumptions import read, words_of
from tests.support.known import known
from tests.support.sim_fakes import Fake, script, simulate

ONE = StreamSpec.model_validate(
    {
        "nodes": 3,
        "jobs": 1,
        "network_model": "exact",
        "networks": [
            {
                "name": "quick",
                "times": {"worker_s": 1.0, "uplink_s": 0.5, "server_s": 0.0, "downlink_s": 0.5},
                "steps_per_epoch": 10,
                "epochs": 5,
                "epoch_variance": 0,
            }
        ],
    }
)
SMALL = StreamSpec(nodes=20, jobs=40)


def test_a_scenario_has_nodes_curves_and_says_what_is_assumed():
    scenario = stream_scenario(StreamSpec(nodes=40, jobs=30, load=0.6), 3)
    (pool,) = scenario.cluster.pools
    assert (pool.count, pool.vm) == (40, VmType(name="K520 node", gpu_type="K520", gpus=1))
    assert (scenario.data_kind, scenario.seed, scenario.name) == ("generated", 3, "Training jobs")
    assert known(scenario.speed.times).most_gpus == 40
    words = "\n".join(words_of(scenario))
    assert "closed queueing network, links between shared and one at a time" in words
    assert "one node is a worker with its server; of several, one is the server" in words
    assert "epochs: normal, variance 2, at least 0.01" in words
    assert "NiN, GoogLeNet, AlexNet, VGG19 as in Table III" in words
    assert "model size over 1 Gbit/s" in words
    assert "Poisson arrivals, load 0.6" in words
    assert stream_scenario(SMALL, name="mine").name == "mine"


def test_assumptions_follow_the_specification():
    words = "\n".join(words_of(stream_scenario(ONE)))
    assert "links shared (exact)" in words
    assert "Table III" not in words
    servers = StreamSpec(jobs=2, servers=2)
    assert "of several, 2 are servers" in "\n".join(words_of(stream_scenario(servers)))
    shared = servers.model_copy(update={"shared_server": True})
    assert "on several, 2 servers beside the workers" in "\n".join(words_of(stream_scenario(shared)))


def test_the_sample():
    scenario = sample_stream()
    assert (scenario.name, scenario.data_kind) == ("Training jobs, 100 nodes", "example")
    assert (len(scenario.workload), scenario.cluster.num_nodes, scenario.seed) == (400, 100, 1)


def test_load_is_that_of_the_import_report():
    scenario = stream_scenario(StreamSpec(jobs=20_000, load=0.6), 4)
    # run times vary by 1.2 times their mean, gaps by 1: four standard deviations of the ratio are 4.4%
    assert offered_load(scenario.workload, scenario.cluster) == pytest.approx(0.6, rel=0.044)
    fit = fit_of(scenario.workload, scenario.cluster)
    assert (fit.never_fit, fit.not_modelled) == ((), ())
    lone = stream_scenario(StreamSpec(jobs=2, load=0.5, nodes=4, networks=ONE.networks))
    gap_s = lone.workload.submit_s[1]
    assert offered_load(lone.workload, lone.cluster) == pytest.approx(2 * 100 / (4 * gap_s))  # 50 steps of 2 s each


def test_one_job_alone_on_three_nodes():
    scenario = stream_scenario(ONE)
    assert mean_alone_s(ONE) == 100  # 5 epochs x 10 steps x 2 s
    assert build_speed(scenario.speed, scenario.workload, scenario.cluster.vm_types).limits()[1].tolist() == [3]
    for width, seconds in ((1, 100.0), (2, 100.0), (3, 56.25)):  # two workers: 2 steps in 2.25 s, instead of 2 s each
        prepared = prepare(scenario, 0)
        log = simulate(scenario, Fake(script({0.0: {0: (Step(width),)}})))
        metrics = summarise(prepared.scenario, prepared.truth, log)
        assert metrics["jct_mean"] == pytest.approx(seconds)
        assert metrics["slowdown_mean"] == pytest.approx(seconds / 56.25)
        assert metrics["gpu_hours_held"] == pytest.approx(width * seconds / 3600)


@pytest.mark.parametrize("policy", ["fifo", "srtf", "hell-malleable", "knee-moldable"])
def test_rigid_and_elastic_policies_run_it(policy):
    done = run_policy(stream_scenario(SMALL, 2), policy)
    assert done.audit() == []
    assert done.metrics["completed"] == 40
    is_elastic = policy not in ("fifo", "srtf")
    assert (done.log.piece_workers.max() > 1) == is_elastic


def test_a_generator_named_on_the_command_line_makes_the_same_scenario():
    made = drawn_scenario({"kind": "training-stream", "nodes": "20", "jobs": "40"}, 5)
    assert made.content_hash == stream_scenario(SMALL, 5).content_hash
    assert words_of(made) == words_of(stream_scenario(SMALL, 5))


def test_another_run_seed_draws_other_jobs_for_the_same_curves():
    scenario = stream_scenario(SMALL, 1)
    other = prepare(scenario, 1).scenario
    assert prepare(scenario, 0).scenario.workload == scenario.workload
    assert other.workload == stream_scenario(SMALL, 2).workload
    assert other.speed == scenario.speed


def test_due_times_are_filled_by_the_fastest_width():
    scenario = fill(stream_scenario(SMALL, 1), DueRule(low=2, high=2))
    jobs = scenario.workload
    fastest = {name: min(row["K520"]) for name, row in known(scenario.speed.times).rows.items()}
    wanted = jobs.submit_s + 2 * jobs.work * [fastest[name] for name in known(jobs.profile)]
    np.testing.assert_allclose(known(jobs.due_s), wanted, atol=2e-3)
    assert prepare(scenario, 1).scenario.speed == scenario.speed


def test_the_default_cluster_holds_the_jobs():
    jobs = stream_scenario(SMALL, 1).workload
    assert fit_of(jobs, default_cluster(jobs)).never_fit == ()


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_files_and_store_hold_it(tmp_path, frozen, suffix):
    scenario = stream_scenario(SMALL, 1)
    scenario = scenario.replace(generator=None) if frozen else scenario
    write_scenario(scenario, tmp_path / f"s.{suffix}")
    with Store(tmp_path / "s.duckdb") as store:
        store.save_scenario(scenario)
        stored = store.get_scenario(scenario.content_hash)
    for back in (load(tmp_path / f"s.{suffix}"), read_scenario(scenario_bytes(scenario, suffix)), stored):
        assert back.content_hash == scenario.content_hash
        assert back.speed == scenario.speed
        assert words_of(back) == words_of(scenario)
    assert ("columns" in to_document(scenario)["workload"]) == frozen


# ---- speed curves for any scenario ---------------------------------------------------------------------

CURVE = (2.0, 3.0, 4.0, 0.0, 5.0)


def trace(workers=(1, 2, 3), speeds=(1.0,), **columns) -> Scenario:
    given = {"job_id": [f"t{row}" for row in range(len(workers))], "submit_s": np.arange(len(workers), dtype=float)}
    jobs = Workload.from_columns({**given, "work": [100.0] * len(workers), "workers": workers, **columns})
    pools = tuple(
        Pool(vm=VmType(name=f"n{number}", gpu_type="AB"[number], gpus=1, speed=speed), count=5)
        for number, speed in enumerate(speeds)
    )
    return Scenario(jobs, Cluster(pools=pools), assumptions=read("default", "speed curve: earlier"))


def rates_of(scenario: Scenario, row: int, vm: int = 0) -> list[float]:
    speed = build_speed(scenario.speed, scenario.workload, scenario.cluster.vm_types)
    return [speed.rate(row, width, 0, [vm]) for width in range(1, 6)]


def test_jobs_get_the_curve_and_keep_their_run_times():
    before = trace(speeds=(1.0, 0.5), min_workers=[1, 1, 1], max_workers=[8, 8, 8])
    after = give_curve(before, {"net": CURVE}, "made up")
    assert list(known(after.workload.profile)) == ["net", "net, 2 GPUs", "net, 3 GPUs"]
    assert after.workload.work.tolist() == [100] * 3
    assert (after.workload.min_workers, after.workload.max_workers) == (None, None)
    # relative to the width asked for: 2, 3 and 4 a second; on 4 GPUs one stays idle
    assert rates_of(after, 0) == pytest.approx([1, 1.5, 2, 2, 2.5])
    assert rates_of(after, 1) == pytest.approx([2 / 3, 1, 4 / 3, 4 / 3, 5 / 3])
    assert rates_of(after, 2) == pytest.approx([0.5, 0.75, 1, 1, 1.25])
    assert rates_of(after, 2, vm=1) == pytest.approx([0.25, 0.375, 0.5, 0.5, 0.625])  # the machine's own speed stays
    assert offered_load(after.workload, after.cluster) == offered_load(before.workload, before.cluster)
    assert words_of(after) == ("default", "speed curve: made up")
    assert run_policy(after, "fifo").audit() == []


@given(st.lists(st.floats(0.1, 50), min_size=6, max_size=6), st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_run_times_at_the_requested_width_stay(curve, workers):
    before = trace(workers)
    after = give_curve(before, {"net": curve}, "drawn")
    speed = build_speed(after.speed, after.workload, after.cluster.vm_types)
    rows = np.arange(len(workers))
    np.testing.assert_allclose(after.workload.work / speed.rates(rows, np.array(workers)), 100)
    for width in range(1, 7):  # and all widths are in proportion to the curve
        ratio = speed.rates(rows, np.full(len(rows), width)) / speed.rates(rows, np.array(workers))
        np.testing.assert_allclose(ratio, curve[width - 1] / np.array(curve)[np.array(workers) - 1])


def test_several_curves_go_by_profile_and_can_be_exchanged():
    before = trace(profile=["a", "b", "a"])
    once = give_curve(before, {"a": CURVE, "b": (1, 2, 3)}, "first")
    assert list(known(once.workload.profile)) == ["a", "b, 2 GPUs", "a, 3 GPUs"]
    assert rates_of(once, 1)[:3] == pytest.approx([0.5, 1, 1.5])
    again = give_curve(once, {"a": (1, 1, 1), "b": (1, 1.5, 2)}, "second")
    assert list(known(again.workload.profile)) == ["a", "b, 2 GPUs", "a, 3 GPUs"]
    assert rates_of(again, 1)[:3] == pytest.approx([1 / 1.5, 1, 2 / 1.5])
    assert again.workload.work.tolist() == [100] * 3
    assert words_of(again) == ("default", "speed curve: second")


def test_drawn_jobs_stay_as_they_are_drawn_now():
    before = stream_scenario(SMALL, 1)
    after = give_curve(before, dict.fromkeys(known(before.speed.times).profiles, (1.0, 1.9)), "flat")
    assert after.generator is None
    assert after.workload.work.tolist() == before.workload.work.tolist()
    assert list(known(after.workload.profile)) == list(known(before.workload.profile))
    assert prepare(after, 7).scenario.workload == after.workload
    assert [words for words in words_of(after) if words.startswith("speed curve")] == ["speed curve: flat"]


def test_run_times_of_a_table_are_those_of_the_fastest_gpu_type_at_hand():
    table = TimeTable(rows={"old": {"A": (4.0, 2.0), "C": (1.0, 0.5)}})  # no machine has C
    before = trace((1, 2), profile=["old", "old"]).replace(speed=SpeedSpec(kind="table", times=table))
    after = give_curve(before, {"net": CURVE}, "new")
    assert after.workload.work.tolist() == [400, 200]


def test_workers_of_several_or_part_of_a_gpu_count_gpus():
    after = give_curve(trace((2, 1), gpus_per_worker=[2.0, 0.5]), {"net": (1, 2, 3, 4)}, "whole")
    assert list(known(after.workload.profile)) == ["net, 4 GPUs", "net"]
    speed = build_speed(after.speed, after.workload, after.cluster.vm_types)
    assert speed.rates(np.array([0, 0, 1]), np.array([1, 2, 1])).tolist() == [0.5, 1, 1]


@pytest.mark.parametrize(
    ("workers", "curves", "message"),
    [
        ((1, 6), {"net": CURVE}, "job t1: requests 6 GPUs, but the speed curve 'net' ends at 5. Give a longer curve"),
        ((1, 4), {"net": CURVE}, "job t1: requests 4 GPUs, where the speed curve 'net' has rate 0"),
        ((1,), {"net": ()}, "speed curve 'net': must have 1 to 1,024 rates, got 0"),
        ((1,), {"net": (0.0, 1.0)}, "speed curve 'net': the rate on 1 GPU must be above 0, got 0"),
        ((1,), {"net": (1.0, -2.0)}, "speed curve 'net': the rate on 2 GPUs must be 0 or more, got -2"),
        ((1,), {"net": (1.0, float("nan"))}, "the rate on 2 GPUs must be 0 or more, got nan"),
        ((1,), {"a": (1.0,), "b": (1.0,)}, "workload: has no column 'profile' to choose from 2 speed curves"),
        ((1,), {}, "speed curves: there are none"),
    ],
)
def test_curves_that_cannot_be_given(workers, curves, message):
    with pytest.raises(InputError, match=message):
        give_curve(trace(workers), curves, "bad")


def test_a_profile_without_a_curve_is_named():
    with pytest.raises(InputError, match="job t1, column profile: 'c' has no speed curve"):
        give_curve(trace((1, 1), profile=["a", "c"]), {"a": (1.0,), "b": (1.0,)}, "bad")


def test_a_measured_curve_takes_the_place_of_the_times():
    measured = ONE.networks[0].model_copy(update={"measured_per_s": (0.5, 0.4, 0.8)})
    spec = ONE.model_copy(update={"networks": (measured,), "nodes": 5})
    scenario = stream_scenario(spec)
    assert spec.curve(measured).tolist() == [0.5, 0.4, 0.8, 0.8, 0.8]
    speed = build_speed(scenario.speed, scenario.workload, scenario.cluster.vm_types)
    rows = np.zeros(5, dtype=np.int64)
    assert speed.rates(rows, np.arange(1, 6)).tolist() == pytest.approx([1, 0.8, 1.6, 1.6, 1.6])
    assert mean_alone_s(spec) == 100  # 50 steps at 0.5 a second
    assert any("measured for" in note for note in words_of(scenario))
    assert not any("queueing network" in note for note in words_of(scenario))
