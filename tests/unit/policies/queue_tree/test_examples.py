"""Three worked examples of quotas, each line by hand: two teams, one cohort, 16 GPUs, checkpoints every 60 s."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.studies.design import changed
from tests.support.quota_scenarios import Row, pieces, queues, quota_scenario, reasons, run, stops

BORROWING: list[Row] = [
    ("v1", "vision", 0, 4, 400, 0),
    ("v2", "vision", 10, 4, 400, 0),
    ("v3", "vision", 20, 4, 400, 0),
    ("l1", "language", 100, 8, 200, 0),
]
TEAMS = {"vision": 8.0, "language": 8.0}


def test_reclaim_takes_back_what_was_lent() -> None:
    done = run(quota_scenario(BORROWING, queues(TEAMS, rules={"reclaim": "any"})))
    assert pieces(done) == {
        "v1": [(0, 400)],
        "v2": [(10, 410)],
        "v3": [(20, 100), (300, 640)],
        "l1": [(100, 300)],
    }
    assert stops(done) == [(100, "v3", "l1", "reclaim", 80)]
    holds = done.journal.holds.query("job_id == 'v3'")
    assert holds[["from_s", "to_s", "borrowed", "lender", "level"]].to_numpy().tolist() == [
        [20, 100, 4, "research", 1],
        [300, 640, 4, "research", 1],
    ]
    assert reasons(done, "v3") == [(100, "OVER_QUOTA")]


def test_without_reclaim_the_owner_waits() -> None:
    done = run(quota_scenario(BORROWING, queues(TEAMS)))
    assert pieces(done) == {"v1": [(0, 400)], "v2": [(10, 410)], "v3": [(20, 420)], "l1": [(400, 600)]}
    assert reasons(done, "l1") == [(100, "QUOTA_LENT")]
    assert stops(done) == []


def test_without_borrowing_nobody_uses_the_quota_of_the_other() -> None:
    base = quota_scenario(BORROWING, queues(TEAMS, rules={"reclaim": "any"}))
    done = run(changed(base, {"borrowing": "off"}))
    assert pieces(done) == {"v1": [(0, 400)], "v2": [(10, 410)], "v3": [(400, 800)], "l1": [(100, 300)]}
    assert reasons(done, "v3") == [(20, "OVER_QUOTA")]
    assert stops(done) == []


@pytest.mark.parametrize(("nodes", "start_s"), [(20, 100), (16, 400)])
def test_quota_without_nodes_is_no_room(nodes: int, start_s: float) -> None:
    base = quota_scenario(BORROWING, queues(TEAMS, rules={"reclaim": "any"}), nodes)
    done = run(changed(base, {"quota.vision": "+4"}))
    assert pieces(done)["l1"] == [(start_s, start_s + 200)]
    assert pieces(done)["v3"] == [(20, 420)]
    assert [code for _, code in reasons(done, "l1")] == (["NO_ROOM"] if nodes == 16 else [])


PRIORITIES: list[Row] = [
    ("v1", "vision", 0, 8, 500, 0),
    ("v2", "vision", 50, 8, 300, 5),
    ("l1", "language", 60, 4, 100, 0),
    ("l2", "language", 70, 8, 100, 10),
]


def by_priority(reclaim: str) -> Any:
    tree = queues(TEAMS, rules={"within": "lower", "reclaim": reclaim})
    return run(quota_scenario(PRIORITIES, tree))


def test_any_stops_the_lowest_priority_of_the_borrower() -> None:
    done = by_priority("any")
    assert pieces(done) == {
        "v1": [(0, 60), (270, 710)],
        "v2": [(50, 350)],
        "l1": [(60, 70), (170, 270)],
        "l2": [(70, 170)],
    }
    assert stops(done) == [(60, "v1", "l1", "reclaim", 0), (70, "l1", "l2", "in-queue", 40)]


def test_lower_waits_for_a_higher_priority() -> None:
    done = by_priority("lower")
    assert pieces(done) == {
        "v1": [(0, 70), (270, 710)],
        "v2": [(50, 350)],
        "l1": [(170, 270)],
        "l2": [(70, 170)],
    }
    assert stops(done) == [(70, "v1", "l2", "reclaim", 80)]


SHARES: list[Row] = [
    *((f"v{n}", "vision", n, 2, 600, 0) for n in range(8)),
    *((f"l{n}", "language", 100 + n, 2, 600, 0) for n in range(4)),
]


def of_shares(rows: list[Row] = SHARES, **tree: Any) -> Any:
    return run(quota_scenario(rows, queues({"vision": 2, "language": 2}, 12, {"reclaim": "any"}, **tree)))


def test_classic_lets_nobody_borrow_at_the_cost_of_others() -> None:
    done = of_shares()
    found = pieces(done)
    assert found["v7"] == [(7, 100), (600, 1140)]
    assert {name: found[name] for name in ("v0", "v1", "v2", "v3", "v4", "v5", "v6")} == {
        f"v{n}": [(n, n + 600)] for n in range(7)
    }
    assert found["l0"] == [(100, 700)]
    assert [found[f"l{n}"] for n in (1, 2, 3)] == [[(600 + n, 1200 + n)] for n in (1, 2, 3)]
    assert stops(done) == [(100, "v7", "l0", "reclaim", 66)]


def test_fair_sharing_evens_out_what_is_borrowed() -> None:
    done = of_shares(fair_sharing=True)
    found = pieces(done)
    assert [found[f"l{n}"] for n in range(4)] == [[(100 + n, 700 + n)] for n in range(4)]
    assert [found[f"v{n}"] for n in (4, 5, 6, 7)] == [
        [(4, 103), (600, 1140)],
        [(5, 102), (601, 1141)],
        [(6, 101), (602, 1142)],
        [(7, 100), (603, 1143)],
    ]
    assert stops(done) == [
        (100, "v7", "l0", "reclaim", 66),
        (101, "v6", "l1", "fair-share", 70),
        (102, "v5", "l2", "fair-share", 74),
        (103, "v4", "l3", "fair-share", 78),
    ]


@pytest.mark.parametrize(("weight", "stopped"), [(1, 4), (2, 5)])
def test_a_fifth_job_needs_twice_the_weight(weight: float, stopped: int) -> None:
    more: list[Row] = [*SHARES, ("l4", "language", 104, 2, 600, 0)]
    base = quota_scenario(more, queues({"vision": 2, "language": 2}, 12, {"reclaim": "any"}, fair_sharing=True))
    done = run(changed(base, {"weight.language": weight}))
    assert len(stops(done)) == stopped


@pytest.mark.parametrize(
    ("half_life_s", "weights", "order"),
    [
        (HOUR_S, {}, ["b late", "a late"]),  # what a used 17 h ago is forgotten, b used as much in the last 3 h
        (7 * DAY_S, {}, ["a late", "b late"]),  # three times as much of a counts, nearly all of it
        (7 * DAY_S, {"a": 4.0}, ["b late", "a late"]),  # but a may use four times as much
    ],
)
def test_who_used_less_goes_first_when_a_daily_quota_comes_back(
    half_life_s: float, weights: dict[str, float], order: list[str]
) -> None:
    """User a runs from 0 to 6 h, b from 20 to 22 h. The queue has no quota from 22 to 23 h of any day.

    The job that goes last by past use was submitted first, so that the order is that of past use.
    """
    first, second = reversed(order)
    rows: list[Row] = [
        ("a early", "team", 0, 2, 6 * HOUR_S, 0),
        ("b early", "team", 20 * HOUR_S, 2, 2 * HOUR_S, 0),
        (order[0], "team", 22.1 * HOUR_S, 2, HOUR_S, 0),
        (order[1], "team", 22.2 * HOUR_S, 2, HOUR_S, 0),
    ]
    tree = queues(
        {"team": 2}, rules={"order": "usage", "local": weights}, usage_half_life_s=half_life_s,
        changes=[{"from_h": 22, "to_h": 23, "set": {"team.all.gpus.nominal": 0}}],
    )  # fmt: skip
    base = quota_scenario(rows, tree, nodes=2)
    jobs = base.workload
    done = run(base.replace(workload=jobs.with_columns(user=[str(name)[0] for name in jobs.job_id])))
    found = pieces(done)
    assert found[first] == [(23 * HOUR_S, 24 * HOUR_S)]
    assert found[second] == [(24 * HOUR_S, 25 * HOUR_S)]
    assert reasons(done, order[0])[0] == (22.1 * HOUR_S, "TOO_LARGE")  # for no quota at all
