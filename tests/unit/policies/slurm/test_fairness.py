"""Past use, the classic factor and Fair Tree, by hand and against the values of Slurm's own examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.slurm.kernels.fairness import (
    classic,
    decay_per_s,
    effective_usage,
    fair_tree,
    level_shares,
    use_of,
)
from tests.support.slurm_cases import Tree, slurm_vectors


def test_classic_factors_of_the_example(shared_data: Path):
    case = slurm_vectors(shared_data, "fairshare_classic")
    tree = Tree.of(case["tree"])
    total = float(case["total_usage"])
    effective = effective_usage(tree.parent, tree.shares, tree.usage, tree.active, total)
    assert {name: effective[tree.number[name]] for name in case["effective_usage"]} == pytest.approx(
        case["effective_usage"], abs=case["tolerance"]
    )
    for damping, wanted in ((1.0, case["factor"]), (5.0, case["dampening_5"])):
        factor = classic(tree.parent, tree.shares, tree.usage, tree.active, total, damping)
        assert {name: factor[tree.number[name]] for name in wanted} == pytest.approx(wanted, abs=case["tolerance"])


def test_fair_trees_of_the_examples(shared_data: Path):
    cases = slurm_vectors(shared_data, "fair_tree")["trees"]
    for case in cases:
        tree = Tree.of(case["tree"])
        level = level_shares(tree.parent, tree.shares, tree.usage, tree.active)
        wanted = {name: float(value) for name, value in case["level_fs"].items()}
        assert {name: level[tree.number[name]] for name in wanted} == pytest.approx(wanted)
        factor = fair_tree(tree.parent, tree.shares, tree.usage, tree.active, tree.is_user)
        assert {name: factor[tree.number[name]] for name in case["factor"]} == pytest.approx(case["factor"])


def test_use_fades_as_in_the_example(shared_data: Path):
    case = slurm_vectors(shared_data, "priority")["decay"]
    decay = decay_per_s(case["half_life_s"])
    assert decay == pytest.approx(case["factor_per_s"], abs=1e-12)
    assert 1000 * decay**300 == pytest.approx(case["usage_after_300_s_of_1000"])
    assert 1000 * decay ** case["half_life_s"] == pytest.approx(case["usage_after_half_life_of_1000"])
    assert use_of(300.0, 12.0, decay) == pytest.approx(case["job_of_12_cpus_running_a_whole_period_of_300_s_adds"])


def test_two_accounts_by_hand():
    """Accounts a (2 shares, 40 used) and b (1, 60); users u (30) and v (10) of a, w (60) of b.

    Level FS: a (2/3)/(40/100) = 5/3, b (1/3)/(60/100) = 5/9; u (1/2)/(30/40) = 2/3, v (1/2)/(10/40) = 2.
    """
    tree = Tree.of(
        {"name": "root", "usage": 100, "children": [
            {"name": "a", "shares": 2, "usage": 40, "children": [user("u", 30), user("v", 10)]},
            {"name": "b", "shares": 1, "usage": 60, "children": [user("w", 60)]},
        ]}
    )  # fmt: skip
    factor = fair_tree(tree.parent, tree.shares, tree.usage, tree.active, tree.is_user)
    assert [factor[tree.number[name]] for name in "vuw"] == pytest.approx([1, 2 / 3, 1 / 3])
    # classic, u: S = 2/3 * 1/2 = 1/3, UE = 0.3 + (0.4 - 0.3) / 2 = 0.35, factor 2^-1.05
    old = classic(tree.parent, tree.shares, tree.usage, tree.active, 100.0, 1.0)
    assert old[tree.number["u"]] == pytest.approx(2**-1.05)
    assert old[tree.number["w"]] == pytest.approx(2 ** -(0.6 / (1 / 3)))


def test_children_of_accounts_that_tie_compete_as_siblings():
    """a and b have equal Level FS; the page of Slurm merges their users: x (b) goes between u and v (a)."""
    tree = Tree.of(
        {"name": "root", "usage": 200, "children": [
            {"name": "a", "shares": 1, "usage": 100, "children": [user("u", 10), user("v", 90)]},
            {"name": "b", "shares": 1, "usage": 100, "children": [user("x", 50), user("y", 50)]},
        ]}
    )  # fmt: skip
    factor = fair_tree(tree.parent, tree.shares, tree.usage, tree.active, tree.is_user)
    assert [factor[tree.number[name]] for name in "uxyv"] == pytest.approx([1, 3 / 4, 3 / 4, 1 / 4])


def test_a_user_who_takes_the_share_of_the_account():
    """FairShare=parent: the classic factor is that of the account, and Level FS is infinite."""
    tree = Tree.of(
        {"name": "root", "usage": 100, "children": [
            {"name": "a", "shares": 1, "usage": 80, "children": [user("u", 80, None), user("v", 0)]},
            {"name": "b", "shares": 1, "usage": 20, "children": [user("w", 20)]},
        ]}
    )  # fmt: skip
    old = classic(tree.parent, tree.shares, tree.usage, tree.active, 100.0, 1.0)
    assert old[tree.number["u"]] == pytest.approx(old[tree.number["a"]]) == pytest.approx(2 ** -(0.8 / 0.5))
    level = level_shares(tree.parent, tree.shares, tree.usage, tree.active)
    assert level[tree.number["u"]] == np.inf


def test_users_who_are_not_there_yet_have_no_part():
    tree = Tree.of({"name": "root", "usage": 30, "children": [user("u", 20), user("v", 10), user("late", 0)]})
    tree.active[tree.number["late"]] = 0
    factor = fair_tree(tree.parent, tree.shares, tree.usage, tree.active, tree.is_user)
    assert [factor[tree.number[name]] for name in ("v", "u", "late")] == pytest.approx([1, 1 / 2, 0])
    assert classic(tree.parent, tree.shares, tree.usage, tree.active, 30.0, 1.0)[tree.number["late"]] == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=9))
def test_fair_tree_of_one_level_sorts_by_level_fs(users: list[tuple[int, int]]):
    """A user has the number of users that do not beat it, divided by all."""
    total = sum(used for _, used in users)
    tree = Tree.of(
        {"name": "root", "usage": total, "children": [user(str(k), used, n) for k, (n, used) in enumerate(users)]}
    )
    level = level_shares(tree.parent, tree.shares, tree.usage, tree.active)[1:]
    factor = fair_tree(tree.parent, tree.shares, tree.usage, tree.active, tree.is_user)[1:]
    assert factor == pytest.approx([sum(level <= own) / len(users) for own in level])


def user(name: str, usage: float, shares: int | None = 1) -> dict[str, Any]:
    return {"name": name, "user": True, "usage": usage, "shares": shares}
