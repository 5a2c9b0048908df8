"""A reverse proxy that signs every visitor in under one name: enough of HTTP for a browser and a websocket."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

ADDRESS = "127.0.0.2"
"""Where its connections to the server come from: another address of this machine."""
HEADER = "X-Forwarded-User"


class Proxy:
    """Listens on 127.0.0.1 and hands on to the server at ``port``, with the name of ``user`` in the header."""

    def __init__(self, port: int, user: str) -> None:
        self._to, self._user = port, user
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                visitor, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(visitor,), daemon=True).start()

    def _serve(self, visitor: socket.socket) -> None:
        with suppress(OSError), visitor:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (part := visitor.recv(65_536)):
                    return
                head += part
            lines, _, rest = head.partition(b"\r\n\r\n")
            request, *headers = lines.split(b"\r\n")
            kept = [line for line in headers if not line.lower().startswith((HEADER.lower().encode(), b"connection:"))]
            is_socket = any(line.lower().startswith(b"upgrade:") for line in headers)
            kept += [f"{HEADER}: {self._user}".encode(), b"Connection: " + (b"Upgrade" if is_socket else b"close")]
            with socket.create_connection(("127.0.0.1", self._to), source_address=(ADDRESS, 0)) as server:
                server.sendall(b"\r\n".join([request, *kept]) + b"\r\n\r\n" + rest)
                back = threading.Thread(target=_pump, args=(server, visitor), daemon=True)
                back.start()
                _pump(visitor, server)
                back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65_536):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
