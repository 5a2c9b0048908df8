"""``import``: read a trace, print its import report, and keep it as a scenario unless only checked."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path

from dlsched.cli.output import print_json, printable
from dlsched.cli.whole_nodes import on_asked_nodes
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.wording.formats import amount, share
from dlsched.workload.import_report import Report, fit_of
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import read_trace
from dlsched.workload.readers.gpuaas import (
    is_instance_folder,
    is_instance_zip,
    read_instance_folder,
    read_instance_zip,
)


def run(options: Namespace) -> int:
    """Carry out the command."""
    path = Path(options.file).expanduser()
    scenario, report, format_key = _read(path, options.file)
    scenario = on_asked_nodes(scenario, options)
    fit = fit_of(scenario.workload, scenario.cluster)
    answer = {
        "format": format_key,
        "report": report.as_dict(),
        "assumptions": [one.words for one in scenario.assumptions],
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
    print(f"{printable(path.name)}, format {format_key}. {report}")
    for finding in report.findings:
        print(f"  {printable(finding)}")
    for note in (*report.notes, *(one.words for one in scenario.assumptions)):
        print(f"  {printable(note)}")
    load = "unknown" if math.isnan(fit.load) else share(fit.load)
    print(
        f"Load on {amount(scenario.cluster.num_nodes, 'node')}: {load}. Jobs that are too large for it: "
        f"{len(fit.never_fit):,}."
    )
    for finding in fit.not_modelled:
        print(f"  {printable(finding)}")
    if not options.check:
        print(f"saved as scenario {scenario.content_hash[:8]}")
    return 0


def _read(path: Path, typed: str) -> tuple[Scenario, Report, str]:
    """Return scenario, report and format of a trace, or of an instance of GPU as a service."""
    if path.is_dir() and is_instance_folder(path):
        read = read_instance_folder(path)
    elif path.is_file() and is_instance_zip(path):
        read = read_instance_zip(path, path.name)
    elif path.is_file():
        trace = read_trace(path)
        return scenario_of(trace, path.stem), trace.report, trace.format_key
    else:
        raise InputError(f"file {typed}", "there is no such file", "Check the path")
    return read.scenario, read.report, "gpuaas"
