"""One job under several runs; the shapes of a forest chart."""

from __future__ import annotations

import numpy as np

from dlsched.figures.compare import Change, forest
from dlsched.figures.job_timeline import JobOutcome, job_outcomes
from dlsched.figures.palette import LIGHT


def outcome(run: str, there_s: float, run_s: float = 3_600.0, status: str = "completed") -> JobOutcome:
    return JobOutcome(run, status, there_s, run_s, np.nan, np.nan, run == "FIFO")


def test_bars_add_up_to_the_time_in_the_system() -> None:
    chart = job_outcomes([outcome("FIFO", 10_800.0), outcome("SJF", 3_600.0)], 7_200.0, LIGHT)
    waits, runs = chart.figure.data
    assert list(waits.x + runs.x) == [3.0, 1.0]  # hours
    assert list(waits.x) == [2.0, 0.0]
    assert chart.figure.layout.title.text == "The same job under 2 runs: done soonest under SJF"
    assert chart.alt == "Time from submission until the job left: FIFO 3 h, SJF 1 h."
    assert [note.text for note in chart.figure.layout.annotations] == ["due after 2 h"]
    assert list(chart.figure.layout.yaxis.ticktext) == ["FIFO (this)", "SJF"]


def test_no_run_is_named_soonest_where_it_was_not_done_or_they_tie() -> None:
    failed = job_outcomes([outcome("FIFO", 9_000.0), outcome("SJF", 60.0, 60.0, "failed")], np.nan, LIGHT)
    tied = job_outcomes([outcome("FIFO", 9_000.0), outcome("SJF", 9_000.0)], np.nan, LIGHT)
    for chart in (failed, tied):
        assert chart.figure.layout.title.text == "The same job under 2 runs"
        assert not chart.figure.layout.annotations


def names(changes: list[Change]) -> list[str]:
    chart = forest(changes, {"B": "#185add"}, LIGHT, "A")
    return [trace.name for trace in chart.figure.data if trace.showlegend][1:]


def test_the_legend_of_a_forest_names_the_verdicts_that_are_there() -> None:
    better = Change("Wait", "B", -10, -12, -8, "better", "−1 h (−12% to −8%), better")
    changed = Change("GPUs held", "B", 2, 1, 3, "changed", "+1 pp ± 0.5 pp")
    unsure = Change("Cost", "B", 2, -1, 5, "not clear", "+$2 (−$1 to +$5), not clear")
    same = Change("Done", "B", 0, 0, 0, "same", "same")
    assert names([better]) == ["better"]
    assert names([better, changed]) == ["better", "changed, neither good nor bad"]
    assert names([unsure, same]) == ["not clear or same"]


def test_a_forest_of_one_draw_claims_no_intervals() -> None:
    rough = Change("Wait", "B", -10, -10, -10, "rough", "−1 h, rough")
    chart = forest([rough], {"B": "#185add"}, LIGHT, "A")
    assert chart.figure.layout.title.text == "Change against A"
    assert names([rough]) == ["rough, too few futures"]
