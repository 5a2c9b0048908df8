"""``dlsched compare`` and ``dlsched report``: numbers as single runs give them, files by their libraries, refusals."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl
import pptx
import pytest

from dlsched.cli.compare import split_changes
from dlsched.cli.main import main
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.metrics.stats.intervals import paired_difference
from dlsched.report import compared
from dlsched.report.rerun import file_name
from dlsched.studies.design import BatchResult, Futures, RunResult, Variant, changed, run_variants
from dlsched.studies.simulation import simulate
from dlsched.workload.scenario_file import write_scenario
from tests.support.runs_for_store import small_scenario

RANDOM = SimulationRules(estimate_error=0.5, restart_s=1.0)
ALONE = ("--processes", "1")


def with_long_jobs(options: SimulationRules) -> Scenario:
    """Twelve jobs on four GPUs, of 60 s each but two of 600 s, so that orders matter."""
    given = small_scenario(12, name="=two GPUs", options=options)
    work = given.workload.work.copy()
    work[[0, 5]] = 600.0
    return given.replace(workload=given.workload.with_columns(work=work))


def written(folder: Path, options: SimulationRules) -> str:
    path = folder / "s.json"
    write_scenario(with_long_jobs(options), str(path))
    return str(path)


@pytest.fixture
def random_file(tmp_path: Path) -> str:
    return written(tmp_path, RANDOM)


@pytest.fixture
def exact_file(tmp_path: Path) -> str:
    return written(tmp_path, SimulationRules(restart_s=1.0))


def test_differences_are_those_of_single_runs(
    random_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.csv"
    typed = ["compare", random_file, "--policies", "sjf,fifo", "--baseline", "fifo", "--futures", "2", "--json"]
    assert main([*typed, "--csv", str(out), *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["baseline"], answer["futures"]["seeds"], answer["basis"]["kind"]) == ("FIFO", [0, 1, 2], "drawn")
    assert answer["certainty"] == "95% interval over 3 simulated versions of the workload"
    means = {policy: [float(simulate(with_long_jobs(RANDOM), policy, seed=seed).metrics["jct_mean"] or 0.0)
                      for seed in range(3)] for policy in ("fifo", "sjf")}  # fmt: skip
    expected = paired_difference(means["sjf"], means["fifo"])
    row = next(row for row in answer["rows"] if (row["key"], row["name"]) == ("jct_mean", "SJF"))
    assert (row["delta"], row["delta_low"]) == pytest.approx((expected.mean, expected.low))
    with out.open(newline="", encoding="utf-8") as stream:
        rows = {(line["key"], line["name"]): line for line in csv.DictReader(stream)}
    assert float(rows["jct_mean", "SJF"]["delta"]) == pytest.approx(expected.mean)
    assert rows["jct_mean", "FIFO"]["delta"] == ""
    pairs = list(zip(means["sjf"], means["fifo"], strict=True))
    assert (row["better_in"], row["futures"]) == (sum(ours < theirs for ours, theirs in pairs), 3)
    assert row["value"] == pytest.approx(sum(means["sjf"]) / 3)
    assert row["low"] <= row["value"] <= row["high"]


def test_the_table_names_the_baseline_and_how_sure_it_is(exact_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", exact_file, "--policies", "fifo,sjf,las", *ALONE]) == 0
    out = capsys.readouterr().out
    assert "(exact for this trace, not a forecast)." in out.splitlines()[0]
    assert "FIFO (baseline)" in out
    assert out.endswith("Every run was audited.\n")


def test_nothing_random_is_run_once(exact_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", exact_file, "--policies", "fifo,sjf", "--futures", "4", "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["futures"]["seeds"], len(answer["runs"])) == ([0], 2)


def test_parameters_and_cluster_reach_the_runs(exact_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["--policies", "fifo,las", "--param", "las.quantum_s=30", "--nodes", "3", "--price", "7.2"]
    assert main(["compare", exact_file, *typed, "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["policies"]["las"]["params"] == {"quantum_s": 30.0}
    scenario = with_long_jobs(SimulationRules(restart_s=1.0))
    pool = scenario.cluster.pools[0]
    larger = scenario.cluster.model_copy(
        update={"pools": (pool.model_copy(update={"count": 3, "vm": pool.vm.model_copy(update={"usd_per_h": 7.2})}),)}
    )
    run = simulate(scenario.replace(cluster=larger), "las", {"quantum_s": 30})
    assert answer["runs"][1]["metrics"]["vm_cost"] == pytest.approx(run.metrics["vm_cost"])


def test_parameters_in_slurms_notation_are_told_in_seconds(exact_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["--policies", "fifo,slurm", "--param", "slurm.PriorityMaxAge=5:00:00", "--param", "slurm.defer=true"]
    assert main(["compare", exact_file, *typed, "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["policies"]["slurm"]["params"] == {"PriorityMaxAge_s": 18_000.0, "defer": "YES"}


def test_a_parameter_of_the_policy_is_an_option(exact_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A backfill timer that starts 7 s later, and one with a longer window, beside the policy as it is."""
    typed = ["--policies", "slurm", "--set", "slurm.phase=7", "--set", "nodes=3,slurm.bf_window=2880"]
    assert main(["compare", exact_file, *typed, "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["policies"]["slurm"]["params"] == {}
    given = with_long_jobs(SimulationRules(restart_s=1.0))
    runs = [simulate(given, "slurm"), simulate(given, "slurm", {"phase": 7}),
            simulate(changed(given, {"nodes": 3}), "slurm", {"bf_window_s": 172_800})]  # fmt: skip
    waits = [row["value"] for row in answer["rows"] if row["key"] == "wait_mean"]
    assert waits == pytest.approx([run.metrics["wait_mean"] for run in runs])


def test_names_of_machines_may_hold_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = with_long_jobs(SimulationRules(restart_s=1.0))
    pool = given.cluster.pools[0]
    named = pool.model_copy(update={"vm": pool.vm.model_copy(update={"name": "A100, 80 GB"})})
    given = given.replace(cluster=given.cluster.model_copy(update={"pools": (named,)}))
    path = str(tmp_path / "s.json")
    write_scenario(given, path)
    typed = ["--policies", "fifo", "--set", "checkpoint_s=60,nodes.A100, 80 GB=3,policy=sjf"]
    assert main(["compare", path, *typed, "--condition", "durations=2,price.A100, 80 GB=9", "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["runs"][1]["metrics"]["completed"] == 12
    assert split_changes("nodes.A100, 80 GB=3,vm_types=a,b") == ["nodes.A100, 80 GB=3", "vm_types=a,b"]


def test_the_memo_is_written_in_all_kinds(random_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(tmp_path / f"memo.{kind}") for kind in ("html", "pptx", "xlsx")]
    outs = [part for file in files for part in ("--out", file)]
    question = "Shortest <b>first</b>?"
    typed = ["report", random_file, "--policies", "fifo,sjf", "--futures", "2", "--question", question, "--hide-names"]
    assert main([*typed, *outs, "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["files"] == files
    page = Path(files[0]).read_text(encoding="utf-8")
    assert "Shortest &lt;b&gt;first&lt;/b&gt;?" in page
    assert "<td>ann</td>" not in page
    assert ">ann<" not in page
    slides = pptx.Presentation(files[1]).slides
    assert any(shape.has_text_frame and shape.text_frame.text == question for shape in slides[0].shapes)
    book = openpyxl.load_workbook(BytesIO(Path(files[2]).read_bytes()))
    assert book["Summary"]["A1"].value == question
    assert len(list(book["All numbers"].rows)) == 1 + 2 * 3


def test_the_command_of_the_memo_computes_it_again(
    random_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["--policies", "fifo,las", "--param", "las.quantum_s=30", "--futures", "1"]
    out = tmp_path / "m.xlsx"
    assert main(["report", random_file, *typed, "--out", str(out), *ALONE]) == 0
    capsys.readouterr()
    book = openpyxl.load_workbook(BytesIO(out.read_bytes()))
    texts = [str(row[0].value) for row in book["Run again"].iter_rows()]
    command = next(text for text in texts if text.startswith("dlsched compare "))
    monkeypatch.chdir(tmp_path)
    name = file_name("=two GPUs")
    assert name in command
    write_scenario(with_long_jobs(RANDOM), name)
    assert main([*shlex.split(command)[1:], "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    late = next(row for row in answer["rows"] if (row["key"], row["name"]) == ("jct_mean", "LAS"))
    told = {(row[0].value, row[2].value): row[5].value for row in book["Differences"].iter_rows()}
    assert told["Mean turnaround time", "LAS"] == pytest.approx(late["delta"] / 3600)


def test_what_is_typed_takes_the_place_of_our_words(
    exact_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "m.html")
    typed = ["--policies", "fifo,sjf", "--recommendation", "Do as I say.", "--note", "Because.", "--no-groups"]
    assert main(["report", exact_file, *typed, "--out", out, *ALONE]) == 0
    assert capsys.readouterr().out == (
        f"Do as I say.\nNote: SJF is told true run times; 1 day: too few for other months.\nwritten: {out}\n"
    )
    page = Path(out).read_text(encoding="utf-8")
    assert "Because." in page
    assert "Who gains" not in page


def test_one_draw_of_something_random_says_rough_first(
    random_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "m.html")
    assert main(["report", random_file, "--policies", "fifo,sjf", "--futures", "0", "--out", out, *ALONE]) == 0
    assert "\nNote: rough preview" in capsys.readouterr().out
    page = Path(out).read_text(encoding="utf-8")
    assert 0 < page.index('<span class="label">rough preview') < page.index("<h1>")


def tamper(monkeypatch: pytest.MonkeyPatch, policy: str, change: Callable[[RunResult], RunResult]) -> None:
    """Change what the runs of a policy say."""

    def run(scenario: Scenario, cases: Sequence[Variant], draws: Futures, *more: Any, **named: Any) -> BatchResult:
        found = run_variants(scenario, cases, draws, *more, **named)
        outcomes = [
            [change(one) for one in of] if case.policy == policy else of
            for case, of in zip(cases, found.results, strict=True)
        ]
        return BatchResult(outcomes, found.computed, found.stored)

    monkeypatch.setattr(compared, "run_variants", run)


def test_a_run_that_failed_its_audit_is_in_no_memo(
    exact_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dishonest(one: RunResult) -> RunResult:
        return RunResult(one.metrics, ("node 4: used twice",))

    tamper(monkeypatch, "sjf", dishonest)
    out = tmp_path / "m.html"
    assert main(["report", exact_file, "--policies", "fifo,sjf", "--out", str(out), *ALONE]) == 2
    assert "policy sjf: failed its audit at seed 0: node 4: used twice" in capsys.readouterr().err
    assert not out.exists()
    assert main(["compare", exact_file, "--policies", "fifo,sjf", *ALONE]) == 1


def test_a_policy_that_fails_is_left_out_and_told(
    exact_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(monkeypatch, "las", lambda _: RunResult(error="no"))
    assert main(["compare", exact_file, "--policies", "fifo,sjf,las", *ALONE]) == 1
    seen = capsys.readouterr()
    assert "1 run failed; the first: las at seed 0: no" in seen.err
    assert "LAS" not in seen.out
    assert main(["compare", exact_file, "--policies", "las,fifo,sjf", *ALONE]) == 2


def without_cpu(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers that are of the answer, not of the machine."""
    return {key: value for key, value in metrics.items() if not key.endswith("cpu_s")}


def test_changes_and_policies_meet_the_same_futures(random_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["--policies", "fifo,sjf", "--set", "nodes=3", "--set", "policy=sjf,nodes=4,checkpoint_s=60"]
    assert main(["compare", random_file, *typed, "--futures", "1", "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    both = "Two more nodes, checkpoint 1 min instead of 0 s and SJF instead of FIFO"
    assert list(dict.fromkeys(row["name"] for row in answer["rows"])) == ["FIFO", "SJF", "One more node", both]
    assert answer["changes"][both] == {"policy": "sjf", "params": {}, "set": {"nodes": 4, "checkpoint_s": 60.0}}
    given = with_long_jobs(RANDOM)
    told = {(row["name"], row["seed"]): without_cpu(row["metrics"]) for row in answer["runs"]}
    for seed in (0, 1):
        more = simulate(changed(given, {"nodes": 3}, seed), "fifo", seed=seed).metrics
        assert told["One more node", seed] == pytest.approx(without_cpu(more))
        assert told["FIFO", seed] == pytest.approx(without_cpu(simulate(given, "fifo", seed=seed).metrics))


def test_what_varies_between_futures_is_the_same_for_all(exact_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["--policies", "fifo", "--set", "nodes=3", "--vary", "run_time_spread=0.5", "--futures", "1", "--json"]
    assert main(["compare", exact_file, *typed, *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["futures"] == {"seeds": [0, 1], "vary": {"run_time_spread": 0.5}}
    assert answer["basis"] == {"kind": "recorded", "futures": 1, "days": 0, "are_replays": False}
    given = with_long_jobs(SimulationRules(restart_s=1.0))
    drawn = simulate(changed(given, {"run_time_spread": 0.5, "nodes": 3}, 1), "fifo", seed=1).metrics
    told = next(row for row in answer["runs"] if (row["name"], row["seed"]) == ("One more node", 1))
    assert without_cpu(told["metrics"]) == pytest.approx(without_cpu(drawn))


def test_the_memo_of_a_change_says_the_command_that_computes_it_again(
    exact_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.xlsx"
    typed = ["--policies", "fifo", "--set", "nodes=3", "--vary", "run_time_spread=0.5", "--futures", "1"]
    assert main(["report", exact_file, *typed, "--out", str(out), *ALONE]) == 0
    book = openpyxl.load_workbook(BytesIO(out.read_bytes()))
    commands = [str(row[0].value) for row in book["Run again"].iter_rows() if "dlsched" in str(row[0].value)]
    assert [command.split()[1] for command in commands] == ["compare", "simulate"]
    monkeypatch.chdir(tmp_path)
    write_scenario(with_long_jobs(SimulationRules(restart_s=1.0)), file_name("=two GPUs"))
    capsys.readouterr()
    assert main([*shlex.split(commands[0])[1:], "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    mean = next(row for row in answer["rows"] if (row["key"], row["name"]) == ("jct_mean", "One more node"))
    told = {(row[0].value, row[2].value): row[5].value for row in book["Differences"].iter_rows()}
    assert told["Mean turnaround time", "One more node"] == pytest.approx(mean["delta"] / 3600)


def test_all_choices_meet_the_condition(
    random_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["--policies", "fifo,sjf", "--set", "nodes=3", "--condition", "durations=1.5,prices=0.9", "--futures", "1"]
    assert main(["compare", random_file, *typed, "--json", *ALONE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["condition"] == {"durations": 1.5, "prices": 0.9}
    assert answer["changes"]["One more node"]["set"] == {"nodes": 3}
    told = {(row["name"], row["seed"]): without_cpu(row["metrics"]) for row in answer["runs"]}
    given = with_long_jobs(RANDOM)
    for seed in (0, 1):
        longer = changed(given, {"durations": 1.5, "prices": 0.9}, seed)
        more = changed(given, {"durations": 1.5, "prices": 0.9, "nodes": 3}, seed)
        assert told["FIFO", seed] == pytest.approx(without_cpu(simulate(longer, "fifo", seed=seed).metrics))
        assert told["SJF", seed] == pytest.approx(without_cpu(simulate(longer, "sjf", seed=seed).metrics))
        assert told["One more node", seed] == pytest.approx(without_cpu(simulate(more, "fifo", seed=seed).metrics))
    out = tmp_path / "m.xlsx"
    assert main(["report", random_file, *typed, "--out", str(out), "--json", *ALONE]) == 0
    memo = json.loads(capsys.readouterr().out)
    assert memo["condition"] == answer["condition"]
    assert memo["question"].startswith("With run times +50% and prices \N{MINUS SIGN}10%, which should we choose: ")
    book = openpyxl.load_workbook(BytesIO(out.read_bytes()))
    texts = [str(row[0].value) for sheet in book for row in sheet.iter_rows()]
    command = next(text for text in texts if text.startswith("dlsched compare "))
    monkeypatch.chdir(tmp_path)
    write_scenario(given, file_name("=two GPUs"))
    assert main([*shlex.split(command)[1:], "--json", *ALONE]) == 0
    again = json.loads(capsys.readouterr().out)
    assert [without_cpu(row["metrics"]) for row in again["runs"]] == list(told.values())


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["compare", "--policies", "fifo"], "--policies: must name 2 to 6 policies, got 1"),
        (["compare", "--policies", "fifo,fifo"], "got 1"),
        (["compare", "--policies", "fifo,sjff"], "policy 'sjff'"),
        (["compare", "--policies", "fifo,sjf", "--baseline", "x"], "policy 'x'"),
        (["compare", "--policies", "fifo,sjf", "--param", "n=1"], "--param n: must start with one of fifo, sjf"),
        (["compare", "--policies", "fifo,sjf", "--param", "fifo.n=1"], "policy fifo, n: no such parameter"),
        (["compare", "--policies", "fifo", "--set", "nodes"], "--set nodes: is not of the form KEY=VALUE"),
        (["compare", "--policies", "fifo", "--set", "nodes=many"], "change nodes: must be a number, got 'many'"),
        (["compare", "--policies", "fifo", "--set", "slurm.phase=7"], "under fifo. Add policy=slurm"),
        (["compare", "--policies", "slurm", "--set", "slurm.phase=0"], "changes nothing in the scenario"),
        (["compare", "--policies", "slurm", "--set", "slurm.phas=7"], "policy slurm, phas: no such parameter"),
        (["compare", "--policies", "fifo", "--set", "nodes=0"], "change nodes: must be at least 1"),
        (["compare", "--policies", "fifo", "--set", "nodes=2"], "--set nodes=2: changes nothing in the scenario"),
        (["compare", "--policies", "fifo", "--set", "nods=3"], "change 'nods': there is none of this name"),
        (["compare", "--policies", "fifo", "--set", "nodes=3", "--set", "nodes=3"], "--set nodes=3: is given twice"),
        (["compare", "--policies", "fifo", "--set", "nodes=3,nodes=4"], "--set nodes=3,nodes=4: names nodes twice"),
        (["compare", "--policies", "fifo", "--set", "policy=no,nodes=3"], "policy 'no'"),
        (["compare", "--policies", "fifo,sjf", "--vary", "nodes=3"], "futures, nodes: has no randomness of its own"),
        (["compare", "--policies", "fifo", "--set", "nodes=3,demand=1.2"], "Write it as in --condition demand=1.2"),
        (["compare", "--policies", "fifo,sjf", "--condition", "nodes=3"], "condition nodes: is something to choose"),
        (["compare", "--policies", "fifo,sjf", "--condition", "demand"], "condition 'demand': is not of the form"),
        (["report", "--policies", "fifo,sjf", "--out", "m.doc"], "file m.doc: must end in one of .html, .pptx, .xlsx"),
        (["report", "--policies", "fifo,sjf", "--out", "/nowhere/m.html"], "/nowhere/m.html: cannot be written"),
        (["report", "--policies", "fifo,sjf", "--out", "m.html", "--question", "x" * 201], "has 201 characters"),
    ],
    ids=["one", "twice", "policy", "baseline", "param", "unknown param", "no form", "letters",
         "of another policy", "as the policy is", "no such parameter", "zero", "as it is",
         "no change", "same change", "same key", "policy of a change", "not drawn", "condition as option",
         "option as condition", "condition form", "ending", "folder", "long"],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(
    exact_file: str, typed: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([typed[0], exact_file, *typed[1:], *ALONE]) == 2
    seen = capsys.readouterr()
    assert words in seen.err
    assert seen.err.count("\n") == 1
