"""Start the app on a free port of this machine; standard library only.

``python tools/launch.py [--port N] [options of the app]``: the first free port from N on (8501) is taken, every other
option is handed to the app, as in ``--store results.duckdb``.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = "127.0.0.1"
FIRST_PORT = 8501
NUM_TRIES = 100


def is_free(port: int) -> bool:
    """Return whether a server could listen on ``port`` of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":  # a port that was closed a moment ago counts as free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def pick_port(first: int = FIRST_PORT, free: Callable[[int], bool] = is_free) -> int:
    """Return the first free port in ``first``, ``first + 1``, ... (100 tries).

    Raises
    ------
    RuntimeError
        If none of them is free.
    """
    last = min(first + NUM_TRIES - 1, 65_535)
    for port in range(first, last + 1):
        if free(port):
            return port
    raise RuntimeError(f"No free port from {first} to {last}. Close a program, or give another start with --port.")


def command(port: int, app_args: Sequence[str]) -> list[str]:
    """Return the command that serves the app; ``app_args`` follow a ``--`` and reach ``sys.argv`` of app.py."""
    server = [sys.executable, str(ROOT / "tools" / "serve.py"), "run", str(ROOT / "app.py")]
    return [*server, f"--server.address={ADDRESS}", f"--server.port={port}", "--", *app_args]


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return ``inherited`` with the project first on PYTHONPATH, so that pages and workers find ``dlsched``."""
    path = [str(ROOT), *filter(None, [inherited.get("PYTHONPATH")])]
    return {**inherited, "PYTHONPATH": os.pathsep.join(path)}


def parse(args: Sequence[str]) -> tuple[int, list[str]]:
    """Return the port to try first and the options left for the app."""
    parser = argparse.ArgumentParser(
        prog="tools/launch.py",
        description="Start dlsched in the browser. Options not listed here go to the app (--store FILE).",
        allow_abbrev=False,
    )
    parser.add_argument("--port", type=int, default=FIRST_PORT, help=f"first port to try ({FIRST_PORT})")
    known, rest = parser.parse_known_args(args)
    if not 1 <= known.port <= 65_535:
        parser.error(f"--port must be from 1 to 65535, got {known.port}")
    return known.port, rest


def main() -> None:
    """Pick a port, say where the app will be, and become the server."""
    wanted, app_args = parse(sys.argv[1:])
    try:
        port = pick_port(wanted)
    except RuntimeError as err:
        sys.exit(str(err))
    taken = "" if port == wanted else f" (port {wanted} is taken)"
    print(f"dlsched: http://{ADDRESS}:{port}{taken}. Stop with Ctrl+C.", flush=True)
    args = command(port, app_args)
    os.execve(args[0], args, environment(os.environ))


if __name__ == "__main__":
    main()
