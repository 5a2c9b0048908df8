"""Which browser a session is of, where there is no login."""

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

from dlsched.ui.frame import identity


def browser_with(monkeypatch: pytest.MonkeyPatch, cookie: str | None, session_id: str = "tab") -> str:
    cookies = {} if cookie is None else {XSRF_COOKIE_NAME: cookie}
    monkeypatch.setattr(st, "context", SimpleNamespace(cookies=cookies))
    monkeypatch.setattr(identity, "get_script_run_ctx", lambda: SimpleNamespace(session_id=session_id))
    return identity.browser()


def test_the_tabs_of_a_browser_are_one_and_two_browsers_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    token, other = b"a" * 16, b"b" * 16
    masked = [generate_xsrf_token_string(token) for _ in range(2)]
    assert masked[0] != masked[1]  # the server masks it anew in each answer
    one, same = (browser_with(monkeypatch, cookie) for cookie in masked)
    assert one == same != browser_with(monkeypatch, generate_xsrf_token_string(other))
    assert token.hex() not in one


@pytest.mark.parametrize("cookie", [None, "", "2|", "junk|junk", "2|zz|zz|1", "é" * 5000])
def test_a_browser_without_a_readable_token_is_known_by_its_session(
    cookie: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser_with(monkeypatch, cookie) == "tab"
    assert browser_with(monkeypatch, cookie, "other tab") == "other tab"
