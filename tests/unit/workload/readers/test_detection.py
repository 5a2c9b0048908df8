"""Detection by content, choices left to the user, and no traceback whatever the bytes."""

import contextlib
import gzip
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import FormatUnsure, ReadOptions, detect, preview, read_trace

NATIVE = "job_id,submit_time_s,num_gpus,duration_s,vc\na,0,1,60,v\nb,5,16,70,w\n"
PHILLY = json.dumps([{
    "status": "Pass", "vc": "v", "jobid": "j1", "submitted_time": "2017-10-07 01:00:00", "user": "u",
    "attempts": [{"start_time": "2017-10-07 01:00:10", "end_time": "2017-10-07 01:05:10",
                  "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}],
}])  # fmt: skip
HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "1,u1,v,16,64,2,FAILED,2020-06-09 18:41:00,2020-06-09 18:42:00,2020-06-09 18:45:00,180,60\n"
)
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p,8000,16384,2,1000,V100M32|T4,LS,Succeeded,100,400,150\n"
)
SWF = "; Version: 2.2\n1 0 10 60 4 -1 -1 4 -1 -1 1 3 1 -1 2 1 -1 -1\n"
SACCT = (
    "JobID|User|State|Submit|Start|End|ElapsedRaw|ReqTRES|AllocTRES\n"
    "1|al|COMPLETED|2024-03-01T08:00:00|2024-03-01T08:05:00|2024-03-01T08:06:00|60|cpu=8,gres/gpu=2|cpu=8,gres/gpu=2\n"
)
ACME = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
    "1,u,1,8,64,SFT,FAILED,2024-01-05 08:00:00+08:00,2024-01-05 08:00:05+08:00,2024-01-05 08:01:05+08:00,60,5,480\n"
)
SPOT = (
    "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
    "7,3,A10,20,1,2,0,300,HP\n"
)
AWS = (
    "job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time,eligible_time\n"
    "1,8,4.0,2,2024-01-05T08:00:00,2024-01-05T08:05:00,2024-01-05T08:06:40,2024-01-05T08:02:00\n"
)
GOOGLE = (
    "600000000,,71,0,,0,u,2,9,0.25,0.01,0.001,0\n601000000,,71,0,91,1,u,2,9,0.25,0.01,0.001,0\n"
    "700000000,,71,0,91,4,u,2,9,0.25,0.01,0.001,0\n"
)
PAI = "j1,worker,2.0,Terminated,1000.0,1100.0,600.0,30.0,50.0,T4\nj1,ps,1.0,Terminated,1000.0,1100.0,600.0,30.0,,\n"
KUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: a, namespace: ns, creationTimestamp: "2025-02-03T08:00:00Z"}
spec:
  queueName: q
  podSets:
  - {name: main, count: 2, template: {spec: {containers: [{resources: {requests: {cpu: 500m, nvidia.com/gpu: "4"}}}]}}}
status:
  conditions:
  - {type: Admitted, status: "True", lastTransitionTime: "2025-02-03T08:10:00Z"}
  - {type: Finished, status: "True", reason: Succeeded, lastTransitionTime: "2025-02-03T09:10:00Z"}
"""
PBS = (
    "11/14/2023 23:20:00;Q;1.head;queue=batch\n11/14/2023 23:30:05;E;1.head;user=ann queue=batch ctime=1700000000 "
    "start=1700000100 exec_host=n1/0-7 Resource_List.nodes=1:ppn=8:gpus=2 end=1700000700 Exit_status=0\n"
)
SGE = (
    "# Version: 8.1.9\nall.q:n1:staff:ann:train:1:sge:0:1700000000:1700000100:1700000700:0:0:600:" + "0:" * 17
    + "NONE:none:smp:4:0:1:1:0:-l gpu=1,h_rt=3600 -pe smp 4:0:NONE:1:0:0\n"
)  # fmt: skip
LSF = (
    '"JOB_FINISH" "7.0" 1700000700 1 501 33554434 4 1700000000 0 0 1700000100 "ann" "gpu" "rusage[ngpus_physical=2]" '
    '"" "" "login" "/home" "" "" "" "1.2" '
    '0 1 "4*n1" 64 60.0 "a ""b""" "run, now" ' + "0 " * 19 + '"" "deep" 0 4 "" "" 0\n'
)  # fmt: skip
BATSIM = json.dumps({
    "nb_res": 4, "jobs": [{"id": "1", "subtime": 0, "res": 2, "profile": "p", "walltime": 9}],
    "profiles": {"p": {"type": "delay", "delay": 5}},
})  # fmt: skip
BATSIM_CSV = (
    "jobID,submission_time,requested_number_of_processors,requested_time,success,starting_time,execution_time,"
    "finish_time,waiting_time,turnaround_time,stretch,consumed_energy,allocated_processors\n"
    "1,0,2,9,1,1,5,6,1,6,1.2,-1,0-1\n"
)
GENERIC = "id,arrival,gpus,runtime,owner\n1,0,4,90,ann\n2,3,1,10,ben\n"
FORMATS = {
    "native": NATIVE,
    "philly": PHILLY,
    "helios": HELIOS,
    "openb": OPENB,
    "swf": SWF,
    "sacct": SACCT,
    "pbs": PBS,
    "lsf": LSF,
    "sge": SGE,
    "batsim": BATSIM,
    "batsim-csv": BATSIM_CSV,
    "csv": GENERIC,
    "acme": ACME,
    "alibaba-spot": SPOT,
    "aws-hpc": AWS,
    "google-2011": GOOGLE,
    "pai": PAI,
    "kueue": KUEUE,
}
KEYS = sorted(FORMATS)


@pytest.mark.parametrize("key", KEYS)
def test_the_name_never_decides(key):
    for name in ("x.csv", "cluster_job_log", "trace.swf", "jobs.json"):
        trace = read_trace(FORMATS[key].encode(), name)
        assert trace.format_key == key
        assert trace.report.kept >= 1


def test_candidates_are_counted_and_ordered():
    first, *others = detect(HELIOS.encode(), "x")
    assert (first.format_key, first.signs, first.of, first.certainty) == ("helios", 5, 5, 1.0)
    assert [c.format_key for c in others] == ["csv"]
    assert detect(b"") == []


def test_two_likely_formats_are_left_to_the_user():
    text = HELIOS.replace(",node_num,", ",boxes,").replace(",queue\n", ",line\n")
    with pytest.raises(FormatUnsure, match=r"looks like .*Helios cluster log \(3 of 5 signs\)") as caught:
        read_trace(text.encode(), "t")
    keys = [candidate.format_key for candidate in caught.value.candidates]
    assert set(keys) == {"csv", "helios"}
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.candidates) == (str(caught.value), caught.value.candidates)
    for shown in preview(text.encode(), "t", keys):
        assert not shown.problem
        assert shown.rows[0][shown.header.index("work")] == "180"
    assert read_trace(text.encode(), "t", ReadOptions(format="helios")).format_key == "helios"


def test_preview_says_why_a_format_does_not_suit():
    (shown,) = preview(NATIVE.encode(), "t", ["helios"])
    assert "missing columns: gpu_num" in shown.problem


@pytest.mark.parametrize("key", KEYS)
def test_a_chosen_format_that_does_not_suit_gives_one_message(key):
    for other in KEYS:
        with contextlib.suppress(InputError):
            read_trace(FORMATS[other].encode(), "t", ReadOptions(format=key))


def read_quietly(content: bytes, **options) -> None:
    """Read; any result obeys the books and can be given a cluster; any failure is an InputError."""
    try:
        trace = read_trace(content, "t", ReadOptions(**options))
        cluster = scenario_of(trace, "t").cluster
    except InputError:
        return
    counts = trace.report.counts
    assert counts["rows"] == counts["kept"] + counts["dropped"]
    assert counts["dropped"] == sum(f.count for f in trace.report.of_kind("dropped"))
    assert counts["repaired"] <= counts["kept"] == len(trace.workload)
    assert cluster.num_nodes


@given(st.binary(max_size=300))
def test_random_bytes(content):
    read_quietly(content)
    read_quietly(gzip.compress(content))


@given(content=st.binary(max_size=120), key=st.sampled_from(KEYS))
def test_random_bytes_read_as_any_format(content, key):
    read_quietly(FORMATS[key].encode()[:80] + content, format=key)


CELLS = st.sampled_from(
    ["", "0", "-1", "1e9", "1e308", "-0.0", "nan", "inf", "abc", "=1+1", '"', '""', "\x00", "é", "9" * 40, "1,5", ";",
     "|", "2024-03-01T00:00:00", "0001-01-01", "None", "1-02:03:04", "gres/gpu=4", "\n", "\r\n", "a\tb", "\u202e",
     "[", "{"]
)  # fmt: skip


@given(key=st.sampled_from(KEYS), data=st.data())
def test_mutated_traces(key, data):
    text = FORMATS[key]
    cells = [index for index, char in enumerate(text) if char in ',|\n ":']
    for _ in range(data.draw(st.integers(1, 4))):
        start, end = sorted(data.draw(st.tuples(st.sampled_from(cells), st.sampled_from(cells))))
        if end - start > 40:
            end = next((c for c in cells if c > start), start)
        text = text[: start + 1] + data.draw(CELLS) + text[end:]
        cells = [index for index, char in enumerate(text) if char in ',|\n ":']
    read_quietly(text.encode("utf-8", "replace"))
    read_quietly(text.encode("utf-8", "replace"), format=key)
    read_quietly(text.encode("utf-16"), zero_run="one-second", duplicates="drop", censored="drop", cancelled="drop")
