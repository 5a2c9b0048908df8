"""Rules about parameter servers, users' limits and what jobs block on a pool beyond their use."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import RESOURCES
from dlsched.sim.audit.facts import SAME_NUMBER, Facts, slack_s
from dlsched.sim.audit.findings import Findings, Say


def check_servers(facts: Facts, findings: Findings) -> None:
    """Each job runs with the servers that go with its width; where policies choose them, with at least enough."""
    log, jobs = facts.log, facts.scenario.workload
    row, workers, servers = log.piece_row, log.piece_workers, log.piece_servers
    if facts.scenario.speed.kind != "parameter-server":
        due = jobs.servers_for(row, workers)
        findings.flag(
            servers != due,
            log.piece_start_s,
            lambda p: f"{facts.piece(p)} has {servers[p]} parameter servers beside {workers[p]} workers, not {due[p]}",
        )
        return
    served = np.full(len(row), np.inf)
    if jobs.workers_per_server is not None:
        ratio = jobs.workers_per_server[row]
        served = np.where(np.isnan(ratio), np.inf, ratio * servers)
    findings.flag(
        (servers < 1) | (workers > served + SAME_NUMBER),
        log.piece_start_s,
        lambda p: f"{facts.piece(p)} has {servers[p]} parameter servers, too few for {workers[p]} workers",
    )


def check_limits(facts: Facts, findings: Findings) -> None:
    """No piece holds more than its user's limit, or blocks more beside what it holds."""
    log, jobs = facts.log, facts.scenario.workload
    if all(getattr(jobs, f"limit_{resource}") is None for resource in RESOURCES):
        return
    limit = jobs.limit[log.piece_row]
    held = np.add.reduceat(facts.held(), log.share_first[:-1], axis=0)
    for r, resource in enumerate(RESOURCES):
        blocked = log.piece_blocked[:, r]
        above = (blocked > 0) & (held[:, r] + blocked > limit[:, r] + SAME_NUMBER * np.maximum(1.0, limit[:, r]))
        findings.flag(above, log.piece_start_s, _blocks(facts, blocked, resource))
    for r, resource in enumerate(RESOURCES):
        over = held[:, r] > limit[:, r] * (1 + SAME_NUMBER)
        findings.flag(over, log.piece_start_s, _over(facts, held[:, r], limit[:, r], resource))


def _over(facts: Facts, held: np.ndarray, limit: np.ndarray, resource: str) -> Say:
    return lambda p: f"{facts.piece(p)} holds {held[p]:.10g} {resource}, but its user's limit is {limit[p]:.10g}"


def _blocks(facts: Facts, blocked: np.ndarray, resource: str) -> Say:
    return lambda p: f"{facts.piece(p)} blocks {blocked[p]:.10g} {resource} beyond its use, above its user's limit"


def check_blocked(facts: Facts, findings: Findings) -> None:
    """What jobs hold and block together is never more than the whole pool has."""
    log, cluster = facts.log, facts.scenario.cluster
    if not log.piece_blocked.any():
        return
    if facts.scenario.options.placement != "pool" or cluster.free_slots:
        findings.add(log.start_s, "jobs block resources beyond their use, though the cluster is not one pool")
        return
    amount = log.piece_blocked + np.add.reduceat(facts.held(), log.share_first[:-1], axis=0)
    time_s = np.concatenate([log.piece_start_s, log.piece_end_s])
    order = np.argsort(time_s, kind="stable")
    level = np.cumsum(np.concatenate([amount, -amount])[order], axis=0)
    at_s = time_s[order]
    lasting = np.append(np.diff(at_s) > slack_s(at_s[1:]), False)
    total = cluster.nodes.capacity.sum(axis=0)
    for r, resource in enumerate(RESOURCES):
        if np.isfinite(total[r]):
            over = lasting & (level[:, r] > total[r] + SAME_NUMBER * max(1.0, total[r]))
            findings.flag(over, at_s, _overfull(level[:, r], total[r], resource))


def _overfull(level: np.ndarray, total: float, resource: str) -> Say:
    return lambda e: f"jobs hold and block {level[e]:.10g} {resource}, but the whole cluster has {total:.10g}"
