"""Which queue lends what, by hand and in random runs: all that is borrowed is lent by somebody."""

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.queue_lookup import QuotaClock
from dlsched.domain.queue_tree import Cohort, Queue, QueueTree, Quota, QuotaChange
from dlsched.studies.inspect.queues import queues_of_run
from dlsched.studies.inspect.queues.states import NO_LENDER, states_of, waiting_of
from dlsched.studies.simulation import simulate
from dlsched.workload.catalogue import data_path
from dlsched.workload.scenario_file import read_scenario

COMPANY = QueueTree(
    cohorts={"company": Cohort(quota=(Quota(nominal=4),)), "research": Cohort(parent="company")},
    tree={
        "a": Queue(parent="research", quota=(Quota(nominal=8),)),
        "b": Queue(parent="research", quota=(Quota(nominal=6, lend=2),)),
        "c": Queue(parent="research", quota=(Quota(nominal=4),)),
        "d": Queue(parent="company", quota=(Quota(nominal=10),)),
    },
)


def holds(*rows):
    names = ["row", "queue", "from_s", "to_s", "amount"]
    return pd.DataFrame(rows, columns=names).assign(flavor="all", resource="gpus")


def lent_at(tree, at_s, *rows):
    states = states_of(tree, QuotaClock(tree), holds(*rows), 0.0, 100.0)
    place = np.searchsorted(states.at_s, at_s, side="right") - 1
    return {name: float(of.lent[place]) for (name, _, _), of in states.of.items() if of.lent[place]}


def test_members_lend_in_proportion_before_the_cohort_above():
    # a borrows 3; in research b spares min(6, lend 2) and c spares 4: 1 and 2
    assert lent_at(COMPANY, 10.0, (0, "a", 0.0, 50.0, 11.0)) == {"b": 1, "c": 2}
    assert lent_at(COMPANY, 60.0, (0, "a", 0.0, 50.0, 11.0)) == {}


def test_what_is_left_comes_from_the_cohort_above_its_own_quota_first():
    # a borrows 12: 6 of research; then 4 of the company's own, then 2 of d
    assert lent_at(COMPANY, 10.0, (0, "a", 0.0, 50.0, 20.0)) == {"b": 2, "c": 4, "company": 4, "d": 2}
    # d borrows 3 of the company's own quota
    assert lent_at(COMPANY, 10.0, (0, "d", 0.0, 50.0, 13.0)) == {"company": 3}


def lenders_at(tree, at_s, *rows):
    states = states_of(tree, QuotaClock(tree), holds(*rows), 0.0, 100.0)
    place = np.searchsorted(states.at_s, at_s, side="right") - 1
    found = {name: {of: float(amount[place]) for of, amount in own.lenders.items() if amount[place]}
             for (name, _, _), own in states.of.items()}  # fmt: skip
    return {name: lenders for name, lenders in found.items() if lenders}


def test_a_queue_borrows_from_the_nearest_cohorts_that_have_it():
    assert lenders_at(COMPANY, 10.0, (0, "a", 0.0, 50.0, 11.0)) == {"a": {"research": 3}}
    assert lenders_at(COMPANY, 10.0, (0, "a", 0.0, 50.0, 20.0)) == {"a": {"research": 6, "company": 6}}
    # a borrows 3 and c borrows 1: research has 2 of b, half of what is asked of it
    rows = (0, "a", 0.0, 50.0, 11.0), (1, "c", 0.0, 50.0, 5.0)
    assert lenders_at(COMPANY, 10.0, *rows) == {
        "a": {"research": 1.5, "company": 1.5}, "c": {"research": 0.5, "company": 0.5},
    }  # fmt: skip


def test_what_is_above_all_quotas_has_no_lender():
    change = QuotaChange(at_s=40.0, set={"b.all.gpus.nominal": 0.0, "d.all.gpus.nominal": 0.0})
    tree = COMPANY.model_copy(update={"changes": (change,)})
    rows = [(0, "a", 0.0, 80.0, 20.0)]  # 12 borrowed, and from 40 s on only c's 4 and the company's 4 are there
    assert lenders_at(tree, 20.0, *rows) == {"a": {"research": 6, "company": 6}}
    assert lenders_at(tree, 60.0, *rows) == {"a": {"research": 4, "company": 4, NO_LENDER: 4}}
    alone = QueueTree(tree={"a": Queue(quota=(Quota(nominal=8),))})
    assert lenders_at(alone, 20.0, (0, "a", 0.0, 80.0, 9.0)) == {"a": {NO_LENDER: 1}}


def test_quotas_change_by_the_clock():
    change = QuotaChange(at_s=40.0, set={"a.all.gpus.nominal": 11.0})
    tree = COMPANY.model_copy(update={"changes": (change,)})
    rows = [(0, "a", 0.0, 80.0, 11.0)]
    assert lent_at(tree, 20.0, *rows) == {"b": 1, "c": 2}
    assert lent_at(tree, 60.0, *rows) == {}


def test_times_without_quota():
    jobs = pd.DataFrame({"submit_s": [0.0, 5.0, 7.0], "left_s": [40.0, np.nan, 7.5]})
    held = holds((0, "a", 2.0, 10.0, 1.0), (0, "a", 25.0, 40.0, 1.0))
    rows, from_s, to_s = waiting_of(jobs, held, 50.0)
    assert list(zip(rows.tolist(), from_s.tolist(), to_s.tolist(), strict=True)) == [
        (0, 0, 2), (0, 10, 25), (1, 5, 50), (2, 7, 7.5),
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [
    [(0, "a", 0.0, 50.0, 14.0), (1, "d", 10.0, 90.0, 12.0), (2, "b", 20.0, 70.0, 5.0)],
    [(0, "c", 0.0, 50.0, 9.0), (1, "a", 10.0, 90.0, 9.0), (2, "d", 20.0, 70.0, 4.0)],
])  # fmt: skip
def test_all_that_is_borrowed_is_lent(rows):
    states = states_of(COMPANY, QuotaClock(COMPANY), holds(*rows), 0.0, 100.0)
    borrowed = sum(np.maximum(states.of[name, "all", "gpus"].used - states.of[name, "all", "gpus"].nominal, 0.0)
                   for name in COMPANY.tree)  # fmt: skip
    lent = sum(of.lent for of in states.of.values())
    assert lent == pytest.approx(borrowed)
    for name in COMPANY.tree:
        own = states.of[name, "all", "gpus"]
        assert (own.lent + np.minimum(own.used, own.nominal) <= own.nominal + 1e-9).all()
        assert NO_LENDER not in own.lenders
        assert sum(own.lenders.values(), np.zeros(len(own.used))) == pytest.approx(
            np.maximum(own.used - own.nominal, 0)
        )


def test_the_bundled_example_end_to_end():
    run = simulate(read_scenario(data_path("quotas.toml")), "queue-tree")
    assert run.audit() == []
    answer = queues_of_run(run)
    assert answer.total("used_h") == pytest.approx(run.metrics["gpu_hours_held"], rel=1e-6)
    assert answer.total("borrowed_h") > 0.05 * answer.total("used_h")
    assert answer.stopped == run.metrics["preemptions"]
    assert answer.stopped > 0
    company_h = 8 * (answer.end_s - answer.start_s) / 3600
    assert 0 < answer.total("borrowed_h") - answer.total("lent_h") < company_h  # the rest is the company's own quota
    for one in answer.queues:
        assert sum(one.waited_s.values()) == pytest.approx(
            float(run.jobs.loc[run.jobs["group"] == one.queue, "wait_s"].sum()), rel=1e-6
        )
