"""Run details in a real browser: a found job is outlined in the middle of its window, and old links open cold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.store import Store
from dlsched.studies.simulation import simulate
from tests.browser.conftest import Server
from tests.support.waiting import PATIENCE_S
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
OUTLINES = """() => document.querySelector(".st-key-chart-bars .js-plotly-plot").data
    .filter(trace => trace.name === "job 150").map(trace => trace.marker.line.width)"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """The app on a store with one run of 300 jobs on 80 nodes, more than a picture of single jobs holds."""
    path = tmp_path_factory.mktemp("browser") / "results.duckdb"
    jobs = Workload.from_columns(
        {
            "job_id": [f"job {number}" for number in range(300)],
            "submit_s": 600.0 * np.arange(300),
            "work": np.full(300, 40_000.0),
        }
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=1), count=80),))
    store = Store(path)
    run = store.save_run(simulate(Scenario(jobs, cluster, SimulationRules(restart_s=1.0)), "fifo").record())
    store.close()
    server = Server(path)
    server.start()
    try:
        yield server, run
    finally:
        server.kill()


def query(page: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}


def test_a_found_job_is_outlined_in_the_middle_of_the_window(app: tuple[Server, str], page: Any) -> None:
    server, run = app
    page.goto(f"{server.url}/result?run={run}&tab=Gantt")  # as an earlier version wrote it
    page.wait_for_url("**/run-details**", timeout=PATIENCE_S * 1000)
    page.get_by_role("button", name="Show nodes 0–63").wait_for()
    page.locator(".st-key-chart-strip .js-plotly-plot").wait_for()
    settle(page)
    assert query(page)["part"] == "Timeline"
    assert page.locator(".st-key-chart-bars").count() == 0  # 80 nodes are shown as a raster
    page.locator(".st-key-g-find input").fill("job 150")
    page.keyboard.press("Enter")
    page.locator(".st-key-chart-bars .js-plotly-plot").first.wait_for()
    page.wait_for_url(lambda url: "job=150" in url and "rows=" in url)
    settle(page)
    asked = query(page)
    submit_s, ends_s = 90_000.0, 130_000.0
    # 80 GPUs take the jobs as they come: 66 run at a time.
    assert (float(asked["from"]) + float(asked["to"])) / 2 == pytest.approx((submit_s + ends_s) / 2, abs=2)
    assert asked["job"] == "150"
    first, last = map(int, asked["rows"].split("-"))
    assert last - first + 1 == 64
    page.get_by_text("is outlined").first.wait_for()
    page.wait_for_function(f"() => ({OUTLINES})().length === 2")
    assert max(page.evaluate(OUTLINES)) >= 5
    page.get_by_role("button", name="Show why it waited").first.click()
    page.locator("h2").filter(has_text="Job job 150: started at once").first.wait_for()


def test_a_link_to_a_view_into_decisions_offers_samples_where_no_run_has_one(
    app: tuple[Server, str], page: Any
) -> None:
    server, run = app
    for address in ("look-ahead", "admissions", "dual-prices", "prices"):
        page.goto(f"{server.url}/{address}?run={run}")
        page.wait_for_url("**/run-details**", timeout=PATIENCE_S * 1000)
        settle(page)
        for key in ("look", "admit", "price"):
            page.locator(f".st-key-{key}-empty button").first.wait_for()
