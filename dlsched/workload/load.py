"""One call for every input: a scenario file, or a trace in any known format with the default cluster."""

from __future__ import annotations

from pathlib import Path

from dlsched.domain.assumptions import stated
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
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

SCENARIO_SUFFIXES = (".toml", ".json")


def load(path: str | Path, options: ReadOptions | None = None) -> Scenario:
    """Return the scenario of a file.

    A ``.toml`` file, or a ``.json`` file with an object that no trace format recognises, is a scenario file; a folder,
    or a zip of one, with the tables of a GPU-as-a-service instance is that; anything else is a trace in a format
    detected by content, on the cluster that it or a description tells of, else on the default cluster (fewest 8-GPU
    nodes for the largest job at load 0.7). ``options`` say how a trace is read.

    Raises
    ------
    InputError
        No such file, another folder, content that cannot be read, or options for a file that is no trace.
    """
    file = Path(path).expanduser()
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
    if options is not None and options != ReadOptions():
        why = "reading choices are for traces; this is an instance" if is_instance else "it is a scenario, not a trace"
        raise InputError(f"file {file.name}", why, "Leave the reading choices out")
    if is_folder:
        return read_instance_folder(file).scenario
    if is_instance:
        return read_instance_zip(file, file.name).scenario
    from dlsched.workload.scenario_file import read_scenario

    return read_scenario(file)


def scenario_of(trace: TraceRead, name: str) -> Scenario:
    """Return a read trace on the cluster it tells of, else on the default one; the assumptions say which."""
    if trace.cluster is None:
        cluster = default_cluster(trace.workload)
        about = describe_default(cluster)
    else:
        cluster, about = trace.cluster.cluster, trace.cluster.assumption
    return Scenario(
        workload=trace.workload,
        cluster=cluster,
        name=name or "trace",
        data_kind="trace",
        read=trace.report.counts,
        assumptions=stated(*trace.assumptions, about),
    )


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
