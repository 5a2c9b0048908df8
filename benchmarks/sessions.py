"""Many sessions at once on one served app: how long page switches wait, its errors, its runs, its memory."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dlsched
from benchmarks.measure import Line
from benchmarks.serving import LOG, ServedApp, session, tracebacks
from benchmarks.traces import SMALL, trace
from dlsched.cli.simulate import with_nodes
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.store import Store
from dlsched.store.client import open_store
from dlsched.workload.catalogue import data_path

SESSIONS, SECONDS = 20, 180.0
STALL_S, MOST_MIB = 1.0, 1500
THINKS_S = (2.0, 8.0)
SHOW_THE_QUEUE = ("", "run")
SWITCH_LIMIT_S, RUNS_LIMIT_S = 120.0, 300.0
STORED, STARTED = ("sjf", "easy-backfill"), ("fifo", "fifo-skip", "edf", "sjf", "las", "srtf", "easy-backfill")


@dataclass(frozen=True)
class Target:
    """A page of the campaign."""

    page: str
    query: str


@dataclass(eq=False)
class Waits:
    """What page switches waited, in CPU seconds of the server and by the clock."""

    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    unfinished: int = 0


def lines(folder: Path, sessions: int = SESSIONS, seconds: float = SECONDS) -> Iterator[Line]:
    """Yield each promise about many sessions, measured on one server; half of them start runs of their own too.

    One visitor opens each page before: what the first look at a server loads is not measured.
    A wait in CPU seconds is what the server computed between a click and the end of its page, for whichever session:
    on a machine that does nothing else, it is the wait.
    """
    path = folder / "sessions.duckdb"
    own, targets = _filled(path, folder, sessions // 2)
    app = ServedApp(path).wait_until_ready()
    try:
        with session(app.port) as first:
            for target in targets:
                first.ask(target.page, target.query)
                first.wait(SWITCH_LIMIT_S)
        waits, until_s = Waits(), time.monotonic() + seconds
        visitors = [
            threading.Thread(target=_visit, args=(app, number, own[number : number + 1], targets, until_s, waits))
            for number in range(sessions)
        ]
        for one in visitors:
            one.start()
        for one in visitors:
            one.join()
        lost = _not_stored(path, own)
        most_mib = app.mib("VmHWM")
    finally:
        app.stop()
    switches = sorted(waits.cpu_s)
    print(f"{len(switches):,} page switches by {sessions} sessions in {seconds:.0f} s: {_spread(switches)} CPU s, "
          f"{_spread(sorted(waits.wall_s))} s by the clock")  # fmt: skip
    yield Line("page switches that never ended", "", 0, waits.unfinished)
    yield Line("median page switch, CPU of the server", "s", 0.25, switches[len(switches) // 2])
    yield Line(f"page switches above {STALL_S:g} CPU s", "", 0, sum(one > STALL_S for one in switches))
    yield Line("runs that were lost", "", 0, lost)
    yield Line("tracebacks in the log of the app", "", 0, tracebacks(folder / LOG))
    yield Line("most memory of the server", "MiB", MOST_MIB, most_mib)


def _spread(values: Sequence[float]) -> str:
    places = {share: min(len(values) * share // 100, len(values) - 1) for share in (50, 95, 99)}
    return ", ".join(f"p{share} {values[place]:.2f}" for share, place in places.items())


def _filled(path: Path, folder: Path, starters: int) -> tuple[list[Scenario], list[Target]]:
    """Write a store with runs of a large trace and of the demo; return the scenarios of starters, and the pages."""
    large, demo = dlsched.load(trace(folder, SMALL)), dlsched.load(data_path("demo.toml"))
    large = large.replace(options=large.options.model_copy(update={"oversize": "cap"}))
    with Store(path) as store:
        runs = {
            scenario.content_hash: [store.save_run(dlsched.simulate(scenario, one).record()) for one in STORED]
            for scenario in (large, demo)
        }
        # of other clusters: a page of the demo's runs would wait for futures that these runs ask for
        own = [
            demo.replace(name=f"of session {number}", cluster=with_nodes(demo.cluster, 9 + number, 8))
            for number in range(starters)
        ]
        for one in own:
            store.save_scenario(one)
    targets = [Target(page, f"scenario={of[:8]}&{query}") for of, ids in runs.items() for page, query in _pages(ids)]
    return own, targets


def _pages(run_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((page, "") for page in ("", "jobs", "cluster", "prices", "run", "capacity", "when", "load-test"))
    yield "compare", f"runs={','.join(run_ids)}"
    yield "memo", f"runs={','.join(run_ids)}"
    for part in ("Overview", "Timeline", "Jobs", "Numbers"):
        yield "run-details", f"run={run_ids[0]}&part={part}"


def _visit(
    app: ServedApp, number: int, own: Sequence[Scenario], targets: Sequence[Target], until_s: float, waits: Waits
) -> None:
    """Be one visitor: start runs of the own scenario, if there is one; look at a page, think, look at the next."""
    dice = random.Random(number)
    with session(app.port) as visitor:
        time.sleep(dice.uniform(0, THINKS_S[1]))
        for scenario in own:
            visitor.ask("run", f"scenario={scenario.content_hash[:8]}&policies={','.join(STARTED)}")
            visitor.wait(SWITCH_LIMIT_S)
            visitor.ask("run", f"scenario={scenario.content_hash[:8]}&policies={','.join(STARTED)}", pressed="run-now")
            until_begun_s = time.monotonic() + SWITCH_LIMIT_S  # a click that is not taken in yet is lost with its page
            while "cancel-all" not in visitor.buttons and not visitor.wait(THINKS_S[0]):
                if time.monotonic() > until_begun_s:
                    break
            visitor.wait(dice.uniform(*THINKS_S))  # the page follows the runs, and so would others that show the queue
            targets = [target for target in targets if target.page not in SHOW_THE_QUEUE]
        while time.monotonic() < until_s:
            target = dice.choice(targets)
            cpu_s, wall_s = app.cpu_s(), time.monotonic()
            visitor.ask(target.page, target.query)
            if not visitor.wait(SWITCH_LIMIT_S):
                waits.unfinished += 1
                continue
            waits.cpu_s.append(app.cpu_s() - cpu_s)
            waits.wall_s.append(time.monotonic() - wall_s)
            time.sleep(dice.uniform(*THINKS_S))


def _not_stored(path: Path, own: Sequence[Scenario]) -> int:
    """Return how many of the runs that sessions started are not in the store once no run is under way."""
    asked = {(one.content_hash, find(policy).key) for one in own for policy in STARTED}
    until_s = time.monotonic() + RUNS_LIMIT_S
    while True:
        with open_store(path) as store:
            runs = store.list_runs()
        stored = runs[runs["state"] == "stored"]
        missing = asked - set(zip(stored["scenario_hash"], stored["policy"], strict=True))
        if not missing or time.monotonic() > until_s:
            return len(missing)
        time.sleep(2.0)
