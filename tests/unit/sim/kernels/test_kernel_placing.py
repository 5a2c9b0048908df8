"""The compiled placement rules against those of dlsched.placement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.scenario import PlacementRule
from dlsched.placement import Site, TrialPlacer
from dlsched.placement.rules import RULES
from dlsched.sim.kernels.placing import find
from dlsched.sim.kernels.tables import PLACEMENT
from dlsched.testing.scenarios import fixed_nodes
from tests.support.sim_fakes import jobs

nodes_and_job = st.tuples(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=6), st.integers(1, 14)
)


@pytest.mark.parametrize("rule", RULES)
@given(drawn=nodes_and_job)
def test_same_picks(rule: PlacementRule, drawn: tuple[list[tuple[int, int]], int]):
    sizes, gpus = drawn
    capacity = np.array([max(pair) for pair in sizes], dtype=np.int64)
    free = np.array([min(pair) for pair in sizes], dtype=np.int64)
    site = Site.of(jobs((0, 1, gpus)), fixed_nodes(*capacity.tolist()), rule)
    placer = TrialPlacer(site, np.column_stack([free, np.full((len(sizes), 2), np.inf)]))
    expected = [(share.node, share.workers) for share in placer.place(0, gpus) or ()]
    pick, workers = np.zeros(len(sizes), dtype=np.int64), np.zeros(len(sizes), dtype=np.int64)
    count = find(free, capacity, gpus, int(PLACEMENT[rule]), pick, workers)
    assert list(zip(pick[:count].tolist(), workers[:count].tolist(), strict=True)) == expected
