"""Dominant shares as whole numbers."""

from __future__ import annotations

import numpy as np

from dlsched.policies.baselines.disciplines import share_parts, share_steps


def test_parts_of_what_counts():
    need = np.array([[1.0, 4.0, 7.0, 2.0], [3.0, 0.0, 0.0, 0.0]])
    parts = share_parts(need, np.array([4.0, 16.0, np.inf, 0.0]))
    assert parts.tolist() == [[2**58, 2**58, 0, 0], [3 * 2**58, 0, 0, 0]]


def test_sums_of_parts_are_equal_in_steps_however_they_were_added_up():
    for gpus in (3.0, 7.0, 600.0, 1023.0):
        parts = share_parts(np.arange(1.0, 4.0)[:, None], np.array([gpus]))[:, 0].tolist()
        assert share_steps(3 * parts[0]) == share_steps(parts[0] + parts[1]) == share_steps(parts[2])
        assert share_steps(parts[2]) < share_steps(parts[2] + parts[0])
