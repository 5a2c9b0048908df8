"""What sessions share: bounded by bytes, made once, dropped when no session asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.studies.byte_cache import ByteCache, size_of
from dlsched.ui.frame import caches
from dlsched.ui.frame.caches import shared
from tests.support.runs_for_store import small_scenario

KIB = 1024


def block(kib: int) -> Callable[[], np.ndarray[Any, Any]]:
    return lambda: np.zeros(kib * KIB, dtype=np.int8)


def refuse() -> Any:
    raise AssertionError("it was there")


def test_the_least_recently_used_goes_first() -> None:
    cache = ByteCache(most_bytes=100 * KIB)
    for key in ("a", "b", "c"):
        cache.get(key, block(30))
    cache.get("a", refuse)
    cache.get("d", block(30))
    for key in ("a", "c", "d"):
        cache.get(key, refuse)
    with pytest.raises(AssertionError):
        cache.get("b", refuse)
    assert cache.bytes_held == 90 * KIB


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 60)), max_size=40))
def test_never_above_the_bound_but_for_one_value(asked: list[tuple[int, int]]) -> None:
    cache = ByteCache(most_bytes=100 * KIB)
    for key, kib in asked:
        cache.get(key, block(kib * 2))
        assert cache.bytes_held <= 100 * KIB or len(cache) == 1
        cache.get(key, refuse)
    cache.clear()
    assert (len(cache), cache.bytes_held) == (0, 0)


def test_what_no_session_asked_for_is_dropped() -> None:
    now_s = [0.0]
    cache = ByteCache(idle_s=60, clock=lambda: now_s[0])
    cache.get("looked at", block(1))
    cache.get("left", block(1))
    now_s[0] = 59
    cache.get("looked at", refuse)
    now_s[0] = 61
    cache.get("new", block(1))
    assert len(cache) == 2
    cache.get("looked at", refuse)


def test_a_value_is_made_once_while_others_wait() -> None:
    cache, made, go = ByteCache(), [0], threading.Event()

    def make() -> int:
        go.wait(10)
        made[0] += 1
        return made[0]

    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(cache.get, "key", make) for _ in range(8)]
        go.set()
        assert {answer.result() for answer in answers} == {1}


def test_another_version_takes_the_place_of_the_one_before() -> None:
    cache = ByteCache()
    cache.get("key", block(10), version=1)
    cache.get("key", refuse, version=1)
    assert len(cache.get("key", block(20), version=2)) == 20 * KIB
    cache.get("key", refuse, version=2)
    assert (len(cache), cache.bytes_held) == (1, 20 * KIB)


def test_the_state_of_the_store_is_the_version_and_no_part_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "SHARED", ByteCache())

    @shared
    def answer(name: str, changes: int) -> tuple[str, int]:
        return name, changes

    assert [answer("a", 1), answer("a", 2), answer("b", changes=2)] == [("a", 1), ("a", 2), ("b", 2)]
    assert len(caches.SHARED) == 2


def test_an_error_is_not_kept() -> None:
    cache = ByteCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0)
    assert cache.get("key", lambda: 1) == 1


def test_arguments_with_an_underscore_are_no_part_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "SHARED", ByteCache())
    calls = []

    @shared
    def answer(run_id: str, _by: list[str], part: int = 0) -> int:
        calls.append((run_id, part))
        return len(calls)

    assert answer("a", ["x"]) == answer("a", ["y"]) == answer(run_id="a", _by=[], part=0) == 1
    assert answer("a", [], 1) == 2
    assert calls == [("a", 0), ("a", 1)]


@dataclass(frozen=True, slots=True)
class Slotted:
    content: Any


@dataclass(frozen=True)
class Plain:
    content: Any


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(np.zeros(250_000), id="array"),
        pytest.param([np.zeros(125_000), {"a": np.zeros(125_000)}], id="list"),
        pytest.param(Plain(Slotted(np.zeros(250_000))), id="objects"),
        pytest.param(pd.DataFrame({"a": np.zeros(125_000), "b": np.zeros(125_000)}), id="frame"),
        pytest.param(pd.DataFrame({"a": ["x" * 80] * 24_000}), id="texts"),
        pytest.param(np.array([f"{n:031d}" for n in range(23_000)], dtype=object), id="objects in an array"),
        pytest.param({n: f"{n:031d}" for n in range(11_800)}, id="dictionary"),
    ],
)
def test_sizes_are_about_right(value: object) -> None:
    assert size_of(value) == pytest.approx(2_000_000, rel=0.25)


def test_what_is_held_twice_counts_once_and_cycles_end() -> None:
    array = np.zeros(125_000)
    ring: list[Any] = [array, array]
    ring.append(ring)
    assert size_of(ring) == pytest.approx(1_000_000, rel=0.01)


def test_a_scenario_counts_with_its_jobs() -> None:
    small, large = size_of(small_scenario(10)), size_of(small_scenario(10_000))
    assert large - small > 10_000 * 8 * 5


def test_a_dict_that_sessions_share_keeps_its_latest_entries() -> None:
    kept = dict.fromkeys("abcde", 1)
    caches.drop_oldest(kept, 9)
    assert len(kept) == 5
    caches.drop_oldest(kept, 2)
    assert [*kept] == ["d", "e"]
