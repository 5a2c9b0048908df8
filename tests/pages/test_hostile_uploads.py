"""Files that take too much on the pages that read them: one message, and the page goes on."""

import gzip
import os
import sys
from pathlib import Path

import pytest

from dlsched.runner import reading
from dlsched.ui.frame import uploads
from dlsched.workload.catalogue import data_path
from tests.support.runs_for_store import record
from tests.unit.runner.test_reading import HOSTILE, ROOM_BYTES, TABLE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
TOO_MUCH = "GiB of memory  \n**Do:** Give a smaller part of it"


@pytest.fixture
def little_memory(monkeypatch):
    pages = int(reading.read_within_limits("t", Path.read_text, Path("/proc/self/statm")).split()[0])
    for limit in ("LEAST_MEMORY_BYTES", "MOST_MEMORY_BYTES"):
        monkeypatch.setattr(reading, limit, pages * os.sysconf("SC_PAGE_SIZE") + ROOM_BYTES)


def errors(app) -> str:
    assert not app.exception
    return " ".join(one.value for one in app.error)


def test_a_trace(open_page, little_memory):
    app = open_page("scenario/jobs.py", source="Upload")
    app = app.file_uploader(key="upload").upload("t.gz", HOSTILE["trace"][1]).run()
    assert TOO_MUCH in errors(app)
    app = app.run()  # the message is kept with the file, which is not read again
    assert TOO_MUCH in errors(app)
    app = app.file_uploader(key="upload").upload("jobs.csv.gz", gzip.compress(TABLE)).run()
    assert errors(app) == ""
    assert app.button(key="use-jobs").label == "Use these 50 jobs"


def test_a_scenario(open_page, store, little_memory):
    app = open_page("home/home.py")
    app = app.file_uploader(key="home-drop").upload("s.json", HOSTILE["scenario"][1]).run()
    assert TOO_MUCH in errors(app)
    app = app.file_uploader(key="home-drop").upload("quotas.toml", data_path("quotas.toml").read_bytes()).run()
    assert errors(app) == ""
    assert len(store.list_scenarios()) == 2


def test_an_export_of_another_store(open_page, store, little_memory):
    store.save_run(record())
    app = open_page("simulate/run.py", part="History")
    app = app.file_uploader(key="runs-import").upload("r.zip", HOSTILE["export"][1], "application/zip").run()
    app = app.button(key="import-now").click().run()
    assert "**import file**  \nreading it takes more than" in errors(app)
    app = app.file_uploader(key="runs-import").upload("r.zip", b"no zip", "application/zip").run()
    app = app.button(key="import-now").click().run()
    assert "**import file**  \nis not a readable zip file" in errors(app)


def test_a_price_list(open_page, little_memory):
    app = open_page("scenario/prices.py")
    app = app.file_uploader(key="price-file").upload("p.csv.gz", HOSTILE["prices"][1]).run()
    assert TOO_MUCH in errors(app)
    app = app.file_uploader(key="price-file").upload("p.csv", data_path("vm_examples.csv").read_bytes()).run()
    assert errors(app) == ""


def test_files_make_room_for_those_of_other_sessions(open_page, monkeypatch):
    """A page that is left keeps its file while there is room; one that is open takes it from the browser again."""
    monkeypatch.setattr(uploads.KEPT, "most_bytes", 3000)
    app = open_page("scenario/jobs.py", source="Upload")
    app = app.file_uploader(key="upload").upload("jobs.csv", TABLE).run()
    assert app.button(key="use-jobs").label == "Use these 50 jobs"
    uploads.KEPT.keep("of another session", bytes(2999))
    assert uploads.KEPT.bytes_held < 3100
    app = app.run()
    assert not app.exception
    assert app.button(key="use-jobs").label == "Use these 50 jobs"
