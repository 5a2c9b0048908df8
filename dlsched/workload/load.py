"""One call for every input: a scenario file, or a trace in any known format with the default cluster."""

from __future__ import annotations

from pathlib import Path

from dlsched.domain.assumptions import stated
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.workload.defaults import default_cluster, describe_default
from dlsched.workload.readers import TraceRead, read_trace
from dlsched.workload.readers.gpuaas import (
    is_instance_folder,
    is_instance_zip,
    read_instance_folder,
    read_instance_zip,
)

SCENARIO_SUFFIXES = (".toml", ".json")


def load(path: str | Path) -> Scenario:
    """Return the scenario of a file.

    A ``.toml`` file, or a ``.json`` file that holds an object, is a scenario file; a folder, or a zip of one, with the
    tables of a GPU-as-a-service instance is that; anything else is a trace in a format detected by content, on the
    default cluster (fewest 8-GPU nodes for the largest job at load 0.7).

    Raises
    ------
    InputError
        No such file, another folder, or content that cannot be read.
    """
    file = Path(path).expanduser()
    try:
        exists, is_folder = file.exists(), file.is_dir()
    except (OSError, ValueError):
        exists, is_folder = False, False
    if not exists:
        raise InputError(f"file {str(path)[:200]}", "there is no such file", "Check the path")
    if is_folder:
        if is_instance_folder(file):
            return read_instance_folder(file).scenario
        raise InputError(f"folder {file}", "a folder is not a trace", "Give the trace or scenario file inside it")
    if file.suffix.lower() in SCENARIO_SUFFIXES and not _is_json_array(file):
        from dlsched.workload.scenario_file import read_scenario

        return read_scenario(file)
    if file.suffix.lower() == ".zip" and is_instance_zip(file):
        return read_instance_zip(file, file.name).scenario
    return scenario_of(read_trace(file), file.stem)


def scenario_of(trace: TraceRead, name: str) -> Scenario:
    """Return a read trace on its default cluster; the cluster is named among the assumptions."""
    cluster = default_cluster(trace.workload)
    return Scenario(
        workload=trace.workload,
        cluster=cluster,
        name=name or "trace",
        data_kind="trace",
        read=trace.report.counts,
        assumptions=stated(*trace.assumptions, describe_default(cluster)),
    )


def _is_json_array(file: Path) -> bool:
    """Return whether the file begins like a Philly log."""
    try:
        with file.open("rb") as stream:
            return (
                stream.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
                and file.suffix.lower() == ".json"
            )
    except OSError as error:
        raise InputError(f"file {file}", f"it cannot be opened: {error.strerror}", "Check its permissions") from None
