"""A price list as an editable table and back; every complaint names the row and the column as shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.errors import InputError, from_validation
from dlsched.ui.frame.tables import is_empty, number_of, text_of
from dlsched.workload.prices.price_list import Offer, PriceList, check_names, spot_or_discounted, usd_per_gpu_h

LABELS = {
    "use": "Use", "name": "Type", "gpu_type": "GPU", "gpus": "GPUs", "usd_per_h": "$/h", "usd_per_gpu_h": "$/GPU-h",
    "spot_usd_per_h": "Spot $/h", "provider": "Provider", "cpus": "CPUs", "mem_gib": "GiB",
    "disk_gib": "Disk GiB", "region": "Region",
    "source": "Source", "as_of": "Date",
}  # fmt: skip
TYPED = "typed in"
PRICES = ("usd_per_h", "spot_usd_per_h")
_NUMBERS = ("gpus", "cpus", "mem_gib", "disk_gib", *PRICES)


def offers_frame(prices: PriceList) -> pd.DataFrame:
    """Return the offers as an editable table; the column $/GPU-h follows from the others."""
    rows = [offer.model_dump() for offer in prices.offers]
    frame = pd.DataFrame(rows, columns=[*LABELS]).astype(object)
    return with_gpu_prices(frame.where(frame.notna(), None), prices)


def new_row(frame: pd.DataFrame, today: date) -> pd.DataFrame:
    """Return the table with one more row to fill in; its price is empty, so that nobody takes it for one."""
    names = set(frame["name"])
    name = next(name for number in range(1, len(names) + 2) if (name := f"new type {number}") not in names)
    row = {"use": True, "name": name, "gpu_type": "GPU", "gpus": 1, "source": TYPED, "as_of": today}
    more = pd.DataFrame([row], columns=[*LABELS]).astype(object)
    return pd.concat([frame.astype(object), more.where(more.notna(), None)], ignore_index=True)


def live_rows(
    begin: pd.DataFrame, edited: Mapping[int, Mapping[str, Any]], prices: PriceList, today: date
) -> pd.DataFrame:
    """Return the rows the table began with, with $/GPU-h as edited, and today's date where a price was typed in."""
    records = begin.to_dict("records")
    for row, cells in edited.items():
        if row < len(records) and any(name in cells and cells[name] != records[row][name] for name in PRICES):
            records[row] |= {"source": TYPED, "as_of": today}
    after = [{**record, **edited.get(row, {})} for row, record in enumerate(records)]
    paid = [_gpu_price(record, prices) for record in after]
    rows = pd.DataFrame(records, columns=begin.columns, index=begin.index).astype(object)
    return rows.assign(usd_per_gpu_h=pd.Series(paid, index=begin.index, dtype=object))


def with_gpu_prices(frame: pd.DataFrame, prices: PriceList) -> pd.DataFrame:
    """Return the table with what is paid for one GPU for an hour; empty where it cannot be told."""
    paid = [_gpu_price(record, prices) for record in frame.to_dict("records")]
    return frame.assign(usd_per_gpu_h=pd.Series(paid, index=frame.index, dtype=object))


def _gpu_price(record: Mapping[Any, Any], prices: PriceList) -> float | None:
    usd, spot, gpus = number_of(record["usd_per_h"]), number_of(record["spot_usd_per_h"]), number_of(record["gpus"])
    if usd is None or usd <= 0:
        return None
    off = prices.discounts.get(text_of(record["provider"]), 0.0)
    return usd_per_gpu_h(spot_or_discounted(usd, spot if spot and spot > 0 else None, off, use_spot=prices.use_spot),
                         gpus)  # fmt: skip


def columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the column settings of the table."""
    number, text, label = st.column_config.NumberColumn, st.column_config.TextColumn, LABELS
    longest = max([value for value in frame["usd_per_gpu_h"] if value is not None], default=1.0)
    return {
        "use": st.column_config.CheckboxColumn(label["use"], width=62, help="Ticked: scenarios may rent it"),
        "name": text(label["name"], max_chars=80, width=105, help="Name of the machine type; each its own"),
        "gpu_type": text(label["gpu_type"], max_chars=80, width=70, help="GPU type, as jobs and run times name it"),
        "gpus": number(label["gpus"], min_value=0, max_value=1024, step=1, width=72, help="GPUs of one machine"),
        "usd_per_h": number(label["usd_per_h"], format="%.2f", width=70, help="List price of one machine, on demand"),
        "usd_per_gpu_h": st.column_config.ProgressColumn(
            label["usd_per_gpu_h"], format="$%.2f", min_value=0.0, max_value=longest, width=105,
            help="What is paid for one GPU for an hour: after the discount, or on spot",
        ),
        "spot_usd_per_h": number(label["spot_usd_per_h"], format="%.2f", width=92, help="Empty = not known"),
        "provider": text(label["provider"], max_chars=80, width=95, help="Discounts are by provider"),
        "cpus": number(label["cpus"], min_value=0.0, width=75, help="CPU cores of one machine; empty = not a limit"),
        "mem_gib": number(label["mem_gib"], min_value=0.0, width=60, help="Memory of one machine; empty = not a limit"),
        "disk_gib": number(label["disk_gib"], min_value=0.0, width=80, help="Disk of one machine; empty = not a limit")
        if frame["disk_gib"].notna().any()
        else None,
        "region": text(label["region"], max_chars=80, width=80, help="Region the price holds in"),
        "source": text(label["source"], max_chars=200, help="Where the price comes from"),
        "as_of": st.column_config.DateColumn(label["as_of"], help="The day the price was true"),
    }  # fmt: skip


def offers_of(frame: pd.DataFrame) -> tuple[Offer, ...]:
    """Return the offers of the table.

    Raises
    ------
    InputError
        Naming the row, the column and the rule.
    """
    offers = tuple(_offer(f"row {row}", record) for row, record in enumerate(frame.to_dict("records"), 1))
    check_names(offers)
    return offers


def _offer(where: str, record: Mapping[Any, Any]) -> Offer:
    for name in ("name", "gpu_type", "gpus", "usd_per_h"):
        if is_empty(record[name]):
            raise InputError(f"{where}, column {LABELS[name]}", "is empty", "Fill it in, or delete the row")
    given: dict[str, Any] = {
        name: text_of(record[name]) for name in ("name", "gpu_type", "provider", "region", "source")
    }
    given |= {name: None if is_empty(record[name]) else record[name] for name in (*_NUMBERS, "as_of")}
    given["use"] = not is_empty(record["use"]) and bool(record["use"])
    try:
        return Offer.model_validate(given)
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        told = from_validation(where, error)
        raise InputError(f"{where}, column {LABELS.get(field, field)}", told.why, "Correct the value") from error
