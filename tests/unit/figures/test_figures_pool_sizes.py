"""Charts and words of the page Pool size, on answers with chosen numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.figures.pool_sizes import by_size, decision_histogram, gain_by_size, what_goes_wrong
from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.pool_sizes import words
from dlsched.studies.pool_sizes.answer import MEASURES, Cell, Draw, PoolSizes, decisions_of_draws
from dlsched.studies.pool_sizes.words import gain_words
from dlsched.wording.certainty import EXACT
from tests.support.known import known

OPTIMAL, GREEDY = "modelarts-optimal", "modelarts-greedy"
CPU_S = np.array([0.001, 0.002, 0.004, 1.0])


def draw(seed: int, total_s: float, gain: float | None, oversize: int = 0, audit: tuple[str, ...] = ()) -> Draw:
    return Draw(
        seed=seed, jobs=10, completed=9, by_last_submission=5, oversize=oversize, wait_mean_s=60.0,
        total_mean_s=total_s, total_p95_s=2 * total_s, workers_per_job=2.0, held_share=0.5, gain_percent=gain,
        compared=None if gain is None else 9, additional=None if gain is None else 1, audit=audit,
    )  # fmt: skip


def answer(
    gains: Sequence[Sequence[float]], variants: tuple[str, ...] = ("own",), exact: tuple[str, ...] = ()
) -> PoolSizes:
    """Return an answer on 10, 20 ... nodes: the gain of each draw by size, alike in all variants but 1 less in each."""
    nodes = tuple(10 * (place + 1) for place in range(len(gains)))
    cells = []
    for place, size in enumerate(nodes):
        for number, variant in enumerate(variants):
            found = [draw(seed, 36_000.0 / (place + 1), gain - number) for seed, gain in enumerate(gains[place])]
            cells.append(Cell(nodes=size, variant=variant, policy=OPTIMAL, draws=tuple(found),
                              decisions=decisions_of_draws(CPU_S, 3)))  # fmt: skip
            slow = tuple(draw(one.seed, 40_000.0, None) for one in found)
            cells.append(Cell(nodes=size, variant=variant, policy=GREEDY, draws=slow))
    labels = {OPTIMAL: "ModelArts, optimal", GREEDY: "ModelArts, greedy"}
    return PoolSizes(
        scenario="abc", scenario_name="<b>mine</b>", nodes=nodes, present=20, variants=variants, exact=exact,
        policies=(OPTIMAL, GREEDY), reference=GREEDY, draws=len(gains[0]), unit="node", labels=labels,
        cells=tuple(cells),
    )  # fmt: skip


BELL = ((4.0, 5.0, 6.0), (19.0, 20.0, 21.0), (2.0, 3.0, 4.0))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_lines_by_size_show_means_in_hours_with_their_bands(theme: Theme) -> None:
    chart = by_size(answer(BELL), "own", MEASURES["total"], theme)
    lines = [trace for trace in chart.figure.data if trace.showlegend]
    assert [list(trace.y) for trace in lines] == [pytest.approx([10, 5, 10 / 3]), pytest.approx([40_000 / 3600] * 3)]
    assert chart.figure.layout.yaxis.title.text == "Total time, mean (h)"
    assert chart.figure.layout.title.text.endswith("95% intervals over 3 draws")
    assert chart.table["nodes"].tolist() == [10, 10, 20, 20, 30, 30]
    assert chart.alt.startswith("Total time, mean: ModelArts, optimal 10 h on 10 nodes, 3 h 20 min on 30 nodes")


def test_the_reference_has_no_line_of_additional_jobs() -> None:
    chart = by_size(answer(BELL), "own", MEASURES["additional"], LIGHT)
    assert [trace.name for trace in chart.figure.data if trace.showlegend] == ["ModelArts, optimal"]
    assert by_size(answer(BELL), "own", MEASURES["held"], LIGHT).figure.data[1].y[0] == 50


def test_gains_stand_with_their_intervals() -> None:
    chart = known(gain_by_size(answer(BELL), "own", LIGHT))
    (line,) = chart.figure.data
    assert list(line.y) == [5, 20, 3]
    assert list(line.error_y.array) == pytest.approx([4.302653 / 3**0.5] * 3, rel=1e-6)
    assert chart.table["gain, %"].tolist() == [5, 20, 3]
    alone = answer(BELL).model_copy(update={"policies": (GREEDY,)})
    assert gain_by_size(alone, "own", LIGHT) is None


def test_what_goes_wrong_stands_side_by_side() -> None:
    found = answer(BELL, ("own", "mishaps", "delay"))
    chart = known(what_goes_wrong(found, OPTIMAL, words.variant_words, LIGHT))
    assert [list(line.y) for line in chart.figure.data] == [[5, 20, 3], [4, 19, 2], [3, 18, 1]]
    assert len({tuple(line.x) for line in chart.figure.data}) == 3
    assert what_goes_wrong(answer(BELL), OPTIMAL, words.variant_words, LIGHT) is None
    times = known(what_goes_wrong(found, GREEDY, words.variant_words, LIGHT))
    assert list(times.figure.data[0].y) == pytest.approx([40_000 / 3600] * 3)
    said = words.changes_of(found, OPTIMAL)
    assert "−1 on 10, −1 on 20, −1 on 30" in said
    assert words.changes_of(answer(BELL), OPTIMAL) == ""


def test_the_histogram_counts_every_decision_and_says_what_is_proven() -> None:
    cell = answer(BELL).at(20, "own", OPTIMAL)
    chart = known(decision_histogram(cell, "ModelArts, optimal", LIGHT))
    assert chart.table["decisions"].sum() == 4
    assert chart.figure.layout.title.text == "Half of 4 decisions took up to 3 ms, the longest 1 s; 75% proven"
    assert decision_histogram(answer(BELL).at(20, "own", GREEDY), "greedy", LIGHT) is None


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (Interval(24.31, 3.14, 3), "+24.3% ± 3.1"),
        (Interval(-1.49, 10.54, 3), "−1% ± 11"),
        (Interval(2.5, None, 1), "+2.5%"),
        (Interval(0.0, 0.0, 3), "0%"),
    ],
)
def test_gains_in_words(of: Interval, text: str) -> None:
    assert gain_words(of) == text


def test_the_finding_names_the_largest_gain_and_how_sure_it_is() -> None:
    said = words.finding(answer(BELL), "own")
    assert said == (
        "From 10 to 30 nodes the mean total time goes from 10 h to 3 h 20 min under optimal ModelArts. On 20 they take "
        "20.0% ± 2.5 longer under greedy ModelArts than under optimal ModelArts, the most of 3 sizes (3 draws)."
    )
    assert "are not distinguishable (3 draws; at best +3% ± 23)" in words.finding(answer(((-5.0, 1.0, 13.0),)), "own")
    unsure = words.finding(answer(((4.0, 5.0, 6.0), (-40.0, 10.0, 90.0))), "own")
    assert "On 10 they take 5.0% ± 2.5 longer" in unsure  # a larger mean that chance may have made is not told
    assert "the most of" not in unsure
    assert "On no size are jobs done sooner" in words.finding(answer(((-5.0, -4.0),)), "own")
    assert words.finding(answer(((5.0,),)), "own").endswith("(rough, 1 draw).")
    assert words.finding(answer(((5.0,),), exact=("own",)), "own").endswith("(exact for this trace, not a forecast).")


def test_banners_tell_what_an_answer_cannot_be_used_for() -> None:
    found = answer(((5.0,),))
    bad = found.cells[0].model_copy(update={"draws": (draw(0, 1.0, 1.0, oversize=2, audit=("two jobs",)),)})
    found = found.model_copy(update={"cells": (bad, *found.cells[1:])})
    guards = words.cautions_of(found, stale=True, elsewhere=True)
    assert [guard.level for guard in guards] == ["red", "orange", "info", "info", "info"]
    assert "optimal ModelArts on 10 nodes: two jobs" in guards[0].text
    assert "On 10 nodes jobs are too large" in guards[1].text
    assert words.cautions_of(answer(BELL), stale=False) == []


def test_cards_are_short_and_assumptions_labelled() -> None:
    cards = words.cards_of(answer(BELL), "own")
    assert [value for _, value, _ in cards] == ["+20.0% ± 2.5", "5 h", "1 min", "75% of 12"]
    assert words.compact(Interval(6960.0, 3540.0, 3)) == "116 min ± 59"
    labels = [chip.label for chip in words.premises_of(answer(BELL, ("own", "mishaps"), ("own",)))]
    assert labels == [
        "sizes of one pool", "default parameters", "gain = our reading", "paired draws", EXACT,
        "mishaps are independent",
    ]  # fmt: skip
