"""What a whole command costs: CPU seconds and memory of the child process, as the system counts them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Cost:
    """CPU (user + system) seconds and largest memory of one command, and what it printed."""

    cpu_s: float
    peak_mib: float
    answer: Any


@dataclass(frozen=True)
class Line:
    """One promise: ``measured`` must be at most ``target``."""

    what: str
    unit: str
    target: float
    measured: float

    @property
    def ok(self) -> bool:
        """Whether the promise is kept."""
        return self.measured <= self.target


def command(*args: str, repeat: int = 1) -> Cost:
    """Run ``python -m dlsched`` and return the cheapest of ``repeat`` tries; RuntimeError when it fails."""
    tries = [_once("-m", "dlsched", *args) for _ in range(repeat)]
    cost = min(tries, key=lambda cost: cost.cpu_s)
    return replace(cost, answer=json.loads(cost.answer)) if "--json" in args else cost


def script(code: str, repeat: int = 1) -> Cost:
    """Run Python code in a fresh process and return the cheapest of ``repeat`` tries; RuntimeError when it fails."""
    return min((_once("-c", code) for _ in range(repeat)), key=lambda cost: cost.cpu_s)


def cpu_ms(call: Callable[[], Any], tries: int = 5) -> float:
    """Return CPU milliseconds of the cheapest of ``tries`` calls in this process."""
    best = math.inf
    for _ in range(tries):
        before = time.process_time()
        call()
        best = min(best, time.process_time() - before)
    return 1000 * best


def _once(*args: str) -> Cost:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second command finds the modules compiled
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([sys.executable, *args], stdout=out, stderr=err, cwd=ROOT, env=env)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)  # tells Popen that the child was collected
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise RuntimeError(f"{' '.join(args)} ended with {child.returncode}: {err.read().decode()}")
        text = out.read().decode()
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)
