"""Which partitions queue together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.shared.queues import queue_of_jobs, queues


def test_partitions_that_share_nodes_share_a_queue():
    """a and b share a node, b and c another: one queue; d is apart, and so is what is open to all."""
    assert queues(["a|b", "b|c", "d", "", "c"]) == {"a|b": "a|b|c", "b|c": "a|b|c", "c": "a|b|c", "d": "d", "": ""}


def test_a_job_of_two_partitions_joins_them():
    assert queues(["a", "b", "b|a"]) == dict.fromkeys(["a", "b", "b|a"], "a|b")


def test_queues_of_jobs_go_by_what_the_nodes_have():
    nodes = np.array(["a|b", "c", ""], dtype=object)
    jobs = np.array(["a", "b|gone", "c", "gone", ""], dtype=object)
    assert queue_of_jobs(jobs, nodes).tolist() == ["a|b", "a|b", "c", "", ""]


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=2).map("|".join), max_size=8))
def test_entries_share_a_queue_exactly_when_a_chain_of_shared_names_joins_them(entries: list[str]):
    found = queues(entries)
    names = {entry: set(entry.split("|")) - {""} for entry in entries}
    for entry in names:
        reached, more = set(names[entry]), True
        while more:
            grown = reached.union(*(own for own in names.values() if own & reached))
            more, reached = grown != reached, grown
        assert found[entry] == "|".join(sorted(reached))
