"""``dlsched app``: serve the browser app on a free port; Streamlit gets a process of its own."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence

from dlsched import files
from dlsched.access.config import ServerSettings, read_config
from dlsched.access.exposure import warning_of
from dlsched.domain.errors import InputError, validated
from dlsched.plugins.loading import with_named

NUM_TRIES = 100
LAST_PORT = 65_535


def run(options: Namespace) -> int:
    """Pick a port, say where the app will be and what is open to strangers, and become the server."""
    config = read_config(options.config)
    given = {name: value for name in ("address", "port", "base_path") if (value := getattr(options, name)) is not None}
    server = validated(ServerSettings, dict(config.server) | given, "dlsched app")
    port = pick_port(server.port, server.address)
    taken = "" if port == server.port else f" (port {server.port} is taken)"
    below = f"/{server.base_path}" if server.base_path else ""
    print(f"dlsched: http://{server.address}:{port}{below}{taken}. Stop with Ctrl+C.", flush=True)
    access = config.access.model_copy(update={"read_only": config.access.read_only or options.read_only})
    if warning := warning_of(server.address, access):
        print(in_red(f"dlsched: warning: {warning}"), file=sys.stderr, flush=True)
    app_args = [
        part for name in ("store", "config") if (file := getattr(options, name)) for part in (f"--{name}", file)
    ]
    app_args += ["--read-only"] * options.read_only
    args = command(
        port, app_args, address=server.address, headless=options.no_browser, base_path=server.base_path,
        allowed_hosts=server.allowed_hosts,
    )  # fmt: skip
    inherited = with_named(options.plugin, environment(os.environ))
    if os.name == "posix":
        os.execve(args[0], args, inherited)
    # Windows has no such call: the terminal would be given back at once.
    return subprocess.run(args, env=inherited, check=False).returncode


def in_red(text: str) -> str:
    """Return a text for standard error, red on a terminal."""
    return f"\033[31m{text}\033[0m" if sys.stderr.isatty() else text


def is_free(port: int, address: str) -> bool:
    """Return whether a server could listen on ``port`` of an IPv4 address of this machine now.

    Raises
    ------
    InputError
        If this machine does not have the address.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":  # a port that was closed a moment ago counts as free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                way_out = "Give 127.0.0.1 for this machine only, or 0.0.0.0 for all of its addresses"
                raise InputError("--address", f"this machine has no IPv4 address {address}", way_out) from None
            return False
    return True


def pick_port(first: int, address: str, free: Callable[[int, str], bool] = is_free) -> int:
    """Return the first free port in ``first``, ``first + 1``, ... (100 tries).

    Raises
    ------
    InputError
        If none of them is free.
    """
    last = min(first + NUM_TRIES - 1, LAST_PORT)
    for port in range(first, last + 1):
        if free(port, address):
            return port
    raise InputError("--port", f"no port from {first} to {last} is free", "Close a program, or give another port")


def command(
    port: int,
    app_args: Sequence[str],
    *,
    address: str = "127.0.0.1",
    headless: bool = False,
    base_path: str = "",
    allowed_hosts: Sequence[str] = (),
) -> list[str]:
    """Return the command that serves the app; ``app_args`` follow a ``--`` and reach ``sys.argv`` of app.py."""
    # -P: the folder the user is in may hold modules of any name
    server = [sys.executable, "-P", "-m", "dlsched.ui.serve", "run", str(files.APP)]
    settings = [f"--server.address={address}", f"--server.port={port}"]
    settings += [f"--server.baseUrlPath={base_path}"] * bool(base_path) + ["--server.headless=true"] * headless
    settings += [f"--server.allowedHosts={host}" for host in allowed_hosts]
    return [*server, *settings, "--", *app_args]


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return ``inherited``; for a checkout with it first on PYTHONPATH, as it need not be installed."""
    if files.HOME == files.BUNDLE:
        return dict(inherited)
    path = [str(files.HOME), *filter(None, [inherited.get("PYTHONPATH")])]
    return {**inherited, "PYTHONPATH": os.pathsep.join(path)}
