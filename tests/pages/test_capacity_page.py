"""The page Capacity: which part a link opens, whatever address it was made for, and what each part starts with."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.sweep import STUDY, read_spec, run_sweep
from dlsched.ui.plan.sweep_form import METRICS
from tests.pages.conftest import ROOT
from tests.support.page_text import shown
from tests.support.size_page import PAGE, OpenPage, answered, keys, months, opened, primary, saved, scenario, tag

QUESTIONS = {
    "Size": "How many nodes do I need?",
    "Headroom": "How many more jobs can the cluster handle?",
    "Growth": "Until when does the cluster meet my targets, and by when must more be ordered?",
    "Range": "How does the result change over a range of values, and which policy is the safe choice?",
    "Sensitivity": "Which assumption matters most, and which policy is safe whatever happens?",
}


def swept(mode: str) -> ExperimentRecord:
    """Return the record of a sweep over nodes, as a range or one at a time."""
    plain = {"scenario": scenario().content_hash, "axes": [{"key": "nodes", "values": [1, 3]}], "mode": mode,
             "policies": ["fifo"], "futures": {"seeds": [0]}, "metrics": METRICS}  # fmt: skip
    spec = read_spec(plain)
    answer = run_sweep(spec, scenario()).answer.to_plain()
    return ExperimentRecord("sweep", spec.model_dump(mode="json"), answer, STUDY.version, f"nodes, {mode}")


def committed() -> ExperimentRecord:
    """Return the record of a search for what to commit to."""
    plain = {"scenario": scenario().content_hash, "targets": [{"metric": "wait_p95", "limit": 600.0}], "most": 2,
             "rent_usd_per_h": 9.0, "futures": {"seeds": [0]}}  # fmt: skip
    return registry.compute("commitment", plain, subject=scenario())


RECORDS = {
    "Commit or rent": committed,
    "Size": lambda: answered(("wait_p95", 30.0)),
    "Growth": lambda: months(30.0),
    "Range": lambda: swept("grid"),
    "Sensitivity": lambda: swept("one-at-a-time"),
}


def part(app: AppTest) -> str:
    return str(app.segmented_control(key="part").value)


def old(address: str, **params: str) -> AppTest:
    """Open an address of an earlier version."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180)
    for name, value in params.items():
        app.query_params[name] = value
    app._page_hash = calc_hash(address)  # AppTest opens pages by their file, and an old address has none
    return app.run()


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_part_opens_by_its_link_with_its_question_and_one_main_button(
    name: str, store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, part=name)
    assert not app.exception
    assert not app.error
    assert [one.value for one in app.title] == ["Capacity"]
    assert part(app) == name
    assert app.header[0].value == QUESTIONS[name]
    prefix = {"Headroom": "size"}.get(name, name.lower())
    assert primary(app) == [f"{prefix}-ask"]
    (asked,) = [one.value for one in app.markdown if one.value.startswith("**Question**")]
    assert "?" in asked  # in words, not a number of runs


@pytest.mark.parametrize("named", [*QUESTIONS, ""])
@pytest.mark.parametrize("kind", RECORDS)
def test_an_answer_opens_the_part_of_its_kind_whatever_part_the_link_names(
    kind: str, named: str, store: Store, open_page: OpenPage
) -> None:
    experiment = saved(store, RECORDS[kind]())
    app = open_page(PAGE, experiment=experiment, **({"part": named} if named else {}))
    assert not app.exception
    assert not app.error
    assert part(app) == ("Headroom" if (kind, named) == ("Size", "Headroom") else kind)
    assert experiment in app.query_params["experiment"]
    assert not {"size-ask", "growth-ask", "range-ask", "sensitivity-ask", "commitment-ask"} & keys(
        app
    )  # it is answered
    assert app.session_state["scenario_hash"] == scenario().content_hash
    again = app.run()
    assert part(again) == part(app)


def test_going_from_part_to_part_and_back_shows_the_answer_of_each(store: Store, open_page: OpenPage) -> None:
    ids = {kind: saved(store, make()) for kind, make in RECORDS.items()}
    app = opened(store, open_page)
    for name in ("Size", "Commit or rent", "Growth", "Range", "Sensitivity", "Headroom", "Range", "Size"):
        app = app.segmented_control(key="part").set_value(name).run()
        assert not app.exception
        assert app.query_params["experiment"] == ids[{"Headroom": "Size"}.get(name, name)], name


@pytest.mark.parametrize(
    ("address", "params", "name"),
    [
        ("size", {}, "Size"),
        ("size", {"part": "Headroom"}, "Headroom"),
        ("size", {"part": "Growth"}, "Growth"),
        ("sweep", {}, "Range"),
        ("sweep", {"preset": "situations"}, "Sensitivity"),
        ("sweep", {"preset": "load"}, "Range"),
        ("pool-size", {}, "Range"),
    ],
)
def test_old_addresses_open_their_part(address: str, params: dict[str, str], name: str, store: Store) -> None:
    app = old(address, scenario=store.save_scenario(scenario()).scenario_hash, **params)
    assert not app.exception
    assert [one.value for one in app.title] == ["Capacity"]
    assert part(app) == name
    assert "preset" not in app.query_params
    if params.get("preset") == "load":
        assert app.text_input(key=f"sweep-values-grid-demand-{tag()}").value == "0.8, 1, 1.2, 1.4, 1.6"
    if params.get("preset") == "situations":
        assert "whichever comes: 20% more jobs, " in shown(app)


@pytest.mark.parametrize("kind", RECORDS)
def test_an_answer_opens_by_the_address_of_its_old_page(kind: str, store: Store) -> None:
    experiment = saved(store, RECORDS[kind]())
    app = old("size" if kind in ("Size", "Growth") else "sweep", experiment=experiment)
    assert not app.exception
    assert not app.error
    assert part(app) == kind
    assert experiment in app.query_params["experiment"]


def test_old_links_keep_condition_and_policy(store: Store) -> None:
    app = old("size", scenario=store.save_scenario(scenario()).scenario_hash, condition="demand:1.3", policy="sjf")
    assert not app.exception
    assert "under SJF, with 30% more jobs?" in shown(app)
    assert app.query_params["condition"] in ("demand:1.3", ["demand:1.3"])


def test_what_is_no_planners_word_stays_in_range(store: Store, open_page: OpenPage) -> None:
    for kind, make in RECORDS.items():
        app = open_page(PAGE, experiment=saved(store, make()))
        text = shown(app).lower()
        assert ("knee" in text) == (kind == "Range"), kind
        assert ("regret" in text) == (kind in ("Range", "Commit or rent")), kind
