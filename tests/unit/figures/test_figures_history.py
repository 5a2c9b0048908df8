"""Charts of what happened in a log: they show the numbers of the answer in both themes, with dates and without."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.figures.history import queue_over_time, use_over_time, wait_by_month
from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.studies.history import STUDY, History, spec_of
from dlsched.wording.clock import clock_of

H = 3600.0


def log(zero: str = "") -> Scenario:
    """Return three jobs on 8 GPUs: at most 6 in use, one waiting, in two months where there are dates."""
    columns = {"job_id": ["a", "b", "c"], "submit_s": [0, H, 30 * H], "work": [2 * H, H, H],
               "gpus_per_worker": [4, 2, 6], "recorded_start_s": [0, 1.5 * H, 30 * H]}  # fmt: skip
    cluster = Cluster(pools=(Pool(vm=VmType(name="n", gpus=8), count=1),))
    return Scenario(Workload.from_columns(columns, {"time_zero": zero} if zero else {}), cluster)


def answered(scenario: Scenario) -> History:
    return STUDY.run(spec_of(scenario), scenario)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("zero", ["", "2026-01-31T00:00:00"])
def test_use_and_queue_are_steps_of_the_whole_log(theme: Theme, zero: str) -> None:
    scenario = log(zero)
    answer, clock = answered(scenario), clock_of(scenario.workload)
    use, queue = use_over_time(answer, theme, clock), queue_over_time(answer, theme, clock)
    assert use.alt == "At most 6 GPUs were in use of 8 in the cluster."
    assert use.table["GPUs in use"].tolist() == [4, 4, 6, 2, 0, 6, 0]
    assert queue.table["jobs waiting"].tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert (use.figure.layout.xaxis.type == "date") is bool(zero)


def test_waits_by_month_need_two_months() -> None:
    assert wait_by_month(answered(log()), LIGHT) is None
    chart = wait_by_month(answered(log("2026-01-31T00:00:00")), LIGHT)
    assert chart is not None
    assert chart.table["month"].tolist() == ["2026-01", "2026-02"]
    assert chart.table["p95 wait (s)"].tolist() == [0.95 * 1800, 0.0]
    assert "in 2026-01" in chart.alt
