"""Families nest: what is fitted on the first quarter is kept only where it wins on the second."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from dlsched.studies.fitting.families import Part, Setting
from dlsched.studies.fitting.search import descend, nested, starts_of

CAPACITIES: dict[str, tuple[object, ...]] = {"capacity": (1.0, 0.8, 0.6)}
LIMITS: dict[str, tuple[object, ...]] = {"user_width": (None, 40.0, 20.0), "user_jobs": (None, 8, 4)}
ORDER: dict[str, tuple[object, ...]] = {
    "age": (0.0, 0.3),
    "size": (0.0, 0.3),
    "half_life_s": (604_800.0, 86_400.0),
    "fair_share": (0.0, 1.0),
}


def score(
    of: Callable[[Setting], float], seen: list[Setting] | None = None
) -> Callable[[Sequence[Setting]], list[float]]:
    def scored(settings: Sequence[Setting]) -> list[float]:
        if seen is not None:
            seen.extend(settings)
        return [of(one) for one in settings]

    return scored


def off(one: Setting) -> float:
    """Return the distance from 80% of the nodes and at most 20 GPUs of a user."""
    return 1 + 5 * abs(one.capacity - 0.8) + (0.0 if one.user_width == 20 else 1.0)


def test_the_search_finds_a_minimum_of_its_grid_and_tries_each_setting_once() -> None:
    seen: list[Setting] = []
    found = descend([Setting()], {**CAPACITIES, **LIMITS}, score(off, seen))
    assert found.setting == Setting(capacity=0.8, user_width=20.0)
    assert found.score == 1
    assert len(seen) == len(set(seen)) == found.tried


def test_a_value_without_effect_is_left_out() -> None:
    found = descend([Setting()], {**LIMITS, **ORDER}, score(lambda one: 1.0))
    assert found.setting == Setting()
    assert Setting(half_life_s=86_400.0, age=0.3).simplest() == Setting()  # no fair share: age is submission
    assert Setting(size=0.3, age=0.3).simplest() == Setting(size=0.3, age=0.3)


def test_fair_share_is_a_start_of_its_own() -> None:
    """Fair share alone does not help, with age it does: one change after the other would not find it."""

    def of(one: Setting) -> float:
        return 0.5 if one.fair_share and one.age else 1.0 + one.fair_share

    assert descend([Setting()], ORDER, score(of)).setting == Setting()
    found = descend(starts_of(Setting(), ORDER), ORDER, score(of))
    assert (found.setting.fair_share, found.setting.age, found.score) == (1, 0.3, 0.5)


@pytest.mark.parametrize(("second", "kept"), [(0.98, False), (0.9701, False), (0.9699, True)])
def test_a_richer_family_must_win_by_three_per_cent_on_the_second_quarter(second: float, kept: bool) -> None:
    grids: dict[Part, dict[str, tuple[object, ...]]] = {"capacity": CAPACITIES}
    first = score(lambda one: one.capacity)
    steps = nested(grids, first, score(lambda one: 1.0 if one.capacity == 1 else second))
    assert [step.part for step in steps] == [None, "capacity"]
    assert steps[1].setting.capacity == 0.6  # best on the first quarter, whatever the second says
    assert steps[1].kept is kept


def test_what_is_not_kept_is_left_out_of_richer_families() -> None:
    grids: dict[Part, dict[str, tuple[object, ...]]] = {"capacity": CAPACITIES, "limits": LIMITS}
    overfitted = score(lambda one: 1.0 if one.capacity < 1 else 0.5 if one.user_width == 20 else 0.9)
    steps = nested(grids, score(off), overfitted)
    assert [step.kept for step in steps] == [True, False, True]
    assert steps[2].setting == Setting(user_width=20.0)
    both = nested(grids, score(off), score(off))
    assert both[2].setting == Setting(capacity=0.8, user_width=20.0)


def test_what_was_kept_is_fitted_again_together_with_what_is_added() -> None:
    """Without limits 60% of the nodes are best, with limits 80%."""

    def of(one: Setting) -> float:
        return 1 + abs(one.capacity - 0.8) if one.user_width == 20 else 1.5 + abs(one.capacity - 0.6)

    grids: dict[Part, dict[str, tuple[object, ...]]] = {"capacity": CAPACITIES, "limits": LIMITS}
    steps = nested(grids, score(of), score(of))
    assert [step.setting for step in steps[1:]] == [Setting(capacity=0.6), Setting(capacity=0.8, user_width=20.0)]


def test_short_replays_leave_out_what_is_clearly_worse_and_change_nothing_else() -> None:
    """The short score is off by less than its slack: the same setting is found with fewer long replays."""

    def far(one: Setting) -> float:
        return off(one) + (one.user_jobs is not None)

    long: list[Setting] = []
    found = descend([Setting()], {**CAPACITIES, **LIMITS}, score(far, long), score(lambda one: far(one) + 0.01))
    plain: list[Setting] = []
    whole = descend([Setting()], {**CAPACITIES, **LIMITS}, score(far, plain))
    assert (found.setting, found.score, found.tried) == (whole.setting, whole.score, whole.tried)
    assert found.setting == Setting(capacity=0.8, user_width=20.0)
    assert len(long) < len(plain)


def test_what_a_short_replay_leaves_out_is_still_a_start() -> None:
    grid: dict[str, tuple[object, ...]] = {"fair_share": (0.0, 1.0)}
    misled = score(lambda one: 1 + one.fair_share)
    starts = [Setting(), Setting(fair_share=1.0)]
    assert descend(starts, grid, score(lambda one: 1 - 0.5 * one.fair_share), misled).setting == starts[1]
