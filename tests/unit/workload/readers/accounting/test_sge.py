"""Grid Engine accounting: seconds and milliseconds, categories, tasks of parallel jobs, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.readers import read_trace
from tests.support.traces import column, read, reasons

T0 = 1_700_000_000  # 2023-11-14 22:13:20 UTC


def record(
    job, *, host="n1", start=100, end=700, slots=1, pe="NONE", category="-U users -l h_rt=3600", task=0, failed=0,
    exit_status=0, project="NONE", account="sge", pe_task="NONE", unit=1, submit=0, more="",
):  # fmt: skip
    """Return a line of 45 fields and ``more``; times are seconds after T0, written in ``unit`` a second."""
    at = [T0 + submit if submit >= 0 else 0, T0 + start if start else 0, T0 + end if end else 0]
    fields = ["all.q", host, "staff", "ann", "train", job, account, 0, *(t * unit for t in at), failed, exit_status,
              end - start, *["0.0"] * 17, project, "defaultdepartment", pe, slots, task, 1.0, 0.1, 0.0, category, 0.0,
              pe_task, 1000.0, 0, 0]  # fmt: skip
    assert len(fields) == 45
    return ":".join(map(str, fields)) + more + "\n"


LOG = (
    "# Version: 8.1.9\n#\n"
    + record(1, category="-U users -l gpu=2,h_rt=3600,mem_free=8G -pe smp 4", slots=4, pe="smp", project="deep")
    + record(
        2,
        task=5,
        category="-l h_rt=00:20:00,s_rt=60",
        failed=37,
        exit_status=137,
        unit=1000,
        more=":default:NONE:12345:login:/home/ann",
    ).replace("\n", "\r\n")
    + "\n"
    + record(3, host="n1", slots=8, pe="mpi", category="-l h_rt=INFINITY,s_rt=900 -pe mpi 8", account="acme")
    + record(3, host="n2", slots=1, pe="mpi", start=110, end=690, pe_task="1.n2", submit=-1, unit=1)
    + record(4, slots=6, pe="mpi", category="NONE", exit_status=1)
    + record(5, host="UNKNOWN", start=0, end=0, failed=1)
    + record(6, category="-l gpu=TRUE,h_rt=60")
    + record(7)[:90]
)


def test_records_by_hand():
    trace = read(LOG)
    assert trace.format_key == "sge"
    assert trace.report.counts == {"rows": 8, "kept": 4, "repaired": 0, "dropped": 4}
    assert reasons(trace, "dropped") == {
        "task of a parallel job": 1, "record is cut off or cannot be read": 1, "GPU request is no number": 1,
        "job never started": 1,
    }  # fmt: skip
    assert set(trace.workload.submit_s) == {0}
    assert set(trace.workload.recorded_start_s) == {100}
    assert set(trace.workload.work) == {600}
    assert column(trace, "workers") == {"1": 2, "2.5": 1, "3": 2, "4": 6}
    assert column(trace, "gpus_per_worker") == {"1": 1, "2.5": 0, "3": 0, "4": 0}
    assert column(trace, "cpus_per_worker") == {"1": 2, "2.5": 1, "3": 4, "4": 1}
    assert column(trace, "limit_s")["1"] == 3600
    assert column(trace, "limit_s")["2.5"] == 1200
    assert column(trace, "limit_s")["3"] == 900
    assert column(trace, "recorded_nodes") == {"1": "n1", "2.5": "n1", "3": "n1,n2", "4": "n1"}
    assert column(trace, "recorded_status") == {"1": "completed", "2.5": "timeout", "3": "completed", "4": "failed"}
    assert column(trace, "group") == {"1": "deep", "2.5": "staff", "3": "acme", "4": "staff"}
    assert set(trace.workload.partition) == {"all.q"}
    assert reasons(trace, "not modelled") == {"job asks for memory": 1}
    flagged = reasons(trace, "flagged")
    assert flagged["GPUs asked for by a job of several slots"] == 1
    assert flagged["nodes of a parallel job are not told"] == 1
    assert trace.workload.meta["time_zero"] == "2023-11-14T22:13:20"


def test_gpus_may_count_by_slot():
    assert read(LOG, sge_gpus="slot").workload.gpus.sum() == 8


def test_real_log(shared_data):
    path = shared_data / "real" / "accounting" / "sge_accounting.log"
    if not path.exists():
        pytest.skip("the real log is not there")
    trace = read_trace(path)
    assert trace.report.counts == {"rows": 2, "kept": 1, "repaired": 0, "dropped": 1}  # the same job twice
    assert trace.workload.work.tolist() == [60]
    assert trace.workload.columns()["limit_s"].tolist() == [36_000]
    assert trace.workload.columns()["recorded_start_s"].tolist() == [1_311_095_354 - 1_310_761_621]


@pytest.mark.parametrize(
    ("category", "limit_s"),
    [("-l h_rt=24:00:00", 86_400), ("-l h_rt=01:00:00 -pe mpi 2", 3600), ("-l gpu=1,h_rt=60 -q a,b", 60)],
)
def test_a_category_may_hold_colons(category, limit_s):
    trace = read(record(1, category=category))
    assert trace.workload.columns()["limit_s"].tolist() == [limit_s]


def test_a_rescheduled_job_has_two_runs():
    trace = read(record(1, failed=25) + record(1, start=800, end=1000))
    assert sorted(trace.workload.job_id) == ["1", "1#2"]
    assert column(trace, "recorded_status") == {"1": "requeued", "1#2": "completed"}


CELLS = st.sampled_from(
    ["", "0", "-1", "nan", "inf", "1e999", "9" * 40, "x", ":", "::", "NONE", "\n", "\r\n", "é", "\u202e", "\x00", "=",
     "-l gpu=x", "h_rt=1:2:3:4:5"]
)  # fmt: skip


@given(st.data())
def test_mutated_logs_raise_only_input_errors(data):
    text = LOG
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(CELLS) + text[start + data.draw(st.integers(0, 30)) :]
    for key in ("auto", "sge"):
        try:
            trace = read(text.encode("utf-8", "replace"), format=key, zero_run="one-second", sge_gpus="slot")
        except InputError:
            continue
        assert trace.report.rows == trace.report.kept + trace.report.dropped
