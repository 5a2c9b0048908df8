"""Changes of terms of nodes and of when nodes are rented: each is what the form writes, and gives the same run."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.cluster import Cluster, Outage, Pool, Scaling, Terms, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.design.factors import changed, conditions_of, factor_of, factors_for, role_of, without_neutral
from dlsched.studies.simulation import simulate
from dlsched.studies.sweep.presets import low_and_high
from dlsched.studies.what_if import run_what_if, unchanged
from tests.support.runs_for_store import small_scenario
from tests.support.sim_fakes import jobs

OWN = Pool(vm=VmType(name="own", gpus=8, usd_per_h=2.0), count=1)
CLOUD = Pool(
    vm=VmType(name="cloud", gpus=8, usd_per_h=4.0), count=2,
    terms=Terms(kind="on-demand", boot_s=60, idle_timeout_s=30, min_nodes=1),
)  # fmt: skip
SPOT = Pool(
    vm=VmType(name="a.spot", gpus=8, usd_per_h=1.0), count=2,
    terms=Terms(kind="spot", boot_s=60, idle_timeout_s=30, outages=(Outage(start_s=5000, end_s=6000),)),
)  # fmt: skip
JOBS = jobs(*((100.0 * number, 900.0, 8) for number in range(12)))


def scenario(*pools: Pool, rule: Scaling | None = None) -> Scenario:
    return Scenario(JOBS, Cluster(pools=pools or (OWN, CLOUD, SPOT), scaling=rule))


def with_terms(pool: Pool, **terms: Any) -> Pool:
    now = {"kind": "on-demand"} if pool.terms is None else pool.terms.model_dump()
    return pool.model_copy(update={"terms": Terms.model_validate(now | terms)})


def with_price(pool: Pool, usd_per_h: float) -> Pool:
    return pool.model_copy(update={"vm": pool.vm.model_copy(update={"usd_per_h": usd_per_h})})


BARE = Terms(kind="on-demand")
CASES: list[tuple[dict[str, Any], Cluster]] = [
    ({"nodes.cloud": "+1"}, Cluster(pools=(OWN, CLOUD.model_copy(update={"count": 3}), SPOT))),
    ({"nodes.a.spot": "-1"}, Cluster(pools=(OWN, CLOUD, SPOT.model_copy(update={"count": 1})))),
    ({"price.cloud": 0.5}, Cluster(pools=(OWN, with_price(CLOUD, 0.5), SPOT))),
    ({"price.own": "+0.5"}, Cluster(pools=(with_price(OWN, 2.5), CLOUD, SPOT))),
    ({"boot.cloud": 600}, Cluster(pools=(OWN, with_terms(CLOUD, boot_s=600), SPOT))),
    ({"idle_timeout.cloud": "+600"}, Cluster(pools=(OWN, with_terms(CLOUD, idle_timeout_s=630), SPOT))),
    ({"kept.cloud": 2}, Cluster(pools=(OWN, with_terms(CLOUD, min_nodes=2), SPOT))),
    ({"eviction_rate.a.spot": 2.5}, Cluster(pools=(OWN, CLOUD, with_terms(SPOT, evictions_per_h=2.5)))),
    ({"eviction_rate.a.spot": 2.5, "notice.a.spot": 120},
     Cluster(pools=(OWN, CLOUD, with_terms(SPOT, evictions_per_h=2.5, notice_s=120)))),
    ({"terms.own": "on-demand"}, Cluster(pools=(OWN.model_copy(update={"terms": BARE}), CLOUD, SPOT))),
    ({"terms.a.spot": "on-demand"},
     Cluster(pools=(OWN, CLOUD, with_terms(OWN, boot_s=60, idle_timeout_s=30).model_copy(
         update={"vm": SPOT.vm, "count": 2})))),
    ({"terms.cloud": "owned"}, Cluster(pools=(OWN, CLOUD.model_copy(update={"terms": None}), SPOT))),
    ({"terms.cloud": "reserved"},
     Cluster(pools=(OWN, CLOUD.model_copy(update={"terms": Terms(kind="reserved")}), SPOT))),
    ({"eviction_rate.cloud": 3, "terms.cloud": "spot"},
     Cluster(pools=(OWN, with_terms(CLOUD, kind="spot", evictions_per_h=3), SPOT))),
    ({"prices": 2, "price.cloud": 3}, Cluster(pools=(with_price(OWN, 4), with_price(CLOUD, 6), with_price(SPOT, 2)))),
    ({"burst_wait": 300}, Cluster(pools=(OWN, CLOUD, SPOT), scaling=Scaling(wait_s=300))),
    ({"burst_queue": "+2"}, Cluster(pools=(OWN, CLOUD, SPOT), scaling=Scaling(queue_length=3))),
    ({"burst_order": "listed"}, Cluster(pools=(OWN, CLOUD, SPOT), scaling=Scaling(order="listed"))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "cluster"), CASES, ids=lambda case: " ".join(case) if isinstance(case, dict) else ""
)
def test_a_change_is_what_the_form_writes_and_gives_the_same_run(changes: dict[str, Any], cluster: Cluster) -> None:
    after, edited = changed(scenario(), changes), scenario().replace(cluster=cluster)
    assert after.cluster == cluster
    runs = [simulate(one, "fifo", one_off=True) for one in (after, edited)]
    assert runs[0].audit() == []
    measured = [{key: value for key, value in run.metrics.items() if not key.endswith("cpu_s")} for run in runs]
    assert measured[0] == measured[1]


def test_the_answer_of_a_what_if_is_the_run_of_the_edited_scenario() -> None:
    base = scenario()
    changes: dict[str, Any] = {"terms.cloud": "reserved", "burst_wait": 600}
    answer = run_what_if(unchanged(base, "fifo").with_changes(base, changes), base)
    reserved = CLOUD.model_copy(update={"terms": Terms(kind="reserved")})
    edited = base.replace(cluster=Cluster(pools=(OWN, reserved, SPOT), scaling=Scaling(wait_s=600)))
    run = simulate(edited, "fifo", one_off=True)
    assert answer.changed.metrics[0]["total_cost"] == run.metrics["total_cost"]
    assert answer.changed.metrics[0]["wait_mean"] == run.metrics["wait_mean"]
    assert answer.baseline.metrics[0]["total_cost"] != run.metrics["total_cost"]


def test_the_rule_of_renting_goes_with_the_last_rented_pool() -> None:
    after = changed(scenario(OWN, CLOUD, rule=Scaling(wait_s=60)), {"terms.cloud": "reserved"}).cluster
    assert (after.scaling, after.has_terms) == (None, True)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("terms.clod", "spot", r"there is no VM type 'clod'. Try 'cloud'"),
        ("terms.own", "rented", r"must be one of owned, reserved, on-demand, spot, got 'rented'"),
        ("boot.own", 60, r"change boot.own=60.0: boot time: nodes of own are owned. Change terms.own=on-demand or "),
        ("eviction_rate.cloud", 1, r"nodes of cloud are on-demand. Change terms.cloud=spot too"),
        ("eviction_rate.a.spot", 1001, r"must be at least 0 and at most 1000, got 1001"),
        ("kept.cloud", 3, r"min_nodes must be at most the count of 2, got 3"),
        ("kept.cloud", 1.5, r"must be a whole number"),
        ("price.cloud", "-5", r"must be at least 0 and at most 1e\+06, got -1"),
        ("price.cloud", "cheap", r"must be a number, got 'cheap'"),
        ("burst_wait", -1, r"must be at least 0"),
        ("burst_queue", 0, r"must be at least 1"),
        ("burst_order", "dearest", r"must be one of cheapest, listed"),
    ],
)
def test_mistakes_name_the_change_and_the_way_out(key: str, value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        changed(scenario(), {key: value})


def test_clusters_without_terms_and_those_whose_machines_policies_choose() -> None:
    with pytest.raises(InputError, match=r"no nodes are rented as jobs need them. Change terms.own=on-demand too"):
        changed(scenario(OWN), {"burst_wait": 60})
    assert changed(scenario(OWN), {"burst_wait": 60, "terms.own": "spot"}).cluster.scaling == Scaling(wait_s=60)
    slots = small_scenario().replace(cluster=Cluster(slots=2, catalogue=(OWN.vm,)))
    with pytest.raises(InputError, match="policies choose the machines of this cluster"):
        changed(slots, {"terms.own": "spot"})
    offered = {factor.key for factor in factors_for(scenario(OWN))}
    assert not offered & {"burst_wait", "terms.own", "price.own"}


def test_all_that_is_offered_has_the_own_value_of_the_scenario() -> None:
    base = scenario()
    usual = {factor.key for factor in factors_for(scenario(OWN))}
    offered = [factor for factor in factors_for(base) if factor.key not in usual]
    keys = {factor.key for factor in offered}
    assert {"terms.own", "price.own", "kept.cloud", "eviction_rate.a.spot", "notice.a.spot", "burst_wait"} < keys
    assert not {"boot.own", "eviction_rate.cloud"} & keys
    for factor in offered:
        assert factor.help
        own = factor.own(base)
        assert own is not None
        assert without_neutral(base, {factor.key: own}) == {}
        changed(base, {factor.key: low_and_high(base, factor)[0]})
    values: dict[str, Any] = {"price.cloud": 3.0, "boot.cloud": 5.0, "kept.cloud": 2.0, "terms.own": "spot"}
    assert set(conditions_of(base, values)) == {"price.cloud", "boot.cloud"}
    assert [role_of(key) for key in values] == ["condition", "condition", "option", "option"]


def test_words_of_changes() -> None:
    values: dict[str, Any] = {
        "terms.cloud": "spot", "price.cloud": 3, "eviction_rate.cloud": 0.1, "burst_wait": 1800, "kept.cloud": 0
    }  # fmt: skip
    words = [one.text for one in changed(scenario(), values).assumptions if one.kind == "varied"]
    assert words == [
        "cloud as spot", "hourly price of cloud $3.00", "eviction rate of cloud 0.1 per hour",
        "wait before renting 30 min", "least number of rented nodes of cloud 0",
    ]  # fmt: skip


def test_pools_of_one_type_that_differ_have_no_single_value() -> None:
    base = scenario(OWN, CLOUD, with_terms(CLOUD, boot_s=5))
    assert factor_of(base, "boot.cloud").own(base) is None
    booted = changed(base, {"boot.cloud": 7}).cluster
    assert [pool.terms.boot_s for pool in booted.pools if pool.terms is not None] == [7, 7]
