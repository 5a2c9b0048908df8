"""Commands on instances of GPU as a service, and drawn scenarios."""

import json
import zipfile

import pytest

import dlsched
from dlsched.cli.main import main
from dlsched.workload.studies.gpu_as_a_service import GpuaasSpec, gpuaas_scenario
from dlsched.workload.studies.hell_knee import LARGE, StreamSpec, stream_scenario
from dlsched.workload.studies.modelarts import ModelArtsSpec, modelarts_scenario
from dlsched.workload.studies.pd_ors import SlottedJobsSpec, slotted_jobs_scenario
from tests.support.assumptions import words_of

TABLES = {
    "Lof_Selectjobs.csv": "UniqueJobsID,SubmissionTime,Deadline,Tardinessweight\na,0,900,0.01\nb,60,500,0.02\n",
    "SelectJobs_times.csv": (
        "UniqueJobsID,VMtype,GPUtype,nGPUs,max_nGPUs,cost,ExecutionTime\n"
        "a,V,K80,1,1,0.5,100\nb,V,K80,1,1,0.5,200\n"
    ),
    "tNodes.csv": "Nodes\nn1\nn2\nn3\n",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "week 1"
    made.mkdir()
    for name, text in TABLES.items():
        (made / name).write_text(text)
    return made


@pytest.fixture
def packed(folder):
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for name in TABLES:
            archive.write(folder / name, name)
    return path


def printed(capsys, args):
    assert main([str(part) for part in args]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("form", ["folder", "packed"])
def test_import_of_an_instance_says_what_was_kept(capsys, request, form):
    path = request.getfixturevalue(form)
    answer = printed(capsys, ["import", "--check", path, "--json"])
    assert answer["format"] == "gpuaas"
    assert answer["report"]["kept"] == 2
    assert answer["cluster"]["slots"] == 3
    assert answer["scenario_hash"] == dlsched.load(path).content_hash


def test_an_instance_becomes_a_scenario_file(folder, tmp_path):
    assert main(["scenario", str(folder), "--write", str(tmp_path / "s.toml")]) == 0
    assert dlsched.load(tmp_path / "s.toml").content_hash == dlsched.load(folder).content_hash


def test_a_drawn_scenario_is_written(capsys, tmp_path):
    out = tmp_path / "s.json"
    options = ["--param", "nodes=3", "--param", "rate=high", "--param", "due=[1, 2]", "--seed", "4"]
    assert main(["scenario", "--generate", "gpuaas", *options, "--write", str(out)]) == 0
    assert "30 jobs on 3 nodes written" in capsys.readouterr().out
    wanted = gpuaas_scenario(GpuaasSpec(nodes=3, rate="high", due=(1, 2)), 4)
    assert dlsched.load(out).content_hash == wanted.content_hash


def test_a_drawn_stream_is_written_and_simulated(capsys, tmp_path):
    out = tmp_path / "s.toml"
    options = ["--param", "nodes=6", "--param", "jobs=20", "--param", "networks=large", "--seed", "4"]
    assert main(["scenario", "--generate", "training-stream", *options, "--write", str(out)]) == 0
    assert "20 jobs on 6 nodes written" in capsys.readouterr().out
    wanted = stream_scenario(StreamSpec(nodes=6, jobs=20, networks=LARGE), 4)
    assert dlsched.load(out).content_hash == wanted.content_hash
    assert main(["simulate", str(out), "--policy", "hell-malleable"]) == 0
    assert "audit: clean" in capsys.readouterr().out


def test_drawn_jobs_that_book_slots_are_written_and_simulated(capsys, tmp_path):
    out = tmp_path / "s.json"
    options = ["--param", "jobs=8", "--param", "machines=4", "--param", "slots=6", "--param", "slot_s=60"]
    assert main(["scenario", "--generate", "slotted-jobs", *options, "--seed", "4", "--write", str(out)]) == 0
    assert "8 jobs on 4 nodes written" in capsys.readouterr().out
    wanted = slotted_jobs_scenario(SlottedJobsSpec(jobs=8, machines=4, slots=6, slot_s=60), 4)
    assert dlsched.load(out).content_hash == wanted.content_hash
    assert main(["simulate", str(out), "--policy", "pd-ors", "--param", "horizon_slots=12"]) == 0
    assert "audit: clean" in capsys.readouterr().out


def test_a_drawn_elastic_trace_is_written_and_simulated(capsys, tmp_path):
    out = tmp_path / "s.json"
    options = ["--param", "nodes=9", "--param", "jobs=30", "--param", "load_scale=2", "--param", "requested=[1, 1]"]
    assert main(["scenario", "--generate", "modelarts", *options, "--seed", "4", "--write", str(out)]) == 0
    assert "30 jobs on 9 nodes written" in capsys.readouterr().out
    wanted = modelarts_scenario(ModelArtsSpec(nodes=9, jobs=30, load_scale=2, requested=(1, 1)), 4)
    assert dlsched.load(out).content_hash == wanted.content_hash
    assert main(["simulate", str(out), "--policy", "fifo"]) == 0
    assert "audit: clean" in capsys.readouterr().out


def test_a_drawn_job_mix_gets_the_default_cluster(tmp_path):
    out = tmp_path / "s.json"
    classes = [{"name": "a", "share": 1, "run_time": {"kind": "pareto", "shortest_s": 60}}]
    params = ["jobs=20", 'arrivals={"kind": "poisson", "jobs_per_h": 5}', f"classes={json.dumps(classes)}"]
    args = ["scenario", "--generate", "job-mix", "--write", str(out)]
    for param in params:
        args += ["--param", param]
    assert main(args) == 0
    made = dlsched.load(out)
    assert (len(made.workload), made.data_kind) == (20, "generated")
    assert words_of(made)[0].startswith("Default cluster")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--generate", "gpuas"], "Try 'gpuaas'"),
        (["--generate", "gpuaas", "--param", "nodes=0"], "generator, nodes"),
        (["--generate", "gpuaas", "--param", "size=3"], "generator, size"),
        (
            ["--generate", "modelarts", "--param", "max_nodes=6"],
            "generator, max_nodes: must be a power of two, got '6'",
        ),
        (["--generate", "training-stream", "--param", "load=1"], "the queue grows without end"),
        ([], "needs either FILE or --generate"),
        (["x.csv", "--generate", "gpuaas"], "needs either FILE or --generate"),
        (["x.csv", "--param", "nodes=3"], "--param: is only for --generate"),
    ],
)
def test_bad_requests_are_one_line(capsys, tmp_path, args, message):
    assert main(["scenario", *args, "--write", str(tmp_path / "s.json")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err
    assert not (tmp_path / "s.json").exists()
