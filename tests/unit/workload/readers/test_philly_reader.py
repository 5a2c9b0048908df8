"""Philly JSON: attempts, censoring, run-time options, damage."""

import json

import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers import ReadOptions, read_trace

DAY = "2017-10-07 "


def attempt(start, end, **machines):
    detail = [{"ip": ip, "gpus": [f"gpu{i}" for i in numbers]} for ip, numbers in machines.items()]
    return {"start_time": start and DAY + start, "end_time": end and DAY + end, "detail": detail}


def job(name, submitted="01:00:00", attempts=(), status="Pass", day=DAY):
    times = {"submitted_time": day + submitted, "attempts": list(attempts)}
    return {"status": status, "vc": "vc1", "jobid": name, "user": "u1", **times}


LOG = [
    # two machines, retried on one GPU fewer: wall 01:00:10..01:05:10 = 300 s, attempts 100 + 150 = 250 s
    job("retried", attempts=[attempt("01:00:10", "01:01:50", m1=[0, 1], m2=[0, 1]),
                             attempt("01:02:40", "01:05:10", m1=[0, 1, 2])], status="Failed"),
    job("never", attempts=[]),
    job("null-start", attempts=[attempt(None, None, m1=[0])]),
    job("none-start", attempts=[{"start_time": "None", "end_time": "None", "detail": []}]),
    job("running", attempts=[attempt("01:00:10", None, m1=[0])]),
    job("no-gpus", attempts=[{**attempt("01:00:10", "01:00:20"), "detail": []}]),
    job("killed", "01:00:30", [attempt("01:00:40", "01:01:00", m3=[7])], "Killed"),
]  # fmt: skip


def read(log, **options):
    return read_trace(json.dumps(log, indent=1).encode(), "log", ReadOptions(**options))


@pytest.mark.parametrize(("rule", "seconds"), [("wall", 300.0), ("attempts", 250.0)])
def test_run_time_and_counts(rule, seconds):
    trace = read(LOG, philly_run_time=rule)
    jobs = trace.workload
    assert trace.format_key == "philly"
    assert trace.report.counts == {"rows": 7, "kept": 2, "repaired": 0, "dropped": 5}
    assert list(jobs.job_id) == ["retried", "killed"]
    assert list(jobs.work) == [seconds, 20.0]
    assert list(jobs.gpus) == [4, 1]
    assert list(jobs.submit_s) == [0, 30]
    assert list(jobs.recorded_start_s) == [10, 40]
    assert list(jobs.recorded_status) == ["failed", "cancelled"]
    assert list(jobs.group) == ["vc1", "vc1"]
    assert jobs.meta["time_zero"] == "2017-10-07T01:00:00"


def test_reasons_lines_and_hint():
    trace = read(LOG)
    assert {f.reason: f.count for f in trace.report.of_kind("dropped")} == {
        "no attempt recorded": 1,
        "first attempt has no start": 2,
        "last attempt has no end": 1,
        "no GPUs recorded": 1,
    }
    assert {f.reason: f.count for f in trace.report.of_kind("flagged")} == {"attempts with different GPUs": 1}
    never = next(f for f in trace.report.findings if f.reason == "no attempt recorded")
    text = json.dumps(LOG, indent=1).splitlines()
    assert '"never"' in "".join(text[never.examples[0].line - 1 :][:5])
    # m1 and m3 from their highest GPU number, m2 two GPUs
    assert [(p.vm.gpus, p.count) for p in trace.cluster.cluster.pools] == [(2, 1), (3, 1), (8, 1)]


def test_the_hour_that_happened_twice_is_flagged():
    entry = job("dst", "00:30:00", day="2017-11-05 ")
    entry["attempts"] = [{"start_time": "2017-11-05 01:10:00", "end_time": "2017-11-05 04:00:00",
                          "detail": [{"ip": "m", "gpus": ["gpu0"]}]}]  # fmt: skip
    (found,) = read([entry]).report.of_kind("flagged")
    assert "2017-11-05" in found.reason


def test_compact_json_and_lone_surrogates():
    log = [job("\ud800x", attempts=[attempt("01:00:10", "01:00:20", m1=[0])])]
    trace = read_trace(json.dumps(log).encode(), "log")
    assert list(trace.workload.job_id) == ["?x"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(json.dumps(LOG)[:-40], "not valid JSON|before it is complete", id="cut off"),
        pytest.param(json.dumps(LOG)[:-1] + " 1", "before it is complete", id="no comma"),
        pytest.param(
            '[{"jobid": 1, "attempts": [], "vc": 1, "status": 1, "x": ' + "[" * 100_000, "nested too deep", id="deep"
        ),
        pytest.param(
            '[{"jobid": 1, "attempts": 5, "vc": {}, "status": [], "submitted_time": 3}]',
            "no row can be used",
            id="types",
        ),
        pytest.param('{"jobid": 1}', "no known format", id="object"),
        pytest.param("[1, 2, 3]", "no known format", id="numbers"),
    ],
)
def test_damaged_logs(content, says):
    with pytest.raises(InputError, match=says):
        read_trace(content.encode(), "log")


def test_an_array_of_other_things_is_counted():
    entries = [*LOG, 5, None, "text", [1]]
    assert read(entries, format="philly").report.rows == 11
