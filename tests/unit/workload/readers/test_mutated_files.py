"""A short run of the campaign ``python -m benchmarks.mutated``: files of every kind are read or told in one message."""

import sys

import pytest

from benchmarks import mutated


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory by what Linux tells of the process")
def test_mutated_files_of_every_kind_are_read_or_told():
    assert list(mutated.problems(range(400), seed=2026)) == []


def test_the_campaign_sees_what_no_reader_expected():
    def broken(content: bytes, name: str) -> object:
        raise KeyError(name)

    assert mutated.problem_of(mutated.Source("x", b"x", broken), b"x").startswith("KeyError")
