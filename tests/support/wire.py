"""A visitor without a browser: a session of the app over its websocket, from any loopback address."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect


class Visitor:
    """One session; ``address``: where the connection comes from, ``headers``: what it says of itself.

    ``text`` is all that the last run of a page sent, as far as it is text; ``buttons`` are the ids of its buttons.
    """

    def __init__(self, port: int, address: str, headers: Mapping[str, str]) -> None:
        self._way = connect(
            f"ws://127.0.0.1:{port}/_stcore/stream", additional_headers=dict(headers), max_size=None,
            source_address=(address, 0),
        )  # fmt: skip
        self.text = ""
        self.buttons: list[str] = []

    def __enter__(self) -> Self:
        self._socket = self._way.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, tb: TracebackType | None) -> None:
        self._way.__exit__(kind, err, tb)

    def open(self, page: str = "", query: str = "", pressed: str = "") -> Self:
        """Run a page to its end; ``pressed``: id of a button that is said to be clicked, disabled or not."""
        asked = BackMsg()
        asked.rerun_script.page_name = page
        asked.rerun_script.query_string = query
        if pressed:
            state = asked.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = pressed, True
        self._socket.send(asked.SerializeToString())
        sent = b""
        self.buttons = []
        while True:
            content = self._socket.recv(timeout=60)
            assert isinstance(content, bytes)
            message = ForwardMsg()
            message.ParseFromString(content)
            sent += content
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") == "button":
                self.buttons.append(message.delta.new_element.button.id)
            # A run that is ended early is followed by the one that took its place (`st.rerun`, a request meanwhile).
            if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.text = sent.decode(errors="replace")
                return self
