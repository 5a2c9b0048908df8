"""Predicted times become a time table; jobs keep how long they run where they were measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.speed.regression import Runs, fit_network
from dlsched.speed.terms import GFLOPS, GPUS, ITERATIONS
from dlsched.studies.simulation import simulate
from dlsched.wording.assumptions import assumptions
from dlsched.workload.import_report import offered_load
from dlsched.workload.profiles.demo_profile import demo_runs
from dlsched.workload.profiles.predicted_times import (
    Prediction,
    draw_networks,
    fill_times,
    lacking_words,
    map_models,
    predict_on,
    typical,
    widths_of,
)
from tests.support.assumptions import words_of

A100, T4, ODD = (VmType(name=f"4 x {name}", gpu_type=name, gpus=4) for name in ("A100", "T4", "odd"))


def a_fit(network: str = "AlexNet", types: tuple[str, ...] = ("K80", "M60", "P100", "V100", "A100")):
    runs = demo_runs(noise=0.0)
    keep = (runs.network == network) & np.isin(runs.gpu_type.astype(str), types)
    return fit_network(runs.where(keep))


def a_scenario(*vms: VmType, **columns) -> Scenario:
    jobs = {"job_id": ["a", "b", "c"], "submit_s": [0, 1, 2], "work": [100, 200, 300], "workers": [1, 2, 4]}
    pools = tuple(Pool(vm=vm, count=1) for vm in vms or (A100,))
    return Scenario(Workload.from_columns(jobs | columns), Cluster(pools=pools))


def prediction(network="net", **rows):
    rows = rows or {"A100": (10.0, 6.0, 5.0, 4.0), "T4": (40.0, 22.0, 18.0, 16.0)}
    return Prediction(network, rows, {name: (False,) * len(row) for name, row in rows.items()}, {})


def test_predictions_follow_the_law_and_say_what_lies_outside():
    fit = a_fit()
    found = predict_on(fit, {"K80": 8, "T4": 2, "H100": 1, "odd": 4}, iterations=20_000, batch=64)
    law = 20_000 * 0.4 * (0.28 + 0.72 / np.arange(1, 9))
    assert found.rows["K80"] == pytest.approx(law, rel=0.1)  # the terms can only come near GFLOPS ** 0.8
    assert found.outside["K80"] == (False,) * 8
    assert found.outside["T4"] == (True,) * 2  # its GFLOPS are between those of others, but no row is of it
    assert found.outside.get("H100", (True,)) == (True,)
    assert found.lacking["odd"] == "its GFLOPS are unknown"
    assert "AlexNet on odd: its GFLOPS are unknown" in lacking_words([found])


def test_one_measured_gpu_type_says_nothing_of_others():
    found = predict_on(a_fit(types=("V100",)), {"V100": 8, "A100": 8})
    assert list(found.rows) == ["V100"]
    assert "measured only on V100" in found.lacking["A100"]
    nothing = predict_on(a_fit(types=("V100",)), {"A100": 8})
    with pytest.raises(InputError, match="AlexNet on A100: measured only on V100"):
        fill_times(a_scenario(), [nothing], np.array(["AlexNet"] * 3, dtype=object), "A100", "times predicted")


def test_rows_end_where_the_model_leaves_the_possible():
    features = np.full((40, 5), np.nan)
    features[:, GPUS] = np.tile([1, 2, 3, 4], 10)
    features[:, ITERATIONS] = np.arange(40) + 10
    features[:, GFLOPS] = 9000
    seconds = features[:, ITERATIONS] * (10 - 2.2 * features[:, GPUS])
    types, names = np.full(40, "V100", dtype=object), np.full(40, "net", dtype=object)
    fit = fit_network(Runs(names, types, features, seconds))
    found = predict_on(fit, {"V100": 8}, iterations=20)
    assert found.rows["V100"] == pytest.approx((156, 112, 68), rel=0.05)  # 24 s with 4 beat 156/4 too far
    assert found.lacking["V100"] == "beyond 3 GPUs the model gives impossible times"


def test_typical_values_were_measured():
    fit = a_fit()
    middle = typical(fit)
    assert middle[ITERATIONS] in (20_000, 60_000)
    assert np.isnan(middle[4])


def test_widths_are_those_of_the_largest_machine_of_a_type():
    small = VmType(name="1 x A100", gpu_type="A100", gpus=1)
    cpu = VmType(name="cpu", gpu_type="none", gpus=0, cpus=8)
    assert widths_of(Cluster(slots=2, catalogue=(small, A100, T4, cpu))) == {"A100": 4, "T4": 4}


def test_jobs_keep_their_time_where_they_were_measured():
    scenario = a_scenario(A100, T4)
    network = np.array(["net"] * 3, dtype=object)
    filled = fill_times(scenario, [prediction()], network, "T4", "times predicted, ± 5%")
    assert filled.speed.times is not None
    # two T4 take 22 s, so four A100 take 4/22 of the time that a job with two GPUs has on T4
    assert filled.speed.times.rows["net, 2 GPUs"]["A100"] == pytest.approx((10 / 22, 6 / 22, 5 / 22, 4 / 22))
    assert filled.workload.work.tolist() == [100, 200, 300]
    assert filled.workload.profile is not None
    assert filled.workload.profile.tolist() == ["net, 1 GPU", "net, 2 GPUs", "net, 4 GPUs"]
    assert offered_load(filled.workload, filled.cluster) == offered_load(scenario.workload, scenario.cluster)
    run = simulate(filled.replace(cluster=Cluster(pools=(Pool(vm=T4, count=2),))), "fifo")
    assert run.metrics["completed"] == 3
    assert run.jobs["left_s"].to_numpy() - run.jobs["first_start_s"].to_numpy() == pytest.approx([100, 200, 300])
    faster = simulate(filled.replace(cluster=Cluster(pools=(Pool(vm=A100, count=2),))), "fifo")
    lasted = faster.jobs["left_s"].to_numpy() - faster.jobs["first_start_s"].to_numpy()
    assert lasted == pytest.approx([100 * 10 / 40, 200 * 6 / 22, 300 * 4 / 16])


def test_filling_again_keeps_times_on_the_chosen_type_and_replaces_the_note():
    network, machines = np.array(["net"] * 3, dtype=object), (A100, T4)
    once = fill_times(a_scenario(*machines), [prediction()], network, "A100", "times predicted, ± 5%")
    again = fill_times(once, [prediction()], network, "A100", "times predicted, ± 5%")
    assert again.content_hash == once.content_hash
    other = prediction(A100=(9.0, 8.0, 7.0, 6.0), T4=(20.0, 11.0, 9.0, 8.0))
    twice = fill_times(once, [other], network, "T4", "times predicted, ± 9%")
    assert twice.workload.work == pytest.approx([100 * 40 / 10, 200 * 22 / 6, 300 * 16 / 4])  # what they took on T4
    assert words_of(twice) == ("times predicted, ± 9%",)
    chip = next(chip for chip in assumptions(twice) if chip.label == "times predicted, ± 9%")
    assert chip.where == "Speed-up, Training time"


def test_workers_become_gpus_and_wide_jobs_are_cut_to_a_machine():
    scenario = a_scenario(
        workers=[1, 2, 8], gpus_per_worker=[2, 1, 1], cpus_per_worker=[8, 4, 4], min_workers=[1, 1, 1]
    )
    filled = fill_times(scenario, [prediction()], np.array(["net"] * 3, dtype=object), "A100", "times predicted")
    assert filled.workload.workers.tolist() == [2, 2, 4]
    assert filled.workload.gpus_per_worker.tolist() == [1, 1, 1]
    assert filled.workload.cpus_per_worker is not None
    assert filled.workload.cpus_per_worker.tolist() == [4, 4, 4]
    assert filled.workload.min_workers is None
    assert filled.workload.work.tolist() == [100, 200, 600]  # 300 s on eight GPUs are 600 s on the four of a machine


def test_relative_speeds_do_not_count_twice():
    fast = A100.model_copy(update={"speed": 2.0})
    filled = fill_times(
        a_scenario(fast), [prediction()], np.array(["net"] * 3, dtype=object), "A100", "times predicted"
    )
    assert [vm.speed for vm in filled.cluster.vm_types] == [1.0]


@pytest.mark.parametrize(
    ("columns", "network", "on", "message"),
    [
        ({"gpus_per_worker": [0.5, 1, 1]}, "net", "A100", "one job requests no GPU or a share of one"),
        ({}, "other", "A100", "3 of them have no network"),
        ({}, "net", "H100", "has no times on H100"),
    ],
)
def test_what_cannot_be_filled_is_refused(columns, network, on, message):
    with pytest.raises(InputError, match=message):
        fill_times(a_scenario(**columns), [prediction()], np.array([network] * 3, dtype=object), on, "times predicted")


def test_a_network_without_times_on_the_measured_type_is_named():
    both = [prediction("x"), prediction("y", A100=(3.0,))]
    with pytest.raises(InputError, match="network 'y': has no times on T4"):
        fill_times(a_scenario(), both, np.array(["x", "y", "x"], dtype=object), "T4", "times predicted")


def test_models_map_to_networks_and_the_rest_to_one():
    jobs = a_scenario(model=["vgg", "alex", ""]).workload
    assert map_models(jobs, {"vgg": "VGG19", "": "AlexNet"}).tolist() == ["VGG19", "AlexNet", "AlexNet"]
    assert map_models(a_scenario().workload, {"": "AlexNet"}).tolist() == ["AlexNet"] * 3


def test_drawn_networks_do_not_depend_on_other_jobs():
    jobs = Workload.from_columns(
        {"job_id": [f"j{i}" for i in range(300)], "submit_s": np.arange(300), "work": np.ones(300)}
    )
    drawn = draw_networks(jobs, ["x", "y", "z"], seed=1)
    assert draw_networks(jobs.select(slice(10, 20)), ["x", "y", "z"], seed=1).tolist() == drawn[10:20].tolist()
    assert min(np.unique(drawn.astype(str), return_counts=True)[1]) > 70


def test_a_generated_scenario_keeps_the_drawn_jobs():
    scenario = replace(a_scenario(), generator={"kind": "any"}, data_kind="generated")
    filled = fill_times(scenario, [prediction()], np.array(["net"] * 3, dtype=object), "A100", "times predicted")
    assert filled.generator is None
    assert filled.data_kind == "generated"
