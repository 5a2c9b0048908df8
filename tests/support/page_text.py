"""What a page under test says, and what it has kept."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from dlsched.domain.scenario import Scenario
from dlsched.store import Store


def shown(app: AppTest) -> str:
    """Return everything the page says, without the escapes of markdown."""
    parts = [*app.markdown, *app.header, *app.error, *app.warning, *app.title, *app.info]
    return "\n".join(part.value for part in parts).replace("\\", "")


def kept(store: Store) -> Scenario:
    """Return the scenario that was kept last."""
    return store.get_scenario(str(store.list_scenarios().iloc[0]["scenario_hash"]))
