"""Where a command computes: here, on processes of this machine, or on a Dask cluster."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dlsched.domain.errors import InputError
from dlsched.runner.executor import open_pool

if TYPE_CHECKING:
    from dlsched.store import Store


@contextmanager
def opened(options: Namespace) -> Iterator[Executor | None]:
    """Give what ``--processes`` and ``--dask`` name; None = here, one after the other.

    Raises
    ------
    InputError
        If both were typed, or as :func:`dlsched.runner.executor.open_pool`.
    """
    if options.dask is not None and options.processes is not None:
        why = f"cannot go with --processes {options.processes}: a cluster has workers of its own"
        raise InputError(f"--dask {options.dask}", why, "Give one of them")
    if options.processes == 1:
        yield None
        return
    with open_pool(options.dask, options.processes).executor as executor:
        yield executor


@contextmanager
def kept_and_opened(options: Namespace) -> Iterator[tuple[Store | None, Executor | None]]:
    """Give the store that ``--save`` names, None without it, and what :func:`opened` gives; errors as there."""
    if options.save is None:
        with opened(options) as executor:
            yield None, executor
        return
    from dlsched.store import Store

    # The store comes before the runs: another process may hold it.
    with Store(options.save or None) as store, opened(options) as executor:
        yield store, executor
