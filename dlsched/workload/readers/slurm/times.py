"""Times, run times and time limits as Slurm writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.slurm_notation import limit_s
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.convert import Read, bools, clock_spans, is_missing, numbers, strings, timestamps
from dlsched.workload.readers.slurm.tables import by_distinct, distinct

EPOCH = r"^\d{1,11}$"


def limits_s(raw: Any, text: Any) -> Floats:
    """Return the time limit of each row from TimelimitRaw (minutes), else from Timelimit; as :func:`limit_s`."""
    minutes, written = by_distinct(raw, limit_s), by_distinct(text, limit_s)
    return np.where(np.isnan(minutes), written, minutes)


def fill_limits(ledger: Ledger, given_s: Floats, partition: Any, known: frozenset[str] = frozenset()) -> Floats:
    """Return limits in which rows without one have the largest given in their partition, else no limit (infinity).

    Nothing is filled where no row of the file gives a limit: NaN stays. So it does in the ``known`` partitions, whose
    limits come with the settings of Slurm.
    """
    told = ~np.isnan(given_s)
    if not (told & ledger.alive).any():
        return given_s
    values, which = distinct(partition)
    largest_s = np.full(len(values), -np.inf)
    np.maximum.at(largest_s, which[told], given_s[told])
    rule = "Set to the largest limit in the partition, else to 365 days"
    stays = np.array([not known.isdisjoint(value.split(",")) for value in values], dtype=bool)[which]
    ledger.repair(~told & ~stays, "time limit not recorded", rule, partition)
    of_partition = largest_s[which]
    return np.where(told | stays, given_s, np.where(np.isfinite(of_partition), of_partition, np.inf))


def instants(column: Any) -> Read:
    """Return times as seconds since 1970: ISO 8601 as written, or digits (SLURM_TIME_FORMAT=%s); 0 is none."""
    text = strings(column)
    missing = is_missing(text)
    try:  # all alike: the fast way
        plain = pc.cast(pc.if_else(missing, pa.scalar(None, pa.string()), text), pa.timestamp("s"))
    except pa.ArrowInvalid:
        return _mixed_instants(text)
    none = bools(missing)
    return Read(numbers(pc.cast(plain, pa.int64())).values, none, np.zeros(len(none), dtype=bool))


def _mixed_instants(text: Any) -> Read:
    is_epoch = pc.match_substring_regex(text, EPOCH)
    blank = pa.scalar("", pa.string())
    epoch_s = numbers(pc.if_else(is_epoch, text, blank)).values
    epoch_s = np.where(epoch_s == 0, np.nan, epoch_s)
    written = timestamps(pc.if_else(is_epoch, blank, text))
    digits = bools(is_epoch)
    values = np.where(digits, epoch_s, written.values)
    return Read(values, np.isnan(values) & ~written.bad, written.bad)


def run_s(ledger: Ledger, raw: Any, clock: Any, start_s: Floats, end_s: Floats) -> Floats:
    """Return the run time of each row: ElapsedRaw, else Elapsed, else end - start; seconds, NaN where unknown.

    Where end - start differs from the elapsed time by one hour, the clock was changed; the elapsed time holds.
    """
    counted, written = numbers(raw), clock_spans(clock)
    values = np.where(np.isnan(counted.values), written.values, counted.values)
    bad = (counted.bad | written.bad) & np.isnan(values)
    ledger.drop(bad, "elapsed time cannot be read", "Dropped: must be seconds or [DD-[HH:]]MM:SS", clock)
    span_s = end_s - start_s
    off_s = np.abs(span_s - values)
    changed: Bools = np.abs(off_s - HOUR_S) <= 1
    rule = "The elapsed time is used, not end − start; the recorded end stays as written"
    ledger.flag(changed, "clock changed by 1 h while the job ran", rule, span_s - values)
    ledger.flag((off_s > 1) & ~changed, "elapsed time is not end − start", rule, span_s - values)
    return np.where(np.isnan(values), span_s, values)
