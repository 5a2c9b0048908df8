"""KAI's targets and sessions: by hand, and what holds for every division and session."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.policies.queue_tree.divide import Claim, divide
from dlsched.policies.queue_tree.kai import KaiRules, run_session, targets
from dlsched.sim.log import JobStatus
from tests.support.queue_trees import job, runs, tree_of, used
from tests.support.quota_scenarios import run

ONE = KaiRules(unit=1)


def claim(name, nominal, request, weight=1.0, **more):
    return Claim(name, nominal, request, weight, **more)


def test_quota_first_then_levels_then_weights():
    shares, left = divide(10, [claim("a", 2, 9), claim("b", 2, 9, 2.0)])
    assert (shares, left) == ({"a": 4, "b": 6}, 0)
    shares, _ = divide(10, [claim("a", 2, 9, level=1), claim("b", 2, 9, 2.0)])
    assert shares == {"a": 8, "b": 2}
    shares, _ = divide(3, [claim("a", 2, 9), claim("b", 2, 9)])
    assert shares == {"a": 2, "b": 2}  # quotas are kept even beyond the total
    shares, left = divide(10, [claim("a", 2, 3), claim("b", 2, 9, limit=4)])
    assert (shares, left) == ({"a": 3, "b": 4}, 3)


def test_units_left_by_rounding_go_to_the_largest_fraction_then_the_older():
    assert divide(5, [claim("a", 0, 9, 1.0), claim("b", 0, 9, 1.0)])[0] == {"a": 3, "b": 2}
    assert divide(5, [claim("a", 0, 9, created=2.0), claim("b", 0, 9, created=1.0)])[0] == {"a": 2, "b": 3}
    assert divide(5, [claim("a", 0, 9, 5.0), claim("b", 0, 9, 3.0)])[0] == {"a": 3, "b": 2}  # 3.125 and 1.875


def test_what_a_sated_queue_leaves_goes_to_the_others_in_another_round():
    assert divide(9, [claim("a", 0, 1), claim("b", 0, 9), claim("c", 0, 9)]) == ({"a": 1, "b": 4, "c": 4}, 0)


def test_past_use_lowers_the_weight():
    fresh, tired = claim("fresh", 0, 99), claim("tired", 0, 99, usage=0.75)
    assert divide(8, [fresh, tired])[0] == {"fresh": 4, "tired": 4}
    assert divide(8, [fresh, tired], past_use=1.0)[0] == {"fresh": 6, "tired": 2}  # 1 and 0.25 made whole: 6.4, 1.6


CLAIMS = st.lists(
    st.builds(
        Claim, st.just(""), st.integers(0, 9), st.integers(0, 30), st.sampled_from([0.0, 1.0, 2.5]),
        st.just(inf) | st.integers(0, 20), st.integers(0, 2), st.floats(0, 1),
    ),
    min_size=1, max_size=5,
)  # fmt: skip


@given(CLAIMS, st.integers(0, 60), st.sampled_from([0.0, 1.0]))
def test_no_more_is_divided_than_there_is_and_quotas_are_kept(claims, total, past_use):
    claims = [Claim(str(n), c.nominal, c.request, c.weight, c.limit, c.level, c.usage) for n, c in enumerate(claims)]
    shares, left = divide(total, claims, past_use)
    kept = sum(min(each.nominal, each.wanted) for each in claims)
    assert left >= 0
    assert sum(shares.values()) + left == pytest.approx(max(total, kept))
    for each in claims:
        assert min(each.nominal, each.wanted) <= shares[each.name] <= each.wanted + 1e-9


def kai(queues, cohorts=None):
    return tree_of(queues, cohorts, rule="kai")


def test_numbers_of_a_cohort_stand_by_themselves():
    tree = kai(
        {"a": {"parent": "c", "gpus": 2, "borrow": 3}, "b": {"parent": "c", "gpus": 2}, "d": {"gpus": 4}},
        {"c": {"gpus": 6}},
    )
    a, c = tree.number["a"], tree.number["c"]
    assert (tree.pool[0][c], tree.whole(0), tree.most[0][a]) == (6, 10, 5)
    runs(tree, "r", "d", 7)
    assert tree.used[0][c] == 0
    assert tree.available(a, 0) == 3
    named = kai({"a": {"parent": "c", "gpus": 2}, "b": {"parent": "c", "gpus": 2}}, {"c": {}})
    assert named.pool[0][named.number["c"]] == 4  # without a number of its own: that of its children


def test_targets_go_from_the_top_down():
    tree = kai({"a": {"parent": "c", "gpus": 2}, "b": {"parent": "c", "gpus": 2}, "d": {"gpus": 4}}, {"c": {"gpus": 4}})
    waiting = [job(tree, "wa", "a", 9), job(tree, "wb", "b", 1), job(tree, "wd", "d", 1)]
    target = targets(tree, waiting, ONE)[0]
    assert [target[tree.number[name]] for name in ("c", "a", "b", "d")] == [7, 6, 1, 1]


def test_queues_below_their_target_go_first_and_every_job_is_tried():
    tree = kai({"a": {"gpus": 4}, "b": {"gpus": 4}})
    runs(tree, "r", "a", 4, 9)
    waiting = [job(tree, "a1", "a", 2, 9), job(tree, "b1", "b", 4), job(tree, "b2", "b", 2)]
    result = run_session(tree, waiting, ONE)
    assert [each.id for each, _ in result.admitted] == ["b1"]
    assert result.outcomes == {"b1": "admitted", "a1": "no_victims", "b2": "no_victims"}
    small = run_session(tree, [job(tree, "big", "b", 5, 9), job(tree, "small", "b", 2)], ONE)
    assert [each.id for each, _ in small.admitted] == ["small"]


def test_reclaim_takes_what_is_above_target_and_leaves_the_taker_within_its():
    tree = kai({"a": {"gpus": 4}, "b": {"gpus": 4}})
    runs(tree, "a1", "a", 4, start_s=1.0)
    runs(tree, "a2", "a", 4, start_s=2.0)
    result = run_session(tree, [job(tree, "w", "b", 4)], ONE)
    assert [tuple(told) for told in result.told] == [("a2", "reclaim", "w")]
    assert run_session(tree, [job(tree, "w", "b", 5)], ONE).told == []  # above its target of 4
    assert run_session(tree, [job(tree, "w", "b", 4)], KaiRules(unit=1, min_runtime_s=9.0), now_s=10.0).told == [
        ("a1", "reclaim", "w")
    ]
    tree.running["a2"].leaving = True
    again = run_session(tree, [job(tree, "w", "b", 4)], ONE)
    assert (again.told, again.outcomes) == ([], {"w": "waits_for_victims"})


def test_what_is_within_quota_and_target_is_not_reclaimed():
    tree = kai({"a": {"gpus": 4}, "b": {"gpus": 4}, "d": {"gpus": 0}})
    runs(tree, "a1", "a", 4)
    runs(tree, "d1", "d", 4, priority=100)
    assert run_session(tree, [job(tree, "w", "b", 4)], ONE).told == []


def test_no_branch_of_the_taker_may_end_above_its_target_and_above_the_other_side():
    tree = kai({"a": {"parent": "c", "gpus": 4}, "b": {"parent": "c", "gpus": 4}, "d": {"gpus": 4}}, {"c": {"gpus": 4}})
    runs(tree, "a1", "a", 2)
    runs(tree, "d1", "d", 4, start_s=1.0)
    runs(tree, "d2", "d", 2)
    waiting = [job(tree, "w", "b", 4)]
    assert run_session(tree, waiting, ONE).told == []  # c at 6 of 4, d at 2 of 4
    assert [told.victim for told in run_session(tree, waiting, KaiRules(unit=1, multiplier=4.0)).told] == ["d1"]


def test_jobs_from_a_priority_on_are_not_stopped_and_stay_within_nominal():
    tree = kai({"a": {"gpus": 4}, "b": {"gpus": 4}})
    runs(tree, "a1", "a", 8, priority=100)
    assert run_session(tree, [job(tree, "w", "b", 4)], ONE).told == []
    tree = kai({"a": {"gpus": 4}, "b": {"gpus": 4}})
    assert run_session(tree, [job(tree, "w", "b", 5, 100)], ONE).outcomes == {"w": "no_victims"}
    assert run_session(tree, [job(tree, "w", "b", 5, 99)], ONE).outcomes == {"w": "admitted"}


def test_within_a_queue_lower_priority_stops():
    tree = kai({"a": {"gpus": 4}})
    runs(tree, "low", "a", 2, 1)
    runs(tree, "high", "a", 2, 5)
    result = run_session(tree, [job(tree, "w", "a", 2, 3)], ONE)
    assert [tuple(told) for told in result.told] == [("low", "in-queue", "w")]
    assert run_session(tree, [job(tree, "w", "a", 2, 1)], ONE).told == []


def test_limits_hold_on_every_level_and_nodes_may_say_no():
    tree = kai({"a": {"parent": "c", "gpus": 1}, "d": {"gpus": 8}}, {"c": {"gpus": 2, "borrow": 1}})
    assert run_session(tree, [job(tree, "w", "a", 4)], ONE).outcomes == {"w": "no_fit"}
    assert run_session(tree, [job(tree, "w", "a", 3)], ONE).outcomes == {"w": "admitted"}
    assert run_session(tree, [job(tree, "w", "a", 3)], ONE, has_room=lambda *_: False).outcomes == {"w": "no_room"}


@given(st.data())
def test_a_session_leaves_no_trace_and_what_it_admits_fits(data):
    queues = {
        f"q{n}": {"gpus": data.draw(st.integers(0, 6)), "parent": data.draw(st.sampled_from([None, "c"])),
                  "borrow": data.draw(st.none() | st.integers(0, 6))}
        for n in range(data.draw(st.integers(1, 4)))
    }  # fmt: skip
    tree = kai(queues, {"c": {}})
    for n in range(data.draw(st.integers(0, 8))):
        queue, gpus = data.draw(st.sampled_from(sorted(queues))), data.draw(st.integers(1, 3))
        if tree.fits(tree.number[queue], {0: gpus}):
            runs(tree, f"r{n}", queue, gpus, data.draw(st.sampled_from([0, 1, 100])), float(n))
    waiting = [
        job(tree, f"w{n}", data.draw(st.sampled_from(sorted(queues))), data.draw(st.integers(1, 4)),
            data.draw(st.sampled_from([0, 2, 100])), float(n))
        for n in range(data.draw(st.integers(1, 6)))
    ]  # fmt: skip
    before = used(tree)
    result = run_session(tree, waiting, ONE)
    assert used(tree) == before
    told = [one.victim for one in result.told]
    assert len(set(told)) == len(told)
    assert all(tree.running[name].priority < 100 for name in told)
    for admitted, assignment in result.admitted:
        assert tree.fits(admitted.queue, assignment.usage)
        tree.add(admitted.queue, assignment.usage)
    assert sum(tree.used[0][root] for root in tree.roots) <= tree.whole(0)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_replay_under_kais_rules_ends_and_is_clean(seed):
    rng = np.random.default_rng(seed)
    count = 60
    jobs = Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "submit_s": np.sort(rng.integers(0, 4_000, count)).astype(float),
            "work": rng.integers(50, 4_000, count).astype(float),
            "workers": rng.choice([1, 2, 4, 8], count),
            "group": rng.choice(["a", "b", "d"], count),
            "priority": rng.choice([0, 1, 100], count).astype(float),
        }
    )
    spec = QueueTree.model_validate(
        {
            "rule": "kai",
            "cohorts": {"c": {"quota": [{"nominal": 8}]}},
            "tree": {
                "a": {"parent": "c", "quota": [{"nominal": 8}]},
                "b": {"parent": "c", "quota": [{"nominal": 8, "borrow": 0}]},
                "d": {"weight": 2, "quota": [{"nominal": 8}]},
            },
        }
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="n", gpus=4), count=4),))
    done = run(Scenario(jobs, cluster, SimulationRules(checkpoint_s=60.0), queues=spec))
    assert (done.log.job_status == JobStatus.COMPLETED).all()
