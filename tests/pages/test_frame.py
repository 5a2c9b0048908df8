"""What all pages share: the scenario bar, links that lead nowhere, a store that is in use."""

from dataclasses import replace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import SimulationRules
from dlsched.runner.background import RunTask, TaskState, TaskStatus
from dlsched.ui.frame import link, navigation, run_state, scenario_bar, session
from dlsched.ui.simulate import queue
from tests.pages.conftest import ROOT
from tests.support.runs_for_store import record, small_scenario


def shown(app) -> str:
    return "\n".join(part.value for part in app.markdown).replace("\\", "")


def test_a_link_to_an_unknown_scenario_says_so_and_offers_a_way_on(open_page):
    app = open_page("simulate/run.py", part="History", scenario="deadbeef")
    assert not app.exception
    assert "Scenario deadbeef is not in this store" in app.error[0].value
    assert [button.label for button in app.main.button] == ["Continue with the demo", "Import an export file"]
    app = app.button[0].click().run()
    assert not app.error


def test_a_store_in_use_shows_nothing_else(store, open_page, monkeypatch):
    def locked():
        raise StoreError("This store is in use by process 4121 on this machine.")

    monkeypatch.setattr(session, "store", locked)
    app = open_page("simulate/run.py")
    assert not app.exception
    assert [title.value for title in app.title] == ["The result store is not available"]
    assert "in use by process 4121" in app.error[0].value
    assert [button.label for button in app.button] == ["Try again"]


def test_a_hostile_name_stays_text(store, open_page):
    saved = store.save_scenario(small_scenario(name="[x](http://evil) $5 :red[a] <script>"))
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash)
    assert not app.exception
    app = open_page("simulate/run.py", part="History", scenario=saved.scenario_hash)
    assert not app.exception


def test_edited_since_last_run_until_the_version_has_runs(store, open_page):
    first = small_scenario()
    store.save_run(record(first))
    parent = store.save_scenario(first)
    second = first.replace(options=SimulationRules(restart_s=5.0))
    child = store.save_scenario(second, based_on=parent.scenario_hash)
    assert not scenario_bar.was_edited(parent)
    assert scenario_bar.was_edited(child)
    app = open_page("simulate/run.py", part="History", scenario=child.scenario_hash)
    assert "v2 has no run yet. Results you have seen belong to v1." in shown(app)
    app = app.button(key="bar-undo").click().run()
    assert app.session_state["scenario_hash"] == parent.scenario_hash
    store.save_run(record(second))
    assert not scenario_bar.was_edited(child)


def test_ticks_and_baseline_are_changed_in_the_bar(store, open_page):
    scenario = small_scenario()
    ids = [store.save_run(record(scenario, policy=policy)) for policy in ("fifo", "sjf", "las")]
    app = open_page(
        "simulate/run.py", part="History", scenario=scenario.content_hash, runs=",".join(ids[:2]), base=ids[1]
    )
    assert app.session_state["ticked_runs"] == [ids[1], ids[0]]
    app = app.checkbox(key=f"bar-tick-{ids[2]}-False").set_value(True).run()
    assert app.session_state["ticked_runs"] == [ids[1], ids[0], ids[2]]
    base = next(box for box in app.selectbox if box.label == "Baseline (B)")
    app = base.set_value(ids[2]).run()
    assert app.session_state["ticked_runs"] == [ids[2], ids[1], ids[0]]
    app = app.checkbox(key=f"bar-tick-{ids[1]}-True").set_value(False).run()
    assert app.session_state["ticked_runs"] == [ids[2], ids[0]]


def test_another_scenario_is_opened_by_choosing_it(store, open_page):
    here = store.save_scenario(small_scenario())
    there = store.save_scenario(small_scenario(7, name="seven jobs"))
    app = open_page("simulate/run.py", part="History", scenario=here.scenario_hash)
    app = app.selectbox(key=f"bar-switch-{here.scenario_hash}").set_value(there.scenario_hash).run()
    assert app.session_state["scenario_hash"] == there.scenario_hash
    app = app.text_input(key=f"bar-name-{there.scenario_hash}").set_value("Seven").run()
    app = app.button(key="bar-rename").click().run()
    assert list(store.list_scenarios()["name"]) == ["Seven", "four jobs"]


def test_facts_of_a_scenario():
    assert scenario_bar.facts(small_scenario())[:2] == ["4 jobs", "4 GPUs"]
    assert scenario_bar.facts(small_scenario())[3] == "$1.80/GPU-h"


def test_the_bar_folds_two_facts_before_four_and_later_when_it_is_full():
    facts = ["1,200 jobs", "64 GPUs", "load 78.5%", "$2.10/GPU-h"]
    two, four = scenario_bar.fold_px(["Demo", "v10", *facts], facts)
    assert four < two
    assert scenario_bar.fold_px(["Demo", "v10", *facts, "edited since last run"], facts)[0] > two


def status(state=TaskState.RUNNING, share=0.5, name="FIFO", run_id=None, eta_s=10.0, message=""):
    return TaskStatus("id", name, state, share, "day 1", eta_s, message, run_id)


def test_share_done_counts_what_is_over_and_never_says_all():
    over = status(TaskState.STORED, 1.0)
    assert scenario_bar.share_done([over, status(share=0.5)]) == 0.75
    assert scenario_bar.share_done([over] * 999 + [status(share=0.99)]) == 0.99


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        (
            [status(TaskState.STORED), status(name="SJF"), status(TaskState.QUEUED, 0.0, name="LAS")],
            "1 of 3 policies done, about 20 s left. You can leave this page.",
        ),
        ([status(TaskState.STORED, message="Answered from the store")] * 2,
         "2 finished runs kept, 2 of them answered from the store."),
        ([status(TaskState.STORED), status(TaskState.CANCELLED), status(TaskState.FAILED)],
         "Cancelled. 1 finished run kept, 1 not run, 1 failed."),
    ],
)  # fmt: skip
def test_summary_of_the_queue(statuses, text):
    assert queue.summary(statuses) == text


def test_ready_runs_are_one_a_policy_and_only_when_all_is_over():
    done = [
        status(TaskState.STORED, name="FIFO", run_id="a"),
        status(TaskState.STORED, name="FIFO", run_id="b"),
        status(TaskState.FAILED, name="SJF"),
        status(TaskState.STORED, name="LAS", run_id="c"),
    ]
    assert run_state.ready_runs(done) == ["a", "c"]
    assert run_state.ready_runs([*done, status()]) == []
    assert run_state.ready_runs([]) == []


def test_link_names_what_is_shown(monkeypatch):
    class Params(dict[str, list[str]]):
        def get_all(self, name: str) -> list[str]:
            return self[name]

    named = Params(runs=["a,b"], job=["j 1&x"], set=["nodes:9", "arrivals:1.2"], empty=[""])
    monkeypatch.setattr(st, "query_params", named)
    monkeypatch.setattr(session, "url_params", lambda: {"scenario": "91c0ffee"})
    assert scenario_bar.link("http://h/compare") == (
        "http://h/compare?scenario=91c0ffee&runs=a,b&job=j+1%26x&set=nodes%3A9&set=arrivals%3A1.2"
    )


def opened_at(address: str, **asked: str | list[str]) -> AppTest:
    """Open an old address: AppTest opens pages by their file, and an old address has none."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
    for name, value in asked.items():
        app.query_params[name] = value
    app._page_hash = calc_hash(address)
    app = app.run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("title", "heading"), [("Home", "Plan a GPU cluster before you pay for it"), ("Cluster", "Cluster")]
)
def test_a_link_to_an_old_address_opens_the_page_of_today_with_its_query(
    title, heading, store, monkeypatch: pytest.MonkeyPatch
):
    there = navigation.Moved(title, {"added": "by us"}, {"tab": ("part", {"Gantt": "Timeline"})})
    monkeypatch.setitem(navigation.OLD_ADDRESSES, "old", there)
    monkeypatch.setitem(link.OF_PAGES, title, ("added", "set", "part"))
    saved = store.save_scenario(small_scenario(name="of the link"))
    app = opened_at("old", scenario=saved.scenario_hash[:8], set=["nodes:3", "arrivals:2"], tab="Gantt")
    assert [one.value for one in app.title] == [heading]
    assert app.session_state["scenario_hash"] == saved.scenario_hash
    assert app.query_params["added"] == "by us"
    assert app.query_params["set"] == ["nodes:3", "arrivals:2"]
    assert app.query_params["part"] in ("Timeline", ["Timeline"])
    assert "tab" not in app.query_params


LAB_LINKS: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "throughput": (
        {"source": "Network of the study", "net": "VGG19"}, "Throughput", {"source": "Example network", "net": "VGG19"},
    ),
    "training-time": ({"rows": "Upload"}, "Training time", {"rows": "Upload"}),
    "parameter-servers": ({"ps_overlap": "priority"}, "Parameter servers", {"ps_overlap": "priority"}),
}  # fmt: skip


@pytest.mark.parametrize("address", LAB_LINKS)
def test_a_link_to_a_page_that_is_a_part_of_speed_up_opens_it_with_what_it_asked(address, store):
    asked, part, today = LAB_LINKS[address]
    app = opened_at(address, **asked)
    assert [one.value for one in app.title] == ["Speed-up"]
    assert app.segmented_control(key="part").value == part
    control = {"net": app.selectbox, "ps_overlap": app.selectbox}
    for name, value in today.items():
        assert control.get(name, app.segmented_control)(key=name).value == value


def test_old_addresses_lead_to_pages_that_are_there():
    assert {moved.title for moved in navigation.OLD_ADDRESSES.values()} <= navigation.SCRIPTS.keys()
    assert not set(navigation.ADDRESSES.values()) & navigation.OLD_ADDRESSES.keys()


# ---- the scenario menu -------------------------------------------------------------------------------


def looked_at(app) -> str:
    return str(app.session_state["scenario_hash"])


def test_a_deleted_scenario_gives_way_to_the_last_used_one_and_undo_brings_it_back(store, open_page, runner):
    first, second = small_scenario(), small_scenario(5, name="five jobs")
    ids = [store.save_run(record(one)) for one in (first, second)]
    open_page("simulate/run.py", part="History", scenario=second.content_hash)
    app = open_page("simulate/run.py", part="History", scenario=first.content_hash, runs=ids[0], base=ids[0])
    store.set_setting(session.USED, [first.content_hash, second.content_hash])
    app = app.button(key="bar-delete").click().run()
    assert not app.exception
    assert looked_at(app) == second.content_hash
    assert second.content_hash[:8] in app.query_params["scenario"]
    assert "Deleted “four jobs” (1 version, 1 run)" in shown(app)
    assert list(store.list_scenarios()["name"]) == ["five jobs"]
    assert app.session_state["ticked_runs"] == []
    app = app.switch_page("pages/scenario/cluster.py").run()
    app = app.button(key="undo-delete-scenario").click().run()
    assert looked_at(app) == first.content_hash
    assert set(store.list_runs()["run_id"]) == set(ids)
    assert "Deleted" not in shown(app)


def test_runs_under_way_of_a_deleted_scenario_are_stopped_and_others_go_on(store, open_page, runner, monkeypatch):
    mine, other = small_scenario(), small_scenario(5)
    for scenario in (mine, other):
        store.save_scenario(scenario)
    tasks = {"a": mine, "b": other}
    under_way = [replace(status(), id=task) for task in tasks]
    monkeypatch.setattr(runner, "status", lambda ids=None, **_: under_way if ids is None else [])
    monkeypatch.setattr(runner, "task", lambda task: RunTask(tasks[task], "fifo", {}, 0, "FIFO"))
    cancelled: list[str] = []
    monkeypatch.setattr(runner, "cancel", cancelled.extend)
    app = open_page("scenario/cluster.py", scenario=mine.content_hash)
    app = app.button(key="bar-delete").click().run()
    assert not app.exception
    assert cancelled == ["a"]


def test_what_others_run_is_told_and_neither_counted_nor_stopped(store, open_page, runner, monkeypatch):
    scenario = small_scenario()
    store.save_scenario(scenario)
    theirs = replace(status(), mine=False, asked_by="ben")
    monkeypatch.setattr(runner, "status", lambda ids=None, *, mine=False: [] if mine or ids is not None else [theirs])
    monkeypatch.setattr(runner, "task", lambda task: RunTask(scenario, "fifo", {}, 0, "FIFO"))
    cancelled: list[str] = []
    monkeypatch.setattr(runner, "cancel", cancelled.extend)
    app = open_page("simulate/run.py", scenario=scenario.content_hash)
    assert "1 task of other users (ben) under way" in shown(app)
    assert not [button for button in app.button if str(button.key).startswith("cancel")]
    assert "1 running" not in shown(app)
    app = app.button(key="bar-delete").click().run()
    assert "ben has 1 run of this scenario under way" in app.error[0].value
    assert cancelled == []
    assert list(store.list_scenarios()["name"]) == ["four jobs"]


def test_the_last_scenario_gives_way_to_the_demo(store, open_page, runner):
    saved = store.save_scenario(small_scenario())
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash)
    app = app.button(key="bar-delete").click().run()
    assert looked_at(app) == session.demo().content_hash
    app = app.button(key="bar-delete").click().run()
    assert not app.exception
    assert list(store.list_scenarios()["name"]) == ["Demo"]


def test_a_link_to_a_deleted_scenario_says_so_and_restores_it(store, open_page):
    saved = store.save_scenario(small_scenario())
    store.delete_scenario(saved.scenario_hash)
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash[:8])
    assert not app.exception
    assert "“four jobs” was deleted" in app.warning[0].value.replace("\\", "")
    app = app.button(key="restore-linked").click().run()
    assert not app.error
    assert looked_at(app) == saved.scenario_hash


def test_another_tab_that_looks_at_a_deleted_scenario_goes_on_with_the_last_used(store, open_page):
    other = store.save_scenario(small_scenario(5))
    saved = store.save_scenario(small_scenario())
    session.store().set_setting(session.USED, [saved.scenario_hash, other.scenario_hash])
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash)
    store.delete_scenario(saved.scenario_hash)
    app = app.run()
    assert not app.exception
    app = app.button(key="leave-deleted").click().run()
    assert looked_at(app) == other.scenario_hash
    assert other.scenario_hash[:8] in app.query_params["scenario"]


def test_deleted_scenarios_are_listed_in_the_menu_with_a_way_back(store, open_page):
    gone = store.save_scenario(small_scenario())
    here = store.save_scenario(small_scenario(5))
    store.delete_scenario(gone.scenario_hash)
    app = open_page("scenario/cluster.py", scenario=here.scenario_hash)
    app = app.button(key="bar-restore-0").click().run()
    assert looked_at(app) == gone.scenario_hash
    assert len(store.list_scenarios()) == 2


def test_a_duplicate_is_opened_and_changes_on_its_own(store, open_page):
    saved = store.save_scenario(small_scenario())
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash)
    app = app.button(key="bar-duplicate").click().run()
    assert not app.exception
    info = store.scenario_info(looked_at(app))
    assert (info.name, info.version) == ("four jobs (copy)", 1)
    assert info.lineage != saved.lineage


def test_the_part_of_one_page_is_not_taken_to_the_next(open_page, store):
    app = open_page("scenario/jobs.py", part="Trust")
    assert app.segmented_control(key="part").value == "Trust"
    app = app.switch_page("pages/plan/capacity.py").run()
    assert not app.exception
    assert app.segmented_control(key="part").value == "Size"
