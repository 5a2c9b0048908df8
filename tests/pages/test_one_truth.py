"""The same question has the same number on every page, in every study and in every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dlsched.cli.main import main
from dlsched.domain.scenario import Scenario
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.statements import Change, Estimate, change_of, could_reach, value_of
from dlsched.report.memo import Memo
from dlsched.report.write import content
from dlsched.runner.carried import CarriedCells
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import growth, sizing, sweep
from dlsched.studies.design import EditedScenarios, Futures, Variant, basis_of, resolve_variant, run_variants
from dlsched.studies.growth.spec import GrowthSpec
from dlsched.studies.simulation import simulate
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.sizing.spec import SizeSpec, TypeRange
from dlsched.studies.sizing.targets import read_target
from dlsched.studies.sweep.spec import AxisSpec, SweepSpec
from dlsched.studies.what_if import run_what_if, unchanged
from dlsched.studies.what_if.answer import CHANGED, TODAY, comparison_of
from dlsched.ui.frame import futures as chosen_futures
from dlsched.ui.plan import memo as memo_page
from dlsched.workload.scenario_file import write_scenario
from tests.support.known import known
from tests.support.recorded_week import recorded_week

OpenPage = Callable[..., AppTest]

FUTURES = 12
MORE = {"demand": 1.3}
METRICS = ("wait_p95", "late_share", "cost_month", "completed")


@dataclass(frozen=True)
class Truth:
    """What runs say that were made by nobody's page: estimates and changes by question."""

    scenario: Scenario
    futures: Futures
    basis: Basis
    runs: dict[str, list[dict[str, Any]]]

    def of(self, name: str, metric: str) -> Estimate:
        """Return the value of a metric in a situation, with its range."""
        return value_of(KPIS[metric], [run[metric] for run in self.runs[name]], self.basis)

    def change(self, name: str, base: str, metric: str) -> Change:
        """Return how two situations differ."""
        ours, theirs = ([run[metric] for run in self.runs[each]] for each in (name, base))
        return change_of(KPIS[metric], ours, theirs, self.basis)


def situations(scenario: Scenario) -> dict[str, Variant]:
    """Return the questions: what one has, another policy, a node more, more jobs, and both."""
    nodes = {"nodes": scenario.cluster.num_nodes + 1}
    return {
        "FIFO": Variant(policy="fifo"),
        "SJF": Variant(policy="sjf"),
        "node": Variant(policy="fifo", changes=nodes),
        "more jobs": Variant(policy="fifo", changes=MORE),
        "both": Variant(policy="fifo", changes=MORE | nodes),
    }


@pytest.fixture(scope="module")
def cells() -> CarriedCells:
    """Numbers that one place has made and the others find."""
    return CarriedCells()


@pytest.fixture(scope="module")
def truth(cells: CarriedCells) -> Truth:
    scenario = recorded_week()
    futures = Futures.first(FUTURES, {"days": 1})
    asked = situations(scenario)
    batch = run_variants(scenario, list(asked.values()), futures, store=cells)
    runs = {
        name: [dict(known(result.metrics)) for result in results]
        for name, results in zip(asked, batch.results, strict=True)
    }
    edited = EditedScenarios(scenario)
    basis = basis_of(scenario, [resolve_variant(edited, one, futures) for one in asked.values()], futures)
    return Truth(scenario, futures, basis, runs)


def test_the_questions_have_different_answers(truth: Truth) -> None:
    assert truth.basis == Basis(kind="recorded", futures=FUTURES, days=7)
    waits = [truth.of(name, "wait_p95") for name in truth.runs]
    assert len({wait.value for wait in waits}) == len(waits)
    assert all(known(wait.low) < known(wait.high) for wait in waits)
    assert truth.of("more jobs", "completed").value == pytest.approx(1.3 * truth.of("FIFO", "completed").value, abs=1)


# ---- studies -------------------------------------------------------------------------------------------


def test_what_if(truth: Truth, cells: CarriedCells) -> None:
    spec = unchanged(truth.scenario, "fifo", futures=truth.futures)
    nodes = situations(truth.scenario)["node"].changes
    for name, base, changes in (
        ("node", "FIFO", nodes),
        ("more jobs", "FIFO", MORE),
        ("both", "more jobs", MORE | nodes),
    ):
        before = len(cells.made)
        answer = run_what_if(spec.with_changes(truth.scenario, changes), truth.scenario, store=cells)
        assert len(cells.made) == before  # nothing was computed that another place had
        assert answer.basis == truth.basis
        comparison = comparison_of(answer)
        for metric in METRICS:
            row = known(comparison.row(metric))
            assert row.of(CHANGED).value == truth.of(name, metric)
            assert row.of(TODAY).value == truth.of(base, metric)
            assert row.of(CHANGED).delta == truth.change(name, base, metric)


def size_spec(truth: Truth, condition: dict[str, Any]) -> SizeSpec:
    today = truth.scenario.cluster.num_nodes
    return SizeSpec(
        scenario=truth.scenario.content_hash,
        targets=(read_target("wait_p95<=100h"),),
        policy="fifo",
        types=(TypeRange(key="nodes", least=today, most=today + 1),),
        futures=truth.futures,
        condition=condition,
        headroom=False,
    )


def size_of(truth: Truth, cells: CarriedCells, condition: dict[str, Any]) -> Sizing:
    return sizing.STUDY.run(size_spec(truth, condition), truth.scenario, store=cells)


@pytest.mark.parametrize(("condition", "names"), [({}, ("FIFO", "node")), (MORE, ("more jobs", "both"))])
def test_size(truth: Truth, cells: CarriedCells, condition: dict[str, Any], names: tuple[str, str]) -> None:
    found = size_of(truth, cells, condition)
    today = truth.scenario.cluster.num_nodes
    for name, nodes in zip(names, (today, today + 1), strict=True):
        waits = [draw.values["wait_p95"] for draw in found.size((nodes,)).draws]
        assert waits == [run["wait_p95"] for run in truth.runs[name]]


def growth_spec(truth: Truth) -> GrowthSpec:
    return GrowthSpec(
        scenario=truth.scenario.content_hash,
        policy="fifo",
        targets=(read_target("wait_p95<=100h"),),
        percent=30.0,
        months=1,
        futures=truth.futures,
    )


def test_growth(truth: Truth, cells: CarriedCells) -> None:
    found = growth.STUDY.run(growth_spec(truth), truth.scenario, store=cells)
    for month, name in enumerate(("FIFO", "more jobs")):
        waits = [draw.values["wait_p95"] for draw in found.months[month].draws]
        assert waits == [run["wait_p95"] for run in truth.runs[name]]


def sweep_spec(truth: Truth) -> SweepSpec:
    today = truth.scenario.cluster.num_nodes
    return SweepSpec(
        scenario=truth.scenario.content_hash,
        axes=(AxisSpec(key="nodes", values=(today, today + 1)),),
        policies=("fifo", "sjf"),
        futures=truth.futures,
    )


def test_sweep(truth: Truth, cells: CarriedCells) -> None:
    before = len(cells.made)
    found = sweep.run_sweep(sweep_spec(truth), truth.scenario, store=cells)
    assert len(cells.made) == before + len(truth.futures.seeds)  # SJF with a node more
    for name, place in (("FIFO", (0, "fifo")), ("SJF", (0, "sjf")), ("node", (1, "fifo"))):
        for metric in METRICS:
            values = [cell.values[metric] for cell in found.answer.at(*place)]
            assert values == [run[metric] for run in truth.runs[name]]


# ---- commands ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(truth: Truth, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("truth") / "week.json"
    write_scenario(truth.scenario, str(path))
    return str(path)


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return the JSON that a command prints."""
    assert main([*words, "--futures", str(FUTURES), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def assert_rows(rows: list[dict[str, Any]], truth: Truth, names: dict[str, str], base: str) -> None:
    """Compare rows of the command with the truth; ``names``: what a situation is called there."""
    for name, called in names.items():
        for metric in METRICS:
            row = next(row for row in rows if (row["key"], row["name"]) == (metric, called))
            value = truth.of(name, metric)
            assert (row["value"], row["low"], row["high"]) == (value.value, value.low, value.high)
            if name != base:
                change = truth.change(name, base, metric)
                assert (row["delta"], row["verdict"], row["better_in"]) == (change.value, change.verdict, change.better)


def test_the_command_compare(truth: Truth, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = f"nodes={truth.scenario.cluster.num_nodes + 1}"
    typed_words = ("compare", file, "--policies", "fifo,sjf", "--set", nodes, "--processes", "1")
    found = typed(capsys, *typed_words)
    assert_rows(found["rows"], truth, {"FIFO": "FIFO", "SJF": "SJF", "node": "One more node"}, "FIFO")
    found = typed(capsys, *typed_words, "--condition", "demand=1.3")
    assert_rows(found["rows"], truth, {"more jobs": "FIFO", "both": "One more node"}, "more jobs")


def test_the_commands_size_growth_and_sweep(truth: Truth, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    today = truth.scenario.cluster.num_nodes
    goal = ("--target", "wait_p95<=100h", "--policy", "fifo", "--processes", "1")
    found = typed(capsys, "size", file, *goal, "--types", f"nodes={today}:{today + 1}", "--condition", "demand=1.3")
    waits = {size["counts"][0]: [draw["values"]["wait_p95"] for draw in size["draws"]] for size in found["sizes"]}
    assert waits[today] == [run["wait_p95"] for run in truth.runs["more jobs"]]
    assert waits[today + 1] == [run["wait_p95"] for run in truth.runs["both"]]
    found = typed(capsys, "growth", file, *goal, "--percent", "30", "--months", "1")
    waits = {month["month"]: [draw["values"]["wait_p95"] for draw in month["draws"]] for month in found["months"]}
    assert waits[0] == [run["wait_p95"] for run in truth.runs["FIFO"]]
    assert waits[1] == [run["wait_p95"] for run in truth.runs["more jobs"]]
    found = typed(capsys, "sweep", file, "--vary", f"nodes={today},{today + 1}", "--policies", "fifo,sjf")
    of_sjf = [cell["values"]["wait_p95"] for cell in found["cells"] if (cell["point"], cell["policy"]) == (0, "sjf")]
    assert of_sjf == [run["wait_p95"] for run in truth.runs["SJF"]]


def test_the_command_simulate_is_future_0(truth: Truth, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", file, "--policy", "sjf", "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert {key: metrics[key] for key in METRICS} == {key: truth.runs["SJF"][0][key] for key in METRICS}


# ---- pages ---------------------------------------------------------------------------------------------


@pytest.fixture
def stored(store: Store, truth: Truth, cells: CarriedCells) -> dict[str, str]:
    """The scenario with its futures, the runs of future 0 in full, and the numbers of the others in the store."""
    store.save_scenario(truth.scenario)
    chosen_futures.choose(truth.scenario, truth.futures)
    store.save_cells(list(cells.made.values()))
    return {policy: store.save_run(simulate(truth.scenario, policy).record()) for policy in ("fifo", "sjf")}


def shown(truth: Truth, name: str, metric: str) -> str:
    """Return a value as pages write it."""
    return KPIS[metric].show(truth.of(name, metric).value)


def spread(truth: Truth, name: str, metric: str) -> str:
    """Return a range over futures as pages write it."""
    estimate = truth.of(name, metric)
    return f"{KPIS[metric].show(estimate.low)} to {KPIS[metric].show(estimate.high)}"


def test_the_page_result(truth: Truth, stored: dict[str, str], open_page: OpenPage) -> None:
    for policy, name in (("fifo", "FIFO"), ("sjf", "SJF")):
        app = open_page("results/run_details.py", run=stored[policy])
        assert not app.exception
        card = next(metric for metric in app.metric if metric.label == "p95 wait")
        assert card.value == shown(truth, name, "wait_p95")
        assert spread(truth, name, "wait_p95") in card.delta


def test_the_page_compare(truth: Truth, stored: dict[str, str], open_page: OpenPage) -> None:
    app = open_page("results/compare.py", runs=",".join(stored.values()), base=stored["fifo"])
    assert not app.exception
    table = app.table[0].value.set_index("Metric")
    for column, name in (("FIFO (B)", "FIFO"), ("SJF", "SJF")):
        for metric in ("wait_p95", "late_share"):
            cell = str(table.loc[KPIS[metric].label, column])
            assert shown(truth, name, metric) in cell
            assert spread(truth, name, metric) in cell
    assert truth.change("SJF", "FIFO", "wait_p95").verdict in str(table.loc["p95 wait", "SJF"])


def test_the_page_compare_takes_up_futures_that_are_computed_later(
    truth: Truth, cells: CarriedCells, store: Store, open_page: OpenPage
) -> None:
    chosen_futures.choose(truth.scenario, truth.futures)
    ids = [store.save_run(simulate(truth.scenario, policy).record()) for policy in ("fifo", "sjf")]
    for is_known in (False, True):
        if is_known:
            store.save_cells(list(cells.made.values()))
        table = open_page("results/compare.py", runs=",".join(ids)).table[0].value.set_index("Metric")
        assert (spread(truth, "SJF", "wait_p95") in str(table.loc["p95 wait", "SJF"])) is is_known


@pytest.mark.usefixtures("runner", "stored")
def test_the_page_what_if(truth: Truth, open_page: OpenPage) -> None:
    more_nodes = f"nodes:{truth.scenario.cluster.num_nodes + 1}"
    for name, links in (("node", [more_nodes]), ("more jobs", ["demand:1.3"]), ("both", ["demand:1.3", more_nodes])):
        app = open_page("plan/what_if.py", scenario=truth.scenario.content_hash, policy="fifo", set=links)
        assert not app.exception
        card = next(metric for metric in app.metric if metric.label == "p95 wait")
        assert card.value == shown(truth, name, "wait_p95")
        text = " ".join(str(one.value) for one in (*app.markdown, *app.header))
        assert shown(truth, "FIFO" if name != "both" else "more jobs", "wait_p95") in text


@pytest.mark.usefixtures("stored")
def test_the_page_size(truth: Truth, cells: CarriedCells, store: Store, open_page: OpenPage) -> None:
    found = size_of(truth, cells, {})
    spec = size_spec(truth, {})
    name = store.save_experiment(
        ExperimentRecord("size", spec.model_dump(mode="json"), found.to_plain(), sizing.STUDY.version, "by hand")
    )
    app = open_page("plan/capacity.py", experiment=name)
    assert not app.exception
    rows = app.dataframe[0].value if app.dataframe else app.table[0].value
    told = " ".join(map(str, rows.to_numpy().ravel()))
    for situation in ("FIFO", "node"):
        assert shown(truth, situation, "wait_p95") in told
        assert spread(truth, situation, "wait_p95") in told


def test_the_page_result_says_what_another_month_could_reach(
    truth: Truth, stored: dict[str, str], open_page: OpenPage
) -> None:
    app = open_page("results/run_details.py", run=stored["fifo"])
    card = next(metric for metric in app.metric if metric.label == "p95 wait")
    reached = could_reach(KPIS["wait_p95"], [run["wait_p95"] for run in truth.runs["FIFO"]], truth.basis)
    assert f"could reach {KPIS['wait_p95'].show(known(reached))}" in card.help


@pytest.mark.usefixtures("stored")
def test_the_page_growth(truth: Truth, cells: CarriedCells, store: Store, open_page: OpenPage) -> None:
    found = growth.STUDY.run(growth_spec(truth), truth.scenario, store=cells)
    spec = growth_spec(truth).model_dump(mode="json")
    name = store.save_experiment(ExperimentRecord("growth", spec, found.to_plain(), growth.STUDY.version, "by hand"))
    app = open_page("plan/capacity.py", experiment=name, part="Growth")
    assert not app.exception
    assert_told(truth, told_in_tables(app), ("FIFO", "more jobs"))


@pytest.mark.usefixtures("stored")
def test_the_page_sweep(truth: Truth, cells: CarriedCells, store: Store, open_page: OpenPage) -> None:
    found = sweep.run_sweep(sweep_spec(truth), truth.scenario, store=cells).answer
    spec = sweep_spec(truth).model_dump(mode="json")
    name = store.save_experiment(ExperimentRecord("sweep", spec, found.to_plain(), sweep.STUDY.version, "by hand"))
    app = open_page("plan/capacity.py", experiment=name)
    app = app.selectbox(key="sweep-metric").set_value("wait_p95").run()
    part = next(one for one in app.segmented_control if str(one.key).startswith("sweep-part"))
    app = part.set_value("Table").run()
    assert not app.exception
    assert_told(truth, told_in_tables(app), ("FIFO", "SJF", "node"))


def test_the_memo(truth: Truth, stored: dict[str, str], open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    previews: list[str] = []
    memos: list[Memo] = []
    monkeypatch.setattr(st, "iframe", lambda html, **_: previews.append(html))
    monkeypatch.setattr(memo_page, "downloads", lambda memo, _: memos.append(memo))
    app = open_page("plan/memo.py", runs=",".join(stored.values()), base=stored["fifo"])
    assert not app.exception
    assert not app.error
    whole = content(memos[-1], "html").decode()
    for name in ("FIFO", "SJF"):
        for metric, text in (("late_share", previews[-1]), ("wait_p95", whole)):
            assert shown(truth, name, metric) in text
            assert spread(truth, name, metric) in text


def told_in_tables(app: AppTest) -> str:
    """Return all cells of a page's tables."""
    frames = [one.value for one in (*app.dataframe, *app.table)]
    return " ".join(str(cell) for frame in frames for cell in frame.to_numpy().ravel())


def assert_told(truth: Truth, told: str, names: Sequence[str]) -> None:
    for name in names:
        assert shown(truth, name, "wait_p95") in told
        assert spread(truth, name, "wait_p95") in told
