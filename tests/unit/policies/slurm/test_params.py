"""Parameters in Slurm's own notation are those of the fields; what Slurm would not read is refused with its name."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.slurm import OPTIONS, SlurmOptions
from dlsched.policies.registry import find
from dlsched.policies.slurm.params import SlurmParams


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("bf_window", "1440", "bf_window_s", 86_400),
        ("bf_window", 90.5, "bf_window_s", 5430),  # a sweep may give half minutes
        ("PriorityCalcPeriod", 5, "PriorityCalcPeriod_s", 300),
        ("PriorityCalcPeriod", "30 sec", "PriorityCalcPeriod_s", 30),
        ("PriorityMaxAge", "5:00:00", "PriorityMaxAge_s", 18_000),
        ("PriorityMaxAge", None, "PriorityMaxAge_s", None),
        ("PriorityDecayHalfLife", "1-0", "PriorityDecayHalfLife_s", 86_400),
        ("PriorityDecayHalfLife", "7-12:30:00", "PriorityDecayHalfLife_s", 649_800),
        ("defer", "true", "defer", "YES"),
        ("defer", False, "defer", "NO"),
        ("defer", 1.0, "defer", "YES"),  # as a sweep reads "1"
        ("PriorityFavorSmall", "no", "PriorityFavorSmall", "NO"),
        ("PriorityMaxAge_s", "18000", "PriorityMaxAge_s", 18_000),
    ],
)
def test_slurms_notation(name: str, value: Any, field: str, expected: Any):
    assert find("slurm").parse({name: value}).model_dump()[field] == expected


def test_every_depth_and_time_of_the_passes_is_a_parameter():
    """What goes before the settings of the scenario goes before Slurm's defaults too."""
    passes = [name for name in OPTIONS if name[0].islower() and name != "defer"]
    assert {"bf_max_job_part", "bf_max_job_user_part", "bf_max_job_start", "partition_job_depth"} < set(passes)
    for name in passes:
        params = find("slurm").parse({name: 77})
        assert isinstance(params, SlurmParams)
        assert getattr(params.over(SlurmOptions()), name) == 77, name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bf_window": "soon"}, "policy slurm, bf_window: must be a time, got 'soon'. Write it in minutes"),
        ({"bf_window": 0}, "policy slurm, bf_window, bf_window_s: Input should be greater than or equal to 60, got 0"),
        ({"PriorityMaxAge": -5}, "policy slurm, PriorityMaxAge, PriorityMaxAge_s: Input should be greater than 0"),
        ({"bf_window": 60, "bf_window_s": 3600}, "bf_window: is the same as bf_window_s, which is given too. Give one"),
        ({"defer": "perhaps"}, "policy slurm, defer: must be yes or no, got 'perhaps'"),
        ({"bf_windw": 60}, "policy slurm, bf_windw: no such parameter. Try 'bf_window_s'"),
    ],
)
def test_what_slurm_would_not_read(given: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        find("slurm").parse(given)
