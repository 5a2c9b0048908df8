"""What a Dask worker does for us: who it is, one task at a time, and word of how far it is.

Imports little: the first question to a worker is answered in its event loop.
"""

from __future__ import annotations

import io
import pickle
import platform
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

from dlsched.domain.errors import InputError
from dlsched.studies.code_version import code_version

_SOURCES = ("runner", "studies", "store", "workload")
"""Folders that decide answers, or what travels, beyond those that decide a run."""
_PACKAGES = ("numpy", "scipy", "numba", "ortools", "pulp")
"""Packages whose versions can change a number."""


@lru_cache(maxsize=1)
def identity() -> dict[str, str]:
    """Return versions of everything that decides an answer, by name; of our own code as it was first asked for."""
    packages = {name: _version(name) for name in _PACKAGES}
    return {"dlsched": code_version(_SOURCES), "Python": ".".join(platform.python_version_tuple()[:2]), **packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def check_worker(name: str, threads: int, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Raise InputError when a worker cannot be trusted to compute what this process would.

    Parameters
    ----------
    name
        Its address.
    threads
        How many tasks it computes at once. CPU time of a decision is that of its process, and what solvers print is
        kept away for a whole process: two runs in one would mix both.
    theirs, ours
        What :func:`identity` says there and here.
    """
    if threads != 1:
        do = f"Start it with --nthreads 1 --nworkers {threads} for the same number of processes"
        raise InputError(f"Dask worker {name}", f"must run with one thread, got {threads} threads", do)
    for part, wanted in ours.items():
        if theirs.get(part) != wanted:
            why = f"has {part} {theirs.get(part, 'none')}, but this machine has {wanted}: answers could differ"
            raise InputError(f"Dask worker {name}", why, "Install the same version there and restart the worker")


def answer(order: bytes, asker: Mapping[str, str], names: Sequence[str], *contents: bytes) -> bytes:
    """Return the pickled (True, answer) of a pickled (function, args, kwargs), or (False, what it raised).

    Workers may come after the scheduler was first asked: each task checks its own.

    Parameters
    ----------
    order
        The task; what it has in common with others is left out and named.
    asker
        Identity of the caller.
    names, contents
        What was left out, by name.
    """
    from distributed import get_worker

    try:
        here = get_worker()
        check_worker(here.address, here.state.nthreads, identity(), asker)
        common = {name: _common(name, content) for name, content in zip(names, contents, strict=True)}
        work, args, kwargs = _Unpickler(io.BytesIO(order), common).load()
        return pickle.dumps((True, work(*args, **kwargs)), protocol=5)
    except Exception as error:
        return _packed(error)


_COMMON: dict[str, Any] = {}
_MOST_COMMON = 4


def _common(name: str, content: bytes) -> Any:
    """Return what the bytes of this name hold; the latest stay unpacked for the next task."""
    found = _COMMON.pop(name, None)
    _COMMON[name] = found = pickle.loads(content) if found is None else found
    for oldest in list(_COMMON)[:-_MOST_COMMON]:
        _COMMON.pop(oldest, None)
    return found


class _Unpickler(pickle.Unpickler):
    """Reads a task, and puts in what it has in common with others."""

    def __init__(self, file: io.BytesIO, common: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._common = common

    def persistent_load(self, name: str) -> Any:
        return self._common[name]


def _packed(error: Exception) -> bytes:
    error.add_note(traceback.format_exc())
    try:
        content = pickle.dumps((False, error), protocol=5)
        pickle.loads(content)  # some can be written, but not read
    except Exception:
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")), protocol=5)
    return content


@dataclass(frozen=True)
class TopicChannel:
    """Progress as events of a topic, which the scheduler hands on; a cancelled task is one its worker was told to free.

    See :class:`dlsched.runner.progress.Channel`.
    """

    topic: str
    every_s: ClassVar[float] = 0.5

    def tell(self, task_id: str, share: float, text: str) -> None:
        """Say how far the task is."""
        from distributed import get_worker

        get_worker().log_event(self.topic, (task_id, share, text))

    def is_cancelled(self, task_id: str) -> bool:
        """Whether the task that calls was cancelled, or no caller waits for it any more."""
        from distributed import get_worker

        here = get_worker()
        task = here.state.tasks.get(here.get_current_task())
        return task is None or task.state == "cancelled"
