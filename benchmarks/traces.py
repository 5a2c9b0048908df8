"""Traces to measure with: the public ones where they are, else made-up ones of the same sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import ROOT

SMALL, LARGE = 9_383, 68_503
_PUBLIC = {SMALL: "philly_6c71a0.csv", LARGE: "philly_all.csv"}


def trace(folder: Path, jobs: int) -> Path:
    """Return the file of a trace with this many jobs."""
    public = ROOT.parent / "shared" / "data" / "philly" / _PUBLIC[jobs]
    return public if public.exists() else made_up(folder, jobs, 64 if jobs == SMALL else 600, 0.8)


def tiled(folder: Path, source: Path, times: int) -> Path:
    """Return a trace that repeats another ``times`` times one after the other: more jobs at the same load."""
    frame = pd.read_csv(source)
    span_s = frame["submit_time_s"].max() + 60
    parts = [
        frame.assign(
            job_id=frame["job_id"].astype(str) + f"-{number}", submit_time_s=frame["submit_time_s"] + number * span_s
        )
        for number in range(times)
    ]
    path = folder / f"{source.stem}-x{times}.csv"
    pd.concat(parts).to_csv(path, index=False)
    return path


def first(folder: Path, source: Path, jobs: int) -> Path:
    """Return a trace of the first jobs of another: what remains is the cost of starting."""
    path = folder / f"{source.stem}-first-{jobs}.csv"
    pd.read_csv(source, nrows=jobs).to_csv(path, index=False)
    return path


def made_up(folder: Path, jobs: int, cluster_gpus: int, load: float) -> Path:
    """Write jobs like Philly's: mostly 1 GPU, run times over five orders of magnitude, about this load."""
    dice = np.random.default_rng(jobs)
    gpus = dice.choice([1, 2, 4, 8, 16, 32], jobs, p=[0.75, 0.08, 0.08, 0.07, 0.015, 0.005])
    run_s = np.maximum(1, np.round(dice.lognormal(7.5, 2.0, jobs)))
    span_s = float(gpus @ run_s) / cluster_gpus / load
    submit_s = np.sort(np.round(dice.uniform(0, span_s, jobs)))
    columns = {"job_id": np.arange(jobs), "submit_time_s": submit_s, "num_gpus": gpus, "duration_s": run_s}
    path = folder / f"made-up-{jobs}.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path
