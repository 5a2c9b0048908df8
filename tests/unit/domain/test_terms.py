"""Terms of pools and the rule for renting: what they hold, and what files without them are."""

import pytest
from pydantic import ValidationError

from dlsched.domain.cluster import Absence, Cluster, Outage, Pool, Scaling, Terms, VmType

VM = VmType(name="vm", gpus=8, usd_per_h=4.0)


def pool(terms: Terms | None = None, count: int = 2) -> Pool:
    return Pool(vm=VM, count=count, terms=terms)


def test_a_cluster_without_terms_is_written_as_before():
    told = Cluster(pools=(pool(),)).model_dump(mode="json")
    assert "scaling" not in told
    assert "terms" not in told["pools"][0]


def test_terms_are_written_with_what_their_kind_has_and_read_back():
    kinds = [
        Terms(kind="reserved", commitment_years=3),
        Terms(kind="on-demand", boot_s=60, min_nodes=1),
        Terms(kind="spot", evictions_per_h=0.1, outages=(Outage(start_s=5, end_s=9),), notice_s=30),
    ]
    cluster = Cluster(pools=tuple(pool(terms) for terms in kinds), scaling=Scaling(wait_s=3600, order="listed"))
    told = cluster.model_dump(mode="json")
    assert told["pools"][0]["terms"] == {"kind": "reserved", "commitment_years": 3}
    assert sorted(told["pools"][1]["terms"]) == ["boot_s", "idle_timeout_s", "kind", "min_nodes"]
    assert Cluster.model_validate(told) == cluster


def test_which_nodes_come_and_go():
    cluster = Cluster(pools=(pool(), pool(Terms(kind="reserved")), pool(Terms(kind="spot"), 3)))
    assert cluster.rented_pools == (2,)
    assert list(cluster.nodes_of(2)) == [4, 5, 6]
    assert (cluster.rents_nodes, cluster.rents, cluster.has_terms) == (True, True, True)
    assert cluster.usd_per_h == 16.0  # of the four that are always there
    assert not Cluster(pools=(pool(Terms(kind="reserved")),)).rents


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Terms(kind="reserved", boot_s=5), "boot_s is not for reserved nodes"),
        (lambda: Terms(kind="on-demand", evictions_per_h=1), "evictions_per_h is not for on-demand nodes"),
        (lambda: Terms(kind="spot", commitment_years=3), "commitment_years is not for spot nodes"),
        (lambda: Terms(kind="spot", boot_s=-1), "boot_s"),
        (lambda: Outage(start_s=5, end_s=5), "must end after it starts"),
        (
            lambda: Terms(kind="spot", outages=(Outage(start_s=0, end_s=9), Outage(start_s=9, end_s=12))),
            "at 9 s begins",
        ),
        (lambda: pool(Terms(kind="spot", min_nodes=3)), "min_nodes must be at most the count of 2, got 3"),
        (lambda: Cluster(pools=(pool(Terms(kind="reserved")),), scaling=Scaling()), "scaling needs a pool"),
        (
            lambda: Cluster(pools=(pool(), pool(Terms(kind="spot"))), absences=(Absence(node=2),)),
            "an absence names node 2, which is rented",
        ),
        (lambda: Scaling(queue_length=0), "queue_length"),
    ],
)
def test_what_makes_no_sense_is_refused(make, says):
    with pytest.raises(ValidationError, match=says):
        make()
