"""Google 2011 and Alibaba PAI 2020, whose tables have no header line: shapes, traps and values by hand."""

import contextlib

import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers.formats import NotJobs
from tests.support.traces import column, read, reasons

# ---- Google 2011 ---------------------------------------------------------------------------------

LAST = 2**63 - 1


def event(at_s, job, task, kind, machine="", cpus="0.25", priority=9):
    time_us = at_s if at_s == LAST else round(at_s * 1e6)
    return f"{time_us},,{job},{task},{machine},{kind},u{job},2,{priority},{cpus},0.01,0.001,0"


EVENTS = "\n".join([
    "# a comment as some tools write it",
    event(600, 71, 0, 0), event(600, 71, 1, 0, cpus="0.5"),
    event(0, 72, 0, 0), event(0, 72, 0, 1, "90"),
    event(610, 71, 0, 1, "91"), event(620, 71, 1, 1, "92", cpus="0.5"),
    event(630, 71, 1, 2, "92", cpus="0.5"),  # evicted after 10 s
    event(630, 71, 1, 0, cpus="0.5"), event(650, 71, 1, 1, "91", cpus="0.5"),
    event(640, 73, 0, 0), event(645, 73, 0, 5),  # killed before it was ever scheduled
    event(655, 74, 0, 0, cpus=""), event(656, 74, 0, 1, "93", cpus=""), event(660, 74, 0, 3, "93", cpus=""),
    event(700, 71, 1, 4, "91", cpus="0.5"), event(660, 71, 0, 4, "91"),  # out of order in the file
    event(LAST, 72, 0, 5, "90"),  # after the trace
    event(700, 75, 0, 0), event(701, 75, 0, 1, "94"), event(702, 75, 0, 8, "94", cpus="0.75"),
    event(720, 75, 0, 5, "94", cpus="0.75"), event(700, 75, 1, 0),
]) + "\n"  # fmt: skip


def test_google_task_events():
    trace = read(EVENTS)
    assert trace.format_key == "google-2011"
    assert trace.report.counts == {"rows": 5, "kept": 3, "repaired": 0, "dropped": 2}
    assert reasons(trace, "dropped") == {
        "no task was ever scheduled": 1,
        "requests no resources": 1,
    }
    # 71: task 0 runs 610 to 660; task 1 runs 620 to 630 and 650 to 700, 60 s; 72 runs from 0 to the last event at 720
    assert column(trace, "work") == {"71": 60, "72": 720, "75": 19}
    assert column(trace, "submit_s") == {"71": 600, "72": 0, "75": 700}
    assert column(trace, "recorded_start_s") == {"71": 610, "72": 0, "75": 701}
    assert column(trace, "recorded_end_s")["71"] == 700
    assert column(trace, "workers") == {"71": 2, "72": 1, "75": 1}
    assert column(trace, "cpus_per_worker") == {"71": 0.375, "72": 0.25, "75": 0.25}
    assert column(trace, "recorded_status") == {"71": "completed", "72": "running", "75": "cancelled"}
    assert column(trace, "recorded_nodes") == {"71": "91,92", "72": "90", "75": "94"}
    assert column(trace, "user")["71"] == "u71"
    assert set(column(trace, "priority").values()) == {9}
    assert reasons(trace, "flagged") == {
        "job without GPUs": 3,
        "no cpus_per_worker": 1,
        "still running when the trace ended": 1,
        "submitted before the trace starts (time 0)": 1,
        "running when the trace starts (time 0)": 1,
        "some tasks were never scheduled": 1,
        "a request changes from event to event": 1,
    }
    assert any("share" in text and "largest machine" in text for text in trace.assumptions)
    # modelled: 71 0.75 x 60, 72 0.25 x 720, 75 0.25 x 19; recorded: 71 0.25 x 50 + 0.5 x 60
    assert any(f"{(45 + 180 + 4.75) / (42.5 + 180 + 4.75):.2f}x the recorded" in text for text in trace.assumptions)
    dropped = next(f for f in trace.report.findings if f.reason == "no task was ever scheduled")
    assert (dropped.examples[0].line, dropped.examples[0].value) == (11, "73")


def test_google_options():
    assert "72" not in read(EVENTS, censored="drop").workload.job_id
    assert "75" not in read(EVENTS, cancelled="drop").workload.job_id


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("600000000,,34,0,u,2,jn,ln\n601000000,,34,1,u,2,jn,ln\n", "Google 2011 job_events", id="jobs"),
        pytest.param("0,41,0,p,0.5,0.2493\n900,32,1,p,,\n", "Google 2011 machine_events", id="machines"),
        pytest.param("600,900,3,0,41,0.1" + ",0.5" * 14 + "\n", "Google 2011 task_usage", id="usage"),
        pytest.param("file pattern,field number,content,format,mandatory\na,1,time,INTEGER,YES\n",
                     "Google 2011 schema", id="schema"),
    ],
)  # fmt: skip
def test_google_tables_without_jobs(text, name):
    with pytest.raises(NotJobs, match="Give a file of task_events") as error:
        read(text)
    assert error.value.named_as == name


def test_numbers_of_a_like_shape_are_not_taken_for_the_trace():
    for row in ("1,2,3,4,5,6,7,8", "1,2,0,4,0,1", ",".join(["1"] * 13), ",".join(["7"] * 20)):
        with pytest.raises(InputError) as caught:
            read(f"{row}\n{row}\n")
        assert "Google" not in str(caught.value)


# ---- Alibaba PAI ---------------------------------------------------------------------------------

TASKS = """\
j1,worker,2.0,Terminated,1000.0,1100.0,600.0,30.0,50.0,T4
j2,ps,2.0,Terminated,1010.0,1200.0,400.0,10.0,,
j2,worker,4.0,Terminated,1020.0,1250.0,800.0,20.0,100.0,V100
j3,chief,1.0,Failed,1030.0,1090.0,100.0,1.0,200.0,V100
j3,worker,3.0,Terminated,1040.0,0,100.0,1.0,100.0,P100
j4,worker,8.0,Running,1050.0,,100.0,1.0,100.0,V100M32
j5,worker,8.0,Waiting,,,100.0,1.0,100.0,V100
j6,eval,5.0,Terminated,1060.0,1070.0,300.0,2.0,0.0,
j7,eval,,Terminated,1060.0,1070.0,300.0,2.0,100.0,T4
"""
HEADER = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"


@pytest.mark.parametrize("text", [TASKS, HEADER + TASKS], ids=["as published", "header put in front"])
def test_pai_tasks(text):
    trace = read(text)
    assert trace.format_key == "pai"
    assert reasons(trace, "dropped") == {"no task has a start time": 1, "no instance count": 1}
    assert column(trace, "submit_s") == {"j1": 1000, "j2": 1010, "j3": 1030, "j4": 1050, "j6": 1060}
    assert column(trace, "work") == {"j1": 100, "j2": 240, "j3": 60, "j4": 200, "j6": 10}
    assert column(trace, "gpus") == {"j1": 1, "j2": 4, "j3": 5, "j4": 8, "j6": 0}
    assert column(trace, "workers") == {"j1": 2, "j2": 4, "j3": 5, "j4": 8, "j6": 5}
    assert column(trace, "cpus_per_worker") == {"j1": 6, "j2": (8 + 32) / 4, "j3": 0.8, "j4": 1, "j6": 3}
    assert column(trace, "mem_gib_per_worker")["j2"] == (20 + 80) / 4
    assert column(trace, "gpu_types") == {"j1": "T4", "j2": "V100", "j3": "P100|V100", "j4": "V100M32", "j6": ""}
    assert column(trace, "recorded_status")["j3"] == "failed"
    assert trace.workload.recorded_start_s is None
    assert any("pai_job_table" in text for text in trace.assumptions)
    assert reasons(trace, "flagged") == {
        "job was still running": 1,
        "tasks of the job ask for different GPU counts per instance": 1,
        "instances without GPUs beside instances with GPUs": 1,
        "job without GPUs": 1,
    }
    assert "j4" not in read(text, censored="drop").workload.job_id


@pytest.mark.parametrize(
    ("row", "name"),
    [
        pytest.param("j1,i1,u1,Terminated,1739100.0,1739200.0", "pai_job_table", id="jobs"),
        pytest.param("j,t,i,w,i,Failed,1.0,2.0,m", "pai_instance_table", id="instances"),
        pytest.param("j,t,w,i,m,/dev/nvidia0" + ",1.5" * 10, "pai_sensor_table", id="sensors"),
        pytest.param("i1,u1,V100,grp1,bert", "pai_group_tag_table", id="tags"),
        pytest.param("m1,T4,96,512,2", "pai_machine_spec", id="machines"),
    ],
)
def test_pai_tables_without_demands(row, name):
    with pytest.raises(NotJobs, match="Give pai_task_table") as error:
        read(row + "\n" + row + "\n")
    assert error.value.named_as == f"Alibaba PAI {name}"


def test_pai_simulator():
    trace = read(
        "job_id,user,gpu_type,num_gpu,num_cpu,submit_time,num_inst,wait_time,duration,user_dur\n"
        "1,u,V100,4,24,100,2,5.5,60,61\n2,u,CPU,0,8,110,1,,30,31\n3,v,MISC,0.5,6,120,1,0,0,1\n"
    )
    assert trace.format_key == "pai-simulator"
    assert column(trace, "gpus") == {"1": 4, "2": 0}
    assert column(trace, "cpus_per_worker") == {"1": 6, "2": 8}
    assert column(trace, "gpu_types") == {"1": "V100", "2": ""}
    assert column(trace, "recorded_start_s")["1"] == 105.5
    assert reasons(trace, "dropped") == {"run time is 0 s": 1}
    assert reasons(trace, "not modelled") == {"job has several instances (num_inst)": 1}


@pytest.mark.parametrize("key", ["google-2011", "pai", "pai-simulator"])
@pytest.mark.parametrize("text", ["a,b\n1,2\n", "x\n", TASKS, EVENTS], ids=["table", "word", "pai", "google"])
def test_other_files_give_one_message(key, text):
    with contextlib.suppress(InputError):
        read(text, format=key)
