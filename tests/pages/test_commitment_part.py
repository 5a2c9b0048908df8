"""The part Commit or rent of the page Capacity: fields, answer, the numbers of the command, prices that are missing."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.cli.main import main
from dlsched.domain.cluster import Cluster, Pool, Scaling, Terms
from dlsched.domain.scenario import Scenario
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.commitment import STUDY
from dlsched.studies.commitment.answer import Commitment
from dlsched.studies.commitment.words import rows_of, sentence, waits_words
from dlsched.studies.design import Futures
from dlsched.studies.simulation import simulate
from dlsched.workload.scenario_file import write_scenario
from tests.support.commitments import WAIT, asked, whole_node_jobs
from tests.support.page_text import kept, shown
from tests.support.size_page import PAGE, OpenPage, keys, opened, primary, saved, tag

PART = "Commit or rent"


@cache
def scenario() -> Scenario:
    return whole_node_jobs()


@cache
def answered(spread: float = 0.0) -> ExperimentRecord:
    futures = Futures.first(3, {"run_time_spread": spread} if spread else {})
    return registry.compute("commitment", asked(scenario(), futures=futures), subject=scenario())


def key(name: str, about: Scenario | None = None) -> str:
    return f"commit-{name}-{tag(about or scenario())}"


def price(app: AppTest, name: str, usd: float, about: Scenario | None = None) -> AppTest:
    return app.number_input(key=key(name, about)).set_value(usd).run()


def test_a_rented_price_that_is_missing_is_asked_for_and_then_it_is_one_click(
    store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, scenario(), part=PART)
    assert not app.exception
    assert app.header[0].value == "What should we own or commit to, and what should we rent?"
    assert not app.error  # nothing is wrong: a price is still to be typed
    assert "Price of a rented node" in app.info[0].value
    assert "Type the price of a node per hour" in app.info[0].value
    assert app.number_input(key=key("base_usd_per_h")).value == 1.0
    app = price(app, "rent_usd_per_h", 4.0)
    assert not app.error
    assert not app.info
    assert primary(app) == ["commitment-ask"]
    assert "How many nodes should we commit to, renting the rest, to keep p95 wait" in shown(app)


def test_a_committed_price_that_is_missing_is_asked_for(store: Store, open_page: OpenPage) -> None:
    bare = whole_node_jobs(usd_per_h=None)
    app = opened(store, open_page, bare, part=PART)
    assert "Price of a committed node" in app.info[0].value
    app = price(price(app, "base_usd_per_h", 1.0, bare), "rent_usd_per_h", 4.0, bare)
    assert not app.error
    assert not app.info
    assert primary(app) == ["commitment-ask"]


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_an_answer_shows_sentence_cards_charts_and_every_mix(spread: float, store: Store, open_page: OpenPage) -> None:
    record = answered(spread)
    answer = STUDY.read_answer(record.answer)
    app = open_page(PAGE, experiment=saved(store, record, scenario()))
    assert not app.exception
    assert not app.error
    assert app.segmented_control(key="part").value == PART
    assert app.header[0].value.replace("\\", "") == sentence(answer)
    assert [one.label for one in app.metric][:2] == ["Own", "Cost per year"]
    assert len(app.get("plotly_chart")) == 3
    text = shown(app)
    assert "Break-even: a committed node pays when it is needed more than 25% of the hours" in text
    assert "It ignores queueing, boots, idle time and placement" in text
    assert "Every number of committed nodes from 0 to 3 was simulated." in text
    assert ("1 future: no interval" in text) == (spread == 0.0)
    table = next(one.value for one in app.dataframe if "Cost/year" in one.value)
    assert table["Cost/year"].tolist() == [row["Cost/year"] for row in rows_of(answer)]
    assert ("Mean regret" in table) == (spread > 0)
    assert "commitment-ask" not in keys(app)  # it is answered


def test_the_cheapest_mix_becomes_a_version_of_the_scenario_with_the_same_numbers(
    store: Store, open_page: OpenPage
) -> None:
    record = answered(0.0)
    answer = STUDY.read_answer(record.answer)
    app = open_page(PAGE, experiment=saved(store, record, scenario()))
    app = app.button(key="commitment-save").click().run()
    assert not app.exception
    assert app.title[0].value == "Run"
    made = kept(store)
    assert [(pool.count, pool.is_rented) for pool in made.cluster.pools] == [
        (answer.best, False), (answer.rented.most, True)
    ]  # fmt: skip
    run = simulate(made, answer.policy, answer.params)
    assert answer.best is not None
    (draw,) = answer.at(answer.best).draws
    assert {"on_demand_cost", WAIT["metric"]} <= set(draw.values)
    assert {name: run.metrics[name] for name in draw.values} == draw.values


def test_the_page_asks_what_the_command_asks_and_has_its_numbers(
    store: Store, runner: Runner, open_page: OpenPage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = opened(store, open_page, scenario(), part=PART)
    app = app.selectbox(key=key("terms")).set_value("reserved-3-years").run()
    app = price(price(app, "base_usd_per_h", 2.0), "rent_usd_per_h", 4.0)
    for name, minutes in (("boot_s", 2.0), ("rent_after_s", 6.0)):
        app = app.number_input(key=key(name)).set_value(minutes).run()
    app = app.multiselect(key=key("or_after_s")).set_value([60.0, 0.0]).run()
    app = app.text_input(key=f"goal-limit-wait_p95-{tag(scenario())}").set_value("30 min").run()
    app = app.button(key="commitment-ask").click().run()
    assert runner.wait(60)
    app = app.run()
    assert not app.exception
    (info,) = store.list_experiments("commitment")
    assert app.query_params["experiment"] == info.experiment_id
    record = store.get_experiment(info.experiment_id)
    path = tmp_path / "s.json"
    write_scenario(scenario(), str(path))
    typed = ["--target", "wait_p95<=30min", "--terms", "reserved-3-years", "--base-price", "2", "--rent-price", "4",
             "--boot", "2m", "--rent-after", "6m,0s,1h", "--policy", record.spec["policy"],
             "--processes", "1"]  # fmt: skip
    assert main(["commit", str(path), *typed, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    ours, theirs = (
        STUDY.read_answer(record.answer),
        Commitment.from_plain({name: value for name, value in plain.items() if name not in ("numbers", "caveats")}),
    )
    assert ours.tried == theirs.tried
    assert ours.model_copy(update={"scenario_name": ""}) == theirs.model_copy(update={"scenario_name": ""})
    assert app.header[0].value.replace("\\", "") == sentence(theirs)
    assert len(ours.waits) == 3
    assert waits_words(theirs) in shown(app).replace("\\", "")
    assert app.multiselect(key=key("or_after_s")).value == [0.0, 60.0]


def test_pools_of_the_cluster_fill_the_fields_and_a_type_brings_its_price(store: Store, open_page: OpenPage) -> None:
    vm = scenario().cluster.pools[0].vm
    pools = [
        Pool(vm=vm.model_copy(update={"name": "large", "usd_per_h": 2.0}), count=4, terms=Terms(kind="reserved")),
        Pool(vm=vm.model_copy(update={"name": "small", "usd_per_h": 0.5}), count=1),
        Pool(vm=vm.model_copy(update={"name": "cloud", "usd_per_h": 4.5}), count=9,
             terms=Terms(kind="spot", boot_s=120.0, idle_timeout_s=240.0, evictions_per_h=0.1)),
    ]  # fmt: skip
    mixed = scenario().replace(cluster=Cluster(pools=tuple(pools), scaling=Scaling(wait_s=600.0)))
    app = opened(store, open_page, mixed, part=PART)
    assert not app.error
    values = {name: app.number_input(key=key(name, mixed)).value
              for name in ("base_usd_per_h", "rent_usd_per_h", "boot_s", "idle_timeout_s", "evictions_per_h",
                           "rent_after_s")}  # fmt: skip
    assert list(values.values()) == [2.0, 4.5, 2.0, 4.0, 0.1, 10.0]
    assert app.selectbox(key=key("base", mixed)).value == "large"
    assert app.selectbox(key=key("terms", mixed)).value == "reserved-1-year"
    app = app.selectbox(key=key("base", mixed)).set_value("small").run()
    assert app.number_input(key=key("base_usd_per_h", mixed)).value == 0.5
    assert app.selectbox(key=key("terms", mixed)).value == "owned"
    assert not app.exception


def test_the_fields_of_an_answer_that_is_opened_ask_it_again(store: Store, open_page: OpenPage) -> None:
    spec = asked(scenario(), base_usd_per_h=2.5, rent_terms="spot", evictions_per_h=0.2, most=4, rent_after_s=120.0,
                 targets=[WAIT | {"limit": 900.0}])  # fmt: skip
    record = registry.compute("commitment", spec, subject=scenario())
    app = open_page(PAGE, experiment=saved(store, record, scenario()))
    assert not app.exception
    assert app.number_input(key=key("base_usd_per_h")).value == 2.5
    assert app.number_input(key=key("evictions_per_h")).value == 0.2
    assert app.number_input(key=key("rent_after_s")).value == 2.0
    assert "Below is the answer to another question" not in shown(app)
    again = price(app, "base_usd_per_h", 3.0)
    assert "Below is the answer to another question" in shown(again)


def test_machines_that_policies_choose_cannot_be_committed_to(store: Store, open_page: OpenPage) -> None:
    vm = scenario().cluster.pools[0].vm
    slots = scenario().replace(cluster=Cluster(slots=3, catalogue=(vm,)))
    app = opened(store, open_page, slots, part=PART)
    assert not app.exception
    assert "Switch to node types on the page Cluster" in app.error[0].value
