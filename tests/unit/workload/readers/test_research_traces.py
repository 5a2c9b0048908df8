"""Traces of research simulators: the traps of each, values by hand."""

import json
import pickle

import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers.formats import NotJobs
from tests.support.traces import read, reasons

GAVEL_7 = (
    "Big Net (batch size 64)\tcd %s && python3 t.py -b 64\t-n\t1\t3000\t5.000000\t2\n"
    "Small Net\tpython3 s.py\t-n\t0\t100\t0.000000\t1\n"
    "Small Net\tpython3 s.py\t-n\t0\t100\t7.500000\t4\n"
)
GAVEL_10 = (
    "Big Net (batch size 64)\tpython3 t.py\tvision\t--steps\t1\t3000\t2\t1\t-1.000000\t0\n"
    "Small Net\tpython3 s.py\tsmall\t-n\t0\t100\t1\t5\t1.2\t120.5\n"
)
SHOCKWAVE = (
    "Big Net (batch size 64)\tpython3 t.py\tvision\t--steps\t1\t3000\t2\taccordion\t1\t-1.000000\t600\t0\n"
    "Small Net\tpython3 s.py\tsmall\t-n\t0\t100\t1\tstatic\t1\t-1.000000\t50\t12.5\n"
)
RATES = {
    "v100": {"('Big Net (batch size 64)', 2)": {"null": 10.0}, "('Small Net', 1)": {"null": 0.5, "('x', 1)": [1, 2]}},
    "k80": {"('Big Net (batch size 64)', 2)": {"null": 1.0}, "('Small Net', 1)": {"null": 0.25}},
}
TIRESIAS = (
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    "0,4,0,606,vgg19,164,30\n1,1,30,9,vgg11,147,23\n"
)
TIRESIAS_OLD = (
    "job_id,num_gpu,submit_time,start_time,duration,model_size,aggr_interval,model_name,model_scale\n"
    "0,4,0,10,164,5,3,vgg19,1\n1,1,30,0,147,5,3,vgg11,1\n"
)
MURI = (
    "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,"
    "resource_time_1,resource_time_2,priority\n"
    "0,8,0,200,net,16,86000,1000,430,4,3,0,1\n1,1,90500,20,net,16,16000,90500,798,4,3,0,0\n"
)
POLLUX = "name,time,application,num_replicas,batch_size\na-0,9.5,alpha,4,320\nb-1,75,beta,1,64\nc-2,80,gamma,2,64\n"


@pytest.mark.parametrize("text", [GAVEL_7, GAVEL_10])
def test_a_gavel_trace_without_throughputs_has_no_run_times(text):
    with pytest.raises(NotJobs, match=r"training steps and no run times.*simulation_throughputs\.json") as caught:
        read(text)
    assert (caught.value.named_as, caught.value.needs) == ("Gavel trace", "throughputs")
    assert pickle.loads(pickle.dumps(caught.value)).needs == "throughputs"


def test_gavel_run_time_is_steps_over_throughput():
    rates = json.dumps(RATES).encode()
    jobs = read(GAVEL_10, throughputs=rates).workload
    assert jobs.submit_s.tolist() == [0, 120.5]
    assert jobs.work.tolist() == [300, 200]
    assert jobs.workers.tolist() == [2, 1]
    assert jobs.columns()["priority"].tolist() == [1, 5]
    assert jobs.columns()["model"].tolist() == ["Big Net", "Small Net"]
    assert read(GAVEL_10, throughputs=rates, throughput_of="k80").workload.work.tolist() == [3000, 400]
    assert reasons(read(GAVEL_10, throughputs=rates), "not modelled") == {"has an SLO": 1}


def test_a_gavel_job_without_a_throughput_is_dropped_and_counted():
    trace = read(GAVEL_7, throughputs=json.dumps(RATES).encode())
    assert trace.workload.job_id.tolist() == ["job-1", "job-0"]
    assert trace.workload.submit_s.tolist() == [0, 5]
    assert trace.workload.work.tolist() == [200, 300]
    assert reasons(trace, "dropped") == {"throughput unknown": 1}
    assert trace.assumptions[0] == "Run time = training steps / throughput on v100 GPUs"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "no GPU types"),
        (b'{"v100": 3}', "no GPU types"),
        (b"[" * 100_000, "not valid JSON"),
        (json.dumps({"v100x": {}}).encode(), "no such GPU type. Try 'v100x'"),
        (json.dumps({"v100": {"(" * 50: {"null": 1}, "('a', 1)": {"null": -1}, "3": 4}}).encode(), "no job type has"),
    ],
)
def test_bad_throughputs(content, says):
    with pytest.raises(InputError, match=says):
        read(GAVEL_7, throughputs=content)


def test_shockwave_has_run_times():
    trace = read(SHOCKWAVE)
    assert trace.format_key == "shockwave"
    assert trace.workload.work.tolist() == [600, 50]
    assert trace.workload.workers.tolist() == [2, 1]
    assert trace.workload.submit_s.tolist() == [0, 12.5]
    assert reasons(trace, "not modelled") == {"batch size changes while training (accordion, gns)": 1}


def test_tiresias_counts_seconds():
    trace = read(TIRESIAS)
    assert (trace.format_key, trace.workload.work.tolist()) == ("tiresias", [164, 147])
    assert trace.workload.workers.tolist() == [4, 1]
    old = read(TIRESIAS_OLD)
    assert old.format_key == "tiresias"
    assert old.workload.columns()["recorded_start_s"].tolist()[0] == 10


def test_muri_counts_milliseconds():
    trace = read(MURI)
    assert (trace.format_key, trace.workload.work.tolist()) == ("muri", [86, 16])
    assert trace.workload.submit_s.tolist() == [0, 90.5]
    assert trace.workload.columns()["job_class"].tolist() == ["opportunistic", "guaranteed"]
    assert trace.assumptions[0].startswith("Times are milliseconds")


def test_pollux_needs_stated_run_times():
    with pytest.raises(NotJobs, match="gives applications and no run times") as caught:
        read(POLLUX)
    assert caught.value.needs == "run_times"
    trace = read(POLLUX, run_times={"alpha": 60.0, "beta": 120.0})
    assert trace.workload.work.tolist() == [60, 120]
    assert trace.workload.workers.tolist() == [4, 1]
    assert reasons(trace, "dropped") == {"run time of the application unknown": 1}
    assert read(POLLUX, run_times={"others": 5.0}).workload.work.tolist() == [5, 5, 5]
    with pytest.raises(InputError, match="must be above 0 s"):
        read(POLLUX, run_times={"alpha": -1.0})


@pytest.mark.parametrize("key", ["gavel", "shockwave", "tiresias", "muri"])
def test_a_format_that_does_not_suit_is_one_message(key):
    with pytest.raises(InputError):
        read("a,b\n1,2\n", format=key, throughputs=json.dumps(RATES).encode())
