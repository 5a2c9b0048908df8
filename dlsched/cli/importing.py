"""``import``: read a trace, print the doctor's report, and keep it as a scenario unless only checked."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path

from dlsched.cli.output import print_json, printable
from dlsched.domain.errors import InputError
from dlsched.metrics.formats import amount, share
from dlsched.workload.doctor import fit_of
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import read_trace


def run(options: Namespace) -> int:
    """Carry out the command."""
    path = Path(options.file).expanduser()
    if not path.is_file():
        raise InputError(f"file {options.file}", "there is no such file", "Check the path")
    trace = read_trace(path)
    scenario = scenario_of(trace, path.stem)
    fit = fit_of(trace.workload, scenario.cluster)
    answer = {
        "format": trace.format_key,
        "report": trace.report.as_dict(),
        "assumptions": scenario.assumptions,
        "cluster": scenario.cluster.model_dump(mode="json"),
        "load": fit.load,
        "never_fit": fit.never_fit,
        "not_modelled": [str(finding) for finding in fit.not_modelled],
        "scenario_hash": scenario.content_hash,
    }
    if not options.check:
        from dlsched.store import Store

        with Store(options.store) as store:
            answer["version"] = store.save_scenario(scenario).version
    if options.json:
        print_json(answer)
        return 0
    print(f"{printable(path.name)}, format {trace.format_key}. {trace.report}")
    for finding in trace.report.findings:
        print(f"  {printable(finding)}")
    for note in (*trace.report.notes, *scenario.assumptions):
        print(f"  {printable(note)}")
    load = "unknown" if math.isnan(fit.load) else share(fit.load)
    print(
        f"Load on {amount(scenario.cluster.num_nodes, 'node')}: {load}. Jobs that can never fit: {len(fit.never_fit)}."
    )
    for finding in fit.not_modelled:
        print(f"  {printable(finding)}")
    if not options.check:
        print(f"kept as scenario {scenario.content_hash[:8]}")
    return 0
