"""Charts that are drawn once for equal arguments."""

import numpy as np
import pandas as pd
import pytest

from dlsched.figures.palette import theme
from dlsched.studies.byte_cache import ByteCache
from dlsched.ui.frame import charts

_ASKED: list[tuple[int, str]] = []


def draw(frame: pd.DataFrame, look: object, *, title: str = "") -> tuple[int, str]:
    _ASKED.append((int(frame["a"].sum()), title))
    return _ASKED[-1]


@pytest.fixture(autouse=True)
def _nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "SHARED", ByteCache())
    _ASKED.clear()


def frame(*values: int) -> pd.DataFrame:
    return pd.DataFrame({"a": np.array(values), "b": ["x"] * len(values)})


def test_equal_arguments_are_drawn_once_whoever_made_them() -> None:
    light = theme("light")
    first = charts.drawn(draw, frame(1, 2), light, title="one")
    assert charts.drawn(draw, frame(1, 2), theme("light"), title="one") is first
    assert _ASKED == [(3, "one")]


def test_one_different_value_is_another_chart() -> None:
    light = theme("light")
    charts.drawn(draw, frame(1, 2), light)
    charts.drawn(draw, frame(1, 3), light)
    charts.drawn(draw, frame(1, 2), theme("dark"))
    charts.drawn(draw, frame(1, 2), light, title="two")
    assert _ASKED == [(3, ""), (4, ""), (3, ""), (3, "two")]


def test_two_ways_to_draw_the_same_values_are_two_charts() -> None:
    def other(rows: pd.DataFrame, look: object) -> str:
        return f"{len(rows)} rows"

    charts.drawn(draw, frame(1, 2), None)
    assert charts.drawn(other, frame(1, 2), None) == "2 rows"
