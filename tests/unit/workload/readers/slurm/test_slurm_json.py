"""sacct --json of 21.08 to today and squeue --json, by hand."""

import contextlib
import copy
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.readers import ReadOptions, read_trace
from dlsched.workload.readers.slurm import json_values
from tests.support.traces import column, reasons

ZERO = 1_700_000_000


def read(content, **options):
    return read_trace(json.dumps(content).encode(), "t", ReadOptions(**options))


def told(value):
    """Return a number as data_parser 0.0.39 and later write it."""
    return {"set": True, "infinite": False, "number": value}


UNSET = {"set": False, "infinite": False, "number": 0}


def tres(cpus, gpus=0, kind=""):
    items = [
        ("cpu", None, cpus),
        ("mem", None, 64_000),
        ("node", None, 1),
        ("gres", f"gpu:{kind}" if kind else "gpu", gpus),
    ]
    return [{"type": t, "name": n, "id": 1, "count": c} for t, n, c in items if c]


def old_job(job, **more):
    """Return a job as Slurm 21.08 writes it."""
    start = more.get("start", ZERO + 60)
    return {
        "account": "nlp", "allocation_nodes": 1, "cluster": "c", "constraints": "",
        "array": {"job_id": more.get("array", 0), "task": more.get("task"), "task_id": more.get("task_id")},
        "association": {"account": "nlp", "cluster": "c", "partition": None, "user": "al"},
        "time": {"elapsed": more.get("elapsed", 100), "eligible": ZERO + 10, "end": more.get("end", start + 100),
                 "start": start, "submission": ZERO, "suspended": 0, "limit": more.get("limit", 60)},
        "het": {"job_id": 0, "job_offset": None}, "job_id": job, "nodes": more.get("nodes", "n1"), "partition": "p",
        "priority": 7, "qos": "q", "required": {"CPUs": 8, "memory": 64_000},
        "state": {"current": more.get("state", "COMPLETED"), "reason": "None"}, "steps": [],
        "tres": {"allocated": tres(8, 2, "a100"), "requested": tres(8, 2)}, "user": None,
    }  # fmt: skip


def new_job(job):
    """Return the same as Slurm 24 writes it: states in a list, numbers that may be unset."""
    made = copy.deepcopy(old_job(job))
    made["state"]["current"] = [made["state"]["current"]]
    made["time"]["limit"] = told(60)
    made["priority"] = told(7)
    made["array"] |= {"task_id": UNSET}
    made["required"] = {"CPUs": 8, "memory_per_cpu": UNSET, "memory_per_node": told(64_000)}
    return made


@pytest.mark.parametrize("job", [old_job(5), new_job(5)], ids=["21.08", "24.11"])
@pytest.mark.parametrize("bare", [False, True], ids=["object", "list"])
def test_one_job(job, bare):
    trace = read([job] if bare else {"meta": {}, "errors": [], "jobs": [job]})
    assert trace.format_key == "sacct-json"
    jobs = trace.workload
    assert (jobs.job_id[0], jobs.user[0], jobs.group[0], jobs.partition[0], jobs.job_class[0]) == (
        "5",
        "al",
        "nlp",
        "p",
        "q",
    )
    assert (jobs.work[0], jobs.workers[0], jobs.gpus[0], jobs.limit_s[0], jobs.held_s[0]) == (100, 2, 2, 3600, 10)
    assert column(trace, "cpus_per_worker") == {"5": 4}
    assert column(trace, "mem_gib_per_worker") == {"5": 64_000 / 1024 / 2}
    assert (jobs.priority[0], jobs.recorded_nodes[0], jobs.recorded_status[0]) == (7, "n1", "completed")
    assert jobs.meta["time_zero"] == "2023-11-14T22:13:30"
    assert jobs.meta["time_zone"] == "UTC"


def test_arrays_running_pending_and_oddities():
    trace = read({"jobs": [
        old_job(11, array=10, task_id=1),
        old_job(12, array=10, task="3-5%1", state="PENDING", start=0, end=0, nodes="None assigned"),
        old_job(13, state="RUNNING", end=0, limit={"set": True, "infinite": True, "number": 0}),
        old_job(14, state="CANCELLED", start=ZERO + 60, end=ZERO + 60, elapsed=0, nodes="None assigned"),
        old_job(15, limit=None),
        "no job",
    ]})  # fmt: skip
    assert column(trace, "work") == {"10_1": 100, "13": 100, "15": 100}
    assert column(trace, "limit_s") == {"10_1": 3600, "13": 365 * 86_400, "15": 365 * 86_400}
    assert reasons(trace, "dropped") == {
        "entry that is no job": 1,
        "pending part of a job array": 1,
        "job never started": 1,
    }


def test_limits_of_the_vectors(shared_data):
    cases = json.loads((shared_data / "slurm" / "timelimit.json").read_text())["json_limits"]
    for case in cases:
        minutes = json_values.minutes(case["limit"])
        found = math.inf if minutes == "UNLIMITED" else 60 * float(minutes) if minutes else None
        assert found == (float(case["seconds"]) if case["seconds"] is not None else None)


@pytest.mark.parametrize(
    "content",
    [b'{"jobs": [{"time": {"submission": 1', b"[" * 100_000,
     b'{"jobs": {}}', b'{"jobs": []}', b'{"x": 1' + b"0" * 5000 + b"}"],
)  # fmt: skip
@pytest.mark.parametrize("key", ["sacct-json", "squeue-json"])
def test_damaged_files(content, key):
    with pytest.raises(InputError, match="Export it again"):
        read_trace(content, "t", ReadOptions(format=key))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["set", "infinite", "number", "x"]), inner)
    ),
    max_leaves=6,
)


@given(ANYTHING)
def test_values_never_raise(value):
    for call in (json_values.number, json_values.whole, json_values.when, json_values.minutes, json_values.text,
                 json_values.first):  # fmt: skip
        call(value)


@given(st.dictionaries(st.sampled_from([*old_job(1), *old_job(1)["time"]]), ANYTHING, max_size=6))
def test_a_job_of_anything_is_read_or_refused(changes):
    job = old_job(1)
    job |= {key: value for key, value in changes.items() if key in job}
    job["time"] = {**old_job(1)["time"], **{key: value for key, value in changes.items() if key not in job}}
    with contextlib.suppress(InputError):
        read({"jobs": [old_job(2), job]}, format="sacct-json")


def test_real_file(shared_data):
    trace = read_trace(shared_data / "real" / "sacct" / "mila_sacct_1.json")
    assert trace.format_key == "sacct-json"
    assert column(trace, "work") == {"1_7": 20_615, "2_0": 86_307}
    assert column(trace, "gpus") == {"1_7": 1, "2_0": 1}
    assert column(trace, "limit_s") == {"1_7": 86_400, "2_0": 86_400}


# ---- the queue as it is now ------------------------------------------------------------------------

NOW = ZERO + 1000


def queued(job, state="PENDING", **more):
    return {
        "job_id": job, "account": "nlp", "user_name": "al", "partition": more.get("partition", "p"), "qos": "q",
        "array_job_id": told(more.get("array", 0)), "array_task_id": UNSET, "array_task_string": more.get("tasks", ""),
        "het_job_id": told(0), "het_job_offset": told(0), "job_state": [state],
        "state_reason": more.get("reason", "Priority"),
        "submit_time": told(ZERO), "eligible_time": told(more.get("eligible", ZERO)),
        "start_time": told(more.get("start", 0)),
        "end_time": told(0), "time_limit": more.get("limit", told(60)), "nodes": more.get("nodes", ""),
        "node_count": told(1), "cpus": told(8), "memory_per_node": told(2048), "memory_per_cpu": UNSET,
        "tres_req_str": "cpu=8,mem=2G,node=1,gres/gpu=2", "tres_alloc_str": "", "tres_per_node": "gres/gpu:2",
        "priority": told(more.get("priority", 5)),
    }  # fmt: skip


QUEUE = [
    queued(1, "RUNNING", start=ZERO + 100, nodes="n1"),
    queued(2, "RUNNING", start=ZERO + 300, nodes="n2", limit=told(1)),
    queued(3, priority=1),
    queued(4, priority=9),
    queued(5, reason="Dependency"),
    queued(6, eligible=NOW + 500, priority=3),
    queued(7, array=7, tasks="1-2,9%1", priority=2),
    queued(8, "COMPLETED", start=ZERO),
    queued(9, limit=UNSET, priority=0),
]


def test_queue():
    trace = read({"jobs": QUEUE, "last_update": told(NOW)})
    assert trace.format_key == "squeue-json"
    assert list(trace.workload.job_id) == ["1", "2", "4", "7_1", "7_2", "7_9", "3", "9", "6"]
    assert reasons(trace, "dropped") == {"job has ended": 1, "held, or waits for another job": 1}
    assert reasons(trace, "repaired") == {"time limit not recorded": 1}
    assert reasons(trace, "not modelled") == {"task of an array with a limit of tasks at once (%)": 3}
    assert column(trace, "submit_s") == {"1": 0, "2": 200, "6": 1400} | dict.fromkeys(
        ["4", "7_1", "7_2", "7_9", "3", "9"], 900
    )
    assert column(trace, "work") == dict.fromkeys(trace.workload.job_id, 3600) | {"2": 700}, (
        "2 is over its limit of 60 s"
    )
    assert set(trace.workload.gpus) == {2}
    assert column(trace, "recorded_nodes") | {"1": "n1", "2": "n2"} == column(trace, "recorded_nodes")
    assert math.isnan(column(trace, "recorded_start_s")["4"])
    assert trace.workload.meta["snapshot"] == "2023-11-14T22:30:00Z"
    assert any("runs until its time limit" in note for note in trace.assumptions)


def test_all_that_waits_can_be_kept_as_it_waits():
    trace = read({"jobs": QUEUE, "last_update": told(NOW)}, pending="keep")
    assert list(trace.workload.job_id) == ["4", "5", "7_1", "7_2", "7_9", "3", "9", "1", "2", "6"]
    assert reasons(trace, "dropped") == {"job has ended": 1}
    since = column(trace, "submit_s")
    assert since == dict.fromkeys(since, 0) | {"1": 100, "2": 300, "6": NOW + 500 - ZERO}, "in order of priority"
    status = column(trace, "recorded_status")
    assert (status["1"], status["3"], status["5"]) == ("running", "pending (Priority)", "held (Dependency)")
    alone = read({"jobs": [queued(1, limit=UNSET)]}, pending="keep")
    assert alone.workload.work.tolist() == [365 * 86_400]
    assert alone.workload.limit_s is None


def test_queue_of_giant_arrays_is_refused():
    giant = [queued(job, array=job, tasks="1-999999999") for job in range(1, 50)]
    with pytest.raises(InputError, match="more than 100,000 array tasks"):
        read({"jobs": giant})


def test_queue_without_limits_cannot_run():
    with pytest.raises(InputError, match="no run time"):
        read({"jobs": [queued(1, limit=UNSET), queued(2, limit=UNSET)]})
