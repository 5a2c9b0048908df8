"""Classes of size and length: fixed edges, quarters where these are too coarse, what is not known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.workload import Floats
from dlsched.metrics.job_classes import NO_TIME, Names, alone_s, groupings_of, length_classes, size_classes

NAN = math.nan
Classes = Callable[[Floats], tuple[Names, list[str]]]


def test_sizes_by_fixed_edges() -> None:
    gpus = np.array([0, 1, 2, 4, 5, 8, 9, 16, 17, 64.0])
    of_job, order = size_classes(gpus)
    assert order == ["no GPU", "1 GPU", "2–4 GPUs", "5–8 GPUs", "9–16 GPUs", "more than 16 GPUs"]
    assert [order.index(name) for name in of_job] == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_parts_of_a_gpu_are_in_the_first_class() -> None:
    of_job, order = size_classes(np.array([0.5, 1, 4]))
    assert of_job.tolist() == ["1 GPU or less", "1 GPU or less", "2–4 GPUs"]
    assert order == ["1 GPU or less", "2–4 GPUs"]


def test_sizes_in_quarters_where_nearly_all_are_large() -> None:
    of_job, order = size_classes(np.array([24, 32, 32, 48, 64, 96, 128, 128.0]))
    assert order == ["24–32 GPUs", "48 GPUs", "64–96 GPUs", "128 GPUs"]
    assert of_job[0] == of_job[2] == "24–32 GPUs"


@pytest.mark.parametrize("size", [0.0, 1.0, 32.0])
def test_one_size_is_one_class(size: float) -> None:
    assert len(size_classes(np.full(9, size))[1]) == 1


def test_lengths_by_fixed_edges_and_unknown_ones_last() -> None:
    seconds = np.array([NAN, 600, 601, 7200, 86_400, 86_401])
    of_job, order = length_classes(seconds)
    assert order == ["up to 10 min", "10 min to 2 h", "2 to 24 h", "more than 24 h", NO_TIME]
    assert [order.index(name) for name in of_job] == [4, 0, 1, 1, 2, 3]


def test_lengths_in_quarters_where_nearly_all_are_short() -> None:
    _, order = length_classes(np.array([30, 60, 90, 120, 150, 180, 240, 300.0]))
    assert order == ["30 s to 1 min", "1 min 30 s to 2 min", "2 min 30 s to 3 min", "4 min to 5 min"]


def test_nothing_known_is_one_class() -> None:
    assert length_classes(np.full(3, NAN))[1] == [NO_TIME]
    assert length_classes(np.array([]))[1] == []


def test_run_time_alone_comes_from_the_slowdown() -> None:
    jobs = pd.DataFrame({"jct_s": [300, NAN, 50], "slowdown": [1.5, NAN, 0]})
    assert alone_s(jobs).tolist() == pytest.approx([200, NAN, NAN], nan_ok=True)
    assert np.isnan(alone_s(pd.DataFrame({"job_id": ["a"]}))).all()


def test_noise_of_a_division_does_not_part_equal_jobs() -> None:
    late_s = np.linspace(0.1, 99.7, 40)
    jobs = pd.DataFrame({"jct_s": 60 + late_s, "slowdown": (60 + late_s) / 60})
    assert length_classes(np.append(alone_s(jobs), 300.0))[1] == ["1 min", "5 min"]


def test_names_that_nobody_gave_are_not_offered() -> None:
    jobs = pd.DataFrame({"user": ["ann", None], "group": ["", ""]})
    assert groupings_of(jobs) == ["user", "size_class", "length_class"]


@given(st.lists(st.floats(0, 1e7), max_size=60), st.sampled_from([size_classes, length_classes]))
def test_every_job_has_a_class_and_larger_jobs_never_a_smaller_one(
    values: list[float], classes: Callable[[Floats], tuple[Names, list[str]]]
) -> None:
    of_job, order = classes(np.array(values, dtype=float))
    assert set(of_job) == set(order)
    places = [order.index(name) for name in of_job[np.argsort(values, kind="stable")]]
    assert places == sorted(places)
