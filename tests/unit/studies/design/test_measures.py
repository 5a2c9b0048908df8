"""Runs compared job by job: the gain by hand, what a single run says, shared runs of the reference, what goes wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Floats, Workload
from dlsched.studies.design import Futures, Variant, changed, run_variants
from dlsched.studies.design import run as design_run
from dlsched.studies.design.factors import pool_of
from dlsched.studies.design.measures import JobTimes, common, paired_measures, times_of
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.modelarts import VARIANTS, ModelArtsSpec, modelarts_scenario
from tests.support.known import known
from tests.support.look_ahead_runs import elastic_scenario

OPTIMAL, GREEDY = "modelarts-optimal", "modelarts-greedy"


def times(total_s: Sequence[float], by_last_submission: int = 0) -> JobTimes:
    total: Floats = np.array(total_s, dtype=float)
    return JobTimes(total, np.zeros(len(total)), by_last_submission)


def drawn() -> Scenario:
    """Return a small synthetic trace that asks for more than there is."""
    return modelarts_scenario(ModelArtsSpec(nodes=6, jobs=60, only_long=True, load_scale=2), 4)


def three_jobs() -> Scenario:
    """Return jobs of 100, 50 and 10 s that come 1 s apart and take a node each."""
    columns = {"job_id": ["a", "b", "c"], "submit_s": [0.0, 1.0, 2.0], "work": [100.0, 50.0, 10.0],
               "workers": [1, 1, 1], "gpus_per_worker": [8.0, 8.0, 8.0]}  # fmt: skip
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=1),))
    return Scenario(Workload.from_columns(columns), cluster, name="three jobs")


def test_the_gain_by_hand() -> None:
    found = common(times([100, 300]), times([200, 300]))
    assert list(found.total_s) == [200, 250]
    assert found.gain_percent == pytest.approx(25)
    found = common(times([100, 300]), times([np.nan, 330]))
    assert found.compared == 1
    assert found.gain_percent == pytest.approx(10)
    with pytest.raises(DlschedError, match="no job completed under both"):
        common(times([100, np.nan]), times([np.nan, 330]))


def test_runs_without_a_common_end_have_no_gain_but_their_counts() -> None:
    run = simulate(elastic_scenario(), "fifo")
    ours = times_of(run)
    found = paired_measures(run, ours, times([np.nan] * 12))
    assert (found["compared"], found["gain"]) == (0, None)
    assert found["additional"] == ours.by_last_submission


def test_shortest_first_against_first_in_by_hand() -> None:
    """On one node FIFO ends the jobs at 100, 150, 160 s and SJF at 100, 160, 110 s; on two nodes both do the same."""
    cases = [Variant(policy=policy, changes={"nodes": nodes}) for nodes in (1, 2) for policy in ("sjf", "fifo")]
    references = [Variant(policy="fifo", changes=case.changes) for case in cases]
    found = run_variants(three_jobs(), cases, Futures(), references=references)
    metrics = [results[0].metrics or {} for results in found.results]
    assert [one["jct_mean"] for one in metrics] == pytest.approx([367 / 3, 407 / 3, 209 / 3, 209 / 3])
    assert [one["gain"] for one in metrics] == pytest.approx([407 / 367 - 1, 0, 0, 0])
    assert [one["compared"] for one in metrics] == [3, 3, 3, 3]
    assert [one["additional"] for one in metrics] == [0, 0, 0, 0]
    assert [one["workers_per_job"] for one in metrics] == [1, 1, 1, 1]
    assert {one["solve_p50_s"] for one in metrics} == {None}


@pytest.mark.parametrize(("nodes", "mishaps", "seed"), [(3, "baseline", 0), (6, "baseline", 2), (6, "mishaps", 1)])
def test_a_paired_run_says_what_single_runs_say(nodes: int, mishaps: str, seed: int) -> None:
    cluster = Cluster(pools=(Pool(vm=drawn().cluster.vm_types[0], count=nodes),))
    alone = drawn().replace(cluster=cluster, options=VARIANTS[mishaps])
    run, greedy = (simulate(alone, policy, seed=seed) for policy in (OPTIMAL, GREEDY))
    case, reference = (
        Variant(policy=policy, changes={"nodes": nodes, "mishaps": mishaps}) for policy in (OPTIMAL, GREEDY)
    )
    played = run_variants(drawn(), [case, reference], Futures(seeds=(seed,)), references=[reference, reference])
    ours, theirs = (results[0].metrics or {} for results in played.results)
    for key in ("jct_mean", "wait_mean", "jct_p95", "completed", "allocation_ratio"):
        assert ours[key] == run.metrics[key]
        assert theirs[key] == greedy.metrics[key]
    both = run.jobs["jct_s"].notna() & greedy.jobs["jct_s"].notna()
    means_s = [float(one.jobs["jct_s"][both].mean()) for one in (run, greedy)]
    assert ours["gain"] == pytest.approx(means_s[1] / means_s[0] - 1)
    assert ours["compared"] == both.sum()
    last_s = run.prepared.scenario.workload.submit_s.max()
    ended = [int((one.jobs["completion_s"] <= last_s).sum()) for one in (run, greedy)]
    assert ours["additional"] == ended[0] - ended[1]
    pieces = run.segments.groupby("piece").agg(workers=("workers", "sum"), s=("start_s", "first"), e=("end_s", "first"))
    length_s = pieces["e"] - pieces["s"]
    assert ours["workers_per_job"] == pytest.approx((pieces["workers"] * length_s).sum() / length_s.sum())
    solved = int((run.decisions["status"] != "").sum())
    assert (ours["solved"], ours["proven"]) == (solved, solved)
    assert (theirs["gain"], theirs["additional"], theirs["solved"]) == (0, 0, None)


def test_the_reference_is_run_once_for_all_that_are_compared_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def counted(scenario: Scenario, policy: str, *args: object) -> object:
        runs.append(policy)
        return simulate(scenario, policy, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(design_run, "simulate", counted)
    monkeypatch.setattr(design_run, "_LATEST", {})
    cases = [Variant(policy=policy) for policy in ("fifo", "sjf", "las")]
    run_variants(three_jobs(), cases, Futures(), references=[cases[0]] * 3)
    assert runs == ["fifo", "sjf", "las"]


def test_mishaps_change_what_goes_wrong_and_nothing_else() -> None:
    own = SimulationRules(placement="pack", oversize="drop", estimate_error=0.3, restart_s=60, checkpoint_s=100)
    scenario = elastic_scenario().replace(options=own)
    assert changed(scenario, {"mishaps": "own"}).options == own
    assert changed(scenario, {"mishaps": "baseline"}).options == SimulationRules(
        placement="pack", oversize="drop", checkpoint_s=100
    )
    mishaps = changed(scenario, {"mishaps": "mishaps"}).options
    assert (mishaps.bug_share, mishaps.cancel_share, mishaps.estimate_error) == (0.15, 0.1, 0.1)
    assert (mishaps.restart_s, mishaps.placement, mishaps.checkpoint_s) == (0, "pack", 100)
    with pytest.raises(InputError, match="there is no variant 'mishap'"):
        changed(scenario, {"mishaps": "mishap"})


def test_a_slow_start_takes_its_time() -> None:
    quick, slow = (simulate(changed(elastic_scenario(), {"mishaps": one}), "fifo") for one in ("baseline", "delay"))
    assert known(slow.metrics["jct_mean"]) >= known(quick.metrics["jct_mean"]) + 15


def test_pools_of_equal_nodes_are_one_and_other_clusters_have_no_size() -> None:
    vm, scenario = VmType(name="node", gpus=8), elastic_scenario()
    two = scenario.replace(cluster=Cluster(pools=(Pool(vm=vm, count=2), Pool(vm=vm, count=4))))
    assert pool_of(two).count == 6
    mixed = scenario.replace(cluster=Cluster(pools=(Pool(vm=vm, count=2), Pool(vm=VmType(name="b"), count=4))))
    with pytest.raises(InputError, match="has 2 different node types"):
        pool_of(mixed)
    slots = scenario.replace(cluster=Cluster(slots=3, catalogue=(vm,)))
    with pytest.raises(InputError, match="rents up to 3 machines"):
        pool_of(slots)


def test_absences_stay_with_their_nodes() -> None:
    scenario = elastic_scenario()
    away = (Absence(node=4, start_s=10.0, end_s=20.0),)
    failing = scenario.replace(cluster=scenario.cluster.model_copy(update={"absences": away}))
    assert changed(failing, {"nodes": 5}).cluster.absences == away
    with pytest.raises(InputError, match="4 is too few: an absence is planned or a failure set for node 4"):
        changed(failing, {"nodes": 4})
