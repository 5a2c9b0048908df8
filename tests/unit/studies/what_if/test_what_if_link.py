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
from dlsched.studies.design import Futures, Variant, usual_futures
from dlsched.studies.what_if import WhatIfSpec, moved, read_link, unchanged, written_link
from dlsched.wording.settings import setting_words

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


@given(before=CASES, after=CASES, changes=CHANGES, vary=VARY, count=st.integers(0, 1000))
def test_a_link_reopens_exactly_this_question(
    before: tuple[str, dict[str, Any]], after: tuple[str, dict[str, Any]], changes: Any, vary: Any, count: int
) -> None:
    spec = WhatIfSpec(
        scenario=SCENARIO.content_hash,
        baseline=Variant(policy=before[0], params=before[1]),
        changed=Variant(policy=after[0], params=after[1]),
        futures=Futures.first(count, vary),
    ).with_changes(SCENARIO, changes)
    address = urlencode(written_link(spec), doseq=True)
    assert read_link(parse_qs(address), SCENARIO, "edf", spec.futures) == spec


def test_the_words_of_a_link_by_hand() -> None:
    spec = read_link(
        {"set": ["nodes.a100:10", "arrivals:1.2", "prices:1"], "to": ["las"], "param": ["quantum_s:120"]},
        SCENARIO,
        "fifo",
    )
    assert spec.baseline == Variant(policy="fifo")
    assert spec.changed == Variant(policy="las", changes={"nodes.a100": 10}, params={"quantum_s": 120})
    assert spec.condition == {"arrivals": 1.2}
    assert written_link(spec) == {
        "policy": ["fifo"], "to": ["las"], "param": ["quantum_s:120"], "set": ["arrivals:1.2", "nodes.a100:10"],
    }  # fmt: skip


def test_a_link_in_slurms_notation_is_read_as_the_parameters_of_the_policy() -> None:
    link = {"policy": ["slurm"], "with": ["bf_window:1440"], "param": ["bf_window_s:3600", 'PriorityMaxAge:"7-0"']}
    spec = read_link(link, SCENARIO, "fifo")
    assert spec.baseline.params == {"bf_window_s": 86_400}
    assert spec.changed.params == {"bf_window_s": 3600, "PriorityMaxAge_s": 604_800}
    words = [setting_words(one.key, one.label, one.unit, one.after) for one in moved(spec, SCENARIO)]
    assert words == ["Slurm, PriorityMaxAge 7 d", "Slurm, bf_window 1 h"]


def test_a_link_that_says_nothing_is_the_unchanged_question() -> None:
    assert read_link({}, SCENARIO, "fifo") == unchanged(SCENARIO, "fifo")
    assert read_link({}, SCENARIO, "fifo").futures == usual_futures(SCENARIO)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"set": ["nodes.h100:3"]}, r"link, set=nodes\.h100:3: is not a change of this scenario"),
        ({"set": ["arrivals"]}, r"link, set=arrivals: is not a change"),
        ({"set": ["arrivals:fast"]}, r"change arrivals: must be a number, got 'fast'"),
        ({"policy": ["nope"]}, "nope"),
        ({"to": ["nope"]}, "nope"),
        ({"set": ["nodes.a100:nan"]}, r"change nodes\.a100: must be a whole number, got 'nan'"),
        ({"set": ["nodes.a100:1e400"]}, r"change nodes\.a100: must be a whole number"),
        ({"param": ["quantum_s:" + "[" * 100_000]}, r"link, param=quantum_s:\[+: is not a parameter"),
        ({"param": ["quantum_s"]}, r"link, param=quantum_s: is not a parameter of a policy"),
        ({"with": ["quantum_s:{"]}, r"link, with=quantum_s:\{: is not a parameter"),
    ],
    ids=lambda value: "&".join(f"{k}={v[0]:.30}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_a_bad_link_names_its_part(link: dict[str, list[str]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_link(link, SCENARIO, "fifo")
