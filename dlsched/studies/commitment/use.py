"""How many nodes are in use over time where all of them are rented: the hours at or above each number of nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats
from dlsched.sim.log import RunLog
from dlsched.studies.design import VariantTask
from dlsched.studies.simulation import Progress


class Use(FrozenModel):
    """Nodes with jobs in one future: ``hours[k]`` of the run at least k + 1 of them.

    ``period_h``: from the first submission to the last; it stands for the part of a year that was looked at.
    """

    seed: int
    period_h: float
    hours: tuple[float, ...]


def use_of(task: VariantTask, progress: Progress | None = None) -> Use:
    """Run a task and return how many of the nodes it rents are in use.

    Raises
    ------
    DlschedError
        What ends the run, or jobs that all arrive at once.
    """
    run = task.run(progress)
    scenario = run.prepared.scenario
    submit_s, cluster = scenario.workload.submit_s, scenario.cluster
    period_h = float(submit_s[-1] - submit_s[0]) / HOUR_S if len(submit_s) else 0.0
    if period_h <= 0:
        why = f"all jobs of future {task.seed} arrive at once, so there is no use by the hour to scale to a year"
        raise InputError("commitment, workload", why, "Take a trace in which jobs arrive over time")
    rented = np.isin(
        np.arange(cluster.num_nodes), [node for at in cluster.rented_pools for node in cluster.nodes_of(at)]
    )
    return Use(seed=task.seed, period_h=period_h, hours=tuple(hours_at_least(run.log, rented).tolist()))


def hours_at_least(log: RunLog, counted: NDArray[np.bool_]) -> Floats:
    """Return for how many hours at least 1, 2, ... of the nodes ``counted`` (bool by node) hold a job, to the most."""
    piece = np.repeat(np.arange(len(log.share_first) - 1), np.diff(log.share_first))
    kept = counted[log.share_node]
    node, piece = log.share_node[kept], piece[kept]
    at_s = np.concatenate([log.piece_start_s[piece], log.piece_end_s[piece]])
    sign = np.repeat([1, -1], len(node))
    by_node = np.lexsort((-sign, at_s, np.tile(node, 2)))  # a start before an end of the same time: no gap
    held = np.cumsum(sign[by_node])
    sign = sign[by_node]
    begins, ends = (sign == 1) & (held == 1), (sign == -1) & (held == 0)
    change_s = np.concatenate([at_s[by_node][begins], at_s[by_node][ends]])
    change = np.repeat([1, -1], [begins.sum(), ends.sum()])
    in_time = np.lexsort((change, change_s))
    nodes, lasts_s = np.cumsum(change[in_time])[:-1], np.diff(change_s[in_time])
    at_level_h = np.bincount(nodes, lasts_s, minlength=1)[1:] / HOUR_S
    at_least_h = np.cumsum(at_level_h[::-1])[::-1]
    return np.asarray(at_least_h[at_least_h > 0])
