"""Jobs as qstat -x -f -F json lists them, by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from tests.support.traces import read, reasons


def job(state, minute, **more):
    return {
        "Job_Name": "train", "Job_Owner": "ann@login", "job_state": state, "queue": "gpu", "project": "deep",
        "ctime": "Tue Nov 14 22:00:00 2023", "etime": f"Tue Nov 14 22:{minute:02} 2023",
        "Resource_List": {"ncpus": 16, "ngpus": 4, "nodect": 2, "mem": "64gb", "walltime": "02:00:00",
                          "select": "2:ncpus=8:ngpus=2:mem=32gb"},
        **more,
    }  # fmt: skip


def listing(**jobs):
    return json.dumps({"timestamp": 1700000000, "pbs_version": "22.05.11", "pbs_server": "pbs", "Jobs": jobs})


FINISHED = job("F", 0, etime="Tue Nov 14 22:05:00 2023", stime="Tue Nov 14 22:10:00 2023", Exit_status=0,
               exec_host="c1/0*8+c2/0*8", obittime="Tue Nov 14 23:10:05 2023",
               resources_used={"walltime": "01:00:01", "ncpus": 16})  # fmt: skip
RUNNING = job("R", 0, etime="Tue Nov  7 22:00:00 2023", stime="Tue Nov 14 22:20:00 2023", exec_host="c3/0*8+c4/0*8",
              resources_used={"walltime": "00:30:00"})  # fmt: skip
LISTING = listing(a=FINISHED, b=RUNNING, c=job("Q", 1), d=job("F", 1, stime="yesterday"), e=7)


def test_jobs_by_hand():
    trace = read(LISTING)
    assert trace.format_key == "pbs-json"
    jobs = trace.workload
    assert jobs.job_id.tolist() == ["b", "a"]
    assert jobs.submit_s.tolist() == [0, 300]
    assert jobs.held_s.tolist() == [0, 300]
    assert jobs.recorded_start_s.tolist() == [1200, 600]
    assert jobs.work.tolist() == [1800, 3605]
    assert jobs.limit_s.tolist() == [7200, 7200]
    assert jobs.workers.tolist() == [4, 4]
    assert jobs.cpus_per_worker.tolist() == [4, 4]
    assert jobs.mem_gib_per_worker.tolist() == [16, 16]
    assert jobs.recorded_nodes.tolist() == ["c3,c4", "c1,c2"]
    assert jobs.recorded_status.tolist() == ["running", "completed"]
    assert set(jobs.user) == {"ann"}
    assert set(jobs.group) == {"deep"}
    assert reasons(trace, "dropped") == {"job in state Q": 1, "record is cut off or cannot be read": 2}
    assert reasons(trace, "flagged") == {"job was still running at export": 1}
    assert jobs.meta["time_zero"] == "2023-11-14T22:00:00"
    assert jobs.meta["time_zone"].startswith("local time of the host")


def test_running_jobs_can_be_dropped():
    assert read(LISTING, censored="drop").workload.job_id.tolist() == ["a"]


def test_a_listing_without_jobs_says_so():
    with pytest.raises(InputError, match="without -x finished jobs are left out"):
        read('{"pbs_version": "22", "Jobs": {}, "job_state": 1, "Resource_List": 1}')
    with pytest.raises(InputError, match="damaged or cut off"):
        read(LISTING[:-20])


CELLS = st.sampled_from(["", "0", "-1", "NaN", "1e999", "9" * 40, "x", '"', "[", "{", "null", ",", "\n", "é", "\\ud800",
                         "Feb 30", "24:61:00"])  # fmt: skip


@given(st.data())
def test_mutated_listings_raise_only_input_errors(data):
    text = LISTING
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(CELLS) + text[start + data.draw(st.integers(0, 20)) :]
    for key in ("auto", "pbs-json"):
        try:
            trace = read(text, format=key, zero_run="one-second")
        except InputError:
            continue
        assert trace.report.rows == trace.report.kept + trace.report.dropped
