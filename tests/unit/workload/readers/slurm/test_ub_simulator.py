"""Traces of the UB Slurm simulator: events and CSV say the same, by hand and on the real files."""

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers import read_trace
from tests.support.traces import read

EVENTS = """\
# comment
-dt 0 -e submit_batch_job | -jid  1 -sim-walltime 15 --uid=al \
-t 00:07:00 -n 12 --ntasks-per-node=12 -A nlp -p normal -q q pseudo.job
-dt 49 -e submit_batch_job | -jid  2 -sim-walltime -1 --uid=bo \
-t 00:30:00 -n 24 --ntasks-per-node=12 -A cv -p normal -q q --gres=gpu:2 pseudo.job
-dt 60 -e submit_batch_job | -jid  3 -sim-walltime 0 --uid=bo \
-t 00:30:00 -n 3 -N 3 -c 4 -A cv -p normal -q q --constraint=CPU-N --mem=2048 pseudo.job
-dt 70 -e cancel_job | -jid 3
what is this
"""
TABLE = """\
"","sim_job_id","sim_submit","sim_wclimit","sim_duration","sim_tasks","sim_tasks_per_node","sim_username",\
"sim_submit_ts","sim_qosname","sim_partition","sim_account",\
"sim_req_mem","sim_req_mem_per_cpu","sim_features","sim_gres","sim_shared","sim_cpus_per_task","sim_dependency","sim_cancelled_ts","freq"
"1",1,2017-01-01 00:00:00,7,15,12,12,"al",1483246800,"q","normal","nlp",NA,0,"","",1,1,"",0,0.8
"2",2,2017-01-01 00:00:49,30,1800,24,12,"bo",1483246849,"q","normal","cv",NA,0,"","gpu:2",1,1,"",0,0.8
"3",3,2017-01-01 00:01:00,30,0,3,1,"bo",1483246860,"q","normal","cv",2048,0,"CPU-N","",1,4,"2",0,0.8
"""


def column(trace, name):
    return getattr(trace.workload, name).tolist()


@pytest.mark.parametrize(("text", "key"), [(EVENTS, "ub-events"), (TABLE, "ub-csv")])
def test_by_hand(text, key):
    trace = read(text)
    assert trace.format_key == key
    assert column(trace, "submit_s") == [0, 49, 60]
    assert column(trace, "work") == [15, 1800, 1]
    assert column(trace, "limit_s") == [420, 1800, 1800]
    assert column(trace, "workers") == [1, 4, 3]
    assert column(trace, "gpus") == [0, 4, 0]
    assert column(trace, "cpus_per_worker") == [12, 6, 4]
    assert column(trace, "mem_gib_per_worker") == [0, 0, 2]
    assert column(trace, "user") == ["al", "bo", "bo"]
    assert column(trace, "group") == ["nlp", "cv", "cv"]
    assert column(trace, "features") == ["", "", "CPU-N"]
    assert {f.reason: f.count for f in trace.report.of_kind("repaired")} == {"run time is 0 s": 1}


def test_what_is_counted():
    events = {f.reason: f.count for f in read(EVENTS).report.findings}
    assert events["line that submits no job"] == 1
    assert events["runs until its time limit"] == 1
    assert events["job is cancelled in the trace"] == 1
    assert {f.reason: f.count for f in read(TABLE).report.findings}["job depends on another"] == 1
    with pytest.raises(InputError, match="submits no jobs"):
        read("-dt 0 -e cancel_job | -jid 1\n")


def test_real_files_say_the_same(shared_data):
    folder = shared_data / "real" / "slurmsim"
    events, table = (read_trace(folder / name) for name in ("jobs500.events", "jobs500org.csv"))
    assert (events.format_key, table.format_key) == ("ub-events", "ub-csv")
    assert len(events.workload) == len(table.workload) == 500
    for name in ("job_id", "submit_s", "work", "workers", "gpus_per_worker", "limit_s", "demand", "user", "group"):
        assert np.array_equal(getattr(events.workload, name), getattr(table.workload, name)), name
