"""Sweeping the nodes of a long run in groups finds what one sweep finds, on clean logs and on overfull ones."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.sim.audit import audit, capacity
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from tests.support.chaos import Chaos
from tests.support.logs import Ran, facts_inputs
from tests.support.scenarios import scenarios


@settings(max_examples=60)
@given(scenarios(), st.sampled_from([1, 3]), st.booleans())
def test_groups_of_nodes_find_what_one_sweep_finds(scenario: Scenario, at_once: int, crowd: bool) -> None:
    prepared = prepare(scenario)
    log = run_policy(prepared, Chaos(free_slots=scenario.cluster.free_slots))
    if crowd:  # every second share moves to node 0: overfull, absent or without a machine at times
        log = replace(log, share_node=np.where(np.arange(len(log.share_node)) % 2, 0, log.share_node))
    whole = audit(prepared.scenario, prepared.truth, log)
    with patch.object(capacity, "_SHARES_AT_ONCE", at_once):
        assert sorted(audit(prepared.scenario, prepared.truth, log)) == sorted(whole)


def test_an_overfull_node_is_found_in_each_group() -> None:
    """Two jobs of the whole node on each of three nodes at once."""
    jobs = Workload.from_columns({"job_id": list("abcdef"), "submit_s": np.zeros(6), "work": np.full(6, 10.0)})
    cluster = Cluster(pools=(Pool(vm=VmType(name="one", gpus=1), count=3),))
    inputs = facts_inputs(Scenario(jobs, cluster), [Ran(row, 0, 10, {row % 3: 1}) for row in range(6)])
    for at_once in (1, 2, 4, 500_000):
        with patch.object(capacity, "_SHARES_AT_ONCE", at_once):
            over = [text for text in audit(*inputs) if "its capacity is 1" in text]
        assert [text.split(" holds 2 ")[0].split("node ")[1] for text in sorted(over)] == ["0", "1", "2"]
