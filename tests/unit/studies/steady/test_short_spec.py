"""From the plain values of a form to an experiment and back; the bundled answer is today's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.studies.steady import SteadyPolicy, SteadySpec
from dlsched.studies.steady.bundled import bundled_answer
from dlsched.studies.steady.point import PointTask, solve_point
from dlsched.studies.steady.short_spec import (
    DEFAULT_POLICIES,
    LABELS,
    OWN,
    SHOWN,
    ShortSpec,
    loads_of,
    policies_of,
    short_of,
    spec_of,
)
from dlsched.workload.studies.hell_knee import LARGE, TABLE_III, StreamSpec
from tools.rounding import rounded

OWN_STREAM = StreamSpec(networks=TABLE_III[:1], network_model="exact", servers=2)


def test_the_defaults_ask_what_the_study_asks() -> None:
    spec = spec_of(ShortSpec())
    assert spec.loads == (0.1, 0.3, 0.5, 0.7, 0.9)
    assert [policy.key for policy in spec.policies] == list(DEFAULT_POLICIES)
    assert (spec.stream.nodes, spec.stream.networks) == (100, TABLE_III)
    assert all(not policy.params and not policy.label for policy in spec.policies)


def test_gammas_make_variants_of_the_policies_that_take_one() -> None:
    found = policies_of(ShortSpec(policies=("hell-malleable", "jsq-chunk", "waterfill"), gammas="0, 1.05", chunk=4))
    assert found == [
        SteadyPolicy(key="hell-malleable", params={"gamma": 0.0}, label="HELL, malleable, gamma 0"),
        SteadyPolicy(key="hell-malleable", params={"gamma": 1.05}, label="HELL, malleable, gamma 1.05"),
        SteadyPolicy(key="jsq-chunk", params={"chunk": 4}),
        SteadyPolicy(key="waterfill"),
    ]


def test_a_network_of_ones_own_brings_its_links_and_servers() -> None:
    spec = spec_of(ShortSpec(networks=OWN, nodes=20, links="fcfs"), own=OWN_STREAM)
    assert (spec.stream.networks, spec.stream.network_model, spec.stream.servers) == (TABLE_III[:1], "exact", 2)
    assert spec.stream.nodes == 20


BAD = {
    "load must be": ShortSpec(last_load=1.1),
    "holds no load": ShortSpec(first_load=0.5, last_load=0.4),
    "at most 20": ShortSpec(step=0.01),
    "none is chosen": ShortSpec(policies=()),
    "'0, x'": ShortSpec(gammas="0, x"),
    "from 0 to 10": ShortSpec(gammas="11"),
    "holds no load ": ShortSpec(step=0.0),
}


@pytest.mark.parametrize("said", BAD)
def test_what_cannot_be_computed_is_refused_with_the_reason(said: str) -> None:
    with pytest.raises(InputError) as caught:
        spec_of(BAD[said])
    assert said.strip() in str(caught.value)


def test_load_one_is_refused_because_the_queue_would_grow() -> None:
    with pytest.raises(InputError, match="queue grows without end"):
        spec_of(ShortSpec(first_load=1.0, last_load=1.0))


asked_forms = st.builds(
    ShortSpec,
    networks=st.sampled_from(["table-iii", "large"]),
    nodes=st.integers(1, 200),
    first_load=st.sampled_from([0.05, 0.1, 0.35]),
    last_load=st.sampled_from([0.35, 0.55, 0.95]),
    step=st.sampled_from([0.05, 0.1, 0.2]),
    policies=st.lists(st.sampled_from(sorted(LABELS)), min_size=1, max_size=4, unique=True).map(tuple),
    gammas=st.sampled_from(["0", "1", "0, 1"]),
    chunk=st.sampled_from([0, 7]),
    target=st.sampled_from([0.02, 0.05]),
    cap=st.sampled_from([4_000, 64_000]),
    links=st.sampled_from(["hybrid", "exact"]),
    servers=st.integers(1, 3),
    shared_server=st.booleans(),
    seed=st.integers(0, 9),
)


@given(asked_forms)
def test_an_experiment_fills_the_form_that_asks_it(asked: ShortSpec) -> None:
    spec = spec_of(asked)
    assert spec_of(short_of(spec)) == spec


def test_jobs_of_no_preset_stay_what_is_shown() -> None:
    spec = SteadySpec(stream=OWN_STREAM)
    asked = short_of(spec)
    assert asked.networks == SHOWN
    assert spec_of(asked, shown=spec.stream).stream == spec.stream
    assert short_of(SteadySpec(stream=StreamSpec(networks=LARGE))).networks == "large"


def test_loads_are_free_of_rounding() -> None:
    assert loads_of(ShortSpec(first_load=0.1, last_load=0.95, step=0.05))[-1] == 0.95
    assert len(loads_of(ShortSpec(first_load=0.3, last_load=0.3))) == 1


def test_rounding_keeps_texts_whole_numbers_and_five_figures() -> None:
    plain = {"a": [1.23456789, 4000, "x", None, True], "b": {"c": 0.000123456}}
    assert rounded(plain) == {"a": [1.2346, 4000, "x", None, True], "b": {"c": 0.00012346}}


def test_the_bundled_answer_is_that_of_the_form_as_it_opens() -> None:
    found = bundled_answer()
    assert found.spec == spec_of(ShortSpec()), "run: python -m tools.steady_result"
    assert len(found.points) == 20
    assert not any(point.audit for point in found.points)


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.1, 0.5])
def test_the_bundled_answer_is_up_to_date(load: float) -> None:
    found = bundled_answer()
    for policy in found.spec.policies[:3]:  # the pilot of JSQ-Chunk takes longest
        stored = next(point for point in found.points if point.label == policy.name and point.load == load)
        if stored.jobs_simulated <= 8_000:
            fresh = solve_point(PointTask(found.spec, policy, load)).point.model_copy(update={"cpu_s": 0.0})
            again = json.loads(json.dumps(rounded(fresh.model_dump(mode="json"))))
            assert again == stored.model_dump(mode="json"), "run: python -m tools.steady_result"
