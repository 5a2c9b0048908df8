"""Size, Headroom and Growth: answers of every kind, headroom, months ahead, links, next steps."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.studies import registry
from dlsched.ui.plan import memo_options
from tests.support.page_text import kept, shown
from tests.support.size_page import (
    PAGE,
    WAIT,
    WAIT_S,
    OpenPage,
    answered,
    keys,
    months,
    opened,
    primary,
    saved,
    scenario,
    tag,
    two_types,
    typed,
)

# ---- answers -----------------------------------------------------------------------------------------


def test_an_answer_opens_by_its_link_with_its_scenario_and_its_question(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0), ("late_share", 0.5), spread=0.3, claim="nearly-every")
    app = open_page(PAGE, experiment=saved(store, record))
    assert not app.exception
    assert app.session_state["scenario_hash"] == scenario().content_hash
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "30 s"
    assert app.segmented_control(key=f"goal-claim-{tag()}").value == "nearly-every"
    assert app.number_input(key=f"size-most-nodes-{tag()}").value == 8
    assert "size-ask" not in keys(app)  # the form asks exactly what was answered
    assert "in this month and in 6 of 6 simulated versions of it" in app.header[0].value
    assert re.search(r"^\d nodes?: (fails|borderline) \(", shown(app), re.MULTILINE)
    assert "One more node ($" in shown(app)
    assert "One more node (\\\\$" not in "\n".join(one.value for one in app.markdown)
    app = app.segmented_control(key="size-metric-wait_p95-late_share").set_value("late_share").run()
    app = app.toggle(key="table-size-frontier").set_value(True).run()
    assert not app.exception
    assert "Share of late jobs" in app.dataframe[0].value.columns


def test_nothing_feasible_says_so_with_the_lowest_that_was_reached(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(("late_share", 0.0), ("cost_month", 10.0))))
    assert not app.exception
    assert app.header[0].value.replace("\\", "").startswith("No size tried, up to 4 nodes, meets both targets")
    assert "Cost per month: the lowest reached is $" in shown(app)
    assert "lowest reached" in app.metric[1].label
    assert not {"size-keep", "size-memo", "size-save", "size-what-if"} & keys(app)


def test_a_size_that_meets_its_targets_and_cannot_keep_up_says_so(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(("wait_p95", 1e6))))
    assert "1 node is the cheapest size tried" in app.header[0].value
    assert any("On the size found, jobs ask for" in one.value.replace("\\", "") for one in app.warning)


def test_without_prices_the_smallest_is_told_in_gpus(store: Store, open_page: OpenPage) -> None:
    plain = scenario()
    pools = (Pool(vm=VmType(name="two", gpus=2), count=2),)
    plain = plain.replace(cluster=Cluster(pools=pools))
    spec = {"scenario": plain.content_hash, "targets": [WAIT], "types": [{"key": "nodes", "least": 1, "most": 8}]}
    record = registry.compute("size", spec, subject=plain)
    app = open_page(PAGE, experiment=saved(store, record, plain))
    assert not app.exception
    assert "the smallest size tried" in app.header[0].value
    assert app.metric[1].label == "GPUs"


def test_several_types_are_named_in_cards_and_table(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(("wait_p95", 30.0), about="two_types"), two_types()))
    assert not app.exception
    assert app.metric[0].value == "3 a"  # none of the other type
    assert "today 1 node of a and 1 node of b" in app.metric[0].help
    assert app.multiselect(key=f"size-types-{tag(two_types())}").value == ["nodes.a", "nodes.b"]
    assert "size-ask" not in keys(app)


def test_an_answer_of_older_code_or_about_another_scenario_says_so(store: Store, open_page: OpenPage) -> None:
    old = replace(answered(("wait_p95", 30.0)), code_version="0.0.0-older")
    app = open_page(PAGE, experiment=saved(store, old))
    assert "Computed by another version of this program." in shown(app)
    assert primary(app) == ["size-ask"]
    elsewhere = store.save_experiment(answered(("wait_p95", 30.0), about="two_types"))
    app = open_page(PAGE, experiment=elsewhere)
    assert "which is not in this store" in shown(app)
    assert "size-keep" not in keys(app)


@pytest.mark.parametrize("part", ["Size", "Growth"])
def test_a_link_to_nothing_says_so_and_there_is_a_way_on(part: str, store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, experiment="f" * 12, part=part)
    assert not app.exception
    assert len(app.error) == 1
    app = app.button(key=f"{part.lower()}-without").click().run()
    assert not app.error
    assert f"{part.lower()}-ask" in keys(app)


# ---- next steps --------------------------------------------------------------------------------------


def test_todays_cluster_is_no_option(store: Store, open_page: OpenPage) -> None:
    record = answered(("jct_p99", 3600.0), most=2, least=2)
    assert record.answer["answer"] == record.answer["today"]
    app = open_page(PAGE, experiment=saved(store, record))
    assert app.button(key="size-keep").disabled
    assert app.button(key="size-memo").disabled


def test_an_answer_is_kept_as_an_option_and_taken_off_again(store: Store, open_page: OpenPage, runner: Runner) -> None:
    experiment = saved(store, answered(("wait_p95", 30.0), spread=0.3))
    app = open_page(PAGE, experiment=experiment)
    app = app.button(key="size-keep").click().run()
    (asked,) = runner.questions("what-if")  # so that a memo has all numbers of it
    assert asked.name.startswith("Option: ")
    assert store.get_setting(memo_options.PREFIX + scenario().content_hash) == [experiment]
    assert primary(app) == ["size-memo"]
    assert runner.wait(WAIT_S)
    app = app.button(key="size-unkeep").click().run()
    assert store.get_setting(memo_options.PREFIX + scenario().content_hash) is None
    assert primary(app) == ["size-keep"]


def test_the_size_opens_in_what_if_against_today(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0), spread=0.3)
    app = open_page(PAGE, experiment=saved(store, record))
    app = app.button(key="size-what-if").click().run()
    assert not app.exception
    assert app.title[0].value == "What if"
    assert app.query_params["set"] == f"nodes:{record.answer['answer'][0]}"


def test_the_size_becomes_a_version_of_the_scenario(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0))
    app = open_page(PAGE, experiment=saved(store, record))
    app = app.button(key="size-save").click().run()
    assert not app.exception
    assert app.title[0].value == "Run"
    made = kept(store)
    assert made.cluster.num_nodes == record.answer["answer"][0]
    info = store.scenario_info(made.content_hash)
    assert info is not None
    assert info.based_on == scenario().content_hash
    assert made.name == scenario().name


# ---- conditions --------------------------------------------------------------------------------------


def test_a_link_asks_under_its_condition_and_its_policy_whatever_was_answered_last(
    store: Store, open_page: OpenPage
) -> None:
    saved(store, answered(("wait_p95", 30.0)))
    app = opened(store, open_page, condition="demand:1.3,durations:1.2", policy="sjf")
    assert not app.exception
    assert "under SJF, with 30% more jobs and run times +20%" in shown(app)
    assert "size-ask" in keys(app)
    app = app.run()
    assert app.query_params["condition"] == "demand:1.3,durations:1.2"
    app = app.button(key=f"goal-without-durations-{tag()}").click().run()
    assert not app.exception
    assert app.query_params["condition"] == "demand:1.3"
    assert "under SJF, with 30% more jobs?" in shown(app)
    app = app.button(key=f"goal-without-demand-{tag()}").click().run()
    assert "condition" not in app.query_params
    assert "under SJF? Search from 1 to 8 nodes." in shown(app)


def test_conditions_are_set_in_percent_and_asked_of_growth_too(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page)
    app = app.number_input(key=f"goal-condition-demand-100-{tag()}").set_value(150.0).run()
    assert not app.exception
    assert "with 50% more jobs" in shown(app)
    app = app.segmented_control(key="part").set_value("Growth").run()
    assert not app.exception
    assert "50% more jobs" in shown(app)


def test_an_answer_under_a_condition_fills_the_form_and_goes_on_to_what_if_with_it(
    store: Store, open_page: OpenPage
) -> None:
    record = answered(("wait_p95", 30.0), demand=1.5)
    app = open_page(PAGE, experiment=saved(store, record))
    assert not app.exception
    assert app.header[0].value.startswith("With 50% more jobs, ")
    assert app.query_params["condition"] == "demand:1.5"
    assert "size-ask" not in keys(app)
    app = app.button(key="size-what-if").click().run()
    assert not app.exception
    assert set(app.query_params["set"]) == {"demand:1.5", f"nodes:{record.answer['answer'][0]}"}


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ({"condition": "nodes:3"}, "is something to choose"),
        ({"condition": "demand"}, "is not of the form"),
        ({"condition": "demand:1.3", "policy": "fifoo"}, "Try 'fifo'"),
        ({"condition": "demand:1.3", "policy": "sjf", "with": "[1"}, "is no set of parameters"),
    ],
)
def test_a_link_that_cannot_be_read_is_told(
    link: dict[str, str], complaint: str, store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, None, **link)
    assert not app.exception
    assert complaint in " ".join(one.value for one in app.error).replace("\\", "")
    assert not app.run().error


# ---- headroom and growth -----------------------------------------------------------------------------


def test_headroom_shows_the_loads_of_the_same_answer(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(("wait_p95", 30.0))), part="Headroom")
    assert not app.exception
    assert " more jobs" in app.header[0].value
    assert app.metric[0].label.startswith("Headroom of ")
    assert "Jobs" in app.dataframe[0].value.columns
    none = replace(answered(("wait_p95", 30.0)), answer={**answered(("wait_p95", 30.0)).answer, "headroom": []})
    app = open_page(
        PAGE, experiment=saved(store, replace(none, spec={**none.spec, "headroom": False})), part="Headroom"
    )
    assert "was not computed" in app.header[0].value


def test_months_are_played_in_the_background_with_the_targets_of_the_size(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    app = typed(opened(store, open_page), "wait_p95", "40 s")
    app = app.segmented_control(key="part").set_value("Growth").run()
    assert not app.exception
    assert app.header[0].value.startswith("Until when does the cluster meet my targets")
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "40 s"
    app = app.number_input(key=f"growth-months-{tag()}").set_value(2).run()
    assert app.button(key="growth-ask").label.startswith("Project 2 months, about ")
    app = app.button(key="growth-ask").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    assert len(app.metric) >= 3
    (info,) = store.list_experiments("growth")
    assert app.query_params["experiment"] == info.experiment_id
    assert len(app.dataframe[-1].value) == 3
    app = app.segmented_control(key="part").set_value("Size").run()
    assert "experiment" not in app.query_params
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "40 s"


def test_a_growth_link_opens_its_part_with_its_question(store: Store, open_page: OpenPage) -> None:
    record = months(30.0, steps=({"month": 2, "key": "nodes", "nodes": 3},), lead_months=2)
    app = open_page(PAGE, experiment=saved(store, record))
    assert not app.exception
    assert app.segmented_control(key="part").value == "Growth"
    assert app.text_input(key=f"growth-begin-{tag()}").value == "2026-11"
    assert app.number_input(key=f"growth-percent-{tag()}").value == 30.0
    assert "1 delivery or retirement" in shown(app)
    assert (app.metric[2].label, app.metric[2].value) == ("Order by", "now")
    assert "growth-ask" not in keys(app)
    assert app.dataframe[-1].value["Nodes"].tolist() == ["2", "2", "5", "5", "5"]


def test_what_to_order_is_added_to_the_memo_under_the_jobs_of_its_month(
    store: Store, open_page: OpenPage, runner: Runner
) -> None:
    record = months(20.0, months=2)
    experiment = saved(store, record)
    app = open_page(PAGE, experiment=experiment)
    assert "Order " in app.header[0].value
    app = app.button(key="growth-memo").click().run()
    assert not app.exception
    assert runner.wait(WAIT_S)
    assert app.title[0].value == "Memo"
    (info,) = store.list_experiments("what-if")
    spec, last = store.get_experiment(info.experiment_id).spec, record.answer["orders"][-1]
    assert spec["condition"] == {"demand": pytest.approx(last["load"])}
    assert spec["changed"]["changes"] == {"nodes": last["counts"][0]}
    assert store.get_setting(memo_options.PREFIX + scenario().content_hash) == [experiment]


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("growth-begin", "November", "must be a year and a month, got 'November'"),
        ("growth-percent", 100.0, "times today's, at most 100"),
    ],
)
def test_a_growth_that_cannot_be_played_is_told(
    field: str, value: Any, complaint: str, store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, part="Growth")
    inputs = app.text_input if isinstance(value, str) else app.number_input
    app = inputs(key=f"{field}-{tag()}").set_value(value).run()
    assert not app.exception
    assert complaint in shown(app)
    assert "growth-ask" not in keys(app)


def test_months_can_begin_with_the_size_that_was_found(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0))
    saved(store, record)
    app = opened(store, open_page, part="Growth")
    app = app.button(key="growth-from-size").click().run()
    assert not app.exception
    assert "1 delivery or retirement" in shown(app)
    held: pd.DataFrame = app.session_state[f"growth-steps-{tag()}-now"]
    assert held["Nodes ±"].tolist() == [record.answer["answer"][0] - 2]
