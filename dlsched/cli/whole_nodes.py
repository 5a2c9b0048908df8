"""The option ``--whole-nodes``: the jobs of a scenario on whole nodes of 8 GPUs, as elastic training has them."""

from __future__ import annotations

from argparse import Namespace

from dlsched.domain.scenario import Scenario


def on_asked_nodes(scenario: Scenario, options: Namespace) -> Scenario:
    """Return the scenario, its jobs on whole nodes where that was typed; 0 nodes keep the cluster if it has such."""
    if options.whole_nodes is None:
        return scenario
    from dlsched.workload.studies.modelarts import on_whole_nodes

    return on_whole_nodes(scenario, options.whole_nodes or None)
