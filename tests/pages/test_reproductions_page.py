"""The page Paper checks: counts, cells, filters, one figure by its link, runs in the background, the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.errors import InputError
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.reproductions.registry import REPRODUCTIONS
from dlsched.studies.reproductions.reproduction import Outcome, Verdict
from dlsched.ui.lab import reproductions
from tests.support.page_text import shown
from tests.support.studies import replied_by

PAGE = "lab/reproductions.py"
WAIT_S = 60
OpenPage = Callable[..., AppTest]
DATA = {
    "over": "jobs",
    "total_utility": {
        policy: {"knapsack": {jobs: {"mean": 5.0, "half_width": 1.0, "n": 10} for jobs in ("20", "40")}}
        for policy in ("SMD", "ESW")
    },
    "checks": [{"claim": "SMD above ESW at 20 jobs", "holds": False}, {"claim": "at 40 jobs", "holds": True}],
}


@pytest.fixture(autouse=True)
def nothing_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproductions, "bundled", dict)


def saved(store: Store, key: str, verdict: Verdict = "different", *, quick: bool = True, version: str = "") -> None:
    kind = registry.find("reproduction")
    ours, why = f"Ours of a {'quick' if quick else 'full'} run.", f"Why it is {verdict}."
    answer = Outcome(ours, verdict, (why,), DATA).to_plain()
    record = ExperimentRecord("reproduction", {"key": key, "quick": quick}, answer, version or kind.version, key)
    store.save_experiment(record)


def said(app: AppTest) -> str:
    """Return the sentence of the page without the escapes of markdown."""
    return str(app.header[0].value).replace("\\", "")


def test_without_outcomes_everything_is_not_checked_and_listed_by_paper(open_page: OpenPage) -> None:
    app = open_page(PAGE)
    assert not app.exception
    number = len(REPRODUCTIONS)
    assert f"0 same, 0 partly, 0 different and {number} not checked." in said(app)
    assert [card.value for card in app.metric] == ["0", "0", "0", str(number)]
    papers = ["Path relinking", "HELL/KNEE", "ModelArts", "SMD", "PD-ORS"]
    folded = [one for one in app.expander if one.label.partition(":")[0] in papers]
    assert [one.label.partition(":")[0] for one in folded] == papers
    assert not any(one.proto.expanded for one in folded)
    assert sum(len(table.value) for table in app.dataframe) == number
    assert "No figure has been checked with this store." in shown(app)


def test_filters_leave_the_counts_alone(store: Store, open_page: OpenPage) -> None:
    saved(store, "smd-9")
    saved(store, "pd-ors-6", "same")
    app = open_page(PAGE)
    app = app.button_group(key="reproduction-states").set_value(["different"]).run()
    assert not app.exception
    assert "1 same, 0 partly, 1 different" in said(app)
    (table,) = app.dataframe
    assert table.value["Verdict"].tolist() == ["✗ different, 1 of 2 parts"]
    assert table.value["Ours"].tolist() == ["Ours of a quick run."]
    app = app.button_group(key="reproduction-states").set_value([]).run()
    app = app.button_group(key="reproduction-states").set_value(["partly"]).run()
    assert "No figure has this verdict" in shown(app)
    assert "1 different" in said(app)


def test_a_figure_opens_from_the_list_and_goes_back(store: Store, open_page: OpenPage) -> None:
    saved(store, "smd-9")
    app = open_page(PAGE)
    app = app.selectbox(key="reproduction-pick-0").set_value("smd-9").run()
    assert app.query_params["figure"] == "smd-9"
    assert said(app) == "SMD, Fig. 9: different. 1 of 2 parts of the claim is confirmed."
    app = app.button(key="reproduction-all").click().run()
    assert "figure" not in app.query_params
    assert said(app).startswith(f"{len(REPRODUCTIONS)} figures and tables")


def test_the_strip_has_a_cell_a_figure_with_its_verdict_and_a_click_opens_it(store: Store, open_page: OpenPage) -> None:
    saved(store, "smd-9")
    saved(store, "smd-8", "same")
    app = open_page(PAGE)
    cells = app.button_group(key="checks-3-0")  # SMD
    assert [option.content for option in cells.proto.options] == ["– 7", "✓ 8", "✗ 9", "– 10", "– 11", "– 12"]
    styles = "".join(part.proto.body for part in app.get("html"))
    assert f".st-key-checks-3-0 button:nth-of-type(3){{{reproductions.CELLS['different']}}}" in styles
    app = cells.set_value("smd-9").run()
    assert app.query_params["figure"] == "smd-9"
    assert said(app).startswith("SMD, Fig. 9: different.")
    app = app.button(key="reproduction-all").click().run()
    assert "figure" not in app.query_params  # the cell is not chosen any more


def test_a_link_opens_a_figure_with_why_before_the_chart_and_the_parts(store: Store, open_page: OpenPage) -> None:
    saved(store, "smd-9")
    app = open_page(PAGE, figure="smd-9")
    assert not app.exception
    text = shown(app)
    assert text.index("Why different.** Why it is different.") < text.index("Ours of a quick run.")
    assert "Total utility (no unit): SMD, knapsack 5.0 ± 1.0 at 20, 5.0 ± 1.0 at 40" in text
    assert "in this store" in text
    assert app.code[0].value == "dlsched reproduce smd-9 --quick"
    app = app.toggle(key="table-reproduction-smd-9-total_utility").set_value(True).run()
    assert len(app.dataframe[0].value) == 4
    assert app.dataframe[1].value["Confirmed"].tolist() == ["✗ no", "✓ yes"]


def test_a_full_run_is_shown_rather_than_a_quick_one_and_todays_code_before_both(
    store: Store, open_page: OpenPage
) -> None:
    saved(store, "smd-9", "same", quick=False)
    saved(store, "smd-9", "partly")
    assert said(open_page(PAGE, figure="smd-9")).startswith("SMD, Fig. 9: same.")
    saved(store, "smd-8", "same", quick=False, version="0.0.9+abc")
    app = open_page(PAGE, figure="smd-8")
    assert "version 0.0.9+abc" in shown(app)
    saved(store, "smd-8", "partly")
    assert said(open_page(PAGE, figure="smd-8")).startswith("SMD, Fig. 8: partly.")


def test_what_is_not_checked_offers_the_runs_and_says_so(open_page: OpenPage) -> None:
    app = open_page(PAGE, figure="smd-9")
    assert "not checked yet" in said(app)
    assert app.button(key="reproduction-quick").label.startswith("Run quick, ")
    assert app.button(key="reproduction-full").label.startswith("Run full, ")
    assert not app.dataframe


def test_a_figure_there_is_not_is_told_with_near_ones_and_a_way_back(open_page: OpenPage) -> None:
    app = open_page(PAGE, figure="smd-99")
    assert not app.exception
    assert "smd-9" in app.error[0].value.replace("\\", "")
    app = app.button(key="reproduction-all").click().run()
    assert len(app.metric) == 4


def test_a_quick_run_is_computed_kept_and_shown(store: Store, runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, figure="modelarts-5")
    app.button(key="reproduction-quick").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    assert said(app) == "ModelArts, Fig. 5: same."
    (info,) = store.list_experiments("reproduction")
    assert store.get_experiment(info.experiment_id).spec == {"key": "modelarts-5", "quick": True}


def test_a_run_that_fails_says_why_and_leaves_the_older_outcome(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(store, "smd-9", "partly", version="0.0.9+abc")

    def fails(*_: object) -> dict[str, object]:
        raise InputError("batch 7", "has no job", "Draw another one")

    replied_by(monkeypatch, "reproduction", fails)
    app = open_page(PAGE, figure="smd-9")
    app.button(key="reproduction-quick").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert "batch 7: has no job" in shown(app)
    assert said(app).startswith("SMD, Fig. 9: partly.")
    assert not app.button(key="reproduction-quick").disabled
