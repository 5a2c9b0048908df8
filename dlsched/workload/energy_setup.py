"""Energy settings from what a user has: known GPU types, and a table of price and carbon by the hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dlsched.domain.assumptions import Assumption
from dlsched.domain.energy import MOST_STEPS, EnergySetup, GpuPower, gpu_types_of
from dlsched.domain.errors import InputError, validated
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats
from dlsched.workload.profiles.gpu_types import board_w_of
from dlsched.workload.readers.source import guarded, open_trace

IDLE_SHARE = 0.15
"""Our assumption: what an idle GPU draws of its board power, where the power of a type is not given."""
DAY_H, WEEK_H = 24, 168
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "hour": ("hour", "hourofday", "hourofweek"),
    "time_s": ("times", "seconds"),
    "date": ("datetimeutc", "datetime", "timestamp", "time", "date", "starttime", "start"),
    "usd_per_kwh": ("usdperkwh", "usdkwh", "price", "priceusdperkwh", "priceusdkwh"),
    "usd_per_mwh": ("usdpermwh", "usdmwh", "priceusdpermwh", "priceusdmwh", "lmp"),
    "g_per_kwh": (
        "gperkwh", "gco2perkwh", "gco2eperkwh", "carbonintensity", "carbonintensitygco2eqkwhdirect",
        "carbonintensitygco2eqkwhlca", "carbonintensitygco2eqkwhlifecycle",
    ),
}  # fmt: skip
"""What a column can be -> the names it goes by, without signs and capitals; the subscript of CO2 counts as 2."""
TEMPLATE = "hour,usd_per_kwh,g_per_kwh\n" + "".join(
    f"{hour},{0.12 if hour < 7 else 0.21 if 16 <= hour < 21 else 0.16},{420 if hour < 9 or hour > 17 else 310}\n"
    for hour in range(DAY_H)
)
"""A small table to start from; its numbers are made up."""


def known_power(gpu_types: Iterable[str]) -> tuple[GpuPower, ...]:
    """Return the power of the types whose board power is known: busy all of it, idle :data:`IDLE_SHARE` of it."""
    boards = {name: board_w_of(name) for name in sorted(set(gpu_types))}
    return tuple(
        GpuPower(gpu_type=name, idle_w=round(IDLE_SHARE * watts, 1), busy_w=watts)
        for name, watts in boards.items()
        if watts is not None
    )


def counting_energy(scenario: Scenario, setup: EnergySetup | None) -> Scenario:
    """Return a scenario whose energy is counted so, not at all for None, with the assumption behind its power."""
    others = tuple(one for one in scenario.assumptions if one.kind != "energy")
    assumed = (
        [] if setup is None else [one for one in known_power(gpu_types_of(scenario.cluster)) if one in setup.power]
    )
    if not assumed:
        return scenario.replace(energy=setup, assumptions=others)
    names = " or ".join(one.gpu_type for one in assumed)
    text = f"a busy {names} draws its board power, an idle one {IDLE_SHARE:.0%} of it; other parts draw nothing"
    return scenario.replace(energy=setup, assumptions=(*others, Assumption(kind="energy", text=text)))


@guarded
def with_hours(setup: EnergySetup, source: Path | bytes, name: str, zero: datetime | None) -> EnergySetup:
    """Return settings with price and carbon from a table; what it does not have stays, if it is one number.

    Rows are evenly spaced and in order. They begin at an ``hour`` (0 to 23 of each day, or 0 to 167 of each week from
    Monday on), at a time in seconds of the trace (``time_s``), or at a date (``datetime``); a date with a zone is
    converted to UTC.

    Parameters
    ----------
    zero
        Date of the trace's second 0 on its own clock; None if it has no dates: its second 0 is hour 0 then.

    Raises
    ------
    InputError
        Naming the line, the rule and the value.
    """
    from dlsched.workload.profiles.measured_rows import find_columns  # kept local: Arrow is slow to import
    from dlsched.workload.readers.convert import numbers, timestamps
    from dlsched.workload.readers.table import read_table, sniff

    text = open_trace(source, name)
    file = f"file {text.name}"
    if text.is_parquet:
        raise InputError(file, "it is a Parquet file, but prices by the hour must be CSV", "Save it as CSV")
    dialect = sniff(text.data)
    heading_of = {heading.replace("₂", "2"): heading for heading in dialect.header}
    found = {key: heading_of[name] for key, name in find_columns(tuple(heading_of), COLUMNS).items()}
    clock = next((key for key in ("hour", "time_s", "date") if key in found), None)
    values = [key for key in ("usd_per_kwh", "usd_per_mwh", "g_per_kwh") if key in found]
    if clock is None or not values:
        what = "hour, time_s or datetime" if clock is None else "usd_per_kwh, usd_per_mwh or g_per_kwh"
        raise InputError(file, f"it has no column {what}", "Name its columns as in: hour,usd_per_kwh,g_per_kwh")
    table = read_table(text, dialect, [found[key] for key in (clock, *values)])
    if table.ragged:
        ragged = table.ragged_examples[0].line
        raise InputError(
            f"{file}, line {ragged}", "it has another number of fields than the header", "Correct the line"
        )
    if not 2 <= table.rows <= MOST_STEPS:
        raise InputError(file, f"it has {table.rows:,} rows; 2 to {MOST_STEPS:,} are possible", "Give a row an hour")

    def column(key: str) -> Floats:
        read = (timestamps if key == "date" else numbers)(table.columns[found[key]])
        wrong = np.flatnonzero(np.isnan(read.values))
        if wrong.size:
            line = _line(table, int(wrong[0]))
            raise InputError(f"{file}, {line}, column {found[key]}", "there is no value that can be read", "Correct it")
        return np.asarray(read.values)

    begins = column(clock)
    steps = np.diff(begins)
    uneven = np.flatnonzero((np.abs(steps - steps[0]) > 1e-6 * abs(steps[0])) | (steps <= 0))
    if uneven.size:
        line = _line(table, int(uneven[0]) + 1)
        raise InputError(f"{file}, {line}", "rows must be in order and equally far apart", "Add or remove rows there")
    step_s, first_s = _placed(clock, begins, float(steps[0]), zero, file)
    fields: dict[str, Any] = setup.model_dump() | {"step_s": step_s, "first_s": first_s}
    for key in values:
        if key == "usd_per_mwh" and "usd_per_kwh" in values:
            continue
        target, unit = ("usd_per_kwh", 1000.0) if key == "usd_per_mwh" else (key, 1.0)
        fields[target] = tuple((column(key) / unit).tolist())
    for other in {"usd_per_kwh", "g_per_kwh"} - {"usd_per_kwh" if key.startswith("usd") else key for key in values}:
        fields[other] = fields[other] if len(fields[other]) <= 1 else ()
    return validated(EnergySetup, fields, file)


def _placed(clock: str, begins: Floats, step: float, zero: datetime | None, file: str) -> tuple[float, float]:
    """Return the length of a step and the time of the trace at which the first one begins, both in seconds."""
    if clock == "time_s":
        return step, float(begins[0])
    if clock == "date":
        if zero is None:
            why = "it has dates, but the trace has none"
            raise InputError(file, why, "Give a column hour (0 to 23) or time_s instead")
        return step, float(begins[0]) - zero.replace(tzinfo=UTC).timestamp()
    if step != 1 or begins[0] != 0 or len(begins) not in (DAY_H, WEEK_H):
        why = f"hours must be 0 to {DAY_H - 1} or 0 to {WEEK_H - 1}, got {begins[0]:g} to {begins[-1]:g}"
        raise InputError(file, why, "Give each hour of a day, or of a week from Monday on")
    if zero is None:
        return HOUR_S, 0.0
    since = (zero - zero.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
    return HOUR_S, -since - (zero.weekday() * DAY_H * HOUR_S if len(begins) == WEEK_H else 0.0)


def _line(table: Any, row: int) -> str:
    return f"line {int(table.line_of(np.array([row]))[0])}" if table.line_of is not None else f"row {row + 1}"
