"""The arrays of a compiled run by dominant shares: users, and a line for each user and kind of job. No numba here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.domain.workload import RESOURCES, Ints
from dlsched.policies.baselines.disciplines import share_parts
from dlsched.policies.shared.facts import user_of
from dlsched.sim.kernels.tables import Table
from dlsched.sim.prepare import Prepared

USER = np.dtype(
    [
        ("held", "i8", (len(RESOURCES),)),  # parts of the capacity of its queue
        ("share", "i8"),
        ("first_line", "i8"),  # its lines in ``of_user``
        ("past_line", "i8"),
    ]
)
"""A user in one queue."""
LINE = np.dtype(
    [
        ("user", "i8"),
        ("kind", "i8"),
        ("head", "i8"),  # the first row that waits
        ("at", "i8"),  # place in the heap of its kind; -1 = no job waits
    ]
)
"""The jobs of one kind of one user."""
KIND = np.dtype(
    [
        ("part", "i8", (len(RESOURCES),)),  # of the capacity of its queue, that a job holds
        ("first", "i8"),  # its heap of lines
        ("size", "i8"),
        ("told", "i8"),  # why its jobs wait, as they were told
    ]
)


class Fair(NamedTuple):
    """Users by queue, lines by kind, and for each kind a heap of lines: the lowest share first, then the earliest job.

    ``line_of`` (jobs,); ``in_line`` (jobs,) is the place among the rows of the line; ``of_user`` are lines by user.
    """

    users: Table
    lines: Table
    kinds: Table
    heap: Ints
    of_user: Ints
    line_of: Ints
    in_line: Ints


def no_shares() -> Fair:
    """Return the arrays of a run in which shares do not count."""
    none = np.zeros(0, dtype=np.int64)
    users, lines, kinds = (np.zeros(0, dtype=dtype) for dtype in (USER, LINE, KIND))
    return Fair(users, lines, kinds, none, none, none, none)


def fair_tables(prepared: Prepared, kind_of: Ints, kinds: Table, capacity: Table) -> Fair:
    """Return the arrays before the first job; ``kind_of`` (jobs,), ``capacity`` (queues, resources) of all nodes.

    Parts are worked out once: a rule by shares is not for nodes that come and go.
    """
    jobs = prepared.scenario.workload
    numbers: dict[tuple[int, tuple[str, str]], int] = {}
    queue_of = kinds["queue"][kind_of]
    names = (user_of(jobs, row) for row in range(len(jobs)))
    users = np.array([numbers.setdefault(key, len(numbers)) for key in zip(queue_of.tolist(), names, strict=True)])
    pairs, line_of = np.unique(np.stack([kind_of, users]), axis=1, return_inverse=True)
    line_of = line_of.reshape(-1).astype(np.int64)
    lines = np.zeros(pairs.shape[1], dtype=LINE)
    lines["kind"], lines["user"] = pairs
    lines["head"], lines["at"] = -1, -1
    by_line = np.argsort(line_of, kind="stable")
    in_line = np.zeros(len(jobs), dtype=np.int64)
    in_line[by_line] = np.arange(len(jobs)) - np.searchsorted(line_of[by_line], line_of[by_line])
    of_user = np.argsort(lines["user"], kind="stable")
    table = np.zeros(len(numbers), dtype=USER)
    table["first_line"] = np.searchsorted(lines["user"][of_user], np.arange(len(numbers)))
    table["past_line"] = np.searchsorted(lines["user"][of_user], np.arange(len(numbers)), side="right")
    of_kind = np.zeros(len(kinds), dtype=KIND)
    of_kind["first"] = np.searchsorted(lines["kind"], np.arange(len(kinds)))
    need = kinds["demand"] * kinds["workers"][:, None]
    for queue, holds in enumerate(capacity):
        mine = kinds["queue"] == queue
        of_kind["part"][mine] = share_parts(need[mine], holds)
    return Fair(table, lines, of_kind, np.zeros(len(lines), dtype=np.int64), of_user, line_of, in_line)
