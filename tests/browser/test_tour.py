"""The steps of the filmed tour still work in the app as it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Server
from tools import tour

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_every_step_of_the_tour_works(server: Server, page: Any) -> None:
    page.goto(server.url)
    film = tour.Film(page, is_on=False)
    for step in tour.STEPS:
        step(film)
    assert page.locator("h1").inner_text() == "Memo"
    assert film.words.startswith("The memo")
    assert film.pictures == []
