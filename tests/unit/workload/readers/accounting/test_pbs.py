"""PBS and TORQUE accounting: records by hand, requests by the table of cases."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.workload import CPU
from dlsched.workload.readers import read_trace
from dlsched.workload.readers.accounting import rows
from dlsched.workload.readers.accounting.hosts import exec_hosts
from dlsched.workload.readers.accounting.pbs_requests import chunks_of, size_gib
from tests.support.traces import column, read, reasons

# 1,700,000,000 is 2023-11-14 22:13:20 UTC
TORQUE = (
    "11/14/2023 23:20:00;Q;1.head;queue=batch\n"
    "11/14/2023 23:20:05;S;1.head;user=ann group=lab queue=batch ctime=1700000000 start=1700000100\n"
    "\r\n"
    "11/14/2023 23:30:05;E;1.head;user=ann group=lab account=proj jobname=a queue=batch ctime=1700000000 "
    "qtime=1700000000 etime=1700000040 start=1700000100 owner=ann@head exec_host=n1/0-7+n2/0-7 "
    "exec_gpus=n1-gpu/0+n1-gpu/1+n2-gpu/0+n2-gpu/1 Resource_List.mem=32gb Resource_List.neednodes=2:ppn=8:gpus=2 "
    "Resource_List.nodect=2 Resource_List.nodes=2:ppn=8:gpus=2 Resource_List.walltime=01:00:00 session=7 "
    "end=1700000700 Exit_status=0 resources_used.walltime=00:10:00\r\n"
    "11/14/2023 23:31:05;D;2.head;requestor=bob@head\n"
    "11/14/2023 23:31:05;E;3[4].head;user=bob group=lab jobname=b queue=batch ctime=1700000010 etime=1700000010 "
    "start=1700000200 exec_host=n3/7+n3/6+n4/0 Resource_List.nodes=1:ppn=2+1:ppn=1 Resource_List.walltime=00:05:00 "
    "end=1700000500 Exit_status=271\n"
    "11/14/2023 23:32:05;A;4.head;requestor=bob@head\n"
    "11/14/2023 23:33:05;E;5.head;user=eve group=lab queue=long ctime=1700000020 etime=1700000020 start=0 "
    "end=1700000900 Exit_status=-4 Resource_List.nodes=1\n"
)
PRO = (
    '01/02/2024 00:00:00;L;license;floating license hour:1 day:1 month:1 max:10\n'
    '01/02/2024 00:10:00;E;10.pbs;user=ann group=users project=_pbs_project_default account="the lab" jobname=x '
    "queue=workq ctime=1704150000 qtime=1704150000 etime=1704150000 start=1704150010 "
    "exec_host=c1/0*8+c2/0*8 exec_vnode=(c1:ncpus=8:ngpus=4:mem=16777216kb)+(c2:ncpus=8:ngpus=4:mem=16777216kb) "
    "Resource_List.mem=32gb Resource_List.ncpus=16 Resource_List.ngpus=8 Resource_List.nodect=2 "
    "Resource_List.place=scatter Resource_List.select=2:ncpus=8:ngpus=4:mem=16gb:gpu_type=a100 "
    "Resource_List.walltime=24:00:00 session=1 end=1704150610 Exit_status=1 resources_used.walltime=00:05:00 "
    "eligible_time=00:00:00 run_count=1\n"
    "01/02/2024 00:11:00;E;11[].pbs;user=ann group=users queue=workq ctime=1704150000 start=1704150010 "
    "end=1704150610 Exit_status=0 Resource_List.ncpus=1\n"
    "01/02/2024 00:11:00;E;12.pbs;user=bob group=users project=deep queue=workq ctime=1704150001 etime=1704150001 "
    "start=1704150020 exec_host=c3/0 exec_vnode=(c3:ncpus=1) Resource_List.ncpus=1 Resource_List.select=1:ncpus=1 "
    "resources_used.walltime=00:01:40 Exit_status=0\n"
)  # fmt: skip


def test_torque_by_hand():
    trace = read(TORQUE)
    assert trace.format_key == "pbs"
    assert trace.report.counts == {"rows": 7, "kept": 2, "repaired": 0, "dropped": 5}
    assert reasons(trace, "dropped") == {
        "record of type Q (queued)": 1, "record of type S (started)": 1, "record of type D (deleted)": 1,
        "record of type A (aborted)": 1, "job never started": 1,
    }  # fmt: skip
    assert column(trace, "submit_s") == {"3[4].head": 0, "1.head": 30}  # eligible at 1,700,000,040
    assert column(trace, "held_s") == {"3[4].head": 0, "1.head": 40}
    assert column(trace, "recorded_start_s") == {"3[4].head": 190, "1.head": 90}
    assert column(trace, "work") == {"3[4].head": 300, "1.head": 600}
    assert column(trace, "workers") == {"3[4].head": 2, "1.head": 4}
    assert column(trace, "gpus_per_worker") == {"3[4].head": 0, "1.head": 1}
    assert column(trace, "cpus_per_worker") == {"3[4].head": 1.5, "1.head": 4}
    assert column(trace, "mem_gib_per_worker") == {"3[4].head": 0, "1.head": 8}
    assert column(trace, "limit_s") == {"3[4].head": 300, "1.head": 3600}
    assert column(trace, "group") == {"3[4].head": "lab", "1.head": "proj"}
    assert column(trace, "partition") == {"3[4].head": "batch", "1.head": "batch"}
    assert column(trace, "recorded_status") == {"3[4].head": "timeout", "1.head": "completed"}
    assert column(trace, "recorded_nodes") == {"3[4].head": "n3,n4", "1.head": "n1,n2"}
    assert reasons(trace, "not modelled") == {"cores are not spread evenly over the nodes": 1}
    assert trace.workload.meta["time_zero"] == "2023-11-14T22:13:30"
    assert trace.report.findings[0].examples[0].line == 1


def test_dates_of_high_resolution():
    assert read(TORQUE.replace("23:30:05;E", "23:30:05.123456;E")).report.kept == 2
    only = TORQUE.splitlines()[3].replace("23:30:05;E", "23:30:05.123456;E")
    assert read(only).format_key == "pbs"


def test_arrival_can_be_the_submission():
    trace = read(TORQUE, arrival="submit")
    assert column(trace, "submit_s") == {"1.head": 0, "3[4].head": 10}
    assert trace.workload.held_s is not None
    assert not trace.workload.held_s.any()


def test_pbs_professional_by_hand():
    trace = read(PRO)
    assert column(trace, "workers") == {"10.pbs": 8, "12.pbs": 1}
    assert column(trace, "gpus_per_worker") == {"10.pbs": 1, "12.pbs": 0}
    assert column(trace, "cpus_per_worker") == {"10.pbs": 2, "12.pbs": 1}
    assert column(trace, "mem_gib_per_worker") == {"10.pbs": 4, "12.pbs": 0}
    assert column(trace, "work") == {"10.pbs": 600, "12.pbs": 100}
    assert column(trace, "group") == {"10.pbs": "the lab", "12.pbs": "deep"}
    assert column(trace, "gpu_types") == {"10.pbs": "a100", "12.pbs": ""}
    assert column(trace, "recorded_status") == {"10.pbs": "failed", "12.pbs": "completed"}
    assert reasons(trace, "dropped") == {"record of type L (licences)": 1, "record of a whole job array": 1}
    assert reasons(trace, "repaired") == {"no end time": 1}
    assert reasons(trace, "flagged")["resources_used.walltime is not end - start"] == 1


def test_gpu_cases(shared_data):
    path = shared_data / "real" / "accounting" / "pbs_gpu_cases.json"
    if not path.exists():
        pytest.skip("the table of GPU cases is not there")
    cases = json.loads(path.read_text())
    assert [chunks_of(text).gpus for text, _ in cases] == [gpus for _, gpus in cases]


def test_real_log(shared_data):
    path = shared_data / "real" / "accounting" / "pbs_accounting.log"
    if not path.exists():
        pytest.skip("the real log is not there")
    jobs = read_trace(path).workload
    assert len(jobs) == 9
    assert jobs.gpus.sum() == 11  # 1 + 4 + 2 + 4
    assert jobs.requested[:, CPU].sum() == pytest.approx(277)  # 32 + 32 + 4 + 65 + 12 + 28 + 28 + 28 + 48


@pytest.mark.parametrize(
    ("text", "names", "cores", "even"),
    [
        ("n1/0", "n1", 1, True),
        ("n1/3+n1/2+n2/0", "n1,n2", 3, False),
        ("n1/0-7+n2/0-3,6", "n1,n2", 13, False),
        ("c1/0*13+c2/1*13", "c1,c2", 26, True),
        ("c1/0*0", "c1", 0, True),
        ("c1", "c1", 1, True),
        ("[h]/0", "h", 1, True),
    ],
)
def test_exec_hosts(text, names, cores, even):
    hosts = exec_hosts(text)
    assert (hosts.names, hosts.cores, hosts.even) == (names, cores, even)


@pytest.mark.parametrize("text", ["n1/0*x", "n1/a-b", "n1/0-9999999999", "n1/0*-1"])
def test_exec_hosts_that_cannot_be_read(text):
    with pytest.raises(ValueError, match=r".*"):
        exec_hosts(text)


def test_sizes():
    assert size_gib("16gb") == 16
    assert size_gib("1048576kb") == 1
    assert size_gib("1073741824") == 1
    assert size_gib("1024mw") == 8
    with pytest.raises(ValueError, match="lots"):
        size_gib("lots")


def test_chunks_of_several_shapes():
    chunks = chunks_of("1:ncpus=4:ngpus=2:mem=8gb+2:ncpus=8")
    assert (chunks.nodes, chunks.gpus, chunks.cores, chunks.mem_gib) == (3, 2, 20, 8)
    assert chunks_of("node7:ppn=4+2#shared:gpus=1").gpus == 2


def test_requests_that_differ_are_told():
    text = TORQUE.replace("Resource_List.nodes=2:ppn=8:gpus=2", "Resource_List.nodes=2:ppn=8:gpus=1")
    trace = read(text)
    assert trace.workload.gpus.sum() == 2
    assert reasons(trace, "flagged")["GPU counts of the request differ"] == 1


def test_a_line_that_is_cut_off_or_damaged_is_counted():
    cut = TORQUE[: TORQUE.index("D;2.head")] + "11/14/2023 23:31:05;E;9.head;user=bob ctime=17000x start=1"
    trace = read("garbage\n" + cut)
    assert reasons(trace, "dropped")["record is cut off or cannot be read"] == 2
    assert [e.line for f in trace.report.findings if f.unreadable for e in f.examples] == [1, 6]


def test_a_log_without_finished_jobs_says_so():
    with pytest.raises(InputError, match=r"no row can be used; most often \(1 times\): record of type Q"):
        read("11/14/2023 23:20:00;Q;1.head;queue=batch\n")


def test_bad_utf8_and_a_huge_count():
    trace = read(TORQUE.encode().replace(b"jobname=a", b"jobname=\xff\xfe"))
    assert len(trace.workload) == 2
    text = TORQUE.replace("nodes=2:ppn=8:gpus=2 Resource_List.wall", "nodes=2:ppn=8:gpus=999999 Resource_List.wall")
    assert reasons(read(text), "dropped")["requests too many GPUs or workers"] == 1


CELLS = st.sampled_from(
    ["", "0", "-1", "nan", "inf", "1e999", "9" * 40, "x", "=", ";", "+", ":", "(", '"', "\n", "\r\n", "é", "\u202e",
     "\x00", "[]", "E", "gpus=", "00:00:00:00:00", "-1:00", "*", "/"]
)  # fmt: skip


@given(st.data())
def test_mutated_logs_raise_only_input_errors(data):
    text = data.draw(st.sampled_from([TORQUE, PRO]))
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(CELLS) + text[start + data.draw(st.integers(0, 30)) :]
    for key in ("auto", "pbs"):
        try:
            trace = read(text.encode("utf-8", "replace"), format=key, zero_run="one-second", cancelled="drop")
        except InputError:
            continue
        assert trace.report.rows == trace.report.kept + trace.report.dropped


def test_a_line_that_no_scheduler_writes_is_set_aside(monkeypatch):
    monkeypatch.setattr(rows, "LONGEST_LINE", 800)
    trace = read(TORQUE + "11/14/2023 23:31:05;E;8.head;" + "a " * 500 + "start=1700000000 end=1700000001\n")
    assert reasons(trace, "dropped")["record is cut off or cannot be read"] == 1
