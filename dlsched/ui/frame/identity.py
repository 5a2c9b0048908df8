"""Who looks at the page: the user of this session, by the login of the config file.

A name is taken from a header only if the connection itself comes from the configured proxy. Streamlit passes on the
address that its web server, uvicorn, reports, and uvicorn by default believes what connections from this machine say in
X-Forwarded-For. The server is therefore started with that switched off (see :mod:`dlsched.ui.serve`); without that no
header is believed.
"""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import replace

import streamlit as st
from streamlit.errors import Error as StreamlitError
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

from dlsched.access.exposure import warning_of
from dlsched.access.roles import actor_of, anonymous, name_in_claims, name_in_header
from dlsched.domain.actor import Actor
from dlsched.domain.errors import AccessRefused, DlschedError
from dlsched.ui.frame.options import access
from dlsched.ui.frame.text import safe

log = logging.getLogger(__name__)

FORWARDED_VARIABLE = "FORWARDED_ALLOW_IPS"
"""Addresses whose X-Forwarded-For uvicorn believes; empty for none."""
READS_ONLY = "You may read here, not change"


class NotSignedIn(AccessRefused):
    """There is a login, and this session has no user yet."""


def actor() -> Actor:
    """Return the user of this session.

    Raises
    ------
    AccessRefused
        If there is a login and this user has not signed in, or may not use the server.
    """
    rules = access()
    if rules.login == "none":
        return replace(anonymous(rules), browser=browser())
    name = _name_by_header() if rules.login == "header" else _name_by_oidc()
    if not name:
        raise NotSignedIn("You have not signed in.")
    return actor_of(name, rules)


def browser() -> str:
    """Return what tells this browser from others: its protection token, else the session, which a reload ends."""
    token, _ = decode_xsrf_token_string(st.context.cookies.get(XSRF_COOKIE_NAME, ""))
    if token:
        return hashlib.sha256(token).hexdigest()[:16]
    context = get_script_run_ctx()
    return "" if context is None else context.session_id


def _name_by_header() -> str:
    rules = access()
    if os.environ.get(FORWARDED_VARIABLE) != "":
        raise AccessRefused(
            "The login by a header works only if the server is started with dlsched app: started otherwise, it cannot "
            "tell the proxy from other visitors."
        )
    return name_in_header(_peer(), st.context.headers.get_all(rules.header), rules)


def _peer() -> str | None:
    """Return the address of the other end of this session's connection; st.context leaves out 127.0.0.1."""
    context = get_script_run_ctx()
    client = None if context is None else get_instance().get_client(context.session_id)
    return None if client is None or client.client_context is None else client.client_context.remote_ip


def _name_by_oidc() -> str:
    if st.get_option("server.trustedUserHeaders"):  # they would overwrite what the provider said
        raise AccessRefused(
            "Streamlit's setting server.trustedUserHeaders lets any visitor choose a name. Remove it, or set "
            '[access] login = "header" in the config file.'
        )
    return name_in_claims(st.user.to_dict(), access())


def may_write() -> bool:
    """Whether the user of this session may change and compute."""
    return actor().may_write


def why_not() -> str:
    """Return why the user may not change anything, "" if they may."""
    if may_write():
        return ""
    if access().read_only:
        return f"{READS_ONLY}: this server is read-only"
    return f"{READS_ONLY}: your role is reader"


def reader_line() -> None:
    """Say on a page that its controls are disabled, and why."""
    if reason := why_not():
        st.markdown(f":gray[:material/lock: {reason}.]")


def signed_in_as() -> None:
    """Show in the sidebar who has signed in, with the way out."""
    user = actor()
    if not user.name:
        return
    role = "planner" if user.may_write else "reader"
    st.sidebar.markdown(f":gray[{safe(user.name, 60)} · {role}]")
    if access().login == "oidc":
        st.sidebar.button("Sign out", key="sign-out", type="tertiary", on_click=st.logout)


def exposed_banner() -> None:
    """Say in red that strangers can reach the server."""
    if warning := warning_of(st.get_option("server.address"), access()):
        st.error(safe(warning, 600), icon="⛔")


def may_enter() -> bool:
    """Whether there is a user who may read; if not, say why on a page of its own, with the way to sign in."""
    try:
        exposed_banner()
        actor()
    except NotSignedIn:
        _sign_in()
    except DlschedError as error:
        st.title("No access", anchor=False)
        st.error(safe(error, 600), icon="⛔")
        if isinstance(error, AccessRefused) and access().login == "oidc":
            st.button("Sign in as another user", key="sign-out", on_click=st.logout)
    else:
        return True
    return False


def _sign_in() -> None:
    rules = access()
    st.title("Sign in", anchor=False)
    if rules.login == "header":
        st.markdown("This server takes your name from a reverse proxy. Open it by the address of the proxy.")
    elif st.user.get("is_logged_in"):
        st.error(
            f"Your login brought no usable name: the claim {safe(rules.claim)} is missing or not verified.", icon="⛔"
        )
        st.button("Sign in as another user", key="sign-out", on_click=st.logout)
    elif st.button("Sign in", type="primary", key="sign-in"):
        try:
            st.login(rules.provider or None)
        except StreamlitError as error:  # a package or a setting is missing, which the administrator must know
            log.error("No user can sign in: %s", error)
            st.error(
                "Signing in is not set up on this server. It needs the package Authlib and the secrets of the "
                "provider; the log of the server says what is missing.", icon="⛔",
            )  # fmt: skip
