"""The page Queues: what is missing and the way on, sentence, cards and parts of a run with quotas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.queue_tree import QueueTree
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies.design import changed
from dlsched.studies.inspect.queues import STUDY, QueuesSpec, queues_of_run
from dlsched.studies.inspect.queues.words import cards_of, sentence_of
from dlsched.studies.simulation import simulate
from dlsched.ui.plan import what_if_state
from tests.support.page_text import shown
from tests.support.quota_runs import queues_of_teams, scenario_of_teams

PAGE = "results/queues.py"
OpenPage = Callable[..., AppTest]


@pytest.fixture
def run_id(store: Store) -> str:
    """A stored run that says it is of queue-tree, with its answer by hand."""
    run = simulate(scenario_of_teams(), "fifo")
    record = replace(run.record(), policy="queue-tree", params={})
    saved = store.save_run(record)
    spec = QueuesSpec(scenario=run.scenario.content_hash, policy="queue-tree", params={}, seed=0)
    answer = queues_of_teams()
    store.save_experiment(
        ExperimentRecord("queues", spec.model_dump(mode="json"), answer.to_plain(), STUDY.version, "Queues")
    )
    return saved


def test_a_scenario_without_quotas_leads_to_cluster(open_page: OpenPage) -> None:
    app = open_page(PAGE)
    assert not app.exception
    assert "has no quotas" in shown(app)
    assert app.button(key="queues-none").label == "Go to Cluster"


def test_without_a_run_it_leads_to_run(store: Store, open_page: OpenPage) -> None:
    info = store.save_scenario(scenario_of_teams())
    app = open_page(PAGE, scenario=info.scenario_hash)
    assert not app.exception
    assert "No run with quotas yet" in shown(app)
    assert "2 queues" in shown(app)


def test_a_run_and_its_parts(run_id: str, open_page: OpenPage) -> None:
    app = open_page(PAGE, run=run_id)
    assert not app.exception
    answer = queues_of_teams()
    assert app.header[0].value.replace("\\", "") == sentence_of(answer)
    assert [(card.label, card.value) for card in app.metric] == [card[:2] for card in cards_of(answer)]
    assert "Up to the line a queue uses its own quota" in shown(app)
    for part, words in (
        ("Stopped jobs", "Most often stopped jobs"), ("Waits", "All numbers by queue"), ("Fairness", "Jain"),
        ("Policy switches", "Each opens"), ("Trust", "no job has a recorded start"),
    ):  # fmt: skip
        app = app.segmented_control(key="part").set_value(part).run()
        assert not app.exception
        assert words in shown(app)


def test_one_click_from_no_run_to_the_answer(store: Store, runner: Runner, open_page: OpenPage) -> None:
    info = store.save_scenario(scenario_of_teams())
    app = open_page(PAGE, scenario=info.scenario_hash)
    app = app.button(key="queues-empty").click().run()
    for _ in range(20):
        if app.metric:
            break
        app = app.run()
    assert not app.exception
    run = simulate(scenario_of_teams(), "queue-tree")
    answer = queues_of_run(run)
    assert app.header[0].value.replace("\\", "") == sentence_of(answer)
    assert [(card.label, card.value) for card in app.metric] == [card[:2] for card in cards_of(answer)]
    app = app.segmented_control(key="part").set_value("More quota").run()
    app = app.button(key="more-quota-ask").click().run()
    for _ in range(40):
        if app.dataframe:
            break
        app = app.run()
    assert not app.exception
    assert app.dataframe[0].value["Queue"].tolist() == ["language"] * 3
    assert "Open in What if" in [button.label for button in app.button]
    app = app.segmented_control(key="part").set_value("Policy switches").run()
    app = app.button(key="queues-switch-borrowing-off").click().run()
    assert not app.exception
    assert app.title[0].value == "What if"
    assert app.session_state["whatif-spec"].changed.changes == {"borrowing": "off"}


def test_how_much_a_queue_may_lend_opens_a_range(run_id: str, open_page: OpenPage) -> None:
    app = open_page(PAGE, run=run_id)
    app = app.segmented_control(key="part").set_value("Policy switches").run()
    app = app.button(key="queues-lend-range").click().run()
    tag = scenario_of_teams().content_hash[:8]
    queue = app.session_state[f"sweep-first-{tag}"]
    assert queue == "lend.vision"
    assert app.session_state[f"sweep-values-grid-{queue}-{tag}"] == "0, 2, 4, 8"
    assert app.session_state[f"sweep-policies-grid-{tag}"] == ["queue-tree"]


def test_two_cohorts_can_be_merged(store: Store, open_page: OpenPage) -> None:
    scenario = scenario_of_teams()
    assert scenario.queues is not None
    plain = scenario.queues.model_dump(exclude_unset=True)
    plain["cohorts"] = {}  # both are only named as parents
    plain["tree"]["language"]["parent"] = "products"
    apart = scenario.replace(queues=QueueTree.model_validate(plain))
    saved = store.save_run(replace(simulate(apart, "fifo").record(), policy="queue-tree", params={}))
    spec = QueuesSpec(scenario=apart.content_hash, policy="queue-tree", params={}, seed=0)
    plain_answer = queues_of_teams().model_copy(update={"scenario": apart.content_hash}).to_plain()
    store.save_experiment(
        ExperimentRecord("queues", spec.model_dump(mode="json"), plain_answer, STUDY.version, "Queues")
    )
    app = open_page(PAGE, run=saved)
    app = app.segmented_control(key="part").set_value("Policy switches").run()
    app = app.button(key="queues-merge").click().run()
    asked = app.session_state[what_if_state.SPEC].changed.changes
    assert asked == {"parent.research": "products"}
    merged = changed(apart, asked).queues
    assert merged is not None
    assert merged.cohorts["research"].parent == "products"
