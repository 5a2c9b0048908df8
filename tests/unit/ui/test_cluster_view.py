"""Tables of the Cluster page and back, and which assumptions an edit ends."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.assumptions import stated
from dlsched.domain.cluster import Absence, Cluster, Outage, Pool, Scaling, Terms, VmType
from dlsched.domain.errors import InputError
from dlsched.ui.scenario.cluster import (
    events_frame,
    notes_of,
    pool_columns,
    pools_frame,
    read_tables,
    shows_disk,
    shows_features,
    with_pool,
)
from dlsched.workload.catalogue import EXAMPLES, price_list, vm_examples
from dlsched.workload.defaults import describe_default
from dlsched.workload.fill import fill_prices
from tests.support.server_scenarios import training, with_servers

NODE = VmType(name="node", gpus=8)
CLUSTER = Cluster(pools=(Pool(vm=NODE, count=4),))
LISTS = [price_list(EXAMPLES)]


def cluster_of(pools_table: pd.DataFrame, events: pd.DataFrame, before: Cluster) -> Cluster:
    """Return the cluster of tables whose rows are all finished and right; InputError naming the first that is not."""
    found = read_tables(pools_table, events, before)
    for mistake in (found.mistake, *found.unfinished):
        if mistake is not None:
            raise mistake
    assert found.cluster is not None
    return found.cluster


pools = st.builds(
    Pool,
    vm=st.builds(
        VmType,
        name=st.sampled_from("abc"),
        gpu_type=st.sampled_from(["GPU", "A100", ""]),
        gpus=st.integers(0, 16),
        cpus=st.none() | st.floats(0, 512, allow_nan=False),
        disk_gib=st.none() | st.floats(0, 9999, allow_nan=False),
        usd_per_h=st.none() | st.floats(0, 99, allow_nan=False),
        speed=st.sampled_from([1.0, 2.5]),
    ),
    count=st.integers(1, 9),
    partition=st.sampled_from(["", "p", "p|q"]),
    nodes=st.sampled_from(["", "n[1-9]"]),
    owned=st.booleans(),
)
causes = st.sampled_from(["maintenance", "fails"])


@st.composite
def clusters(draw):
    made = draw(st.lists(pools, min_size=1, max_size=3, unique_by=lambda pool: pool.vm.name))
    nodes = sum(pool.count for pool in made)
    absences = []
    for node in draw(st.lists(st.integers(0, nodes - 1), max_size=5)):
        kind, start = draw(st.sampled_from(["arrives", "leaves", "other"])), draw(st.floats(1, 1e7))
        if kind == "arrives":
            absences.append(Absence(node=node, start_s=0.0, end_s=start, cause="arrives"))
        elif kind == "leaves":
            absences.append(Absence(node=node, start_s=start, cause="leaves", billed=draw(st.booleans())))
        else:
            end = draw(st.none() | st.floats(start + 1, 2e7))
            absences.append(Absence(node=node, start_s=start, end_s=end, cause=draw(causes)))
    return Cluster(pools=tuple(made), absences=tuple(absences))


@given(cluster=clusters())
def test_tables_that_nobody_edited_give_the_same_cluster(cluster):
    pools_table, events = pools_frame(cluster).astype(object), events_frame(cluster).astype(object)
    assert cluster_of(pools_table, events, cluster) is cluster


def test_neighbouring_nodes_share_an_event():
    absences = tuple(Absence(node=node, start_s=0.0, end_s=86_400.0, cause="arrives") for node in (0, 1, 3))
    events = events_frame(CLUSTER.model_copy(update={"absences": absences}))
    assert events[["what", "first node", "nodes", "from day"]].to_numpy().tolist() == [
        ["arrives", 0, 2, 1.0],
        ["arrives", 3, 1, 1.0],
    ]


def test_an_event_becomes_an_absence_for_each_node():
    events = pd.DataFrame(
        [("leaves", 2, 2, 0.5, None, True)],
        columns=["what", "first node", "nodes", "from day", "to day", "billed"],
    )
    absences = cluster_of(pools_frame(CLUSTER), events, CLUSTER).absences
    assert [(a.node, a.start_s, a.end_s, a.billed) for a in absences] == [(n, 43_200.0, None, True) for n in (2, 3)]


def test_empty_rows_do_not_count_and_equal_names_must_be_equal_types():
    columns = pools_frame(CLUSTER).columns
    empty = pd.DataFrame([[None] * len(columns)], columns=columns)
    table = pd.concat([pools_frame(CLUSTER).astype(object), empty], ignore_index=True)
    assert cluster_of(table, events_frame(CLUSTER), CLUSTER) is CLUSTER
    other = with_pool(pools_frame(CLUSTER), NODE.model_copy(update={"gpus": 4}), 1)
    with pytest.raises(InputError, match="two different machine types are called 'node'"):
        cluster_of(other, events_frame(CLUSTER), CLUSTER)


def test_the_default_note_ends_when_the_cluster_is_described():
    notes = stated("restart 15 s", describe_default(CLUSTER))
    assert notes_of(notes, CLUSTER, CLUSTER.model_copy(update={"pools": (Pool(vm=NODE, count=9),)}), LISTS) == notes[:1]


def test_the_note_of_example_prices_stays_as_long_as_one_of_them():
    from dlsched.ui.frame import session

    demo = session.demo().replace(cluster=CLUSTER, assumptions=())
    filled = fill_prices(demo)
    priced = filled.cluster.pools[0].vm
    mine = priced.model_copy(update={"usd_per_h": 7.0})
    more = Cluster(pools=(Pool(vm=priced, count=9),))
    own = Cluster(pools=(Pool(vm=mine, count=9),))
    assert notes_of(filled.assumptions, filled.cluster, more, LISTS) == filled.assumptions
    assert notes_of(filled.assumptions, filled.cluster, own, LISTS) == ()


def test_example_types_bring_the_note_of_their_price():
    vm = vm_examples()[0]
    after = Cluster(pools=(*CLUSTER.pools, Pool(vm=vm, count=1)))
    (note,) = notes_of((), CLUSTER, after, LISTS)
    assert note.words == f"{vm.name}: list prices 2026-03-01 (example price, not a quote)"
    assert notes_of((note,), after, after, LISTS) == (note,)


def test_disk_is_edited_and_kept_and_hidden_where_nobody_speaks_of_it():
    unit = Cluster(pools=(Pool(vm=VmType(name="unit", gpus=8, disk_gib=1200.0), count=1),))
    table = pools_frame(unit).astype(object)
    more_nodes = cluster_of(table.assign(nodes=2), events_frame(unit), unit)
    assert [pool.vm.disk_gib for pool in more_nodes.pools] == [1200.0]
    edited = cluster_of(table.assign(disk_gib=600.0), events_frame(unit), unit)
    assert [pool.vm.disk_gib for pool in edited.pools] == [600.0]
    assert shows_disk(with_servers(training((0, 1, 1, 1)), unit))
    assert shows_disk(with_servers(training((0, 1, 1, 1), disk_gib_per_server=[5.0])))
    assert not shows_disk(with_servers(training((0, 1, 1, 1))))
    assert (pool_columns(disk=False)["disk_gib"], pool_columns()["disk_gib"]["label"]) == (None, "Disk GiB each")


def test_features_are_edited_and_shown_only_where_they_say_something():
    told = Cluster(pools=(Pool(vm=NODE, count=2, nodes="n[1-2]", features="big|ib"),))
    table = pools_frame(told)
    assert cluster_of(table, events_frame(told), told) is told
    table.loc[0, "features"] = "ib | big|ib"
    changed = cluster_of(table, events_frame(told), told).pools[0]
    assert (changed.features, changed.nodes) == ("ib|big", "n[1-2]")
    given = with_servers(training((0, 1, 1, 1)))
    assert shows_features(given.replace(cluster=told))
    assert shows_features(given.replace(workload=given.workload.with_columns(features=["ib"])))
    assert not shows_features(given)
    assert pool_columns(features=False)["features"] is None


def test_terms_come_back_as_they_were_and_a_row_can_be_given_some():
    out = (Outage(start_s=3600, end_s=7200),)
    kinds = [
        None,
        Terms(kind="reserved", commitment_years=3),
        Terms(kind="on-demand", boot_s=90, idle_timeout_s=1200, min_nodes=1),
        Terms(kind="spot", evictions_per_h=0.25, outages=out, notice_s=30),
    ]
    rented = Cluster(
        pools=tuple(Pool(vm=NODE, count=2, terms=terms) for terms in kinds), scaling=Scaling(wait_s=60, order="listed")
    )
    assert cluster_of(pools_frame(rented), events_frame(rented), rented) == rented
    table = pools_frame(CLUSTER).astype(object)
    table = table.assign(terms="on-demand", boot=2.5, kept=3)
    (made,) = cluster_of(table, events_frame(CLUSTER), CLUSTER).pools
    assert made.terms == Terms(kind="on-demand", boot_s=150, min_nodes=3)


def test_outages_are_typed_in_days_and_unchanged_ones_keep_every_digit():
    out = Outage(start_s=1000 / 3, end_s=7200), Outage(start_s=86_400, end_s=100_000.000001)
    spot = Cluster(pools=(Pool(vm=NODE, count=2, terms=Terms(kind="spot", outages=out)),))
    table = pools_frame(spot).astype(object)
    assert cluster_of(table, events_frame(spot), spot) == spot
    assert str(table.loc[0, "outages"]).startswith("0.003858024691-0.083333333333, 1-")
    table.loc[0, "outages"] = "1.5-2,  10 - 10.25,"
    (made,) = cluster_of(table, events_frame(spot), spot).pools
    assert made.terms is not None
    assert [(one.start_s, one.end_s) for one in made.terms.outages] == [(129_600, 172_800), (864_000, 885_600)]
    table.loc[0, "outages"] = None
    (made,) = cluster_of(table, events_frame(spot), spot).pools
    assert made.terms == Terms(kind="spot")


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"terms": "spot", "outages": "2"}, r"Outages, days.*'2' has no end. Write first and last day"),
        ({"terms": "spot", "outages": "1-2, a-b"}, r"'a-b' is not a span of days"),
        ({"terms": "spot", "outages": "2-1"}, r"row 1, column Outages, days: '2-1': an outage must end after"),
        ({"terms": "spot", "outages": "1-nan"}, r"'1-nan': Input should be a finite number"),
        ({"terms": "spot", "outages": "3-4, 1-2"}, r"outages must follow each other"),
        ({"terms": "on-demand", "outages": "1-2"}, r"outages is not for on-demand nodes"),
        ({"terms": "on-demand", "evictions": 1}, "evictions_per_h is not for on-demand nodes"),
        ({"terms": "spot", "kept": 5}, "min_nodes must be at most the count of 4, got 5"),
        ({"terms": "spot", "boot": -1}, "Boot, min"),
    ],
)
def test_terms_that_make_no_sense_are_named(cells, says):
    table = pools_frame(CLUSTER).astype(object)
    for name, value in cells.items():
        table.loc[0, name] = value
    with pytest.raises(InputError, match=says):
        cluster_of(table, events_frame(CLUSTER), CLUSTER)


def test_an_event_of_a_rented_node_is_named():
    table, events = pools_frame(CLUSTER).astype(object), events_frame(CLUSTER).astype(object)
    table.loc[0, "terms"] = "spot"
    events.loc[0] = ["fails", 1, 1, 2.0, None, False]
    with pytest.raises(InputError, match="names node 1, which is rented"):
        cluster_of(table, events, CLUSTER)


def test_columns_of_terms_are_hidden_where_there_are_none():
    assert all(pool_columns(terms_too=False)[name] is None for name in ("terms", "years", "boot", "evictions"))
