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
SLOWEST = 10
SWITCH_LIMIT_S, RUNS_LIMIT_S = 120.0, 300.0
STORED, STARTED = ("sjf", "easy-backfill"), ("fifo", "fifo-skip", "edf", "sjf", "las", "srtf", "easy-backfill")


@dataclass(frozen=True)
class Target:
    """A page of the campaign."""

    page: str
    query: str


@dataclass(frozen=True, slots=True)
class Switch:
    """What a page switch waited, in CPU seconds of the server and by the clock, and what the server did beside it.

    ``beside``: switches of others that were under way for a part of it; ``starting``: sessions that had started runs
    and still followed them when it began; ``began_s``: since the start of the campaign.
    """

    target: Target
    cpu_s: float
    wall_s: float
    beside: int
    starting: int
    began_s: float

    def __str__(self) -> str:
        where = f"{self.target.page or 'home'}?{self.target.query}"
        return (
            f"{self.cpu_s:.2f} CPU s, {self.wall_s:.2f} s by the clock, at {self.began_s:.0f} s: {where} beside "
            f"{self.beside} other switches, {self.starting} sessions that started runs"
        )


@dataclass(eq=False)
class Waits:
    """The page switches since ``began_s``; how many have begun, and how many are and sessions start runs now."""

    began_s: float
    switches: list[Switch] = field(default_factory=list)
    unfinished: int = 0
    begun: int = 0
    under_way: int = 0
    starting: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, begun: int = 0, under_way: int = 0, starting: int = 0) -> tuple[int, int, int]:
        """Count on; return how many switches had begun and were under way, and how many sessions started, before."""
        with self.lock:
            before = self.begun, self.under_way, self.starting
            self.begun, self.under_way = self.begun + begun, self.under_way + under_way
            self.starting += starting
            return before


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
        began_s = time.monotonic()
        waits = Waits(began_s)
        until_s = began_s + seconds
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
    switches = sorted(one.cpu_s for one in waits.switches)
    print(f"{len(switches):,} page switches by {sessions} sessions in {seconds:.0f} s: {_spread(switches)} CPU s, "
          f"{_spread(sorted(one.wall_s for one in waits.switches))} s by the clock. The slowest:")  # fmt: skip
    for slow in sorted(waits.switches, key=lambda one: -one.cpu_s)[:SLOWEST]:
        print(f"- {slow}")
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
    app: ServedApp,
    number: int,
    own: Sequence[Scenario],
    targets: Sequence[Target],
    until_s: float,
    waits: Waits,
) -> None:
    """Be one visitor: start runs of the own scenario, if there is one; look at a page, think, look at the next."""
    dice = random.Random(number)
    with session(app.port) as visitor:
        time.sleep(dice.uniform(0, THINKS_S[1]))
        for scenario in own:
            visitor.ask("run", f"scenario={scenario.content_hash[:8]}&policies={','.join(STARTED)}")
            visitor.wait(SWITCH_LIMIT_S)
            visitor.ask("run", f"scenario={scenario.content_hash[:8]}&policies={','.join(STARTED)}", pressed="run-now")
            waits.count(starting=1)
            until_begun_s = time.monotonic() + SWITCH_LIMIT_S  # a click that is not taken in yet is lost with its page
            while "cancel-all" not in visitor.buttons and not visitor.wait(THINKS_S[0]):
                if time.monotonic() > until_begun_s:
                    break
            visitor.wait(dice.uniform(*THINKS_S))  # the page follows the runs, and so would others that show the queue
            waits.count(starting=-1)
            targets = [target for target in targets if target.page not in SHOW_THE_QUEUE]
        while time.monotonic() < until_s:
            target = dice.choice(targets)
            cpu_s, wall_s = app.cpu_s(), time.monotonic()
            begun, under_way, starting = waits.count(begun=1, under_way=1)
            visitor.ask(target.page, target.query)
            is_over = visitor.wait(SWITCH_LIMIT_S)
            beside = under_way + waits.count(under_way=-1)[0] - begun - 1
            if not is_over:
                waits.unfinished += 1
                continue
            took_s = app.cpu_s() - cpu_s, time.monotonic() - wall_s
            waits.switches.append(Switch(target, *took_s, beside, starting, wall_s - waits.began_s))
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
