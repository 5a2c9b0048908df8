"""The arrays a decision works on. No numba here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ROUNDING = 1e-9
"""Parts of a worker that a division may lose."""


class Curves(NamedTuple):
    """Speed curves and what a rule makes of them, each of shape (curves, N + 1) over widths or budgets 0..N.

    ``rate[c, w]`` work per second, 0 where not legal. ``width[c, b]`` the width a rule wants with b nodes at most,
    0 = none. ``weight[c, w]`` x size of a job = its place in the order, the smallest first.
    """

    rate: Floats
    width: Ints
    weight: Floats


class Jobs(NamedTuple):
    """The active jobs in source order, each of shape (jobs,).

    ``curve`` row of :class:`Curves`; ``remaining`` and ``work`` believed, in units of work; ``cost`` capacity that a
    worker takes; ``most`` workers that may be placed at most; ``fixed`` width of the first start (0 = not started);
    ``held`` workers now.
    """

    curve: Ints
    remaining: Floats
    work: Floats
    cost: Floats
    most: Ints
    fixed: Ints
    held: Ints


class Answer(NamedTuple):
    """``given`` workers of each job, and in ``order`` which was served first; the rest is scratch. Shape (jobs,)."""

    given: Ints
    order: Ints
    size: Floats
    key: Floats
    heap: Ints


def answer_for(jobs: int) -> Answer:
    """Return the arrays for an answer about so many jobs."""
    ints = [np.zeros(jobs, dtype=np.int64) for _ in range(3)]
    return Answer(ints[0], ints[1], np.zeros(jobs), np.zeros(jobs), ints[2])


class Rule(NamedTuple):
    """How to decide: ``kind`` is one of the three below; ``chunk`` capacity of a chunk."""

    kind: int
    fills: bool
    blocking: bool
    gamma: float
    chunk: float


MALLEABLE, MOLDABLE, QUEUES = 0, 1, 2


class Queues(NamedTuple):
    """``chunk`` (jobs,) of the active jobs in source order, -1 = none yet.

    Of each chunk, (chunks,): how many others wait ``behind`` its first job and are not listed; ``lengths`` and the
    ``first`` job are written by a decision.
    """

    chunk: Ints
    behind: Ints
    lengths: Ints
    first: Ints


def queues_for(chunk: Ints, chunks: int) -> Queues:
    """Return the arrays for so many chunks whose jobs are all listed."""
    behind, lengths, first = np.zeros((3, chunks), dtype=np.int64)
    return Queues(chunk, behind, lengths, first)
