import sys

import pytest

from dlsched.domain.errors import InputError
from dlsched.runner.dask_access import DASK_VARIABLE
from dlsched.runner.executor import WORKERS_VARIABLE, num_workers, open_pool


def test_one_worker_a_core_unless_told(monkeypatch):
    monkeypatch.delenv(WORKERS_VARIABLE, raising=False)
    assert num_workers() >= 1
    monkeypatch.setenv(WORKERS_VARIABLE, "7")
    assert num_workers() == 7


@pytest.mark.parametrize("value", ["0", "-1", "two", "2.5", "1025", "²"])
def test_a_bad_number_of_workers_is_refused(monkeypatch, value):
    monkeypatch.setenv(WORKERS_VARIABLE, value)
    with pytest.raises(InputError, match="must be a number from 1 to 1024"):
        num_workers()


def test_dask_is_asked_for_by_name_when_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setenv(DASK_VARIABLE, "tcp://127.0.0.1:8786")
    with pytest.raises(InputError, match=r"dask is not installed\. Install it with: pip install distributed"):
        open_pool()
