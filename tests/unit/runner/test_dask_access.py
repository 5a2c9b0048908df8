"""How a Dask cluster is named: addresses, scheduler files, times to wait, certificates; one line for what is wrong."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from dlsched.cli.main import main
from dlsched.domain.errors import InputError
from dlsched.runner.dask_access import USUAL_WAIT_S, DaskAccess, read_wait
from dlsched.workload.scenario_file import write_scenario
from tests.support.runs_for_store import small_scenario


def test_the_variables_name_a_cluster() -> None:
    assert DaskAccess.configured({}) is None
    assert DaskAccess.configured({"DLSCHED_DASK": "", "DLSCHED_DASK_WAIT": "1h"}) is None
    assert DaskAccess.configured({"DLSCHED_DASK": "tcp://h:1"}) == DaskAccess("tcp://h:1", USUAL_WAIT_S)
    files = {"DLSCHED_DASK_CA": "a", "DLSCHED_DASK_CERT": "b", "DLSCHED_DASK_KEY": "c"}
    told = DaskAccess.configured({"DLSCHED_DASK": "tls://h:1", "DLSCHED_DASK_WAIT": "2h", **files})
    assert told == DaskAccess("tls://h:1", 7200.0, "a", "b", "c")
    with pytest.raises(InputError, match=r"variable DLSCHED_DASK_WAIT: .* Write it as in 30m, or 0 to not wait"):
        DaskAccess.configured({"DLSCHED_DASK": "tcp://h:1", "DLSCHED_DASK_WAIT": "soon"})


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800.0), ("0", 0.0), ("90 s", 90.0), ("1h 30m", 5400.0)])
def test_times_to_wait(text: str, seconds: float) -> None:
    assert read_wait("--dask-wait", text) == seconds


@pytest.mark.parametrize("text", ["30", "-5m", "forever", "nan", "", "1e400h"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="--dask-wait: "):
        read_wait("--dask-wait", text)


def test_a_scheduler_file_names_the_address(tmp_path: Path) -> None:
    file = tmp_path / "my scheduler.json"
    file.write_text(json.dumps({"type": "Scheduler", "address": "tcp://10.0.0.1:8786"}))
    for named in (str(file), file.as_uri()):
        assert DaskAccess(named).scheduler() == "tcp://10.0.0.1:8786"
    assert DaskAccess("tcp://h:1").scheduler() == "tcp://h:1"


@pytest.mark.parametrize("content", ["", "[1]", '{"address": 3}', '{"address": "x"}', "[" * 100_000, "\ufffd"])
def test_a_file_that_names_none(content: str, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"Dask scheduler file .*s\.json: "):
        DaskAccess(str(file)).scheduler()


def test_a_file_that_comes_later_is_waited_for_and_a_missing_folder_is_not(tmp_path: Path) -> None:
    file, told = tmp_path / "s.json", list[str]()
    timer = threading.Timer(0.7, file.write_text, ['{"address": "tcp://h:1"}'])
    timer.start()
    DaskAccess(str(file), 60).wait_for_file(told.append)
    timer.join()
    assert told[0] == f"waiting for Dask scheduler file {file}: 0 s of 1 min"
    assert told[-1] == ""
    told.clear()
    for access in (DaskAccess(str(tmp_path / "no" / "s.json"), 60), DaskAccess("tcp://h:1", 60)):
        access.wait_for_file(told.append)
    assert told == []
    with pytest.raises(InputError, match=r"cannot be read .*Start the scheduler with --scheduler-file"):
        DaskAccess(str(tmp_path / "no" / "s.json")).scheduler()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--dask-wait", "30m"], "--dask-wait 30m: needs a Dask cluster. Give --dask ADDRESS too."),
        (["--dask-ca", "ca.pem"], "--dask-ca ca.pem: needs a Dask cluster"),
        (["--dask", "tcp://127.0.0.1:9", "--dask-wait", "x"], "--dask-wait x: is not a number with a unit, got 'x'"),
        (["--dask", "tcp://127.0.0.1:9", "--dask-ca", "a"], "is reached without TLS, so --dask-ca a has no use"),
        (["--dask", "tls://127.0.0.1:9"], "needs certificates. Give --dask-ca, --dask-cert and --dask-key, or set "),
        (["--dask", "tls://127.0.0.1:9", "--dask-ca", "/no"], "--dask-ca /no: is not a file"),
    ],
)
def test_options_that_cannot_be(
    more: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DLSCHED_DASK", raising=False)
    file = tmp_path / "s.json"
    write_scenario(small_scenario(), str(file))
    assert main(["sweep", str(file), "--vary", "nodes=1,2", *more]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert why in err
