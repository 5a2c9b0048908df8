"""Facts of the test tables of Kueue and KAI, and a few worked out by hand. The folder is not part of the project."""

import json
from pathlib import Path

import pytest

from dlsched.policies.queue_tree import instance

VECTORS = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "queues"


def cases():
    files = sorted(VECTORS.glob("*.json"))
    found = [
        pytest.param(case, id=f"{file.stem}-{number}")
        for file in files
        for number, case in enumerate(json.loads(file.read_bytes()))
    ]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="the folder of vectors is not here"))]


@pytest.mark.parametrize("case", cases())
def test_vector(case):
    answer = instance.solve(instance.read({key: part for key, part in case.items() if key not in ("expect", "source")}))
    agrees(case["expect"], answer, case["kind"])


def agrees(expected, answer, where):
    """Check what a case expects, which may be a part of what is answered."""
    if isinstance(expected, dict):
        if where.endswith(("left", "parked", "held")):
            assert sorted(answer) == sorted(expected), where
        for key, part in expected.items():
            agrees(part, answer[key], f"{where}.{key}")
    elif where.endswith("shares") and isinstance(expected, list):
        by_node = {each["node"]: each for each in answer}
        assert {each["node"]: each for each in expected} == by_node
    elif isinstance(expected, list):
        assert len(answer) == len(expected), where
        for place, part in enumerate(expected):
            agrees(part, answer[place], f"{where}.{place}")
    elif isinstance(expected, float):
        assert answer == pytest.approx(expected, rel=1e-12), where
    else:
        assert answer == expected, where
