"""On what terms nodes are had: columns of the table of node types, and when nodes are rented."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from dlsched.domain.cluster import Cluster, Outage, Pool, Scaling, Terms
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.ui.frame import tables
from dlsched.ui.frame.tables import is_empty, number_of, text_of

MINUTE_S = 60.0
KINDS = ("owned", "reserved", "on-demand", "spot")
_number = st.column_config.NumberColumn
COLUMNS: Mapping[str, Any] = {
    "terms": st.column_config.SelectboxColumn(
        "Terms", options=list(KINDS),
        help="owned: always there. reserved: the same, paid for 1 or 3 years. on-demand, spot: rented as jobs need "
        "them, up to the number of nodes; spot nodes may be taken back. Empty = owned",
    ),
    "years": st.column_config.SelectboxColumn("Years", options=[1, 3], help="Reserved: for how long they are paid"),
    "boot": _number("Boot, min", min_value=0.0, help="On demand, spot: from the request until jobs can start; paid"),
    "idle": _number("Idle, min", min_value=0.0, help="On demand, spot: given back when idle for so long"),
    "kept": _number("Kept", min_value=0, step=1, help="On demand, spot: so many nodes are rented even if idle"),
    "evictions": _number("Evictions/h", min_value=0.0, help="Spot: how often a node is taken back, mean per hour"),
    "notice": _number("Notice, s", min_value=0.0, help="Spot: jobs are told so long before, and save their work"),
    "outages": st.column_config.TextColumn(
        "Outages, days", help="Spot: when there are none, in days from the first job: 1.5-2, 10-10.25",
    ),
}  # fmt: skip
_FIELDS = {
    "years": ("commitment_years", 1.0), "boot": ("boot_s", MINUTE_S), "idle": ("idle_timeout_s", MINUTE_S),
    "kept": ("min_nodes", 1.0), "evictions": ("evictions_per_h", 1.0), "notice": ("notice_s", 1.0),
}  # fmt: skip
"""Column -> field of the terms, and how many of its units one of the column is."""
NUMBERS = tuple(_FIELDS)
COLUMN_OF = {field: column for column, (field, _) in _FIELDS.items()} | {"outages": "outages"}


def row_of(terms: Terms | None) -> tuple[Any, ...]:
    """Return the cells of a pool's terms; empty where a kind has no such term."""
    if terms is None:
        return (None,) * len(COLUMNS)
    told = terms.model_dump()
    numbers = (told[field] / unit if field in told else None for field, unit in _FIELDS.values())
    return (terms.kind, *numbers, _outages_text(terms.outages) or None)


def _outages_text(outages: Iterable[Outage]) -> str:
    """Return outages as they are typed, in days to a millionth of a second: "1.5-2, 10-10.25"."""
    return ", ".join(f"{_days_text(one.start_s)}-{_days_text(one.end_s)}" for one in outages)


def _days_text(time_s: float) -> str:
    return f"{time_s / DAY_S:.12f}".rstrip("0").rstrip(".")


def _outages(text: str, place: str) -> tuple[Outage, ...]:
    """Return the outages of a cell; InputError that names its place."""
    way_out, spans = "Write first and last day, as in 1.5-2, 10-10.25", []
    for part in filter(None, (one.strip() for one in text.split(","))):
        start, dash, end = part.partition("-")
        try:
            spans.append(Outage(start_s=round(float(start) * DAY_S, 6), end_s=round(float(end) * DAY_S, 6)))
        except ValidationError as error:
            raise InputError(place, f"{part!r:.80}: {from_validation('', error).why}", way_out) from error
        except ValueError:
            why = "is not a span of days" if dash else "has no end"
            raise InputError(place, f"{part!r:.80} {why}", way_out) from None
    return tuple(spans)


def terms_of(record: Mapping[Any, Any], twin: Pool | None, where: str) -> Terms | None:
    """Return the terms of a row; None = owned. Cells that are empty have their default.

    ``twin``: the pool as it was before; its outages stay to the last digit where the cell says the same. Raises
    ValidationError, and InputError that names the cell of the row ``where``.
    """
    kind = text_of(record["terms"])
    if kind in ("", "owned"):
        return None
    given: dict[str, Any] = {
        field: value * unit
        for column, (field, unit) in _FIELDS.items()
        if not is_empty(record[column]) and (value := number_of(record[column])) is not None
    }
    text = text_of(record["outages"])
    before = () if twin is None or twin.terms is None else twin.terms.outages
    outages = before if text == _outages_text(before) else _outages(text, tables.place(where, "outages", COLUMNS))
    if outages:
        given["outages"] = outages
    return Terms(kind=kind, **given)


def shows(cluster: Cluster, key: str) -> bool:
    """Show whether the table has the columns of terms; return it."""
    return st.toggle(
        "Reserved and rented nodes", cluster.has_terms, key=f"terms-{key}", persist_state="session",
        help="Shows columns for nodes that are reserved, on demand or spot",
    )  # fmt: skip


def scaling(cluster: Cluster, key: str) -> Scaling:
    """Show when nodes on demand and spot nodes are rented; return what the fields say."""
    now, key = cluster.scaling or Scaling(), tables.widget_key(key)
    st.markdown("**When nodes are rented**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wait_h = st.number_input(
            "For jobs that have waited, h", 0.0, None, now.wait_s / HOUR_S, key=f"scaling-wait-{key}", width=220,
            persist_state="session", help="0 = at once; longer waits leave more to the nodes that are always there",
        )  # fmt: skip
        length = st.number_input(
            "If so many of them wait", 1, None, now.queue_length, key=f"scaling-length-{key}", width=200,
            persist_state="session", help="Fewer suffice while no job runs",
        )  # fmt: skip
        order = st.selectbox(
            "From", ["cheapest", "listed"], ["cheapest", "listed"].index(now.order), key=f"scaling-order-{key}",
            width=240, persist_state="session",
            format_func={"cheapest": "the cheapest type first", "listed": "the types as listed"}.__getitem__,
            help="Cheapest: by price per GPU and speed",
        )  # fmt: skip
    return Scaling(wait_s=wait_h * HOUR_S, queue_length=length, order=order)
