"""The cluster that a log or a description of nodes tells of, and where each part of it comes from."""

from dlsched.workload.cluster_from_log.found import ClusterFound
from dlsched.workload.cluster_from_log.infer import Held, cluster_of_log, held_by, most_at_once

__all__ = ["ClusterFound", "Held", "cluster_of_log", "held_by", "most_at_once"]
