"""Fits of public logs: what their second halves must show, with the jobs that left without a start in the queue."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlsched.studies.fitting import read_spec, run_fit
from dlsched.workload.load import load
from dlsched.workload.readers import ReadOptions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "explained", "factor", "ranks", "left"),
    [("xdmod/phillips.log", 0.95, 1.2, 0.95, 239), ("swf/hpc2n_alea.swf", -1.0, 5.0, 0.6, 0)],
)
def test_the_second_half_is_met(
    file: str, explained: float, factor: float, ranks: float, left: int, shared_data: Path
) -> None:
    scenario = load(shared_data / "real" / file, ReadOptions(never_started="keep"))
    answer = run_fit(read_spec({"scenario": scenario.content_hash}), scenario)
    assert answer.measures.explained is not None
    assert answer.measures.explained >= explained
    assert answer.measures.typical_factor <= factor
    assert answer.measures.rank_correlation is not None
    assert answer.measures.rank_correlation >= ranks
    assert answer.left == left
    assert answer.left_started <= 0.05 * left
