"""Constraints of jobs as features of nodes: what is read, and what is counted as not followed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.workload import feature_choices
from dlsched.workload.readers.slurm.constraints import LONGEST, features_text
from tests.support.traces import read

SACCT = """\
JobID|Submit|Start|End|ElapsedRaw|NCPUS|NodeList|Constraints
1|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T10:02:00|60|4|n1|ib&bigmem
2|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T10:02:00|60|4|n1|[rack1*2&rack2*2]
3|2024-05-01T10:00:00|2024-05-01T10:01:00|2024-05-01T10:02:00|60|4|n1|
"""


@pytest.mark.parametrize(
    ("constraint", "features"),
    [
        ("", ""),
        ("(null)", ""),
        ("NA", ""),
        ("CPU-N", "CPU-N"),
        ("b&a", "a&b"),
        ("(a & b)", "a&b"),
        ("a,b&a", "a&b"),
        ("v100|a100", "a100|v100"),
        ("[a|b]", None),
        ("a*2", None),
        ("a&b|c", None),
        ("(a|b)&c", None),
        ("!a", None),
        ("x" * (LONGEST + 1), None),
    ],
)
def test_by_hand(constraint: str, features: str | None) -> None:
    assert features_text(constraint) == features


@given(st.text(alphabet="ab&|,()[]*! ", max_size=30))
def test_what_is_read_is_read_again_as_the_same(constraint: str) -> None:
    features = features_text(constraint)
    if features:
        assert features_text(features) == features
        assert feature_choices(features)


def test_of_sacct() -> None:
    trace = read(SACCT)
    assert trace.workload.features is not None
    assert trace.workload.features.tolist() == ["bigmem&ib", "", ""]
    counted = {finding.reason: finding.count for finding in trace.report.of_kind("not modelled")}
    assert counted["job with a constraint beyond A&B or A|B"] == 1
