"""The chart of recorded against replayed waits: where dots stand, which stand out, what the text says."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.workload import Workload
from dlsched.figures.calibration import LARGEST_PX, LEAST_S, SMALLEST_PX, wait_by_group
from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.studies.calibration.answer import Calibration, ReplayedTimes, calibrate
from dlsched.studies.calibration.record import record_of

SIZES = {"near": 86, "<b>far</b>": 20, "few": 5, "zero": 20}
RECORDED_S = {"near": 600.0, "<b>far</b>": 600.0, "few": 600.0, "zero": 0.0}
REPLAYED_S = {"near": 700.0, "<b>far</b>": 6000.0, "few": 6000.0, "zero": 0.0}


def answer() -> Calibration:
    """Return an answer about 131 jobs, of which the first 6, near ones, are the warm-up."""
    names = np.repeat(list(SIZES), list(SIZES.values()))
    wait_s = np.array([RECORDED_S[name] for name in names])
    jobs = Workload.from_columns({
        "job_id": [f"j{number}" for number in range(len(names))], "submit_s": np.zeros(len(names)),
        "work": np.ones(len(names)), "gpus_per_worker": np.ones(len(names)), "group": names.tolist(),
        "recorded_start_s": wait_s,
    })  # fmt: skip
    replayed_s = np.array([REPLAYED_S[name] for name in names])
    return calibrate(record_of(jobs), [ReplayedTimes("fifo", "FIFO", {}, replayed_s, replayed_s)])


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_dots_stand_at_their_means_and_those_off_have_their_own_shape_and_name(theme: Theme) -> None:
    chart = wait_by_group(answer(), "fifo", "group", theme)
    dots = {trace.name: trace for trace in chart.figure.data if trace.mode == "markers"}
    assert list(dots) == ["within 2x", "off by more", "too few jobs"]
    assert list(zip(dots["within 2x"].x, dots["within 2x"].y, strict=True)) == [(600, 700), (LEAST_S, LEAST_S)]
    assert (dots["off by more"].x, dots["off by more"].y) == ((600,), (6000,))
    assert len({dots[name].marker.symbol for name in dots}) == 3
    assert dots["within 2x"].marker.size == pytest.approx((LARGEST_PX, LARGEST_PX / 2))
    assert dots["too few jobs"].marker.size == pytest.approx((max(SMALLEST_PX, LARGEST_PX / 4),))
    assert [note.text for note in chart.figure.layout.annotations] == ["&lt;b&gt;far&lt;/b&gt;"]
    assert chart.figure.layout.annotations[0].x == pytest.approx(np.log10(600))


def test_no_name_lies_on_another_one() -> None:
    names = ["a"] * 21 + ["b"] * 20
    jobs = Workload.from_columns({
        "job_id": [f"j{number}" for number in range(41)], "submit_s": np.zeros(41), "work": np.ones(41),
        "gpus_per_worker": np.ones(41), "group": names, "recorded_start_s": np.full(41, 600.0),
    })  # fmt: skip
    replayed_s = np.where(np.array(names) == "a", 6000.0, 6100.0)
    close = calibrate(record_of(jobs), [ReplayedTimes("fifo", "FIFO", {}, replayed_s, replayed_s)])
    assert [note.text for note in wait_by_group(close, "fifo", "group", LIGHT).figure.layout.annotations] == ["b"]


def test_both_axes_are_alike_and_the_line_of_equals_crosses_them() -> None:
    figure = wait_by_group(answer(), "fifo", "group", LIGHT).figure
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert figure.layout.xaxis.range == figure.layout.yaxis.range
    assert figure.layout.xaxis.tickvals == figure.layout.yaxis.tickvals
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    assert line.x == line.y
    (band,) = [trace for trace in figure.data if trace.name == "band"]
    half = len(band.x) // 2
    x, upper, lower = np.array(band.x)[:half], np.array(band.y)[:half], np.array(band.y)[half:][::-1]
    assert (upper + 60) / (x + 60) == pytest.approx(np.full(half, 2.0))
    seen = x > 70  # below 60 s even no wait at all is within 2x
    assert (lower[seen] + 60) / (x[seen] + 60) == pytest.approx(np.full(int(seen.sum()), 0.5))
    assert lower[x < 60].max() < 10 ** figure.layout.yaxis.range[0]
    gaps = np.diff(np.log10(figure.layout.xaxis.tickvals))
    assert gaps.min() >= np.ptp(figure.layout.xaxis.range) / 7


def test_the_text_and_the_table_hold_the_numbers() -> None:
    chart = wait_by_group(answer(), "fifo", "group", LIGHT)
    assert "over 125 jobs; 4 groups by group: 1 off by over 2x (outside the band), 1 with too few jobs" in chart.alt
    assert chart.table["group"].tolist() == ["near", "<b>far</b>", "zero", "few"]
    assert chart.table["ratio"].tolist() == pytest.approx([760 / 660, 6060 / 660, 1, 6060 / 660], abs=1e-4)
    only = wait_by_group(answer(), "fifo", "gpus", LIGHT)
    assert len(only.table) == 1
