"""Market against the other renting policies in 66 regimes: prices, loads, due dates, restarts, billing, speed-up.

``python -m benchmarks.renting_grid FILE [--seeds 0 1] [--cells TEXT ...] [--set look_ahead=0]`` runs what FILE, JSON
lines, does not have yet, and prints Market's cost over that of the best other policy for each cell and seed, their
geometric mean, and CPU time. A cell changes one or two things of the base: the study's machine types (K80 and M60 with
1, 2, 4 and 8 GPUs), 5 slots, 40 jobs of 4 to 16 hours on one K80, due 1 to 3 times their fastest run, $0.003 to 0.015 a
second late, a period of an hour, and gaps such that the jobs at their thriftiest fill 0.9 of all slots.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Workload
from dlsched.studies.simulation import simulate
from dlsched.workload.profiles.profile import profile_of
from dlsched.workload.studies.gpu_as_a_service import APPLICATIONS, ServiceApplication

JOBS = 40
MARKET = "gpuaas-market"
OTHERS = (
    "gpuaas-path-relinking", "gpuaas-randomized-greedy", "gpuaas-greedy", "gpuaas-fifo", "gpuaas-edf",
    "gpuaas-priority", "gpuaas-dp-wct", "gpuaas-dp-fastwct", "gpuaas-dp-fastb", "gpuaas-dp-adjwct",
)  # fmt: skip

Prices = Mapping[str, Mapping[int, float]]
"""GPU type -> GPUs of a machine -> $/h."""
STUDY: Prices = {
    "K80": {1: 0.56, 2: 1.13, 4: 2.25, 8: 4.48},
    "M60": {1: 0.62, 2: 1.24, 4: 2.48, 8: 4.96},
}
CATALOGUES: Mapping[str, Prices] = {
    "study": STUDY,
    "on demand": {"V100": {1: 3.05, 4: 12.2, 8: 24.4}, "A100": {1: 2.1, 4: 8.4, 8: 16.8}, "H100": {1: 4.4, 8: 32.8}},
    "spot": {"V100": {1: 0.92, 4: 3.66, 8: 7.32}, "A100": {1: 0.95, 4: 3.8, 8: 7.6}, "H100": {8: 16.4}},
    "only 8": {"K80": {8: 4.48}, "M60": {8: 4.96}},
    "4 and 16": {"K80": {4: 2.25, 16: 8.96}, "M60": {4: 2.48, 16: 9.92}},
    "large dear": {"K80": {1: 0.56, 2: 1.7, 4: 5.0, 8: 15.0}, "M60": {1: 0.62, 2: 1.9, 4: 5.6, 8: 16.8}},
    "large cheap": {"K80": {1: 0.56, 2: 1.0, 4: 1.7, 8: 2.9}, "M60": {1: 0.62, 2: 1.1, 4: 1.9, 8: 3.2}},
    "one type": {"K80": STUDY["K80"]},
    "1 and 8": {"K80": {1: 0.56, 8: 44.8}},
    "one dear": {"K80": STUDY["K80"], "M60": {1: 6.2, 2: 12.4, 4: 24.8, 8: 49.6}},
}
K80_TIME = {"V100": 0.25, "A100": 0.12, "H100": 0.07}
"""Run time on a GPU type over that on a K80, about; of an M60 it is the application's."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is asked of the policies; the fields are those of the base."""

    prices: str = "study"
    load: float = 0.9
    speed_up: str = "amdahl"
    due: tuple[float, float] = (1.0, 3.0)
    late_usd_per_s: tuple[float, float] = (0.003, 0.015)
    hours: tuple[float, float] = (4.0, 16.0)
    slots: int = 5
    restart_s: float = 0.0
    hourly: bool = False
    period_s: float | None = HOUR_S


def _cells() -> Iterator[tuple[str, Cell]]:
    for load in (0.15, 0.4, 0.9, 2.0):
        yield f"base {load:g}", Cell(load=load)
    for prices in CATALOGUES:
        for load in (0.15, 0.9):
            if prices != "study":
                yield f"{prices} {load:g}", Cell(prices, load)
    for law in ("linear", "superlinear", "flat"):
        for load in (0.15, 0.9, 2.0):
            yield f"{law} {load:g}", Cell(load=load, speed_up=law)
    for load in (0.15, 0.9):
        for due in ((1.0, 1.2), (3.0, 8.0), (50.0, 100.0)):
            yield f"due {due[0]:g} to {due[1]:g} {load:g}", Cell(load=load, due=due)
        yield f"weights low {load:g}", Cell(load=load, late_usd_per_s=(0.0003, 0.0015))
        yield f"weights wide {load:g}", Cell(load=load, late_usd_per_s=(0.0001, 0.1))
        yield f"no period {load:g}", Cell(load=load, period_s=None)
        for slots in (1, 20):
            yield f"slots {slots} {load:g}", Cell(load=load, slots=slots)
    for load in (0.15, 0.4, 0.9):
        for restart_s in (120.0, 600.0):
            yield f"restart {restart_s:g} {load:g}", Cell(load=load, restart_s=restart_s)
        yield f"hourly {load:g}", Cell(load=load, hourly=True)
        yield f"hourly short {load:g}", Cell(load=load, hourly=True, hours=(0.3, 3.0))
    yield "slots 2 0.9", Cell(slots=2)
    yield "slots 50 0.9", Cell(slots=50)
    yield "lone base", Cell(load=0.02)
    yield "lone large dear", Cell("large dear", 0.02)
    yield "large dear linear 0.9", Cell("large dear", speed_up="linear")
    yield "large dear linear 0.15", Cell("large dear", 0.15, speed_up="linear")
    yield "hourly restart 120 0.9", Cell(hourly=True, restart_s=120.0)


CELLS = dict(_cells())


def scenario_of(cell: Cell, seed: int) -> Scenario:
    """Return the jobs of a cell at a seed, on its rented slots."""
    dice = np.random.default_rng(seed)
    prices = CATALOGUES[cell.prices]
    which = dice.integers(0, len(APPLICATIONS), JOBS)
    profiles = [profile_of(_times(application, cell)) for application in APPLICATIONS]
    fastest_s = np.array([profile.fastest_s for profile in profiles])[which]
    work = fastest_s * dice.uniform(*cell.hours, JOBS) * HOUR_S
    node_s = work * np.array([_least_nodes(profile.rows, prices) for profile in profiles])[which]
    gaps_s = dice.standard_exponential(JOBS - 1) * node_s.mean() / (cell.slots * cell.load)
    submit_s = np.append(0.0, np.cumsum(gaps_s))
    names = np.array([application.name for application in APPLICATIONS], dtype=object)[which]
    columns = {
        "job_id": [f"J{number}" for number in range(JOBS)],
        "submit_s": submit_s.round(3),
        "work": work.round(3),
        "workers": np.array([profile.gpus for profile in profiles])[which],
        "model": names,
        "profile": names,
        "due_s": (submit_s + work * dice.uniform(*cell.due, JOBS)).round(3),
        "weight_usd_per_s": _weights(cell, dice),
    }
    rows = {a.name: profile.rows for a, profile in zip(APPLICATIONS, profiles, strict=True)}
    catalogue = tuple(
        VmType(name=f"{gpus} x {kind}", gpu_type=kind, gpus=gpus, usd_per_h=usd)
        for kind, sizes in prices.items()
        for gpus, usd in sizes.items()
    )
    return Scenario(
        workload=Workload.from_columns(columns, {"source": f"generated, seed {seed}"}),
        cluster=Cluster(slots=cell.slots, catalogue=catalogue),
        speed=SpeedSpec(kind="table", times=TimeTable(rows=rows)),
        options=SimulationRules(restart_s=cell.restart_s, billing="hour" if cell.hourly else "second"),
        name="renting grid",
    )


def _times(application: ServiceApplication, cell: Cell) -> dict[str, list[float]]:
    """Return run times over that on one K80, by GPU type and number of GPUs."""
    prices = CATALOGUES[cell.prices]
    spread = application.m60_ratio
    ratio = {"K80": 1.0, "M60": spread} | {kind: time * spread for kind, time in K80_TIME.items()}
    return {
        kind: [ratio[kind] * _time_share(application, cell.speed_up, g) for g in range(1, max(sizes) + 1)]
        for kind, sizes in prices.items()
    }


def _time_share(application: ServiceApplication, speed_up: str, gpus: int) -> float:
    """Return the time with so many GPUs over the time with one."""
    laws = {"linear": 1 / gpus, "superlinear": gpus**-1.12, "flat": 1.0}
    return laws[speed_up] if speed_up in laws else application.time_share(gpus)


def _least_nodes(rows: Mapping[str, Sequence[float]], prices: Prices) -> float:
    """Return the time of whole nodes that a unit of work takes at least."""
    return min(
        time * gpus / max(prices[kind]) for kind, times in rows.items() for gpus, time in enumerate(times, start=1)
    )


def _weights(cell: Cell, dice: np.random.Generator) -> Floats:
    """Return evenly drawn weights, or, where they differ by more than a factor of 100, their even logarithms."""
    low, high = cell.late_usd_per_s
    if high > 100 * low:
        return np.asarray(np.exp(dice.uniform(math.log(low), math.log(high), JOBS)))
    return dice.uniform(low, high, JOBS)


def run(name: str, seed: int, policy: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of the file: the cost of a policy in a cell at a seed, its decisions and their CPU seconds."""
    cell = CELLS[name]
    params = dict(given) | ({"period_s": None} if cell.period_s is None else {})
    done = simulate(scenario_of(cell, seed), policy, params)
    if found := done.audit():
        raise RuntimeError(f"{policy} in {name}, seed {seed}: {found[0]}")
    spent_s = float(done.log.decision_cpu_s.sum())
    usd = float(done.metrics["total_cost"] or 0.0)
    return _key(name, seed, policy, given) | {"usd": usd, "calls": len(done.log.decision_s), "cpu_s": spent_s}


def _key(name: str, seed: int, policy: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"cell": name, "seed": seed, "policy": policy, "params": dict(given)}


def fill(file: Path, cells: Iterable[str], seeds: Sequence[int], given: Mapping[str, Any]) -> None:
    """Append the runs that the file lacks; one that was cut short is made again."""
    lines = read(file)
    known = {_identity(line) for line in lines}
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with file.open("a") as out:
        for name in cells:
            for seed in seeds:
                for policy in (MARKET, *OTHERS):
                    params = given if policy == MARKET else {}
                    if _identity(_key(name, seed, policy, params)) not in known:
                        out.write(json.dumps(run(name, seed, policy, params)) + "\n")
                        out.flush()


def read(file: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a file; none of a file that is not there."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _identity(line: Mapping[str, Any]) -> str:
    return json.dumps([line["cell"], line["seed"], line["policy"], line["params"]])


def report(
    lines: Sequence[Mapping[str, Any]], cells: Sequence[str], seeds: Sequence[int], given: Mapping[str, Any]
) -> str:
    """Return Market's cost over the best other one's: a line for each cell, then over all of them."""
    asked = [
        line
        for line in lines
        if line["cell"] in cells
        and line["seed"] in seeds
        and line["params"] == (dict(given) if line["policy"] == MARKET else {})
    ]
    costs: defaultdict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for line in asked:
        costs[line["cell"], line["seed"]][line["policy"]] = line["usd"]
    rows, ratios = [], np.zeros((len(cells), len(seeds)))
    for at, name in enumerate(cells):
        row = f"{name:<24}"
        for place, seed in enumerate(seeds):
            by_policy = dict(costs[name, seed])
            market_usd = by_policy.pop(MARKET)
            best = min(by_policy, key=by_policy.__getitem__)
            ratios[at, place] = market_usd / by_policy[best]
            row += f" {ratios[at, place]:7.4f} {best.removeprefix('gpuaas-'):<17}"
        rows.append(row)
    of_cell = np.exp(np.log(ratios).mean(axis=1))
    dearer = ", ".join(f"{(of_cell > 1 + by).sum()} by more than {by:.1%}" for by in (0.005, 0.01, 0.05))
    cpu_s = np.array([line["cpu_s"] for line in asked if line["policy"] == MARKET])
    calls = sum(line["calls"] for line in asked if line["policy"] == MARKET)
    return "\n".join([
        *rows,
        f"geometric mean of {len(cells)} cells, {len(seeds)} seeds: {np.exp(np.log(ratios).mean()):.4f}",
        f"cells dearer over their seeds: {dearer}",
        f"single seeds dearer by more than 5%: {(ratios > 1.05).sum()}, the most {ratios.max():.4f}",
        f"Market: {cpu_s.mean():.2f} CPU s a run, most {cpu_s.max():.2f}; {1000 * cpu_s.sum() / calls:.2f} ms a call",
    ])  # fmt: skip


def main(args: Sequence[str]) -> int:
    """Fill the file and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.renting_grid", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--cells", nargs="+", default=[""], help="only cells whose name contains one of these texts")
    parser.add_argument("--set", nargs="*", default=[], help="parameters of Market, name=value")
    given = parser.parse_args(args)
    params = {name: json.loads(value) for name, _, value in (text.partition("=") for text in given.set)}
    cells = [name for name in CELLS if any(text in name for text in given.cells)]
    fill(given.file, cells, given.seeds, params)
    print(report(read(given.file), cells, given.seeds, params))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
