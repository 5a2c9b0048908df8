"""The result store: one DuckDB file with scenarios, runs and what the pages remember. Only importer of duckdb.

``Store`` is loaded on first use, so that the records can be used without DuckDB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Store"]

if TYPE_CHECKING:
    from dlsched.store.store import Store


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module 'dlsched.store' has no attribute {name!r}")
    from dlsched.store.store import Store

    return Store
