"""The nouns of the model: workload, cluster, scenario, plan, state, policy. Frozen, validated, no I/O."""
