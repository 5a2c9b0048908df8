"""What the questions have in common: policies as they are given, where to compute, how progress is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from dlsched.domain.errors import InputError
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.plugins.loading import is_reference
from dlsched.policies import registry
from dlsched.runner.dask_access import DaskAccess
from dlsched.runner.executor import open_pool
from dlsched.studies.simulation import Progress

PolicyGiven = str | PolicySpec | object
"""A key, ``module:NAME``, a PolicySpec, or an object or class with ``plan(state)``."""


def key_of(policy: PolicyGiven) -> str:
    """Return the key of a policy as it is given; InputError for something that is none."""
    if isinstance(policy, str) and is_reference(policy):
        return registry.load(policy).key
    return registry.given(policy).key


def require(scenario: object) -> Scenario:
    """Return the scenario; InputError for something else, such as a path."""
    if not isinstance(scenario, Scenario):
        why = f"must be a Scenario, got {type(scenario).__name__}"
        raise InputError("scenario", why, "Make one with dlsched.load(path)")
    return scenario


@contextmanager
def workers(processes: int | None, dask: str | None) -> Iterator[Executor | None]:
    """Give where to compute; None = in this process, one run after the other.

    Raises
    ------
    InputError
        If both are given, for a number below 1, or as :func:`dlsched.runner.executor.open_pool`.
    """
    if dask is not None and processes not in (1, None):
        raise InputError("processes", "cannot be combined with dask, which has its own workers", "Give one of them")
    if processes is not None and processes < 1:
        raise InputError("processes", f"must be at least 1, got {processes}", "Leave it out to compute here")
    if dask is None and processes == 1:
        yield None
        return
    access = None if dask is None else DaskAccess.at(dask)
    with open_pool(access, None if dask else processes).executor as executor:
        yield executor


def told(progress: bool | Progress) -> Progress | None:
    """Return the receiver of progress: a line on standard error for True, none for False, else what was given."""
    if not isinstance(progress, bool):
        return progress
    return _line if progress else None


def _line(share: float, text: str) -> None:
    end = "\n" if share >= 1 else ""
    print(f"\r{share:4.0%}  {text:<60.60}", end=end, file=sys.stderr, flush=True)
