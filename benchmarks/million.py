"""A million jobs: commands with log, audit and metrics, keeping the run, and its page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.commands import simulate
from benchmarks.measure import Cost, Line, command, script
from benchmarks.traces import made_up

JOBS, NODES, LOAD = 1_000_000, 600, 0.75
OTHERS = ("easy-backfill", "srtf")
PAGE = """
import json, os, sys, time
os.environ["DLSCHED_STORE"], run_id = {store!r}, {run_id!r}
sys.argv = ["app.py"]
from streamlit.testing.v1 import AppTest
from dlsched.runner.background import Runner
from dlsched.ui.frame import identity
from dlsched.ui.frame.navigation import PART
Runner.prepare = lambda self: None
identity.browser = lambda: "of the benchmark"
app = AppTest.from_file("app.py", default_timeout=600).run()

def cpu_s(call):
    before = time.process_time()
    assert not call().exception
    return time.process_time() - before

app.query_params["run"] = run_id
opened_s = cpu_s(app.switch_page("pages/results/run_details.py").run)
app.session_state[PART] = "Timeline"
timeline_s = cpu_s(app.run)
zooms_s = [cpu_s(app.button(key="g-in").click().run) for _ in range(3)]
print(json.dumps([opened_s, timeline_s, max(zooms_s)]), flush=True)
os._exit(0)
"""


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about a million jobs, measured."""
    log = made_up(folder, JOBS, NODES * 8, LOAD)
    for policy in ("fifo", *OTHERS):
        simulate(made_up(folder, 2_000, NODES * 8, LOAD), NODES, policy, repeat=1)  # fills the cache of compiled code
    fifo = simulate(log, NODES)
    yield Line(f"FIFO, {JOBS:,} jobs, {NODES} x 8", "CPU s", 8.0, fifo.cpu_s)
    yield Line(f"FIFO, {JOBS:,} jobs, {NODES} x 8", "MiB", 1e9 / 2**20, fifo.peak_mib)
    for policy in OTHERS:
        yield Line(f"{policy}, the same jobs, by FIFO", "times", 1.3, simulate(log, NODES, policy).cpu_s / fifo.cpu_s)
    kept = _kept(log, folder / "million.duckdb")
    yield Line("FIFO and keeping the run", "CPU s", 14.0, kept.cpu_s)
    yield Line("FIFO and keeping the run", "MiB", 1792.0, kept.peak_mib)
    page = script(PAGE.format(store=str(folder / "million.duckdb"), run_id=kept.answer["run_id"]))
    opened_s, timeline_s, zoom_s = json.loads(page.answer.splitlines()[-1])
    yield Line("opening the run", "CPU s", 3.0, opened_s)
    yield Line("opening its timeline", "CPU s", 3.0, timeline_s)
    yield Line("a step of zooming", "CPU s", 0.5, zoom_s)
    yield Line("memory of the page's process", "MiB", 2048.0, page.peak_mib)


def _kept(log: Path, store: Path) -> Cost:
    cluster = ["--nodes", str(NODES), "--gpus-per-node", "8", "--placement", "best-fit", "--oversize", "cap"]
    return command("simulate", str(log), "--policy", "fifo", *cluster, "--save", "--store", str(store), "--json")
