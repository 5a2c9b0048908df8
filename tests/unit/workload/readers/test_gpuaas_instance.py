"""Instance folders of GPU as a service: everything exact, or one message and nothing."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.errors import InputError
from dlsched.speed import build_speed
from dlsched.workload.load import load
from dlsched.workload.readers import gpuaas
from dlsched.workload.readers.gpuaas import FILES, JOBS, NODES, TIMES
from tests.support.known import known

JOB_TABLE = """Application,Images,Epochs,Batchsize,Jobs,UniqueJobsID,SubmissionTime,Deadline,Tardinessweight,\
MinExecTime,MaxExecTime
alexnet,130000,1,32,J1,b,0.0,500.5,0.01,60.0,100.0
alexnet,130000,2,32,J2,a,0.0,900,0.003,70,200
alexnet,130000,1,32,J1,c,30,130,0.015,60,100
"""
# seconds of J1 and J2 with 1 and 2 GPUs; J2 is as fast on one M60 as on two K80
SECONDS = {"J1": {"K80": (100.0, 60.0), "M60": (90.0,)}, "J2": {"K80": (200.0, 70.0), "M60": (70.0,)}}
MACHINES = (("NC6", "K80", 1, 0.56), ("NC12", "K80", 2, 1.13), ("NV6", "M60", 1, 0.62))
LABEL = {"a": "J2", "b": "J1", "c": "J1"}


def time_table(seconds=SECONDS):
    lines = ["UniqueJobsID,VMtype,GPUtype,nGPUs,max_nGPUs,cost,ExecutionTime"]
    for job in "bac":
        for name, gpu_type, most, price in MACHINES:
            for gpus in range(1, most + 1):
                took = seconds[LABEL[job]][gpu_type][gpus - 1]
                lines.append(f"{job},{name},{gpu_type},{gpus},{most},{price},{took}")
    return "\n".join(lines) + "\n"


GOOD = {JOBS: JOB_TABLE, TIMES: time_table(), NODES: "Nodes\nn1\nn2\n"}


@pytest.fixture
def instance(tmp_path):
    def write(name="week 1", **changed):
        folder = tmp_path / name
        folder.mkdir()
        for key, text in (GOOD | {FILES[int(n[1:])]: text for n, text in changed.items()}).items():
            if text is not None:
                (folder / key).write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder

    return write


def test_an_instance_by_hand(instance):
    scenario = load(instance())
    jobs = scenario.workload
    assert (scenario.name, scenario.cluster.slots) == ("week 1", 2)
    assert scenario.read == {"rows": 3, "kept": 3, "repaired": 0, "dropped": 0}
    assert [(vm.name, vm.gpu_type, vm.gpus, vm.usd_per_h) for vm in scenario.cluster.catalogue] == list(MACHINES)
    assert list(jobs.job_id) == ["b", "a", "c"]  # both at 0 s: the order of the file
    assert jobs.submit_s.tolist() == [0, 0, 30]
    assert known(jobs.due_s).tolist() == [500.5, 900, 130]
    assert known(jobs.weight_usd_per_s).tolist() == [0.01, 0.003, 0.015]
    assert list(known(jobs.model)) == ["alexnet"] * 3
    assert list(known(jobs.profile)) == ["J1", "J2", "J1"]
    assert jobs.work.tolist() == [60, 70, 60]
    assert jobs.workers.tolist() == [2, 1, 2]  # J2: one M60 ties with two K80, fewest GPUs
    assert jobs.gpus_per_worker.tolist() == [1, 1, 1]
    rows = known(scenario.speed.times).rows
    assert rows["J1"] == {"K80": (100 / 60, 1.0), "M60": (1.5,)}
    assert rows["J2"] == {"K80": (200 / 70, 1.0), "M60": (1.0,)}


def test_jobs_share_a_profile_by_their_times_not_by_their_label(instance):
    labels = JOB_TABLE.replace("J2,a", "J1,a").replace("J1,c", ",c")
    profiles = list(known(load(instance(f0=labels)).workload.profile))
    assert profiles == ["J1 b", "J1 a", "J1 b"]
    bare = "\n".join(",".join(np.array(line.split(","))[[5, 6, 7, 8]]) for line in JOB_TABLE.splitlines())
    scenario = load(instance("bare", f0=bare))
    assert list(known(scenario.workload.profile)) == ["b", "a", "b"]
    assert scenario.workload.model is None


@pytest.mark.parametrize(
    "encode",
    [
        lambda t: t.encode("utf-16"),
        lambda t: b"\xef\xbb\xbf" + t.encode(),
        lambda t: t.replace("\n", "\r\n").encode(),
        lambda t: t.replace(",", ";").encode(),
    ],
)
def test_however_it_is_encoded(instance, encode):
    plain = load(instance())
    other = load(instance("other", f0=encode(GOOD[JOBS]), f1=encode(GOOD[TIMES]), f2=encode(GOOD[NODES])))
    assert other.content_hash == plain.content_hash


def test_times_of_jobs_that_are_not_in_the_list_are_left_out(instance):
    without_c = "".join(line for line in JOB_TABLE.splitlines(keepends=True) if ",c," not in line)
    read = gpuaas.read_instance_folder(instance(f0=without_c))
    assert list(read.scenario.workload.job_id) == ["b", "a"]
    assert read.report.notes == (f"{TIMES}: 4 lines belong to jobs that are not in {JOBS}",)


T, J, N = 1, 0, 2
BAD = {
    "no times file": (T, lambda t: None, rf"instance 'week 1': lacks the file {TIMES}"),
    "no jobs file": (J, lambda t: None, rf"lacks the file {JOBS}"),
    "no nodes": (N, lambda t: "Nodes\n", f"file {NODES}: it has only a header and no data rows"),
    "empty nodes": (N, lambda t: "", f"file {NODES}: it is empty"),
    "one node twice": (N, lambda t: t + "n1\n", rf"{NODES}, line 4, column Nodes: must be unique, but 'n1'"),
    "no header": (N, lambda t: "n1\nn2\n", f"file {NODES}: missing columns: Nodes"),
    "binary": (N, lambda t: bytes(range(256)), f"file {NODES}: it is not a text file"),
    "parquet": (N, lambda t: b"PAR1xxxx", "it is a Parquet file"),
    "no jobs": (J, lambda t: t.splitlines()[0], f"file {JOBS}: it has only a header"),
    "columns": (J, lambda t: t.replace("Deadline", "Dead line"), "missing columns: Deadline. Did you mean 'Dead line'"),
    "ragged": (J, lambda t: t + "x,1\n", f"{JOBS}, line 5: must have"),
    "no id": (J, lambda t: t.replace("J1,b", "J1,"), "line 2, column UniqueJobsID: must not be empty"),
    "same id": (J, lambda t: t.replace("J1,c", "J1,a"), "UniqueJobsID: must be unique, but 'a' appears twice"),
    "due early": (J, lambda t: t.replace(",30,130,", ",30,20,"),
                  "line 4, column Deadline: job 'c': due 20 s is before submission 30 s. Correct or delete the job"),
    "no due": (J, lambda t: t.replace("500.5", ""), "line 2, column Deadline: must be a number of at least 0"),
    "weight": (J, lambda t: t.replace("0.003", "-1"), "line 3, column Tardinessweight: must be .* got '-1'"),
    "infinite": (J, lambda t: t.replace("500.5", "inf"), "line 2, column Deadline: must be"),
    "price": (T, lambda t: t.replace("1.13", "0"), "line 3, column cost: must be a number above 0 .* got '0'"),
    "time": (T, lambda t: t.replace("90.0", "0"), "line 5, column ExecutionTime: must be a number above 0"),
    "text time": (T, lambda t: t.replace("90.0", "fast", 1), "line 5, column ExecutionTime: .* got 'fast'"),
    "half a GPU": (T, lambda t: t.replace("NC12,K80,1,", "NC12,K80,1.5,", 1), "line 3, column nGPUs: must be a whole"),
    "too many": (T, lambda t: t.replace("NC12,K80,2,", "NC12,K80,3,", 1), "line 4, column nGPUs: must be at most max"),
    "no GPU type": (T, lambda t: t.replace("M60", "", 1), "line 5, column GPUtype: must not be empty"),
    "two GPU types": (T, lambda t: t.replace("NV6,M60", "NV6,K80", 1), "'NV6' has M60 here and K80 before"),
    "two prices": (T, lambda t: t.replace("0.62", "0.7", 1), "machine type 'NV6' has 0.62 here and 0.7 before"),
    "lacks a width": (T, lambda t: t.replace("b,NC12,K80,1,2,1.13,100.0\n", ""),
                      "job 'b' has no time on 'NC12' with nGPUs = 1"),
    "lacks a machine": (T, lambda t: t.replace("a,NV6,M60,1,1,0.62,70.0\n", ""), "job 'a' has no time on 'NV6' with"),
    "unknown machine": (T, lambda t: t.replace("c,NV6,", "c,NV7,"), "job 'b' has no time on 'NV7' with nGPUs = 1"),
    "lacks a job": (T, lambda t: "".join(x for x in t.splitlines(True) if x[0] != "a"), "job 'a' has no time on 'NC6'"),
    "twice": (T, lambda t: t + "b,NV6,M60,1,1,0.62,90.0\n",
              "line 14, .*job 'b' has the time on 'NV6' with nGPUs = 1 twice"),
    "differ": (T, lambda t: t.replace("b,NC12,K80,1,2,1.13,100.0", "b,NC12,K80,1,2,1.13,101.5"),
               "job 'b' on 'K80': with 1 of the GPUs of 'NC12' it takes 101.5 s, with as many on .* 100 s"),
    "long name": (T, lambda t: t.replace("NV6", "N" * 81), f"{TIMES}, machine type, name: .*at most 80"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_one_clear_message_for_each_mistake(instance, case):
    which, change, message = BAD[case]
    with pytest.raises(InputError, match=message):
        load(instance(**{f"f{which}": change(GOOD[FILES[which]])}))


def test_other_folders_are_refused_as_before(tmp_path):
    with pytest.raises(InputError, match="a folder is not a trace"):
        load(tmp_path)


# ---- zip archives --------------------------------------------------------------------------------


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("prefix", ["", "week 1/", "../../etc/", "C:\\x\\"])
def test_a_zip_of_the_folder_is_the_same(instance, tmp_path, prefix):
    extra = [("notes.txt", "x"), (f"__MACOSX/{JOBS}", "junk"), ("more.zip", zipped([(JOBS, "x")]))]
    data = zipped([(prefix + name, text) for name, text in GOOD.items()] + extra)
    (tmp_path / "packed.zip").write_bytes(data)
    assert gpuaas.is_instance_zip(data)
    scenario = load(tmp_path / "packed.zip")
    assert scenario.content_hash == load(instance()).content_hash
    assert scenario.name == "packed"


def test_zips_that_are_no_instance():
    assert not gpuaas.is_instance_zip(zipped([("trace.csv", "x")]))
    assert not gpuaas.is_instance_zip(b"PK\x03\x04damaged")
    assert not gpuaas.is_instance_zip(b"job_id,submit")


def damaged(data):
    return data[:60] + bytes(40) + data[100:]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (zipped([(JOBS, GOOD[JOBS])]), "instance 'x': lacks the file SelectJobs_times.csv"),
        (zipped([(f"a/{JOBS}", "x"), (f"b/{JOBS}", "x")]), f"file x.zip: the archive contains {JOBS} twice"),
        (damaged(zipped(GOOD.items())), "file x.zip: its zip compression is damaged"),
    ],
)
def test_bad_zips(data, message):
    with pytest.raises(InputError, match=message):
        gpuaas.read_instance_zip(data, "x.zip")


def test_a_zip_bomb_never_unfolds(monkeypatch):
    monkeypatch.setattr(gpuaas, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match="is too large when decompressed"):
        gpuaas.read_instance_zip(zipped([(JOBS, b"0" * 5000)]), "x.zip")


# ---- the study's own folders ---------------------------------------------------------------------


def test_every_public_instance_is_read_exactly(shared_data):
    folders = sorted((shared_data / "gpuaas" / "instances").iterdir())
    assert len(folders) == 18
    for folder in folders:
        scenario = load(folder)
        jobs, times = scenario.workload, pd.read_csv(folder / TIMES)
        seed, slots, count, *_ = folder.name.split("-")
        assert (seed, scenario.cluster.slots) == ("1", int(slots))
        assert len(jobs) == scenario.read["kept"] == int(count) + 1
        speed = build_speed(scenario.speed, jobs, scenario.cluster.vm_types)
        row = {job: number for number, job in enumerate(jobs.job_id)}
        vm = {one.name: number for number, one in enumerate(scenario.cluster.catalogue)}
        taken = [
            jobs.work[row[job]] / speed.rate(row[job], gpus, 0, [vm[name]])
            for job, name, gpus in zip(times.UniqueJobsID, times.VMtype, times.nGPUs, strict=True)
        ]
        np.testing.assert_allclose(taken, times.ExecutionTime, rtol=1e-12)
        listed = pd.read_csv(folder / JOBS).set_index("UniqueJobsID").loc[list(jobs.job_id)]
        assert (listed.MinExecTime == jobs.work).all()
        assert (listed.Deadline == jobs.due_s).all()
        assert (listed.Jobs == jobs.profile).all()
