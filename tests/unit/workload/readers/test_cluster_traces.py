"""openb, Helios and SWF: pitfall rows by hand."""

import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers import read_cluster
from tests.support.traces import column, read, reasons

# ---- openb ---------------------------------------------------------------------------------------

PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
whole,8000,16384,2,1000,V100M32|V100M16,LS,Succeeded,100,400,150
share,4000,8192,1,460,,BE,Failed,110,210,110
cpu,4000,8192,0,0,,BE,Failed,120,220,120
waits,4000,8192,1,1000,T4,BE,Pending,130,900,
runs,4000,8192,1,1000,,LS,Running,140,900,140
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\na,32000,262144,0,\nb,96000,786432,8,V100M32\nc,96000,786432,8,V100M32\n"


def test_openb_pods():
    trace = read(PODS, cluster=NODES.encode())
    assert trace.format_key == "openb"
    assert trace.report.counts == {"rows": 5, "kept": 4, "repaired": 0, "dropped": 1}
    assert reasons(trace, "dropped") == {"pod was still pending": 1}
    assert reasons(trace, "flagged") == {"pod was still running when the trace ended": 1, "job without GPUs": 1}
    assert reasons(trace, "not modelled") == {"shares of a GPU": 1}
    assert column(trace, "work") == {"whole": 250, "share": 100, "cpu": 100, "runs": 760}
    assert column(trace, "gpus_per_worker") == {"whole": 2, "share": 0.46, "cpu": 0, "runs": 1}
    assert set(trace.workload.workers) == {1}
    assert column(trace, "gpu_types")["whole"] == "V100M16|V100M32"
    assert column(trace, "cpus_per_worker")["whole"] == 8
    assert column(trace, "mem_gib_per_worker")["whole"] == 16
    assert trace.cluster == read_cluster(NODES.encode(), "nodes")
    assert [(p.count, p.vm.gpus, p.vm.gpu_type, p.vm.cpus, p.vm.mem_gib) for p in trace.cluster.cluster.pools] == [
        (1, 0, "", 32, 256),
        (2, 8, "V100M32", 96, 768),
    ]


def test_openb_running_pods_can_be_dropped():
    assert reasons(read(PODS, censored="drop"), "dropped") == {"pod was still pending": 1, "pod was still running": 1}


def test_openb_node_list_is_no_trace():
    with pytest.raises(InputError, match="node list, which describes machines"):
        read(NODES)
    with pytest.raises(InputError, match="describes no cluster that is known"):
        read_cluster(PODS.encode(), "pods")
    with pytest.raises(InputError, match="row 1, column gpu"):
        read_cluster(NODES.replace(",0,", ",-1,").encode(), "nodes")


# ---- Helios --------------------------------------------------------------------------------------

HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u1,vcA,16,64,2,FAILED,2020-06-09 18:41:00,2020-06-09 18:42:00,2020-06-09 18:45:00,180,60
2,u2,vcB,0,8,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 18:51:01,600,0
3,u2,vcB,1,4,1,CANCELLED,2020-06-09 18:41:02,2020-06-09 18:41:02,2020-06-09 18:41:12,10,0
4,u2,vcB,1,4,1,CANCELLED,2020-06-09 18:41:03,2020-06-09 18:41:03,2020-06-09 18:41:03,0,0
5,u2,vcB,8,8,1,SUSPENDED,2020-06-09 18:41:04,2020-06-09 18:41:00,2020-06-09 18:42:00,60,-4
6,u2,vcB,8,8,1,TIMEOUT,2020-06-09 18:41:05,2020-06-09 18:41:05,2020-06-09 18:42:00,99,0
"""


def test_helios():
    trace = read(HELIOS)
    assert trace.format_key == "helios"
    assert trace.report.counts == {"rows": 6, "kept": 5, "repaired": 1, "dropped": 1}
    assert reasons(trace, "dropped") == {"run time is 0 s": 1}
    assert reasons(trace, "repaired") == {"started before it was submitted": 1}
    assert reasons(trace, "flagged") == {"job without GPUs": 1, "duration is not end - start": 1}
    assert reasons(trace, "not modelled") == {"job was suspended": 1}
    assert column(trace, "workers") == {"1": 16, "2": 2, "3": 1, "5": 8, "6": 8}
    assert column(trace, "cpus_per_worker") == {"1": 4, "2": 4, "3": 4, "5": 1, "6": 1}
    assert column(trace, "partition") == column(trace, "group") == {"1": "vcA", **dict.fromkeys("2356", "vcB")}
    assert column(trace, "recorded_start_s")["1"] == 60
    assert trace.workload.meta["time_zero"] == "2020-06-09T18:41:00"
    assert "Cancelled jobs keep their recorded run time" in trace.assumptions


def test_helios_options():
    assert read(HELIOS, cancelled="drop").report.kept == 4
    assert read(HELIOS, cpu_jobs="drop").report.kept == 4


def test_helios_capacity_table_is_recognised():
    with pytest.raises(InputError, match=r"cluster_gpu_number\.csv\), which has no jobs"):
        read("date,vcA,vcB,total\n2020-06-09,16,112,128\n")


# ---- SWF -----------------------------------------------------------------------------------------


def swf(*lines: str, header: str = "; MaxNodes: 4\n; MaxProcs: 32\n; UnixStartTime: 1496275200\n") -> str:
    return header + "\n".join(lines) + "\n"


def line(job, submit=0, wait=0, run=60, procs=4, asked=4, status=1, partition=-1, before=-1, memory=-1, tail=""):
    first = [job, submit, wait, run, procs, -1, -1, asked, -1, memory, status, 3, 1, -1, 2, partition, before, -1]
    return "  ".join(map(str, first)) + tail


def test_swf():
    trace = read(swf(
        line(1, wait=10, memory=2 * 2**20), "; a comment between jobs", line(2, run=0.5),
        line(3, run=-1, procs=-1, status=5), line(4, procs=-1, asked=8), line(5, run=-1),
        line(6, before=4), line(7, tail="  64 -1 site:excl:8x64"), line(8, run=30, status=5), line(9, status=-1),
    ))  # fmt: skip
    assert trace.format_key == "swf"
    assert trace.report.counts == {"rows": 9, "kept": 7, "repaired": 1, "dropped": 2}
    assert reasons(trace, "dropped") == {"cancelled before it started": 1, "run time is -1 (unknown)": 1}
    cancelled = next(f for f in trace.report.findings if f.reason == "cancelled before it started")
    assert cancelled.examples[0].line == 7
    assert reasons(trace, "repaired") == {"no allocated processors": 1}
    assert reasons(trace, "not modelled") == {"waits for a preceding job (fields 17, 18)": 1}
    assert column(trace, "gpus") == {"1": 4, "2": 4, "4": 8, "6": 4, "7": 4, "8": 4, "9": 4}
    assert column(trace, "recorded_start_s")["1"] == 10
    assert column(trace, "mem_gib_per_worker")["1"] == 2
    assert column(trace, "user")["1"] == "user 3"
    assert column(trace, "recorded_status")["8"] == "cancelled"
    assert trace.workload.meta["time_zero"] == "2017-06-01T00:00:00Z"
    assert any(text.startswith("Each processor counted as one GPU") for text in trace.assumptions)
    assert [(p.count, p.vm.gpus) for p in trace.cluster.cluster.pools] == [(4, 8)]


def test_swf_processors_stand_for_gpus():
    text = swf(line(1, procs=16, partition=1), line(2, procs=12, partition=2))
    assert column(read(text, gpus_per_processor=0.125), "gpus") == {"1": 2, "2": 1.5}
    by_partition = read(text, cores_per_gpu={"2": 4})
    assert column(by_partition, "gpus") == {"1": 16, "2": 3}
    assert "partition 2: 4" in by_partition.assumptions[0]
    with pytest.raises(InputError, match="cores_per_gpu"):
        read(text, cores_per_gpu={"fast": 4})


def test_swf_partial_records_are_not_counted_twice():
    summed = read(swf(line(1, run=100), line(1, run=40, status=2), line(1, submit=50, run=60, status=3), line(2)))
    assert column(summed, "work") == {"1": 100, "2": 60}
    loose = read(swf(line(1, run=40, status=2), line(1, submit=50, run=60, status=3), line(2)))
    assert column(loose, "work") == {"1": 100, "2": 60}
    assert loose.report.counts == {"rows": 3, "kept": 2, "repaired": 0, "dropped": 1}


def test_swf_without_header_and_without_jobs():
    assert read(swf(line(1), line(2, submit=5), header="")).format_key == "swf"
    with pytest.raises(InputError, match="only comments and no jobs"):
        read("; Version: 2.2\n", format="swf")


def test_swf_jobs_cancelled_before_they_started_stay_until_then_if_asked():
    """Their wait is how long they stayed."""
    never = {"status": 5, "run": 0, "procs": -1}
    text = swf(line(1), line(2, wait=50, **never), line(3, wait=-1, **never), line(4, run=7, status=5))
    trace = read(text, never_started="keep")
    assert reasons(trace, "flagged")["cancelled before it started"] == 1
    assert reasons(trace, "dropped") == {"cancelled before it started": 1}
    assert column(trace, "cancel_after_s")["2"] == 50
    assert column(trace, "recorded_end_s")["2"] == column(trace, "submit_s")["2"] + 50
    assert column(trace, "recorded_start_s")["2"] != column(trace, "recorded_start_s")["2"]  # not a number: none
    assert list(column(read(text), "work")) == ["1", "4"]


def test_swf_hosts_after_the_18th_field_are_the_nodes_of_a_job():
    text = swf(
        line(1, procs=24, tail=" {n1,n1, n2} queue nodes=2:ppn=12"), line(2, submit=70, procs=8, tail=" {n2}"),
        line(3, submit=80, tail=" 7 {not}"), line(4, submit=90),
    )  # fmt: skip
    trace = read(text, processors="cpus")
    assert trace.workload.recorded_nodes.tolist() == ["n1,n2", "n2", "", ""]
    assert trace.cluster.source == "the log"
    assert {(pool.nodes, pool.vm.cpus) for pool in trace.cluster.cluster.pools} == {("n[1-2]", 12)}


def test_swf_partitions_split_the_nodes_where_their_peaks_fit():
    rows = [line(1, procs=16, partition=1), line(2, submit=10, procs=7, partition=2), line(3, submit=99, partition=2)]
    split = read(swf(*rows), processors="cpus").cluster
    assert [(pool.partition, pool.count, pool.vm.cpus) for pool in split.cluster.pools] == [("1", 2, 8), ("2", 1, 8)]
    assert split.notes == ("Nodes of the header that no partition ever needed are left out: 1",)
    shared = read(swf(*rows, line(4, submit=20, procs=17, partition=1)), processors="cpus").cluster
    assert [(pool.partition, pool.count) for pool in shared.cluster.pools] == [("", 4)]
    assert shared.notes == ("Up to 40 processors were used at once, more than the 32 of the header",)
    wide = read(swf(*rows, line(4, submit=20, wait=-1, procs=15, partition=2)), processors="cpus").cluster
    assert [(pool.partition, pool.count) for pool in wide.cluster.pools] == [("1", 2), ("2", 2)]  # it has no start
    one = read(swf(rows[0], line(2, partition=1)), processors="cpus").cluster
    assert [(pool.partition, pool.count) for pool in one.cluster.pools] == [("", 4)]
