"""The exact optimum of the inner problem: the best workers beside every possible number of servers."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.policies.smd.problem import Choice, Split

SAME = 1e-12
"""Times that differ by less than this share, the fixed part left out, count as equal."""


def exact(problem: Split) -> Choice:
    """Return the workers and servers with the least time; among equal ones fewer workers, then fewer servers.

    Beside p servers, sync time is convex in the workers with its least value at sqrt(theta5 / (theta1 + theta4/p)), so
    one of the two whole numbers around it is best; async time falls with every worker, so the most that fit are best.
    Effort grows with the possible numbers of servers.
    """
    servers = np.arange(1.0, problem.servers_most + 1)
    most = problem.workers_beside(servers).astype(float)
    if problem.mode == "sync":
        centre = _sync_centre(problem, servers)
        workers = np.concatenate((np.floor(centre), np.ceil(centre)))
        servers, most = np.tile(servers, 2), np.tile(most, 2)
    else:
        _, ratio, per_worker, _ = problem.theta
        workers = most if ratio or per_worker else np.ones_like(servers)  # else no worker changes the time
    workers = np.clip(workers, 1.0, most)
    times = problem.varying_time(workers, servers)
    ties = np.flatnonzero(times <= times.min() * (1 + SAME))
    best = ties[np.lexsort((servers[ties], workers[ties]))[0]]
    found = int(workers[best]), int(servers[best])
    return Choice(*found, problem.time_of(*found))


def _sync_centre(problem: Split, servers: Floats) -> Floats:
    """Return the real number of workers that is best beside each number of servers, were there no limit."""
    per_worker, _, _, ratio, shared = problem.theta
    if shared == 0:  # more workers never help, also where they do no harm
        return np.ones_like(servers)
    slope = per_worker + ratio / servers
    return np.sqrt(np.divide(shared, slope, out=np.full_like(slope, np.inf), where=slope > 0))
