"""The page Home: the demo, three questions, a log to bring, recent work."""

import json
from datetime import timedelta

import pandas as pd
import pytest

from dlsched import load
from dlsched.policies.registry import find
from dlsched.studies.code_version import code_version
from dlsched.studies.design import Futures, Variant, run_variants
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import session
from dlsched.ui.home import home
from dlsched.ui.home.demo_result import demo_result
from dlsched.ui.plan import what_if_state
from dlsched.workload.catalogue import data_path
from dlsched.workload.scenario_file import scenario_bytes
from tests.support.runs_for_store import record, small_scenario

LOG = b"job_id,submit_time_s,num_gpus,duration_s\na,0,1,60\nb,10,2,600\nc,20,1,60\n"


def primary(app) -> list[str]:
    return [button.key for button in app.button if button.proto.type == "primary"]


def dropped(app, name: str, content: bytes):
    return app.file_uploader(key="home-drop").upload(name, content).run()


def test_first_session_has_the_demo_ready_and_one_next_step(open_page, store):
    app = open_page("home/home.py")
    assert not app.exception
    assert list(store.list_scenarios()["data_kind"]) == ["example"]
    assert primary(app) == ["run-demo"]
    assert any("LAS cuts late jobs from" in part.value for part in app.header)
    assert any("No run yet" in part.value for part in app.markdown)
    assert not app.subheader  # headings go from the first level to the second
    questions = [part.value for part in app.header][:3]
    assert questions == ["How many nodes do I need?", "Which policy?", "What if we grow?"]


def test_the_bundled_picture_is_of_the_policies_that_its_sentence_names():
    shown = demo_result()
    assert shown.before.policy == find(home.DEMO_POLICIES[0]).label
    assert shown.after.policy == find(home.BEST).label
    assert shown.sentence.startswith(f"Against {shown.before.policy}, {shown.after.policy} cuts late jobs")
    assert home.BEST in home.DEMO_POLICIES
    assert not find(home.BEST).uses_run_times
    assert shown.before.late.max() > 3 * shown.after.late.max()
    assert len(shown.times_s) == len(shown.after.on_time) == len(shown.before.late)


# ---- three questions ---------------------------------------------------------------------------------


def test_the_question_of_the_size_opens_the_search(open_page):
    app = open_page("home/home.py").button(key="ask-size").click().run()
    assert not app.exception
    assert any("Find the cheapest size" in button.label for button in app.button)


def test_the_question_of_the_policy_opens_run_and_later_the_comparison(open_page, store):
    app = open_page("home/home.py").button(key="ask-policy").click().run()
    assert app.title[0].value == "Run"
    assert app.button(key="run-now").label == "Run 5 policies"
    scenario = small_scenario()
    for policy, seed in (("sjf", 1), ("sjf", 0), ("fifo", 0)):
        store.save_run(record(scenario, policy=policy, seed=seed, code_version=code_version(), params={}))
    app = open_page("home/home.py", scenario=scenario.content_hash[:8])
    assert any("2 policies on these jobs" in part.value for part in app.markdown)
    app = app.button(key="ask-policy").click().run()
    assert app.title[0].value == "Compare"
    assert {store.run_info(run).seed for run in app.session_state["ticked_runs"]} == {0}


def test_the_question_of_growth_opens_with_the_demand_set(open_page, monkeypatch):
    monkeypatch.setattr(what_if_state, "ask_by_itself", lambda plan, seconds: None)
    app = open_page("home/home.py").button(key="ask-growth").click().run()
    assert not app.exception
    assert app.title[0].value == "What if"
    assert dict(app.session_state["whatif-spec"].condition) == {"demand": home.GROWTH}


# ---- ways in -----------------------------------------------------------------------------------------


def test_a_dropped_log_is_taken_over_by_the_import(open_page):
    app = dropped(open_page("home/home.py"), "C:\\logs\\mine.csv", LOG)
    assert not app.exception
    assert app.title[0].value == "Jobs"
    assert app.button(key="use-jobs").label == "Use these 3 jobs"
    assert any("mine.csv" in part.value.replace("\\", "") for part in app.markdown)


@pytest.mark.parametrize("name", ["mine.json", "mine.toml"])
def test_a_dropped_scenario_is_opened(open_page, store, name):
    content = scenario_bytes(small_scenario(3, name="from a file"))
    if name.endswith("toml"):
        content = (
            data_path("demo.toml").read_bytes().replace(b'"Demo"', b'"from a file"').replace(b"seed = 2", b"seed = 3")
        )
    app = dropped(open_page("home/home.py"), name, content)
    assert not app.exception
    assert app.title[0].value == "Jobs"
    assert "source" not in app.query_params
    info = session.store().scenario_info(app.session_state["scenario_hash"])
    assert info is not None
    assert info.name == "from a file"


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.toml", b"format_version = 99"), ("x.toml", b"\x00\xff"), ("x.json", b'{"format_version": [')],
)
def test_a_damaged_scenario_is_refused_in_one_message(open_page, store, name, content):
    app = dropped(open_page("home/home.py"), name, content)
    assert not app.exception
    assert len(app.error) == 1
    assert len(store.list_scenarios()) == 1


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"<html>no log</html>", json.dumps([1, 2]).encode()])
def test_what_is_no_log_is_refused_by_the_import(open_page, content):
    app = dropped(open_page("home/home.py"), "x.json", content)
    assert not app.exception
    assert app.title[0].value == "Jobs"
    assert len(app.error) == 1


def test_examples_are_in_one_menu(open_page):
    app = open_page("home/home.py").button(key="start-sample").click().run()
    assert app.title[0].value == "Jobs"
    assert app.segmented_control(key="source").value == "Sample"


# ---- recent work -------------------------------------------------------------------------------------


def test_comparing_own_runs_is_the_next_step(open_page, store):
    for policy in ("fifo", "sjf"):
        store.save_run(record(policy=policy))
    app = open_page("home/home.py")
    assert not app.exception
    assert primary(app) == ["start-compare"]
    assert app.button(key="start-compare").label == "Compare the 2"
    app.button(key="start-compare").click().run()
    assert len(app.session_state["ticked_runs"]) == 2


def test_recent_lines_take_the_runs_of_a_policy_together(store):
    scenario = small_scenario()
    for seed in range(3):
        store.save_run(record(scenario, seed=seed))
    store.save_run(record(scenario, policy="a-policy-of-another-version"))
    lines = home.recent_of(store.list_runs())
    assert len(lines) == 2
    assert [line.title for line in lines] == ["a-policy-of-another-version on four jobs v1", "FIFO on four jobs v1"]
    assert lines[1].numbers == ["p95 wait 12 s", "no price set"]
    assert lines[1].ran_at == store.list_runs().query("policy == 'fifo'")["created_at"].max()
    assert [line.run_id for line in home.same_question(lines)] == [line.run_id for line in lines[::-1]]


def test_recent_lines_take_up_futures_that_are_computed_later(open_page, store):
    demo = load(data_path("demo.toml"))
    store.save_run(simulate(demo, "fifo", seed=0).record())
    facts = [part.value for part in open_page("home/home.py").markdown if "p95 wait" in part.value]
    run_variants(demo, [Variant(policy="fifo")], Futures.first(3), store=store)
    later = [part.value for part in open_page("home/home.py").markdown if "p95 wait" in part.value]
    assert len(facts) == len(later) == 1
    assert facts != later


def test_recent_of_nothing(store):
    assert home.recent_of(store.list_runs()) == []
    assert home.same_question([]) == []


@pytest.mark.parametrize(
    ("gone", "text"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(minutes=2, seconds=59), "2 min ago"),
        (timedelta(hours=25), "1 d ago"),
        (timedelta(hours=23, minutes=59), "23 h ago"),
    ],
)
def test_age_in_its_largest_unit(gone, text):
    assert home.age(pd.Timedelta(gone).total_seconds()) == text
