"""The CSV that pages offer: neither a cell nor the name of a column is a formula."""

from __future__ import annotations

import pandas as pd

from dlsched.ui.frame import charts


def test_texts_and_names_of_columns_stand_behind_an_apostrophe() -> None:
    frame = pd.DataFrame({"=cmd|' /C calc'!A0": [-2, 3], "policy": ["@fifo", "sjf"]})
    lines = charts.csv(frame).decode().splitlines()
    assert lines == ["'=cmd|' /C calc'!A0,policy", "-2,'@fifo", "3,sjf"]
