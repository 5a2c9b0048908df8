"""Price lists in SkyPilot's form (``vms.csv``): one line for each machine type, region and zone."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.workload import Floats, Texts
from dlsched.workload.import_report import Ledger
from dlsched.workload.prices.price_file import SKYPILOT, PriceRead
from dlsched.workload.prices.price_list import LARGEST_PRICE, Offer, check_names
from dlsched.workload.readers.convert import clean_texts, numbers
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Table, need_columns, read_table, sniff

SIGNS = ("InstanceType", "AcceleratorName")
NEEDED = (*SIGNS, "AcceleratorCount", "Price")
OPTIONAL = ("vCPUs", "MemoryGiB", "GpuInfo", "SpotPrice", "Region", "AvailabilityZone")
LONGEST_INFO = 4096
LONGEST_NAME = 80
MOST_GPUS = 1024
MOST_INFOS = 5_000
NO_REGION = "(no region)"

Infos = list[tuple[str, int] | None]
"""(GPU name, GPUs of one machine) of each row, by its GpuInfo."""


def is_skypilot(text: TraceText) -> bool:
    """Whether the header is that of a SkyPilot catalogue, in any order."""
    return set(SIGNS) <= set(sniff(text.data).header)


def read_skypilot(text: TraceText, region: str | None = None) -> PriceRead:
    """Return the machine types with GPUs of a catalogue; one offer for each type.

    Without ``region`` each type is taken from where it is cheapest. Of several zones the cheapest on-demand price
    counts, then the cheapest spot price.

    Raises
    ------
    InputError
        If columns are missing, the region is not in the file, or no machine with GPUs is left.
    """
    dialect = sniff(text.data)
    need_columns(dialect.header, NEEDED, f"SkyPilot catalogue {text.name}")
    table = read_table(text, dialect, (*NEEDED, *OPTIONAL))
    ledger = table.ledger("InstanceType")
    ledger.notes[:0] = text.notes
    rows = _machines(table, ledger)
    regions = Counter(rows["region"][ledger.alive])
    _take_region(ledger, rows["region"], region, regions, text.name)
    _cheapest(ledger, rows)
    if table.rows and not ledger.alive.any():
        drops = sorted((f for f in ledger.findings if f.kind == "dropped"), key=lambda f: -f.count)
        reasons = "; ".join(f"{f.count:,} x {f.reason}" for f in drops[:3])
        why = f"it has no machine with GPUs that can be rented: {reasons}"
        raise InputError(f"file {text.name}", why, "Give the vms.csv of a provider of GPU machines")
    report = ledger.report()
    where = f"region {region}" if region else "cheapest region of each type"
    source = f"SkyPilot {text.name[:100]}, {where}"[:200]
    offers = tuple(_offers(rows[ledger.alive], source))
    check_names(offers)
    return PriceRead(offers, report, SKYPILOT, dict(regions.most_common()))


# ---- columns -------------------------------------------------------------------------------------


def _machines(table: Table, ledger: Ledger) -> pd.DataFrame:
    """Return the columns of offers; rows that are no machine with whole GPUs and a price are dropped in the books."""
    name = _names(table, ledger, "InstanceType")
    gpu_type = _names(table, ledger, "AcceleratorName")
    rule = "Dropped: only whole machines with GPUs can be rented in dlsched"
    ledger.drop(name == "", "no InstanceType: a TPU, or a GPU priced apart", rule, gpu_type, unreadable=False)
    infos = _infos(table)
    gpu_type, gpus = _accelerators(table, ledger, gpu_type, infos)
    is_tpu = np.array([kind.lower().startswith("tpu") for kind in gpu_type], dtype=bool)
    ledger.drop(is_tpu, "a TPU", rule, gpu_type, unreadable=False)
    ledger.drop(gpu_type == "", "no accelerator: CPU only", rule, unreadable=False)
    _whole_gpus(ledger, gpus)
    _check_infos(table, ledger, gpus, infos)
    usd, spot = _prices(table, ledger)
    region = clean_texts(table.columns["Region"]).values if "Region" in table.columns else np.full(table.rows, "")
    return pd.DataFrame({
        "name": name, "gpu_type": gpu_type, "gpus": gpus, "usd": usd, "spot": spot,
        "cpus": _optional(table, ledger, "vCPUs"), "mem": _optional(table, ledger, "MemoryGiB"),
        "region": np.where(region == "", NO_REGION, region).astype(object),
    })  # fmt: skip


def _names(table: Table, ledger: Ledger, column: str) -> Texts:
    cleaned = clean_texts(table.columns[column])
    values = cleaned.values.astype(object)
    long = np.array([len(value) > LONGEST_NAME for value in values], dtype=bool)
    ledger.repair(
        cleaned.changed & (values != ""), f"{column} contains spaces or control characters", "Taken out", values
    )
    ledger.repair(long, f"{column} is longer than {LONGEST_NAME} characters", "Cut", values)
    ledger.flag(cleaned.suspicious, f"{column} looks like a formula or markup", "Kept as plain text", values)
    return np.array([value[:LONGEST_NAME] for value in values], dtype=object)


def _accelerators(table: Table, ledger: Ledger, named: Texts, infos: Infos) -> tuple[Texts, Floats]:
    """Return GPU type and GPUs of each row; GpuInfo fills what the columns do not say."""
    count = numbers(table.columns["AcceleratorCount"])
    ledger.drop(count.bad, "AcceleratorCount is not a number", "Dropped", table.columns["AcceleratorCount"])
    has_info = np.array([info is not None for info in infos], dtype=bool)
    no_name, no_count = has_info & (named == ""), has_info & count.missing
    ledger.repair(no_name, "AcceleratorName is empty", "Taken from GpuInfo")
    ledger.repair(no_count, "AcceleratorCount is empty", "Taken from GpuInfo")
    names = [info[0] if info and lacking else name for name, info, lacking in zip(named, infos, no_name, strict=True)]
    stated = _told(infos)
    return np.array(names, dtype=object), np.where(no_count, stated, count.values)


def _infos(table: Table) -> Infos:
    """Return (name, GPUs) by GpuInfo of each row; None if it says nothing that can be read."""
    if "GpuInfo" not in table.columns or not table.rows:
        return [None] * table.rows
    coded = table.columns["GpuInfo"].combine_chunks().dictionary_encode()
    texts = coded.dictionary.to_pylist()
    parsed = [gpu_info(text) if number < MOST_INFOS else None for number, text in enumerate(texts)]
    return [parsed[number] for number in coded.indices.to_pylist()]


def _told(infos: Infos) -> Floats:
    return np.array([np.nan if info is None else info[1] for info in infos], dtype=np.float64)


def _check_infos(table: Table, ledger: Ledger, gpus: Floats, infos: Infos) -> None:
    """Hold the columns against GpuInfo."""
    if "GpuInfo" not in table.columns:
        return
    stated = _told(infos)
    differs = ~np.isnan(stated) & (stated != gpus)
    ledger.flag(differs, "GpuInfo states another number of GPUs", "AcceleratorCount is taken", stated)
    given = ~numbers(table.columns["GpuInfo"]).missing
    rule = "Ignored: the other columns hold what is needed"
    ledger.flag(np.isnan(stated) & given, "GpuInfo cannot be read", rule, table.columns["GpuInfo"])


@lru_cache(maxsize=MOST_INFOS)
def gpu_info(text: str) -> tuple[str, int] | None:
    """Return (GPU name, number of GPUs) of a GpuInfo text such as ``{'Gpus': [{'Name': 'T4', 'Count': 1}]}``.

    It is read as a Python literal and never run; None for anything else, and for more than LONGEST_INFO characters.
    """
    if not text or len(text) > LONGEST_INFO:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = ast.literal_eval(text)
        first = parsed["Gpus"][0]
        name, gpus = str(first["Name"]).strip()[:LONGEST_NAME], int(first["Count"])
    except (ValueError, SyntaxError, TypeError, LookupError, OverflowError, MemoryError, RecursionError):
        return None
    printable = "".join(letter for letter in name if letter.isprintable())
    return (printable, gpus) if printable and 0 < gpus <= MOST_GPUS else None


def _whole_gpus(ledger: Ledger, gpus: Floats) -> None:
    ledger.drop(np.isnan(gpus), "AcceleratorCount is empty", "Dropped: the number of GPUs is not known")
    ledger.drop(gpus <= 0, "AcceleratorCount is 0 or less", "Dropped", gpus)
    part = "share of a GPU: AcceleratorCount is not a whole number"
    ledger.drop(gpus % 1 != 0, part, "Dropped: machines in dlsched have whole GPUs", gpus, unreadable=False)
    ledger.drop(gpus > MOST_GPUS, f"more than {MOST_GPUS:,} GPUs in one machine", "Dropped", gpus)


def _prices(table: Table, ledger: Ledger) -> tuple[Floats, Floats]:
    """Return on-demand and spot prices; a spot price of 0 or none is not known (NaN)."""
    price = numbers(table.columns["Price"])
    ledger.drop(price.bad, "Price is not a number", "Dropped", table.columns["Price"])
    ledger.drop(price.missing, "no on-demand price", "Dropped: rented machines need a price", unreadable=False)
    rule = f"Dropped: a price is above 0 and at most {LARGEST_PRICE:,.0f} $/h"
    ledger.drop((price.values <= 0) | (price.values > LARGEST_PRICE), "price out of range", rule, price.values)
    if "SpotPrice" not in table.columns:
        return price.values, np.full(table.rows, np.nan)
    spot = numbers(table.columns["SpotPrice"])
    wrong = spot.bad | (spot.values < 0) | (spot.values > LARGEST_PRICE)
    ledger.repair(wrong, "SpotPrice cannot be used", "Treated as unknown", table.columns["SpotPrice"])
    spot_usd = np.where(wrong | (spot.values == 0), np.nan, spot.values)
    ledger.flag(spot_usd > price.values, "spot price above the on-demand price", "Kept as it is", spot_usd)
    return price.values, spot_usd


def _optional(table: Table, ledger: Ledger, column: str) -> Floats:
    if column not in table.columns:
        return np.full(table.rows, np.nan)
    read = numbers(table.columns[column])
    wrong = read.bad | (read.values < 0)
    ledger.repair(wrong, f"{column} cannot be used", "Treated as unknown: no limit", table.columns[column])
    return np.where(wrong, np.nan, read.values)


# ---- which rows ----------------------------------------------------------------------------------


def _take_region(
    ledger: Ledger, regions: Any, region: str | None, regions_of_file: Mapping[str, int], file: str
) -> None:
    if region is None:
        return
    if region not in regions_of_file:
        raise InputError(
            f"region {region!r:.80}",
            f"is not in {file}",
            f"Regions with GPU machines: {first_of(list(regions_of_file), 8)}",
        )
    ledger.drop((regions != region).to_numpy(), "in another region", f"Dropped: only {region} was asked for", regions,
                unreadable=False)  # fmt: skip


def _cheapest(ledger: Ledger, rows: pd.DataFrame) -> None:
    """Keep one row of each machine type: the cheapest on demand, then the cheapest on spot, then the first."""
    alive = rows[ledger.alive].sort_values(["usd", "spot"], kind="stable", na_position="last")
    cheapest = alive.drop_duplicates(["name", "gpu_type", "gpus"]).index
    twice = ledger.alive.copy()
    twice[cheapest] = False
    rule = "Dropped: the lowest on-demand price is kept, then the lowest spot price"
    ledger.drop(twice, "the same type in another region or zone", rule, rows["region"], unreadable=False)


def _offers(rows: pd.DataFrame, source: str) -> list[Offer]:
    several = rows["name"].duplicated(keep=False)
    made = []
    for row, twin in zip(rows.to_dict("records"), several, strict=True):
        ending = f" ({int(row['gpus'])} x {row['gpu_type']})" if twin else ""
        made.append(Offer(
            name=row["name"][: LONGEST_NAME - len(ending)] + ending[:LONGEST_NAME],
            gpu_type=row["gpu_type"], gpus=int(row["gpus"]), cpus=_none_if_nan(row["cpus"]),
            mem_gib=_none_if_nan(row["mem"]), usd_per_h=row["usd"], spot_usd_per_h=_none_if_nan(row["spot"]),
            region="" if row["region"] == NO_REGION else row["region"][:LONGEST_NAME], source=source,
        ))  # fmt: skip
    return made


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
