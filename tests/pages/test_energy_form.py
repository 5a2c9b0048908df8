"""Energy from the form on Cluster to the numbers of a run, under Cost and in Compare."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.energy import EnergySetup, GpuPower
from dlsched.domain.scenario import Scenario
from dlsched.studies.simulation import simulate
from dlsched.ui.results.cost import energy_words
from dlsched.workload.energy_setup import counting_energy
from tests.support.sim_fakes import jobs, nodes, scenario

CLUSTER, DETAILS, COMPARE = "scenario/cluster.py", "results/run_details.py", "results/compare.py"
LIST = EnergySetup(power=(GpuPower(gpu_type="A100", idle_w=60, busy_w=400),), usd_per_kwh=(0.1, 0.3))


def plain(gpu_type: str = "A100") -> Scenario:
    return scenario(jobs((0, 7200, 2), (60, 3600, 2)), nodes(1, 2, gpu_type=gpu_type, usd_per_h=4.0))


def opened(open_page: Any, store: Any, made: Scenario) -> Any:
    return open_page(CLUSTER, scenario=store.save_scenario(made).scenario_hash[:8])


def tag(app: Any) -> str:
    return str(app.session_state["scenario_hash"])[:8]


def current(app: Any, store: Any) -> Scenario:
    found: Scenario = store.get_scenario(app.session_state["scenario_hash"])
    return found


def said(app: Any) -> str:
    return "\n".join(part.value for part in [*app.markdown, *app.error, *app.info]).replace("\\", "")


def test_counting_starts_with_what_is_known_and_ends(open_page: Any, store: Any) -> None:
    app = opened(open_page, store, plain())
    assert "Energy is not counted" in said(app)
    app.button(key="energy-start").click().run()
    assert not app.exception
    app.number_input(key=f"energy-usd_per_kwh-{tag(app)}").set_value(0.2).run()
    app.button(key="energy-save").click().run()
    saved = current(app, store)
    assert saved.energy == EnergySetup(power=(GpuPower(gpu_type="A100", idle_w=60, busy_w=400),), usd_per_kwh=(0.2,))
    assert [one.kind for one in saved.assumptions] == ["energy"]
    app.button(key="energy-remove").click().run()
    assert not app.exception
    assert current(app, store).energy is None
    assert current(app, store).assumptions == ()


def test_watts_that_are_not_known_are_asked_for(open_page: Any, store: Any) -> None:
    app = opened(open_page, store, plain("my own chip"))
    app.button(key="energy-start").click().run()
    assert not app.exception
    assert "the watts of my own chip are not filled in" in said(app)
    assert "energy-save" not in {button.key for button in app.button}
    key = f"energy-power-{tag(app)}"
    app.session_state[f"{key}-0"] = {
        "edited_rows": {0: {"idle_w": 50, "busy_w": 300}}, "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    app.run()
    app.button(key="energy-save").click().run()
    saved = current(app, store)
    assert saved.energy is not None
    assert saved.energy.power == (GpuPower(gpu_type="my own chip", idle_w=50, busy_w=300),)
    assert saved.assumptions == ()


def test_a_list_is_told_and_gives_way_to_its_mean(open_page: Any, store: Any) -> None:
    app = opened(open_page, store, counting_energy(plain(), LIST))
    assert "Electricity ($/kWh): 2 values, one each 60 min, 0.1 to 0.3, mean 0.2" in said(app)
    app.button(key=f"energy-usd_per_kwh-{tag(app)}-mean").click().run()
    app.button(key="energy-save").click().run()
    assert not app.exception
    saved = current(app, store)
    assert saved.energy is not None
    assert saved.energy.usd_per_kwh == (0.2,)


@pytest.fixture
def runs(store: Any) -> dict[str, str]:
    waiting = jobs((0, 7200, 1), (60, 3600, 2), (120, 3600, 1))
    made = counting_energy(plain().replace(workload=waiting), LIST)
    return {key: store.save_run(simulate(made, key).record()) for key in ("fifo", "fifo-skip")}


def test_cost_tells_the_energy_of_the_run_and_of_each_job(runs: dict[str, str], store: Any, open_page: Any) -> None:
    app = open_page(DETAILS, run=runs["fifo"], part="Cost")
    assert not app.exception
    # 5 of 8 GPU-hours are held: 1.3 x (5 x 0.4 + 3 x 0.06) kWh. One GPU is idle in hours 1 and 2 (0.1 and 0.3 $) and 4.
    words = energy_words(store.metrics(runs["fifo"]))
    assert words == "2.83 kWh, 8.3% of it by idle GPUs; $0.52 of electricity"
    assert words in said(app)
    assert "Energy: a busy A100 draws its board power" in said(app)
    table = store.jobs(runs["fifo"])
    assert table["energy_kwh"].tolist() == pytest.approx([1.04, 1.04, 0.52])


def test_compare_has_a_row_for_it(runs: dict[str, str], open_page: Any) -> None:
    app = open_page(COMPARE, runs=",".join(runs.values()))
    assert not app.exception
    rows = app.table[0].value.set_index("Metric")
    assert rows.loc["Energy"].iloc[0] == "2.83 kWh"
    assert "Carbon emissions" not in rows.index
