"""Jobs of which no node holds a worker with its part of the servers, but two nodes do."""

import numpy as np
import pytest

from dlsched.domain.scenario import SpeedSpec
from dlsched.policies.shared.capacity import room
from dlsched.policies.shared.facts import JobKind
from dlsched.studies.simulation import simulate
from tests.support.server_scenarios import machines, training, with_servers


@pytest.mark.parametrize(
    ("free_cpus", "workers"),
    [
        pytest.param((8.0, 8.0), 2, id="2 workers and 6 servers hold 16 CPUs: up to the request"),
        pytest.param((8.0, 7.0), 1, id="15 CPUs are not enough for both"),
        pytest.param((4.0, 4.0), 1, id="a worker and a server, two servers"),
        pytest.param((8.0, 0.0), 1, id="together on one node"),
        pytest.param((16.0, 16.0), 4, id="above the request only together: two workers with their servers each"),
        pytest.param((7.0, 0.0), 0, id="7 CPUs are not enough for one"),
        pytest.param((1.0,) * 20, 0, id="no node holds a worker"),
    ],
)
def test_room_counts_servers_on_other_nodes(free_cpus, workers):
    kind = JobKind(2, (0.0, 2.0, 0.0, 0.0), "", "", 6, (0.0, 2.0, 0.0, 0.0))
    assert room(kind, np.array([(0.0, cpus, 0.0, 0.0) for cpus in free_cpus])) == workers


@pytest.mark.parametrize("policy", ["hell-malleable", "knee-moldable", "srpt-all-nodes", "waterfill",
                                    "modelarts-optimal", "modelarts-greedy"])  # fmt: skip
@pytest.mark.parametrize("kind", ["rigid", "parameter-server"])
def test_no_job_waits_for_ever_because_its_servers_need_another_node(policy, kind):
    # 2 + 3 x 2 = 8 CPUs on nodes of 5
    given = with_servers(
        training((0, 10, 1, 3), cpus_per_server=[2.0]), machines(2, cpus=5.0), SpeedSpec(kind=kind), placement="pool"
    )
    run = simulate(given, policy)
    assert run.metrics["completed"] == 1
    assert run.audit() == []
