"""Several people on one server: names from a trusted proxy only, readers who write nothing, a read-only address."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlsched.domain.actor import Actor
from dlsched.domain.scenario import SimulationRules
from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.ui.frame.navigation import ADDRESSES
from tests.browser.conftest import Server
from tests.support.proxy import ADDRESS, HEADER, Proxy
from tests.support.runs_for_store import small_scenario
from tests.support.store_rows import rows_of
from tests.support.waiting import PATIENCE_S
from tests.support.wire import Visitor
from tools.settled import settle

CONFIG = f"""
[access]
login = "header"
proxies = ["{ADDRESS}"]
planners = ["anna"]
readers = ["rita"]
"""
LINKS = (
    "what-if?set=demand:1.3",
    "what-if?set=nodes:2&do=apply",
    "capacity?part=Size&condition=demand:1.3",
    "capacity?part=Range&preset=pool-size",
    "run?part=History&do=delete",
    "run?policies=fifo,las,sjf",
    "jobs?source=Sample",
    "jobs?part=Trust",
    "memo?runs=none",
    "?term=wait",
    "workload",
    "pool-size",
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with two runs of a planner, and the config file beside it."""
    folder = tmp_path_factory.mktemp("users")
    scenario = small_scenario(options=SimulationRules(horizon_s=1e9))
    with Store(folder / "results.duckdb") as store:
        for policy in ("fifo", "sjf"):
            store.acting(Actor("anna")).save_run(simulate(scenario, policy).record())
    (folder / "config.toml").write_text(CONFIG)
    return folder / "results.duckdb"


@pytest.fixture
def served(filled: Path, tmp_path: Path) -> Iterator[Server]:
    """A server with a login, on a store of its own."""
    shutil.copy(filled, tmp_path / "results.duckdb")
    app = Server(tmp_path / "results.duckdb", "--config", str(filled.parent / "config.toml"))
    app.start()
    yield app
    app.kill()


@pytest.mark.parametrize(
    ("address", "headers", "seen"),
    [
        pytest.param("127.0.0.1", {HEADER: "anna"}, "Sign in", id="forged, from this machine"),
        pytest.param("127.0.0.3", {HEADER: "anna"}, "Sign in", id="forged, from another address"),
        pytest.param("127.0.0.1", {HEADER: "anna", "X-Forwarded-For": ADDRESS}, "Sign in", id="forged, as the proxy"),
        pytest.param("127.0.0.1", {HEADER: "anna", "Forwarded": f"for={ADDRESS}"}, "Sign in", id="forged, RFC 7239"),
        pytest.param("127.0.0.1", {HEADER: "anna", "X-Real-IP": ADDRESS}, "Sign in", id="forged, X-Real-IP"),
        pytest.param(ADDRESS, {}, "Sign in", id="proxy without a name"),
        pytest.param(ADDRESS, {HEADER: "anna"}, "anna · planner", id="proxy, planner"),
        pytest.param(ADDRESS, {HEADER: "rita", "X-Forwarded-For": "9.9.9.9"}, "rita · reader", id="proxy, reader"),
        pytest.param(ADDRESS, {HEADER: "otto"}, "otto may not use this server", id="proxy, not listed"),
    ],
)
def test_a_header_counts_from_the_proxy_only(address, headers, seen, open_server):
    with Visitor(open_server.port, address, headers) as visitor:
        text = visitor.open("compare").text
        assert seen in text.replace("\\", "")
        assert ("FIFO" in text) == ("·" in seen)


@pytest.fixture(scope="module")
def open_server(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a login, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(filled, folder / "results.duckdb")
    app = Server(folder / "results.duckdb", "--config", str(filled.parent / "config.toml"))
    app.start()
    yield app
    app.kill()


def test_a_reader_who_presses_every_button_of_every_page_over_the_wire_writes_nothing(served):
    before = rows_of_stopped(served)
    served.start()
    pressed: set[str] = set()  # by key: those of the frame are on every page
    with Visitor(served.port, ADDRESS, {HEADER: "rita"}) as visitor:
        for page in ADDRESSES.values():
            fresh = {button.split("-", 2)[-1]: button for button in visitor.open(page).buttons}
            for key in fresh.keys() - pressed:
                visitor.open(page, pressed=fresh[key])
                pressed.add(key)
    assert {"bar-delete", "run-demo", "run-now", "save-cluster", "use-prices", "price-add"} <= pressed
    assert rows_of_stopped(served) == before


def rows_of_stopped(server: Server) -> dict[str, list[tuple[Any, ...]]]:
    server.kill()
    return rows_of(server.store)


def test_a_reader_in_a_browser_reads_every_page_and_link_and_writes_nothing(served, page):
    before = rows_of_stopped(served)
    served.start()
    proxy = Proxy(served.port, "rita")
    try:
        for address in (*ADDRESSES.values(), *LINKS):
            page.goto(f"{proxy.url}/{address}")
            settle(page)
            page.get_by_text("You may read here, not change").first.wait_for(timeout=PATIENCE_S * 1000)
            assert not page.get_by_test_id("stException").count(), address
        page.goto(f"{proxy.url}/cluster")
        settle(page)
        assert page.get_by_role("button", name="Save cluster").is_disabled()
    finally:
        proxy.close()
    assert rows_of_stopped(served) == before


def test_what_a_planner_does_carries_the_name(served, page):
    proxy = Proxy(served.port, "anna")
    try:
        page.goto(proxy.url)
        settle(page)
        page.get_by_text("anna · planner").wait_for()
        page.locator(".st-key-scenario-menu button").first.click()
        page.get_by_role("button", name="Duplicate").click()
        settle(page)
    finally:
        proxy.close()
    rows = rows_of_stopped(served)
    assert len(rows["scenarios"]) == 2
    assert any("anna" in row for row in rows["scenarios"])


def test_a_read_only_address_below_a_path_of_a_proxy(filled, tmp_path, page):
    shutil.copy(filled, tmp_path / "results.duckdb")
    before = rows_of(tmp_path / "results.duckdb")
    app = Server(tmp_path / "results.duckdb", "--read-only", base_path="plan/dlsched")
    app.start()
    try:
        page.goto(f"{app.url}/compare")
        settle(page)
        page.get_by_text("this server is read-only").first.wait_for(timeout=PATIENCE_S * 1000)
        with Store(app.store, read_only=True) as beside:
            assert len(beside.list_runs()) == 2
        page.get_by_role("link", name="Cluster", exact=True).click()
        page.wait_for_url(f"{app.url}/cluster?**")
        settle(page)
        page.get_by_role("button", name="Share").click()
        page.get_by_text(f"{app.url}/cluster?scenario=").wait_for()
        page.get_by_role("link", name="Write the memo").click()
        page.wait_for_url(f"{app.url}/memo?**")
        settle(page)
        page.goto(f"{app.url}/workload")
        page.wait_for_url(f"{app.url}/jobs**")
        settle(page)
    finally:
        app.kill()
    assert rows_of(tmp_path / "results.duckdb") == before


class ExposedServer(Server):
    """A server that listens on all addresses of this machine."""

    def command(self) -> list[str]:
        return [part.replace("--server.address=127.0.0.1", "--server.address=0.0.0.0") for part in super().command()]


def test_exposed_without_a_login_is_red_on_the_page(filled, tmp_path, page):
    shutil.copy(filled, tmp_path / "results.duckdb")
    app = ExposedServer(tmp_path / "results.duckdb")
    app.start()
    try:
        for address in ("", "memo"):
            page.goto(f"{app.url}/{address}")
            settle(page)
            page.get_by_text("There is no login, and the server listens on 0.0.0.0").wait_for()
    finally:
        app.kill()
