"""How to reach a Dask cluster: address or scheduler file, certificates, and how long to wait for its workers.

Imports nothing of Dask: a command that does not use it does not load it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dlsched.domain.errors import InputError
from dlsched.wording.formats import duration
from dlsched.wording.typed import NotRead, read

DASK_VARIABLE = "DLSCHED_DASK"
WAIT_VARIABLE = "DLSCHED_DASK_WAIT"
_CERTIFICATE_VARIABLES = ("DLSCHED_DASK_CA", "DLSCHED_DASK_CERT", "DLSCHED_DASK_KEY")
USUAL_WAIT_S = 600.0
_MOST_FILE_BYTES = 2**20
_LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class DaskAccess:
    """A Dask cluster as it was named.

    Parameters
    ----------
    address
        ``tcp://host:8786``, ``tls://host:8786``, or a scheduler file: ``scheduler.json``, ``file:///path/to/it``.
    wait_s
        Seconds to wait for workers: at the start, and later when none is left; 0 = do not wait at the start.
    ca, cert, key
        Files with the certificates that TLS needs; empty = those of Dask's own configuration.
    """

    address: str
    wait_s: float = USUAL_WAIT_S
    ca: str = ""
    cert: str = ""
    key: str = ""

    @classmethod
    def configured(cls, environment: Mapping[str, str] = os.environ) -> DaskAccess | None:
        """Return the cluster that the variable DLSCHED_DASK names, as :meth:`at`; None without one."""
        address = environment.get(DASK_VARIABLE)
        return cls.at(address, environment) if address else None

    @classmethod
    def at(cls, address: str, environment: Mapping[str, str] = os.environ) -> DaskAccess:
        """Return a cluster with all else as the variables DLSCHED_DASK_WAIT, _CA, _CERT and _KEY say.

        Raises
        ------
        InputError
            For a time that is none.
        """
        wait = environment.get(WAIT_VARIABLE)
        wait_s = USUAL_WAIT_S if not wait else read_wait(f"variable {WAIT_VARIABLE}", wait)
        return cls(address, wait_s, *(environment.get(name, "") for name in _CERTIFICATE_VARIABLES))

    @property
    def file(self) -> Path | None:
        """The scheduler file, None if an address was given."""
        if self.address.startswith("file:"):
            return Path(unquote(urlsplit(self.address).path))
        if "://" not in self.address and self.address.endswith(".json"):
            return Path(self.address).expanduser()
        return None

    def scheduler(self) -> str:
        """Return the address of the scheduler, from its file where one was given.

        Raises
        ------
        InputError
            For a file that cannot be read or names no address.
        """
        path = self.file
        if path is None:
            return self.address
        what = f"Dask scheduler file {path}"
        try:
            with path.open("rb") as file:
                plain = json.loads(file.read(_MOST_FILE_BYTES))
        except OSError as error:
            why = f"cannot be read ({error.strerror})"
            raise InputError(what, why, "Start the scheduler with --scheduler-file, or check the path") from error
        except (ValueError, RecursionError) as error:
            raise InputError(what, "is not JSON", "Give the file that dask scheduler --scheduler-file wrote") from error
        address = plain.get("address") if isinstance(plain, dict) else None
        if not isinstance(address, str) or "://" not in address:
            raise InputError(what, "names no address", "Give the file that dask scheduler --scheduler-file wrote")
        return address

    def wait_for_file(self, told: Callable[[str], object]) -> None:
        """Return once the scheduler file is there, if one was given, or the time to wait is over.

        A scheduler that waits in the queue of a batch system itself has not written it yet. A folder that does not
        exist is not waited for.
        """
        path, began_s = self.file, time.monotonic()
        if path is None or not path.parent.is_dir():
            return
        while not path.exists() and (waited_s := time.monotonic() - began_s) < self.wait_s:
            told(f"waiting for Dask scheduler file {path}: {so_far(waited_s, self.wait_s)}")
            time.sleep(_LOOK_EVERY_S)
        told("")


def so_far(waited_s: float, wait_s: float) -> str:
    """Return how much of the time to wait is over: 3 min 20 s of 30 min."""
    return f"{duration(round(waited_s))} of {duration(wait_s)}"


def read_wait(what: str, text: str) -> float:
    """Return the seconds of "30m" or "0"; InputError that names ``what`` otherwise."""
    try:
        seconds = 0.0 if text.strip() == "0" else read("duration", text)
    except NotRead as error:
        raise InputError(what, str(error), "Write it as in 30m, or 0 to not wait") from None
    if not 0 <= seconds < float("inf"):
        raise InputError(what, f"must be at least 0, got {text!r:.80}", "Write it as in 30m, or 0 to not wait")
    return seconds
