"""``scenario``: write what was read or drawn as a scenario file, or print the schema of such files."""

from __future__ import annotations

from argparse import Namespace

from dlsched.cli.output import printable
from dlsched.cli.reading import loaded
from dlsched.cli.simulate import parse_params
from dlsched.cli.whole_nodes import on_asked_nodes
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.wording.formats import amount
from dlsched.workload.scenario_file import write_scenario
from dlsched.workload.scenario_schema import schema_text
from dlsched.workload.studies.registry import drawn_scenario


def run(options: Namespace) -> int:
    """Carry out the command."""
    if options.schema:
        if options.file or options.generate or options.write:
            raise InputError("--schema", "prints the schema of all scenario files", "Leave everything else out")
        print(schema_text(), end="")
        return 0
    if not options.write:
        raise InputError("scenario", "needs --write OUT, the file to write", "Name a .json or .toml file")
    scenario = on_asked_nodes(_made(options), options)
    write_scenario(scenario, options.write)
    jobs, nodes = amount(len(scenario.workload), "job"), amount(scenario.cluster.num_nodes, "node")
    print(f"{jobs} on {nodes} written to {printable(options.write)}")
    return 0


def _made(options: Namespace) -> Scenario:
    if (options.file is None) == (options.generate is None):
        raise InputError("scenario", "needs either FILE or --generate KIND", "Give one of them")
    if options.generate is None:
        if options.param:
            raise InputError("--param", "is only for --generate", "Leave it out")
        return loaded(options)
    return drawn_scenario({"kind": options.generate, **parse_params(options.param)}, options.seed)
