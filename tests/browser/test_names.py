"""Names of users, jobs and scenarios that are addresses: text on every page, a link on none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.ui.frame.navigation import ADDRESSES
from dlsched.workload.catalogue import data_path
from dlsched.workload.load import load
from tests.browser.conftest import Server
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = ("https://evil.example/a", "www.evil.example/b", "anna@evil.example", "HTTP://evil.example")
PAGES = {
    "Home": "",
    "Jobs": "",
    "Run details": "Jobs&job=3",
    "Compare": "Who gains, who loses",
}
"""Pages that show names -> the part that does; "" for the first."""


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app that runs, and a link of it up to the parameters: scenario and runs have addresses for names."""
    file = tmp_path_factory.mktemp("names") / "results.duckdb"
    plain = load(data_path("demo.toml"))
    names = np.resize(np.array(NAMES, dtype=object), len(plain.workload))
    ids = names + np.arange(len(names)).astype(str).astype(object)
    jobs = plain.workload.from_columns({**plain.workload.columns(), "job_id": ids, "user": names})
    scenario = plain.replace(name=" ".join(NAMES), workload=jobs)
    with Store(file) as store:
        key = store.save_scenario(scenario).scenario_hash
        runs = [store.save_run(simulate(scenario, policy).record()) for policy in ("fifo", "sjf")]
    app = Server(file)
    app.start()
    yield f"{app.url}/{{}}?scenario={key}&runs={','.join(runs)}&base={runs[0]}&part={{}}"
    app.kill()


@pytest.mark.parametrize("title", PAGES)
def test_an_address_in_a_name_is_no_link(link: str, page: Any, title: str) -> None:
    page.goto(link.format(ADDRESSES[title], PAGES[title]))
    settle(page)
    assert "evil" in page.inner_text("body")
    assert page.eval_on_selector_all("a[href*=evil]", "links => links.map(link => link.href)") == []
