"""Charts of a run with quotas: what is drawn, in words and as tables; light and dark."""

import numpy as np
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
    traces = [trace for trace in chart.figure.data if trace.name == "borrowed from research"]
    assert [(max(trace.y), trace.showlegend) for trace in traces] == [(12, True)]  # language borrows nothing
    told = next(trace for trace in chart.figure.data if trace.customdata is not None and max(trace.y) == 12).customdata
    assert "vision: 12 of 8 GPUs used, 4 borrowed from research<br>3 jobs running, 0 jobs waiting" in told
    assert chart.table["borrowed from research (GPUs)"].max() == 4
    assert min(next(t for t in chart.figure.data if t.name.startswith("lent") and min(t.y) < 0).y) == -4
    assert set(chart.table["queue"]) == set(TEAMS)
    assert "No queue" in quota_chart(answer, [], theme).alt


def test_what_is_borrowed_looks_like_the_cohort_that_lends_it(answer):
    vision = answer.bands[0]
    nothing = (0.0,) * len(vision.time_s)
    own, above = vision.borrowed, tuple(2 * value for value in vision.borrowed)
    all_of_it = {"borrowed": above, "used": tuple(np.add(vision.used, own)), "lenders": {"research": own, "all": own}}
    other = {"borrowed": own, "used": tuple(np.add(vision.nominal, own)), "lent": nothing, "lenders": {"all": own}}
    mixed = answer.model_copy(update={"bands": (vision.model_copy(update=all_of_it),
                                                vision.model_copy(update={"queue": "language"} | other))})  # fmt: skip
    traces = [trace for trace in quota_chart(mixed, TEAMS, LIGHT).figure.data if (trace.name or "").startswith("bor")]
    assert [(trace.name, trace.showlegend) for trace in traces] == [
        ("borrowed from research", True), ("borrowed from all", True), ("borrowed from all", False),
    ]  # fmt: skip
    assert list(traces[1].y) == list(np.add(vision.used, own))  # on top of what research lends
    looks = [(trace.line.color, trace.fillpattern.shape) for trace in traces]
    assert looks[1] == looks[2]
    assert len(set(looks)) == 2
    alone = quota_chart(mixed, ["language"], LIGHT)  # a cohort keeps its look whatever is chosen
    assert next(t for t in alone.figure.data if t.name == "borrowed from all").line.color == looks[1][0]


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
