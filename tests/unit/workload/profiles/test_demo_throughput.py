"""The made-up measurements: near the model, the same at one seed."""

import csv
import io

import numpy as np

from dlsched.speed.queueing import throughput
from dlsched.workload.profiles.demo_throughput import NOISE, SERIES, WORKERS, demo_csv


def test_measurements_lie_around_the_model():
    rows = list(csv.DictReader(io.StringIO(demo_csv().decode())))
    assert len(rows) == len(SERIES) * WORKERS
    for name, network, times in SERIES:
        mine = [row for row in rows if row["model"] == name]
        assert [int(row["workers"]) for row in mine] == list(range(1, WORKERS + 1))
        off = np.array([float(row["throughput"]) for row in mine]) / throughput(times, WORKERS, network) - 1
        assert np.abs(off).max() <= NOISE * 3**0.5 + 1e-4  # a uniform with deviation s lies within s sqrt(3)
        assert np.abs(off).max() > NOISE


def test_without_noise_they_are_the_model():
    first = demo_csv(noise=0.0).decode().splitlines()[1]
    assert first == "small batch,1,5.2356"  # 1 / (0.029 + 0.072 + 0.018 + 0.072)
    assert demo_csv(seed=2) != demo_csv()
