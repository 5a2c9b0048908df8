"""Queues on the page Cluster: made from the jobs, edited as tables, saved, removed, read from a file."""

from __future__ import annotations

import json
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.errors import InputError
from dlsched.domain.queue_tree import QueueTree
from dlsched.store import Store
from dlsched.ui.frame import session
from dlsched.ui.scenario.queue_tree_form import aliases_frame, nodes_frame, quotas_frame, read_tables
from tests.support.page_text import shown
from tests.support.quota_runs import TEAMS, scenario_of_teams
from tests.unit.workload.readers.kubernetes.test_queue_objects import gpus, obj, queue
from tests.unit.workload.readers.kubernetes.test_workloads import listed, ran

PAGE = "scenario/cluster.py"
OpenPage = Callable[..., AppTest]
RULES = {name: getattr(TEAMS, name) for name in ("rule", "stop_s", "map", "unmapped", "fair_sharing")}


def read_back(tree: QueueTree, **frames: pd.DataFrame) -> QueueTree:
    nodes, quotas = frames.get("nodes", nodes_frame(tree)), frames.get("quotas", quotas_frame(tree))
    return read_tables(nodes, quotas, aliases_frame(tree), RULES, tree)


def test_tables_say_what_the_tree_is() -> None:
    assert read_back(TEAMS) == TEAMS
    full = TEAMS.model_copy(update={"aliases": {"nlp-*": "language"}, "strategies": ("initial-share",)})
    vision = TEAMS.tree["vision"].model_copy(update={"local": {"a": 2.0}, "while_borrowing_below": 100.0})
    full = full.model_copy(update={"tree": {**TEAMS.tree, "vision": vision}})
    assert read_back(full) == full


def test_rows_that_are_only_begun_are_left_out_and_wrong_ones_named() -> None:
    nodes = nodes_frame(TEAMS)
    begun = pd.concat([nodes, pd.DataFrame([{"kind": "queue", "weight": 1.0}])], ignore_index=True)
    assert read_back(TEAMS, nodes=begun) == TEAMS
    twice = pd.concat([nodes, nodes.iloc[:1]], ignore_index=True)
    with pytest.raises(InputError, match="queues row 4: there are two rows named 'vision'"):
        read_back(TEAMS, nodes=twice)
    lost = quotas_frame(TEAMS).assign(node=["vision", "sound"])
    with pytest.raises(InputError, match="quotas row 2: names 'sound', which is no queue"):
        read_back(TEAMS, quotas=lost)
    with pytest.raises(InputError, match="there is no queue"):
        read_back(TEAMS, nodes=nodes.iloc[:0], quotas=quotas_frame(TEAMS).iloc[:0])


def test_queues_are_made_of_groups_saved_and_removed(store: Store, open_page: OpenPage) -> None:
    plain = scenario_of_teams().replace(queues=None)
    info = store.save_scenario(plain)
    app = open_page(PAGE, scenario=info.scenario_hash)
    assert not app.exception
    assert "No quotas" in shown(app)
    app = app.button(key="queues-make").click().run()
    assert not app.exception
    assert "Not saved yet: 2 queues in 1 cohort" in shown(app)
    app = app.button(key="queues-save").click().run()
    assert not app.exception
    saved = session.load_scenario(app.session_state[session.SCENARIO])
    assert saved.queues is not None
    assert {name: queue.quota[0].nominal for name, queue in saved.queues.tree.items()} == {"vision": 12, "language": 4}
    assert [one.text for one in saved.assumptions if one.text.startswith("Queues: ")]
    assert "Saved: 2 queues in 1 cohort" in shown(app)
    app = app.button(key="queues-remove").click().run()
    assert not app.exception
    assert session.load_scenario(app.session_state[session.SCENARIO]).queues is None


def test_quotas_above_the_nodes_are_warned_of(store: Store, open_page: OpenPage) -> None:
    vision = TEAMS.tree["vision"].model_copy(update={"quota": (TEAMS.tree["vision"].quota[0].model_copy(
        update={"nominal": 30.0}),)})  # fmt: skip
    tree = TEAMS.model_copy(update={"tree": {**TEAMS.tree, "vision": vision}})
    info = store.save_scenario(scenario_of_teams().replace(queues=tree))
    app = open_page(PAGE, scenario=info.scenario_hash)
    assert not app.exception
    assert any("Quotas add up to 38 GPUs; the nodes have 16" in one.value for one in app.warning)


QUEUES = [queue("vision", gpus(nominal="16")), obj("LocalQueue", "team", {"clusterQueue": "vision"}, namespace="ns")]


def test_queues_are_read_from_a_file(store: Store, open_page: OpenPage) -> None:
    info = store.save_scenario(scenario_of_teams().replace(queues=None))
    app = open_page(PAGE, scenario=info.scenario_hash)
    tag = info.scenario_hash[: session.HASH_DIGITS]
    content = json.dumps(QUEUES).encode()
    app = app.file_uploader(key=f"queues-files-{tag}").upload("queues.json", content, "application/json").run()
    assert not app.exception
    assert "1 queue" in shown(app)
    app = app.button(key="queues-use").click().run()
    assert not app.exception
    assert "Not saved yet: 1 queue" in shown(app)
    assert "There is no ResourceFlavor" in shown(app)
    warned = [one.value.replace("\\", "") for one in app.warning]
    assert any("1 job names no queue by group: language" in one for one in warned)
    app = app.button(key="queues-discard").click().run()
    assert "No quotas" in shown(app)


def test_queues_beside_workloads_on_jobs(open_page: OpenPage, store: Store) -> None:
    app = open_page("scenario/jobs.py", source="Upload")
    app = app.file_uploader(key="upload").upload("jobs.json", listed(ran("a"), ran("b")).encode()).run()
    assert not app.exception
    (beside,) = [one for one in app.file_uploader if str(one.key).startswith("queues-beside-")]
    app = beside.upload("queues.json", json.dumps(QUEUES).encode(), "application/json").run()
    assert not app.exception
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    made = session.load_scenario(app.session_state[session.SCENARIO])
    assert made.queues is not None
    assert list(made.queues.tree) == ["vision"]
    assert made.cluster.num_gpus == 16
