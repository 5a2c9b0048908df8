"""Time limits, TRES, states and job numbers: by hand, the shared vectors, and properties."""

import json
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.slurm_notation import limit_s, seconds
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.slurm import times
from dlsched.workload.readers.slurm.job_numbers import parse_job_number, task_ranges
from dlsched.workload.readers.slurm.states import CODES, STATES, state_of
from dlsched.workload.readers.slurm.tres import parse_gres, parse_req_mem, parse_tres, req_mem_mib

ANY_TEXT = st.text(max_size=60)
SLURM_TEXT = st.text("0123456789-:_[]+.%,=/()KMGTPncgpures ", max_size=40)


@pytest.fixture(scope="module")
def vectors(shared_data):
    return {name: json.loads((shared_data / "slurm" / f"{name}.json").read_text())
            for name in ("timelimit", "tres", "states_and_ids")}  # fmt: skip


# ---- times -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("90", 5400, id="minutes"),
        pytest.param("90:30", 5430, id="minutes and seconds"),
        pytest.param("01:02:03", 3723, id="hours"),
        pytest.param("2-12", 216_000, id="days and hours"),
        pytest.param("2-12:30", 217_800, id="days, hours, minutes"),
        pytest.param("2-03:41:40", 186_100, id="all"),
        pytest.param(" unlimited ", math.inf, id="unlimited"),
        pytest.param("INFINITE", math.inf, id="infinite"),
        pytest.param("Partition_Limit", None, id="partition"),
        pytest.param("INVALID", None, id="invalid"),
        pytest.param("", None, id="empty"),
        pytest.param("1-2-3", None, id="two days"),
        pytest.param("1:2:3:4", None, id="too many parts"),
        pytest.param("9" * 400, None, id="giant"),
    ],
)
def test_limit(text, seconds):
    found = limit_s(text)
    assert found == seconds if seconds is not None else math.isnan(found)


def test_limits_of_the_vectors(vectors):
    for text, expected in vectors["timelimit"]["seconds"].items():
        found = limit_s(text)
        assert math.isnan(found) if expected is None else found == float(expected), text


@given(st.integers(0, 999), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_limit_reads_what_slurm_writes(days, hours, minutes, seconds):
    written = f"{days}-" * (days > 0) + f"{hours:02}:{minutes:02}:{seconds:02}"
    assert limit_s(written) == days * 86_400 + hours * 3600 + minutes * 60 + seconds


@given(ANY_TEXT | SLURM_TEXT)
def test_limit_never_raises(text):
    found = limit_s(text)
    assert math.isnan(found) or found >= 0


def test_a_time_with_a_unit_behind_it():
    assert [seconds(text) for text in ("30", "30 min", "30 sec", "00:00:30")] == [1800, 1800, 30, 30]


def test_limits_missing_take_the_largest_of_their_partition():
    ledger = Ledger(4)
    given_s = times.limits_s(pa.array(["60", "", "120", ""]), pa.array(["", "Partition_Limit", "", ""]))
    filled = times.fill_limits(ledger, given_s, pa.array(["a", "a", "a", "b"]))
    assert filled.tolist() == [3600, 7200, 7200, math.inf]
    assert [(f.kind, f.count) for f in ledger.findings] == [("repaired", 2)]


def test_without_any_limit_nothing_is_filled():
    ledger = Ledger(2)
    given_s = times.limits_s(pa.array(["", ""]), pa.array(["", "INVALID"]))
    assert all(math.isnan(value) for value in times.fill_limits(ledger, given_s, pa.array(["a", "b"])))
    assert not ledger.findings


@pytest.mark.parametrize(
    "more", [[], ["1709280300", "0", "2024-03-01T08:05:00+01:00", "yesterday"]], ids=["alike", "mixed"]
)
def test_instants(more):
    read = times.instants(pa.array(["2024-03-01T08:05:00", "Unknown", "None", "", *more]))
    assert read.values[0] == 1_709_280_300
    assert read.missing.tolist()[:4] == [False, True, True, True]
    if more:
        assert read.values[[4, 6]].tolist() == [1_709_280_300, 1_709_276_700]
        assert read.missing.tolist()[4:] == [False, True, False, False]
        assert read.bad.tolist() == [False] * 7 + [True]


# ---- TRES ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        pytest.param("billing=64,cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=512G", (8, 64, 524_288, 0, "a100"), id="total"),
        pytest.param("gres/gpu:a100=8,gres/gpu:t4=1", (9, 0, 0, 0, "a100|t4"), id="types added up"),
        pytest.param("gres/gpu:a100=2,gres/gpu=4", (4, 0, 0, 0, "a100"), id="total of more than is typed"),
        pytest.param("mem=1T,cpu=2,node=1", (0, 2, 1_048_576, 1, ""), id="terabytes"),
        pytest.param("mem=62.50G", (0, 0, 64_000, 0, ""), id="fraction"),
        pytest.param("mem=4000", (0, 0, 4000, 0, ""), id="no unit"),
        pytest.param("mem=2048Mc", (0, 0, 2048, 0, ""), id="old suffix"),
        pytest.param("gres/gpumem=8G,gres/gpuutil=90,gres/shard=4", (0, 0, 0, 0, ""), id="not GPUs"),
        pytest.param("cpu=2K", (0, 2048, 0, 0, ""), id="count with a unit"),
        pytest.param("", (0, 0, 0, 0, ""), id="nothing"),
        pytest.param("gres/gpu=,x,=5,mem=9Q,cpu=-1", (0, 0, 0, 0, ""), id="nonsense"),
    ],
)
def test_tres(text, parsed):
    assert parse_tres(text) == parsed


@pytest.mark.parametrize(
    ("text", "gpus", "types"),
    [
        ("gpu:2", 2, ""),
        ("gpu:a100:4", 4, "a100"),
        ("gpu", 1, ""),
        ("gpu:a100:4(S:0-1),gpu:t4:1(IDX:0,2)", 5, "a100|t4"),
        ("gres:gpu:2", 2, ""),
        ("gres/gpu:v100:3", 3, "v100"),
        ("gres/gpu=3", 3, ""),
        ("craynetwork:1,nvme:2", 0, ""),
        ("gpu:0", 0, ""),
        ("(null)", 0, ""),
    ],
)
def test_gres(text, gpus, types):
    assert (parse_gres(text).gpus, parse_gres(text).gpu_types) == (gpus, types)


def test_req_mem_is_of_the_job():
    texts = pa.array(["4000Mc", "48000Mn", "199G", "2147486448Mn", "62.50Gn", "0n", "", "?"])
    cpus, nodes = [8, 16, 8, 12, 8, 1, 1, 1], [2, 2, 1, 1, 1, 1, 1, 1]
    mib = req_mem_mib(texts, *(pa.array(part, pa.float64()).to_numpy() for part in (cpus, nodes))).tolist()
    assert mib[:6] == [32_000, 96_000, 203_776, 33_600, 64_000, 0]
    assert all(math.isnan(value) for value in mib[6:])


def test_tres_of_the_vectors(vectors):
    for case in vectors["tres"]["tres"]:
        found = parse_tres(case["text"])
        wanted = (case["gpus"], case["cpu"], case["mem_mib"], case["nodes"])
        assert (found.gpus, found.cpus, found.mem_mib, found.nodes) == wanted, case["text"]
    for case in vectors["tres"]["reqmem"]:
        mib, per = parse_req_mem(case["text"])
        found = mib * {"c": case["cpus"], "n": case["nodes"], "": 1}[per]
        assert math.isnan(found) if case["mib_of_job"] is None else found == case["mib_of_job"], case["text"]


@given(ANY_TEXT | SLURM_TEXT)
def test_amounts_never_raise(text):
    for found in (parse_tres(text), parse_gres(text)):
        assert min(found.gpus, found.cpus, found.mem_mib, found.nodes) >= 0
    assert math.isnan(parse_req_mem(text)[0]) or parse_req_mem(text)[0] >= 0


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9.]{0,8}", fullmatch=True), st.integers(0, 64), max_size=4))
def test_tres_roundtrip(gpus_of_type):
    total = sum(gpus_of_type.values())
    typed = [f"gres/gpu:{name}={count}" for name, count in gpus_of_type.items()]
    assert parse_tres(",".join(typed)).gpus == total
    assert parse_tres(",".join([*typed, f"gres/gpu={total}", "cpu=3"]))[:2] == (total, 3)
    assert parse_gres(",".join(f"gpu:{name}:{count}" for name, count in gpus_of_type.items())).gpus == total


# ---- states and job numbers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("CANCELLED by 77", "cancelled"),
        ("CANCELLED+", "cancelled"),
        ("COMPLETI+", "completing"),
        ("COMPLET+", "completed"),
        ("OUT_OF_ME+", "out_of_memory"),
        ("CD", "completed"),
        ("R", "running"),
        ("+", "unknown"),
        ("", "unknown"),
        ("COMPLETI", "unknown"),
    ],
)
def test_state(text, state):
    assert state_of(text) == state


def test_states_and_numbers_of_the_vectors(vectors):
    for text, state in vectors["states_and_ids"]["states"].items():
        assert state_of(text) == state.lower(), text
    for text, wanted in vectors["states_and_ids"]["job_numbers"].items():
        found = parse_job_number(text)
        assert {name: getattr(found, name) for name in wanted} == wanted, text


def test_pending_tasks_are_counted_without_a_list():
    assert parse_job_number("5_[1-999999999%7]").tasks == 999_999_999
    assert parse_job_number("5_[0-9:3,20,x,3-1]").tasks == 5
    assert parse_job_number("5_[1-4,9").tasks == 5, "cut off by a width"
    assert parse_job_number("5_[1-4%" + "9" * 5000 + "]").limit is None
    assert [list(tasks) for tasks in task_ranges("1-5:2,9%3")] == [[1, 3, 5], [9]]


@given(ANY_TEXT | SLURM_TEXT)
def test_parsers_of_names_never_raise(text):
    assert state_of(text) in (*STATES, "unknown")
    assert parse_job_number(text).kind


@given(st.integers(0, 10**12), st.none() | st.integers(0, 10**6), st.none() | st.integers(0, 99))
def test_job_number_roundtrip(job, task, component):
    written = f"{job}" + ("" if task is None else f"_{task}") + ("" if component is None else f"+{component}")
    found = parse_job_number(written)
    assert (found.job, found.task, found.component) == (job, task, component)
    assert parse_job_number(f"{written}.batch").kind == "step"


def test_every_code_is_of_a_state():
    assert set(CODES.values()) <= set(STATES)
