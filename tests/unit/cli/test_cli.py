"""The contract of the command line, mostly in this process; a few times as a process of its own."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.cli import solve
from dlsched.cli.main import main
from dlsched.cli.output import printable
from dlsched.cli.simulate import parse_params
from dlsched.domain.cluster import Absence, Pool, VmType
from dlsched.domain.errors import InputError, PlanError
from dlsched.domain.model import plain
from dlsched.domain.scenario import SimulationRules
from dlsched.store import Store
from dlsched.workload.scenario_file import write_scenario
from tests.support.runs_for_store import small_scenario

ROOT = Path(__file__).resolve().parents[3]
METRICS = re.findall(
    r"\w+",
    """jobs completed rejected unfinished cancelled failed jct_mean jct_median jct_p95 jct_p99 wait_mean wait_p50
    wait_p95 not_running_mean makespan allocation_ratio goodput tardiness_total tardiness_cost vm_cost idle_cost
    cost_month usd_per_useful_gpu_h rejection_cost total_cost total_cost_bound late_jobs late_share utility_total
    slowdown_mean preemptions resizes restarts jct_mean_bound tardiness_total_bound utility_total_bound""",
)


@pytest.fixture
def scenario_file(tmp_path):
    """Return a file whose scenario the general engine runs: compiling the kernel would take long here."""
    path = tmp_path / "four.json"
    write_scenario(small_scenario(options=SimulationRules(restart_s=1.0)), path)
    return str(path)


@pytest.fixture
def trace_file(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("job_id,submit_time,duration,num_gpus\na,0,100,1\nb,5,100,8\nc,6,-4,2\n")
    return str(path)


@pytest.fixture
def store_file(tmp_path):
    return str(tmp_path / "s.duckdb")


def refused(capsys, args, message, status=2):
    """Check that a command ends with one line on stderr and nothing on stdout."""
    left: Any
    try:
        left = main(args)
    except SystemExit as stop:
        left = stop.code
    out, err = capsys.readouterr()
    assert left == status
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    assert re.search(message, err), err


def printed(capsys, args, status=0):
    assert main(args) == status
    return json.loads(capsys.readouterr().out)


# ---- simulate ------------------------------------------------------------------------------------------


def test_simulate_prints_the_contract(capsys, scenario_file):
    answer = printed(capsys, ["simulate", scenario_file, "--policy", "fifo", "--json"])
    assert set(METRICS) <= set(answer["metrics"])
    assert answer["audit"] == []
    assert answer["read"] == {"rows": 4, "kept": 4, "repaired": 0, "dropped": 0}
    assert set(answer["cpu_s"]) == {"read", "simulate", "audit", "metrics"}
    assert (answer["policy"], answer["seed"]) == ("fifo", 0)
    assert answer["scenario_hash"] == dlsched.load(scenario_file).content_hash
    assert answer["metrics"]["makespan"] == pytest.approx(91.0)  # 30 s of arrivals, 60 s of work, 1 s restart


def test_simulate_shows_people_labels_and_units(capsys, scenario_file):
    assert main(["simulate", scenario_file, "--policy", "fifo"]) == 0
    out = capsys.readouterr().out
    assert "FIFO on 2 nodes, 4 GPUs" in out
    assert "audit: clean" in out
    assert re.search(r"Completed +4", out)


def test_cluster_price_and_rules_can_be_typed(capsys, scenario_file):
    args = ["simulate", scenario_file, "--policy", "fifo", "--nodes", "1", "--gpus-per-node", "1", "--price", "36"]
    answer = printed(capsys, [*args, "--placement", "spread", "--seed", "3", "--json"])
    assert answer["metrics"]["makespan"] == pytest.approx(4 * 61)
    assert answer["metrics"]["vm_cost"] == pytest.approx(36 / 3600 * 4 * 61)
    assert answer["seed"] == 3


def test_parameters_are_read_by_the_policy(capsys, scenario_file):
    args = [
        "simulate",
        scenario_file,
        "--policy",
        "las",
        "--param",
        "quantum_s=30",
        "--param",
        "vm_type=null",
        "--json",
    ]
    assert printed(capsys, args)["params"] == {"vm_type": None, "quantum_s": 30.0}


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--policy", "fifoo"], "policy 'fifoo': no policy has this key"),
        (["--policy", "priority"], "needs priorities"),
        (["--policy", "las", "--param", "quantum_s=abc"], "policy las, quantum_s"),
        (["--policy", "las", "--param", "quantum_s"], "is not of the form K=V"),
        (["--policy", "las", "--param", "a=1", "--param", "a=2"], "given twice"),
        (["--policy", "las", "--param", "a=[1"], "not valid JSON"),
        (["--policy", "fifo", "--nodes", "0"], "--nodes: must be at least 1, got 0"),
        (["--policy", "fifo", "--nodes", "1000000000"], "count: Input should be less than or equal to 100000, got"),
        (["--policy", "fifo", "--nodes", "1000000000", "--gpus-per-node", "8"], "less than or equal to 100000, got"),
        (["--policy", "fifo", "--gpus-per-node", "1000000000"], "gpus: Input should be less than or equal to 1024"),
        (
            ["--policy", "las", "--param", "quantum=5"],
            "policy las, quantum: no such parameter. Try 'quantum_s'",
        ),
        (["--policy", "fifo", "--param", "x=5"], "policy fifo, x: no such parameter. Known: vm_type"),
        (["--policy", "fifo", "--nodes", "many"], "invalid whole number value: 'many'"),
        (["--policy", "fifo", "--price", "nan"], "--price: invalid price value: .nan."),
        (["--policy", "fifo", "--placement", "tightest"], "--placement: invalid choice"),
        (["--policy", "fifo", "--nodes", "1", "--gpus-per-node", "0"], "4 jobs of 4: can never fit"),
        ([], "required: --policy"),
        (["--policy", "fifo", "--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, scenario_file, extra, message):
    refused(capsys, ["simulate", scenario_file, *extra], message)


@pytest.mark.parametrize("content", [b"", b"hello", b"\xff\xfe\x00x", b'{"format_version": 99}'])
def test_a_file_that_cannot_be_read(capsys, tmp_path, content):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    refused(capsys, ["simulate", str(path), "--policy", "fifo", "--json"], "dlsched: ")
    refused(capsys, ["simulate", str(tmp_path / "none.csv"), "--policy", "fifo"], "there is no such file")


def test_oversize_jobs_can_be_dropped(capsys, tmp_path):
    path = tmp_path / "t.json"
    wide = small_scenario(options=SimulationRules(restart_s=1.0))
    workload = wide.workload.with_columns(workers=[1, 1, 3, 1])
    write_scenario(wide.replace(workload=workload), path)
    args = ["simulate", str(path), "--policy", "fifo", "--nodes", "1", "--gpus-per-node", "2", "--json"]
    refused(capsys, args, "1 job of 4: can never fit")
    answer = printed(capsys, [*args, "--oversize", "drop"])
    assert answer["oversize"] == {"dropped": 1, "capped": 0}
    assert answer["audit"] == []


def test_nodes_alone_keep_the_kind_of_node_and_need_a_single_kind(tmp_path, capsys):
    from dlsched.cli.simulate import with_nodes, with_prices

    cluster = small_scenario().cluster
    more = with_nodes(cluster, 5, None)
    assert (more.num_nodes, more.pools[0].vm) == (5, cluster.pools[0].vm)
    assert with_nodes(cluster, None, 4).num_gpus == 8
    away = cluster.model_copy(update={"absences": (Absence(node=1),)})
    assert with_nodes(away, 1, None).absences == ()
    two = cluster.model_copy(update={"pools": (*cluster.pools, Pool(vm=VmType(name="b"), count=1))})
    with pytest.raises(InputError, match="several node types"):
        with_nodes(two, 3, None)
    assert {pool.vm.usd_per_h for pool in with_prices(two, 2.5).pools} == {2.5}


def test_a_violation_is_told_and_gives_status_1(capsys, scenario_file, monkeypatch):
    monkeypatch.setattr("dlsched.sim.audit.audit", lambda *_: ["node 0 is overfull"])
    assert main(["simulate", scenario_file, "--policy", "fifo", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["audit"] == ["node 0 is overfull"]
    assert err == "dlsched: the audit found 1 violation\n"


def test_a_bug_is_one_line_with_the_place_of_its_details(capsys, scenario_file, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr("dlsched.cli.simulate.simulate", broken)
    assert main(["simulate", scenario_file, "--policy", "fifo"]) == 1
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "unexpected ZeroDivisionError: oh no" in err
    details = Path(err.split("Details are in ")[1].split(";")[0])
    assert "Traceback" in details.read_text()
    details.unlink()


def test_a_plan_that_cannot_be_carried_out_is_status_1(capsys, scenario_file, monkeypatch):
    def impossible(*_, **__):
        raise PlanError("at 5 s node 0: GPU, used 9, capacity 8")

    monkeypatch.setattr("dlsched.cli.simulate.simulate", impossible)
    refused(capsys, ["simulate", scenario_file, "--policy", "fifo"], "node 0: GPU, used 9", status=1)


# ---- store ---------------------------------------------------------------------------------------------


def test_runs_are_kept_listed_shown_moved_and_deleted(capsys, scenario_file, store_file, tmp_path):
    store = ["--store", store_file]
    saved = printed(capsys, ["simulate", scenario_file, "--policy", "fifo", "--save", *store, "--json"])
    run_id = saved["run_id"]
    (line,) = printed(capsys, ["runs", "list", *store, "--json"])["runs"]
    assert (line["run_id"], line["policy"], line["stale"], line["state"]) == (run_id, "fifo", False, "stored")
    shown = printed(capsys, ["runs", "show", run_id, *store, "--json"])
    assert shown["metrics"] == saved["metrics"]
    assert shown["prices"] == {"two": 3.6}
    out = str(tmp_path / "runs.zip")
    assert main(["runs", "export", run_id, "--out", out, *store]) == 0
    other = ["--store", str(tmp_path / "other.duckdb")]
    capsys.readouterr()
    assert printed(capsys, ["runs", "import", out, *other, "--json"])["added"] == [run_id]
    assert main(["runs", "delete", run_id, *store]) == 0
    assert "undo" in capsys.readouterr().out
    assert printed(capsys, ["runs", "list", *store, "--json"])["runs"] == []
    assert main(["runs", "restore", run_id, *store]) == 0
    assert main(["runs", "list", *store]) == 0
    assert main(["runs", "show", run_id, *store]) == 0
    text = capsys.readouterr().out
    assert "four jobs v1" in text
    assert "clean" in text


def test_an_empty_list_says_how_to_begin(capsys, store_file):
    assert main(["runs", "list", "--store", store_file]) == 0
    assert "No runs yet" in capsys.readouterr().out


def test_without_save_no_store_is_opened(capsys, scenario_file, store_file, monkeypatch):
    monkeypatch.setenv("DLSCHED_STORE", store_file)
    assert main(["simulate", scenario_file, "--policy", "fifo", "--json"]) == 0
    assert not Path(store_file).exists()


def test_store_errors_are_one_line(capsys, store_file, tmp_path):
    refused(capsys, ["runs", "show", "7f3a", "--store", store_file], "Run 7f3a is not in this store", status=1)
    refused(capsys, ["runs", "delete", "7f3a", "--store", store_file], "is not in this store", status=1)
    bad = tmp_path / "bad.zip"
    bad.write_text("no zip")
    refused(capsys, ["runs", "import", str(bad), "--store", store_file], "not a readable zip")
    refused(capsys, ["runs", "import", str(tmp_path / "none"), "--store", store_file], "cannot be read")
    refused(capsys, ["runs", "list", "--store", str(bad)], "is not a result store, or it is damaged", status=1)


# ---- import, policies, scenario, solve -----------------------------------------------------------------


def test_import_check_reports_and_keeps_nothing(capsys, trace_file, store_file, monkeypatch):
    monkeypatch.setenv("DLSCHED_STORE", store_file)
    answer = printed(capsys, ["import", "--check", trace_file, "--json"])
    report = answer["report"]
    assert (report["rows"], report["kept"], report["dropped"]) == (3, 2, 1)
    assert report["findings"][0]["examples"]
    assert answer["never_fit"] == []
    assert not Path(store_file).exists()
    assert main(["import", "--check", trace_file]) == 0
    assert "Kept 2 of 3 rows" in capsys.readouterr().out


def test_import_says_what_all_jobs_request(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "job_id,submit_time,run_time_s,workers,gpus_per_worker,num_cpus\n"
        "a,2024-03-01T00:00:00,100,3,1,32\nb,2024-03-01T00:01:00,100,2,4,7\nc,2024-03-01T00:02:00,100,1,0,5\n"
    )
    answer = printed(capsys, ["import", "--check", str(path), "--json"])
    assert (answer["gpus_total"], answer["cpus_total"]) == (11, 44)
    assert (answer["named_as"], answer["time_zone"]) == ("generic CSV", "as recorded")
    assert main(["import", "--check", str(path)]) == 0
    assert "All jobs together request 11 GPUs and 44 CPU cores." in capsys.readouterr().out


def test_import_names_a_file_that_is_no_job_log(capsys, tmp_path):
    path = tmp_path / "nodes.txt"
    path.write_text("NodeName=n1 CfgTRES=cpu=64,mem=1M,gres/gpu=4\n")
    assert main(["import", "--check", str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert answer["named_as"] == "the node list of scontrol show nodes"
    assert answer["error"].startswith("file nodes.txt: it is the node list")
    assert err == f"dlsched: {answer['error']}\n"
    refused(capsys, ["import", "--check", str(path)], "it is the node list of scontrol show nodes")


def test_import_names_a_log_in_which_no_job_can_be_read(capsys, tmp_path):
    path = tmp_path / "steps.txt"
    path.write_text(
        "JobID|State|Submit|Start|End|ElapsedRaw|AllocTRES\n"
        "7.0|COMPLETED|2024-03-01T08:00:00|2024-03-01T08:00:00|2024-03-01T08:01:00|60|cpu=1\n"
    )
    assert main(["import", "--check", str(path), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["named_as"] == "Slurm sacct export"
    path.write_text("foo,bar\n1,2\n")
    refused(capsys, ["import", "--check", str(path), "--json"], "no column was recognised")


def test_reading_choices_can_be_typed(capsys, trace_file, scenario_file, tmp_path):
    mapping = tmp_path / "map.json"
    fields = {"submit": "submit_time", "run": "duration", "workers": "num_gpus"}
    mapping.write_text(json.dumps({"fields": {key: {"column": column} for key, column in fields.items()}}))
    read = ["import", "--check", trace_file, "--json", "--read"]
    assert printed(capsys, [*read, f"mapping={mapping}"])["assumptions"][0].startswith("No GPU column")
    assert printed(capsys, [*read, "cpu_jobs=drop", "--read", "zero_run=one-second"])["report"]["kept"] == 2
    out = tmp_path / "made.json"
    assert main(["scenario", trace_file, "--read", "format=native", "--write", str(out)]) == 0
    capsys.readouterr()
    swf = ["import", "--check", trace_file, "--read"]
    refused(
        capsys,
        [*swf, "cores_per_gpu=1:0", "--read", "format=swf"],
        "needs a partition number and a count above 0, got 0",
    )
    for typed, says in (
        ("cpu_jos=drop", "there is no reading choice 'cpu_jos'. Try 'cpu_jobs'"),
        ("cpu_jobs", "is not of the form KEY=VALUE"),
        ("cpu_jobs=sell", "--read, cpu_jobs: Input should be 'keep' or 'drop', got 'sell'"),
        ("format=sackt", "no such format. Try 'sacct'"),
        ("mapping=none.json", "the file cannot be read"),
        ("cores_per_gpu=1", "is not of the form NAME:NUMBER"),
    ):
        refused(capsys, [*swf, typed], says)
    refused(capsys, [*swf, "cpu_jobs=drop", "--read", "cpu_jobs=keep"], "cpu_jobs is given twice")
    refused(
        capsys, ["simulate", scenario_file, "--policy", "fifo", "--read", "cpu_jobs=drop"], "is a scenario, not a trace"
    )


def test_import_keeps_a_scenario(capsys, trace_file, store_file):
    answer = printed(capsys, ["import", trace_file, "--store", store_file, "--json"])
    with Store(store_file) as store:
        assert len(store.get_scenario(answer["scenario_hash"]).workload) == 2
    refused(capsys, ["import", "--check", "nothing.csv"], "there is no such file")


def test_policies_are_listed_with_schema(capsys):
    listed = printed(capsys, ["policies", "--json"])
    assert [line["key"] for line in listed] == [spec.key for spec in dlsched.policies()]
    assert main(["policies"]) == 0
    assert "fifo" in capsys.readouterr().out


def test_scenario_is_written(capsys, trace_file, tmp_path):
    out = tmp_path / "made.toml"
    assert main(["scenario", trace_file, "--write", str(out)]) == 0
    assert dlsched.load(out).workload == dlsched.load(trace_file).workload


def feed(monkeypatch, text):
    class Input:
        buffer = __import__("io").BytesIO(text.encode())

    monkeypatch.setattr("sys.stdin", Input())


def test_solve_names_the_kinds_it_knows(capsys, monkeypatch):
    feed(monkeypatch, "{}")
    known = "capacity, elastic, knapsack, pipeline, queues, reservation, split, throughput"
    refused(capsys, ["solve", "sudoku"], f"kind 'sudoku': is not known; known: {known}")


def test_solve_answers_one_or_a_list_and_marks_bad_ones(capsys, monkeypatch):
    def double(instance):
        if "x" not in instance:
            raise InputError("instance", "needs x")
        return {"twice": 2 * instance["x"], "bound": float("inf")}

    monkeypatch.setitem(solve.KINDS, "double", double)
    feed(monkeypatch, '{"x": 4}')
    assert printed(capsys, ["solve", "double"]) == {"twice": 8, "bound": None}
    feed(monkeypatch, '[{"x": 1}, {}, 5]')
    assert main(["solve", "double"]) == 2
    out, err = capsys.readouterr()
    answers = json.loads(out)
    assert answers[0]["twice"] == 2
    assert answers[1] == {"error": "instance: needs x."}
    assert "JSON object" in answers[2]["error"]
    assert err == "dlsched: 2 of 3 instances cannot be solved: see the field error of each\n"
    feed(monkeypatch, "[1,")
    refused(capsys, ["solve", "double"], "standard input: is not JSON")


# ---- the whole command ---------------------------------------------------------------------------------


def command(*args, **changes):
    return subprocess.run(
        [sys.executable, "-m", "dlsched", *args], capture_output=True, text=True, cwd=ROOT, env=os.environ | changes
    )


def test_help_and_version_are_quick():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = command("--help")
    assert done.returncode == 0
    assert "simulate" in done.stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0
    assert command("--version").stdout.strip() == dlsched.__version__
    assert command("--").returncode == 2


def test_help_imports_nothing_heavy():
    script = (
        "import sys; sys.argv = ['dlsched', '--help']\nfrom dlsched.cli.main import main\ntry:\n    main(['--help'])\n"
    )
    script += "except SystemExit:\n    print(sorted({'numpy', 'pandas', 'duckdb', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_simulate_does_not_import_what_it_does_not_need(scenario_file):
    script = (
        "import sys\nfrom dlsched.cli.main import main\n"
        f"main(['simulate', {scenario_file!r}, '--policy', 'fifo', '--json'])\n"
        "print(sorted({'duckdb', 'numba', 'streamlit', 'plotly', 'ortools', 'pulp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_process_ends_as_the_contract_says(scenario_file, store_file):
    done = command("simulate", scenario_file, "--policy", "fifo", "--json", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["audit"] == []
    with Store(store_file):
        read, written = (command("runs", *args, "--store", store_file) for args in (["list"], ["delete", "0123"]))
    assert (read.returncode, written.returncode) == (0, 1)
    assert "No runs yet" in read.stdout
    for done in (read, written):
        assert done.stderr.startswith(f"dlsched: This store is in use by process {os.getpid()}")
        assert len(done.stderr.splitlines()) == 1


# ---- printing ------------------------------------------------------------------------------------------


def test_json_has_no_nan_and_terminals_get_no_escapes():
    assert plain({"a": float("nan"), "b": (float("inf"), 1, True, None)}) == {"a": None, "b": [None, 1, True, None]}
    assert printable("a\x1b[31mb\n") == "a?[31mb?"


NOISY = """
import os, sys
from dlsched.cli import solve
from dlsched.cli.main import main

def noisy(instance):
    os.write(1, b"a solver talks\\n")
    return {"value": 1}

solve.KINDS["noisy"] = noisy
status = main(["solve", "noisy"])
print("after")
sys.exit(status)
"""


def test_what_a_library_prints_is_not_part_of_the_answer():
    done = subprocess.run([sys.executable, "-c", NOISY], input="{}", capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"value": 1}\nafter\n', "a solver talks\n")


def test_parameters_are_typed_as_the_app_prints_times_and_money() -> None:
    typed = parse_params(["quantum_s=1 d 12 h", "restart_s=90", "bid_usd=$2.10", "order=1 h", "edges_s=[1, 2]"])
    assert typed == {"quantum_s": 129_600.0, "restart_s": 90.0, "bid_usd": 2.1, "order": "1 h", "edges_s": [1, 2]}
    assert parse_params(["quantum_s=soon"]) == {"quantum_s": "soon"}  # the model of the policy refuses it


def test_jobs_are_written_with_their_starts_and_delays(capsys, tmp_path):
    trace, out = tmp_path / "t.csv", tmp_path / "out.csv"
    trace.write_text(
        "job_id,submit_time_s,num_gpus,duration_s,limit_s,user\na,0,3,100,200,=x\nb,1,4,10,20,u\nc,2,1,150,150,u\n"
    )
    args = ["simulate", str(trace), "--policy", "easy-backfill", "--nodes", "1", "--gpus-per-node", "4"]
    for rule, starts in (("believe", ["0.0", "152.0", "2.0"]), ("ignore", ["0.0", "100.0", "110.0"])):
        assert main([*args, "--limits", rule, "--jobs", str(out), "--json"]) == 0
        header, *lines = [line.split(",") for line in out.read_text().splitlines()]
        assert header[:8] == ["job_id", "submit_s", "start_s", "end_s", "status", "delay_s", "run_s", "gpus"]
        assert [line[header.index("start_s")] for line in lines] == starts
        assert [float(line[5]) for line in lines] == [float(line[2]) - float(line[1]) for line in lines]
        assert lines[0][header.index("user")] == "'=x"
        capsys.readouterr()
    refused(capsys, [*args, "--jobs", str(tmp_path / "none" / "out.csv")], "it cannot be written")


def test_the_trail_lists_changes_newest_first(scenario_file, store_file, capsys):
    assert main(["trail", "--store", store_file]) == 0
    assert "No changes yet" in capsys.readouterr().out
    assert main(["simulate", scenario_file, "--policy", "fifo", "--save", "--json", "--store", store_file]) == 0
    run_id = json.loads(capsys.readouterr().out)["run_id"]
    assert main(["runs", "delete", run_id, "--store", store_file]) == 0
    capsys.readouterr()
    assert main(["trail", "--json", "--store", store_file]) == 0
    rows = json.loads(capsys.readouterr().out)["trail"]
    assert [(row["action"], row["kind"]) for row in rows] == [
        ("deleted", "run"),
        ("saved", "run"),
        ("saved", "scenario"),
    ]
    assert rows[0]["what"] == run_id
    assert set(rows[0]) == {"done_at", "who", "action", "kind", "what", "detail"}
    assert main(["trail", "--action", "deleted", "--limit", "5", "--store", store_file]) == 0
    assert re.search(rf"deleted +run +{run_id} +fifo on four jobs, seed 0", capsys.readouterr().out)
