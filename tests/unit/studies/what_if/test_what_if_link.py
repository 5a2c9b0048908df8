"""A link reopens exactly the question it was made of; a bad one names its part."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.studies.design import Futures, Variant
from dlsched.studies.what_if import WhatIfSpec, default_draws, read_link, unchanged, written_link

A100, ODD = VmType(name="a100", gpus=8, usd_per_h=20.0), VmType(name="a100:80+x=1&y", gpus=8, usd_per_h=30.0)
JOBS = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [9.0], "due_s": [20.0]})
SCENARIO = Scenario(JOBS, Cluster(pools=(Pool(vm=A100, count=3), Pool(vm=ODD, count=2))), name="odd names")

FACTORS = st.floats(0.01, 100).filter(lambda value: value != 1)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "nodes.a100": st.integers(0, 99_999).filter(lambda value: value != 3),
        f"nodes.{ODD.name}": st.integers(0, 99_999).filter(lambda value: value != 2),
        "arrivals": FACTORS,
        "durations": FACTORS,
        "due_slack": FACTORS,
        "restart_s": st.floats(0.001, 86_400),
        "failure_at": st.sampled_from(["0@1for2", "0@1.5for2+4@3for0.25"]),
    },
)
VARY = st.fixed_dictionaries(
    {}, optional={"days": st.just(1), "run_time_spread": st.floats(0.01, 5), "failures": st.floats(0.1, 1e6)}
)
LAS = st.fixed_dictionaries({}, optional={"quantum_s": st.floats(1, 1e6)})
CASES: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.sampled_from(["fifo", "sjf"]).map(
    lambda policy: (policy, {})
) | LAS.map(lambda params: ("las", params))


@given(before=CASES, after=CASES, changes=CHANGES, vary=VARY, draws=st.integers(1, 1000))
def test_a_link_reopens_exactly_this_question(
    before: tuple[str, dict[str, Any]], after: tuple[str, dict[str, Any]], changes: Any, vary: Any, draws: int
) -> None:
    spec = WhatIfSpec(
        scenario=SCENARIO.content_hash,
        baseline=Variant(policy=before[0], params=before[1]),
        changed=Variant(policy=after[0], params=after[1], changes=changes),
        draws=Futures(seeds=tuple(range(draws)), vary=vary),
    )
    address = urlencode(written_link(spec), doseq=True)
    assert read_link(parse_qs(address), SCENARIO, "edf") == spec


def test_the_words_of_a_link_by_hand() -> None:
    spec = read_link(
        {"set": ["nodes.a100:10", "arrivals:1.2", "prices:1"], "to": ["las"], "param": ["quantum_s:120"],
         "draws": ["5"], "vary": ["run_time_spread:0.3"]}, SCENARIO, "fifo",
    )  # fmt: skip
    assert spec.baseline == Variant(policy="fifo")
    assert spec.changed == Variant(policy="las", changes={"nodes.a100": 10, "arrivals": 1.2}, params={"quantum_s": 120})
    assert spec.draws == Futures(seeds=(0, 1, 2, 3, 4), vary={"run_time_spread": 0.3})
    assert written_link(spec) == {
        "policy": ["fifo"], "to": ["las"], "param": ["quantum_s:120"], "set": ["nodes.a100:10", "arrivals:1.2"],
        "draws": ["5"], "vary": ["run_time_spread:0.3"],
    }  # fmt: skip


def test_a_link_that_says_nothing_is_the_unchanged_question() -> None:
    assert read_link({}, SCENARIO, "fifo") == unchanged(SCENARIO, "fifo")
    assert read_link({"vary": ["days:1"]}, SCENARIO, "fifo").draws == Futures(vary={"days": 1})
    assert read_link({}, SCENARIO, "fifo").draws == default_draws(SCENARIO, "fifo")


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"set": ["nodes.h100:3"]}, r"link, set=nodes\.h100:3: is no change of this scenario"),
        ({"set": ["arrivals"]}, r"link, set=arrivals: is no change"),
        ({"set": ["arrivals:fast"]}, r"change arrivals: must be a number, got 'fast'"),
        ({"vary": ["days:7"]}, r"change days: must be at least 1 and at most 1, got 7"),
        ({"draws": ["0"]}, r"link, draws=0: must be a number from 1 to 1,000"),
        ({"draws": ["ten"]}, r"link, draws=ten: must be"),
        ({"policy": ["nope"]}, "nope"),
        ({"to": ["nope"], "draws": ["3"]}, "nope"),
        ({"draws": ["9" * 5000]}, r"link, draws=9{80}: must be"),
        ({"set": ["nodes.a100:nan"]}, r"change nodes\.a100: must be a whole number, got 'nan'"),
        ({"set": ["nodes.a100:1e400"]}, r"change nodes\.a100: must be a whole number"),
        ({"param": ["quantum_s:" + "[" * 100_000]}, r"link, param=quantum_s:\[+: is no parameter"),
        ({"param": ["quantum_s"]}, r"link, param=quantum_s: is no parameter of a policy"),
        ({"with": ["quantum_s:{"]}, r"link, with=quantum_s:\{: is no parameter"),
    ],
    ids=lambda value: "&".join(f"{k}={v[0]:.30}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_a_bad_link_names_its_part(link: dict[str, list[str]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_link(link, SCENARIO, "fifo")
