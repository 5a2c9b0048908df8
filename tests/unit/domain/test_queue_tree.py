"""The model of a queue tree: circles, long chains."""

import time

import pytest
from pydantic import ValidationError

from dlsched.domain.queue_tree import Cohort, Queue, QueueTree


def test_cohorts_in_a_circle_are_refused():
    cohorts = {"x": Cohort(parent="a"), "a": Cohort(parent="b"), "b": Cohort(parent="a")}
    with pytest.raises(ValidationError, match="x -> a -> b -> a form a circle"):
        QueueTree(tree={"q": Queue()}, cohorts=cohorts)


def test_a_long_chain_of_cohorts_is_checked_at_once():
    cohorts = {f"c{i}": Cohort(parent=f"c{i + 1}") for i in range(20_000)}
    begun_s = time.process_time()
    QueueTree(tree={"q": Queue()}, cohorts=cohorts)
    assert time.process_time() - begun_s < 2
