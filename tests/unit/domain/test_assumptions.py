"""Assumptions know what they are about; texts of older scenarios are read as what they were."""

from __future__ import annotations

import json
from datetime import date

import pytest

from dlsched.domain.assumptions import Assumption, stated, with_other_jobs
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.store.columns import definition_of, scenario_of
from dlsched.workload.defaults import describe_default
from dlsched.workload.scenario_file import from_document, to_document
from dlsched.workload.sidecar import table_bytes
from tests.support.runs_for_store import small_scenario

DEFAULT = describe_default(Cluster(pools=(Pool(vm=VmType(name="8-GPU node"), count=3),)))
PRICE = Assumption(kind="example-price", text="$2.50 per GPU-hour (example price, not a quote)")
LIST = Assumption(kind="list-prices", text="list prices 2026-03-01 (list)", since=date(2026, 3, 1))
TYPED = (
    DEFAULT,
    *with_other_jobs((DEFAULT,)),
    PRICE,
    LIST,
    Assumption(kind="speed-curve", text="AlexNet, one server"),
    Assumption(kind="predicted-times", text="times predicted from generated rows, ± 9%"),
    Assumption(kind="bandwidth", text="bandwidth between machines: 1 to 2 MB per slot"),
    Assumption(kind="varied", text="arrivals +20%"),
    Assumption(kind="due-dates", text="due = submit + 1–3 x fastest time"),
    Assumption(kind="due-dates", text="due dates: submission + 1 to 3 times the fastest run time"),
    Assumption(kind="lateness-costs", text="cost of lateness: $1.00 per GPU for each hour late (example)"),
    Assumption(kind="lateness-costs", text="an hour late costs $1.00 per GPU (example)"),
    Assumption(kind="priorities", text="priority: fewer GPUs first"),
    Assumption(kind="users", text="users: 8 made-up users, drawn at random"),
    Assumption(text="one GPU a worker"),
)


def test_the_default_cluster_names_its_rule() -> None:
    assert DEFAULT.words == (
        "Default cluster: 3 x 8-GPU node, the smallest number of 8-GPU nodes that fits the largest job at load 0.7"
    )
    assert DEFAULT.is_about_default_cluster
    assert not PRICE.is_about_default_cluster
    assert PRICE.is_about_prices


def test_a_cluster_kept_for_other_jobs_keeps_its_notes_but_not_the_claim_about_the_jobs() -> None:
    kept = with_other_jobs((*stated("read as: team"), DEFAULT, PRICE))
    assert [one.kind for one in kept] == ["earlier-cluster", "example-price"]
    assert kept[0].words.startswith("Default cluster of earlier jobs: 3 x 8-GPU node")
    assert with_other_jobs(kept) == kept


@pytest.mark.parametrize("one", TYPED, ids=lambda one: one.kind)
def test_the_words_of_older_scenarios_are_read_as_what_they_were(one: Assumption) -> None:
    assert Assumption.model_validate(one.words) == one


def test_a_rule_that_sounds_like_another_kind_stays_a_rule() -> None:
    odd = Assumption(text="Default cluster: of a friend")
    assert isinstance(odd.plain(), dict)
    assert Assumption.model_validate(odd.plain()) == odd
    assert Assumption(text="one GPU a worker").plain() == "one GPU a worker"


def test_a_day_that_is_none_is_left_out() -> None:
    assert Assumption.model_validate("list prices 2026-13-99").since is None


def older(scenario: Scenario) -> Scenario:
    return scenario.replace(assumptions=TYPED)


def test_scenario_files_and_stored_scenarios_of_older_versions_load() -> None:
    scenario, texts = older(small_scenario()), [one.words for one in TYPED]
    assert scenario.content_hash == small_scenario().content_hash
    assert from_document(to_document(scenario)).assumptions == TYPED
    assert from_document(to_document(scenario) | {"assumptions": texts}).assumptions == TYPED
    definition, jobs = json.loads(definition_of(scenario)), table_bytes(scenario.workload)
    assert scenario_of(jobs, definition, "name", "trace").assumptions == TYPED
    assert scenario_of(jobs, definition | {"assumptions": texts}, "name", "trace").assumptions == TYPED
