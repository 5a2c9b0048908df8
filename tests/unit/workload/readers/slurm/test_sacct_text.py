"""sacct as text: delimiters, missing headers, steps, arrays, requeues, running and never-started jobs; by hand."""

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers import read_trace
from dlsched.workload.readers.detection import choose, detect
from dlsched.workload.readers.slurm import SACCT_COMMAND
from dlsched.workload.readers.slurm.fields import KNOWN_ORDERS, field_names
from tests.support.traces import column, read, reasons

HEAD = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|NNodes|NCPUS"
    "|ReqTRES|AllocTRES|NodeList|TimelimitRaw|Priority"
)
ASKED = "cpu=8,gres/gpu=2,mem=32000M,node=1"
GIVEN = "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1"
T = "2024-03-01T08:0"
NEVER = {"start": "Unknown", "elapsed": "0", "given": "", "node": "None assigned"}


def entry(job, state="COMPLETED", start=T + "5:00", end=T + "6:00", elapsed="60", asked=ASKED, given=GIVEN, **more):
    submit = more.get("submit", T + "0:00")
    cells = {"jobid": job, "jobidraw": job, "jobname": more.get("name", "n"), "user": "al", "account": "nlp",
             "partition": more.get("partition", "gpu"), "qos": "high", "state": state, "submit": submit,
             "eligible": more.get("eligible", submit), "start": start, "end": end, "elapsedraw": elapsed,
             "nnodes": more.get("nodes", "1"), "ncpus": "8", "reqtres": asked, "alloctres": given,
             "nodelist": more.get("node", "g1"), "timelimitraw": more.get("limit", "120"), "priority": "9"}  # fmt: skip
    return "|".join(cells.values())


def sacct(*lines: str, head: str = HEAD, trailing: str = "") -> str:
    return "".join(line + trailing + "\n" for line in (head, *lines) if line)


LINES = (
    entry("1"),
    entry("1.batch"),
    entry("1.0"),
    entry("2_[4-9%2]", "PENDING", **NEVER),
    entry("3", "PENDING", **NEVER),
    entry("4", "CANCELLED by 77", start=T + "9:00", end=T + "9:00", elapsed="0", node="None assigned"),
    entry("5_3", "CANCELLED+", given=""),
    entry("6", "RUNNING", end="Unknown", elapsed="3600", asked="cpu=8,gres/gpu:h100=2,gres/gpu=2"),
    entry("7", "TIMEOUT", asked="cpu=128,mem=512G", given="cpu=128,mem=512G", nodes="2", node="c[1-2]"),
    entry("8", "OUT_OF_ME+", given="cpu=8,gres/gpu:a100=2,gres/gpu:t4=1"),
    entry("9", name="a|b"),
    entry("10", "FAILED", end=T + "5:00", elapsed="0"),
)


@pytest.mark.parametrize("trailing", ["", "|"], ids=["-P", "-p"])
def test_rows_by_hand(trailing):
    trace = read(sacct(*LINES, trailing=trailing))
    assert trace.format_key == "sacct"
    assert trace.report.counts == {"rows": 12, "kept": 7, "repaired": 2, "dropped": 5}
    assert reasons(trace, "dropped") == {
        "job step": 2,
        "pending part of a job array": 1,
        "job was pending": 1,
        "job never started": 1,
    }
    pending = next(f for f in trace.report.findings if f.reason.startswith("pending part"))
    assert "6 array tasks" in pending.rule
    assert reasons(trace, "repaired") == {
        "delimiter inside JobName": 1,
        "run time is 0 s, but the job started": 1,
    }
    assert column(trace, "gpus") == {"1": 2, "5_3": 2, "6": 2, "7": 0, "8": 3, "9": 2, "10": 2}
    assert column(trace, "workers")["7"] == 2
    assert column(trace, "cpus_per_worker")["7"] == 64
    assert column(trace, "mem_gib_per_worker")["1"] == 32
    assert column(trace, "mem_gib_per_worker")["5_3"] == 32000 / 1024 / 2
    assert column(trace, "gpu_types") == {"1": "", "5_3": "", "6": "h100", "7": "", "8": "", "9": "", "10": ""}
    assert column(trace, "work") | {"1": 60} == {"1": 60, "5_3": 60, "6": 3600, "7": 60, "8": 60, "9": 60, "10": 1}
    status = ["completed", "cancelled", "running", "timeout", "out_of_memory", "completed", "failed"]
    assert list(column(trace, "recorded_status").values()) == status
    assert list(column(trace, "recorded_start_s").values()) == [300.0] * 7
    assert column(trace, "recorded_nodes")["7"] == "c[1-2]"
    assert column(trace, "limit_s")["1"] == 7200
    assert column(trace, "priority")["1"] == 9


# ---- how the text is written -----------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", ["|#", "☃", "\t", ";", "^", "~", "!", "||", "@@", "<->", "§", "^|^", ";|;"])
@pytest.mark.parametrize("ends", ["", "\r"], ids=["lf", "crlf"])
def test_any_delimiter(delimiter, ends):
    trace = read(sacct(*LINES[:10], LINES[11], trailing=ends).replace("|", delimiter))
    assert trace.format_key == "sacct"
    assert trace.report.kept == 6
    assert column(trace, "gpus")["8"] == 3
    assert column(trace, "recorded_nodes")["7"] == "c[1-2]"


def test_commas_need_quotes():
    lines = [",".join(f'"{cell}"' for cell in line.split("|")) for line in (HEAD, *LINES[:10])]
    assert read("\n".join(lines)).report.kept == 5


def test_commas_without_quotes_are_named():
    with pytest.raises(InputError, match="hold commas too"):
        read(sacct(*LINES[:10]).replace("|", ","))


def test_names_with_widths_in_any_case_and_a_clock():
    text = sacct(
        entry("1", elapsed="1-02:03:04"), entry("2", elapsed="05:06"), head=HEAD.replace("ElapsedRaw", "elapsed")
    )
    trace = read(text.replace("AllocTRES|", "ALLOCTRES%60|").replace("JobID|", "jobid%20|", 1))
    assert column(trace, "work") == {"1": 93784, "2": 306}


@pytest.mark.parametrize("trailing", ["", "|"], ids=["-P", "-p"])
def test_no_header_and_a_list_of_fields(trailing):
    text = sacct(*LINES, head="", trailing=trailing)
    with pytest.raises(InputError, match=r"no header line.*sacct_fields"):
        read(text)
    trace = read(text, sacct_fields=HEAD.replace("|", ", ").replace("State", "State%20"))
    assert trace.report.kept == 7
    assert trace.report.notes == ("No header line: fields read in the order of the list given",)
    with pytest.raises(InputError, match="do not have the 3 fields"):
        read(text, sacct_fields="JobID,User,State")


def test_delimiter_before_the_first_word():
    text = "".join(f"|{line}\n" for line in LINES[:10]).replace("|", "^|^")
    assert read(text, sacct_fields="Comment," + HEAD.replace("|", ",")).report.kept == 5


SAMPLE = {
    "jobid": "17", "jobidraw": "17", "state": "COMPLETED", "submit": T + "0:00", "eligible": T + "0:00",
    "start": T + "5:00", "end": T + "6:40", "elapsed": "00:01:40", "elapsedraw": "100", "nnodes": "2", "ncpus": "16",
    "reqcpus": "16", "reqmem": "4Gc", "nodelist": "n[1-2]", "timelimit": "01:00:00", "timelimitraw": "60",
    "reqtres": "cpu=16,node=2", "alloctres": "cpu=16,gres/gpu=4,node=2", "reqgres": "gpu:2", "gid": "7", "uid": "8",
    "user": "al", "account": "nlp", "partition": "p", "qos": "q",
}  # fmt: skip


@pytest.mark.parametrize(("name", "order"), KNOWN_ORDERS)
@pytest.mark.parametrize("trailing", ["", "☃"], ids=["-P", "-p"])
def test_known_orders(name, order, trailing):
    names = field_names(order)
    line = "☃".join(SAMPLE.get(field, "") for field in names) + trailing
    trace = read(f"{line}\n{line.replace('17', '18')}\n")
    assert any(note.endswith(f"in the order of {name}") for note in trace.report.notes)
    gpus = 4 if {"alloctres", "reqgres"} & set(names) else 0
    assert trace.workload.gpus.tolist() == [gpus] * 2
    assert trace.workload.work.tolist() == [100, 100]
    assert trace.workload.limit_s.tolist() == [3600, 3600]


def test_pending_jobs_can_be_kept_as_they_wait():
    head = HEAD + "|Reason"
    lines = [entry("1") + "|None", entry("3", "PENDING", **NEVER) + "|Priority",
             entry("4", "PENDING", submit=T + "3:00", **NEVER) + "|Dependency", LINES[3] + "|Resources",
             LINES[5] + "|None"]  # fmt: skip
    trace = read(sacct(*lines, head=head), pending="keep")
    assert list(trace.workload.job_id) == ["1", "3", "4"]
    assert reasons(trace, "dropped") == {"pending part of a job array": 1, "job never started": 1}
    assert list(trace.workload.recorded_status) == ["completed", "pending (Priority)", "held (Dependency)"]
    assert list(trace.workload.work) == [60, 7200, 7200]
    assert np.isnan(trace.workload.recorded_start_s[1:]).all()
    assert trace.workload.meta["snapshot"] == "2024-03-01T08:09:00"


def test_header_lines_again_blank_lines_and_a_prompt():
    text = "$ sacct -a -X\n\n" + sacct(LINES[0], "", HEAD, entry("2"), HEAD)
    trace = read(text)
    assert trace.report.kept == 2
    assert reasons(trace, "dropped") == {"repeated header line": 2}
    assert trace.report.of_kind("dropped")[0].examples[0].line == 5


def test_record_over_several_lines():
    head = HEAD + "|Comment|WorkDir"
    whole, cut, last = (line + "|see\nthe\n\nwiki|/home" if n == 1 else line + "|ok|/home"
                        for n, line in enumerate((entry("1"), entry("2"), entry("3"))))  # fmt: skip
    trace = read(sacct(whole, cut, last, "4|broken", entry("5", "PENDING", **NEVER) + "|ok|/home", head=head))
    assert list(trace.workload.job_id) == ["1", "2", "3"]
    assert reasons(trace, "dropped") == {"wrong number of fields in the line": 1, "job was pending": 1}
    assert {f.reason: f.examples[0].line for f in trace.report.of_kind("dropped")} == {
        "wrong number of fields in the line": 8,
        "job was pending": 9,
    }


def test_a_line_of_its_own_is_not_part_of_the_next_record():
    trace = read(sacct(entry("1"), "sacct: warning", entry("2"), entry("3")))
    assert list(trace.workload.job_id) == ["1", "2", "3"]
    assert reasons(trace, "dropped") == {"wrong number of fields in the line": 1}


@pytest.mark.parametrize("delimiter", ["|", "☃"])
def test_bytes_that_are_not_utf8(delimiter):
    text = sacct(entry("1", name="caf#"), entry("2", name="x")).replace("|", delimiter).encode().replace(b"#", b"\xe9")
    assert list(read(text).workload.job_id) == ["1", "2"]


def test_epoch_times():
    text = sacct(entry("1", start="1709280300", end="1709280360", submit="1709280000"))
    trace = read(text)
    assert trace.workload.meta["time_zero"] == "2024-03-01T08:00:00"
    assert trace.workload.meta["time_zone"] == "UTC"
    assert "sacct host" in read(sacct(entry("1"))).workload.meta["time_zone"]
    assert read(sacct(entry("1", submit=T + "0:00+01:00"))).workload.meta["time_zone"] == "UTC"
    assert column(trace, "recorded_start_s") == {"1": 300}


def test_table_for_the_screen():
    table = "JobID           JobName      State\n------------ ---------- ----------\n1  a  b  COMPLETI+\n"
    with pytest.raises(InputError, match=r"table for the screen.*-P"):
        read(table)


def test_what_is_missing():
    for gone, named in (("Submit|Eligible|Start|", "submit or eligible or start"), ("JobID|JobIDRaw|", "jobid")):
        with pytest.raises(InputError, match=named):
            read(sacct(entry("1"), head=HEAD.replace(gone, "X|" * gone.count("|"))), format="sacct")
    with pytest.raises(InputError, match="alloctres or reqtres"):
        read("JobID|State|Submit|Start|Elapsed\n1|COMPLETED|x|y|z\n")


@pytest.mark.parametrize(
    "text",
    [
        "JobID,User,Submit,Start,End,State\n1,al,0,1,2,done\n",
        "JobID|State|Submit|fuel|wheels|doors\n1|COMPLETED|2024-03-01T08:00:00|1|2|3\n",
        "job_id,submit_time,start_time,end_time,state,gpus\n1,2024-03-01T08:00:00,2024-03-01T08:01:00,x,COMPLETED,1\n",
    ],
)
def test_tables_of_others_are_not_taken(text):
    assert choose(detect(text.encode()), "t").key == "csv"


def test_the_command_asks_for_what_is_read():
    assert "-X" in SACCT_COMMAND
    assert "--state" not in SACCT_COMMAND


# ---- jobs ------------------------------------------------------------------------------------------


def test_eligible_and_requeue():
    lines = [entry("1", "REQUEUED"), entry("1", submit=T + "1:00", eligible=T + "2:00")]
    trace = read(sacct(*lines))
    assert list(trace.workload.job_id) == ["1", "1#2"]
    assert list(trace.workload.submit_s) == [0, 120]
    assert column(trace, "held_s") == {"1": 0, "1#2": 60}
    assert reasons(trace, "flagged")["stopped by preemption, requeue or a node"] == 1
    assert any(f.reason.startswith("held back") for f in trace.report.findings)
    assert list(read(sacct(*lines), arrival="submit").workload.submit_s) == [0, 60]


def test_steps_whose_job_is_not_in_the_file_are_counted_apart():
    trace = read(sacct(entry("1"), entry("1.0"), entry("2.batch"), entry("3_1.extern"), entry("3_1")))
    assert list(trace.workload.job_id) == ["1", "3_1"]
    assert reasons(trace, "dropped") == {"job step": 2, "job step without its job": 1}


@pytest.mark.parametrize("first", ["extern", "batch"])
def test_steps_alone_become_jobs(first):
    steps = [entry(f"{job}.{step}", asked="", elapsed="90" if step == first else "7")
             for job in ("1", "2_3") for step in ("extern", "batch", "0")[first == "batch" :]]  # fmt: skip
    trace = read(sacct(*steps))
    assert list(trace.workload.job_id) == ["1", "2_3"]
    assert trace.workload.work.tolist() == [90, 90]
    assert reasons(trace, "repaired")["job without a row of its own"] == 2
    assert trace.workload.recorded_start_s is None
    assert any("only job steps" in note for note in trace.assumptions)
    with pytest.raises(InputError, match=r"1 job steps.*-X"):
        read(sacct(entry("1.0")))


def test_clock_change_running_and_limits():
    night, day = "2024-03-31T01:30:00", "2024-03-31T03:00:00"
    lines = [
        entry("1", submit=night, start=night, end="2024-03-31T03:31:00", elapsed="3660"),
        entry("2", "RUNNING", submit=night, start=day, end="Unknown", elapsed="", limit="UNLIMITED"),
        entry(
            "3", submit=night, start=day, end="2024-03-31T03:00:10", elapsed="", limit="Partition_Limit", partition="x"
        ),
    ]
    trace = read(sacct(*lines))
    assert column(trace, "work") == {"1": 3660, "2": 1860, "3": 10}
    assert reasons(trace, "flagged")["clock changed by 1 h while the job ran"] == 1
    assert reasons(trace, "repaired") == {"running job without elapsed time": 1, "time limit not recorded": 1}
    assert column(trace, "limit_s") == {"1": 7200, "2": 365 * 86400, "3": 365 * 86400}
    assert read(sacct(*lines), censored="drop").report.kept == 2


def test_memory_of_whole_nodes_and_suspended_time_are_counted():
    lines = [
        entry("1", asked="cpu=8,mem=0", given="cpu=8,gres/gpu=8,mem=0,node=1"),
        entry("2", asked="", given="cpu=8,mem=0", end=T + "9:00", elapsed="60"),
        entry("3", asked="cpu=8,mem=8G", given="cpu=8,mem=0"),
    ]
    trace = read(sacct(*lines))
    assert reasons(trace, "not modelled") == {"holds all memory of its nodes (mem=0)": 2}
    assert reasons(trace, "flagged")["elapsed time is not end − start"] == 1
    assert column(trace, "mem_gib_per_worker") == {"1": 0, "2": 0, "3": 8}


def test_never_started_without_node_names():
    head = HEAD.replace("NodeList", "WorkDir")
    lines = [entry("1"), entry("2", "CANCELLED by 7", start=T + "9:00", end=T + "9:00", elapsed="0"),
             entry("3", "RUNNING", end="Unknown", elapsed="0")]  # fmt: skip
    trace = read(sacct(*lines, head=head))
    assert column(trace, "work") == {"1": 60, "3": 1}
    assert reasons(trace, "dropped") == {"job never started": 1}


def test_jobs_that_left_without_a_start_stay_in_the_queue_until_then_if_asked():
    """Slurm writes Start = End and even AllocTRES for them; one was held until it left, one has no end."""
    left = {"state": "CANCELLED by 7", "start": T + "9:00", "end": T + "9:00", "elapsed": "0", "node": "None assigned"}
    lines = [
        entry("1"), entry("2", **left, limit="5"), entry("3", **left, eligible=T + "2:00", limit="600"),
        entry("4", **left, eligible="Unknown"), entry("5", **left | {"end": "Unknown"}),
    ]  # fmt: skip
    trace = read(sacct(*lines), never_started="keep")
    assert column(trace, "cancel_after_s") == {"1": pytest.approx(np.nan, nan_ok=True), "2": 540, "3": 420}
    assert column(trace, "work") == {"1": 60, "2": 300, "3": 420}
    assert column(trace, "submit_s") == {"1": 0, "2": 0, "3": 120}
    assert column(trace, "recorded_end_s") == {"1": 360, "2": 540, "3": 540}
    assert np.isnan([column(trace, "recorded_start_s")[name] for name in "23"]).all()
    assert column(trace, "recorded_nodes") == {"1": "g1", "2": "", "3": ""}
    assert reasons(trace, "flagged")["job never started"] == 2
    assert reasons(trace, "dropped") == {"job never started and was never in the queue": 2}
    assert reasons(read(sacct(*lines)), "dropped") == {"job never started": 4}


def test_a_log_cut_to_its_complete_part_has_no_jobs_that_left_before():
    """Jobs that end from 9:00 on: one waited since 8:00 and left at 9:05, another left at 8:30."""
    at = "2024-03-01T0"
    left = {"state": "CANCELLED by 7", "elapsed": "0", "node": "None assigned", "submit": at + "8:00:00"}
    lines = [
        entry("1", submit=at + "1:00:00", start=at + "1:00:00", end=at + "9:00:00", elapsed="28800"),
        entry("2", **left, start=at + "9:05:00", end=at + "9:05:00"),
        entry("3", **left, start=at + "8:30:00", end=at + "8:30:00"),
        *(entry(f"{n}", submit=f"{at}9:{n}:00", start=f"{at}9:{n}:00", end=f"{at}9:{n}:30") for n in range(10, 60)),
    ]
    trace = read(sacct(*lines), never_started="keep")
    assert reasons(trace, "dropped") == {"job never started": 1}
    assert (column(trace, "submit_s")["2"], column(trace, "cancel_after_s")["2"]) == (1, 300)
    assert column(trace, "recorded_end_s")["2"] == 301


def test_gpus_of_old_slurm_are_in_gres():
    head = HEAD.replace("ReqTRES", "ReqGRES").replace("AllocTRES", "ReqMem")
    lines = [entry("1", asked="gpu:a100:4", given="48000Mn", nodes="2"), entry("2", asked="", given="2147486448Mn")]
    trace = read(sacct(*lines, head=head))
    assert column(trace, "gpus") == {"1": 8, "2": 0}
    assert column(trace, "gpu_types") == {"1": "a100", "2": ""}
    assert column(trace, "mem_gib_per_worker") == {"1": 96_000 / 1024 / 8, "2": 8 * 2800 / 1024}
    assert any("per node" in note for note in trace.assumptions)


def test_heterogeneous_jobs():
    cpu = "cpu=64,mem=128G,node=1"
    lines = [
        entry("5+0", node="g1"), entry("5+1", node="g2"),
        entry("6+0", node="g3"), entry("6+1", asked=cpu, given=cpu, node="c1"),
    ]  # fmt: skip
    trace = read(sacct(*lines))
    assert column(trace, "gpus") == {"5": 4, "6+0": 2, "6+1": 0}
    assert column(trace, "workers") == {"5": 4, "6+0": 2, "6+1": 1}
    assert column(trace, "recorded_nodes")["5"] == "g1,g2"
    assert reasons(trace, "dropped") == {"component of a heterogeneous job": 1}
    assert reasons(trace, "not modelled") == {"component of a heterogeneous job": 2}


# ---- the real exports ------------------------------------------------------------------------------

REAL = {
    "sacct/gcm_sample-sacct-multiple-multiline.txt": (2, 1280),
    "sacct/gcm_sample-sacct-output-invalid-utf8.txt": (2, 9),
    "sacct/hb-jobinfo_sacct.txt": (90, 14),
    "xdmod/phillips.log": (4046, 4),
    "accounting/slurm_accounting.log": (4, 2),
}


@pytest.mark.parametrize("name", REAL)
def test_real_exports(shared_data, name):
    trace = read_trace(shared_data / "real" / name)
    assert trace.format_key == "sacct"
    assert (len(trace.workload), trace.workload.gpus.sum()) == REAL[name]


def test_real_steps_are_refused(shared_data):
    with pytest.raises(InputError, match="68 job steps"):
        read_trace(shared_data / "real" / "sacct" / "gcm_sample-sacct-output.txt")
