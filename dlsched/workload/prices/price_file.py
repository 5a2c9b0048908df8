"""Price lists in files: our own CSV form, written and read, and SkyPilot's, recognised by their headers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dlsched.domain.errors import InputError, validated
from dlsched.workload.import_report import Report
from dlsched.workload.prices.price_list import Offer, check_names
from dlsched.workload.readers.source import TraceText, guarded, open_trace

OWN, SKYPILOT = "a dlsched price list", "a SkyPilot catalogue"
COLUMNS = (
    "name", "provider", "gpu_type", "gpus", "cpus", "mem_gib", "disk_gib", "usd_per_h", "spot_usd_per_h", "currency",
    "region", "source", "as_of", "use",
)  # fmt: skip
NEEDED = ("name", "gpu_type", "gpus", "usd_per_h")
CURRENCY = "USD"
MAX_BYTES = 64 * 1024**2
MAX_LINES = 10_000
_ALSO = {
    "name": ("vmtype", "type", "machine", "instancetype"), "provider": ("cloud",), "gpu_type": ("gputype", "gpu"),
    "gpus": ("ngpus", "numgpus"), "cpus": ("vcpus",), "mem_gib": ("memorygib", "gib", "memgib"), "disk_gib": (),
    "usd_per_h": ("usdperh", "cost", "price"), "spot_usd_per_h": ("spotusdperh", "spot", "spotprice"),
    "as_of": ("asof", "date"), "region": (), "source": (), "use": (), "currency": (),
}  # fmt: skip
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_PRICE = re.compile(
    r"^(?P<before>[$€£¥₹]|[A-Za-z]{3}\s)?\s*(?P<number>[^$€£¥₹\s]+)\s*(?P<after>[$€£¥₹]|\s[A-Za-z]{3})?$"
)
_NO = ("no", "false", "0")
_FORMULA = re.compile(r"^'(?=[=+\-@\t\r])")
"""The apostrophe that tames what a spreadsheet would run as a formula."""


@dataclass(frozen=True)
class PriceRead:
    """Offers of a file, what became of its rows, its format in words, and the regions it knows with their rows."""

    offers: tuple[Offer, ...]
    report: Report
    format: str
    regions: Mapping[str, int]


@guarded
def read_prices(source: Path | bytes, name: str = "", region: str | None = None) -> PriceRead:
    """Return the offers of a price list; ``region`` (None = the cheapest of all) is one of a SkyPilot file.

    Raises
    ------
    InputError
        Naming the line, the rule and the value. A row of our own form that cannot be used makes the file unusable,
        because a silently shorter list would be a wrong one; rows of a SkyPilot file are dropped and counted.
    """
    text = open_trace(source, name)
    if len(text.data) > MAX_BYTES:
        why = f"it has {len(text.data) / 1024**2:,.0f} MiB of text; the limit is {MAX_BYTES // 1024**2}"
        raise InputError(f"file {text.name}", why, "Give one provider's file")
    if text.is_parquet:
        raise InputError(f"file {text.name}", "it is a Parquet file, but a price list must be CSV", "Save it as CSV")
    from dlsched.workload.prices.skypilot import is_skypilot, read_skypilot

    if is_skypilot(text):
        return read_skypilot(text, region)
    offers = _read_own(text)
    rows = len(offers)
    return PriceRead(offers, Report(rows, rows, 0, 0, (), text.notes), OWN, {})


def to_frame(offers: Sequence[Offer]) -> pd.DataFrame:
    """Return offers as the table of our own CSV form; reading it gives equal offers."""
    rows = [
        {**offer.model_dump(), "currency": CURRENCY, "use": "yes" if offer.use else "no",
         "as_of": offer.as_of.isoformat() if offer.as_of else None}
        for offer in offers
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=[*COLUMNS])


# ---- our own form --------------------------------------------------------------------------------


def _read_own(text: TraceText) -> tuple[Offer, ...]:
    header, lines = _lines(text)
    _one_currency(lines)
    offers: list[Offer] = []
    at: dict[str, int] = {}
    for line, record in lines:
        offer = _offer(f"line {line}", record)
        if offer.name in at:
            why = f"{offer.name!r} is also the name in line {at[offer.name]}"
            raise InputError(f"line {line}, column {header['name']}", why, "Give each machine type its own name")
        at[offer.name] = line
        offers.append(offer)
    check_names(offers)
    return tuple(offers)


def _lines(text: TraceText) -> tuple[dict[str, str], list[tuple[int, dict[str, str]]]]:
    """Return field -> its heading in the file, and (line, field -> cell) of each row that is not blank."""
    from dlsched.workload.readers.table import need_columns, sniff  # kept local: Arrow is slow to import

    dialect = sniff(text.data)
    header = _fields(dialect.header)
    need_columns(list(header), NEEDED, f"price list {text.name}")
    place = {field: dialect.header.index(heading) for field, heading in header.items()}
    reader = csv.reader(io.StringIO(text.data[dialect.offset :].decode()), delimiter=dialect.delimiter)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        for cells in reader:
            line = dialect.header_line + reader.line_num
            if line > MAX_LINES:
                raise InputError(f"file {text.name}", f"it has more than {MAX_LINES:,} lines", "Give a shorter list")
            if any(cell.strip() for cell in cells):
                rows.append(
                    (
                        line,
                        {field: _FORMULA.sub("", cells[at].strip()) for field, at in place.items() if at < len(cells)},
                    )
                )
    except csv.Error as error:
        raise InputError(f"file {text.name}", f"its lines cannot be read: {error}", "Check the quotes") from None
    if not rows:
        raise InputError(f"file {text.name}", "it has only a header and no data rows", "Add one line per machine type")
    return header, rows


def _fields(header: Sequence[str]) -> dict[str, str]:
    field_of = {_bare(word): field for field in COLUMNS for word in (field, *_ALSO[field])}
    headings: dict[str, str] = {}
    for heading in header:
        field = field_of.get(_bare(heading))
        if field:
            headings.setdefault(field, heading)
    return headings


def _bare(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _one_currency(lines: Sequence[tuple[int, dict[str, str]]]) -> None:
    """Raise InputError where prices are in several currencies, or not in dollars."""
    lines_of: dict[str, list[int]] = {}
    for line, record in lines:
        for currency in _currencies(record):
            lines_of.setdefault(currency, []).append(line)
    if len(lines_of) > 1:
        rows = "; ".join(f"{currency} in {_line_list(numbers)}" for currency, numbers in sorted(lines_of.items()))
        raise InputError("price list, currencies", f"they are mixed: {rows}", "Convert all prices to USD")
    if lines_of and CURRENCY not in lines_of:
        why = f"all prices are in {next(iter(lines_of))}, but the planner uses {CURRENCY}"
        raise InputError("price list, currencies", why, f"Convert them and enter {CURRENCY} as the currency")


def _line_list(lines: Sequence[int]) -> str:
    distinct = list(dict.fromkeys(lines))
    more = f" and {len(distinct) - 5:,} more" if len(distinct) > 5 else ""
    return f"line {', '.join(map(str, distinct[:5]))}{more}"


def _currencies(record: Mapping[str, str]) -> set[str]:
    """Return the currencies of a row's prices: by its own column, else by signs; dollars where nothing is said."""
    signs = {_split(record.get(field, ""))[1] for field in ("usd_per_h", "spot_usd_per_h") if record.get(field)}
    named = record.get("currency", "").upper()
    stated = {sign for sign in signs if sign} | ({_SIGNS.get(named, named)} if named else set())
    return stated or {CURRENCY}


def _split(price: str) -> tuple[str, str]:
    """Return the number and the currency of a price as text; the currency is "" where none is written."""
    parts = _PRICE.match(price.strip())
    if parts is None:
        return price, ""
    sign = (parts["before"] or parts["after"] or "").strip()
    return parts["number"], _SIGNS.get(sign, sign.upper())


def _offer(where: str, record: Mapping[str, str]) -> Offer:
    given: dict[str, Any] = {field: cell for field, cell in record.items() if cell and field not in ("currency", "use")}
    for field in ("usd_per_h", "spot_usd_per_h"):
        if field in given:
            given[field] = _split(given[field])[0]
    if record.get("use"):
        given["use"] = record["use"].lower() not in _NO
    for field in NEEDED:
        if field not in given:
            raise InputError(f"{where}, column {field}", "is empty", "Fill it in, or delete the line")
    return validated(Offer, given, where)
