"""A package with plug-ins as it lies in a site-packages folder: its modules, and the folder of its distribution."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dlsched.plugins.catalogue import CATALOGUES

MODULE = '''
from dlsched.domain.model import FrozenModel
from dlsched.domain.plan import Plan, run_on
from dlsched.domain.policy import PolicySpec, ReviewRule


class Params(FrozenModel):
    narrow_first: bool = False


class Greedy:
    """Starts whatever fits, in order of submission."""

    review = ReviewRule()
    kernel_rule = None

    def __init__(self, params=Params()):
        self.narrow_first = params.narrow_first

    def plan(self, state):
        placer, starts = state.placer(), {}
        asked = state.requested(state.waiting).tolist()
        queue = list(zip(state.waiting.tolist(), asked))
        for row, workers in sorted(queue, key=lambda job: job[1]) if self.narrow_first else queue:
            shares = placer.place(row, workers)
            if shares:
                starts[row] = run_on(shares)
        return Plan(starts)


SPEC = PolicySpec("mine", "My policy", "mypkg", "Starts whatever fits.", Greedy, Params)
'''
SPEEDS = '''
import numpy as np

from dlsched.domain.model import FrozenModel
from dlsched.speed.outside import SpeedModelSpec


class Params(FrozenModel):
    serial_share: float = 0.1


class Amdahl:
    """Speed-up 1 / (s + (1 - s) / w), relative to the requested width; up to twice the request."""

    def __init__(self, params, workload, vm_types):
        self.share, self.requested = params.serial_share, workload.workers
        self.speeds = [vm.speed for vm in vm_types]

    def limits(self):
        return np.ones_like(self.requested), 2 * self.requested

    def legal(self, row, workers, servers):
        return 1 <= workers <= 2 * self.requested[row]

    def rate(self, row, workers, servers, vms, nodes=1):
        return float(self.rates(np.array([row]), np.array([workers]))[0]) * min(self.speeds[vm] for vm in vms)

    def rates(self, rows, workers):
        asked = self.requested[rows]
        rate = self._gain(np.maximum(workers, 1)) / self._gain(asked)
        return np.where((workers >= 1) & (workers <= 2 * asked), rate, 0.0)

    def rates_on(self, rows, workers, vm):
        return self.rates(rows, workers) * self.speeds[vm]

    def fastest(self):
        rows = np.arange(len(self.requested))
        return self.rates(rows, 2 * self.requested)

    def _gain(self, width):
        return 1 / (self.share + (1 - self.share) / width)


MODEL = SpeedModelSpec("amdahl", "Amdahl's law", "A share of the work that no worker speeds up.", Amdahl, Params)
'''
READERS = '''
import numpy as np

from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.canonical import Draft
from dlsched.workload.readers.formats import Signs, TraceFormat

START = b"#minutes"


def signs(head):
    return Signs(3, 3) if head.data.startswith(START) else None


def read(text, options):
    """Lines of "submitted,run,GPUs", times in minutes."""
    rows = np.array([line.split(b",") for line in text.data.split(b"\\n")[1:] if line], dtype=float)
    submit, run, gpus = rows.T
    return Draft(Ledger(len(rows)), submit * 60, run * 60, gpus, np.ones(len(rows)))


MINUTES = TraceFormat("minutes", "Jobs in minutes", signs, read)
'''
ENTRY_POINTS = {
    "dlsched.policies": "mine = mypkg.policy:SPEC",
    "dlsched.readers": "minutes = mypkg.readers:MINUTES",
    "dlsched.speed_models": "amdahl = mypkg.speeds:MODEL",
}


def write_package(folder: Path, version: str = "1.0", module: str = MODULE) -> Path:
    """Write the package mypkg and its distribution of this version, in place of an earlier one; return the folder."""
    package = folder / "mypkg"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("")
    for name, text in {"policy": module, "speeds": SPEEDS, "readers": READERS}.items():
        (package / f"{name}.py").write_text(text)
    shutil.rmtree(package / "__pycache__", ignore_errors=True)  # equal times and sizes hide a change
    write_distribution(folder, "mypkg", version, ENTRY_POINTS)
    return folder


def write_distribution(folder: Path, name: str, version: str, entry_points: dict[str, str]) -> None:
    """Write what an installer leaves of a distribution, in place of an earlier version."""
    for old in folder.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    about = folder / f"{name}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    points = "".join(f"[{group}]\n{line}\n\n" for group, line in entry_points.items())
    (about / "entry_points.txt").write_text(points)


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Have what lies in a folder installed in this process, and gone at the end."""
    import sys

    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        forget()
        try:
            yield
        finally:
            forget()
            for name in set(sys.modules) - before:
                if str(folder) in (getattr(sys.modules[name], "__file__", None) or ""):
                    del sys.modules[name]


def forget() -> None:
    """Forget which plug-ins were found."""
    for catalogue in CATALOGUES:
        catalogue.forget()
