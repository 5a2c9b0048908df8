"""A described job is a row of a workload: its step by hand, its layers from tables, faults told one by one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.errors import InputError
from dlsched.speed.pipeline import Layers
from dlsched.workload.described_job import COLUMNS, EXAMPLE, DescribedJob, layers_in_ms, read_layers

LAYERS = Layers([4.0, 1.0], [2.0, 1.0], [3.0, 5.0])
# one after the other all times count; forward is of 10 samples, of which a step has 20: 5 s x 2
JOB = DescribedJob(
    LAYERS, "sync", "sequential", forward_samples=10, steps=7, samples=20, model_mb=500.0, gbps=10.0,
    senders_share=0.25, worker_overhead_s=0.5, server_overhead_s=0.1, worker=(1, 4, 16, 10), server=(0, 2, 8, 5),
    limit=(8, 64, None, 100), worth=50.0, slope=0.5, half=12.0,
)  # fmt: skip


def test_step_by_hand_in_both_modes():
    overheads = {"worker_overhead_s": 0.5, "server_overhead_s": 0.1}
    assert JOB.step_terms() == pytest.approx({"batch_s": 10.0, "step_s": 3.0, "transfer_s": 0.8, **overheads})
    alone = dataclasses.replace(JOB, updates="async").step_terms()
    assert alone == pytest.approx({"batch_s": 0.0, "step_s": 13.0, "transfer_s": 0.2, **overheads})


def test_what_overlap_hides_does_not_count():
    # wait-free, by hand: 19 s = 5 forward + 1 of 3 backward + 13 of 16 transfers
    terms = dataclasses.replace(JOB, overlap="wait-free").step_terms()
    assert terms["batch_s"] == pytest.approx(10.0)
    assert terms["step_s"] == pytest.approx(1.0)
    assert terms["transfer_s"] == pytest.approx(0.8 * 13 / 16)


def test_the_row_holds_what_was_said():
    jobs = JOB.workload()
    assert len(jobs) == 1
    assert jobs.demand[0].tolist() == [1, 4, 16, 10]
    assert jobs.server_demand[0].tolist() == [0, 2, 8, 5]
    assert jobs.limit[0].tolist() == [8, 64, np.inf, 100]
    assert (jobs.work[0], jobs.workers[0]) == (7, 1)
    assert jobs.columns()["utility_3"].tolist() == [12.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gbps": 0.0}, r"bandwidth: must be above 0 Gbit/s, got 0"),
        ({"limit": (8, 0, None, None)}, r"limit on CPUs: must be above 0 or empty, got 0\. Leave it empty"),
        ({"worker": (0, 0, 0, 0)}, r"worker: must use at least one resource"),
    ],
    ids=["bandwidth", "limit", "nothing"],
)
def test_faults_are_told(change, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(JOB, **change).workload()


def test_layers_of_a_table_are_in_seconds_and_empty_rows_are_left_out():
    table = pd.concat([EXAMPLE, pd.DataFrame({name: [None] for name in COLUMNS})], ignore_index=True)
    layers = layers_in_ms(table.astype(object))
    assert len(layers) == len(EXAMPLE)
    assert layers.transfer_s.tolist() == pytest.approx([0.02, 0.05, 0.05, 0.08, 0.2, 0.12])


def test_a_negative_or_missing_time_names_its_layer_in_ms():
    table = EXAMPLE.copy()
    table.loc[2, COLUMNS[1]] = -80.0
    with pytest.raises(InputError, match=r"layer 3, backward: must be from 0 to 1e\+15, got -80"):
        layers_in_ms(table)
    table.loc[1, COLUMNS[1]] = np.nan
    with pytest.raises(InputError, match="layer 2, backward: must be a time in ms, but is empty"):
        layers_in_ms(table)
    with pytest.raises(InputError, match="layers: their number must be from 1"):
        layers_in_ms(table.iloc[:0])


def test_files_with_other_names_and_separators_are_read():
    text = "layer;Forward_ms;backward (ms);transfer\n1;4;2;3\n2;1;1;5\n"
    assert read_layers(text.encode(), "l.csv").to_numpy().tolist() == [[4, 2, 3], [1, 1, 5]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"forward,backward\n1,2\n", "file l.csv: no column 'transfer'; it has: forward, backward"),
        (b"x" * 5000 + b",forward,backward\n1,2,3\n", f"no column 'transfer'; it has: {'x' * 80}…, forward, backward"),
        (b"forward,backward,transfer\n1,2,3\n1,x,3\n", "line 3, backward: must be a number of ms, got 'x'"),
        (b"", "file l.csv: cannot be read as CSV"),
        (b"\xff\xfe\x00", "file l.csv: cannot be read as CSV"),
        (b"1" * 1_000_001, "has 1,000,001 bytes; the limit is 1,000,000"),
    ],
    ids=["column", "long name", "cell", "empty", "bytes", "large"],
)
def test_faults_of_a_file_are_told(content, message):
    with pytest.raises(InputError, match=message):
        read_layers(content, "l.csv")
