"""Uploads are read in processes with limits; each kind of file that goes beyond them ends in one message."""

import gzip
import io
import multiprocessing
import os
import signal
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from dlsched.domain.errors import InputError
from dlsched.runner import reading
from dlsched.runner.reading import Limits, read_within_limits
from dlsched.store import portable
from dlsched.workload.prices.price_file import read_prices
from dlsched.workload.profiles.profiling import read_profiling
from dlsched.workload.profiles.throughput_file import read_measurements
from dlsched.workload.readers import (
    MappingNeeded,
    ReadOptions,
    file_head,
    preview,
    read_cluster,
    read_queues,
    read_trace,
)
from dlsched.workload.readers.gpuaas import read_instance_zip
from dlsched.workload.readers.slurm_settings.found import read_slurm
from dlsched.workload.scenario_file import read_scenario
from tests.unit.workload.readers.test_gpuaas_instance import GOOD

TABLE = b"job_id,submit_time_s,num_gpus,duration_s\n" + b"".join(b"j%d,%d,1,60\n" % (n, n) for n in range(50))
needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
ROOM_BYTES = 40 << 20


# ---- limits ----------------------------------------------------------------------------------------------


def test_limits_grow_with_files_and_packed_ones_get_all():
    small, large = Limits.of((TABLE, "x")), Limits.of((bytes(200_000_000),))
    assert small.memory_bytes == pytest.approx(3 << 30, rel=0.001)
    assert small.cpu_s == 30
    assert large == Limits(8 << 30, 300, 1 << 30) == Limits.of((b"\x1f\x8b",))
    beside = ReadOptions(queues=(bytes(10_000_000), bytes(10_000_000)))
    assert Limits.of((TABLE, beside)).cpu_s == Limits.of([(bytes(20_000_000), "name")]).cpu_s == 70
    assert reading.about_s(bytes(reading.BYTES_PER_S)) == 1.0


def test_files_are_read_elsewhere_and_alike():
    assert read_within_limits("file t", os.getpid) != os.getpid()
    read = read_within_limits("file t", read_trace, gzip.compress(TABLE), "t.csv.gz", ReadOptions())
    assert read.workload.content_hash == read_trace(TABLE, "t.csv").workload.content_hash
    with pytest.raises(MappingNeeded, match="no column was recognised") as caught:
        read_within_limits("file t", read_trace, b"a,b\n1,2\n", "t.csv", ReadOptions())
    assert caught.value.guess is not None


@needs_limits
@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (sum, [range(10**15)], r"reading it takes more than 1 s of computing\. Give a smaller part of it\."),
        (os.abort, [], r"it crashes the process that reads it\. Export it again, or in another format\."),
        (os._exit, [0], r"it crashes the process that reads it"),
        (signal.raise_signal, [9], r"the system ended the process that read it, probably for lack of memory\."),
        (bytes, [4 << 30], r"reading it takes more than 3 GiB of memory\. Give a smaller part of it\."),
        (bytes, [5000], r"what it holds takes 5,0\d\d bytes; the limit is 4,000\. Give a smaller part of it\."),
        (int, ["x"], r"it is damaged or unusual and cannot be read \(ValueError: invalid literal"),
    ],
)
def test_whatever_happens_is_one_message(read, given, message, monkeypatch):
    monkeypatch.setattr(reading, "LEAST_CPU_S", 1)
    monkeypatch.setattr(reading, "MOST_MADE_BYTES", 4000)
    with pytest.raises(InputError, match="^file t: " + message):
        read_within_limits("file t", read, *given)
    assert read_within_limits("file t", int, "7") == 7


def test_what_only_waits_ends_by_the_clock(monkeypatch):
    monkeypatch.setattr(reading, "MOST_S", 0.6)
    of_others = set(multiprocessing.active_children())
    with pytest.raises(InputError, match=r"^file t: reading it takes more than 0\.01 min\."):
        read_within_limits("file t", time.sleep, 1000)
    assert set(multiprocessing.active_children()) <= of_others


# ---- each kind of file -----------------------------------------------------------------------------------


def zipped(**contents: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return sink.getvalue()


LARGE = 3 * ROOM_BYTES
ZEROS = gzip.compress(TABLE + bytes(LARGE), 1)
HOSTILE: dict[str, tuple[Any, ...]] = {
    "trace": (read_trace, ZEROS, "t", ReadOptions()),
    "columns": (file_head, ZEROS, "t"),
    "preview": (preview, ZEROS, "t", ["csv"]),
    "scenario": (read_scenario, b'{"format_version": 1, "name": [' + b"[1]," * 1_000_000 + b"[1]]}"),
    "instance": (read_instance_zip, zipped(**dict.fromkeys(GOOD, b"1,2\n" * (LARGE // 4))), "t.zip"),
    "description": (read_cluster, ZEROS, "t"),
    "queues": (read_queues, [ZEROS]),
    "slurm": (read_slurm, [(ZEROS, "t")]),
    "prices": (read_prices, ZEROS, "t", None),
    "throughputs": (read_measurements, ZEROS, "t"),
    "profile": (read_profiling, ZEROS, "t", "", ""),
    "export": (portable.read, zipped(**{"manifest.json": bytes(30 << 20), "runs/x": bytes(LARGE)})),
}


@needs_limits
@pytest.mark.parametrize("kind", HOSTILE)
def test_each_kind_of_file_ends_in_one_message_when_it_needs_too_much(kind, monkeypatch):
    read, *given = HOSTILE[kind]
    pages = int(read_within_limits("file t", Path.read_text, Path("/proc/self/statm")).split()[0])
    room = pages * os.sysconf("SC_PAGE_SIZE") + ROOM_BYTES
    for limit in ("LEAST_MEMORY_BYTES", "MOST_MEMORY_BYTES"):
        monkeypatch.setattr(reading, limit, room)
    with pytest.raises(InputError, match=r"^file t: reading it takes more than .* GiB of memory\. Give a smaller part"):
        read_within_limits("file t", read, *given)
