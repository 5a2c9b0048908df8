"""Charts of a run with quotas: what is drawn, in words and as tables; light and dark."""

import pytest

from dlsched.figures.palette import DARK, LIGHT
from dlsched.figures.queues import quota_chart, shares_chart, stopped_chart, waits_chart
from tests.support.quota_runs import queues_of_teams

TEAMS = ["vision", "language"]


@pytest.fixture(scope="module")
def answer():
    return queues_of_teams()


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_quota_over_time(answer, theme):
    chart = quota_chart(answer, TEAMS, theme)
    assert chart.alt == (
        "vision: quota 8, used at most 12, lent at most 0 GPUs; language: quota 8, used at most 8, lent at most 4 GPUs."
    )
    traces = [trace for trace in chart.figure.data if trace.name == "borrowed"]
    assert [max(trace.y) for trace in traces] == [12, 8]
    assert [trace.showlegend for trace in traces] == [True, False]
    assert min(next(t for t in chart.figure.data if t.name.startswith("lent") and min(t.y) < 0).y) == -4
    assert set(chart.table["queue"]) == set(TEAMS)
    assert "No queue" in quota_chart(answer, [], theme).alt


def test_waits_by_cause(answer):
    chart = waits_chart(answer, LIGHT)
    assert chart.alt.startswith("language: p95 30 s, mean 30 s; vision: p95 5 s")
    assert [trace.name for trace in chart.figure.data] == [
        "own quota lent to others", "above own quota", "stopped jobs leaving", "other", "p95 wait",
    ]  # fmt: skip
    shapes = {trace.marker.pattern.shape for trace in chart.figure.data[:-1]}
    assert len(shapes) == 4  # told from one another without colour


def test_stopped_jobs(answer):
    chart = stopped_chart(answer, DARK)
    assert chart is not None
    assert "1 job stopped" in chart.alt
    assert chart.table["jobs"].tolist() == [1]
    assert stopped_chart(answer.model_copy(update={"stopped_for": ()}), DARK) is None


def test_shares(answer):
    chart = shares_chart(answer, TEAMS, LIGHT)
    assert max(chart.figure.data[0].y) == pytest.approx(25)
    assert "0.50" in chart.alt
