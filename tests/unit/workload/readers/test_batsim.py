"""Batsim workloads and job lists of Batsim and OAR, by hand."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.readers import read_trace
from tests.support.traces import column, read, reasons

WORKLOAD = {
    "description": "by hand", "nb_res": 8,
    "jobs": [
        {"id": 1, "subtime": 10, "res": 4, "profile": "short", "walltime": 100},
        {"id": "w0!2", "subtime": 20.5, "res": 1, "profile": "twice", "walltime": -1},
        {"id": "3", "subtime": 30, "res": 2, "profile": "flops", "walltime": 50},
        {"id": "4", "subtime": 30, "res": 2, "profile": "none"},
        {"id": "5", "subtime": 40, "res": 2, "profile": "loop"},
        {"id": "6", "subtime": 50, "res": 2, "profile": "mixed"},
        {"id": "7", "subtime": 60, "res": 2, "profile": "new"},
        {"id": "8", "res": 2, "profile": "short"},
        17,
    ],
    "profiles": {
        "short": {"type": "delay", "delay": 20.5}, "new": {"type": "DelayProfile", "delay": 7},
        "twice": {"type": "composed", "repeat": 2, "seq": ["short", "short", "new"]},
        "flops": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
        "mixed": {"type": "composed", "seq": ["short", "flops"]},
        "loop": {"type": "composed", "seq": ["short", "loop"]},
    },
}  # fmt: skip
NEW = """\
job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,\
starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata
1,w0,short,0,4,100,1,COMPLETED_SUCCESSFULLY,5,20,25,5,25,1.25,0-2 7,-1,""
2,w0,short,1,1,10,0,COMPLETED_WALLTIME_REACHED,5,10,15,4,14,1.4,3,-1,""
3,w0,short,2,9,-1,0,REJECTED,,,,,,,,-1,""
4,w0,short,3,2,-1,0,COMPLETED_KILLED,30,4,34,27,31,7.75,0-999999999999,-1,""
1,w1,short,9,1,50,1,COMPLETED_SUCCESSFULLY,9,20,29,0,20,1,5,-1,""
"""
OLD = """\
jobID,submission_time,requested_number_of_processors,requested_time,success,starting_time,execution_time,finish_time,\
waiting_time,turnaround_time,stretch,consumed_energy,allocated_processors
134,1971.0,1,419.0,1,1972.0,281.0,2253.0,1.0,282.0,1.0,-1,5
81,1188.0,2,86.0,0,1227.0,90.0,1317.0,39.0,129.0,1.4,-1,20 19
82,1188.0,2,86.0,0,1227.0,9.0,1236.0,39.0,48.0,5.3,-1,20 19
"""


def test_workload_by_hand():
    trace = read(json.dumps(WORKLOAD))
    assert trace.format_key == "batsim"
    assert trace.report.counts == {"rows": 9, "kept": 3, "repaired": 0, "dropped": 6}
    assert reasons(trace, "dropped") == {
        "profile is not in the file": 2, "run time is not in the profile": 3, "no submission time": 1,
    }  # fmt: skip
    assert column(trace, "submit_s") == {"1": 10, "w0!2": 20.5, "7": 60}
    assert column(trace, "work") == {"1": 20.5, "w0!2": 96, "7": 7}
    assert column(trace, "workers") == {"1": 4, "w0!2": 1, "7": 2}
    assert set(trace.workload.cpus_per_worker) == {1}
    assert trace.workload.gpus.sum() == 0
    limits = column(trace, "limit_s")
    assert limits["1"] == 100
    assert math.isnan(limits["w0!2"])


def test_jobs_of_batsim_by_hand():
    trace = read(NEW)
    assert trace.format_key == "batsim-csv"
    assert reasons(trace, "dropped") == {"job was rejected or never started": 1}
    assert reasons(trace, "repaired") == {"allocated resources cannot be read": 1}
    assert column(trace, "recorded_nodes") == {"w0!1": "n[0-2,7]", "w0!2": "n3", "w0!4": "", "w1!1": "n5"}
    assert column(trace, "recorded_status") == {
        "w0!1": "completed", "w0!2": "timeout", "w0!4": "cancelled", "w1!1": "completed",
    }  # fmt: skip
    assert column(trace, "work") == {"w0!1": 20, "w0!2": 10, "w0!4": 4, "w1!1": 20}
    assert column(trace, "recorded_start_s") == {"w0!1": 5, "w0!2": 5, "w0!4": 30, "w1!1": 9}
    assert column(trace, "limit_s")["w0!1"] == 100
    assert math.isnan(column(trace, "limit_s")["w0!4"])
    assert set(column(read(NEW, cancelled="drop"), "work")) == {"w0!1", "w0!2", "w1!1"}


def test_jobs_of_oar_by_hand():
    trace = read(OLD)
    assert trace.format_key == "batsim-csv"
    assert column(trace, "recorded_nodes") == {"134": "n5", "81": "n[20,19]", "82": "n[20,19]"}
    assert column(trace, "recorded_status") == {"134": "completed", "81": "timeout", "82": "failed"}
    assert column(trace, "workers") == {"134": 1, "81": 2, "82": 2}


@pytest.mark.parametrize(
    ("name", "cores", "core_s"),
    [
        ("batsim_out_jobs.csv", 2144, 253_106),
        ("oar_out_jobs.csv", 2144, 254_662),
        ("batsim_paper_workload_seed1.json", 2179, 256_361.954),
    ],
)
def test_real_files(shared_data, name, cores, core_s):
    path = shared_data / "real" / "batsim" / name
    if not path.exists():
        pytest.skip("the real file is not there")
    jobs = read_trace(path).workload
    assert len(jobs) == 800
    assert jobs.workers.sum() == cores
    assert jobs.workers @ jobs.work == pytest.approx(core_s, rel=1e-5)
    assert jobs.limit_s is not None


def test_files_that_are_damaged_say_so():
    whole = json.dumps(WORKLOAD)
    with pytest.raises(InputError, match="JSON is damaged or cut off"):
        read(whole[:-5])
    with pytest.raises(InputError, match="needs a list of jobs"):
        read('{"nb_res": 4, "profiles": {}, "jobs": 3}')
    with pytest.raises(InputError, match="missing columns: starting_time"):
        read(OLD.replace("starting_time", "begin"), format="batsim-csv")


def test_hostile_json():
    for text in ('{"jobs": [' + "[" * 200_000, '{"jobs":[{"subtime":1,"res":' + "9" * 5000 + ',"profile":"p"}]}'):
        with pytest.raises(InputError):
            read(text, format="batsim")
    chain = {str(i): {"type": "composed", "seq": [str(i + 1)] * 50} for i in range(60)}
    jobs = [{"id": 1, "subtime": float("nan"), "res": 1e400, "profile": "0", "walltime": "x"}]
    with pytest.raises(InputError):
        read(json.dumps({"jobs": jobs, "profiles": chain}), format="batsim")


CELLS = st.sampled_from(
    ["", "0", "-1", "NaN", "Infinity", "1e999", "9" * 40, "x", '"', "[", "{", "null", ",", "\n", "é", "\u202e",
     "\\ud800", "0-3 7", "true"]
)  # fmt: skip


@given(st.data())
def test_mutated_files_raise_only_input_errors(data):
    key, text = data.draw(st.sampled_from([("batsim", json.dumps(WORKLOAD)), ("batsim-csv", NEW), ("batsim-csv", OLD)]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(CELLS) + text[start + data.draw(st.integers(0, 20)) :]
    for chosen in ("auto", key):
        try:
            trace = read(text.encode("utf-8", "replace"), format=chosen, zero_run="one-second")
        except InputError:
            continue
        assert trace.report.rows == trace.report.kept + trace.report.dropped
