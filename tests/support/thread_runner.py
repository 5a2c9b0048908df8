"""A background runner whose one worker is a thread of the test."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from dlsched.runner.background import Runner
from dlsched.runner.executor import WorkerPool
from dlsched.store import Store


@contextmanager
def runner_in_a_thread(store: Store) -> Iterator[Runner]:
    """Give a runner over a store, and end it."""
    with ThreadPoolExecutor(1) as threads:
        made = Runner(store, lambda: WorkerPool(threads, 1, remote=False))
        yield made
        made.close()
