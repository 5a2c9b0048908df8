"""The page Audit trail: who changed what and when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pandas as pd
import streamlit as st

from dlsched.ui.frame import charts, session
from dlsched.ui.frame.parts import sentence
from dlsched.wording.formats import amount

MOST_READ = 100_000
"""Rows the store keeps."""
MOST_SHOWN = 1000
PERIODS: dict[str, timedelta | None] = {
    "All": None,
    "Last day": timedelta(days=1),
    "Last 7 days": timedelta(days=7),
    "Last 30 days": timedelta(days=30),
}
NO_NAME = "(no login)"


def show() -> None:
    """Show the rows that pass the filters, and offer them as CSV."""
    rows = session.store().trail(limit=MOST_READ)
    rows = rows.assign(who=rows["who"].where(rows["who"].fillna("") != "", NO_NAME))
    if rows.empty:
        sentence("Nothing was changed yet.", ())
        st.markdown(":gray[Saved runs, scenarios and answers, notes, renames, deletions and imports are listed here.]")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        who = st.multiselect(
            "User", sorted(rows["who"].unique()), key="trail-who", width=220, help="Only their changes"
        )
        action = st.multiselect("Action", sorted(rows["action"].unique()), key="trail-action", width=220,
                                help="What was done")  # fmt: skip
        kind = st.multiselect("What", sorted(rows["kind"].unique()), key="trail-kind", width=220,
                              help="What it was done to")  # fmt: skip
        period = st.selectbox("When", list(PERIODS), key="trail-when", width=150, help="Until now")
        text = st.text_input("Text in name or id", key="trail-text", width=200, help="Part of a name, a note or an id")
    now = datetime.now(UTC).replace(tzinfo=None)
    span = PERIODS[period]
    found = passing(rows, who, action, kind, text, None if span is None else now - span)
    shown = table_of(found)
    sentence(summary(found), ())
    alt = f"{amount(len(found), 'change')}: when, user, action, what, name and id"
    st.dataframe(shown.head(MOST_SHOWN), hide_index=True, key="trail-table", placeholder="–", alt=alt)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        charts.csv_button(shown, "audit-trail", "All changes that pass the filters")
        if len(shown) > MOST_SHOWN:
            st.markdown(f":gray[Newest {MOST_SHOWN:,} of {len(shown):,}; the CSV has all.]")


def passing(
    rows: pd.DataFrame,
    who: Sequence[str],
    action: Sequence[str],
    kind: Sequence[str],
    text: str,
    since: datetime | None,
) -> pd.DataFrame:
    """Return the rows of ``Store.trail`` by these users, of these actions and kinds, with a text; empty means any."""
    for column, wanted in (("who", who), ("action", action), ("kind", kind)):
        rows = rows[rows[column].isin(wanted)] if wanted else rows
    if text.strip():
        words = rows["what"].fillna("") + " " + rows["detail"].fillna("")
        rows = rows[words.str.contains(text.strip(), case=False, regex=False)]
    return rows if since is None else rows[rows["done_at"] >= since]


def summary(rows: pd.DataFrame) -> str:
    """Return how many changes there are, by how many users and since when."""
    if rows.empty:
        return "No change passes these filters."
    named = rows.loc[rows["who"] != NO_NAME, "who"].nunique()
    users = f" by {amount(named, 'user')}" if named else ""
    return f"{amount(len(rows), 'change')}{users} since {rows['done_at'].min():%Y-%m-%d %H:%M} UTC."


def table_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the trail in the words of the page."""
    return pd.DataFrame(
        {
            "When (UTC)": rows["done_at"].dt.strftime("%Y-%m-%d %H:%M:%S"),
            "User": rows["who"],
            "Action": rows["action"],
            "What": rows["kind"],
            "Name or text": rows["detail"],
            "Id": rows["what"],
        }
    ).reset_index(drop=True)
