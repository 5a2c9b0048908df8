"""Energy settings: what is known of GPU types, tables by the hour and their mistakes, the assumption that stays."""

from __future__ import annotations

from datetime import datetime

import pytest

from dlsched.domain.energy import EnergySetup, GpuPower
from dlsched.domain.errors import InputError
from dlsched.workload.energy_setup import TEMPLATE, counting_energy, known_power, with_hours
from dlsched.workload.scenario_file import read_scenario, scenario_bytes
from tests.support.sim_fakes import jobs, nodes, scenario

SETUP = EnergySetup(power=known_power(["A100"]), usd_per_kwh=(0.1,), g_per_kwh=(300,))
TUESDAY = datetime(2026, 10, 27, 8, 30)


def read(text: str, zero: datetime | None = None) -> EnergySetup:
    return with_hours(SETUP, text.encode(), "h.csv", zero)


def hours(count: int) -> str:
    return "hour,usd_per_kwh\n" + "".join(f"{hour},{hour / 100}\n" for hour in range(count))


def test_board_power_by_the_ways_a_type_is_written():
    found = known_power(["Tesla V100-SXM2-16GB", "NVIDIA H100", "my own chip"])
    assert found == (
        GpuPower(gpu_type="NVIDIA H100", idle_w=105, busy_w=700),
        GpuPower(gpu_type="Tesla V100-SXM2-16GB", idle_w=45, busy_w=300),
    )


def test_the_hours_of_a_day_and_of_a_week_begin_at_midnight_and_on_monday():
    day = read(hours(24), TUESDAY)
    assert list(day.usd_per_kwh[:3]) == [0.0, 0.01, 0.02]
    assert (day.step_s, day.first_s) == (3600, -8.5 * 3600)
    assert list(day.g_per_kwh) == [300]  # what the file does not have stays
    assert read(hours(168), TUESDAY).first_s == -(24 + 8.5) * 3600
    assert read(hours(24)).first_s == 0


def test_dates_and_prices_per_mwh():
    text = "Datetime (UTC);Country;Carbon Intensity gCO₂eq/kWh (direct);usd per MWh\n" + "".join(
        f"2026-10-27T{hour:02}:30:00+00:00;DE;{300 + hour};{hour}\n" for hour in range(3)
    )
    found = read(text, TUESDAY)
    assert list(found.g_per_kwh) == [300, 301, 302]
    assert list(found.usd_per_kwh) == [0.0, 0.001, 0.002]
    assert (found.step_s, found.first_s) == (3600, -8 * 3600)


def test_seconds_of_the_trace():
    found = read("time_s,g_per_kwh\n-900,5\n900,6\n2700,7\n")
    assert (found.step_s, found.first_s, found.usd_per_kwh) == (1800, -900, (0.1,))


def test_another_list_that_the_file_lacks_is_not_kept_at_other_times():
    before = read(hours(24))
    assert with_hours(before, b"time_s,g_per_kwh\n0,5\n60,6\n", "h.csv", None).usd_per_kwh == ()


@pytest.mark.parametrize(
    ("text", "zero", "message"),
    [
        ("hour,cost\n0,1\n1,2\n", None, "file h.csv: it has no column usd_per_kwh, usd_per_mwh or g_per_kwh"),
        ("when,price\n0,1\n1,2\n", None, "file h.csv: it has no column hour, time_s or datetime"),
        (hours(20), None, "file h.csv: hours must be 0 to 23 or 0 to 167, got 0 to 19"),
        ("time_s,price\n0,1\n60,x\n120,3\n", None, "file h.csv, line 3, column price: there is no value that can"),
        ("time_s,price\n0,1\n60,2\n180,3\n", None, "file h.csv, line 4: rows must be in order and equally far apart"),
        ("time_s,price\n0,1\n0,2\n", None, "file h.csv, line 3: rows must be in order"),
        ("time_s,price\n0,1\n60,2,3\n", None, "file h.csv, line 3: it has another number of fields"),
        ("time_s,price\n0,1\n", None, "file h.csv: it has 1 rows; 2 to 300,000 are possible"),
        ("time_s,price\n0,1\n30,2\n", None, r"file h.csv, step_s: .*greater than or equal to 60, got 30"),
        ("datetime,price\n2026-01-01,1\n2026-01-02,2\n", None, "file h.csv: it has dates, but the trace has none"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_message(text, zero, message):
    with pytest.raises(InputError, match=message):
        read(text, zero)


def test_the_example_is_read():
    found = read(TEMPLATE, TUESDAY)
    assert len(found.usd_per_kwh) == len(found.g_per_kwh) == 24


def test_the_assumption_ends_with_the_power_it_is_about():
    plain = scenario(jobs((0, 60, 1)), nodes(1, 2, gpu_type="A100"))
    counted = counting_energy(plain, SETUP)
    assert [one.words for one in counted.assumptions] == [
        "Energy: a busy A100 draws its board power, an idle one 15% of it; other parts draw nothing"
    ]
    measured = SETUP.model_copy(update={"power": (GpuPower(gpu_type="A100", idle_w=80, busy_w=450),)})
    assert counting_energy(counted, measured).assumptions == ()
    assert counting_energy(counted, None).content_hash == plain.content_hash


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_a_scenario_file_holds_it(kind):
    counted = counting_energy(scenario(jobs((0, 60, 1)), nodes(1, 2, gpu_type="A100")), read(hours(24), TUESDAY))
    again = read_scenario(scenario_bytes(counted, kind))
    assert again.energy == counted.energy
    assert again.content_hash == counted.content_hash


def test_two_rows_for_one_type_are_refused():
    twice = {"power": [one.model_dump() for one in (*SETUP.power, *SETUP.power)]}
    with pytest.raises(ValueError, match="the GPU type 'A100' has two rows of power"):
        EnergySetup.model_validate(twice)
