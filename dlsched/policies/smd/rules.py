"""What SMD is compared with: equal numbers of workers and servers (ESW), and Optimus' one more at a time."""

from __future__ import annotations

import numpy as np

from dlsched.policies.smd.problem import Choice, Split


def equal(problem: Split) -> Choice:
    """Return as many workers as servers, as many as the limit allows (ESW).

    The paper says that the ratio is 1:1, not how many; and that the policies SMD is compared with use as much of what
    the user specified as possible. So the largest equal numbers are taken, also where fewer would be faster.
    """
    counts = np.arange(1.0, problem.servers_most + 1)
    count = int((problem.workers_beside(counts) >= counts).sum())
    return Choice(count, count, problem.time_of(count, count))


def optimus(problem: Split) -> Choice:
    """Return where one more worker or server at a time leads from one of each, the larger gain in time first (Optimus).

    The paper compares gains in utility, which vanish in floating point where a job is late; time orders them alike.
    Equal gains: the worker. Ends where neither gains or fits. A later pair of steps might have helped: no optimum.
    """
    workers = servers = 1
    time = problem.varying_time(1.0, 1.0)
    most_servers, most_workers = problem.servers_most, problem.workers_beside(np.arange(1.0, problem.servers_most + 2))
    limits = most_workers.tolist()
    while True:
        ways = []
        if workers + 1 <= limits[servers - 1]:
            ways.append((problem.varying_time(float(workers + 1), float(servers)), workers + 1, servers))
        if servers + 1 <= most_servers and workers <= limits[servers]:
            ways.append((problem.varying_time(float(workers), float(servers + 1)), workers, servers + 1))
        best = min(ways, key=lambda way: way[0], default=None)  # the first of equal ones, the worker
        if best is None or best[0] >= time:
            return Choice(workers, servers, problem.time_of(workers, servers))
        time, workers, servers = best
