"""The Cluster page: live answer to unsaved tables, one message per mistake, saving, notes of assumptions."""

from typing import Any

import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.workload import Workload
from dlsched.ui.frame import session
from dlsched.ui.scenario import price_lists
from dlsched.workload.load import scenario_of
from dlsched.workload.prices.price_list import Offer, PriceList
from dlsched.workload.readers import read_trace
from dlsched.workload.studies.smd import sample_server_jobs
from tests.support.assumptions import words_of
from tests.support.page_text import kept

TRACE = b"job_id,submit_time_s,num_gpus,duration_s\n" + b"".join(
    b"j%d,%d,%d,600\n" % (number, 60 * number, 1 + number % 16) for number in range(40)
)


@pytest.fixture
def page(open_page, store):
    """The page on a trace with its default cluster."""
    saved = store.save_scenario(scenario_of(read_trace(TRACE, "mine.csv"), "mine"))
    return open_page("scenario/cluster.py", scenario=saved.scenario_hash[:8])


def edit(app, table: str, row: int | None, **cells: Any):
    """Type into a row of a table, or add a row."""
    key = f"{table}-{app.session_state['scenario_hash'][:8]}"
    resets = app.session_state.to_dict().get(f"{key}-round", 0)
    change: dict[str, Any] = {"edited_rows": {}, "added_rows": [], "deleted_rows": []}
    if row is None:
        change["added_rows"] = [cells]
    else:
        change["edited_rows"] = {row: cells}
    app.session_state[f"{key}-{resets}"] = change
    return app.run()


def shown(app) -> str:
    return "\n".join(part.value for part in [*app.markdown, *app.header, *app.error, *app.warning]).replace("\\", "")


def mistake(app) -> str:
    """What is wrong with the tables; empty when nothing is."""
    return next((line.value for line in app.markdown if "⛔" in line.value), "").replace("\\", "").replace("**", "")


def card(app, label: str) -> str:
    return next(metric for metric in app.metric if metric.label == label).value.replace("\\", "")


def test_default_cluster_says_its_rule_and_going_on_is_the_next_step(page):
    assert not page.exception
    assert "the smallest number of 8-GPU nodes that fits the largest job at load 0.7" in shown(page)
    assert page.button(key="save-cluster").disabled
    assert not page.button(key="to-run").disabled


def test_edit_is_answered_before_it_is_saved(page):
    before = card(page, "Load")
    app = edit(page, "pools", 0, nodes=100)
    assert not app.exception
    assert (card(app, "Nodes"), card(app, "GPUs")) == ("100", "800")
    assert card(app, "Load") != before
    assert "Not saved yet" in shown(app)
    assert app.button(key="to-run").disabled


def test_saving_makes_a_version_without_the_default_note_and_undo_brings_both_back(page, store):
    app = edit(page, "pools", 0, nodes=12, usd_per_h=20.0)
    app = app.button(key="save-cluster").click().run()
    assert not app.exception
    assert [toast.value for toast in app.toast] == ["Saved as version 2."]
    assert "Default cluster" not in shown(app)
    assert card(app, "Price") == "$240/h"
    newest = store.list_scenarios().iloc[0]
    assert (newest["version"], newest["nodes"]) == (2, 12)
    assert not any("Default" in text for text in words_of(store.get_scenario(newest["scenario_hash"])))
    app = app.button(key="bar-undo").click().run()
    assert "Default cluster" in shown(app)
    assert card(app, "Nodes") != "12"
    assert app.button(key="save-cluster").disabled  # nothing of the undone edit is left in the tables


POOL_MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "0 nodes": ({"nodes": 0}, "a cluster needs at least one node"),
    "no count": ({"nodes": None}, "node type row 1, column Nodes"),
    "no name": ({"vm": ""}, "node type row 1, column Machine type"),
    "no GPUs": ({"gpus": None}, "node type row 1, column GPUs each"),
    "negative count": ({"nodes": -3}, "node type row 1, column Nodes"),
    "half a node": ({"nodes": 1.5}, "node type row 1, column Nodes"),
    "too many": ({"nodes": 10**9}, "node type row 1, column Nodes"),
    "negative price": ({"usd_per_h": -1.0}, "node type row 1, column $/h each"),
    "infinite memory": ({"mem_gib": float("inf")}, "node type row 1, column GiB each"),
}


@pytest.mark.parametrize("case", POOL_MISTAKES)
def test_mistake_in_the_pools_is_named_and_nothing_is_saved(page, store, case):
    cells, message = POOL_MISTAKES[case]
    app = edit(page, "pools", 0, **cells)
    assert not app.exception
    assert message in mistake(app)
    assert app.button(key="save-cluster").disabled
    assert len(store.list_scenarios()) == 1
    app = edit(app, "pools", 0, nodes=5)
    assert not mistake(app)
    assert not app.button(key="save-cluster").disabled


EVENT_MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "beyond the nodes": ({"what": "fails", "first node": 400, "nodes": 1, "from day": 1.0}, "names node 400"),
    "very many": ({"what": "fails", "first node": 0, "nodes": 10**12, "from day": 1.0}, "names node 999,999,999,999"),
    "ends before it begins": (
        {"what": "maintenance", "first node": 0, "nodes": 1, "from day": 3.0, "to day": 2.0},
        "must be after day 3, got 2",
    ),
    "arrives at once": ({"what": "arrives", "first node": 0, "nodes": 1, "from day": 0.0}, "must come after day 0"),
}


@pytest.mark.parametrize("case", EVENT_MISTAKES)
def test_mistake_in_the_events_is_named(page, case):
    cells, message = EVENT_MISTAKES[case]
    app = edit(page, "events", None, **cells)
    assert not app.exception
    assert message in mistake(app)


UNFINISHED: dict[str, tuple[str, dict[str, Any], str]] = {
    "type without GPUs": ("pools", {"vm": "new", "nodes": 3}, "node type row 2, column GPUs each"),
    "type with a price only": (
        "pools",
        {"usd_per_h": 3.0},
        "node type row 2, columns Machine type, Nodes and GPUs each",
    ),
    "event without a day": ("events", {"what": "fails", "first node": 0, "nodes": 1}, "event row 1, column Day"),
    "event without a kind": ("events", {"first node": 0, "nodes": 1, "from day": 1.0}, "event row 1, column What"),
}


@pytest.mark.parametrize("case", UNFINISHED)
def test_an_unfinished_row_is_left_out_and_named_and_the_rest_previews_and_can_be_saved(page, store, case):
    table, cells, told = UNFINISHED[case]
    key = f"pools-{page.session_state['scenario_hash'][:8]}"
    app = edit(page, "pools", 0, nodes=33)
    app.session_state[f"{key}-0"] = {"edited_rows": {0: {"nodes": 33}}, "added_rows": [], "deleted_rows": []}
    if table == "pools":
        app.session_state[f"{key}-0"]["added_rows"] = [cells]
        app = app.run()
    else:
        app = edit(app, "events", None, **cells)
    assert not app.exception
    assert not mistake(app)
    assert card(app, "Nodes") == "33"
    assert told in shown(app).replace("*", "")
    app.button(key="save-cluster").click().run()
    saved = store.get_scenario(store.list_scenarios()["scenario_hash"].iloc[0]).cluster
    assert (saved.num_nodes, len(saved.pools), saved.absences) == (33, 1, ())


def test_number_of_nodes_of_one_type_is_a_field_that_agrees_with_the_table(page):
    field = f"nodes-pools-{page.session_state['scenario_hash'][:8]}"
    app = page.number_input(key=field).set_value(17).run()
    assert not app.exception
    assert card(app, "Nodes") == "17"
    tag = page.session_state["scenario_hash"][:8]
    assert app.session_state[f"pools-{tag}-now"]["nodes"].tolist() == [17]
    app = edit(app, "pools", 0, nodes=21)
    assert app.number_input(key=field).value == 21
    app = app.selectbox(key="vm-example").set_value("8 x A100").run()
    app = app.button(key="vm-add").click().run()
    assert not [box for box in app.number_input if box.key == field]  # two types: the table says how many of each


def test_capacity_is_drawn_only_where_it_changes(page):
    def pictures(app):
        return [one.proto.id for one in app.get("plotly_chart") if "capacity" in one.proto.id]

    assert not pictures(page)
    app = edit(page, "events", None, **{"what": "fails", "first node": 0, "nodes": 1, "from day": 0.1, "to day": 0.3})
    assert pictures(app)


def test_events_become_absences_and_come_back_as_the_same_rows(page, store):
    app = edit(page, "events", None, **{"what": "fails", "first node": 0, "nodes": 2, "from day": 0.1, "to day": 0.3})
    app = app.button(key="save-cluster").click().run()
    assert not app.exception
    absences = store.get_scenario(store.list_scenarios()["scenario_hash"].iloc[0]).cluster.absences
    assert [(a.node, a.start_s, a.end_s, a.cause) for a in absences] == [(n, 8640.0, 25920.0, "fails") for n in (0, 1)]
    assert app.button(key="save-cluster").disabled  # reading the tables again changes nothing


def test_example_type_is_added_to_the_rows_and_its_price_called_an_example(page, store):
    app = edit(page, "pools", 0, nodes=7)
    app = app.selectbox(key="vm-example").set_value("8 x A100").run()
    app = app.button(key="vm-add").click().run()
    assert not app.exception
    assert card(app, "Nodes") == "8"  # the typed 7 is still there
    app = app.button(key="save-cluster").click().run()
    notes = words_of(store.get_scenario(store.list_scenarios()["scenario_hash"].iloc[0]))
    assert any(note.startswith("8 x A100: ") and "example price, not a quote" in note for note in notes)


def test_unsaved_rows_are_still_there_when_the_page_was_left(page):
    app = edit(page, "pools", 0, nodes=21)
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.switch_page("pages/scenario/cluster.py").run()
    assert not app.exception
    assert card(app, "Nodes") == "21"
    assert not app.button(key="save-cluster").disabled


def test_free_machine_types(page, store):
    switch = next(control for control in page.segmented_control if control.label == "Machines")
    app = switch.set_value("Rent on demand").run()
    assert not app.exception
    assert "The policy chooses which machines to rent" in shown(app)
    app = app.multiselect[0].set_value([]).run()
    assert "none is selected" in mistake(app)
    app = app.multiselect[0].set_value(["8 x A100"]).run()
    app = app.button(key="save-cluster").click().run()
    assert not app.exception
    cluster = store.get_scenario(store.list_scenarios()["scenario_hash"].iloc[0]).cluster
    assert cluster.free_slots
    assert [vm.name for vm in cluster.catalogue] == ["8 x A100"]
    assert next(control for control in app.segmented_control if control.label == "Machines").value == "Rent on demand"
    switch = next(control for control in app.segmented_control if control.label == "Machines")
    app = switch.set_value("Owned nodes").run()
    assert not mistake(app)  # begins with as many nodes of the first type as there were slots
    assert card(app, "Nodes") == str(cluster.slots)


def test_speed_and_ownership_that_the_table_does_not_show_are_kept(open_page, store):
    vm = VmType(name="odd", gpu_type="", gpus=4, speed=2.5)
    cluster = Cluster(pools=(Pool(vm=vm, count=6, owned=False),))
    jobs = Workload.from_columns({"job_id": ["a", "b"], "submit_s": [0.0, 1.0], "work": [10.0, 10.0]})
    saved = store.save_scenario(session.demo().replace(workload=jobs, cluster=cluster, generator=None, name="odd"))
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash[:8])
    assert app.button(key="save-cluster").disabled
    app = edit(app, "pools", 0, nodes=8)
    app.button(key="save-cluster").click().run()
    pool = store.get_scenario(store.list_scenarios()["scenario_hash"].iloc[0]).cluster.pools[0]
    assert (pool.count, pool.owned, pool.vm.speed, pool.vm.gpu_type) == (8, False, 2.5, "")


def test_job_that_never_fits_is_told_with_its_size(page):
    app = edit(page, "pools", 0, nodes=1)
    assert "can never fit the cluster; the largest asks for 16 GPUs" in shown(app)
    assert "Largest job (16 GPUs) does not fit." in shown(app)


def test_free_machines_come_from_the_bundled_lists_with_their_prices(page, store):
    tag = page.session_state["scenario_hash"][:8]
    app = page.segmented_control(key=f"machines-pools-{tag}-0").set_value("Rent on demand").run()
    assert not app.exception
    lists = app.selectbox(key=f"list-pools-{tag}-0")
    assert lists.options == ["Current example prices: 13 types", "Path-relinking paper, 2022: 8 types"]
    app = lists.set_value("Path-relinking paper, 2022").run()
    assert card(app, "Machine types") == "8"
    assert card(app, "Cheapest GPU-hour") == "$0.56"
    assert any(link.label == "Edit on Prices" for link in app.get("page_link"))
    app = app.button(key="save-cluster").click().run()
    assert not app.exception
    saved = store.get_scenario(store.list_scenarios()["scenario_hash"].iloc[0])
    assert [vm.name for vm in saved.cluster.catalogue][:3] == ["NC6", "NC12", "NC24"]
    assert any("list prices 2022-07-05 (Table 2 of the path-relinking paper)" in note for note in words_of(saved))


def test_free_machines_come_from_the_own_catalogue_first(page):
    mine = PriceList(offers=(Offer(name="mine", gpu_type="A100", gpus=16, usd_per_h=9.0),))
    price_lists.save(mine)
    tag = page.session_state["scenario_hash"][:8]
    app = page.segmented_control(key=f"machines-pools-{tag}-0").set_value("Rent on demand").run()
    assert not app.exception
    assert app.selectbox(key=f"list-pools-{tag}-0").value == "Your price list"
    assert card(app, "Cheapest GPU-hour") == "$0.56"


def test_disk_of_nodes_is_kept_when_another_column_is_edited(open_page, store):
    saved = store.save_scenario(sample_server_jobs())
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash[:8])
    assert not app.exception
    app = edit(app, "pools", 0, nodes=2)
    app = next(button for button in app.button if button.label.startswith("Save")).click().run()
    assert not app.exception
    assert [(pool.count, pool.vm.disk_gib) for pool in kept(store).cluster.pools] == [(2, 1200.0)]
