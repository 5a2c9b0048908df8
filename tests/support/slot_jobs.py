"""Small cases of jobs over slots, drawn or by hand, and their best utility by trying everything."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import strategies as st

from dlsched.policies.primal_dual.problem import ROOM, Booking, Instance, Job, Schedule

Effect = tuple[int, int]
"""Worker-slots on one machine, and spread over several."""


def job(
    name: str = "a", *, arrival: int = 0, work: float = 4.0, near: float = 1.0, far: float = 1.0, batch: int = 2,
    ratio: float = 1.0, worker: Sequence[float] = (1.0,), server: Sequence[float] = (1.0,),
    utility: tuple[float, float, float] = (10.0, 1.0, 3.0),
) -> Job:  # fmt: skip
    """Return a job that may start in the slot it arrives in."""
    demands = np.array(worker, dtype=float), np.array(server, dtype=float)
    return Job(name, arrival, arrival, work, near, far, batch, ratio, *demands, utility)


def case(jobs: Sequence[Job], capacity: Sequence[Sequence[float]], slots: int) -> Instance:
    """Return an instance; resources are named by number."""
    held = np.array(capacity, dtype=float)
    return Instance(slots, held, tuple(jobs), tuple(f"resource {n}" for n in range(held.shape[1])))


def cases(jobs: int = 5, machines: int = 4, slots: int = 6, batch: int = 12) -> st.SearchStrategy[Instance]:
    """Return instances with 2 resources; sizes vary up to these. Some jobs never finish, some fit no machine.

    Drawn by seed: of small numbers drawn one by one, nearly all cases have no room for anybody.
    """
    return st.integers(0, 2**32 - 1).map(lambda seed: drawn_case(seed, jobs, machines, slots, batch))


def drawn_case(seed: int, jobs: int, machines: int, slots: int, batch: int) -> Instance:
    """Return the case of a seed, up to these sizes."""
    rng = np.random.default_rng(seed)
    until = int(rng.integers(1, slots + 1))
    drawn = []
    for number in range(rng.integers(1, jobs + 1)):
        near = float(rng.choice([0.2, 0.5, 1.0]))
        slope = float(rng.choice([0.0, 0.4, 5.0]))
        drawn.append(
            job(
                f"j{number}",
                arrival=int(rng.integers(0, max(1, until - 1))),
                work=float(rng.choice([0.5, 1.0, 2.0, 3.7, 6.0, 10.0, 40.0])) * batch / 4,
                near=near,
                far=near * float(rng.choice([0.5, 1.0, 1.7, 2.0, 5.0])),
                batch=int(rng.integers(1, batch + 1)),
                ratio=float(rng.choice([0.5, 1.0, 1.5, 2.0, 3.0, 10.0])),
                worker=rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], 2).tolist(),
                server=rng.choice([0.0, 0.1, 0.5, 1.0, 2.0], 2).tolist(),
                utility=(float(rng.uniform(1, 100)), slope, 2.0),
            )
        )
    drawn.sort(key=lambda one: one.arrival)
    capacity = rng.choice([0.0, 1.0, 2.0, 4.0, 8.0], (rng.integers(1, machines + 1), 2), p=[0.05, 0.15, 0.3, 0.3, 0.2])
    return case(drawn, capacity.tolist(), until)


def together_and_spread(schedule: Schedule) -> Effect:
    """Return the worker-slots of a schedule on one machine and spread."""
    counts = [(int(booking.workers.sum()), booking.together) for booking in schedule.values()]
    return sum(n for n, one in counts if one), sum(n for n, one in counts if not one)


def best_by_enumeration(instance: Instance) -> float:
    """Return the most utility, by trying every combination of bookings in every slot."""
    options = [_effects_with_use(one, instance.capacity) for one in instance.jobs]
    states = {tuple((0, 0, -1) for _ in instance.jobs)}
    for slot in range(instance.slots):
        ways = [
            use if one.first <= slot else {(0, 0): use[0, 0]} for one, use in zip(instance.jobs, options, strict=True)
        ]
        effects = [
            combined
            for combined in product(*ways)
            if _fit([use[effect] for use, effect in zip(ways, combined, strict=True)], instance)
        ]
        states = {
            tuple((a + x, b + y, slot if x + y else last) for (a, b, last), (x, y) in zip(state, combined, strict=True))
            for state in states
            for combined in effects
        }
    return max(sum(map(_worth, instance.jobs, state)) for state in states)


def _worth(one: Job, state: tuple[int, int, int]) -> float:
    near, far, last = state
    return one.worth(last) if near / one.near + far / one.far >= one.work * (1 - ROOM) else 0.0


def _effects_with_use(one: Job, capacity: np.ndarray) -> dict[Effect, list[np.ndarray]]:
    """Return what a slot can train, and all ways to hold machines (H, R) for it."""
    machines = len(capacity)
    found: dict[Effect, list[np.ndarray]] = {(0, 0): [np.zeros(capacity.shape)]}
    for workers in product(range(one.batch + 1), repeat=machines):
        needed = one.servers_for(sum(workers))
        for servers in product(range(needed + 2), repeat=machines):
            if not 0 < sum(workers) <= one.batch or not needed <= sum(servers) <= needed + 1:
                continue
            use = np.outer(workers, one.worker_demand) + np.outer(servers, one.server_demand)
            if (use <= capacity * (1 + ROOM)).all():
                together = Booking.of(dict(enumerate(workers)), dict(enumerate(servers))).together
                effect = (sum(workers), 0) if together else (0, sum(workers))
                found.setdefault(effect, []).append(use)
    return found


def _fit(ways: list[list[np.ndarray]], instance: Instance) -> bool:
    return any((sum(uses) <= instance.capacity * (1 + ROOM)).all() for uses in product(*ways))
