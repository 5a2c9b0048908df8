"""Nodes on demand, spot and reserved: the columns of the Cluster page, and Result of a run on such nodes."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Scaling, Terms
from dlsched.domain.scenario import Scenario
from dlsched.studies.simulation import simulate
from dlsched.testing.scenarios import fixed_nodes, full_workload, scaling_nodes
from dlsched.ui.frame import loaders, session

RESULT, CLUSTER = "results/run_details.py", "scenario/cluster.py"


@pytest.fixture(scope="module")
def record():
    """Easy backfill on owned, reserved, on-demand and spot nodes."""
    run = simulate(Scenario(full_workload(), scaling_nodes(), name="mixed"), "easy-backfill")
    assert run.audit() == []
    return run.record()


def shown(app) -> str:
    return "\n".join(part.value for part in [*app.markdown, *app.header, *app.error]).replace("\\", "")


def type_into(app, **cells):
    """Type into the first row of the node types."""
    key = f"pools-{app.session_state['scenario_hash'][:8]}"
    resets = app.session_state.to_dict().get(f"{key}-round", 0)
    app.session_state[f"{key}-{resets}"] = {"edited_rows": {0: cells}, "added_rows": [], "deleted_rows": []}
    return app.run()


def test_a_node_type_is_given_terms_and_a_rule_for_renting(open_page, store):
    saved = store.save_scenario(Scenario(full_workload(), fixed_nodes(8, 8), name="owned"))
    app = open_page(CLUSTER, scenario=saved.scenario_hash[:8])
    assert "When nodes are rented" not in shown(app)
    app = type_into(app, terms="on-demand", boot=2.0)
    assert not app.exception
    assert "When nodes are rented" in shown(app)
    assert "up to 1 node rented as jobs need them" in shown(app)
    next(field for field in app.number_input if field.key.startswith("scaling-wait")).set_value(1.5).run()
    app.button(key="save-cluster").click().run()
    assert not app.exception
    cluster = session.load_scenario(app.session_state["scenario_hash"]).cluster
    assert cluster.pools[0].terms == Terms(kind="on-demand", boot_s=120.0)
    assert cluster.scaling == Scaling(wait_s=5400.0)


def test_a_cluster_with_terms_shows_them_and_is_not_changed_by_looking(open_page, store):
    saved = store.save_scenario(Scenario(full_workload(), scaling_nodes(), name="mixed"))
    app = open_page(CLUSTER, scenario=saved.scenario_hash[:8])
    assert not app.exception
    assert app.button(key="save-cluster").disabled
    assert next(toggle for toggle in app.toggle if toggle.key.startswith("terms-")).value


def test_result_shows_costs_by_kind_and_when_nodes_were_rented(open_page, store, record):
    run_id = store.save_run(record)
    app = open_page(RESULT, run=run_id, part="Cost")
    assert not app.exception
    texts = shown(app)
    for kind in ("owned", "reserved", "on demand", "spot"):
        assert f"{kind} $" in texts
    app = open_page(RESULT, run=run_id, part="Timeline")
    assert not app.exception
    scenario = loaders.scenario_of(run_id)
    away = loaders.absences(run_id, scenario)
    rented = loaders.rented_stays(run_id, scenario)
    assert set(away["node"]) == {2, 3, 4, 5}
    assert set(rented["node"]) <= {2, 3, 4, 5}
    between = away[(away["start_s"] > 0) & (away["end_s"] < float("inf"))]
    assert set(between["start_s"]) <= set(rented["end_s"])
