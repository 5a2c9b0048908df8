"""Mutated files of every kind that is read: each is read, or ends in one message of a reader, within time and memory.

``python -m benchmarks.mutated [FILES [SEED]]`` prints what does not, with the number that makes the file again.
"""

from __future__ import annotations

import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, Line
from dlsched.domain.errors import DlschedError, Unforeseen
from dlsched.store import Store
from dlsched.workload.described_job import EXAMPLE, read_layers
from dlsched.workload.import_report import fit_of
from dlsched.workload.load import scenario_of
from dlsched.workload.prices.price_file import read_prices
from dlsched.workload.profiles.profiling import read_profiling
from dlsched.workload.profiles.throughput_file import read_measurements
from dlsched.workload.readers import ReadOptions, load_mapping, read_cluster, read_queues, read_trace
from dlsched.workload.readers.gpuaas import is_instance_zip, read_instance_zip
from dlsched.workload.readers.slurm_settings.found import read_slurm
from dlsched.workload.scenario_file import read_scenario, scenario_bytes
from tests.support import slurm_files
from tests.support.mutations import battered
from tests.support.runs_for_store import record, small_scenario
from tests.unit.workload.readers import test_all_formats as formats
from tests.unit.workload.readers import test_descriptions as descriptions
from tests.unit.workload.readers import test_gpuaas_instance as instances
from tests.unit.workload.readers import test_research_traces as research
from tests.unit.workload.readers.kubernetes import test_objects as kubernetes

FILES, SEED = 10_000, 1
MOST_BYTES = 60_000
"""Of a source; longer ones are cut at a line end, as mutations of rows far down find nothing new."""
MOST_CPU_S = 10
MOST_MEMORY = 1 << 30
"""Bytes of address space above what the campaign itself has: far more than any of these small files needs."""
MAPPING = {"fields": {"submit": {"column": "submit_time_s"}, "run": {"column": "duration_s", "unit": "s"},
                      "gpus": {"column": "num_gpus", "confidence": 0.9}, "job_id": {"column": "job_id"}}}  # fmt: skip
TABLE = b"job_id,submit_time_s,num_gpus,duration_s\na,0,1,60\nb,5,2,70\n"


@dataclass(frozen=True)
class Source:
    """A file, how it is read, the way the app and the commands do, and what it is packed into after a mutation."""

    name: str
    content: bytes
    read: Callable[[bytes, str], object]
    packed: Callable[[bytes], bytes] = bytes


class Overdue(BaseException):
    """More CPU time than a small file may take; no reader can mistake it for an error of its own."""


# ---- how each kind is read ---------------------------------------------------------------------------


def _trace(content: bytes, name: str) -> object:
    if is_instance_zip(content):
        return read_instance_zip(content, name).scenario.content_hash
    options = ReadOptions(gpus_counted="per-worker", processors="cpus", **formats.GIVEN)
    trace = read_trace(content, name, options)
    scenario = scenario_of(trace, name)
    fit_of(scenario.workload, scenario.cluster)
    return scenario.content_hash, json.dumps(trace.report.as_dict()).encode(), trace.report.findings


def _scenario(content: bytes, name: str) -> object:
    scenario = read_scenario(content)
    return scenario.content_hash, scenario_bytes(scenario), scenario.cluster.nodes


def _mapped(content: bytes, name: str) -> object:
    return read_trace(TABLE, name, ReadOptions(mapping=load_mapping(content)))


def _throughputs(content: bytes, name: str) -> object:
    options = ReadOptions(throughputs=content)
    return read_trace(formats.CONTENT["gavel"], name, options).workload.content_hash


def _export(content: bytes, name: str) -> object:
    return _store().import_runs(content)


@cache
def _store() -> Store:
    folder = Path(tempfile.mkdtemp(prefix="dlsched-mutated-"))
    return Store(folder / "store.duckdb")


# ---- the files ---------------------------------------------------------------------------------------


def _cut(content: bytes) -> bytes:
    is_text = b"\0" not in content[:4096] and content[:2] != b"\x1f\x8b"
    return content if len(content) <= MOST_BYTES or not is_text else content[: content.rfind(b"\n", 0, MOST_BYTES) + 1]


def sources() -> list[Source]:
    """Return the files that are mutated: those of tests and of the program, and the public ones where they are."""
    settings = lambda content, name: read_slurm([(content, name)])  # noqa: E731
    queues = lambda content, name: read_queues([content])  # noqa: E731
    found = [Source(key, content, _trace) for key, content in formats.SAMPLES.items()]
    found += [Source(path.name, _cut(path.read_bytes()), _trace) for path in sorted((ROOT / "data/samples").iterdir())]
    found += [Source(path.name, path.read_bytes(), _scenario) for path in sorted((ROOT / "data").glob("*.toml"))]
    made = read_scenario(ROOT / "data" / "quotas.toml")
    found += [Source(f"quotas.{kind}", scenario_bytes(made, kind), _scenario) for kind in ("json", "toml")]
    found += [Source(f"{jobs}.json", scenario_bytes(small_scenario(jobs)), _scenario) for jobs in (3, 40)]
    found += [Source(f"slurm {key}", text.encode(), settings) for key, text in slurm_files.FILES.items()]
    for key in ("SCONTROL", "CONF", "SINFO", "PBS"):
        found.append(Source(f"cluster {key}", getattr(descriptions, key).encode(), read_cluster))
    found.append(Source("queues", kubernetes.QUEUES.encode(), queues))
    found += [Source(f"instance {n}.zip", _instance(), _trace) for n in range(4)]
    found.append(Source("mapping.json", json.dumps(MAPPING).encode(), _mapped))
    found.append(Source("throughputs.json", json.dumps(research.RATES).encode(), _throughputs))
    found += [Source(path.name, path.read_bytes(), read_prices) for path in sorted((ROOT / "data").glob("vm_*.csv"))]
    found.append(Source("layers.csv", EXAMPLE.to_csv(index=False).encode(), read_layers))
    curve = b"name,workers,batch_size,throughput\n" + b"".join(b"a,%d,32,%d.5\n" % (n, n) for n in range(1, 9))
    found.append(Source("curve.csv", curve, read_measurements))
    stations = b"worker_s,uplink_s,server_s,downlink_s\n0.1,0.02,0.03,0.02\n0.2,0.03,0.01,0.02\n"
    found.append(Source("stations.csv", stations, read_measurements))
    rows = b"".join(b"net,K80,%d,32,1000,%d\n" % (n, 4000 // n) for n in range(1, 9))
    found.append(Source("profile.csv", b"network,gpu_type,gpus,batch_size,iterations,seconds\n" + rows, read_profiling))
    for name, text in instances.GOOD.items():
        rest = {other: content.encode() for other, content in instances.GOOD.items() if other != name}
        found.append(Source(name, text.encode(), _trace, partial(_zipped, rest, name)))
    return [*found, *_exports(), *_public()]


def _instance() -> bytes:
    (name, content), *others = ((name, text.encode()) for name, text in instances.GOOD.items())
    return _zipped(dict(others), name, content)


def _zipped(others: Mapping[str, bytes], name: str, content: bytes) -> bytes:
    """Return a zip of these files and one more."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, data in {**others, name: content}.items():
            archive.writestr(each, data)
    return buffer.getvalue()


def _exports() -> Iterator[Source]:
    """Yield an export of two runs, its manifest, and each of its tables, which get the right hash once mutated."""
    store = _store()
    exported = store.export_runs([store.save_run(record(small_scenario())), store.save_run(record(seed=1))])
    yield Source("export.zip", exported, _export)
    with zipfile.ZipFile(io.BytesIO(exported)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, part in parts.items():
        rest = {other: content for other, content in parts.items() if other != name}
        if name == "manifest.json":
            yield from [Source(f"export, {name}", part, _export, partial(_zipped, rest, name))] * 8
        elif name.split("/")[1] == min(other.split("/")[1] for other in parts if other.startswith("runs/")):
            yield Source(f"export, {name}", part, _export, partial(_with_hash, rest, name))


def _with_hash(others: Mapping[str, bytes], name: str, content: bytes) -> bytes:
    manifest = json.loads(others["manifest.json"])
    manifest["files"][name]["sha256"] = sha256(content).hexdigest()
    return _zipped({**others, "manifest.json": json.dumps(manifest).encode()}, name, content)


def _public() -> Iterator[Source]:
    folder = ROOT.parent / "shared" / "data"
    for place in (folder / "real", folder / "pollux", folder / "openb", folder / "queues" / "samples"):
        for path in sorted(place.rglob("*")) if place.is_dir() else ():
            if path.is_file() and path.suffix not in (".md", ".png"):
                nodes = "node" in path.name and path.suffix in (".txt", ".csv")
                yield Source(path.name, _cut(path.read_bytes()), read_cluster if nodes else _trace)


# ---- the campaign ------------------------------------------------------------------------------------


def problems(numbers: range, seed: int = SEED) -> Iterator[str]:
    """Yield what is wrong with the reading of mutated files, each with its number and what makes it again."""
    given = sources()
    contents = [source.content for source in given]
    for number in numbers:
        source, content = mutated_file(given, contents, number, seed)
        with _limits():
            wrong = problem_of(source, content)
        if wrong:
            yield f"file {number} of seed {seed}, {source.name} ({len(content):,} bytes): {wrong}"


def mutated_file(given: list[Source], contents: list[bytes], number: int, seed: int) -> tuple[Source, bytes]:
    """Return the mutated file of a number."""
    rng = random.Random(f"{seed}-{number}")
    source = given[number % len(given)]
    return source, source.packed(battered(source.content, contents, rng))


def problem_of(source: Source, content: bytes) -> str:
    """Return what is wrong with the reading of a file; "" if it is read or refused with a message of a reader."""
    try:
        source.read(content, "upload.csv")
    except Unforeseen as error:
        return f"no reader expected {error.__cause__!r:.200} in {_place(error.__cause__)}"
    except DlschedError as error:
        if isinstance(error.__cause__, MemoryError):
            return f"needs more than {MOST_MEMORY >> 20:,} MiB in {_place(error.__cause__)}"
        return "" if len(str(error)) < 5000 else f"a message of {len(str(error)):,} characters"
    except Overdue as error:
        return f"takes longer than {MOST_CPU_S} s of CPU time in {_place(error)}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]} in {_place(error)}"
    return ""


def _place(error: BaseException | None) -> str:
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    ours = [frame for frame in frames if "dlsched" in frame.filename and "errors.py" not in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(ours[-3:]))


@contextmanager
def _limits() -> Iterator[None]:
    """Limit CPU time and memory within; only where the system can (POSIX)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGPROF, _overdue)
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, MOST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)


def _overdue(*_: Any) -> None:
    raise Overdue


def lines(folder: Path) -> Iterator[Line]:
    """Yield the promise about mutated files."""
    found = list(_told(problems(range(FILES))))
    yield Line(f"{FILES:,} mutated files without a clear message", "files", 0, len(found))


def _told(problems: Iterator[str]) -> Iterator[str]:
    for problem in problems:
        print(problem, file=sys.stderr, flush=True)
        yield problem


def main(args: list[str]) -> int:
    """Run the campaign; status 1 if anything is wrong."""
    files, seed = (*map(int, args), *(FILES, SEED)[len(args) :])
    os.nice(5)
    found = sum(1 for _ in _told(problems(range(files), seed)))
    print(f"{files:,} mutated files of {len(sources())} sources, seed {seed}: {found:,} without a clear message")
    shutil.rmtree(_store().path.parent)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
