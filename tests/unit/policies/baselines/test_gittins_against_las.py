"""Gittins against LAS: what decision 078 says of made-up jobs, and of Philly where it is at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats, Workload
from dlsched.studies.simulation import simulate
from dlsched.workload.readers import read_trace
from tests.support.sim_fakes import nodes

PHILLY = Path(__file__).resolve().parents[5] / "shared" / "data" / "philly" / "philly_all.csv"


def made_up(run_times_s: Floats, widths: Floats, dice: np.random.Generator, load: float = 0.9) -> Scenario:
    """Return jobs that come at random to 20 nodes of 8 GPUs at this load."""
    span_s = float(run_times_s @ widths) / (20 * 8 * load)
    columns = {
        "job_id": np.arange(len(widths)).astype(str),
        "submit_s": np.sort(dice.uniform(0, span_s, len(widths))),
        "work": run_times_s,
        "workers": widths.astype(np.int64),
    }
    return Scenario(Workload.from_columns(columns), nodes(20))


def against_las(scenario: Scenario) -> list[float]:
    """Return slowdown, bounded slowdown, mean turnaround time and stops of Gittins as parts of those of LAS."""
    keys = "slowdown_mean", "slowdown_bounded_mean", "jct_mean", "preemptions"
    found: list[dict[str, Any]] = [dict(simulate(scenario, policy).metrics) for policy in ("gittins", "las")]
    return [found[0][key] / found[1][key] for key in keys]


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        pytest.param("alike", (0.98, 0.98, 0.95, 0.1), id="alike"),
        pytest.param("exponential", (1.0, 1.0, 1.0, 0.35), id="exponential"),
        pytest.param("lognormal", (1.0, 1.0, 1.01, 1.0), id="lognormal: the tail is heavy, so LAS is hard to beat"),
        pytest.param("by width", (0.95, 0.95, 0.9, 0.25), id="alike within each width"),
        pytest.param("bimodal", (0.9, 1.0, 1.0, 0.35), id="bimodal: minutes or half a day"),
    ],
)
def test_made_up_jobs(kind: str, most: tuple[float, float, float, float]):
    dice = np.random.default_rng(11)
    widths = dice.choice([1.0, 2.0, 4.0, 8.0, 16.0], 4000, p=[0.5, 0.15, 0.15, 0.15, 0.05])
    run_times_s = {
        "alike": dice.lognormal(8.5, 0.3, 4000),
        "exponential": dice.exponential(3600, 4000),
        "lognormal": dice.lognormal(7, 2, 4000),
        "by width": dice.lognormal(0, 0.3, 4000)
        * np.select([widths == 1, widths == 2, widths == 4, widths == 8], [600.0, 20_000.0, 1000.0, 7200.0], 3000.0),
        "bimodal": np.where(dice.random(4000) < 0.8, dice.lognormal(5, 0.5, 4000), dice.lognormal(10.5, 0.5, 4000)),
    }
    found = against_las(made_up(run_times_s[kind], widths, dice))
    assert all(np.less_equal(found, most)), found


@pytest.mark.skipif(not PHILLY.exists(), reason="the trace is not at hand")
@pytest.mark.parametrize("count", [60, 75])
def test_philly(count: int):
    found = against_las(Scenario(read_trace(PHILLY).workload, nodes(count)))
    assert all(np.less_equal(found, (0.97, 1.0, 1.0, 0.25))), found
