"""``import``: read a trace, print its import report, and keep it as a scenario unless only checked."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path
from typing import NamedTuple

from dlsched.cli.output import print_json, print_table, printable
from dlsched.cli.reading import options_typed
from dlsched.cli.whole_nodes import on_asked_nodes
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import GPU
from dlsched.wording.formats import amount, share
from dlsched.wording.resources import name_of, requested_words, scarcest
from dlsched.workload.catalogue import file_of
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.cluster_from_log.found import FOUND_COLUMNS
from dlsched.workload.import_report import Report, fit_of, requested_totals
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import ReadOptions, detect, read_trace
from dlsched.workload.readers.detection import choose
from dlsched.workload.readers.formats import NotJobs
from dlsched.workload.readers.gpuaas import (
    is_instance_folder,
    is_instance_zip,
    read_instance_folder,
    read_instance_zip,
)
from dlsched.workload.readers.registry import find_format
from dlsched.workload.readers.slurm_settings.found import SlurmFound, settings_of, with_slurm
from dlsched.workload.readers.source import open_trace

INSTANCE, INSTANCE_LABEL = "gpuaas", "an instance of GPU as a service"


class _Imported(NamedTuple):
    scenario: Scenario
    report: Report
    format_key: str
    cluster: ClusterFound | None = None
    slurm: SlurmFound | None = None


def run(options: Namespace) -> int:
    """Carry out the command."""
    path = file_of(options.file)
    try:
        scenario, report, format_key, found, slurm = _read(path, options.file, options_typed(options))
    except InputError as refusal:
        if options.json and (named_as := _named_as(refusal, path)):
            print_json({"error": str(refusal), "named_as": named_as})
        raise
    scenario = on_asked_nodes(scenario, options)
    fit = fit_of(scenario.workload, scenario.cluster)
    answer = {
        "format": format_key,
        "named_as": INSTANCE_LABEL if format_key == INSTANCE else find_format(format_key).label,
        "time_zone": scenario.workload.meta.get("time_zone"),
        **requested_totals(scenario.workload),
        "report": report.as_dict(),
        "assumptions": [one.words for one in scenario.assumptions],
        "cluster": scenario.cluster.model_dump(mode="json"),
        "cluster_found": None if found is None else found.plain(),
        "slurm": None if slurm is None else slurm.plain(),
        "load": fit.load,
        "never_fit": fit.never_fit,
        "not_modelled": [str(finding) for finding in fit.not_modelled],
        "scenario_hash": scenario.content_hash,
    }
    if not options.check:
        from dlsched.cli.store import open_store

        with open_store(options.store) as store:
            answer["version"] = store.save_scenario(scenario).version
    if options.json:
        print_json(answer)
        return 0
    print(f"{printable(path.name)}, format {format_key}. {report}")
    for finding in report.findings:
        print(f"  {printable(finding)}")
    for note in (*report.notes, *(one.words for one in scenario.assumptions)):
        print(f"  {printable(note)}")
    print(f"{requested_words(scenario.workload)}.")
    if found is not None and found.cluster == scenario.cluster:
        print_table(FOUND_COLUMNS, found.cells())
    load = "unknown" if math.isnan(fit.load) else share(fit.load)
    if (scarce := scarcest(scenario)) is not None:
        of = name_of(scenario, scarce[0])
        load += f" of {of}" if scenario.counted != GPU else f" of the GPUs, {share(scarce[1])} of {of}"
    print(
        f"Load on {amount(scenario.cluster.num_nodes, 'node')}: {load}. Jobs that are too large for it: "
        f"{len(fit.never_fit):,}."
    )
    for finding in fit.not_modelled:
        print(f"  {printable(finding)}")
    if not options.check:
        print(f"saved as scenario {scenario.content_hash[:8]}")
    return 0


def _named_as(refusal: InputError, path: Path) -> str:
    """Return the name of the kind of file that was refused; "" where it is not known."""
    if isinstance(refusal, NotJobs):
        return refusal.named_as
    try:
        text = open_trace(path)
        found = choose(detect(text.data, text.name), text.name)
    except InputError:
        return ""
    return "" if found.fallback else found.label


def _read(path: Path, typed: str, options: ReadOptions) -> _Imported:
    """Return what a trace, or an instance of GPU as a service, holds."""
    if path.is_dir() and is_instance_folder(path):
        read = read_instance_folder(path)
    elif path.is_file() and is_instance_zip(path):
        read = read_instance_zip(path, path.name)
    elif path.is_file():
        trace = read_trace(path, options=options)
        return _Imported(scenario_of(trace, path.stem), trace.report, trace.format_key, trace.cluster, trace.slurm)
    else:
        raise InputError(f"file {typed}", "there is no such file", "Check the path")
    settings = settings_of(options.slurm, None)
    scenario = read.scenario if settings is None else with_slurm(read.scenario, settings)
    return _Imported(scenario, read.report, INSTANCE, slurm=settings)
