"""Whether jobs that never start ask for more than a limit of the scenario's Slurm lets run at once."""

from __future__ import annotations

from dlsched.domain.plan import WaitReason
from dlsched.domain.slurm import SlurmAssociation, SlurmLimits, SlurmSetup
from dlsched.domain.workload import CPU, GPU, MEM, Ints, partition_names
from dlsched.sim.audit.facts import Facts


def all_beyond_limits(facts: Facts, rows: Ints) -> bool:
    """Whether the last that was said of each row is that it asks for more than a limit allows, and one does say so."""
    log, setup = facts.log, facts.scenario.slurm
    said = dict(zip(log.wait_row.tolist(), log.wait_reason.tolist(), strict=True))
    told = all(said.get(row) == WaitReason.BEYOND_LIMIT for row in rows.tolist())
    return told and setup is not None and all(_is_beyond(facts, setup, row) for row in rows.tolist())


def _is_beyond(facts: Facts, setup: SlurmSetup, row: int) -> bool:
    """Whether a row is larger than a limit; nodes and GPUs of a type, which depend on the placement, at their most."""
    jobs = facts.scenario.workload
    servers = int(jobs.servers_for(row, jobs.workers[row]))
    need = jobs.requested[row]
    most = {"cpu": need[CPU], "mem": need[MEM], "gres/gpu": need[GPU], "node": float(jobs.workers[row] + servers)}
    for limits in _limits_of(facts, setup, row):
        if 0 in (limits.GrpJobs, limits.MaxJobsPU, limits.MaxJobsPA):
            return True
        for tres in (limits.GrpTRES, limits.MaxTRESPU, limits.MaxTRESPA, limits.MaxTRESPJ):
            for name, cap in tres.items():
                kind = name.lower() if name.lower() in most else name.lower().partition(":")[0]
                if kind in most and most[kind] > cap:
                    return True
    return False


def _limits_of(facts: Facts, setup: SlurmSetup, row: int) -> list[SlurmLimits]:
    """Return the limits of a row's user, of the accounts above, of its QOS and of that of its partition."""
    jobs = facts.scenario.workload
    user, account, quality, partition = (
        "" if column is None else str(column[row]) for column in (jobs.user, jobs.group, jobs.job_class, jobs.partition)
    )
    mine = [one for one in setup.associations if user and one.user == user]
    account = account or next((one.account for one in mine), "")
    found: list[SlurmAssociation] = [one for one in mine if one.account == account]
    by_name = {one.account: one for one in setup.associations if not one.user and not one.partition}
    while account in by_name:  # no account is above itself
        found.append(by_name[account])
        account = by_name[account].parent
    names = {quality, *(one.QOS for one in setup.partitions if one.name in partition_names(partition))}
    return [*(one.limits for one in found), *(one.limits for one in setup.qos if one.name in names)]
