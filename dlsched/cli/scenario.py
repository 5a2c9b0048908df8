"""``scenario``: write what was read as a scenario file."""

from __future__ import annotations

from argparse import Namespace

from dlsched.cli.output import printable
from dlsched.metrics.formats import amount
from dlsched.workload.load import load
from dlsched.workload.scenario_file import write_scenario


def run(options: Namespace) -> int:
    """Carry out the command."""
    scenario = load(options.file)
    write_scenario(scenario, options.write)
    jobs, nodes = amount(len(scenario.workload), "job"), amount(scenario.cluster.num_nodes, "node")
    print(f"{jobs} on {nodes} written to {printable(options.write)}")
    return 0
