"""``solve queues``: bad cases name what is wrong; the order of fields and unknown ones do not matter."""

import copy
import io
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.cli.main import main
from dlsched.domain.errors import InputError
from dlsched.policies.queue_tree import instance

QUOTAS = [{"flavor": "f", "quotas": [{"resource": "gpu", "nominal": 4}]}]
CASE: dict[str, Any] = {
    "kind": "cycle",
    "state": {
        "flavors": [{"name": "f", "labels": {"zone": "x"}}],
        "queues": [{"name": "q", "parent": "c", "groups": [{"resources": ["gpu"], "flavors": QUOTAS}]}],
        "running": [{"name": "r", "queue": "q", "podsets": [{"count": 3, "requests": {"gpu": 1}}],
                     "flavors": {"main": {"gpu": "f"}}, "usage": {"f/gpu": 3}}],
        "pending": [{"name": "w", "queue": "q", "podsets": [{"requests": {"gpu": 1}}]},
                    {"name": "v", "queue": "q", "podsets": [{"requests": {"gpu": 2}}], "priority": -1}],
    },
}  # fmt: skip


def answer(**changed):
    return instance.solve(instance.read({**CASE, **changed}))


def with_state(**changed):
    return {**CASE["state"], **changed}


def test_a_case_by_hand():
    found = answer(cycles=2, later="ignored")
    assert found["admitted"] == ["w"]
    assert found["parked"] == {"q": ["v"]}
    assert found["left"] == {}
    assert found["held"]["w"] == {
        "queue": "q",
        "podsets": {"main": {"count": 1, "flavors": {"gpu": "f"}, "usage": {"gpu": 1}}},
    }
    assert found["held"]["r"]["podsets"]["main"]["usage"] == {"gpu": 3}


def test_taints_selectors_and_affinity_decide_about_flavors():
    def mode(flavor=None, **podset):
        state = with_state(flavors=[{"name": "f", "labels": {"zone": "x", "size": "3"}, **(flavor or {})}])
        podsets = [{"requests": {"gpu": 1}, **podset}]
        return answer(kind="flavors", state=state, queue="q", podsets=podsets)["mode"]

    taint = {"taints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]}
    assert mode() == "fit"
    assert mode(taint) == "no-fit"
    assert mode(taint, tolerations=[{"key": "spot", "operator": "Exists"}]) == "fit"
    assert mode(taint, tolerations=[{"key": "spot", "value": "no"}]) == "no-fit"
    assert mode(taint, tolerations=[{"operator": "Exists", "effect": "NoExecute"}]) == "no-fit"
    assert mode({**taint, "tolerations": [{"key": "spot", "value": "yes"}]}) == "fit"
    assert mode(taint, tolerations=[{"value": "yes"}]) == "fit"
    assert mode({"taints": [{"key": "spot", "effect": "PreferNoSchedule"}]}) == "fit"
    assert mode(selector={"zone": "x", "other": "ignored"}) == "fit"
    assert mode(selector={"zone": "y"}) == "no-fit"
    for operator, values, expected in (
        ("In", ["y"], "no-fit"), ("NotIn", ["y"], "fit"), ("Exists", [], "fit"), ("DoesNotExist", [], "no-fit"),
    ):  # fmt: skip
        assert mode(affinity=[[{"key": "zone", "operator": operator, "values": values}]]) == expected
    assert mode(affinity=[[{"key": "size", "operator": "Gt", "values": ["2"]}]]) == "fit"
    assert mode(affinity=[[{"key": "size", "operator": "Lt", "values": ["2"]}]]) == "no-fit"
    assert mode(affinity=[[{"key": "zone", "operator": "Gt", "values": ["2"]}]]) == "no-fit"
    assert mode(affinity=[[{"key": "zone", "values": ["y"]}], [{"key": "unknown", "values": ["z"]}]]) == "fit"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "sudoku"}, "kind: must be one of .*queues|kind: must be one of"),
        ({"kind": None}, "kind: must be one of"),
        ({"cycles": 0}, "cycles"),
        ({"state": with_state(queues=[{"name": "q"}, {"name": "q"}])}, "node 'q': is given twice"),
        ({"state": with_state(cohorts=[{"name": "q"}])}, "node 'q': is given twice"),
        ({"state": with_state(queues=[{"name": "q"}, {"name": "p", "parent": "q"}])}, "has the queue 'q' as"),
        ({"state": with_state(cohorts=[{"name": "c", "parent": "d"}, {"name": "d", "parent": "c"}])}, "circle: c -> d"),
        ({"state": with_state(running=[{"name": "r", "queue": "nowhere"}])}, "running job 'r': names the queue 'nowhe"),
        ({"state": with_state(running=[{"name": "r", "queue": "q", "usage": {"gpu": 1}}])}, "must be named flavor/res"),
        ({"state": with_state(running=[{"name": "r", "queue": "q", "usage": {"f/gpu": -1}}])}, "than or equal to 0"),
        ({"state": with_state(running=[{"name": "r", "queue": "q"}, {"name": "r", "queue": "q"}])}, "two jobs of one"),
        ({"state": with_state(pending=[{"name": "r", "queue": "q"}] * 2, running=[])}, "job 'r': is given twice"),
        ({"kind": "usage", "remove": ["x"]}, "job 'x': is to be removed or added"),
        ({"kind": "head", "queue": "c"}, "names the queue 'c'"),
        ({"kind": "divide", "total": 1, "claims": [{"name": "a"}, {"name": "a"}]}, "name a queue twice"),
        ({"kind": "divide", "total": float("nan"), "claims": []}, "total"),
    ],
)  # fmt: skip
def test_bad_cases_name_what_is_wrong(changed, message):
    with pytest.raises(InputError, match=message):
        answer(**changed)


def test_the_command_answers_all_and_marks_bad_ones(capsys, monkeypatch):
    class Input:
        buffer = io.BytesIO(json.dumps([CASE, {"kind": "cycle", "state": 3}, 5]).encode())

    monkeypatch.setattr("sys.stdin", Input())
    assert main(["solve", "queues"]) == 2
    first, second, third = json.loads(capsys.readouterr().out)
    assert first["admitted"] == ["w"]
    assert "state" in second["error"]
    assert "JSON object" in third["error"]


PARTS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-5, 10**31) | st.floats() | st.text(max_size=3) | st.just([]) | st.just({})
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_nothing_but_input_error_comes_out(data):
    case: Any = copy.deepcopy(CASE) | {"kind": data.draw(st.sampled_from(sorted(instance.KINDS))), "queue": "q"}
    case |= {
        "podsets": [{"requests": {"gpu": 1}}],
        "used": {"q": {"f/gpu": 1}},
        "entries": [{"name": "a"}],
        "claims": [],
    }
    case |= {"candidates": case["state"]["running"], "asked": {}, "incoming": case["state"]["pending"][0], "total": 3}
    for _ in range(data.draw(st.integers(0, 3))):
        place: Any = case
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], (dict, list)) and data.draw(st.booleans()):
                place = place[key]
                continue
            place[key] = data.draw(PARTS)
            break
    try:
        instance.solve(instance.read(case))
    except InputError:
        return


@pytest.mark.parametrize("fair", [False, True])
def test_a_chain_of_cohorts_as_long_as_allowed(fair):
    names = [f"c{n}" for n in range(1_500)]
    cohorts = [{"name": a, "parent": b} for a, b in pairwise(names)]
    quotas = [{"resources": ["gpu"], "flavors": QUOTAS}]
    queues = [
        {"name": "q", "parent": names[0], "groups": quotas, "preemption": {"reclaim": "any"}},
        {"name": "o", "parent": names[-1], "groups": quotas},
    ]
    state = with_state(queues=queues, cohorts=cohorts, running=[
        {"name": "r", "queue": "o", "podsets": [{"requests": {"gpu": 8}}], "usage": {"f/gpu": 8}}
    ])  # fmt: skip
    assert answer(state=state, options={"fair_sharing": fair})["preempted"] == [["r", "reclaim"]]
