"""A tiny event loop for cores of GPU as a service: events only, times as in the authors' instance folders."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dlsched.policies.gpuaas.instance import Instance, Schedule, violations


@dataclass(frozen=True)
class Folder:
    """An instance folder as arrays: times (J, F, G) in s, prices in $/s."""

    nodes: int
    submit: np.ndarray
    due: np.ndarray
    weight: np.ndarray
    times: np.ndarray
    vm_family: np.ndarray
    vm_gpus: np.ndarray
    vm_price: np.ndarray


def read_folder(folder: Path) -> Folder:
    """Read the three files of an instance."""
    with open(folder / "Lof_Selectjobs.csv") as file:
        jobs = list(csv.DictReader(file))
    with open(folder / "SelectJobs_times.csv") as file:
        rows = list(csv.DictReader(file))
    vms = {row["VMtype"]: (row["GPUtype"], int(row["max_nGPUs"]), float(row["cost"]) / 3600) for row in rows}
    kinds = sorted({kind for kind, _, _ in vms.values()})
    number = {job["UniqueJobsID"]: place for place, job in enumerate(jobs)}
    times = np.full((len(jobs), len(kinds), max(gpus for _, gpus, _ in vms.values())), np.inf)
    for row in rows:
        times[number[row["UniqueJobsID"]], kinds.index(row["GPUtype"]), int(row["nGPUs"]) - 1] = row["ExecutionTime"]
    return Folder(
        nodes=len((folder / "tNodes.csv").read_text().split()) - 1,
        submit=np.array([float(job["SubmissionTime"]) for job in jobs]),
        due=np.array([float(job["Deadline"]) for job in jobs]),
        weight=np.array([float(job["Tardinessweight"]) for job in jobs]),
        times=times,
        vm_family=np.array([kinds.index(kind) for kind, _, _ in vms.values()]),
        vm_gpus=np.array([gpus for _, gpus, _ in vms.values()]),
        vm_price=np.array([price for _, _, price in vms.values()]),
    )


def costs(folder: Folder, decide: Callable[[Instance, Schedule], Schedule]) -> tuple[float, float]:
    """Return VM cost and tardiness cost in $ when ``decide`` is asked at every submission and completion."""
    now, vm_usd, late_usd = -1.0, 0.0, 0.0  # before the first submission
    left = np.ones(len(folder.submit))
    node, gpus = np.full(len(left), -1), np.zeros(len(left), dtype=int)
    vm = np.full(folder.nodes, -1)
    while (left > 0).any():
        run = np.flatnonzero(node >= 0)
        speed = 1 / folder.times[run, folder.vm_family[vm[node[run]]], gpus[run] - 1]
        ends = now + left[run] / speed
        then = min([*ends.tolist(), *folder.submit[folder.submit > now].tolist()])
        vm_usd += float(folder.vm_price[vm[vm >= 0]].sum()) * (then - now)
        left[run] -= (then - now) * speed
        done = run[ends <= then]
        left[done], node[done], gpus[done], now = 0.0, -1, 0, then
        late_usd += float(folder.weight[done] @ np.maximum(0.0, now - folder.due[done]))
        rows = np.flatnonzero((folder.submit <= now) & (left > 0))
        instance = Instance(
            times=folder.times[rows] * left[rows][:, None, None],
            slack=folder.due[rows] - now,
            weight=folder.weight[rows],
            vm_family=folder.vm_family,
            vm_gpus=folder.vm_gpus,
            vm_price=folder.vm_price,
            node_vm=np.full(folder.nodes, -1),
            running=node[rows] >= 0,
        )
        schedule = decide(instance, Schedule(node[rows], gpus[rows], vm))
        assert violations(instance, schedule) == []
        node[rows], gpus[rows], vm = schedule.node, schedule.gpus, schedule.vm
    return vm_usd, late_usd
