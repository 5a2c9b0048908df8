"""Whole scenarios of GPU as a service, and that they survive files and the store."""

import numpy as np
import pytest

from dlsched.sim.prepare import prepare
from dlsched.store import Store
from dlsched.workload.load import load
from dlsched.workload.scenario_file import read_scenario, scenario_bytes, to_document, write_scenario
from dlsched.workload.studies.gpu_as_a_service import (
    PROTOTYPE,
    GpuaasSpec,
    gpuaas_scenario,
    prototype_scenario,
    sample_gpuaas,
    study_types,
)
from tests.support.assumptions import words_of
from tests.support.known import known


def test_a_scenario_has_slots_machines_times_and_says_what_is_assumed():
    scenario = gpuaas_scenario(GpuaasSpec(nodes=4, rate="high"), 3)
    assert (scenario.cluster.slots, scenario.cluster.catalogue) == (4, study_types())
    assert (scenario.data_kind, scenario.seed, scenario.options.placement) == ("generated", 3, "best-fit")
    assert known(scenario.speed.times).gpu_types == ("K80", "M60")
    assert set(known(scenario.workload.profile)) <= set(known(scenario.speed.times).profiles)
    words = "\n".join(words_of(scenario))
    assert "run time on one K80: 40–160 h (assumed" in words
    assert "rate high: fitted" in words
    assert "due dates: submission + 1 to 3 times the fastest run time" in words
    assert "a second of lateness costs $0.003–$0.015" in words
    assert "list prices 2022-07-05 (Table 2" in words
    dear = tuple(vm.model_copy(update={"usd_per_h": 9.0}) for vm in study_types())
    assert "list prices" not in "\n".join(words_of(gpuaas_scenario(GpuaasSpec(nodes=4), 3, dear)))


def test_table_2():
    assert [(vm.gpu_type, vm.gpus, vm.usd_per_h) for vm in study_types()] == [
        ("K80", 1, 0.56), ("K80", 2, 1.13), ("K80", 4, 2.25), ("M60", 1, 0.62), ("M60", 2, 1.24), ("M60", 4, 2.48),
        ("K80", 8, 4.48), ("M60", 8, 4.96),
    ]  # fmt: skip


def test_the_sample():
    scenario = sample_gpuaas()
    assert (scenario.name, scenario.data_kind) == ("GPU as a service, 10 nodes", "example")
    assert (len(scenario.workload), scenario.cluster.slots) == (100, 10)


def test_table_3():
    scenario = prototype_scenario()
    jobs = scenario.workload
    assert list(jobs.job_id) == ["JJ1", "JJ2", "JJ3", "JJ4", "JJ5", "JJ6"]
    assert list(known(jobs.model)) == [one.name for one in PROTOTYPE.applications]
    assert jobs.submit_s.tolist() == [0, 300, 600, 900, 1200, 1500]
    assert (scenario.cluster.slots, len(scenario.cluster.catalogue)) == (2, 6)
    assert max(vm.gpus for vm in scenario.cluster.catalogue) == 4
    assert known(scenario.speed.times).most_gpus == 4
    factor = (known(jobs.due_s) - jobs.submit_s) / jobs.work
    assert factor.min() >= 1
    assert factor.max() <= 3
    assert jobs.work.min() > 1500  # nobody is done before the last one comes: 5 + 6 slots, as in Table 4
    # all on two nodes at once, each with one of the nodes' 8 GPUs, or one after the other with 4: below three hours
    assert jobs.work.sum() / 2 < 3 * 3600


def test_another_run_seed_draws_other_jobs_for_the_same_table():
    scenario = gpuaas_scenario(GpuaasSpec(nodes=2), 1)
    again, other = prepare(scenario, 0).scenario, prepare(scenario, 1).scenario
    assert again.workload == scenario.workload
    assert other.workload == gpuaas_scenario(GpuaasSpec(nodes=2), 2).workload
    assert other.speed == scenario.speed


SCENARIOS = {
    "drawn": lambda: gpuaas_scenario(GpuaasSpec(nodes=2), 1),
    "prototype": prototype_scenario,
    "frozen": lambda: gpuaas_scenario(GpuaasSpec(nodes=2), 1).replace(generator=None),
}


@pytest.mark.parametrize("kind", SCENARIOS)
@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_files_hold_the_time_table(tmp_path, kind, suffix):
    scenario = SCENARIOS[kind]()
    write_scenario(scenario, tmp_path / f"s.{suffix}")
    for back in (load(tmp_path / f"s.{suffix}"), read_scenario(scenario_bytes(scenario, suffix))):
        assert back.content_hash == scenario.content_hash
        assert back.speed == scenario.speed
        assert words_of(back) == words_of(scenario)
        assert np.array_equal(known(back.workload.due_s), known(scenario.workload.due_s))
    assert ("columns" in to_document(scenario)["workload"]) == (kind == "frozen")


@pytest.mark.parametrize("kind", SCENARIOS)
def test_the_store_holds_the_time_table(tmp_path, kind):
    scenario = SCENARIOS[kind]()
    with Store(tmp_path / "s.duckdb") as store:
        store.save_scenario(scenario)
    with Store(tmp_path / "s.duckdb") as store:
        back = store.get_scenario(scenario.content_hash)
    assert back.content_hash == scenario.content_hash
    assert back.speed == scenario.speed
    assert (back.generator, back.name) == (scenario.generator, scenario.name)


def test_public_instances_survive_files(shared_data, tmp_path):
    scenario = load(shared_data / "gpuaas" / "instances" / "1-4-40-1000-exponential-75000")
    for suffix in ("json", "toml"):
        write_scenario(scenario, tmp_path / f"s.{suffix}")
        assert load(tmp_path / f"s.{suffix}").content_hash == scenario.content_hash
