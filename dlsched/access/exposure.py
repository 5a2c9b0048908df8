"""What is open to strangers: said in red on each page, and in the log when the server starts."""

from __future__ import annotations

import ipaddress

from dlsched.access.config import Access


def is_loopback(address: str | None) -> bool:
    """Whether a server that listens on an address is reachable from its own machine only; no address means all."""
    if not address:
        return False
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def warning_of(address: str | None, access: Access) -> str:
    """Return what is wrong with who can reach a server that listens on ``address``; "" for nothing."""
    if access.login == "header" and not access.proxies:
        return (
            f"Users are known by the header {access.header}, but no proxy is configured, so no user can sign in. "
            "List the address of the proxy under [access] proxies in the config file."
        )
    if access.login == "none" and not is_loopback(address):
        may = "read all results" if access.read_only else "read, change and delete all results and start computations"
        return (
            f"There is no login, and the server listens on {address or 'all addresses'}: anyone who reaches it can "
            f"{may}. Set [access] login in the config file, or listen on 127.0.0.1."
        )
    return ""
