"""A policy of dice with every feature on: nodes are never overbooked, work is conserved, the audit is clean."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Plan, Share, Step, WaitReason, run_on
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import Fake

VMS = (
    VmType(name="one", gpus=4, gpu_type="V100", cpus=16.0, usd_per_h=1.0),
    VmType(name="two", gpus=8, gpu_type="A100", speed=2.0, usd_per_h=3.0),
)


def dice(free_slots, state):
    """Stop, resize, move, start, reserve, reject and change VMs at random, within what the placer finds."""
    rng, placer, plan, rejected = state.rng, state.placer(), {}, []
    promises = any(state.reserved(row) for row in state.active.tolist())
    vms = change_vms(state, placer, promises) if free_slots else {}
    for row in state.running.tolist():
        die = rng.random()
        if die < 0.2:
            plan[row] = ()
        elif die < 0.6 and not promises and not vms:
            placer.release(row, state.held(row))
            plan[row] = moved(state, placer, row) if die < 0.4 else placed(state, placer, row)
    for row in state.waiting.tolist():
        die = rng.random()
        if die < 0.1 and state.now_s < 50:
            rejected.append(row)
        elif die < 0.7 and not state.reserved(row):
            plan[row] = placed(state, placer, row, rng.random() < 0.4)
    rows = state.waiting
    return Plan(plan, tuple(rejected), vms, state.now_s + 7 if len(state.active) else None, (rows, rows * 0 + 1))


def change_vms(state, placer, promises):
    """Open empty slots; at times put every small VM on the other type, or release the slots nobody uses."""
    vms: dict[int, str | None] = {}
    die = state.rng.random()
    for node in np.flatnonzero((state.nodes.vm < 0) & state.nodes.up).tolist():
        name = VMS[int(state.rng.integers(2))].name
        vms[node] = name
        placer.open(node, name)
    if die < 0.3 and not promises:
        vms |= dict.fromkeys(np.flatnonzero(state.nodes.vm == 0).tolist(), "two")
    elif die < 0.5 and len(state.active) == 0:
        vms |= dict.fromkeys(np.flatnonzero(state.nodes.vm >= 0).tolist())
    return vms


def moved(state, placer, row):
    """Put the row, at the width it has, on a random node that has room."""
    width = sum(share.workers for share in state.held(row))
    for node in state.rng.permutation(3).tolist():
        try:
            placer.take(row, (Share(node, width),))
        except PlanError:
            continue
        return run_on((Share(node, width),))
    placer.take(row, state.held(row))
    return run_on(state.held(row))


def placed(state, placer, row, reserve=False):
    smallest, largest = (int(limit[0]) for limit in state.width_limits(np.array([row])))
    shares = placer.place(row, int(state.rng.integers(smallest, largest + 1)))
    if shares is None:
        return ()
    if not reserve:
        return run_on(shares)
    width, start_s = sum(share.workers for share in shares), state.now_s + float(state.rng.integers(0, 2)) * 5
    away = [a for a in state.calendar if a.node in {share.node for share in shares}]
    if away or not all(state.nodes.up[share.node] for share in shares):
        return run_on(shares)
    half = tuple(Share(share.node, share.workers) for share in shares)
    return (
        Step(width, half, start_s),
        Step(0, None, start_s + 4),
        Step(width, half, start_s + 6),
        Step(0, None, start_s + 9),
    )


@st.composite
def scenarios(draw):
    count = draw(st.integers(1, 8))
    numbers = st.integers(0, 40)
    columns = {
        "job_id": [f"j{n}" for n in range(count)],
        "submit_s": [float(draw(numbers)) for _ in range(count)],
        "work": [draw(st.integers(1, 30)) / 2 for _ in range(count)],
        "workers": [draw(st.integers(1, 5)) for _ in range(count)],
        "gpus_per_worker": [draw(st.sampled_from([0.3, 0.5, 1.0])) for _ in range(count)],
        "cpus_per_worker": [draw(st.sampled_from([0.0, 1.5])) for _ in range(count)],
        "gpu_types": [draw(st.sampled_from(["", "A100"])) for _ in range(count)],
    }
    absences = tuple(
        Absence(node=draw(st.integers(0, 2)), start_s=start, end_s=start + draw(st.integers(1, 20)), cause=cause)
        for start, cause in draw(st.lists(st.tuples(numbers, st.sampled_from(["fails", "maintenance"])), max_size=3))
    )
    if draw(st.booleans()):
        cluster = Cluster(slots=3, catalogue=VMS, absences=absences)
    else:
        cluster = Cluster(pools=(Pool(vm=VMS[0], count=1), Pool(vm=VMS[1], count=2)), absences=absences)
    options = SimulationRules(
        placement=draw(st.sampled_from(["pool", "best-fit", "pack", "spread"])),
        oversize="cap",
        restart_s=draw(st.sampled_from([0.0, 0.7])),
        restart_mode=draw(st.sampled_from(["pause", "delayed"])),
        checkpoint_s=draw(st.sampled_from([0.0, 1.5])),
        estimate_error=0.5,
        bug_share=0.2,
        bug_within_s=2.0,
        cancel_share=0.3,
        horizon_s=draw(st.sampled_from([60.0, 2000.0])),
    )
    speed = SpeedSpec(kind=draw(st.sampled_from(["rigid", "scaling"])), max_factor=1.6)
    return Scenario(Workload.from_columns(columns), cluster, options, speed, seed=draw(st.integers(0, 9)))


@given(scenarios(), st.sampled_from([None, 5.0]))
def test_any_run_obeys_the_books(given_scenario, every_s):
    prepared = prepare(given_scenario)
    log = run_engine(
        prepared, Fake(partial(dice, given_scenario.cluster.free_slots), ReviewRule(~EventKind.NONE, every_s))
    )
    check_capacity(prepared.scenario, log)
    check_work(prepared, log)
    findings = audit(prepared.scenario, prepared.truth, log)
    assert [text for text in findings if "nothing was due" not in text] == []


def check_capacity(scenario, log):
    """Sum what is held in the middle of every span between two events, node by node."""
    times = np.unique(np.concatenate([log.piece_start_s, log.piece_end_s]))
    demand = scenario.workload.demand
    owner = np.repeat(np.arange(len(log.piece_row)), np.diff(log.share_first))
    for middle_s in (times[1:] + times[:-1]) / 2:
        capacity = capacity_at(scenario.cluster, log, middle_s)
        runs = (log.piece_start_s[owner] < middle_s) & (middle_s < log.piece_end_s[owner])
        used = np.zeros_like(capacity)
        np.add.at(used, log.share_node[runs], demand[log.piece_row[owner[runs]]] * log.share_workers[runs, None])
        assert (used <= capacity + 1e-6).all()


def capacity_at(cluster, log, time_s):
    capacity = np.nan_to_num(cluster.nodes.capacity.copy(), posinf=1e9)
    for node, vm, start_s, end_s in zip(log.lease_node, log.lease_vm, log.lease_start_s, log.lease_end_s, strict=True):
        if start_s < time_s < end_s:
            vm_type = cluster.vm_types[vm]
            capacity[node] = (vm_type.gpus, vm_type.cpus or 1e9, 1e9, 1e9)
    for absence in cluster.absences:
        if absence.start_s < time_s < absence.until_s:
            capacity[absence.node] = 0
    return capacity


def check_work(prepared, log):
    early = np.minimum(log.piece_progress_from_s, log.piece_end_s) - log.piece_start_s
    late = np.maximum(log.piece_end_s - log.piece_progress_from_s, 0)
    gained = log.piece_restart_rate * early + log.piece_rate * late - log.piece_lost_work
    done = np.bincount(log.piece_row, gained, len(prepared.truth.work))
    ended = np.isin(log.job_status, [JobStatus.COMPLETED, JobStatus.FAILED])
    assert done[ended] == pytest.approx(prepared.truth.work[ended], rel=1e-6)
    assert (done[~ended] < prepared.truth.work[~ended] * (1 + 1e-6)).all()
    assert set(log.wait_reason.tolist()) <= {WaitReason.NOT_RECORDED, WaitReason.NO_ROOM, WaitReason.BOOKED}
