"""Pages are computed one after the other, in order, and none keeps others waiting for long."""

from __future__ import annotations

import threading

import pytest

from dlsched.ui.frame.turns import Turns

LONG_S, SOON_S = 30.0, 0.1


class Page(threading.Thread):
    """Computes in a turn until it is told to end."""

    def __init__(self, turns: Turns, begun: list[int], number: int) -> None:
        super().__init__(daemon=True)
        self.turns, self.begun, self.number = turns, begun, number
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def run(self) -> None:
        with self.turns.turn():
            self.begun.append(self.number)
            self.has_begun.set()
            self.may_end.wait(LONG_S)


def asked_in_order(turns: Turns, count: int) -> tuple[list[Page], list[int]]:
    """Return pages that have been asked for one after the other, and the list of those that have begun."""
    begun: list[int] = []
    pages = [Page(turns, begun, number) for number in range(count)]
    for place, page in enumerate(pages):
        page.start()
        while not page.has_begun.is_set() and len(turns._line) < place:
            page.has_begun.wait(0.001)
    return pages, begun


def test_a_page_begins_when_the_one_before_it_has_ended():
    pages, begun = asked_in_order(Turns(LONG_S), 4)
    for number, page in enumerate(pages):
        assert page.has_begun.wait(LONG_S)
        assert begun == list(range(number + 1))
        if number < 3:
            assert not pages[number + 1].has_begun.wait(SOON_S)
        page.may_end.set()
        page.join(LONG_S)


def test_a_page_that_computes_for_long_keeps_nobody_waiting():
    pages, begun = asked_in_order(Turns(SOON_S), 3)
    assert pages[2].has_begun.wait(LONG_S)
    assert begun == [0, 1, 2]
    for page in pages:
        page.may_end.set()


def test_the_end_of_a_long_page_does_not_end_the_turn_of_the_next():
    turns = Turns(SOON_S)
    pages, _ = asked_in_order(turns, 2)
    assert pages[1].has_begun.wait(LONG_S)
    turns._next_from_s += LONG_S
    pages[0].may_end.set()
    pages[0].join(LONG_S)
    third = Page(turns, [], 2)
    third.start()
    assert not third.has_begun.wait(SOON_S)
    pages[1].may_end.set()
    assert third.has_begun.wait(LONG_S)
    third.may_end.set()


def test_who_sleeps_lets_others_compute_and_has_a_turn_again_afterwards():
    turns = Turns(LONG_S)
    with turns.turn():
        other = Page(turns, [], 1)
        other.start()
        assert not other.has_begun.wait(SOON_S)
        threading.Timer(2 * SOON_S, other.may_end.set).start()
        turns.sleep(SOON_S)
        assert other.has_begun.is_set()
        assert other.may_end.is_set()  # its turn was over before this one had its own again
        third = Page(turns, [], 2)
        third.start()
        assert not third.has_begun.wait(SOON_S)
    assert third.has_begun.wait(LONG_S)
    third.may_end.set()


def test_a_page_that_ends_in_an_error_ends_its_turn():
    turns = Turns(LONG_S)
    with pytest.raises(ZeroDivisionError), turns.turn():
        _ = 1 / 0
    page = Page(turns, [], 0)
    page.start()
    assert page.has_begun.wait(LONG_S)
    page.may_end.set()


def test_who_has_no_turn_sleeps_without_taking_one():
    turns = Turns(LONG_S)
    turns.sleep(0.001)
    page = Page(turns, [], 0)
    page.start()
    assert page.has_begun.wait(LONG_S)
    turns.sleep(0.001)  # does not wait for the page either
    page.may_end.set()
