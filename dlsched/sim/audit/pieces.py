"""Rules about single pieces and their shares: when, how wide, and on which nodes."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.sim.audit.facts import Facts, slack_s
from dlsched.sim.audit.findings import Findings, Say
from dlsched.speed import SpeedModel


def check_times(facts: Facts, findings: Findings) -> None:
    """Pieces have a length, lie in the run and in the life of their job, and do not overlap."""
    log, jobs = facts.log, facts.scenario.workload
    row, start_s, end_s = log.piece_row, log.piece_start_s, log.piece_end_s
    findings.flag(end_s <= start_s, start_s, lambda p: f"{facts.piece(p)} has no positive length")
    findings.flag(
        (start_s < log.start_s - slack_s(start_s)) | (end_s > log.end_s + slack_s(end_s)),
        start_s,
        lambda p: f"{facts.piece(p)} is outside the run from {log.start_s:.10g} to {log.end_s:.10g} s",
    )
    findings.flag(
        start_s < jobs.submit_s[row] - slack_s(start_s),
        start_s,
        lambda p: f"{facts.piece(p)} works before its submission at {jobs.submit_s[row[p]]:.10g} s",
    )
    findings.flag(
        end_s > log.job_end_s[row] + slack_s(end_s),
        start_s,
        lambda p: f"{facts.piece(p)} works after the job's end at {log.job_end_s[row[p]]:.10g} s",
    )
    before = facts.previous
    findings.flag(
        (before >= 0) & (start_s < end_s[before] - slack_s(start_s)),
        start_s,
        lambda p: f"{facts.piece(p)} overlaps the job's piece that lasts until {end_s[before[p]]:.10g} s",
    )
    misplaced = (start_s[1:] < start_s[:-1]) | ((start_s[1:] == start_s[:-1]) & (row[1:] < row[:-1]))
    findings.flag(misplaced, start_s[1:], lambda p: f"{facts.piece(p + 1)} is not in order of start and row")


def check_shares(facts: Facts, findings: Findings) -> None:
    """Shares hold something, name a node once, and add up to the piece."""
    log, owner = facts.log, facts.piece_of_share
    start_s = log.piece_start_s
    findings.flag(
        log.share_workers + log.share_servers <= 0,
        start_s[owner],
        lambda s: f"{facts.piece(owner[s])} holds nothing on node {log.share_node[s]}",
    )
    for name, shares, whole in (
        ("workers", log.share_workers, log.piece_workers),
        ("servers", log.share_servers, log.piece_servers),
    ):
        total = np.add.reduceat(shares, log.share_first[:-1]) if shares.size else shares
        findings.flag(total != whole, start_s, _uneven(facts, name, total, whole))
    beside = np.flatnonzero(np.diff(log.share_first)[owner] > 1)  # most pieces are on one node
    by_node = beside[np.lexsort((log.share_node[beside], owner[beside]))]
    again = np.zeros(len(owner), dtype=bool)
    twice = (np.diff(owner[by_node]) == 0) & (np.diff(log.share_node[by_node]) == 0)
    again[by_node[1:][twice]] = True
    findings.flag(again, start_s[owner], lambda s: f"{facts.piece(owner[s])} names node {log.share_node[s]} twice")


def _uneven(facts: Facts, name: str, total: Ints, whole: Ints) -> Say:
    return lambda p: (
        f"{facts.piece(p)} has {whole[p]} {name}, but its shares have {total[p]}: all start together or none"
    )


def check_widths(facts: Facts, speed: SpeedModel, findings: Findings) -> None:
    """All workers of a job run at once: the width of each piece is a legal one."""
    log, jobs = facts.log, facts.scenario.workload
    low, high = speed.limits()
    row, workers = log.piece_row, log.piece_workers
    if facts.scenario.speed.kind == "rigid":
        low = high = jobs.workers
    findings.flag(
        (workers < low[row]) | (workers > high[row]),
        log.piece_start_s,
        lambda p: f"{facts.piece(p)} runs {workers[p]} workers at once; allowed are {low[row[p]]} to {high[row[p]]}",
    )


def check_eligibility(facts: Facts, findings: Findings) -> None:
    """Jobs run in one of their partitions, on the GPU types they accept and on nodes with the features they request."""
    _check_partitions(facts, findings)
    _check_gpu_types(facts, findings)
    _check_features(facts, findings)


def _check_partitions(facts: Facts, findings: Findings) -> None:
    cluster, wanted = facts.scenario.cluster, facts.scenario.workload.partition
    pools = [_names(pool.partition) - {""} for pool in cluster.pools]
    known = set().union(*(names for names, pool in zip(pools, cluster.pools, strict=True) if pool.count))
    if not known:
        return
    pool_of_node = np.repeat(np.arange(len(pools)), [pool.count for pool in cluster.pools])
    texts = np.full(len(facts.scenario.workload), "") if wanted is None else wanted.astype(str)
    entries, entry_of_job = np.unique(texts, return_inverse=True)
    belongs = [_names(str(entry)) & known for entry in entries]  # none of them: on nodes without a partition
    allowed = np.array([[bool(names & own) if names else not own for own in pools] for names in belongs])
    pool, entry = pool_of_node[facts.log.share_node], entry_of_job[facts.row_of_share]
    findings.flag(
        ~allowed[entry, pool],
        facts.log.piece_start_s[facts.piece_of_share],
        lambda s: (
            f"{facts.piece(facts.piece_of_share[s])} is on node {facts.log.share_node[s]} of partition "
            f"{cluster.pools[pool[s]].partition!r}, but belongs in {'|'.join(sorted(belongs[entry[s]]))!r}"
        ),
    )


def _check_gpu_types(facts: Facts, findings: Findings) -> None:
    accepted = facts.scenario.workload.gpu_types
    if accepted is None:
        return
    kinds = [vm.gpu_type for vm in facts.vm_types]
    choices, choice_of_job = np.unique(accepted.astype(str), return_inverse=True)
    # one row per distinct constraint, one column per VM type; the last column is a slot without a VM
    allowed = np.array([[not text or kind in _names(text) for kind in kinds] + [True] for text in choices])
    vm, row = facts.vm_of_share, facts.row_of_share
    findings.flag(
        ~allowed[choice_of_job[row], vm],
        facts.log.piece_start_s[facts.piece_of_share],
        lambda s: (
            f"{facts.piece(facts.piece_of_share[s])} is on node {facts.log.share_node[s]} with GPU type "
            f"{kinds[vm[s]]!r}, but accepts {accepted[row[s]]!r}"
        ),
    )


def _check_features(facts: Facts, findings: Findings) -> None:
    """If the features of some node are known, each node of a job has all that one of its alternatives names."""
    cluster, wanted = facts.scenario.cluster, facts.scenario.workload.features
    pools = [_names(pool.features) - {""} for pool in cluster.pools]
    if wanted is None or not any(own for own, pool in zip(pools, cluster.pools, strict=True) if pool.count):
        return
    pool_of_node = np.repeat(np.arange(len(pools)), [pool.count for pool in cluster.pools])
    texts, text_of_job = np.unique(wanted.astype(str), return_inverse=True)
    allowed = np.zeros((len(texts), len(pools)), dtype=bool)
    for number, text in enumerate(texts):
        choices = [{part.strip() for part in one.split("&")} - {""} for one in str(text).split("|")]
        for place, own in enumerate(pools):
            allowed[number, place] = not any(choices) or any(not names - own for names in choices if names)
    pool, row = pool_of_node[facts.log.share_node], facts.row_of_share
    findings.flag(
        ~allowed[text_of_job[row], pool],
        facts.log.piece_start_s[facts.piece_of_share],
        lambda s: (
            f"{facts.piece(facts.piece_of_share[s])} is on node {facts.log.share_node[s]} with the features "
            f"{cluster.pools[pool[s]].features!r}, but requests {wanted[row[s]]!r}"
        ),
    )


def _names(joined: str) -> set[str]:
    return {name.strip() for name in joined.split("|")}
