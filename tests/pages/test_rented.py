"""Result and Compare where the policy rents its machines: money first, the bound, machine types, savings."""

from __future__ import annotations

import re

import pytest

from dlsched.studies.simulation import simulate
from dlsched.ui.frame import loaders, runs_of, session
from dlsched.ui.results.compare import cheapest
from dlsched.ui.results.compare_tabs import Compared, costs_of, saving_table
from dlsched.ui.results.cost import futures_words, idle_words
from dlsched.wording.formats import money
from dlsched.workload.studies.gpu_as_a_service import PROTOTYPE, gpuaas_scenario

RESULT, COMPARE = "results/run_details.py", "results/compare.py"
SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def records():
    """Three draws of six jobs on two free slots under two of the study's lists, and one of FIFO on 8 GPUs."""
    scenario = gpuaas_scenario(PROTOTYPE, name="tiny service")
    runs = {(key, seed): simulate(scenario, key, seed=seed) for key in ("gpuaas-fifo", "gpuaas-edf") for seed in SEEDS}
    runs["fifo", 0] = simulate(scenario, "fifo", {"vm_type": "NC48*"})
    assert [run.audit() for run in runs.values()] == [[]] * len(runs)
    return {name: run.record() for name, run in runs.items()}


@pytest.fixture
def saved(store, records):
    return {name: store.save_run(record) for name, record in records.items()}


def plain(element) -> str:
    return element.value.replace("\\", "")


def test_money_comes_first_with_what_is_left_to_gain(saved, open_page):
    app = open_page(RESULT, run=saved["gpuaas-edf", 0])
    assert not app.exception
    said = plain(app.header[0])
    assert re.match(r"EDF renting: \$[\d.,]+ in all", said)
    assert re.search(r"total cost could be up to [\d.]+% lower: no policy can do it for less than \$[\d.,]+\.$", said)
    assert [card.label for card in app.metric] == ["Total cost", "Machine cost", "Share of late jobs", "GPUs allocated"]
    assert "% lower: no policy" in app.metric[0].help
    assert app.segmented_control(key="over-time").options[0] == "Price of what is rented"


def test_the_cost_tab_names_parts_hours_draws_rule_and_prices(saved, open_page):
    app = open_page(RESULT, run=saved["fifo", 0], part="Cost")
    assert not app.exception
    texts = " ".join(plain(text) for text in app.markdown)
    assert "GPU-hours were paid for but not allocated" in texts
    assert "for spare GPUs on busy machines" in texts
    assert "Billing per second" in texts
    assert "NC6 $0.56/h" in texts
    assert "Source: list prices 2022-07-05" in texts
    app = open_page(RESULT, run=saved["gpuaas-fifo", 1], part="Cost")
    assert any("over all 3 the total with lateness is" in plain(text) for text in app.markdown)


def test_the_gantt_colours_machines_and_names_them_in_words(saved, open_page):
    app = open_page(RESULT, run=saved["gpuaas-edf", 0], part="Timeline")
    assert not app.exception
    app = app.toggle(key="table-bars").set_value(True).run()
    alt = app.dataframe[0].proto.alt
    assert re.search(r"\d+ machines? rented: \d+ [KM]\d\d x\d", alt)
    pieces = loaders.segments(saved["gpuaas-edf", 0])
    assert set(pieces["gpu_type"]) <= {"K80", "M60"}
    assert (pieces["gpus"] <= pieces["vm_gpus"]).all()
    assert loaders.groups(saved["gpuaas-edf", 0], "gpu_type") == ("K80", "M60")
    app.segmented_control(key="gantt-rows").set_value("jobs").run()
    assert not app.exception


def test_a_job_says_on_which_machines_it_ran_and_what_lateness_cost(saved, open_page):
    app = open_page(RESULT, run=saved["gpuaas-edf", 0], part="Jobs", job="0")
    assert not app.exception
    assert re.search(r"ran .+ on n\d with [KM]\d\d x\d", plain(app.header[0]))
    assert [card.label for card in app.metric] == ["Wait", "Late by", "Machine cost", "Cost of lateness"]
    assert "Machine" in app.dataframe[0].value.columns


def test_compare_says_what_is_saved_against_the_baseline(saved, open_page):
    runs = [saved["gpuaas-fifo", 0], saved["gpuaas-edf", 0]]
    app = open_page(COMPARE, runs=",".join(runs), base=runs[0])
    assert not app.exception
    said = plain(app.header[0])
    assert said.startswith("Against FIFO renting ($")
    assert said.endswith("(3 of 21 futures so far).")
    assert "no policy can save more than" in said
    numbers = app.table[0].value
    assert numbers["Metric"].tolist()[:2] == ["Completed", "Cost per job"]
    assert "Cost per month" not in numbers["Metric"].tolist()
    assert [column.replace("\\", "") for column in app.table[1].value.columns] == [
        "Policy",
        "against FIFO renting",
        "against EDF renting",
    ]


def test_savings_of_both_sides_and_the_cheapest(saved, records):
    series = [s for s in runs_of.series_of(session.runs_of(loaders.info(saved["fifo", 0]).scenario_hash))
              if len(s.seeds) == len(SEEDS)]  # fmt: skip
    numbers = runs_of.numbers_of(series)
    costs = costs_of(Compared(series, numbers, numbers.comparison(series[0].label)))
    totals = {
        key: [records[key, seed].metrics["total_cost"] for seed in SEEDS] for key in ("gpuaas-fifo", "gpuaas-edf")
    }
    found = costs.savings["EDF renting", "FIFO renting"]
    assert found is not None
    fifo, edf = (sum(each) for each in totals.values())
    assert found.share == pytest.approx((fifo - edf) / fifo)
    assert found.change.n == 3
    assert cheapest(costs) == min(costs.runs, key=lambda cost: cost.total.value).name
    assert len(saving_table(costs)) == 2
    mean = numbers.headline("EDF renting")["total_cost"]
    assert mean == pytest.approx(sum(totals["gpuaas-edf"]) / 3)
    assert f"over all 3 the total with lateness is {money(mean)} (" in futures_words(saved["gpuaas-edf", 0])


def test_idle_gpu_hours_in_words():
    assert idle_words({"gpu_hours_idle": 12.0, "gpu_hours_held": 108.0, "idle_cost": 3.0, "spare_cost": 4.5}) == (
        "12 GPU-hours were paid for but not allocated, 10% of all: $3.00 for machines without a job and $4.50 for "
        "spare GPUs on busy machines"
    )
    nothing = idle_words({"gpu_hours_idle": 0.0, "idle_cost": 0.0})
    assert nothing == "every GPU-hour that was paid for was allocated to a job"
