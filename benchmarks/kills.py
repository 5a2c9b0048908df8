"""A served app that is killed in the middle of runs and sweeps: what was stored stays, and no worker outlives it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Line
from benchmarks.serving import LOG, ServedApp, session, tracebacks
from dlsched.domain.errors import StoreError
from dlsched.runner.worker import compile_all
from dlsched.store import Store
from dlsched.store.client import open_store
from dlsched.workload.catalogue import data_path
from dlsched.workload.load import load

KILLS = 20
RUN = ("fifo", "edf", "srtf", "sjf", "las", "easy-backfill", "fifo-skip")
KILLED_AFTER_S = (0.2, 6.0)
ENDED_WITHIN_S, OPEN_LIMIT_S = 10.0, 30.0


def lines(folder: Path, kills: int = KILLS) -> Iterator[Line]:
    """Yield each promise about kills, each while runs, a sweep and a what-if that sessions started are under way."""
    compile_all()  # else the first runs last longer than the app is left alive
    path, dice = folder / "kills.duckdb", random.Random(kills)
    lost = orphans = unopened = 0
    known: set[str] = set()
    demo = load(data_path("demo.toml"))
    for number in range(kills):
        scenario = demo.replace(name=f"killed {number}", seed=number + 1)
        try:
            with Store(path, wait_s=OPEN_LIMIT_S) as store:
                unreadable = [run for run in known if not _reads(store, run)]
                scenario_hash = store.save_scenario(scenario).scenario_hash
        except StoreError as error:
            print(f"after kill {number}: {error}")
            unopened += 1
            break
        lost += len(unreadable)
        known -= set(unreadable)
        app = ServedApp(path).wait_until_ready()
        try:
            _start_work(app.port, scenario_hash[:8], 1.1 + number / 100)
            time.sleep(dice.uniform(*KILLED_AFTER_S))
            with open_store(path) as beside:
                runs = beside.list_runs()
            known |= set(runs.loc[runs["state"] == "stored", "run_id"])
        finally:
            app.kill()
        until_s = time.monotonic() + ENDED_WITHIN_S
        while (left := app.processes()) and time.monotonic() < until_s:
            time.sleep(0.1)
        orphans += len(left)
    if not unopened:
        with Store(path, wait_s=OPEN_LIMIT_S) as store:
            lost += sum(not _reads(store, run) for run in known)
    print(f"{kills} kills, {len(known):,} runs stored")
    if kills > 1 and not known:  # a single kill may come before any run is stored
        raise RuntimeError("no run was stored before any kill: nothing was seen to survive")
    yield Line("runs that were lost", "", 0, lost)
    yield Line(f"workers alive {ENDED_WITHIN_S:g} s after the server", "", 0, orphans)
    yield Line("stores that did not open again", "", 0, unopened)
    yield Line("tracebacks in the log of the app", "", 0, tracebacks(folder / LOG))


def _start_work(port: int, scenario: str, demand: float) -> None:
    """Start runs, a sweep and a what-if, each from a session of its own."""
    with session(port) as runs, session(port) as sweeps, session(port) as asks:
        runs.ask("run", f"scenario={scenario}&policies={','.join(RUN)}")
        sweeps.ask("capacity", f"scenario={scenario}&part=Range&preset=pool-size")
        runs.wait(60)
        sweeps.wait(60)
        runs.ask("run", f"scenario={scenario}&policies={','.join(RUN)}", pressed="run-now")
        if "range-ask" in sweeps.buttons:
            sweeps.ask("capacity", f"scenario={scenario}&part=Range&preset=pool-size", pressed="range-ask")
        asks.ask("what-if", f"scenario={scenario}&set=demand:{demand:g}")
        runs.wait(2)


def _reads(store: Store, run_id: str) -> bool:
    """Whether a run is there with its numbers and its jobs."""
    try:
        return bool(store.metrics(run_id)) and len(store.jobs(run_id)) > 0
    except StoreError:
        return False
