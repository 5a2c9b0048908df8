"""Pages of the section Describe: workload, cluster, catalogue."""
