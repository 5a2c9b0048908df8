from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.baselines.walks import Beside, walk_beside, walk_fairly
from dlsched.policies.shared.first_fit import first_fit


class Room:
    """So many GPUs; ``asked`` keeps who was tried."""

    def __init__(self, gpus: int, need: dict[int, int]) -> None:
        self.free, self.need = gpus, need
        self.asked: list[int] = []

    def take(self, row: int) -> bool:
        self.asked.append(row)
        if self.need[row] > self.free:
            return False
        self.free -= self.need[row]
        return True


def plain_walk(needs: list[int], gpus: int, *, blocking: bool) -> list[int]:
    taken = []
    for row, need in enumerate(needs):
        if need <= gpus:
            gpus -= need
            taken.append(row)
        elif blocking:
            break
    return taken


@given(st.lists(st.integers(1, 5), max_size=12), st.integers(0, 12), st.booleans())
def test_walk_takes_what_a_plain_loop_takes_and_tries_no_kind_twice_after_it_failed(needs, gpus, blocking):
    room = Room(gpus, dict(enumerate(needs)))
    assert first_fit(np.arange(len(needs)), np.array(needs), room.take, blocking=blocking) == plain_walk(
        needs, gpus, blocking=blocking
    )
    failed = [needs[row] for row in room.asked if needs[row] > gpus]
    assert len(failed) == len(set(failed))


def test_backfill_tries_short_jobs_of_a_kind_in_the_way_and_long_ones_again_after_a_start():
    # one kind; 0 is in the way, so is 1 (not asked), 2 is short and starts, then 3 is asked again
    asked = []

    def offer(row: int) -> Beside:
        asked.append(row)
        return Beside.TAKEN if row in (2, 3) else Beside.IN_THE_WAY

    late = np.array([True, True, False, True])
    assert walk_beside(np.arange(4), np.zeros(4, dtype=np.int64), late, offer) == [2, 3]
    assert asked == [0, 2, 3]


def test_backfill_does_not_try_a_kind_without_room_again():
    asked = []

    def offer(row: int) -> Beside:
        asked.append(row)
        return Beside.NO_ROOM if row == 0 else Beside.TAKEN

    late = np.array([True, False, False])
    assert walk_beside(np.arange(3), np.array([7, 7, 8]), late, offer) == [2]
    assert asked == [0, 2]


def test_fair_walk_is_progressive_filling():
    """Ghodsi et al. 2011, section 4.1: 9 CPUs and 18 GB, tasks (1, 4) and (3, 1): A gets three, B gets two."""
    left = np.array([9.0, 18.0])
    need = np.array([[1.0, 4.0], [3.0, 1.0]])
    held = np.zeros((2, 2))
    users = np.arange(10) % 2

    def take(row: int) -> bool:
        fits = bool((need[users[row]] <= left).all())
        if fits:
            left[:] -= need[users[row]]
            held[users[row]] += need[users[row]]
        return fits

    taken = walk_fairly(np.arange(10), users, users, lambda user: float((held[user] / [9, 18]).max()), take)
    assert users[taken].tolist().count(0) == 3
    assert users[taken].tolist().count(1) == 2


@pytest.mark.parametrize(("shares", "first"), [((0.0, 0.0), 0), ((0.5, 0.0), 1), ((0.5, 0.5), 0)])
def test_fair_walk_serves_the_poorest_and_ties_by_row(shares: tuple[float, float], first: int):
    order: list[int] = []

    def take(row: int) -> bool:
        order.append(row)
        return True

    walk_fairly(np.arange(3), np.array([0, 1, 0]), np.zeros(3, dtype=np.int64), shares.__getitem__, take)
    assert order[0] == first
    assert sorted(order) == [0, 1, 2]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=14),
    st.integers(0, 14),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_fair_walk_takes_what_a_plain_loop_takes_and_tries_no_kind_twice(jobs, gpus, held):
    users, needs = (np.array([job[part] for job in jobs], dtype=np.int64) for part in (0, 1))
    room, mine = Room(gpus, dict(enumerate(needs.tolist()))), list(held)

    def take(row: int) -> bool:
        taken = room.take(row)
        mine[users[row]] += int(needs[row]) * taken
        return taken

    assert walk_fairly(np.arange(len(jobs)), users, needs, mine.__getitem__, take) == plain_fair_walk(jobs, gpus, held)
    failed = [int(needs[row]) for row in room.asked if needs[row] > gpus]
    assert len(failed) == len(set(failed))


def plain_fair_walk(jobs: list[tuple[int, int]], gpus: int, held: list[int]) -> list[int]:
    held, left, taken = list(held), list(range(len(jobs))), []
    while left:
        row = min(left, key=lambda row: (held[jobs[row][0]], row))
        left.remove(row)
        if jobs[row][1] <= gpus:
            gpus -= jobs[row][1]
            held[jobs[row][0]] += jobs[row][1]
            taken.append(row)
    return taken
