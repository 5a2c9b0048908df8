"""A cluster that the tests of this folder share, and one of a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dlsched.runner.dask_access import DaskAccess
from dlsched.runner.executor import WorkerPool, open_pool
from tests.support.dask_cluster import Cluster, snapshot


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return snapshot(tmp_path_factory.mktemp("code"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, code: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("dask"), code) as started:
        started.add_worker()
        started.add_worker()
        started.wait_for(2)
        yield started


@pytest.fixture
def apart(tmp_path: Path, code: Path) -> Iterator[Cluster]:
    """Yield a cluster without workers, for what would spoil the shared one."""
    with Cluster(tmp_path, code) as started:
        yield started


@pytest.fixture
def pool(cluster: Cluster) -> Iterator[WorkerPool]:
    opened = open_pool(DaskAccess(cluster.address))
    with opened.executor:
        yield opened
