"""LSF accounting: records of several versions written by hand, GPU counts of requirements."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.workload import CPU
from dlsched.workload.readers import read_trace
from dlsched.workload.readers.accounting.hosts import counted_hosts
from dlsched.workload.readers.accounting.lsf_requests import cores_per_slot, gpus_of
from dlsched.workload.readers.formats import NotJobs
from tests.support.traces import column, read, reasons

T0 = 1_700_000_000  # 2023-11-14 22:13:20 UTC


def finish(
    job, *, version="10.108", start=100, end=700, hosts=('"4*n1"', '"4*n2"'), tasks=8, begin=0, depends="",
    requirement="", asked=(), status=64, index=0, exit_info=0, command="run", extensions=(), usage=(),
    limit=-1, effective="", ineligible=-1, project="deep", networks=0,
):  # fmt: skip
    """Return a JOB_FINISH line; ``usage`` are numbers of fields by host, ``start`` and ``end`` seconds after T0."""
    words = [
        '"JOB_FINISH"', f'"{version}"', T0 + end, job, 501, 33554434, tasks, T0, T0 + begin if begin else 0, 0,
        T0 + start if start else 0, '"ann"', '"gpu"', f'"{requirement}"', f'"{depends}"', '""', '"login"', '"/home"',
        '""', '""', '""', '"1.2"', len(asked), *asked, len(hosts), *hosts, status, 60.0, '"name"', f'"{command}"',
        *[0] * 19, '""', f'"{project}"', 0, tasks, '""', '""', index, 0, 0, '""', '""', '""', '""', 0, '""', exit_info,
        '""', -1, '""', '""', '"train"', '""', -1, '""', '""', 5136, '""', T0, '""', '""',
    ]  # fmt: skip
    words += [len(extensions), *(word for pair in extensions for word in pair)]
    words += [len(usage), *(word for fields in usage for word in ("n1", 1, 2, 3, 4, *[0] * (fields - 5)))]
    if version != "7.0":
        words += [limit, 0, 1024, f'"{effective}"', '""', -1, '""', -1, 0, '""', 0, 0, '""', end - start, '"/home"',
                  networks, *['"7"', 1] * networks, '""', 0.0, 0.0, 0.0, 0.0, 0.0, 1, '"n1"', ineligible, 0, 0, 0, 0,
                  0]  # fmt: skip
    return " ".join(map(str, words)) + "\n"


LOG = (
    "#81\n"
    + finish(1, effective="select[type == any] rusage[mem=4096.00,ngpus_physical=2.00/host]", limit=3600,
             command='python ""train.py"" --x=1; echo a b', ineligible=30, networks=1,
             extensions=(("1110", '"default"'), ("1041", '"a b"')))
    + finish(2, version="9.11", hosts=('"16*n1"', '"16*n2"'), tasks=32, usage=(6, 6), limit=43200, status=32,
             exit_info=5, index=7).replace("\n", "\r\n")
    + "\n"
    + finish(3, version="7.0", hosts=('"n1"', '"n1"', '"n3"'), tasks=3, asked=('"n1"', '"n3"'), begin=60,
             status=32, exit_info=14)
    + finish(4, start=0, end=50, hosts=(), status=32, exit_info=14)
    + '"JOB_RESIZE" "10.108" 1700000500 1 0 1700000100 501 "ann" 2 1700000400 1 "4*n1" 1 "4*n2"\n'
    + '"EVENT_ADRSV_FINISH" "10.108" 1700000600 1700000500 501 "ann" "ann#1" "ann" 1 1700000500\n'
    + finish(5)[:150]
)  # fmt: skip


def test_records_of_three_versions_by_hand():
    trace = read(LOG)
    assert trace.format_key == "lsf"
    assert trace.report.counts == {"rows": 7, "kept": 3, "repaired": 0, "dropped": 4}
    assert reasons(trace, "dropped") == {
        "record JOB_RESIZE": 1, "record EVENT_ADRSV_FINISH": 1, "record is cut off or cannot be read": 1,
        "job never started": 1,
    }  # fmt: skip
    assert column(trace, "submit_s") == {"2[7]": 0, "1": 30, "3": 60}
    assert column(trace, "held_s") == {"2[7]": 0, "1": 30, "3": 60}
    assert column(trace, "recorded_start_s") == {"2[7]": 100, "1": 100, "3": 100}
    assert set(trace.workload.work) == {600}
    assert column(trace, "workers") == {"2[7]": 2, "1": 4, "3": 2}
    assert column(trace, "gpus_per_worker") == {"2[7]": 0, "1": 1, "3": 0}
    assert column(trace, "cpus_per_worker") == {"2[7]": 16, "1": 2, "3": 1.5}
    assert column(trace, "recorded_nodes") == {"2[7]": "n1,n2", "1": "n1,n2", "3": "n1,n3"}
    assert column(trace, "recorded_status") == {"2[7]": "timeout", "1": "completed", "3": "cancelled"}
    limits = column(trace, "limit_s")
    assert (limits["1"], limits["2[7]"]) == (3600, 43200)
    assert math.isnan(limits["3"])
    assert set(trace.workload.user) == {"ann"}
    assert set(trace.workload.group) == {"deep"}
    assert set(trace.workload.partition) == {"gpu"}
    assert set(trace.workload.job_class) == {"train"}
    assert reasons(trace, "not modelled") == {
        "cores are not spread evenly over the nodes": 1, "job reserves memory (rusage[mem])": 1,
    }  # fmt: skip
    assert trace.workload.meta["time_zero"] == "2023-11-14T22:13:20"


def test_real_log(shared_data):
    path = shared_data / "real" / "accounting" / "lsf_lsb.acct.log"
    if not path.exists():
        pytest.skip("the real log is not there")
    jobs = read_trace(path).workload
    assert jobs.columns()["limit_s"].tolist() == [43_200, 43_200]
    assert jobs.work.tolist() == [40_368, 40_368]
    assert jobs.requested[:, CPU].tolist() == [128, 8]
    assert jobs.gpus.sum() == 0


@pytest.mark.parametrize(
    ("requirement", "option", "hosts", "tasks", "gpus"),
    [
        ("", "", 2, 8, 0),
        ("select[ngpus>0] order[r15s:pg] span[ptile=4]", "", 2, 8, 0),
        ("rusage[ngpus_physical=2.00]", "", 1, 8, 2),
        ("select[(a||b)] rusage[mem=10:ngpus_physical=4.00]", "", 1, 1, 4),
        ("rusage[ngpus_physical=2.00/host] span[hosts=1]", "", 3, 8, 6),
        ("rusage[ngpus_physical=1/task,mem=4G]", "", 2, 8, 8),
        ("rusage[ngpus_physical=3/job]", "", 2, 8, 3),
        ("rusage[ngpus_physical=2/host:duration=1h]", "", 2, 8, 4),
        ("rusage[mem=4] rusage[ngpus_excl_p=2]", "", 1, 8, 2),
        ("rusage[ngpus_physical=2 || ngpus_physical=2]", "", 1, 8, 2),
        ("1*{rusage[ngpus_physical=1/task]} + 8*{rusage[ngpus_physical=2/task]}", "", 3, 9, 17),
        ("1*{rusage[mem=1]} + 8*{select[ngpus>0]}", "", 3, 9, 0),
        ("{rusage[ngpus_physical=2]}", "", 1, 1, 2),
        ("", "num=2:mode=shared:mps=no", 3, 8, 6),
        ("", '"mode=shared:num=1/task"', 3, 8, 8),
        ("rusage[ngpus_physical=2.00]", "num=2", 3, 8, 6),
    ],
)
def test_gpus_of_a_requirement(requirement, option, hosts, tasks, gpus):
    found = gpus_of(requirement, option, hosts, tasks)
    assert found.gpus == gpus
    assert not found.remarks


def test_gpus_that_are_not_clear():
    assert gpus_of("rusage[ngpus_physical=2]", "", 2, 8).remarks == ("gpus-per-job",)
    assert gpus_of("rusage[ngpus_physical=2]", "", 2, 8).gpus == 2
    for requirement in (
        "1*{rusage[ngpus_physical=1]} + 8*{rusage[ngpus_physical=2]}",
        "rusage[ngpus_physical=1 || ngpus_physical=2]",
        "rusage[ngpus_physical=1 || mem=4]",
        "{rusage[ngpus_physical=1/task]} || {rusage[ngpus_physical=2/task]}",
    ):
        assert gpus_of(requirement, "", 3, 8).remarks == ("gpus-unclear",)
    trace = read(LOG + "\n" + finish(6, effective="rusage[ngpus_physical=1 || ngpus_physical=2]"))
    assert reasons(trace, "dropped")["GPU count is not clear from the request"] == 1


def test_the_gpu_option_and_model_in_the_extensions():
    pairs = (("1160", '"num=4/host:mode=exclusive_process:gmodel=A100"'),)
    trace = read(finish(1, extensions=pairs, effective="rusage[ngpus_physical=4.00]"))
    assert trace.workload.gpus.tolist() == [8]
    assert trace.workload.gpu_types.tolist() == ["A100"]


def test_dependencies_without_a_time_are_told():
    trace = read(finish(1, version="9.11", depends="done(7)", limit=60))
    assert reasons(trace, "not modelled") == {"job had a dependency": 1}


def test_a_record_that_ends_before_the_effective_requirement():
    whole = finish(1, requirement="rusage[ngpus_physical=2/host]")
    trace = read(whole[: whole.index(" 0 0 -1 0 1024")])
    assert trace.workload.gpus.tolist() == [4]
    assert reasons(trace, "flagged") == {"record ends before the effective requirement": 1}


def test_usage_by_host_of_five_fields():
    trace = read(finish(1, version="9.1", usage=(5, 5), limit=90, effective="rusage[ngpus_physical=1/host]"))
    assert trace.workload.limit_s.tolist() == [90]
    assert trace.workload.gpus.tolist() == [2]


def test_cores_bound_to_a_task():
    assert cores_per_slot("rusage[mem=1] affinity[core(4,same=socket)*2:cpubind=core]") == 8
    assert cores_per_slot("affinity[thread(2)]") == cores_per_slot("span[hosts=1]") == 1
    trace = read(finish(1, effective="rusage[ngpus_physical=1/host] affinity[core(4)]"))
    assert (trace.workload.workers @ trace.workload.cpus_per_worker) == 32


def test_hosts():
    assert counted_hosts(("16*h1", "8*h2"))[:4] == ("h1,h2", 2, 24, False)
    assert counted_hosts(("h1", "h1", "h2", "h2"))[:4] == ("h1,h2", 2, 4, True)


def test_the_event_log_is_named():
    with pytest.raises(NotJobs, match=r"lsb\.events.*Give lsb\.acct") as caught:
        read('#1700000000\n"JOB_NEW" "10.1" 1700000000 1 501 33554434 1\n"JOB_START" "10.1" 1700000001 1 4\n')
    assert caught.value.named_as == "LSF events (lsb.events)"


CELLS = st.sampled_from(
    ["", "0", "-1", "nan", "inf", "1e999", "9" * 40, "x", '"', '""', " ", "\n", "\r\n", "é", "\u202e", "\x00", "{", "*",
     "rusage[ngpus_physical=x]", "||"]
)  # fmt: skip


@given(st.data())
def test_mutated_logs_raise_only_input_errors(data):
    text = LOG
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(CELLS) + text[start + data.draw(st.integers(0, 30)) :]
    for key in ("auto", "lsf"):
        try:
            trace = read(text.encode("utf-8", "replace"), format=key, zero_run="one-second", cancelled="drop")
        except InputError:
            continue
        assert trace.report.rows == trace.report.kept + trace.report.dropped
