"""The Python interface: examples of its docstrings, the numbers of the commands, refusals, frames and notebooks."""

from __future__ import annotations

import doctest
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dlsched
from dlsched.api import questions, traces
from dlsched.cli.main import main
from dlsched.domain.errors import InputError
from dlsched.domain.plan import Plan
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.state import State
from dlsched.metrics.kpi import KPIS
from dlsched.report import public
from dlsched.report.compared import Compared
from dlsched.workload.scenario_file import write_scenario
from tests.support.runs_for_store import small_scenario

ALONE = ("--processes", "1", "--json")


def crowded(options: SimulationRules | None = None) -> Scenario:
    """Twelve jobs on four GPUs, of 60 s each but two of 600 s, so that orders matter."""
    given = small_scenario(12, name="two <b>nodes</b>", options=options or SimulationRules(estimate_error=0.5))
    work = given.workload.work.copy()
    work[[0, 5]] = 600.0
    return given.replace(workload=given.workload.with_columns(work=work))


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return crowded()


@pytest.fixture
def file(scenario: Scenario, tmp_path: Path) -> str:
    path = tmp_path / "crowded.json"
    write_scenario(scenario, path)
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *typed: str) -> dict[str, Any]:
    assert main([*typed, *ALONE]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def same_rows(frame: pd.DataFrame, rows: list[dict[str, Any]]) -> None:
    """Check that a frame holds the rows of a command, None where it has no number."""
    plain = json.loads(json.dumps(frame.astype(object).where(frame.notna(), None).to_dict("records")))
    assert plain == rows


@pytest.mark.slow
@pytest.mark.parametrize("module", [questions, traces, public], ids=lambda module: module.__name__)
def test_the_examples_of_the_docstrings_hold(module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 2
    assert found.failed == 0


def test_every_public_name_is_there_and_documented() -> None:
    for name in dlsched.__all__:
        assert getattr(dlsched, name).__doc__
    for question in (dlsched.compare, dlsched.what_if, dlsched.sweep, dlsched.size, dlsched.read_trace):
        for part in ("Parameters", "Raises", "Examples"):
            assert f"    {part}\n" in (question.__doc__ or "")


def test_report_can_be_called_after_its_package_was_imported(tmp_path: Path) -> None:
    import dlsched.report.memo as _memo  # noqa: F401 - puts the module in the place of the function

    with pytest.raises(InputError, match="must end in one of"):
        dlsched.report([], tmp_path / "memo.doc")


# ---- the same numbers as the commands -----------------------------------------------------------------


def test_compare_gives_the_numbers_of_the_command(
    scenario: Scenario, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["--policies", "fifo,sjf", "--set", "nodes=3", "--condition", "durations=1.5", "--futures", "2"]
    expected = told(capsys, "compare", file, *typed)
    found = dlsched.compare(
        scenario, ["fifo", "sjf"], options=[{"nodes": "+1"}], condition={"durations": 1.5}, futures=2
    )  # fmt: skip
    same_rows(found.frame, expected["rows"])
    assert found.sentence == expected["sentence"]
    assert found.comparison.names == ("FIFO", "SJF", "One more node")
    assert [one.label for one in found.caveats] == [one["text"] for one in expected["caveats"]]
    runs = found.runs.set_index(["name", "seed"])
    for run in expected["runs"]:
        assert runs.loc[(run["name"], run["seed"]), "jct_mean"] == run["metrics"]["jct_mean"]


def test_sweep_gives_the_numbers_of_the_command(
    scenario: Scenario, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["--vary", "nodes=2,3", "--vary", "demand=1:1.5:2", "--policies", "fifo,sjf", "--futures", "1"]
    expected = told(capsys, "sweep", file, *typed)
    found = dlsched.sweep(scenario, {"nodes": [2, 3], "demand": "1:1.5:2"}, ["fifo", "sjf"], futures=1)
    assert found.answer.to_plain() == {name: expected[name] for name in found.answer.to_plain()}
    assert len(found.frame) == 4 * 2 * 2
    assert found.frame["demand"].unique().tolist() == [1.0, 1.5]
    cell = expected["cells"][-1]
    last = found.frame.iloc[-1]
    assert (last["nodes"], last["policy"], last["wait_mean"]) == (3, "sjf", cell["values"]["wait_mean"])
    first = found.values[(found.values["policy"] == "sjf") & (found.values["metric"] == "wait_mean")].iloc[0]
    both = found.frame.query("policy == 'sjf' and nodes == 2 and demand == 1")["wait_mean"]
    assert first["value"] == pytest.approx(both.mean())
    assert found.table.shape == (8, 3 + len(found.answer.metrics))
    for metric in ("wait_mean", "jct_mean"):
        assert found.table[metric].tolist() == found.values.query("metric == @metric")["value"].tolist()


def test_one_at_a_time_has_empty_settings_where_the_scenario_stays(scenario: Scenario) -> None:
    found = dlsched.sweep(scenario, {"nodes": [3], "demand": [1.5]}, one_at_a_time=True, futures=0)
    assert found.table["nodes"].isna().tolist() == [True, False, True]
    assert found.table["demand"].isna().tolist() == [True, True, False]


def test_size_gives_the_numbers_of_the_command(
    scenario: Scenario, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = told(capsys, "size", file, "--target", "wait_p95<=1 min", "--policy", "sjf", "--futures", "2")
    found = dlsched.size(scenario, ["wait_p95<=1 min"], "sjf", futures=2)
    assert found.answer.to_plain() == {name: expected[name] for name in found.answer.to_plain()}
    assert found.counts == {"nodes": found.nodes}
    row = found.frame.set_index("is_answer").loc[True]
    assert row["nodes"] == found.nodes
    assert row["wait_p95"] <= 60
    assert row["usd_month"] == pytest.approx(
        3.6 * found.frame["nodes"][found.frame["is_answer"]].iloc[0] * 730, rel=1e-3
    )
    none = dlsched.size(scenario, ["wait_p95<=0 s"], types={"nodes": (1, 2)}, futures=0)
    assert none.nodes is None
    assert none.counts is None


def test_what_if_gives_the_numbers_of_compare(
    scenario: Scenario, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = told(capsys, "compare", file, "--policies", "fifo", "--set", "nodes=4,policy=sjf", "--futures", "2",
                    "--condition", "demand=1.5")  # fmt: skip
    found = dlsched.what_if(scenario, {"nodes": "+2"}, new_policy="sjf", condition={"demand": 1.5}, futures=2)
    theirs = {(row["key"], row["name"] == expected["baseline"]): row["value"] for row in expected["rows"]}
    ours = {(row["key"], row["name"] == "today"): row["value"] for row in found.frame.to_dict("records")}
    assert {key: value for key, value in ours.items() if not math.isnan(value)} == {
        key: value for key, value in theirs.items() if value is not None
    }
    assert found.settings["Setting"].tolist() == ["Demand", "Nodes", "Policy"]
    assert found.sentence.startswith("With 50% more jobs, two more nodes and SJF instead of FIFO")


def test_a_what_if_in_which_nothing_is_random_runs_one_future() -> None:
    found = dlsched.what_if(crowded(SimulationRules()), {"nodes": 3})
    assert found.answer.exact
    assert found.answer.draws == 1


# ---- what is given ------------------------------------------------------------------------------------


def test_a_policy_of_ones_own_is_compared(scenario: Scenario) -> None:
    fifo = next(spec for spec in dlsched.policies() if spec.key == "fifo")

    class Backwards:
        """FIFO under another name."""

        review = fifo.build(fifo.parse({})).review

        def __init__(self) -> None:
            self.inner = fifo.build(fifo.parse({}))

        def plan(self, state: State) -> Plan:
            return self.inner.plan(state)

    found = dlsched.compare(scenario, ["sjf", Backwards()], baseline="fifo", futures=0)
    assert found.comparison.names == ("FIFO", "SJF", "Backwards")
    row = found.comparison.row("jct_mean")
    assert row is not None
    assert row.of("Backwards").value == row.of("FIFO").value


def test_parameters_are_by_policy(scenario: Scenario) -> None:
    params = {"las": {"quantum_s": 30.0}}
    found = dlsched.compare(scenario, ["fifo", "las"], params=params, futures=0)
    alone = dlsched.simulate(scenario, "las", {"quantum_s": 30.0})
    assert found.runs.set_index("policy").loc["las", "jct_mean"] == alone.metrics["jct_mean"]


def test_progress_is_told_and_can_stop(scenario: Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    dlsched.compare(scenario, ["fifo", "sjf"], futures=1, progress=True)
    assert "100%" in capsys.readouterr().err

    def stop(share: float, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dlsched.compare(scenario, ["fifo", "sjf"], futures=1, progress=stop)


@pytest.mark.slow
def test_processes_give_the_same_numbers(scenario: Scenario) -> None:
    here = dlsched.compare(scenario, ["fifo", "sjf"], futures=3)
    spread = dlsched.compare(scenario, ["fifo", "sjf"], futures=3, processes=2)
    pd.testing.assert_frame_equal(here.frame, spread.frame)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: dlsched.compare(s.name, ["fifo", "sjf"]), "scenario: must be a Scenario, got str"),
        (lambda s: dlsched.compare(s, ["fifo"]), "compare: needs 2 to 6 policies and options"),
        (lambda s: dlsched.compare(s, [], options=[{"nodes": 3}, {"nodes": 4}]), "at least one policy"),
        (lambda s: dlsched.compare(s, ["fifo", "sjff"]), "policy 'sjff'"),
        (lambda s: dlsched.compare(s, ["fifo", 3]), "policy: must be a key"),
        (lambda s: dlsched.compare(s, ["fifo", "nomodule:SPEC"]), "plug-in nomodule:SPEC"),
        (lambda s: dlsched.compare(s, ["fifo", "sjf"], condition={"nodes": 3}), "condition nodes: is something"),
        (lambda s: dlsched.compare(s, ["fifo"], options=[{"demand": 2}]), "option demand=2: demand is a condition"),
        (lambda s: dlsched.compare(s, ["fifo"], options=[{"nodes": 2}]), "option nodes=2: changes nothing"),
        (lambda s: dlsched.compare(s, ["fifo"], options=[{"nodes": "+many"}]), "change nodes: must be a number"),
        (lambda s: dlsched.compare(s, ["fifo", "sjf"], params={"las": {}}), "params of las"),
        (lambda s: dlsched.compare(s, ["fifo", "sjf"], processes=0), "processes: must be at least 1"),
        (lambda s: dlsched.compare(s, ["fifo", "sjf"], processes=2, dask="tcp://x:1"), "cannot be combined with dask"),
        (lambda s: dlsched.what_if(s, {"demand": 2}), "change demand: is a condition"),
        (lambda s: dlsched.what_if(s, {"nods": 2}), "there is none of this name"),
        (lambda s: dlsched.sweep(s, {}), "axes"),
        (lambda s: dlsched.sweep(s, {"nodes": []}), "values"),
        (lambda s: dlsched.size(s, ["wait_p95<=1 furlong"]), "target 'wait_p95<=1 furlong'"),
        (lambda s: dlsched.size(s, []), "targets"),
        (lambda s: dlsched.read_trace("no such file"), "there is no such file"),
        (lambda s: dlsched.read_trace("x", cpu_job="drop"), "there is no reading choice 'cpu_job'"),
        (lambda s: dlsched.report([], "memo.html"), "needs 2 to 6 runs, got 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_said(scenario: Scenario, ask: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        ask(scenario)
    assert message in str(raised.value)


# ---- traces, reports, notebooks -----------------------------------------------------------------------


def test_a_trace_is_read_with_its_report(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("job_id,submit_s,work,num_gpus\na,0,60,1\nb,10,0,1\nc,20,60,2\n")
    trace = dlsched.read_trace(path)
    assert (trace.report.kept, trace.report.dropped) == (2, 1)
    assert trace.frame["job_id"].tolist() == ["a", "c"]
    assert trace.findings["count"].tolist() == [1]
    assert trace.scenario.content_hash == dlsched.load(path).content_hash
    assert len(dlsched.read_trace(path, zero_run="one-second").frame) == 3
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("NodeName=n[1-3] CPUs=8 RealMemory=64000 Gres=gpu:a100:4 State=IDLE\n")
    assert dlsched.read_trace(path, cluster=nodes).scenario.cluster.num_gpus == 12
    with pytest.raises(InputError, match=r"cluster .*cannot be read"):
        dlsched.read_trace(path, cluster=tmp_path / "nothing.txt")


def test_runs_of_one_scenario_become_a_memo(scenario: Scenario, tmp_path: Path) -> None:
    runs = [dlsched.simulate(scenario, policy, seed=3) for policy in ("fifo", "sjf")]
    memo = dlsched.report(runs, tmp_path / "memo.html", question="Change?")
    assert memo.question == "Change?"
    assert "Change?" in (tmp_path / "memo.html").read_text(encoding="utf-8")
    other = dlsched.simulate(scenario, "sjf", seed=4)
    for wrong, why in (([runs[0], other], "different scenarios or seeds"), ([runs[0]] * 2, "two runs under FIFO")):
        with pytest.raises(InputError, match=why):
            dlsched.report(wrong, tmp_path / "memo.html")
    with pytest.raises(InputError, match="cannot be written"):
        dlsched.report(runs, tmp_path / "no folder" / "memo.html")


def test_a_comparison_becomes_a_memo(scenario: Scenario, tmp_path: Path) -> None:
    found = dlsched.compare(scenario, ["fifo", "sjf"], futures=2)
    assert isinstance(found, Compared)
    memo = dlsched.report(found, tmp_path / "memo.xlsx", note="ours")
    assert memo.certainty == found.comparison.certainty
    assert (tmp_path / "memo.xlsx").stat().st_size > 5_000


def test_answers_show_themselves_in_a_notebook(scenario: Scenario) -> None:
    answers: list[Any] = [
        dlsched.compare(scenario, ["fifo", "sjf"], futures=0),
        dlsched.what_if(scenario, {"nodes": 3}, futures=0),
        dlsched.sweep(scenario, {"nodes": [2, 3]}, futures=0),
        dlsched.size(scenario, ["wait_p95<=1 h"], futures=0),
    ]
    for answer in answers:
        html = answer._repr_html_()
        assert answer.sentence
        assert "<table" in html
        assert "<b>" not in html
        assert len(answer.assumptions) > len(answer.caveats) > 0
        assert answer.sentence in str(answer)
        assert len(repr(answer)) < 600
        assert isinstance(answer.frame, pd.DataFrame)
    assert set(answers[0].frame["key"]) <= set(KPIS)


def test_scenarios_and_runs_are_short_in_a_notebook(scenario: Scenario) -> None:
    run = dlsched.simulate(scenario, "fifo")
    assert repr(scenario) == "<Scenario 'two <b>nodes</b>': jobs 12, nodes 2>"
    assert repr(run).startswith("<Run of fifo on 'two <b>nodes</b>', seed 0: FIFO: ")
    assert np.isfinite(run.metrics["wait_p95"] or 0.0)
