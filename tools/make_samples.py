"""Make the sample traces of ``data/samples`` again, byte for byte: ``python tools/make_samples.py``.

Every job is made up by the job mix generator of this project; times are whole seconds.
"""

from __future__ import annotations

import csv
import heapq
import io
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from dlsched.domain.randomness import job_uniforms  # noqa: E402
from dlsched.domain.workload import Workload  # noqa: E402
from dlsched.workload.hostlist import compress  # noqa: E402
from dlsched.workload.studies.registry import draw  # noqa: E402

SAMPLES = ROOT / "data" / "samples"
MONDAY = datetime(2026, 3, 2)
OFFICE_HOURS = [0.3] * 7 + [0.8, 1.5, 2, 2.2, 2.2, 1.6, 1.8, 2.2, 2.2, 2, 1.8, 1.4] + [0.8] * 5
PEOPLE = ["ada", "ben", "chidi", "dora", "emil", "fay", "goro", "hana", "ivan", "juno"]

CAMPUS = {
    "kind": "job-mix",
    "jobs": 2000,
    "arrivals": {
        "kind": "daily",
        "jobs_per_h": 7,
        "hour_weights": OFFICE_HOURS,
        "weekday_weights": [1] * 5 + [0.4] * 2,
    },
    "classes": [
        {
            "name": "course",
            "share": 5,
            "run_time": {"kind": "lognormal", "median_s": 420, "p90_s": 2400, "longest_s": 14_400},
            "users": [f"student{number:02}" for number in range(1, 25)],
            "user_skew": 0.7,
            "group": "course",
        },
        {
            "name": "research",
            "share": 4,
            "gpus": [1, 2, 4, 8],
            "gpu_weights": [5, 3, 3, 2],
            "run_time": {"kind": "lognormal", "median_s": 4800, "p90_s": 28_800, "longest_s": 172_800},
            "users": PEOPLE,
            "group": "research",
        },
        {
            "name": "large",
            "share": 0.4,
            "gpus": [16, 32],
            "gpu_weights": [3, 1],
            "run_time": {"kind": "pareto", "shortest_s": 5400, "alpha": 1.6, "longest_s": 172_800},
            "users": PEOPLE[:3],
            "group": "research",
        },
    ],
}
SHARED_GPUS = {
    "kind": "job-mix",
    "jobs": 800,
    "arrivals": {"kind": "bursts", "jobs_per_h": 9, "burst_factor": 6, "burst_h": 1.5, "calm_h": 8},
    "classes": [
        {
            "name": "notebook",
            "share": 5,
            "gpus": [0.25, 0.5, 1],
            "gpu_weights": [3, 3, 2],
            "run_time": {"kind": "lognormal", "median_s": 3000, "p90_s": 14_400, "longest_s": 43_200},
            "gpu_types": "T4|V100",
            "users": PEOPLE,
        },
        {
            "name": "training",
            "share": 3,
            "gpus": [1, 2, 4],
            "run_time": {"kind": "lognormal", "median_s": 7200, "p90_s": 36_000, "longest_s": 86_400},
            "gpu_types": "V100",
            "users": PEOPLE[:6],
        },
        {
            "name": "any type",
            "share": 2,
            "run_time": {"kind": "pareto", "shortest_s": 300, "alpha": 1.3, "longest_s": 43_200},
            "users": PEOPLE[6:],
        },
    ],
}
SLURM = {
    "kind": "job-mix",
    "jobs": 300,
    "arrivals": {"kind": "batches", "jobs_per_h": 4, "mean_batch": 2},
    "classes": [
        {
            "name": "gpu",
            "share": 1,
            "gpus": [1, 2, 4, 8, 16],
            "gpu_weights": [6, 3, 3, 3, 1],
            "run_time": {"kind": "lognormal", "median_s": 3600, "p90_s": 21_600, "longest_s": 86_400},
            "users": PEOPLE,
        }
    ],
}
SACCT_HEADER = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw"
    "|NNodes|NCPUS|ReqTRES|AllocTRES|NodeList|ExitCode"
)
LIMIT_S = 43_200


def samples() -> dict[str, bytes]:
    """Return file name -> content."""
    return {
        "campus.csv": _native(draw(CAMPUS, 11), ("user", "group")),
        "shared-gpus.csv": _native(draw(SHARED_GPUS, 12), ("user", "gpu_types")),
        "slurm-sacct.txt": _sacct(draw(SLURM, 13), 13),
    }


def _native(jobs: Workload, extra: Sequence[str]) -> bytes:
    """Return the native table with whole seconds."""
    columns = jobs.columns()
    rows = zip(
        jobs.job_id, _seconds(jobs.submit_s), jobs.gpus, _seconds(jobs.work), *(columns[n] for n in extra), strict=True
    )
    header = ("job_id", "submit_time_s", "num_gpus", "duration_s", *extra)
    return _csv(header, ((job, at, f"{gpus:g}", run, *more) for job, at, gpus, run, *more in rows))


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _seconds(values: np.ndarray) -> list[int]:
    return [max(0, round(value)) for value in values.tolist()]


def _sacct(jobs: Workload, seed: int) -> bytes:
    """Return the lines of ``sacct -a -X -P``: most jobs complete, some fail, time out or are cancelled."""
    chance = job_uniforms(seed, "fill", jobs.job_id, 2)
    submit_s, gpus = _seconds(jobs.submit_s), jobs.workers.tolist()
    start_s = [at + int(late**3 * 7200) for at, late in zip(submit_s, chance[:, 1].tolist(), strict=True)]
    run_s = [
        0 if never else min(run, LIMIT_S) for run, never in zip(_seconds(jobs.work), chance[:, 0] < 0.03, strict=True)
    ]
    rows = zip(
        submit_s, start_s, _seconds(jobs.work), gpus, _node_lists(start_s, run_s, gpus), jobs.columns()["user"],
        chance[:, 0].tolist(), strict=True,
    )  # fmt: skip
    lines = [_sacct_line(5000 + number, *row) for number, row in enumerate(rows)]
    return ("\n".join([SACCT_HEADER, *lines]) + "\n").encode()


def _node_lists(start_s: list[int], run_s: list[int], gpus: list[int]) -> list[str]:
    """Return the nodes of 8 GPUs that jobs run on: the fullest with room, else a further one; "" without run time."""
    free: list[int] = []
    ends: list[tuple[int, int, int]] = []  # when, node, GPUs
    lists = [""] * len(start_s)
    for row in sorted((row for row, run in enumerate(run_s) if run), key=lambda row: start_s[row]):
        while ends and ends[0][0] <= start_s[row]:
            _, node, held = heapq.heappop(ends)
            free[node] += held
        nodes = []
        for part in [8] * (gpus[row] // 8) + [gpus[row] % 8] * (gpus[row] % 8 > 0):
            room = [node for node, left in enumerate(free) if left >= part]
            node = min(room, key=lambda node: free[node], default=len(free))
            free += [8] * (node == len(free))
            free[node] -= part
            heapq.heappush(ends, (start_s[row] + run_s[row], node, part))
            nodes.append(f"gpu{node + 1:02}")
        lists[row] = compress(nodes)
    return lists


def _sacct_line(
    number: int, submit_s: int, start_s: int, run_s: int, gpus: int, nodes: str, user: str, chance: float
) -> str:
    state, exit_code = _state(chance, run_s)
    run_s = min(run_s, LIMIT_S) if nodes else 0
    count = -(-gpus // 8)
    asked = f"billing={gpus * 8},cpu={gpus * 8},gres/gpu:a100={gpus},gres/gpu={gpus},mem={gpus * 64}G,node={count}"
    cells = (
        number, number, f"train-{number % 17}", user, "lab", "gpu", "normal", state, _clock(submit_s), _clock(submit_s),
        _clock(start_s) if nodes else "Unknown", _clock(start_s + run_s), run_s, LIMIT_S // 60, count, gpus * 8, asked,
        asked if nodes else "", nodes or "None assigned", exit_code,
    )  # fmt: skip
    return "|".join(str(cell) for cell in cells)


def _state(chance: float, run_s: int) -> tuple[str, str]:
    if chance < 0.06:
        return "CANCELLED by 1001", "0:0"
    if run_s > LIMIT_S:
        return "TIMEOUT", "0:0"
    return ("FAILED", "1:0") if chance < 0.12 else ("COMPLETED", "0:0")


def _clock(seconds: int) -> str:
    return (MONDAY + timedelta(seconds=seconds)).isoformat()


def main() -> None:
    """Write the files."""
    SAMPLES.mkdir(parents=True, exist_ok=True)
    for name, data in samples().items():
        (SAMPLES / name).write_bytes(data)
        print(f"data/samples/{name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
