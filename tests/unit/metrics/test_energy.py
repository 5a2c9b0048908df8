"""Energy by hand: busy and idle GPUs, price and carbon by the hour; the audit counts anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched import simulate as run_of
from dlsched.domain.cluster import Absence, Cluster, Pool, Terms, VmType
from dlsched.domain.energy import EnergySetup, GpuPower
from dlsched.domain.scenario import Scenario
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.summary import summarise
from dlsched.sim.audit import check_metrics
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, scenario, simulate
from tests.support.tables import jobs_table, nodes_table

H = 3600.0
ONE_TYPE = (GpuPower(gpu_type="GPU", idle_w=100, busy_w=500),)
KEYS = ("energy_kwh", "energy_idle_kwh", "energy_usd", "carbon_kg")


def numbers(given: Scenario, log: RunLog | None = None) -> dict[str, float | int | None]:
    """Return the energy metrics of FIFO; the audit must agree with all metrics and tables."""
    prepared = prepare(given)
    log = simulate(given, Fake(fifo_plan)) if log is None else log
    run = (prepared.scenario, prepared.truth, log)
    metrics = summarise(*run)
    assert check_metrics(*run, metrics, jobs_table(*run), nodes_table(*run)) == []
    return {key: metrics[key] for key in KEYS}


def test_busy_and_idle_gpus_by_hand():
    # Two hours on 4 GPUs: a holds 2 of them for 2 h, b 1 for 1 h; 8 GPU-hours are up and 5 held.
    given = scenario(jobs((0, 2 * H, 2), (0, H, 1)), nodes(1, 4))
    setup = EnergySetup(power=ONE_TYPE, pue=1.5, usd_per_kwh=(0.2,), g_per_kwh=(400,))
    busy, idle = 1.5 * 0.5 * 5, 1.5 * 0.1 * 3
    assert numbers(given.replace(energy=setup)) == pytest.approx(
        {"energy_kwh": busy + idle, "energy_idle_kwh": idle, "energy_usd": 0.2 * (busy + idle),
         "carbon_kg": 0.4 * (busy + idle)}
    )  # fmt: skip


def test_price_of_the_hour_in_which_it_is_drawn():
    # One GPU, busy from 0:30 to 2:00 of a list of two hours that begins at -0:30: hours are 2 $, 1 $, 2 $, ...
    given = scenario(jobs((0.5 * H, 1.5 * H, 1)), nodes(1, 1))
    setup = EnergySetup(power=ONE_TYPE, pue=1, usd_per_kwh=(2.0, 1.0), g_per_kwh=(0.0, 0.0, 90.0), first_s=-0.5 * H)
    # 0:30 to 1:30 is the second entry, 1:30 to 2:00 the first again; of three, the second and the third.
    assert numbers(given.replace(energy=setup)) == pytest.approx(
        {"energy_kwh": 0.75, "energy_idle_kwh": 0.0, "energy_usd": 0.5 * (1.0 + 0.5 * 2), "carbon_kg": 0.5 * 0.5 * 0.09}
    )


def test_a_job_has_the_energy_of_the_gpus_it_holds():
    given = scenario(jobs((0, 2 * H, 2), (0, H, 1), (0, H, 1)), nodes(2, 2)).replace(
        energy=EnergySetup(power=ONE_TYPE, pue=1, g_per_kwh=(100,))
    )
    prepared, log = prepare(given), simulate(given, Fake(fifo_plan))
    table = jobs_table(prepared.scenario, prepared.truth, log)
    assert table["energy_kwh"].tolist() == pytest.approx([2.0, 0.5, 0.5])
    assert table["carbon_kg"].tolist() == pytest.approx([0.2, 0.05, 0.05])
    assert "energy_usd" not in table
    assert numbers(given, log)["energy_usd"] is None


def test_a_node_that_is_away_draws_nothing_even_if_it_is_paid_for():
    away = Absence(node=1, start_s=0, end_s=H, cause="maintenance", billed=True)
    given = scenario(jobs((0, 2 * H, 1)), nodes(2, 1, [away])).replace(energy=EnergySetup(power=ONE_TYPE, pue=1))
    assert numbers(given)["energy_idle_kwh"] == pytest.approx(0.1)


def test_types_have_their_own_power_and_cpu_nodes_none():
    pools = tuple(
        Pool(vm=VmType(name=name, gpu_type=name, gpus=gpus, cpus=8), count=1)
        for name, gpus in (("A", 1), ("B", 1), ("none", 0))
    )
    power = (GpuPower(gpu_type="A", idle_w=10, busy_w=100), GpuPower(gpu_type="B", idle_w=20, busy_w=300))
    given = scenario(jobs((0, H, 1), (0, H, 1)), Cluster(pools=pools))
    assert numbers(given.replace(energy=EnergySetup(power=power, pue=1)))["energy_kwh"] == pytest.approx(0.4)
    unknown = EnergySetup(power=power[:1])
    assert unknown.unknown_types({"A", "B"}) == ["B"]
    assert set(numbers(given.replace(energy=unknown)).values()) == {None}


def test_a_rented_node_draws_from_its_boot_to_the_end_of_its_lease():
    # The owned GPU is held for 1 h. b comes at 0:00, the rented one is up from 0:10, held for half an hour, then idle.
    terms = Terms(kind="on-demand", boot_s=600, idle_timeout_s=1200)
    vm = VmType(name="vm", gpus=1, usd_per_h=1.0)
    pools = (Pool(vm=vm, count=1), Pool(vm=vm, count=1, terms=terms))
    given = scenario(jobs((0, H, 1), (0, 0.5 * H, 1)), Cluster(pools=pools))
    found = numbers(given.replace(energy=EnergySetup(power=ONE_TYPE, pue=1)))
    assert found["energy_kwh"] == pytest.approx(0.5 * 1.5 + 0.1 * 1200 / H)


@given(
    rate=st.lists(st.floats(-1, 5), min_size=1, max_size=30).map(tuple),
    first_s=st.floats(-1e6, 1e6),
    step_s=st.floats(60, 10_000),
)
def test_any_list_adds_up_as_many_small_steps_do(rate, first_s, step_s):
    setup = EnergySetup(power=ONE_TYPE, pue=1.2, usd_per_kwh=rate, step_s=step_s, first_s=first_s)
    given_ = scenario(jobs((0, 5000.0, 2), (700, 9000.0, 3), (800, 100.0, 4)), nodes(1, 4)).replace(energy=setup)
    usd = numbers(given_)["energy_usd"]
    prepared, log = prepare(given_), simulate(given_, Fake(fifo_plan))
    facts = RunFacts(prepared.scenario, prepared.truth, log)
    at_s = np.linspace(log.start_s, log.end_s, 8_001)
    middle_s = (at_s[1:] + at_s[:-1]) / 2
    held = sum(
        np.where((middle_s > start_s) & (middle_s < end_s), gpus, 0.0)
        for start_s, end_s, gpus in zip(log.piece_start_s, log.piece_end_s, facts.piece_held, strict=True)
    )
    price = np.array(rate)[np.floor((middle_s - first_s) / step_s).astype(int) % len(rate)]
    kw = 1.2 * (0.5 * held + 0.1 * (4 - held))
    by_steps = float(np.sum(price * kw) * (at_s[1] - at_s[0]) / H)
    assert usd == pytest.approx(by_steps, abs=0.05 * max(map(abs, rate)) + 1e-9)


def test_a_wrong_number_is_found():
    given_ = scenario(jobs((0, H, 1)), nodes(1, 2)).replace(energy=EnergySetup(power=ONE_TYPE, g_per_kwh=(1.0, 2.0)))
    prepared, log = prepare(given_), simulate(given_, Fake(fifo_plan))
    run = (prepared.scenario, prepared.truth, log)
    metrics, table, machines = summarise(*run), jobs_table(*run), nodes_table(*run)
    wrong = check_metrics(*run, metrics | {"carbon_kg": 1.0}, table, machines)
    assert [line.startswith("metric carbon_kg is 1.0") for line in wrong] == [True]
    table["energy_kwh"] += 1e-3
    assert ["energy_kwh is" in line for line in check_metrics(*run, metrics, table, machines)] == [True]


@pytest.mark.parametrize("policy", ["fifo", "srtf", "easy-backfill"])
def test_energy_changes_no_schedule_and_jobs_and_idle_add_up(policy):
    plain = scenario(jobs(*((60.0 * n, 500.0 + 91 * n, 1 + n % 4) for n in range(20))), nodes(2, 4))
    counted = plain.replace(energy=EnergySetup(power=ONE_TYPE, usd_per_kwh=(0.1, 0.4)))
    without, with_ = run_of(plain, policy), run_of(counted, policy)
    assert without.log.piece_start_s.tolist() == with_.log.piece_start_s.tolist()
    assert {key: value for key, value in with_.metrics.items() if key not in KEYS and "cpu" not in key} == {
        key: value for key, value in without.metrics.items() if key not in KEYS and "cpu" not in key
    }
    drawn = RunFacts(counted, prepare(counted).truth, with_.log).energy
    assert drawn is not None
    assert with_.metrics["energy_kwh"] == pytest.approx(float(drawn.job_kwh.sum()) + drawn.idle_kwh)
    assert plain.content_hash != counted.content_hash
