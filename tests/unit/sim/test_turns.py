"""How often a policy that decides by the clock has to decide at least."""

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, Terms, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.sim.prepare import prepare
from dlsched.sim.turns import active_at_least_s, waiting_at_least_s
from dlsched.studies.simulation import simulate
from dlsched.testing.scenarios import fixed_nodes, full_workload, scenario
from tests.support.sim_fakes import jobs, nodes
from tests.support.sim_fakes import scenario as small


def test_jobs_are_active_for_the_union_of_their_times_alone():
    apart = prepare(small(jobs((0, 10, 1), (5, 10, 1), (100, 5, 1))))
    assert active_at_least_s(apart) == 20
    assert active_at_least_s(prepare(small(jobs((0, 10, 1), (5, 10, 1), (100, 5, 1)), horizon_s=12.0))) == 12


@pytest.mark.parametrize(
    ("rows", "least_s"),
    [
        pytest.param(((0, 10, 8), (4, 10, 8)), 6, id="both want all the GPUs for 6 s"),
        pytest.param(((0, 10, 4), (4, 10, 4)), 0, id="there is room for both"),
        pytest.param(((0, 10, 8), (0, 10, 8), (0, 10, 8)), 20, id="30 s of work, the last job waits for no other"),
    ],
)
def test_jobs_wait_while_more_is_wanted_than_there_is(rows, least_s):
    assert waiting_at_least_s(prepare(small(jobs(*rows), nodes(1)))) == least_s


@pytest.mark.parametrize("seed", range(8))
def test_no_run_is_shorter(seed):
    prepared = prepare(scenario("cancels", fixed_nodes(8, 4), workload=full_workload(seed=seed, widths=(1, 2, 4, 8))))
    run = simulate(prepared.scenario, "las", {"quantum_s": 1.0})
    submit_s, log = prepared.scenario.workload.submit_s, run.log
    times_s = np.unique(np.concatenate([submit_s, log.job_end_s, log.piece_start_s, log.piece_end_s]))
    middle_s = (times_s[1:] + times_s[:-1]) / 2

    def under_way(from_s: np.ndarray, to_s: np.ndarray) -> np.ndarray:
        return ((from_s <= middle_s[:, None]) & (middle_s[:, None] < to_s)).sum(axis=1)

    present, running = under_way(submit_s, log.job_end_s), under_way(log.piece_start_s, log.piece_end_s)
    assert active_at_least_s(prepared) <= np.diff(times_s)[present > 0].sum() + 1e-6
    assert 0 < waiting_at_least_s(prepared) <= np.diff(times_s)[present > running].sum() + 1e-6


@pytest.mark.parametrize(("policy", "name"), [("las", "quantum_s"), ("modelarts-greedy", "every_s")])
def test_what_would_decide_without_end_is_refused_before_it_runs(policy, name):
    endless = small(jobs((0, 1e9, 8), (0, 1e9, 8)), nodes(1))
    with pytest.raises(InputError, match=rf"policy {policy}, {name}: of 7 s would be 142,857,143 decisions or more"):
        simulate(endless, policy, {name: 7.0})
    assert simulate(
        endless.replace(options=endless.options.model_copy(update={"horizon_s": 700.0})), policy, {name: 7.0}
    )


def test_centuries_of_backfill_passes_are_refused_before_they_run():
    centuries = small(jobs((0, 1e10, 8), (0, 1e10, 8)), nodes(1))
    with pytest.raises(InputError, match=r"policy slurm, bf_interval: of 30 s would be 333,333,333 decisions or more"):
        simulate(centuries, "slurm")
    assert simulate(centuries, "slurm", {"bf_interval": 86_400.0}).metrics["completed"] == 2


def test_evictions_without_end_are_refused_where_there_is_no_other_node():
    told = Terms(kind="spot", evictions_per_h=1000, boot_s=0)
    spot = Pool(vm=VmType(name="spot", gpus=8), count=1, terms=told)
    endless = small(jobs((0, 1e7, 8)), Cluster(pools=(spot,)))
    with pytest.raises(InputError, match="evictions_per_h: of 1,000 or more would be about 2,777,778 evictions"):
        simulate(endless, "fifo")
    own = Pool(vm=VmType(name="own", gpus=8), count=1)
    assert simulate(endless.replace(cluster=Cluster(pools=(own, spot))), "fifo").metrics["completed"] == 1


@pytest.mark.parametrize(("policy", "widest"), [("fifo", 8), ("edf", 8), ("modelarts-greedy", 16)])
def test_a_machine_type_that_never_holds_some_job_is_refused_before_it_runs(policy, widest):
    large, tiny = VmType(name="large", gpus=8, usd_per_h=4.0), VmType(name="tiny", gpus=1, usd_per_h=1.0)
    wide = jobs((0, 5, 8), (0, 5, 1), due_s=[99.0, 99.0], min_workers=[4, 1], max_workers=[widest, 1])
    slots = Scenario(wide, Cluster(slots=2, catalogue=(large, tiny)), speed=SpeedSpec(kind="scaling"))
    needed = "4" if policy == "modelarts-greedy" else "8"
    why = rf"policy {policy}, vm_type: 'tiny' cannot run 1 of 2 jobs: 2 of these machines never hold job a .* {needed}"
    with pytest.raises(InputError, match=why):
        simulate(slots, policy, {"vm_type": "tiny"})
    for name in (None, "large"):
        assert simulate(slots, policy, {"vm_type": name}).metrics["completed"] == 2
