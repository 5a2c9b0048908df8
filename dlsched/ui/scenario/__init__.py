"""Pages that describe a scenario: jobs, cluster, prices."""
