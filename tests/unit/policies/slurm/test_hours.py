"""Closed hours as one line of text."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.policies.slurm.hours import class_of, closed_hours


def test_hours_by_hand():
    classes = closed_hours("4-15 wd 8-18; 15- all 22-6,12-13")
    assert [limits[:2] for limits in classes] == [(4 * 3600.0, 15 * 3600.0), (15 * 3600.0, np.inf)]
    monday, sunday = classes[0][2][:24], classes[0][2][-24:]
    assert np.flatnonzero(monday).tolist() == list(range(8, 18))
    assert not sunday.any()
    assert np.flatnonzero(classes[1][2][-24:]).tolist() == [*range(6), 12, 22, 23]
    assert [class_of(hours * 3600.0, classes) for hours in (4, 4.1, 15, 16)] == [-1, 0, 0, 1]


def test_no_text_closes_nothing():
    assert closed_hours("") == closed_hours(" ; ") == []


@pytest.mark.parametrize(
    "text", ["8-18", "4-15 wd", "15-4 wd 8-18", "4- wd 8-25", "4- mo 8-18", "4- wd 8-x", "x" * 300]
)
def test_what_cannot_be_read_is_refused(text: str):
    with pytest.raises(ValueError, match=r"rule|hours|rise"):
        closed_hours(text)
