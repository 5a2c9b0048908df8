"""Reading a Slurm log of a million lines: CPU seconds and memory, end to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, script
from dlsched.workload.readers.exports import SACCT_COMMAND

JOBS = 1_000_000
DAY_S = 86_400
START = np.datetime64("2025-01-01T00:00:00", "s")
STATES = ("COMPLETED", "FAILED", "CANCELLED by 1001", "TIMEOUT")
READ = "from pathlib import Path; from dlsched.workload.readers import read_trace; read_trace(Path({path!r}))"


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about large logs: as exported, and with a comment over two lines in each 50th row."""
    for name, delimiter, comment in (("sacct lines", "|", "ok"), ("with \u2603 and comments", "\u2603", "see\nwiki")):
        path = written(folder, JOBS, delimiter, comment)
        cost = script(READ.format(path=str(path)))
        yield Line(f"{JOBS:,} {name}", "CPU s", 20.0, cost.cpu_s)
        yield Line(f"{JOBS:,} {name}", "MiB", 3072.0, cost.peak_mib)
        path.unlink()


def written(folder: Path, jobs: int, delimiter: str, comment: str) -> Path:
    """Write what the export command gives for a made-up year: 400 nodes, GPUs in four jobs of five."""
    dice = np.random.default_rng(jobs)
    submit = START + np.sort(dice.integers(0, 365 * DAY_S, jobs))
    wait_s, run_s = dice.integers(0, 7200, jobs), dice.integers(1, DAY_S, jobs)
    gpus, state = dice.choice([0, 1, 2, 4, 8], jobs), dice.integers(0, len(STATES), jobs)
    times = [np.datetime_as_string(at) for at in (submit, submit + wait_s, submit + wait_s + run_s)]
    names = SACCT_COMMAND.rpartition(" ")[2].split(",")
    path = folder / "sacct.txt"
    with path.open("w", encoding="utf-8") as file:
        file.write(delimiter.join((*names, "Comment")) + "\n")
        for row in range(jobs):
            number, asked, cores = 100_000 + row, int(gpus[row]), int(gpus[row]) * 8 or 16
            given = f"gres/gpu:a100={asked},gres/gpu={asked}," if asked else ""
            value = {
                "JobID": f"{number}_{row % 100}" if row % 5 == 0 else number, "JobIDRaw": number, "Cluster": "c",
                "Partition": f"p{row % 6}", "QOS": "normal", "Account": f"team{row % 40}", "User": f"user{row % 300}",
                "Submit": times[0][row], "Eligible": times[0][row], "Start": times[1][row], "End": times[2][row],
                "ElapsedRaw": run_s[row], "State": STATES[state[row]], "NNodes": 1, "NCPUS": cores, "ReqCPUS": cores,
                "ReqMem": "64G", "ReqTRES": f"billing={cores},cpu={cores},{given}mem={cores * 8}G,node=1",
                "AllocTRES": f"billing={cores},cpu={cores},{given}mem={cores * 8}G,node=1", "TimelimitRaw": 1440,
                "NodeList": f"node{row % 400:04}", "Priority": 1000 + row % 5000, "Flags": "SchedBackfill",
                "Reason": "None",
            }  # fmt: skip
            cells = [str(value.get(name, "")) for name in names]
            file.write(delimiter.join((*cells, comment if row % 50 == 0 else "")) + "\n")
    return path
