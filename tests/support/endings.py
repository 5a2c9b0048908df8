"""How a run on any scenario must end."""

from __future__ import annotations

import numpy as np

from dlsched.placement import Site, TrialPlacer
from dlsched.sim.audit import audit
from dlsched.sim.log import JobStatus, RunLog
from dlsched.sim.prepare import Prepared
from dlsched.speed import build_speed


def could_run(prepared: Prepared, row: int, at_s: float) -> bool:
    """Whether a job fits the empty cluster at some width, on the nodes that are there then."""
    jobs, cluster = prepared.scenario.workload, prepared.scenario.cluster
    away = {absence.node for absence in cluster.absences if absence.start_s <= at_s < absence.until_s}
    speed = build_speed(prepared.scenario.speed, jobs, cluster.vm_types)
    sites = [Site.of(jobs, cluster, prepared.scenario.options.placement)]
    if cluster.free_slots:
        sites = [sites[0].with_vms(dict.fromkeys(range(cluster.slots), vm.name)) for vm in cluster.catalogue]
    for site in sites:
        free = site.capacity.copy()
        free[list(away)] = 0.0
        placer = TrialPlacer(site, free)
        if any(speed.legal(row, width, 0) and placer.fits(row, width) for width in range(1, 25)):
            return True
    return False


def unfinished(log: RunLog) -> list[int]:
    return np.flatnonzero(log.job_status == JobStatus.UNFINISHED).tolist()


def check_ending(prepared: Prepared, log: RunLog) -> None:
    """The audit is clean, and nobody is left who could run alone when the run stopped."""
    found = audit(prepared.scenario, prepared.truth, log)
    assert [line for line in found if not (log.stalled and "the run stopped" in line)] == []
    if log.stalled:
        assert not [row for row in unfinished(log) if could_run(prepared, row, log.end_s)]
    elif prepared.scenario.options.horizon_s is None:
        assert not unfinished(log)
