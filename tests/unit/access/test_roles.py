"""Names and roles: whose name is believed, and what that user may do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.access import roles
from dlsched.access.config import Access
from dlsched.access.exposure import is_loopback, warning_of
from dlsched.access.roles import (
    account,
    actor_of,
    anonymous,
    command_line_actor,
    name_in_claims,
    name_in_header,
    role_of,
)
from dlsched.domain.actor import NO_LOGIN, Actor
from dlsched.domain.errors import AccessRefused


def header_login(*proxies: str, **more: object) -> Access:
    return Access.model_validate({"login": "header", "proxies": proxies, "planners": ["anna"], **more})


@pytest.mark.parametrize(
    ("name", "others", "role"),
    [
        ("anna", "refused", "planner"),
        ("ANNA ", "refused", "planner"),
        ("rita", "planner", "reader"),
        ("otto", "refused", None),
        ("otto", "reader", "reader"),
        ("otto", "planner", "planner"),
    ],
)
def test_role_by_name(name, others, role):
    access = header_login(readers=["Rita"], others=others)
    assert role_of(name, access) == role
    if role is None:
        with pytest.raises(AccessRefused, match="otto may not use this server"):
            actor_of(name, access)
    else:
        assert actor_of(name, access) == Actor(name, may_write=role == "planner")


def test_read_only_makes_readers_of_all():
    assert actor_of("anna", header_login(read_only=True)) == Actor("anna", may_write=False)
    assert anonymous(Access()) == NO_LOGIN
    assert anonymous(Access(read_only=True)) == Actor("", may_write=False)


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        ("10.1.2.3", "anna"),
        ("::ffff:10.1.2.3", "anna"),
        ("127.0.0.5", "anna"),
        ("fe80::1%eth0", "anna"),
        ("127.0.0.1", ""),
        ("11.0.0.1", ""),
        ("::1", ""),
        ("fe81::1", ""),
        ("testserver", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_a_header_counts_from_the_proxy_only(peer, name):
    access = header_login("10.0.0.0/8", "127.0.0.5", "fe80::/16")
    assert name_in_header(peer, ["anna"], access) == name


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([], ""),
        ([""], ""),
        (["  "], ""),
        ([" anna "], "anna"),
        (["rita", "anna"], ""),
        (["anna", "anna"], ""),
        (["an\nna"], ""),
        (["x" * 201], ""),
        (["Jos\u00c3\u00a9"], "Jos\u00e9"),
        (["Jos\u00e9"], "Jos\u00e9"),
    ],
)
def test_values_of_the_header(values, name):
    assert name_in_header("127.0.0.1", values, header_login("127.0.0.1")) == name


@given(st.ip_addresses(), st.lists(st.text(), max_size=3))
def test_no_address_but_the_proxy_brings_a_name(peer, values):
    access = header_login("203.0.113.7")
    found = name_in_header(str(peer), values, access)
    assert not found or str(peer) in ("203.0.113.7", "::ffff:203.0.113.7")


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({}, ""),
        ({"email": "anna@example.com"}, ""),
        ({"is_logged_in": False, "email": "anna@example.com"}, ""),
        ({"is_logged_in": "yes", "email": "anna@example.com"}, ""),
        ({"is_logged_in": True, "email": "anna@example.com"}, "anna@example.com"),
        ({"is_logged_in": True, "email": "anna@example.com", "email_verified": True}, "anna@example.com"),
        ({"is_logged_in": True, "email": "anna@example.com", "email_verified": False}, ""),
        ({"is_logged_in": True, "name": "Anna"}, ""),
        ({"is_logged_in": True, "email": 7}, ""),
    ],
)
def test_names_of_an_oidc_login(claims, name):
    assert name_in_claims(claims, Access(login="oidc", others="reader")) == name
    other = Access(login="oidc", others="reader", claim="preferred_username")
    unverified = {"is_logged_in": True, "preferred_username": "anna", "email_verified": False}
    assert name_in_claims(unverified, other) == "anna"


def test_the_command_line_has_the_role_of_the_account(monkeypatch):
    monkeypatch.setenv("USER", "anna")
    monkeypatch.setenv("LOGNAME", "anna")
    assert account() != "anna"
    monkeypatch.setattr(roles, "account", lambda: "rita")
    assert command_line_actor(Access()) == Actor("rita")
    assert command_line_actor(Access(read_only=True)) == Actor("rita", may_write=False)
    assert command_line_actor(header_login(planners=["rita"], readers=["bob"]), "bob") == Actor("bob", may_write=False)
    assert command_line_actor(header_login(readers=["rita"])) == Actor("rita", may_write=False)
    with pytest.raises(AccessRefused):
        command_line_actor(header_login())


@pytest.mark.parametrize(
    ("address", "alone"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("", False), (None, False), ("10.0.0.1", False), ("dlsched.example.com", False)],
)  # fmt: skip
def test_what_is_open_to_strangers(address, alone):
    assert is_loopback(address) is alone
    assert bool(warning_of(address, Access())) is not alone
    assert not warning_of(address, header_login("10.0.0.1"))
    assert "no proxy is configured" in warning_of(address, header_login())
    if not alone:
        assert "read all results. Set" in warning_of(address, Access(read_only=True))
