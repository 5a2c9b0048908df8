"""The mix that a search for a commitment found, as an option of a memo: the same runs, or no option."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.scenario import Scenario
from dlsched.studies.commitment import CommitmentSpec, run_commitment
from dlsched.studies.commitment.answer import Commitment, rents_nothing
from dlsched.studies.commitment.offer import mix_of
from dlsched.studies.design import changed
from dlsched.studies.simulation import simulate
from dlsched.ui.plan.size_state import what_if_of_mix
from tests.support.commitments import STEPS, asked, whole_node_jobs


def owned_and_rented(*rows: tuple[float, float]) -> Scenario:
    """Return a scenario with 3 owned nodes and up to 12 to rent at $4/h."""
    plain = whole_node_jobs(*rows)
    mix = mix_of(asked(plain, rent_most=12), plain)
    return changed(mix.scenario, {mix.key: 3})


def found_of(scenario: Scenario, **given: Any) -> tuple[CommitmentSpec, Commitment]:
    spec = asked(scenario, rent_usd_per_h=None, **given)
    return spec, run_commitment(spec, scenario)


def test_the_option_has_the_numbers_of_the_answer() -> None:
    scenario = owned_and_rented()
    spec, found = found_of(scenario)
    option = what_if_of_mix(spec, found, scenario)
    assert option is not None
    assert option.changed.changes == {"nodes.node": 2}
    assert found.best == 2
    run = simulate(changed(scenario, option.changed.changes), "fifo", seed=0)
    answered = found.at(2).draws[0].values
    assert {name: run.metrics[name] for name in answered} == dict(answered)


def test_the_wait_that_was_found_goes_with_it() -> None:
    """The job of 4.5 h waits half an hour for a node instead of renting one; that of 0 h rents after an hour."""
    scenario = owned_and_rented(*STEPS[:3], (4.5, 1.0), STEPS[3])
    spec, found = found_of(scenario, or_after_s=(3600.0,), targets=[{"metric": "wait_mean", "limit": 1800.0}])
    option = what_if_of_mix(spec, found, scenario)
    assert option is not None
    assert option.changed.changes == {"nodes.node": 2, "burst_wait": 3600.0}
    run = simulate(changed(scenario, option.changed.changes), "fifo", seed=0)
    assert run.metrics["wait_mean"] == found.at(2).draws[0].values["wait_mean"] == (3600 + 1800) / 5


def test_renting_nothing_is_an_option_too() -> None:
    four = changed(owned_and_rented(), {"nodes.node": 4})
    own, rented = four.cluster.pools
    dearer = rented.model_copy(update={"vm": rented.vm.model_copy(update={"usd_per_h": 400.0})})
    dear = four.replace(cluster=four.cluster.model_copy(update={"pools": (own, dearer)}))
    spec, found = found_of(dear)
    assert rents_nothing(found)
    option = what_if_of_mix(spec, found, dear)
    assert option is not None
    assert option.changed.changes == {"nodes.node": 3, f"nodes.{rented.vm.name}": 0}


@pytest.mark.parametrize("given", [{"base_usd_per_h": 0.5}, {"rent_terms": "spot"}, {"boot_s": 60.0}])
def test_what_changes_cannot_say_is_no_option(given: dict[str, Any]) -> None:
    scenario = owned_and_rented()
    spec, found = found_of(scenario, **given)
    assert what_if_of_mix(spec, found, scenario) is None


def test_nodes_that_the_scenario_does_not_rent_are_no_option() -> None:
    scenario = whole_node_jobs()
    spec = asked(scenario, rent_after_s=60.0)
    assert what_if_of_mix(spec, run_commitment(spec, scenario), scenario) is None


def test_the_mix_of_today_is_no_option() -> None:
    scenario = changed(owned_and_rented(), {"nodes.node": 2})
    spec, found = found_of(scenario)
    assert found.best == 2
    assert what_if_of_mix(spec, found, scenario) is None
