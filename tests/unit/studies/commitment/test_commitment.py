"""Commitments by hand: the cost of a year, the least, break-even, regret, and what cannot be answered."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, Scaling, Terms
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.basis import Basis
from dlsched.studies.commitment import run_commitment
from dlsched.studies.commitment.answer import (
    HOURS_PER_YEAR,
    Commit,
    Commitment,
    break_even_nodes,
    break_even_share,
    cost_at,
    none_above,
    regrets,
    rents_nothing,
    saving_to_all_committed,
    saving_to_all_rented,
    usd_by_kind,
    usd_year,
    use_shares,
)
from dlsched.studies.commitment.offer import mix_of
from dlsched.studies.commitment.use import Use, hours_at_least
from dlsched.studies.commitment.words import (
    against_words,
    break_even_words,
    cards_of,
    cautions_of,
    numbers_of,
    over_words,
    premises_of,
    question_words,
    reached_lines,
    rows_of,
    sentence,
    simulated_words,
    waits_words,
)
from dlsched.studies.design import Futures, changed
from dlsched.studies.simulation import simulate
from dlsched.studies.sizing.rule import Replicate
from tests.support.commitments import STEPS, WAIT, asked, whole_node_jobs
from tests.support.known import known

SCALE = HOURS_PER_YEAR / 10
"""Periods of 10 h in a year."""


def answer(scenario: Scenario | None = None, **spec: Any) -> Commitment:
    scenario = scenario or whole_node_jobs()
    return run_commitment(asked(scenario, **spec), scenario)


# ---- by hand ---------------------------------------------------------------------------------------------


def test_the_cost_of_a_year_is_what_hours_of_use_say() -> None:
    """Nobody waits, and rented nodes boot at once and go when idle: beyond n nodes each hour of use is paid."""
    found = answer(most=4)
    hours = (11.0, 5.0, 1.0)
    for nodes in range(5):
        hand = HOURS_PER_YEAR * nodes * 1.0 + SCALE * 4.0 * sum(hours[nodes:])
        assert known(usd_year(found, nodes)) == pytest.approx([hand], rel=1e-9)
    assert found.best == 2
    assert [round(known(cost_at(found, nodes)).usd) for nodes in (0, 1, 2, 3)] == [59568, 29784, 21024, 26280]
    assert usd_by_kind(found, 2) == {"owned": 17520.0, "on-demand": pytest.approx(SCALE * 4.0)}
    assert found.uses[0].hours == pytest.approx(hours)
    assert use_shares(found) == pytest.approx([1.0, 0.5, 0.1])
    assert found.all_committed == 3  # with 2 the third job waits for 5 h
    assert known(saving_to_all_rented(found)).usd == pytest.approx(59568 - 21024)
    assert known(saving_to_all_committed(found)).usd == pytest.approx(26280 - 21024)
    assert Commitment.from_plain(found.to_plain()) == found


@pytest.mark.parametrize(("usd", "nodes"), [(0.3, 3), (1.0, 2), (2.4, 1), (3.9, 1), (5.0, 0)])
def test_where_nobody_waits_the_simulated_optimum_is_that_of_the_break_even(usd: float, nodes: int) -> None:
    found = answer(base_usd_per_h=usd)
    assert break_even_share(found) == pytest.approx(usd / 4.0)
    assert found.best == break_even_nodes(found) == nodes


def test_boots_and_idle_time_make_renting_dearer_than_the_break_even_says() -> None:
    """A job of 1 h every 2 h needs half of a node, and a rented one is paid for 1 h 50 min each time."""
    rows = [(2.0 * place, 1.0) for place in range(11)]
    scenario = whole_node_jobs(*rows, count=1)
    found = answer(scenario, base_usd_per_h=2.6, boot_s=600.0, idle_timeout_s=2400.0, targets=[WAIT | {"limit": 900.0}])
    leases_h = 10 * (1.0 + 50 / 60) + 1.0 + 10 / 60  # the run ends with the last job
    assert known(usd_year(found, 0)) == pytest.approx([HOURS_PER_YEAR / 20 * 4.0 * leases_h], rel=1e-6)
    assert (break_even_nodes(found), found.best) == (0, 1)
    assert "0 nodes are needed that often. Simulated: 1." in break_even_words(found)


def test_an_audited_run_of_each_mix_is_the_plain_one() -> None:
    """Costs come from runs of the scenario with that many nodes, whose bill the auditor works out from its leases."""
    scenario = whole_node_jobs()
    spec = asked(scenario, terms="reserved-3-years", rent_terms="spot", evictions_per_h=0.05, every=True)
    found = run_commitment(spec, scenario)
    mix = mix_of(spec, scenario)
    assert (found.base.kind, found.base.years, found.rented.kind) == ("reserved", 3, "spot")
    for one in found.tried:
        run = simulate(changed(mix.scenario, {mix.key: one.nodes}), "fifo", seed=0)
        assert one.draws[0].values["spot_cost"] == run.metrics["spot_cost"]
        assert list(run.audit()) == []


# ---- enumeration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_what_trying_every_number_finds(seed: int) -> None:
    """Random jobs, boots and idle time: cost and verdict of every number from runs of its own."""
    rng = np.random.default_rng(seed)
    rows = [(round(float(at), 3), round(float(run), 3))
            for at, run in zip(np.sort(rng.uniform(0, 30, 25)), rng.exponential(3.0, 25), strict=True)]  # fmt: skip
    scenario = whole_node_jobs((0.0, 1.0), *rows, count=6)
    price = round(float(rng.uniform(0.5, 3.5)), 2)
    spec = asked(scenario, base_usd_per_h=price, boot_s=300.0, idle_timeout_s=600.0, most=9,
                 targets=[WAIT | {"limit": 240.0}])  # fmt: skip
    found = run_commitment(spec, scenario)
    mix = mix_of(spec, scenario)
    hours = 1 / (max(at for at, _ in rows) - 0.0)
    costs = {}
    for nodes in range(10):
        run = simulate(changed(mix.scenario, {mix.key: nodes}), "fifo")
        paid_h = float((run.log.lease_end_s - run.log.lease_start_s).sum()) / 3600
        if known(run.metrics["wait_mean"]) <= 240.0:
            costs[nodes] = HOURS_PER_YEAR * (nodes * price + 4.0 * paid_h * hours)
    assert found.meeting == tuple(costs)
    assert found.best == min(costs, key=lambda nodes: costs[nodes])
    assert {nodes: known(usd_year(found, nodes))[0] for nodes in costs} == pytest.approx(costs)
    assert found.every


def test_of_many_numbers_some_are_simulated_and_none_beside_the_best_is_better() -> None:
    rows = [(hour, 2.0 + place % 3) for hour in range(0, 24, 2) for place in range(8)]
    scenario = whole_node_jobs(*((float(hour), run) for hour, run in rows), count=8)
    found = answer(scenario, most=40, boot_s=300.0, idle_timeout_s=600.0, targets=[WAIT | {"limit": 600.0}])
    assert not found.every
    best, tried = known(found.best), [one.nodes for one in found.tried]
    assert {0, 40, best - 1, best + 1} <= set(tried)
    assert known(cost_at(found, best)).usd == min(known(cost_at(found, nodes)).usd for nodes in found.meeting)
    every = answer(scenario, most=40, boot_s=300.0, idle_timeout_s=600.0, targets=[WAIT | {"limit": 600.0}], every=True)
    assert [one.nodes for one in every.tried] == list(range(41))
    assert known(cost_at(every, known(every.best))).usd <= known(cost_at(found, best)).usd
    assert "would not be seen" in simulated_words(found)
    assert simulated_words(every).startswith("Every number of committed nodes from 0 to 40 was simulated.")


# ---- futures and regret ------------------------------------------------------------------------------------


def of_futures(rented_usd: dict[int, tuple[float, ...]], **more: Any) -> Commitment:
    """Return an answer with what rented nodes cost in the run of every future, drawn ones over periods of 1 year."""
    plain = answer()
    futures = len(next(iter(rented_usd.values())))
    rule = plain.rule.model_copy(update={"basis": Basis(kind="drawn", futures=futures - 1)})
    tried = tuple(
        Commit(nodes=nodes, draws=tuple(
            Replicate(seed=seed, values={"wait_mean": 10.0, "on_demand_cost": usd}, jobs=1, done=1, needed=1)
            for seed, usd in enumerate(costs)
        ))
        for nodes, costs in rented_usd.items()
    )  # fmt: skip
    uses = tuple(Use(seed=seed, period_h=HOURS_PER_YEAR, hours=(10.0,)) for seed in range(futures))
    update = {"rule": rule, "tried": tried, "uses": uses, "futures": Futures.first(futures - 1),
              "base": plain.base.model_copy(update={"usd_per_h": 1.0, "most": 2})}  # fmt: skip
    return plain.model_copy(update=update | more)


def test_regret_is_what_a_number_costs_more_than_the_best_of_each_future() -> None:
    year = float(HOURS_PER_YEAR)
    # cost of a year: 0 nodes 9000, 30000; 1 node 8760 + 240, 8760 + 9240; 2 nodes 17520 in both
    found = of_futures({0: (9000.0, 30000.0), 1: (240.0, 9240.0), 2: (0.0, 0.0)}, best=2)
    assert known(usd_year(found, 1)) == pytest.approx([year + 240, year + 9240])
    told = regrets(found)
    assert [(one.mean_usd, one.worst_usd, one.best_in) for one in told.values()] == [
        pytest.approx((12480 / 2, 12480.0, 0.5)),  # 9000 in the first future, as 1 node: of equal ones fewer are best
        pytest.approx((480 / 2, 480.0, 0.0)),
        pytest.approx((8520 / 2, 8520.0, 0.5)),
    ]


def test_a_number_that_misses_its_target_has_no_regret() -> None:
    found = of_futures({0: (0.0, 0.0), 1: (0.0, 0.0)}, best=1)
    late = tuple(
        draw.model_copy(update={"values": {**draw.values, "wait_mean": 99.0}}) for draw in found.tried[0].draws
    )
    found = found.model_copy(update={"tried": (found.tried[0].model_copy(update={"draws": late}), found.tried[1])})
    assert found.meeting == (1,)
    assert list(regrets(found)) == [1]
    assert "which misses the target" in against_words(found)


def test_drawn_futures_have_t_intervals_and_savings_are_paired() -> None:
    found = of_futures({0: (30000.0, 31000.0, 32000.0), 1: (10000.0, 11000.0, 12000.0)}, best=1, all_committed=None)
    cost = known(cost_at(found, 1))
    half = 4.302652729911275 * 1000 / np.sqrt(3)
    assert (cost.usd, cost.low, cost.high) == pytest.approx((19760.0, 19760 - half, 19760 + half))
    less = known(saving_to_all_rented(found))
    assert (less.usd, less.low, less.high, less.cheaper, less.n) == pytest.approx((11240, 11240, 11240, 3, 3))
    assert over_words(found) == "on average over 3 simulated versions of the workload"
    assert "Own 1 node and rent up to 12 more on demand: $19,800/year (95% interval $17,300 to $22,200)" in sentence(
        found
    )
    assert [name for name, _, _ in cards_of(found)] == ["Own", "Cost per year", "Saved, at least",
                                                        "Mean regret per year"]  # fmt: skip


def test_what_was_recorded_is_beside_the_futures_that_count() -> None:
    """Of a recorded trace the futures put together from it count; what was recorded is one to look at."""
    found = of_futures({0: (9e4, *(1e4,) * 20), 1: (0.0, *(1e3 * place for place in range(20)))}, best=1)
    basis = Basis(kind="recorded", futures=20, days=9)
    found = found.model_copy(update={"rule": found.rule.model_copy(update={"basis": basis})})
    cost = known(cost_at(found, 1))
    spread = float(np.std([1e3 * place for place in range(20)], ddof=1))
    assert cost.usd == pytest.approx(HOURS_PER_YEAR + 9500)
    assert (cost.recorded, cost.n) == (HOURS_PER_YEAR, 20)
    assert known(cost.high) == pytest.approx(cost.usd + 2.306004135204166 * spread)  # t of 8 degrees: days - 1
    assert known(regrets(found)[0]).best_in == pytest.approx(18 / 20)  # 8760 + 1000 k above 10000 from k = 2 on
    assert over_words(found) == "on average over 20 months reshuffled from its days"


def test_every_number_meets_the_same_futures() -> None:
    scenario = whole_node_jobs()
    futures = Futures.first(3, {"run_time_spread": 0.5})
    found = answer(scenario, futures=futures, every=True)
    assert found.rule.recorded
    for nodes in (0, 2):
        spec = asked(scenario, futures=futures)
        mix = mix_of(spec, scenario)
        for seed in (1, 3):
            hand = simulate(changed(mix.scenario, {mix.key: nodes, "run_time_spread": 0.5}, seed), "fifo", seed=seed)
            assert found.at(nodes).draws[seed].values["on_demand_cost"] == hand.metrics["on_demand_cost"]
    assert known(cost_at(found, known(found.best))).low is None  # fewer than 10 futures of a trace say no interval
    assert "Mean regret" in rows_of(found)[0]


# ---- what is committed to, what is rented -------------------------------------------------------------------


def test_pools_of_the_scenario_are_the_defaults() -> None:
    scenario = whole_node_jobs(count=2)
    owned = scenario.cluster.pools[0]
    vm = owned.vm.model_copy(update={"name": "cloud", "usd_per_h": 4.0})
    rented = Pool(vm=vm, count=5, terms=Terms(kind="spot", boot_s=7.0, idle_timeout_s=8.0))
    other = Pool(vm=vm.model_copy(update={"name": "login", "usd_per_h": 0.5, "gpus": 0}), count=1)
    pools = (owned.model_copy(update={"terms": Terms(kind="reserved", commitment_years=3)}), other, rented)
    scenario = scenario.replace(cluster=Cluster(pools=pools, scaling=Scaling(wait_s=60.0)))
    mix = mix_of(asked(scenario, base="node", rent_usd_per_h=None, boot_s=None, idle_timeout_s=None), scenario)
    assert (mix.base.kind, mix.rented, mix.fixed, mix.today) == ("reserved", rented, (other,), 7)
    assert mix.scenario.cluster.scaling == Scaling(wait_s=60.0)
    after = mix_of(asked(scenario, base="node", rent_after_s=90.0, rent_most=6, rent_terms="on-demand"), scenario)
    assert after.scenario.cluster.scaling == Scaling(wait_s=90.0)
    assert (after.rented.kind, after.rented.count) == ("on-demand", 6)
    found = answer(scenario, base="node", most=3)
    assert found.fixed_usd_per_h == {"owned": 0.5}
    assert known(usd_by_kind(found, 1))["owned"] == pytest.approx(0.5 * HOURS_PER_YEAR)
    assert known(usd_by_kind(found, 1))["reserved"] == pytest.approx(HOURS_PER_YEAR)


def test_conditions_change_prices_and_jobs_of_every_mix() -> None:
    plain, dear = answer(most=3), answer(most=3, condition={"prices": 2.0})
    for nodes in range(4):
        assert known(cost_at(dear, nodes)).usd == pytest.approx(2 * known(cost_at(plain, nodes)).usd)
    assert sentence(dear).startswith("With prices")


def test_owning_all_can_be_cheaper_than_renting_for_every_wait() -> None:
    """Two jobs at a time on one node: with an hour allowed, the second may wait; renting at once costs more."""
    rows = [(4.0 * place + late, 0.5) for place in range(6) for late in (0.0, 0.25)]
    scenario = whole_node_jobs(*rows, count=1)
    found = answer(scenario, targets=[WAIT | {"limit": 3600.0}], idle_timeout_s=1800.0, rent_usd_per_h=40.0)
    assert found.all_committed == 1
    assert rents_nothing(found)
    assert sentence(found).startswith("Own 1 node and rent nothing: $8,760/year")
    assert "rented as soon as a job waits" in sentence(found)
    assert none_above(found)
    patient = answer(scenario, targets=[WAIT | {"limit": 3600.0}], rent_after_s=3600.0, rent_usd_per_h=40.0)
    assert known(cost_at(patient, 1)).usd == pytest.approx(8760.0)


def test_of_several_waits_the_cheapest_is_the_answer_with_all_its_mixes() -> None:
    """The second of two jobs waits for at most 15 min: renting after 10 min or at once pays for it, after 1 h not."""
    rows = [(4.0 * place + late, 0.5) for place in range(6) for late in (0.0, 0.25)]
    scenario = whole_node_jobs(*rows, count=1)
    more: dict[str, Any] = {"targets": [WAIT | {"limit": 3600.0}], "rent_usd_per_h": 40.0, "idle_timeout_s": 600.0}
    found = answer(scenario, or_after_s=(3600.0, 600.0, 0.0), most=1, **more)
    each = {wait_s: answer(scenario, rent_after_s=wait_s, most=1, **more) for wait_s in (0.0, 600.0, 3600.0)}
    costs = {wait_s: known(cost_at(one, known(one.best))).usd for wait_s, one in each.items()}
    assert {one.rent_after_s: one.usd_year for one in found.waits} == costs  # 0 s is what the scenario has: asked once
    assert costs[3600.0] == pytest.approx(8760.0)
    assert costs[3600.0] < min(costs[0.0], costs[600.0])
    assert (found.rent_after_s, found.tried) == (3600.0, each[3600.0].tried)
    assert found.runs == sum(one.runs for one in each.values())
    words = waits_words(found)
    assert words.startswith("Cheapest mix by when nodes are rented: as soon as a job waits: ")
    assert "for jobs that have waited 1 h: 1 node, $8,760/year." in words
    assert waits_words(each[0.0]) == ""
    assert Commitment.from_plain(found.to_plain()) == found


def test_a_wait_for_which_no_run_is_left_is_not_tried() -> None:
    scenario = whole_node_jobs()
    futures = Futures.first(49, {"run_time_spread": 0.5})
    found = answer(scenario, futures=futures, most_runs=120, most=3, or_after_s=(60.0, 120.0))
    assert found.stopped
    assert (found.runs, [one.rent_after_s for one in found.waits]) == (100, [0.0])


# ---- nothing meets, nothing can be asked -----------------------------------------------------------------------


def test_a_target_that_nobody_meets_names_the_best_reached() -> None:
    found = answer(whole_node_jobs(count=1), targets=[{"metric": "slowdown_mean", "limit": 0.5}], most=2, rent_most=1)
    assert (found.best, found.meeting, regrets(found)) == (None, (), {})
    assert "No number of committed nodes simulated, up to 2, with up to 1 rented meets the target" in sentence(found)
    assert reached_lines(found) == ["Mean slowdown: the lowest reached is 1.0x, with 2 nodes committed."]
    assert cards_of(found)[0][0] == "Numbers tried"


def test_a_search_that_runs_out_says_so() -> None:
    scenario = whole_node_jobs()
    futures = Futures.first(49, {"run_time_spread": 0.5})
    found = answer(scenario, futures=futures, most_runs=100, most=3)
    assert found.stopped
    assert len(found.tried) == 2
    assert "ran out of runs after 100" in cautions_of(found)[0].text


@pytest.mark.parametrize(
    ("cluster", "spec", "complaint"),
    [
        ({"usd": None}, {}, "node: the committed nodes have no price. Set it on the page Cluster, or type it here"),
        ({}, {"rent_usd_per_h": None}, "the rented nodes have no price"),
        ({}, {"base": "H100"}, "base 'H100': is no node type that is always there"),
        ({}, {"rent": "H100"}, "rent 'H100': is no node type on demand or spot"),
        ({}, {"evictions_per_h": 0.1}, "evictions_per_h is not for on-demand nodes"),
        ({}, {"condition": {"nodes": 3}}, "is something to choose"),
        ({"hash": "other"}, {}, "asks about scenario other"),
        ({}, {"policy": "modelarts-optimal"}, "without rented nodes"),
        ({"rows": ((0.0, 1.0), (0.0, 2.0))}, {}, "all jobs arrive at once"),
        ({"absent": 1}, {}, "an absence is planned for node 1"),
        ({}, {"targets": [{"metric": "utility_total", "limit": 5.0}]}, "has no number on these jobs"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_named(cluster: dict[str, Any], spec: dict[str, Any], complaint: str) -> None:
    scenario = whole_node_jobs(*cluster.get("rows", STEPS), usd_per_h=cluster.get("usd", 1.0))
    if "absent" in cluster:
        away = (Absence(node=cluster["absent"], start_s=10.0, end_s=20.0),)
        scenario = scenario.replace(cluster=scenario.cluster.model_copy(update={"absences": away}))

    def ask() -> None:
        question = asked(scenario, **spec)
        named = cluster.get("hash", question.scenario)
        run_commitment(question.model_copy(update={"scenario": named}), scenario)

    with pytest.raises(InputError, match=re.escape(complaint)):
        ask()


def test_several_rented_types_need_a_name_and_the_others_are_left_out() -> None:
    scenario = whole_node_jobs()
    vm = scenario.cluster.pools[0].vm
    rented = [
        Pool(vm=vm.model_copy(update={"name": kind, "usd_per_h": 3.0}), count=2, terms=Terms(kind=kind))
        for kind in ("on-demand", "spot")
    ]
    scenario = scenario.replace(cluster=Cluster(pools=(*scenario.cluster.pools, *rented)))
    with pytest.raises(InputError, match=r"2 rows of nodes could be rented \(on-demand, spot\)"):
        answer(scenario)
    found = answer(scenario, rent="spot", most=3)
    assert (found.rented.kind, found.left_out) == ("spot", ("on-demand",))
    assert [one.text for one in cautions_of(found)] == ["Left out of the cluster: on-demand."]


def test_words_and_numbers_are_of_one_answer() -> None:
    found = answer(most=4)
    assert sentence(found) == (
        "Own 2 nodes and rent up to 12 more on demand: $21,000/year in this trace (1 future: no interval), the "
        "cheapest mix simulated that meets the target (Mean wait at most 1 min). That is $38,500 a year less than "
        "renting all and $5,260 a year less than owning 3 nodes and renting nothing."
    )
    assert break_even_words(found).startswith(
        "Break-even: a committed node pays when it is needed more than 25% of the hours ($1.00/h against $4.00/h). "
        "2 nodes are needed that often. Simulated: 2. The rule counts the nodes in use when everything is rented."
    )
    assert premises_of(found)[0].label == "a year is 876 times these 10 h"
    spec = asked(whole_node_jobs(), most=4)
    assert question_words(spec, "waits short") == (
        "How many nodes, up to 4, should we commit to, renting the rest, to keep waits short, at the lowest "
        "yearly cost?"
    )
    assert question_words(asked(whole_node_jobs(), or_after_s=(7200, 0)), "waits short") == (
        "How many nodes should we commit to, renting the rest after whichever wait is cheapest (that of the "
        "scenario, 0 s, 2 h), to keep waits short, at the lowest yearly cost?"
    )
    rows, numbers = rows_of(found), numbers_of(found)
    assert [row["Committed"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert [row["Note"] for row in rows] == ["all rented", "", "best, break-even", "today", ""]
    assert rows[2]["Cost/year"] == "$21,000"
    assert (rows[2]["Owned"], rows[2]["On-demand"]) == ("$17,500", "$3,500")
    assert [round(one["usd_year"]) for one in numbers["mixes"]] == [59568, 29784, 21024, 26280, 35040]
    assert numbers["hours_per_year_at_or_above"] == pytest.approx([8760, 4380, 876])


def test_a_node_is_in_use_once_however_many_jobs_it_holds() -> None:
    """Half-node jobs that share a node, follow each other on it, or take two nodes; pieces may last no time."""
    columns: dict[str, Any] = {
        "piece_start_s": [0.0, 3600.0, 7200.0, 7200.0, 10800.0],
        "piece_end_s": [7200.0, 9000.0, 7200.0, 10800.0, 14400.0],
        "share_first": [0, 1, 2, 3, 4, 6],
        "share_node": [0, 0, 0, 0, 0, 2],
    }
    log = SimpleNamespace(**{name: np.array(values) for name, values in columns.items()})
    assert hours_at_least(log, np.array([True, True, True])).tolist() == pytest.approx([4.0, 1.0])  # type: ignore[arg-type]
    assert hours_at_least(log, np.array([True, True, False])).tolist() == pytest.approx([4.0])  # type: ignore[arg-type]
    assert hours_at_least(log, np.zeros(3, dtype=bool)).tolist() == []  # type: ignore[arg-type]
