"""Which user it is, and what this user may do."""

from __future__ import annotations

import getpass
import ipaddress
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from dlsched.access.config import Access, Role, folded
from dlsched.domain.actor import NO_LOGIN, Actor
from dlsched.domain.errors import AccessRefused

MAX_NAME = 200


def role_of(name: str, access: Access) -> Role | None:
    """Return the role of a user by name; None for one who is refused."""
    own = name.strip().casefold()
    if own in folded(access.readers):
        return "reader"
    if own in folded(access.planners):
        return "planner"
    return None if access.others == "refused" else access.others


def actor_of(name: str, access: Access) -> Actor:
    """Return a user who has signed in.

    Raises
    ------
    AccessRefused
        If the user may not even read.
    """
    role = role_of(name, access)
    if role is None:
        raise AccessRefused(f"{name} may not use this server. Ask its administrator to be added as reader or planner.")
    return Actor(name, may_write=role == "planner" and not access.read_only)


def anonymous(access: Access) -> Actor:
    """Return the user of a server without a login."""
    return Actor(may_write=False) if access.read_only else NO_LOGIN


def name_in_header(peer: str | None, values: Sequence[str], access: Access) -> str:
    """Return the name that a proxy sent, "" if there is none that may be believed.

    ``peer``: address of the other end of the connection itself, not what a header says of it; ``values``: the header's,
    in their order. A header that is there twice is not believed: one of them may be the visitor's own.
    """
    if len(values) != 1 or not is_proxy(peer, access):
        return ""
    name = values[0]
    with suppress(UnicodeError):
        name = name.encode("latin-1").decode("utf-8")  # the letters of a header come byte by byte
    return _clean(name)


def is_proxy(peer: str | None, access: Access) -> bool:
    """Whether a connection comes from the configured proxy."""
    if peer is None:
        return False
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)  # ::ffff:10.0.0.1, as a socket for both families says it
    return any((mapped or address) in network for network in access.proxies)


def name_in_claims(claims: Mapping[str, Any], access: Access) -> str:
    """Return the name in what an OIDC provider says of a user, "" if the user has not signed in or has none.

    An e-mail address that the provider has not verified is no name: anyone may enter any.
    """
    if claims.get("is_logged_in") is not True:
        return ""
    if access.claim == "email" and claims.get("email_verified") in (False, "false"):
        return ""
    name = claims.get(access.claim)
    return _clean(name) if isinstance(name, str) else ""


def _clean(name: str) -> str:
    name = name.strip()
    return name if len(name) <= MAX_NAME and name.isprintable() else ""


def command_line_actor(access: Access, name: str | None = None) -> Actor:
    """Return who types a command: the account on this machine, in the role of its name where there is a login.

    ``name``: the account of a command of another process; None for the account of this one.

    Raises
    ------
    AccessRefused
        If that name may not even read.
    """
    own = account() if name is None else name
    return Actor(own, may_write=not access.read_only) if access.login == "none" else actor_of(own, access)


def account() -> str:
    """Return the name of the account this process runs under."""
    if os.name == "posix":  # not what the environment says
        import pwd

        try:
            return pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:  # a container may run under a number without a name
            return str(os.geteuid())
    return getpass.getuser()
