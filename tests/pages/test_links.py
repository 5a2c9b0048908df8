"""What an address asks for and a page does not know: told once, ignored, taken out of the address."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.ui.frame.navigation import ADDRESSES
from tests.support.runs_for_store import small_scenario

Opened = Callable[..., AppTest]
TOLD = "This page knows no such parameter or value."


@pytest.fixture
def runs(store: Store) -> list[str]:
    scenario = small_scenario(12)
    store.save_scenario(scenario)
    return [store.save_run(simulate(scenario, policy).record()) for policy in ("fifo", "sjf")]


def told(app: AppTest) -> list[str]:
    """Return what the page said that it ignored."""
    assert not app.exception, app.exception[0].message
    return [toast.value for toast in app.toast if TOLD in toast.value]


@pytest.mark.parametrize("address", ADDRESSES.values())
def test_every_page_names_a_parameter_that_it_does_not_know(open_old: Opened, address: str) -> None:
    app = open_old(address, colour="red[x](y)")
    assert len(told(app)) == 1
    assert told(app)[0].startswith("Ignored in the address: **colour=red\\[x\\]")
    assert "colour" not in app.query_params
    app.run()
    assert told(app) == []


@pytest.mark.parametrize(
    ("address", "params"),
    [
        ("", {"part": "Odd"}),
        ("jobs", {"source": "Odd"}),
        ("jobs", {"part": "Odd", "nodes": "many", "gpus": "x", "usd": "-"}),
        ("run", {"part": "Odd"}),
        ("run", {"run": "unknown"}),
        ("compare", {"part": "Odd"}),
        ("compare", {"base": "unknown"}),
        ("run-details", {"part": "Odd", "tab": "Gantt"}),
        ("run-details", {"part": "Timeline", "from": "inf", "to": "nan", "rows": "all"}),
        ("run-details", {"part": "Jobs", "job": "x"}),
        ("capacity", {"part": "Odd"}),
        ("capacity", {"part": "Range", "preset": "odd"}),
        ("capacity", {"policy": "fifo", "with": "{}"}),
        ("speed-up", {"part": "Throughput", "source": "Odd", "alpha": "1e400", "mini_batch": "inf"}),
        ("speed-up", {"part": "Training time", "rows": "Odd", "view": "Odd"}),
    ],
)
def test_a_value_that_means_nothing_is_named(
    open_old: Opened, runs: list[str], address: str, params: dict[str, str]
) -> None:
    one = {"run": runs[0]} if address == "run-details" else {}
    several = {"runs": ",".join(runs)} if address == "compare" else {}
    app = open_old(address, **{**one, **several, **params})
    (said,) = told(app)
    known = {"Timeline", "Jobs", "Range", "Throughput", "Training time"}
    for name, value in params.items():
        assert (f"{name}=" in said.replace("\\", "")) == (value not in known), (name, said)


def test_what_a_page_knows_is_told_on_none(open_old: Opened, runs: list[str]) -> None:
    whole = {"scenario": small_scenario(12).content_hash[:8], "run": runs[0]}
    assert told(open_old("run-details", part="Jobs", job="3", **whole)) == []
    window = {"from": "0", "to": "60", "rows": "0-1"}
    assert told(open_old("run-details", part="Timeline", **window, **whole)) == []
    assert told(open_old("compare", runs=",".join(runs), base=runs[1], part="Over time")) == []
    assert told(open_old("capacity", part="Range", preset="pool-size")) == []
    assert told(open_old("run", policies="fifo,sjf")) == []
    assert told(open_old("jobs", source="Generate", nodes="4", gpus="8", gpu="A100", usd="2")) == []
    assert told(open_old("what-if", policy="fifo", to="sjf", set="nodes:3")) == []
    named = {"part": "Throughput", "source": "Example network", "mini_batch": "64", "alpha": "0.02"}
    assert told(open_old("speed-up", **named)) == []


def test_an_old_address_is_judged_under_the_names_of_today(open_old: Opened, runs: list[str]) -> None:
    assert told(open_old("result", run=runs[0], tab="Gantt")) == []
    (said,) = told(open_old("result", run=runs[0], tab="Odd"))
    assert "part=Odd" in said
    (said,) = told(open_old("compare", runs=",".join(runs), ctab="Odd", colour="red"))
    assert "part=Odd" in said
    assert "colour=red" in said
