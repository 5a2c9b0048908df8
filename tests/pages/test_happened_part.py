"""The part What happened of the page Jobs: computed in the background, shown with its tables and notes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.ui.scenario import anonymised_copy
from dlsched.workload.scenario_file import read_scenario
from tests.support.page_text import shown
from tests.support.runs_for_store import small_scenario

PAGE = "scenario/jobs.py"
OpenPage = Callable[..., AppTest]
H = 3600.0


def recorded() -> Scenario:
    """Return three jobs of two users on a node of 8 GPUs; c waits 4 h, for 3 of which all it needs is idle."""
    jobs = Workload.from_columns({
        "job_id": ["a", "b", "c", "d"], "submit_s": [0, 0, H, 8 * H], "work": [2 * H, 4 * H, H, H],
        "gpus_per_worker": [4, 2, 4, 8], "user": ["ann", "<b>bob</b>", "ann", "ann"],
        "recorded_start_s": [0, H / 2, 5 * H, 8 * H],
    }, {"time_zero": "2026-03-02T00:00:00", "time_zone": "local time"})  # fmt: skip
    node = VmType(name="node", gpus=8, usd_per_h=16.0)
    return Scenario(jobs, Cluster(pools=(Pool(vm=node, count=1),)), name="week")


def opened(store: Store, open_page: OpenPage, scenario: Scenario) -> AppTest:
    return open_page(PAGE, scenario=store.save_scenario(scenario).scenario_hash, part="What happened")


def test_jobs_without_recorded_starts_have_no_history(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, small_scenario())
    assert not app.exception
    assert "no recorded start times" in shown(app)


def test_a_copy_without_names_can_be_downloaded(
    store: Store, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Callable[[], bytes]] = {}

    def button(label: str, data: Callable[[], bytes], **_: object) -> bool:
        made[label] = data
        return False

    monkeypatch.setattr(st, "download_button", button)
    anonymised_copy.button(recorded())
    assert set(made) == {"Scenario file", "Jobs (Parquet)"}
    copy = read_scenario(made["Scenario file"]())
    assert copy.workload.submit_s.tolist() == recorded().workload.submit_s.tolist()
    assert b"bob" not in made["Scenario file"]() + made["Jobs (Parquet)"]()
    made.clear()
    anonymised_copy.button(recorded().replace(generator={"kind": "job-mix"}))
    assert not made  # generated jobs have nothing to hide


def test_the_page_offers_a_copy(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, scenario=store.save_scenario(recorded()).scenario_hash)
    assert not app.exception
    assert "Still visible" in shown(app)


def test_it_is_computed_and_shown(store: Store, open_page: OpenPage, runner: Runner) -> None:
    app = opened(store, open_page, recorded())
    assert not app.exception
    text = shown(app)
    assert "4 jobs waited" in text
    assert "They used 28 GPU-hours" in text
    assert "$56.00" in text
    cards = {metric.label: metric.value for metric in app.metric}
    assert cards["Waited over 1 h"] == "25%"
    assert "In 3 of 6 hours at least 20% stood idle" in text
    cost = next(frame for frame in app.dataframe if "share of cost" in frame.value.columns)
    assert cost.value["user"].tolist() == ["ann", "<b>bob</b>", "total", "idle (not charged)"]
    assert "prices of the node types" in text
    use = next(frame for frame in app.dataframe if "hours idle" in frame.value.columns)
    assert use.value["resource"].tolist() == ["GPUs"]
    assert use.value["hours available"].tolist() == [48]


def test_a_typed_price_counts(store: Store, open_page: OpenPage, runner: Runner) -> None:
    app = opened(store, open_page, recorded())
    field = next(field for field in app.number_input if "GPU-hour" in field.label)
    app = field.set_value(1.0).run()
    assert not app.exception
    assert "They cost $28.00" in shown(app)
    assert "as entered" in shown(app)


@pytest.mark.parametrize("by", ["user", "month"])
def test_the_reader_chooses_the_grouping(store: Store, open_page: OpenPage, runner: Runner, by: str) -> None:
    app = opened(store, open_page, recorded())
    control = next(one for one in app.segmented_control if one.label == "By")
    app = control.set_value(by).run()
    assert not app.exception
    assert f"Waits by {by}" in [part.value for part in app.subheader]
