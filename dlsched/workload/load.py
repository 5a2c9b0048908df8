"""One call for every input: a scenario file, or a trace in any known format with the default cluster."""

from __future__ import annotations

from pathlib import Path

from dlsched.domain.assumptions import stated
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.workload.catalogue import file_of
from dlsched.workload.defaults import default_cluster, describe_default
from dlsched.workload.readers import ReadOptions, TraceRead, detect, read_trace
from dlsched.workload.readers.formats import HEAD_BYTES
from dlsched.workload.readers.gpuaas import (
    is_instance_folder,
    is_instance_zip,
    read_instance_folder,
    read_instance_zip,
)
from dlsched.workload.readers.not_jobs import SCENARIO
from dlsched.workload.readers.registry import find_format
from dlsched.workload.readers.slurm_settings.found import settings_of, with_slurm
from dlsched.workload.readers.source import guarded

SCENARIO_SUFFIXES = (".toml", ".json")


@guarded
def load(path: str | Path, options: ReadOptions | None = None) -> Scenario:
    """Return the scenario of a file; ``sample:campus`` is one of the bundled samples.

    A ``.toml`` file, or a ``.json`` file with an object that no trace format recognises, is a scenario file; a folder,
    or a zip of one, with the tables of a GPU-as-a-service instance is that; anything else is a trace in a format
    detected by content, on the cluster that it or a description tells of, else on the default cluster (fewest 8-GPU
    nodes for the largest job at load 0.7). ``options`` say how a trace is read; its settings of Slurm are taken for
    every kind of file.

    Raises
    ------
    InputError
        No such file, another folder, content that cannot be read, or options for a file that is no trace.
    """
    file = file_of(path)
    try:
        exists, is_folder = file.exists(), file.is_dir()
    except (OSError, ValueError):
        exists, is_folder = False, False
    if not exists:
        raise InputError(f"file {str(path)[:200]}", "there is no such file", "Check the path")
    if is_folder and not is_instance_folder(file):
        raise InputError(f"folder {file}", "a folder is not a trace", "Give the trace or scenario file inside it")
    is_instance = is_folder or (file.suffix.lower() == ".zip" and is_instance_zip(file))
    if not is_instance and not _is_scenario(file):
        return scenario_of(read_trace(file, options=options), file.stem)
    slurm = None if options is None else settings_of(options.slurm, None)
    # Which jobs of a queue are kept is asked for whatever the file is; a scenario has none to leave out.
    usual = ReadOptions()
    of_any_file = {"slurm": (), "pending": usual.pending, "never_started": usual.never_started}
    if options is not None and options.model_copy(update=of_any_file) != ReadOptions():
        why = "reading choices are for traces; this is an instance" if is_instance else "it is a scenario, not a trace"
        raise InputError(f"file {file.name}", why, "Leave the reading choices out")
    from dlsched.workload.scenario_file import read_scenario

    if is_instance:
        read = read_instance_folder(file) if is_folder else read_instance_zip(file, file.name)
        made = read.scenario
    else:
        made = read_scenario(file)
    return made if slurm is None else with_slurm(made, slurm)


def scenario_of(trace: TraceRead, name: str) -> Scenario:
    """Return a read trace on the cluster it tells of, else on the default one; the assumptions say which."""
    if trace.cluster is None:
        cluster = default_cluster(trace.workload)
        about = describe_default(cluster)
    else:
        cluster, about = trace.cluster.cluster, trace.cluster.assumption
    notes = [] if trace.queues is None else [f"Queues: {note}" for note in trace.queues.notes]
    made = Scenario(
        workload=trace.workload,
        cluster=cluster,
        name=name or "trace",
        data_kind="trace",
        read=trace.report.counts,
        queues=None if trace.queues is None else trace.queues.tree,
        assumptions=stated(*trace.assumptions, about, *notes),
    )
    return made if trace.slurm is None else with_slurm(made, trace.slurm)


def _is_scenario(file: Path) -> bool:
    """Return whether a file is TOML, or JSON with an object that is no trace."""
    suffix = file.suffix.lower()
    if suffix not in SCENARIO_SUFFIXES or suffix == ".toml":
        return suffix == ".toml"
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise InputError(f"file {file}", f"it cannot be opened: {error.strerror}", "Check its permissions") from None
    if head.lstrip().startswith(b"["):
        return False
    found = detect(head, file.name)
    return not found or found[0].format_key == SCENARIO.key or find_format(found[0].format_key).fallback
