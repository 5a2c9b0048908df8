"""Small files that libraries trip over, and small files that would take all memory: each is one clear message."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError, Unforeseen, reading
from dlsched.workload.described_job import read_layers
from dlsched.workload.readers import read_cluster, read_trace, source
from dlsched.workload.readers.gpuaas import read_instance_zip
from dlsched.workload.scenario_file import read_scenario, scenario_bytes
from tests.support.runs_for_store import small_scenario
from tests.unit.workload.readers.test_gpuaas_instance import GOOD, zipped

ROOT = Path(__file__).resolve().parents[4]
JOBS = {"job_id": ["a", "b"], "submit_time_s": [0, 5], "num_gpus": [1, 2], "duration_s": [60, 70]}


def parquet(columns, names=None, **options) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, names=names) if names else pa.table(columns), sink, **options)
    return sink.getvalue()


# ---- what libraries raise ----------------------------------------------------------------------------


def test_whatever_is_raised_becomes_one_message():
    for error, why in (
        (KeyError("x\ny"), "it is damaged or unusual and cannot be read (KeyError: 'x\\ny')"),
        (MemoryError(), "reading it needs more memory than is available"),
        (RecursionError(), "it is nested too deep"),
    ):
        with pytest.raises(InputError) as caught, reading("file x"):
            raise error
        assert str(caught.value).startswith(f"file x: {why}.")
        assert caught.value.__cause__ is error
        assert isinstance(caught.value, Unforeseen) == isinstance(error, KeyError)
    with pytest.raises(InputError, match="cluster: a cluster needs at least one node"), reading("cluster"):
        Cluster()


def test_messages_have_no_half_characters():
    assert str(InputError("file \ud800", "x", "y")) == "file \\ud800: x. y."


def test_zip_that_points_before_its_beginning():
    data = bytearray(zipped(GOOD.items()))
    at = data.rindex(b"PK\x05\x06") + 16  # offset of the directory, in its end record
    data[at : at + 4] = (2**32 - 2).to_bytes(4, "little")
    with pytest.raises(InputError, match=r"file x.zip: its zip compression is damaged. Pack it again."):
        read_instance_zip(bytes(data), "x.zip")


def test_zip_with_damaged_lzma():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_LZMA) as archive:
        for name, text in GOOD.items():
            archive.writestr(name, text)
    data = bytearray(sink.getvalue())
    data[70:90] = bytes(20)
    with pytest.raises(InputError, match="zip compression is damaged"):
        read_instance_zip(bytes(data), "x.zip")


def test_zip_with_a_member_without_a_name():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(zipfile.ZipInfo("x"), pd.DataFrame(JOBS).to_csv(index=False))
    data = sink.getvalue().replace(b"PK\x01\x02", b"PK\x01\x02")
    nameless = bytearray(data)
    entry = nameless.rindex(b"PK\x01\x02")
    nameless[entry + 28 : entry + 30] = (0).to_bytes(2, "little")  # length of the name
    del nameless[entry + 46]
    end = nameless.rindex(b"PK\x05\x06") + 12
    nameless[end : end + 4] = (46).to_bytes(4, "little")  # length of the directory
    with pytest.raises(InputError, match="zip compression is damaged"):  # the names here and there differ
        read_trace(bytes(nameless), "x.zip")


def test_the_same_column_twice():
    columns = [pa.array(values) for values in JOBS.values()]
    twice = parquet([*columns, columns[2]], [*JOBS, "num_gpus"])
    with pytest.raises(InputError, match=r"file x: two of its columns are called 'num_gpus'\. Rename"):
        read_trace(twice, "x")
    text = "a,a,a (2),job_id,submit_time_s,num_gpus,duration_s\n1,2,3,j,0,1,60\n"
    notes = read_trace(text.encode(), "x").report.notes
    assert "Columns not used: a, a (2), a (2) (2)" in notes


def test_long_column_names():
    names = [*JOBS, "gpus " + "x" * 3000, "gpus " + "x" * 2999]
    columns = [*map(pa.array, JOBS.values()), pa.array([1, 1]), pa.array([1, 1])]
    assert len(read_trace(parquet(columns, names), "x").workload) == 2
    only = parquet([pa.array([1, 2])], ["submit" * 500])
    with pytest.raises(InputError, match="no column was recognised"):
        read_trace(only, "x")


def test_half_characters_in_json():
    text = scenario_bytes(small_scenario(2)).decode().replace("four jobs", "\\ud83d")
    with pytest.raises(InputError, match=r"scenario, name: has \\ud83d, half of a character without the other half"):
        read_scenario(text.encode())
    whole = read_scenario(text.replace("\\ud83d", "\\ud83d\\ude00").encode())
    assert whole.name == "\U0001f600"
    key = text.replace("\\ud83d", "x").replace('"job_id"', '"\\udfff"')
    with pytest.raises(InputError, match="half of a character"):
        read_scenario(key.encode())
    notes: list[str] = []
    found = source.open_trace(rb'{"a": "\ud83d\ude00 \ud83d \ude00\ud83d", "b": "\uD800"}')
    assert json.loads(found.data) == {"a": "\U0001f600 ? ??", "b": "?"}
    notes = [*found.notes]
    assert notes == [r"Repaired encoding: 4 halves of characters (\ud800 to \udfff) became question marks"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("forward,backward,transfer\n1,2,3,4\n", "layers.csv: a line has more fields than the 3 of the header"),
        ("forward,backward,transfer\n1,2,x\n", "layers.csv, line 2, transfer: must be a number of ms, got 'x'"),
        ("forward,backward,transfer,more\n1,2,3\nx,y,1,2,3\n", "layers.csv"),
        ("\x00", "layers.csv"),
    ],
)
def test_odd_layer_tables(text, message):
    with pytest.raises(InputError, match=message) as caught:
        read_layers(text.encode(), "layers.csv")
    assert not isinstance(caught.value, Unforeseen)


# ---- small files that would take all memory ----------------------------------------------------------

BOMBS = """
import gzip, io, json, resource, sys, zipfile
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from dlsched.domain.errors import InputError
from dlsched.store import portable
from dlsched.workload.readers import read_trace
from dlsched.workload.scenario_file import read_scenario

def dictionary():
    words = pa.array(["x" * 1_000_000 + str(n) for n in range(4)])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(6_000, np.int32)), words)
    sink = io.BytesIO()
    pq.write_table(pa.table({"job_id": column, "submit_time_s": range(6_000), "num_gpus": [1] * 6_000,
                             "duration_s": [60] * 6_000}), sink, compression="zstd", use_dictionary=["job_id"],
                   dictionary_pagesize_limit=2**30)
    return sink.getvalue()

def zeros():
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", "{}")
        with archive.open("zeros", "w") as member:
            for _ in range(1_900):
                member.write(bytes(1 << 20))
    return sink.getvalue()

HEAD = b"job_id,submit_time_s,num_gpus,duration_s\\n"
POOL = {"vm": {"name": "v"}, "count": 100_000}
CLUSTER = {"format_version": 1, "workload": {"columns": {"job_id": ["a"], "submit_s": [0], "work": [1]}},
           "cluster": {"pools": [POOL] * 1_000}}
FILES = {
    "key": (read_scenario, ("a" + ".b" * 100_000 + " = 1").encode()),
    "quoted key": (read_scenario, ('"a b"' + '."c.d" ' * 100_000 + " = 1").encode()),
    "table": (read_scenario, ("[a" + ".b" * 60_000 + "]").encode()),
    "lists": (read_scenario, b"a = " + b"[" * 50_000),
    "values": (read_scenario, b'{"a": [' + b"0," * 21_000_000 + b"0]}"),
    "nodes": (read_scenario, json.dumps(CLUSTER).encode()),
    "dictionary": (read_trace, dictionary()),
    "lines": (read_trace, gzip.compress(HEAD + b"x\\n" * 21_000_000, 1)),
    "ragged": (read_trace, gzip.compress(HEAD + b"1,2\\n" * 1_100_000, 1)),
    "zeros": (portable.read, zeros()),
    "packed": (read_trace, gzip.compress(gzip.compress(bytes(600 << 20), 1), 1)),
}
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
said = {}
for name, (read, content) in FILES.items():
    try:
        read(content)
        said[name] = "read"
    except InputError as error:
        said[name] = str(error)
print(json.dumps({"said": said, "grown_mib": peak() - before}))
"""
REFUSALS = {
    "key": "scenario, line 1: a key has more than 50 parts: a.b.b",
    "quoted key": "scenario, line 1: a key has more than 50 parts",
    "table": "scenario, line 1: a key has more than 50 parts",
    "lists": "scenario: is nested too deeply",
    "values": "scenario: has about 21,000,002 values; the limit is 20,000,000",
    "nodes": "a cluster has at most 1,000,000 nodes, got 100,000,000",
    "dictionary": "file upload: it is too large when decompressed: 5,722 MiB or more, the limit is 512 MiB",
    "lines": "file upload: it has 21,000,001 lines; the limit is 20,000,000. Split it.",
    "ragged": "file upload: more than 1,000,000 lines do not have the 4 fields of the header. Check the delimiter",
    "zeros": "import file: unpacks to 1,900 MiB; the limit is 512 MiB",
    "packed": "file upload: it is too large when decompressed: files are limited to 512 MiB",
}


@pytest.mark.slow
def test_bombs_are_told_with_their_size_before_they_unfold():
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", BOMBS], env=env, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    for name, message in REFUSALS.items():
        assert message in answer["said"][name], name
    assert answer["said"].keys() == REFUSALS.keys()
    assert answer["grown_mib"] < 700, "512 MiB of packed bytes are unfolded before the limit tells"


def test_texts_with_many_dots_are_no_deep_keys():
    scenario = small_scenario(2).replace(name="so" + ". So" * 200)
    assert read_scenario(scenario_bytes(scenario, "toml")).name == scenario.name


def test_a_parquet_file_of_text_types_is_read_as_before():
    ids = pa.array(["a", None, "c"], pa.large_string())
    content = parquet({"job_id": ids, "submit_time_s": [0, 1, 2], "num_gpus": [1, 1, 1], "duration_s": [5, 5, 5],
                       "user": pa.array(["u", "u", None]).dictionary_encode()})  # fmt: skip
    jobs = read_trace(content, "x").workload
    assert jobs.job_id.tolist() == ["a", "row-2", "c"]
    assert jobs.user is not None
    assert jobs.user.tolist() == ["u", "u", ""]
    empty = parquet({name: pa.array([], pa.int64()) for name in JOBS})
    with pytest.raises(InputError, match="no"):
        read_trace(empty, "x")


def test_clusters_of_many_nodes():
    pool = Pool(vm=VmType(name="v"), count=100_000)
    assert Cluster(pools=(pool,) * 10).num_nodes == 1_000_000
    with pytest.raises(ValueError, match="at most 1,000,000 nodes, got 1,100,000"):
        Cluster(pools=(pool,) * 11)


# ---- small files that would take all time ------------------------------------------------------------


def test_nodes_that_do_not_exist_yet_are_left_out_in_one_pass():
    """With a set made anew for each of them this took minutes."""
    conf = b"NodeName=a[1-60000] CPUs=4 State=FUTURE\nNodeName=b[1-10] CPUs=4\n"
    assert read_cluster(conf, "slurm.conf").cluster.num_nodes == 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "".join(f"NodeName=n{n}-[1-1000] CPUs=4\n" for n in range(2000)),
            r"slurm\.conf: it has 101,000 nodes or more; the limit is 100,000\. Give a part of them",
        ),
        (
            "NodeName=n[1-90000] CPUs=4\n" + "".join(f"PartitionName=p{n} Nodes=ALL\n" for n in range(30)),
            r"lists of nodes: together they stand for more than 2,000,000 names\. Leave out partitions",
        ),
        (
            "NodeName=n[1-90000] CPUs=4 Feature=f\nNodeSet=s Feature=f\n"
            + "".join(f"PartitionName=p{n} Nodes=s\n" for n in range(30)),
            r"lists of nodes: together they stand for more than 2,000,000 names",
        ),
        ("NodeName=n[1-900000] CPUs=4\n", r"host list 'n\[1-900000\]': it stands for too many names, 100,000 at most"),
        (
            "".join(f"n{n}-[1-1000]|gpu|64|500000|gpu:8|a|idle\n" for n in range(2000)),
            r"sinfo: it has 101,000 nodes or more; the limit is 100,000",
        ),
    ],
    ids=["nodes", "partitions of all nodes", "partitions of a node set", "one list", "sinfo"],
)
def test_lists_of_nodes_that_unfold(text, message):
    with pytest.raises(InputError, match=message):
        read_cluster(text.encode(), "nodes.txt")
