"""A Dask cluster as a place to compute: opened, checked and followed as it grows and shrinks, tasks as bytes."""

from __future__ import annotations

import io
import logging
import pickle
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any
from uuid import uuid4

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload
from dlsched.plugins import with_plugins
from dlsched.runner.dask_access import DaskAccess, so_far
from dlsched.runner.dask_worker import TopicChannel, check_worker, identity
from dlsched.runner.executor import WorkerPool
from dlsched.runner.progress import Channel, FileChannel
from dlsched.runner.retrying import PoolLost, RetryingExecutor, WorkerDied
from dlsched.wording.formats import amount, duration

CONNECT_S = 10.0
GONE_S = 30.0
"""A worker that a supervisor restarts is back within seconds: so long none is missed, however short the wait."""
LEAST_SHARED_BYTES = 2**16
MOST_SHARED = 8
_HOW = "Start workers with: dask worker {} --nworkers -1 --nthreads 1"


class DaskPool(WorkerPool):
    """The pool of a Dask cluster; see :class:`WorkerPool`. It is as wide as the cluster is when it is asked."""

    def __init__(self, cluster: DaskCluster) -> None:
        super().__init__(RetryingExecutor(cluster), 0, remote=True)
        self._cluster = cluster

    @property
    def width(self) -> int:
        """One more than there are workers: a cluster that adapts itself grows by what waits."""
        return self._cluster.workers + 1

    @property
    def waiting(self) -> str:
        """See :class:`WorkerPool`."""
        return self._cluster.waiting

    def on_change(self, call: Callable[[], object]) -> None:
        """See :class:`WorkerPool`."""
        self._cluster.watchers.append(call)

    def warm_up(self, work: Callable[[], object]) -> None:
        """Have every worker do this once; no caller waits for it."""
        import distributed

        client = self._cluster.client
        leave: Any = distributed.fire_and_forget  # has no types
        order = pickle.dumps((work, (), {}), protocol=5)
        for worker in client.nthreads():
            leave(client.submit(_ANSWER, order, identity(), (), pure=False, workers=[worker]))

    def channel(self, folder: Path) -> Channel:
        """Return the way by which its workers tell progress; what they tell is noted in the folder."""
        topic, noted = f"dlsched-{uuid4().hex}", FileChannel(folder)
        self._cluster.client.subscribe_topic(topic, lambda event: noted.tell(*event[1]))
        return TopicChannel(topic)


class DaskCluster:
    """See :class:`dlsched.runner.retrying.Place`. Dask itself gives tasks of a dead worker to another one.

    Parameters
    ----------
    client
        A client of the cluster.
    address
        What the cluster is called in messages.
    wait_s
        Seconds without any worker after which none is expected any more.
    is_own
        Whether the client is closed at the end.
    """

    deaths_spread = False

    def __init__(self, client: Any, address: str, wait_s: float, *, is_own: bool = True) -> None:
        self.client, self.workers = client, len(client.nthreads())
        self.watchers: list[Callable[[], object]] = []
        self._address, self._wait_s, self._is_own = address, max(wait_s, GONE_S), is_own
        self._executor = client.get_executor(pure=False)
        self._pending: set[Future[Any]] = set()
        self._shared: dict[int, tuple[Workload, str, Any]] = {}
        self._alone_since_s: float | None = None
        self._lost = ("has ended, or the connection to it was lost", "Start it and run again")
        self._is_lost = False

    @property
    def in_flight(self) -> int:
        """The next task is there when one is done, all others wait here; one is there for workers still to come."""
        return 2 * self.workers + 1

    @property
    def waiting(self) -> str:
        """See :class:`WorkerPool`."""
        since_s = self._alone_since_s
        if since_s is None or self._is_lost:
            return ""
        return f"0 so far, {so_far(time.monotonic() - since_s, self._wait_s)}"

    def start(self, work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Future[Any]:
        """Send a task as bytes: Dask neither looks into it nor changes what it raises.

        Tables of jobs, which many tasks have in common, travel to the cluster once: a task names them.
        """
        if self._is_lost or self.client.status != "running":
            raise self._gone()
        if not self._pending:
            self._alone_since_s = None  # while nothing is asked for, no time is waited
        named: dict[str, Any] = {}
        order = io.BytesIO()
        _Pickler(order, lambda jobs: self._share(jobs, named)).dump(with_plugins(work, args, dict(kwargs)))
        content, contents = order.getvalue(), named.values()
        future: Future[Any] = self._executor.submit(_ANSWER, content, identity(), tuple(named), *contents)
        self._pending.add(future)
        return future

    def read(self, future: Future[Any]) -> Any:
        """Return the answer, or raise what the task raised."""
        from distributed import KilledWorker

        self._pending.discard(future)
        try:
            answer = future.result()
        except KilledWorker as error:
            self._shared.clear()  # what they held may be what killed them: it is sent anew
            died = amount(error.allowed_failures + 1, "Dask worker")
            why = f"{died} died while computing this, as many as at the first attempt, probably for lack of memory"
            raise WorkerDied(f"{why}. Their logs say more.") from error
        except CancelledError as error:
            raise self._gone() from error
        except ImportError as error:  # a worker's own: what tasks raise is in the content
            raise _cannot_load("A Dask worker", error) from error
        except (TypeError, ValueError) as error:
            # Dask's executor reads an answer as an error when its worker leaves at that moment. Errors of tasks are
            # never raised here: they are in the content.
            raise WorkerDied("A Dask worker left as its answer was fetched, twice.") from error
        is_answer, content = pickle.loads(answer)
        if not is_answer:
            raise content
        return content

    def renew(self) -> None:
        """Dask starts workers anew by itself."""

    def look(self) -> None:
        """Follow the cluster's size; give up when there is no worker left for long: Dask would wait for ever."""
        try:
            workers = len(self.client.nthreads())
        except Exception as error:  # whatever it is, the scheduler did not answer
            self._give_up(f"no longer answers ({type(error).__name__})", self._lost[1])
            return
        is_changed, self.workers = workers != self.workers, workers
        now_s = time.monotonic()
        if workers:
            self._alone_since_s = None
        elif self._alone_since_s is None:
            self._alone_since_s = now_s
        elif now_s - self._alone_since_s > self._wait_s:
            self._give_up(f"has had no worker for {duration(self._wait_s)}", _HOW.format(self._address))
        if is_changed or not workers:
            for call in self.watchers:
                call()

    def close(self) -> None:
        """Leave the cluster; it goes on for others."""
        self._shared.clear()
        self._executor.shutdown(wait=False)
        if self._is_own:
            self.client.close()

    def _share(self, jobs: Workload, named: dict[str, Any]) -> str | None:
        """Return the name of a table of jobs on the cluster, None for one that is small and travels with each task.

        ``named`` gets its name and its bytes on the cluster. Those are the answer of a Dask task, which Dask computes
        again when the workers that held them have left; scattered bytes would be lost with them.
        """
        found = self._shared.pop(id(jobs), None)
        if found is None:
            content = pickle.dumps(jobs, protocol=5)
            name, there = "", None
            if len(content) >= LEAST_SHARED_BYTES:
                name = f"dlsched-jobs-{uuid4().hex}"
                there = self.client.submit(_KEPT, content, key=name)
            found = jobs, name, there
        self._shared[id(jobs)] = found  # the latest stands last; it holds the jobs, so that no other gets their id
        while len(self._shared) > MOST_SHARED:
            del self._shared[next(iter(self._shared))]
        _, name, there = found
        if name:
            named[name] = there
        return name or None

    def _give_up(self, why: str, do: str) -> None:
        self._lost, self._is_lost = (why, do), True
        for future in list(self._pending):
            future.cancel()

    def _gone(self) -> PoolLost:
        why, do = self._lost
        return PoolLost(f"Dask scheduler {self._address}: {why}. {do}.")


class _Pickler(pickle.Pickler):
    """Writes a task without the tables of jobs that ``share`` gives a name."""

    def __init__(self, file: io.BytesIO, share: Callable[[Workload], str | None]) -> None:
        super().__init__(file, protocol=5)
        self._share = share

    def persistent_id(self, thing: Any) -> str | None:
        return self._share(thing) if isinstance(thing, Workload) else None


def _by_value() -> tuple[Callable[..., bytes], Callable[[bytes], bytes]]:
    """Return the functions of Dask tasks: what answers an order, and what keeps bytes that many orders have in common.

    Functions within a function travel as they are, not by name. A worker without dlsched can then say so: it would end
    at a name that it does not find. The scheduler, which reads tasks too, needs no dlsched at all.
    """

    def answer(order: bytes, asker: Mapping[str, str], names: tuple[str, ...], *contents: bytes) -> bytes:
        from dlsched.runner import dask_worker

        return dask_worker.answer(order, asker, names, *contents)

    def jobs(content: bytes) -> bytes:
        return content

    return answer, jobs


_ANSWER, _KEPT = _by_value()


def open_dask(access: DaskAccess) -> DaskPool:
    """Return the pool of a Dask cluster whose workers compute what this process would.

    Workers that are not there yet are waited for by the tasks, not here.

    Raises
    ------
    InputError
        If Dask is not installed, a file cannot be read, the scheduler does not answer, or has no workers and none are
        to be waited for, or one of them has several threads, other code than this process, or none.
    """
    try:
        import dask
        import distributed
        from distributed.comm.addressing import resolve_address
    except ImportError:
        what = f"Dask scheduler {access.address}"
        raise InputError(what, "dask is not installed", "Install it with: pip install distributed") from None
    # A task of ours is one block of bytes, however large: Dask's advice to split it does not apply.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})
    for name in ("distributed", "distributed.client"):  # what it logs of a lost connection, our message says
        logging.getLogger(name).setLevel(logging.CRITICAL)
    address = access.scheduler()
    security = _security(access, address)
    connect: Any = distributed.Client  # has no types
    try:
        resolve_address(address)  # a client of a bad address would not close
        client = connect(address, timeout=CONNECT_S, set_as_default=False, security=security)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        do = "Check the address, as in tcp://host:8786"
        if address.startswith("tls:"):
            do += ", and that the certificates are those of this cluster"
        raise InputError(f"Dask scheduler {address}", f"does not answer ({error})", do) from error
    try:
        _check(client, address, access.wait_s)
        return DaskPool(DaskCluster(client, address, access.wait_s))
    except BaseException:
        client.close()
        raise


def pool_around() -> DaskPool | None:
    """Return the cluster on whose worker this is called as a part of a task; None anywhere else.

    The task leaves its place on the worker to those that it will ask for.
    """
    import distributed

    try:
        worker = distributed.get_worker()
        worker.get_current_task()
    except (ValueError, KeyError):
        return None
    leave: Any = distributed.secede  # has no types
    leave()
    return DaskPool(DaskCluster(distributed.get_client(), worker.scheduler.address, GONE_S, is_own=False))


def _security(access: DaskAccess, address: str) -> Any:
    """Return the certificates to connect with; None = none.

    Raises
    ------
    InputError
        For an address with TLS without certificates, or certificates for one without TLS, or a file that is missing.
    """
    from distributed.security import Security

    what, given = f"Dask scheduler {address}", {"ca": access.ca, "cert": access.cert, "key": access.key}
    if not address.startswith("tls:"):
        for name, path in given.items():
            if path:
                do = "Give an address that starts with tls://, or leave the certificates out"
                raise InputError(what, f"is reached without TLS, so --dask-{name} {path} has no use", do)
        return None
    for name, path in given.items():
        if path and not Path(path).is_file():
            raise InputError(f"--dask-{name} {path}", "is not a file", "Check the path")
    make: Any = Security  # has no types
    files = {"tls_ca_file": access.ca, "tls_client_cert": access.cert, "tls_client_key": access.key}
    security = make(require_encryption=True, **{name: path for name, path in files.items() if path})
    if not (security.tls_ca_file and security.tls_client_cert):
        do = "Give --dask-ca, --dask-cert and --dask-key, or set distributed.comm.tls in Dask's configuration"
        raise InputError(what, "needs certificates", do)
    return security


def _check(client: Any, address: str, wait_s: float) -> None:
    """Raise InputError when a worker is not as it should be, or none is there and none is to be waited for."""
    threads, ours = client.nthreads(), identity()
    if not threads and not wait_s:
        do = f"{_HOW.format(address)}, or give them time with --dask-wait 30m"
        raise InputError(f"Dask scheduler {address}", "has no workers", do)
    for worker, theirs in client.run(identity, on_error="return").items():
        if isinstance(theirs, Exception):
            raise _cannot_load(f"Dask worker {worker}", theirs)
        check_worker(worker, threads.get(worker, 1), theirs, ours)


def _cannot_load(what: str, error: Exception) -> InputError:
    return InputError(what, f"cannot load dlsched ({error})", "Install the same version there and restart it")
