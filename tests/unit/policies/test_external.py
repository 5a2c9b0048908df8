"""A policy that is another process: equal to ours job by job, and one clear error for whatever goes wrong in it."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlsched.cli.main import main
from dlsched.domain.errors import InputError, PlanError
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.policies import registry
from dlsched.policies.external import VARIABLE, external_policy
from dlsched.policies.external.messages import KEYS
from dlsched.sim.log import PieceEnd
from dlsched.sim.simulate import Cancelled
from dlsched.studies.simulation import key_of, simulate
from dlsched.testing import CHECKS, run_check
from dlsched.testing.scenarios import ABSENCES, FEATURES, fixed_nodes, full_workload, scenario
from dlsched.testing.subject import Subject

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
PYTHON = f"{sys.executable} {EXAMPLES / 'fifo.py'}"
HELLO = "import json, sys\nask = lambda: json.loads(input())\nsay = lambda x: print(json.dumps(x), flush=True)\n"
READY = HELLO + "ask(); say({'protocol': 1}); ask(); say({})\n"


@pytest.fixture(autouse=True)
def forgotten():
    yield
    registry._OUTSIDE.forget()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ here to compile the example")
    program = tmp_path_factory.mktemp("cpp") / "fifo"
    subprocess.run(["g++", "-O1", "-std=c++17", "-Wall", "-Werror", "-o", program, EXAMPLES / "fifo.cpp"], check=True)
    return str(program)


def rigid(feature: str, jobs: int = 60, seed: int = 0) -> Scenario:
    cluster = fixed_nodes(8, 8, 4, absences=ABSENCES)
    return scenario(feature, cluster, workload=full_workload(jobs, seed), speed=SpeedSpec())


def check_equals_fifo(command: str, given: Scenario) -> None:
    ours, theirs = simulate(given, "fifo"), simulate(given, external_policy(command))
    assert theirs.audit() == []
    np.testing.assert_array_equal(ours.log.job_status, theirs.log.job_status)
    np.testing.assert_allclose(ours.log.job_first_start_s, theirs.log.job_first_start_s)
    np.testing.assert_allclose(ours.log.job_end_s, theirs.log.job_end_s)
    np.testing.assert_array_equal(ours.log.share_node, theirs.log.share_node)
    assert PieceEnd.NODE_LOST in theirs.log.piece_end


@pytest.mark.parametrize("feature", [name for name in FEATURES if name != "horizon"])
def test_the_python_example_is_our_fifo(feature: str):
    check_equals_fifo(PYTHON, rigid(feature))


@pytest.mark.parametrize("seed", range(3))
def test_the_cpp_example_is_our_fifo(compiled: str, seed: int):
    check_equals_fifo(compiled, rigid("all", 80, seed))


@pytest.mark.parametrize("key", ["ends", "failures", "same-seed", "no-look-ahead", "beliefs", "state", "reasons"])
def test_the_example_passes_the_suite(key: str):
    (check,) = (one for one in CHECKS if one.key == key)
    if key in ("ends", "failures", "no-look-ahead"):
        simple = Subject(external_policy(PYTHON))
        assert run_check(simple, check, (0,)).status == "passed", str(run_check(simple, check, (0,)))
    else:
        outcome = run_check(Subject(external_policy(PYTHON)), check, (0,))
        assert outcome.status == "passed", str(outcome)


def script(tmp_path: Path, text: str) -> str:
    file = tmp_path / "own.py"
    file.write_text(text)
    return f"{sys.executable} {file}"


def error_of(tmp_path: Path, text: str, **params: Any) -> str:
    with pytest.raises(PlanError) as caught:
        simulate(rigid("plain"), external_policy(script(tmp_path, text)), params)
    return str(caught.value)


ANSWERS = {
    "start without a list": ("{'start': 3}", "start must be a list"),
    "no such job": ("{'start': [{'job': 999}]}", "there is no job 999 yet"),
    "giant number": ("{'stop': [10**400]}", "there is no job"),
    "text as a job": ("{'stop': ['j0']}", "a job must be its number"),
    "true as a job": ("{'stop': [True]}", "a job must be its number"),
    "negative": ("{'reject': [-1]}", "there is no job -1"),
    "no node": ("{'start': [{'job': 0, 'nodes': [[7, 1]]}]}", "the last node is 2"),
    "half a pair": ("{'start': [{'job': 0, 'nodes': [[0]]}]}", "must be pairs"),
    "no workers": ("{'start': [{'job': 0, 'nodes': [[0, 0]]}]}", "must be pairs"),
    "two numbers of workers": ("{'start': [{'job': 0, 'workers': 2, 'nodes': [[0, 1]]}]}", "workers says 2"),
    "unknown field": ("{'start': [{'job': 0, 'node': 1}]}", "start: must be objects"),
    "unknown key": ("{'starts': []}", "unknown key 'starts'"),
    "twice": ("{'start': [{'job': 0}], 'reject': [0]}", "job 0 twice"),
    "bad wake-up": ("{'wake_at_s': 'soon'}", "wake_at_s must be null or a time"),
    "giant wake-up": ("{'wake_at_s': 10**400}", "wake_at_s must be null or a time"),
    "wake-up in the past": ("{'wake_at_s': -5}", "not in the future"),
    "bad note": ("{'note': 3}", "note must be a text"),
    "bad reason": ("{'reasons': [[0, 'because']]}", "reasons: must be pairs"),
    "list as a reason": ("{'reasons': [[0, []]]}", "reasons: must be pairs"),
    "a node that is down": ("{'start': [{'job': 0, 'nodes': [[2, 2]]}]}", "(it is down), which would use"),
    "not an object": ("[1]", "must be a JSON object"),
    "not a number": ("float('nan')", "not valid JSON"),
}


@pytest.mark.parametrize(("answer", "says"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_cannot_be_used_is_one_error_with_the_last_lines(tmp_path: Path, answer: str, says: str):
    text = READY + f"print('thinking hard', file=sys.stderr, flush=True)\nask(); say({answer})\ninput()\n"
    said = error_of(tmp_path, text)
    assert said.startswith("Policy external from process ")
    assert says in said
    assert said.count("thinking hard") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("import sys; sys.exit('no licence')", "ended with status 1; its last lines on standard error: "
                     "no licence", id="ends"),
        pytest.param(READY + "1 / 0", "ZeroDivisionError", id="raises"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL", id="killed"),
        pytest.param("import time; time.sleep(600)", "did not answer within 0.5 s", id="hangs"),
        pytest.param(READY + "ask(); print('{}\\ndebug', flush=True); ask()", "more than one line", id="debug print"),
        pytest.param(READY + "ask(); print('debug', flush=True); input()", "not valid JSON", id="no JSON"),
        pytest.param(READY + "sys.stdout.write('x' * 2**25); sys.stdout.flush(); input()", "longer than 16 MiB",
                     id="oversized"),
        pytest.param(READY + "ask(); print('[' * 200000, flush=True); input()", "not valid JSON", id="deep"),
        pytest.param(READY + "ask(); print('{\"wake_at_s\": ' + '9' * 10000 + '}', flush=True); input()",
                     "not valid JSON", id="digits"),
        pytest.param(HELLO + "ask(); say({'protocol': 2}); input()", "it speaks protocol 2, and this version 1",
                     id="protocol"),
        pytest.param(HELLO + "ask(); say({'protocol': 1, 'every_s': 0}); input()", "every_s of its hello",
                     id="every_s"),
    ],
)  # fmt: skip
def test_a_process_that_fails_is_one_error(tmp_path: Path, text: str, says: str):
    timeout_s = 0.5 if "within" in says else 20.0
    assert says in error_of(tmp_path, text, timeout_s=timeout_s)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


STUBBORN = "import os, subprocess\nopen(sys.argv[0] + '.pid', 'w').write(str(os.getpid()))\n"


def test_a_process_is_ended_when_a_run_is_stopped_even_one_that_stays(tmp_path: Path):
    text = READY + STUBBORN + "while True:\n  try: ask(); say({'wake_at_s': None})\n  except EOFError: pass\n"
    given = rigid("plain", 2000)

    def stop(share: float, told: str) -> None:
        raise Cancelled

    greedy = text.replace("{'wake_at_s': None}", "{}")
    with pytest.raises(Cancelled):
        simulate(given, external_policy(script(tmp_path, greedy)), progress=stop)
    pid = int((tmp_path / "own.py.pid").read_text())
    for _ in range(50):
        if not is_there(pid):
            break
        time.sleep(0.1)
    assert not is_there(pid)


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(PlanError, match=r"program './no-such-program': cannot be started: No such file"):
        simulate(rigid("plain"), external_policy("./no-such-program"))


@pytest.mark.parametrize("command", ["", "  ", "run 'it"])
def test_a_command_line_that_cannot_be_read_is_refused(command: str):
    with pytest.raises(InputError, match="policy external, command"):
        external_policy(command)


def test_a_link_or_page_cannot_give_the_command_line(monkeypatch: pytest.MonkeyPatch):
    given = rigid("plain")
    with pytest.raises(InputError, match="has no command line of a program"):
        simulate(given, "external", {"command": "touch stolen"})
    monkeypatch.setenv(VARIABLE, PYTHON)
    with pytest.raises(InputError, match="external, command: no such parameter"):
        simulate(given, "external", {"command": "touch stolen"})


def test_key_of_a_run_follows_the_files_that_the_command_line_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given = rigid("plain")
    command = script(tmp_path, "one")
    monkeypatch.setenv(VARIABLE, command)
    one = key_of(given, "external")
    assert key_of(given, "external") == one
    script(tmp_path, "another")
    assert key_of(given, "external") != one
    monkeypatch.setenv(VARIABLE, command + " --fast")
    assert key_of(given, "external") != one
    assert "external" in {spec.key for spec in registry.policies()}
    monkeypatch.delenv(VARIABLE)


def test_a_process_given_in_python_comes_before_the_configured_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "./no-such-program")
    assert simulate(rigid("plain"), external_policy(PYTHON)).plugin.startswith("process ")


def test_the_command_line_takes_the_program(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    sample = str(EXAMPLES.parents[1] / "data" / "demo.toml")
    typed = ["simulate", sample, "--policy", "external", "--param", f"command={PYTHON}", "--param", "timeout_s=60"]
    monkeypatch.setenv(VARIABLE, "")  # so that it is as it was afterwards
    assert main([*typed, "--json"]) in (0, 1)
    assert f"process {PYTHON}"[:60] in capsys.readouterr().out


def test_what_a_process_is_told_holds_no_true_run_times(tmp_path: Path):
    """Jobs that will crash or were believed wrongly look like any other; nothing recorded is told."""
    text = READY + "seen = open(sys.argv[0] + '.seen', 'w')\n" + (
        "while True:\n  m = ask(); seen.write(json.dumps(m) + '\\n'); seen.flush()\n"
        "  if m['type'] == 'end': break\n"
        "  say({'reject': [j['job'] for j in m['submitted']]})\n"
    )  # fmt: skip
    base = rigid("estimates")
    given = base.replace(workload=base.workload.with_columns(recorded_start_s=base.workload.submit_s))
    run = simulate(given, external_policy(script(tmp_path, text)))
    import json

    told = [json.loads(line) for line in (tmp_path / "own.py.seen").read_text().splitlines()]
    jobs = [job for message in told if message["type"] == "decide" for job in message["submitted"]]
    assert told[-1]["type"] == "end"
    assert [job["run_s"] for job in jobs] == pytest.approx(run.truth.believed_work.tolist())
    assert not any(name.startswith("recorded") or name == "work" for job in jobs for name in job)
    assert [job["job"] for job in jobs] == list(range(len(jobs)))


def test_the_placement_rule_places_what_is_started_without_nodes_and_the_process_is_told(tmp_path: Path):
    text = READY + (
        "ask(); say({'start': [{'job': 0}]})\n"
        "m = ask(); sys.stderr.write(json.dumps(m['placed'])); sys.exit(3)\n"
    )  # fmt: skip
    given = rigid("plain", 12)
    assert '[{"job": 0, "nodes": [[' in error_of(tmp_path, text)
    assert given.workload.workers[0] > 0


def test_the_guide_names_all_keys():
    guide = (EXAMPLES.parent / "guides" / "policy-protocol.md").read_text()
    for key in KEYS:
        assert f"`{key}`" in guide


def test_a_process_is_asked_by_worker_processes_too(tmp_path: Path):
    command = script(tmp_path, "one")
    spec = external_policy(command)
    again = pickle.loads(pickle.dumps(spec))
    again.build(again.parse(None))
    script(tmp_path, "another")
    with pytest.raises(InputError, match="has changed since it was asked for"):
        again.build(again.parse(None))
