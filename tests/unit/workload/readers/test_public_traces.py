"""Acme, OpenDC, Alibaba spot 2026 and the AWS cost simulator: the traps of each format, values by hand."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers.alibaba_spot import read_spot_nodes
from dlsched.workload.readers.formats import NotJobs
from dlsched.workload.readers.source import open_trace
from tests.support.traces import column, read, reasons

# ---- Acme ----------------------------------------------------------------------------------------

KALOS = """\
job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,\
fail_time,stop_time,duration,queue,gpu_time
waited,u1,2,16,240,512,64,Pretrain,COMPLETED,2024-01-05 08:00:00+00:00,2024-01-05 08:01:00+00:00,\
2024-01-05 08:11:00+00:00,,,660,60,10560
stopped,u1,1,8,120,512,64,SFT,CANCELLED,2024-01-05 08:00:30+00:00,2024-01-05 08:00:30+00:00,,,\
2024-01-05 08:02:10+00:00,100,0,800
never,u2,1,8,120,512,64,Other,CANCELLED,2024-01-05 08:00:40+00:00,,,,2024-01-05 08:02:10+00:00,90,,0
cpu,u2,3,0,96,64,0,Other,FAILED,2024-01-05 08:00:50+00:00,2024-01-05 08:00:50+00:00,2024-01-05 08:01:50+00:00,\
2024-01-05 08:01:50+00:00,,75,0,0
"""


def test_acme():
    trace = read(KALOS)
    assert trace.format_key == "acme"
    assert trace.report.counts == {"rows": 4, "kept": 3, "repaired": 1, "dropped": 1}
    assert reasons(trace, "dropped") == {"job never started": 1}
    assert reasons(trace, "repaired") == {"no end time": 1}
    assert reasons(trace, "flagged") == {
        "the duration column includes the wait": 1,
        "the duration column is not end - start": 1,
        "job without GPUs": 1,
    }
    assert column(trace, "work") == {"waited": 600, "stopped": 100, "cpu": 60}
    assert column(trace, "workers") == {"waited": 16, "stopped": 8, "cpu": 3}
    assert column(trace, "gpus_per_worker") == {"waited": 1, "stopped": 1, "cpu": 0}
    assert column(trace, "cpus_per_worker") == {"waited": 15, "stopped": 15, "cpu": 32}
    assert column(trace, "mem_gib_per_worker")["stopped"] == pytest.approx(512e9 / 2**30 / 8)
    assert column(trace, "mem_gib_per_worker")["waited"] == pytest.approx(512e9 * 2 / 2**30 / 16)
    assert column(trace, "recorded_start_s")["waited"] == 60
    assert column(trace, "job_class") == {"waited": "Pretrain", "stopped": "SFT", "cpu": "Other"}
    assert trace.workload.meta["time_zero"] == "2024-01-05T08:00:00"
    assert reasons(read(KALOS, cancelled="drop"), "dropped") == {"job never started": 1, "job was cancelled": 1}


def test_acme_offsets_become_utc():
    seren = (
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
        "1,u,1,8,64,Other,COMPLETED,2024-01-05 00:30:00+08:00,2024-01-05 00:30:05+08:00,2024-01-05 00:31:05+08:00,"
        "60,5,480\n"
    )
    trace = read(seren)
    assert trace.workload.meta["time_zero"] == "2024-01-04T16:30:00"
    assert trace.workload.meta["time_zone"].startswith("UTC")
    assert trace.workload.mem_gib_per_worker is None


def test_converted_acme_leaves_made_up_networking_out():
    text = (
        "job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,gpu_workers,ps,"
        "gpu_per_worker,cpu_per_gpu_worker,cpu_per_ps_worker,tensorsizes,profiled_network\n"
        "0,0.0,200,0.5,0.75,4,0,8.0,15.0,15.0,10,1000\n"
        "1,5.0,20,0.5,0.25,3,2,1.5,10.0,10.0,10,500\n"
    )
    trace = read(text)
    assert trace.format_key == "acme-converted"
    assert column(trace, "work") == {"0": 100, "1": 10}
    assert column(trace, "workers") == {"0": 4, "1": 5}
    assert column(trace, "gpus") == {"0": 32, "1": 4.5}
    assert column(trace, "cpus_per_worker") == {"0": 120, "1": 9}
    assert reasons(trace, "flagged") == {"GPUs do not split evenly over the workers": 1}
    assert reasons(trace, "not modelled") == {"job has parameter servers": 1, "shares of a GPU": 1}


# ---- OpenDC --------------------------------------------------------------------------------------


def parquet(**columns) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def test_opendc_tasks():
    tasks = parquet(
        id=pa.array([7, 9], pa.int32()),
        submission_time=pa.array([1_700_000_000_500, 1_700_000_060_000], pa.int64()),
        duration=pa.array([30_000, 45_500], pa.int64()),
        cpu_count=pa.array([16, 4], pa.int32()),
        cpu_capacity=[33_600.0, 0.0],
        mem_capacity=pa.array([100_000, 2_000], pa.int64()),
        gpu_count=pa.array([0, 2], pa.int32()),
    )
    trace = read(tasks)
    assert trace.format_key == "opendc"
    assert column(trace, "submit_s") == {"7": 0.5, "9": 60}
    assert column(trace, "work") == {"7": 30, "9": 45.5}
    assert column(trace, "workers") == {"7": 1, "9": 1}
    assert column(trace, "gpus") == {"7": 0, "9": 2}
    assert column(trace, "cpus_per_worker") == {"7": 16, "9": 4}
    assert column(trace, "mem_gib_per_worker")["7"] == pytest.approx(100e9 / 2**30)
    assert reasons(trace, "not modelled") == {"task states a clock rate (cpu_capacity)": 1}
    assert trace.workload.meta["time_zero"] == "2023-11-14T22:13:20"


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("start_time", "stop_time", "cpu_count", "mem_capacity"), id="meta.parquet"),
        pytest.param(("submissionTime", "endTime", "maxCores", "requiredMemory"), id="oldest"),
    ],
)
def test_opendc_older_forms(names):
    stamps = [pa.array([1_700_000_000_000 + ms], pa.timestamp("ms")) for ms in (0, 90_000)]
    values = [*stamps, pa.array([8], pa.int32()), pa.array([1_000.0])]
    trace = read(parquet(id=["vm"], **dict(zip(names, values, strict=True))))
    assert trace.format_key == "opendc"
    assert (trace.workload.work[0], trace.workload.cpus_per_worker[0]) == (90, 8)


def test_opendc_files_without_jobs():
    with pytest.raises(NotJobs, match="fragments file: samples of what tasks used") as error:
        read(parquet(id=["a"], duration=[300], cpu_count=[1], cpu_usage=[2.5]))
    assert error.value.named_as == "OpenDC fragments"
    host = {"name": "h", "cpu": {"coreCount": 4, "coreSpeed": 2000}, "memory": {"memorySize": 1}}
    with pytest.raises(NotJobs, match="OpenDC topology, which describes hosts") as error:
        read(json.dumps({"clusters": [{"name": "c", "hosts": [host]}]}))
    assert error.value.named_as == "OpenDC topology"


def test_opendc_chosen_for_other_files():
    with pytest.raises(InputError, match="it is not a Parquet file"):
        read("a,b\n1,2\n", format="opendc")
    with pytest.raises(InputError, match="missing columns: cpu_count, duration"):
        read(parquet(id=["a"], submission_time=[1]), format="opendc")


# ---- Alibaba spot --------------------------------------------------------------------------------

SPOT_JOBS = """\
job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
11,3,A10,20,1,1,0,2764799,HP
12,5,H800,15,8,4,60,600,Spot
13,5,,4,0,2,90,30,Batch
"""
SPOT_NODES = "gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,0\nH800,8,192,1\nA10,1,128,2\n"


def test_spot_jobs():
    trace = read(SPOT_JOBS)
    assert trace.format_key == "alibaba-spot"
    assert column(trace, "workers") == {"11": 1, "12": 4, "13": 2}
    assert column(trace, "gpus") == {"11": 1, "12": 32, "13": 0}
    assert column(trace, "cpus_per_worker") == {"11": 20, "12": 15, "13": 4}
    assert column(trace, "gpu_types") == {"11": "A10", "12": "H800", "13": ""}
    assert column(trace, "job_class") == {"11": "HP", "12": "Spot", "13": "Batch"}
    assert (column(trace, "priority")["11"], column(trace, "priority")["12"]) == (1, 0)
    assert reasons(trace, "flagged")["job type is neither HP nor Spot"] == 1
    assert column(trace, "group") == {"11": "3", "12": "5", "13": "5"}


def test_spot_nodes():
    with pytest.raises(NotJobs, match=r"node_info_df\.csv\), which describes machines") as error:
        read(SPOT_NODES)
    assert error.value.named_as == "Alibaba spot GPU node list (2026)"
    cluster = read_spot_nodes(open_trace(SPOT_NODES.encode(), "nodes"))
    assert [(p.count, p.vm.gpus, p.vm.gpu_type, p.vm.cpus, p.vm.mem_gib) for p in cluster.pools] == [
        (2, 1, "A10", 128, None),
        (1, 8, "H800", 192, None),
    ]
    with pytest.raises(InputError, match="row 1, column gpu_capacity_num: it must be a count"):
        read_spot_nodes(open_trace(SPOT_NODES.replace("A10,1", "A10,0.5").encode(), "nodes"))


# ---- AWS -----------------------------------------------------------------------------------------

AWS = """\
job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time,resource_request,ineligible_pend_time,\
eligible_time,requeue_time,wait_time,run_time,exit_status
1,8,4.0,2,2024-01-05T08:00:00,2024-01-05T08:05:00,2024-01-05T08:06:40,select[any],0:02:00,2024-01-05T08:02:00,\
0:00:00,0:03:00,0:01:40,0
2,4,0.5,1,2024-01-05T08:00:10,2024-01-05T07:59:00,2024-01-05T08:01:10,select[ngpus>0],0:00:00,2024-01-05T08:00:10,\
0:00:00,0:00:00,0:02:10,32512
3,1,0.0,1,2024-01-05T08:00:20,,,select[any],0:00:00,,0:00:00,,,0
4,1,0.0,1,2024-01-05T08:00:30,2024-01-05T08:00:31,2024-01-05T08:00:51,select[any],0:00:00,2024-01-05T08:00:30,\
0:01:00,0:00:01,0:00:40,
"""


def test_aws():
    trace = read(AWS)
    assert trace.format_key == "aws-hpc"
    assert trace.report.counts == {"rows": 4, "kept": 3, "repaired": 1, "dropped": 1}
    assert column(trace, "submit_s") == {"1": 110, "2": 0, "4": 20}
    assert column(trace, "held_s") == {"1": 120, "2": 0, "4": 0}
    assert column(trace, "work") == {"1": 100, "2": 60, "4": 20}
    assert column(trace, "recorded_start_s") == {"1": 290, "2": 0, "4": 21}
    assert column(trace, "workers") == {"1": 2, "2": 1, "4": 1}
    assert column(trace, "cpus_per_worker") == {"1": 4, "2": 4, "4": 1}
    assert column(trace, "mem_gib_per_worker") == {"1": 2, "2": 0.5, "4": 0}
    assert column(trace, "recorded_status") == {"1": "completed", "2": "failed", "4": ""}
    assert reasons(trace, "repaired") == {"started before it was submitted": 1}
    assert reasons(trace, "flagged") == {"run_time is not finish - start": 1, "job without GPUs": 3}
    assert reasons(trace, "not modelled") == {
        "held back by a dependency or hold": 1,
        "job was requeued": 1,
        "resource_request names GPUs": 1,
    }
    assert column(read(AWS, arrival="submit"), "submit_s") == {"1": 0, "2": 10, "4": 30}


def test_aws_required_columns_alone_and_times_as_numbers():
    text = (
        "job_id,num_cores,max_mem_gb,num_hosts,submit_time,start_time,finish_time,eligible_time,run_time\n"
        "1,2,1,1,1700000000,1700000010,1700000110,1700000030,0:01:40\n"
        '2,2,1,1,1700000000,1700000010,1699999990,-1,"-1 day, 23:59:40"\n'
    )
    trace = read(text)
    assert trace.format_key == "aws-hpc"
    assert (column(trace, "submit_s"), column(trace, "work")) == ({"1": 0}, {"1": 100})
    assert column(trace, "held_s") == {"1": 10}
    assert reasons(trace, "repaired") == {"started before it was eligible": 1}
    assert reasons(trace, "dropped") == {"run time is negative": 1}


@pytest.mark.parametrize(
    ("content", "name"),
    [
        pytest.param("start_time,Job id,Num Hosts,Runtime (minutes),memory (GB),Wait time (minutes),Instance type,"
                     "Instance Family,Spot,Hourly Rate,Total Cost\n2024-01-01T00:00:00,1,1,2,3,4,m,m,True,0.1,1\n",
                     "AWS HPC cost simulator results", id="aws hourly"),
        pytest.param(",OnDemand Costs,Spot Costs\nTotal,0.0,0.05\n", "AWS HPC cost simulator results", id="aws costs"),
        pytest.param("id,job_num,gpu_job_num,avg_que_time_gpu\nX,1,2,3\n", "Acme cluster summary", id="acme summary"),
        pytest.param("Time,10.1.2.3,10.1.2.4\n2024-01-01 08:00:00+08:00,8.1,7.9\n", "Acme utilisation table",
                     id="acme usage"),
        pytest.param(parquet(timestamp=[1], host_id=["h"], cpu_usage=[1.0]), "OpenDC table without tasks",
                     id="opendc results"),
        pytest.param(parquet(timestamp=[1], carbon_intensity=[1.0]), "OpenDC table without tasks", id="opendc carbon"),
        pytest.param('{"name": "x", "topologies": [{"pathToFile": "t.json"}], "workloads": [{"pathToFile": "w"}]}',
                     "OpenDC experiment", id="opendc experiment"),
    ],
)  # fmt: skip
def test_files_beside_the_jobs_are_named(content, name):
    with pytest.raises(NotJobs) as caught:
        read(content)
    assert caught.value.named_as == name
    assert "Give " in caught.value.do


def test_common_names_alone_are_no_sign():
    header = "job_id,type,gpu_num,node_name,gpu_model,num_gpu,num_cpu,submit_time_s,num_gpus,duration_s\n"
    text = header + "a,x,1,n,m,1,1,0,1,9\n"
    assert read(text).format_key == "native"
