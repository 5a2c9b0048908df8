"""The page Memo: form, preview, files, and what is refused with its reason."""

from __future__ import annotations

import dataclasses
from io import BytesIO
from typing import Any

import openpyxl
import pptx
import pytest
import streamlit as st

from dlsched.domain.scenario import SimulationRules
from dlsched.report.evidence import winners_of
from dlsched.report.write import content
from dlsched.store.record import ExperimentRecord
from dlsched.studies.simulation import simulate
from dlsched.studies.sweep import read_spec, run_sweep
from dlsched.ui.plan import memo as memo_page
from tests.support.page_text import shown
from tests.support.runs_for_store import small_scenario

PAGE = "plan/memo.py"
ENGINE = {"restart_s": 1.0}


@pytest.fixture
def scenario():
    """Twelve jobs on four GPUs, of 60 s each but the first ones of 600 s, so that orders matter."""
    given = small_scenario(jobs=12, options=SimulationRules(**ENGINE))
    work = given.workload.work.copy()
    work[[0, 5]] = 600.0
    return given.replace(workload=given.workload.with_columns(work=work))


@pytest.fixture
def pages(monkeypatch):
    """Collect what the preview shows, and the memos files are written from."""
    seen: dict[str, list[Any]] = {"html": [], "memo": []}
    monkeypatch.setattr(st, "iframe", lambda html, **_: seen["html"].append(html))
    downloads = memo_page.downloads

    def noted(memo, of):
        seen["memo"].append(memo)
        downloads(memo, of)

    monkeypatch.setattr(memo_page, "downloads", noted)
    return seen


def run(store, scenario, policy="fifo", seed=0, **changes):
    record = simulate(scenario, policy, seed=seed).record()
    return store.save_run(dataclasses.replace(record, **changes))


def text_of(app, label):
    return next(area for area in app.text_area if area.label == label)


def test_a_memo_is_filled_in_from_the_ticked_runs(store, scenario, open_page, pages):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert not app.error
    assert text_of(app, "Question").value == "Which should we choose: FIFO or SJF?"
    advice = text_of(app, "Recommendation").value
    assert advice.startswith("Choose SJF: late jobs fall from 83.3% to 66.7%")
    assert advice in pages["html"][-1]
    assert ">ann<" in pages["html"][-1]
    memo = pages["memo"][-1]
    assert memo.origin.words == "four jobs, v1"
    assert len(pptx.Presentation(BytesIO(content(memo, "pptx"))).slides) == 5
    assert openpyxl.load_workbook(BytesIO(content(memo, "xlsx")))["Summary"]["A1"].value == memo.question
    assert not app.get("download_button")[-1].proto.disabled


def test_what_is_typed_is_on_the_page_and_stays(store, scenario, open_page, pages):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    app = text_of(app, "Recommendation").set_value("Do <b>this</b>.").run()
    app = text_of(app, "Note").set_value("Asked by the board").run()
    app = app.checkbox(key="memo-who").uncheck().run()
    assert not app.exception
    page = pages["html"][-1]
    assert "Do &lt;b&gt;this&lt;/b&gt;." in page
    assert "Asked by the board" in page
    assert "Who gains" not in page
    app = app.switch_page("pages/simulate/run.py").run()
    app = app.switch_page(f"pages/{PAGE}").run()
    assert text_of(app, "Recommendation").value == "Do <b>this</b>."
    app = text_of(app, "Recommendation").set_value("").run()
    assert text_of(app, "Recommendation").value.startswith("Choose SJF: late jobs")


def test_names_can_be_letters(store, scenario, open_page, pages):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    app = app.segmented_control(key="memo-names").set_value("A, B, C").run()
    assert not app.exception
    assert ">ann<" not in pages["html"][-1]
    assert ">A<" in pages["html"][-1]


def test_the_baseline_can_be_changed_and_options_left_out(store, scenario, open_page, pages):
    runs = [run(store, scenario, policy) for policy in ("fifo", "sjf", "las")]
    app = open_page(PAGE, runs=",".join(runs), base=runs[0])
    picked = next(box for box in app.selectbox if box.label == "Baseline")
    app = picked.set_value("LAS").run()
    assert not app.exception
    assert pages["memo"][-1].comparison.names == ("LAS", "FIFO", "SJF")
    app = app.multiselect[0].set_value(["SJF"]).run()
    assert pages["memo"][-1].comparison.names == ("LAS", "SJF")
    for name in ("FIFO", "LAS"):  # there and back again
        app = next(box for box in app.selectbox if box.label == "Baseline").set_value(name).run()
        assert not app.exception
        assert pages["memo"][-1].baseline == name


def test_a_run_that_failed_its_audit_is_refused_with_a_way_out(store, scenario, open_page, pages):
    runs = [run(store, scenario), run(store, scenario, "sjf", audit=("node 4: used twice",)),
            run(store, scenario, "las")]  # fmt: skip
    app = open_page(PAGE, runs=",".join(runs), base=runs[0])
    assert not app.exception
    assert "failed its audit (1 violation, the first: node 4: used twice)" in shown(app)
    assert not pages["html"]
    app = app.button(key="report-clean").click().run()
    assert not app.error
    assert pages["memo"][-1].comparison.names == ("FIFO", "LAS")


def test_other_jobs_are_refused(store, scenario, open_page, pages):
    base, other = run(store, scenario), run(store, small_scenario(4, name="fewer", options=SimulationRules(**ENGINE)))
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert "are runs of different workloads" in shown(app)
    assert not pages["html"]


def test_one_draw_of_something_random_says_rough_first(store, scenario, open_page, pages):
    given = scenario.replace(options=SimulationRules(bug_share=0.4, bug_within_s=50.0, **ENGINE))
    base, other = run(store, given), run(store, given, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert pages["memo"][-1].labels[0].startswith("rough preview")
    assert text_of(app, "Recommendation").value.startswith("Rough preview: confirm with 10 simulations")


@pytest.mark.parametrize(
    ("policies", "key", "words"),
    [((), "report-empty", "Go to Run"), (("fifo",), "report-one", "Go to Run")],
    ids=["none", "one"],
)
def test_too_few_runs_are_an_empty_page_with_a_way_on(store, scenario, open_page, policies, key, words):
    store.save_scenario(scenario)
    for policy in policies:
        run(store, scenario, policy)
    app = open_page(PAGE, scenario=scenario.content_hash[:8])
    assert not app.exception
    assert app.button(key=key).label == words


def test_one_ticked_run_takes_the_others_along(store, scenario, open_page, pages):
    base = run(store, scenario)
    run(store, scenario, "sjf")
    app = open_page(PAGE, runs=base, base=base)
    app = app.button(key="report-one").click().run()
    assert not app.exception
    assert pages["memo"][-1].comparison.names == ("FIFO", "SJF")


def test_result_and_compare_lead_here(store, scenario, open_page, pages):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page("results/compare.py", runs=f"{other},{base}", base=other)
    app = app.button(key="compare-memo").click().run()
    assert not app.exception
    assert pages["memo"][-1].comparison.names == ("SJF", "FIFO")
    app = open_page("results/run_details.py", run=other, runs=base, base=base)
    app = app.button(key="result-memo").click().run()
    assert not app.exception
    assert pages["memo"][-1].comparison.names == ("FIFO", "SJF")


def test_the_share_menu_points_to_the_memo(store, scenario, open_page):
    store.save_scenario(scenario)
    app = open_page("simulate/run.py", part="History", scenario=scenario.content_hash[:8])
    assert "For others: download the HTML memo, one file that needs neither." in shown(app)


def test_a_stored_sweep_says_what_could_change_the_answer(store, scenario, open_page, pages):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert app.checkbox(key="memo-situations").disabled
    asked = read_spec({"scenario": scenario.content_hash, "axes": [{"key": "nodes", "values": [3]}],
                       "mode": "one-at-a-time", "policies": ["fifo", "sjf"], "metrics": ["late_share"]})  # fmt: skip
    answer = run_sweep(asked, scenario).answer
    store.save_experiment(ExperimentRecord("sweep", asked.model_dump(mode="json"), answer.to_plain(), "1"))
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert not app.checkbox(key="memo-situations").disabled
    found = pages["memo"][-1].sensitivity
    assert [each.words for each in found.situations] == ["as it is", "3 nodes"]
    assert found.basis.is_exact
    assert "What could change this" in pages["html"][-1]
    app = app.checkbox(key="memo-situations").uncheck().run()
    assert "What could change this" not in pages["html"][-1]


def test_who_gains_is_computed_once(store, scenario, open_page, pages, monkeypatch):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    asked: list[str] = []

    def counted(baseline, *jobs, **how):
        asked.append(baseline)
        return winners_of(baseline, *jobs, **how)

    monkeypatch.setattr("dlsched.ui.plan.memo_build.winners_of", counted)
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    text_of(app, "Note").set_value("once").run()
    assert asked == ["FIFO"]
