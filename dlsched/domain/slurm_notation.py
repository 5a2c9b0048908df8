"""Values as Slurm writes them in its files, tables and commands, turned into numbers with units."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S

YEAR_S = 365 * DAY_S
NO_VALUE = frozenset({"", "(null)", "n/a", "none", "-1", "unlimited", "infinite"})
_LIMIT = re.compile(r"(?:(\d{1,9})-(\d{1,9})|(\d{1,9}))((?::\d{1,9}){0,2})")
_UNLIMITED = {"unlimited", "infinite", "infinity"}
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([KMGTP]?)B?", re.IGNORECASE)
_WITH_UNIT = re.compile(r"(\S+)\s*(?:(secs?|seconds)|mins?|minutes)", re.IGNORECASE)
_GIB = {"": 2.0**-10, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}
_TIMES = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_GPU = re.compile(r"gres/gpu(:[\w.-]{1,40})?")
_KNOWN = frozenset({"cpu", "node", "mem", "billing"})


def limit_s(text: str) -> float:
    """Return a Timelimit in seconds; infinity for an unlimited job, NaN where none is given.

    ``[D-]H:M:S``, ``D-H``, ``D-H:M``, ``M:S`` or ``M`` (minutes, as TimelimitRaw has them); sbatch(1), ``--time``.
    ``Partition_Limit``, ``INVALID`` and empty say nothing about the job.
    """
    text = text.strip()
    if text.lower() in _UNLIMITED:
        return float("inf")
    found = _LIMIT.fullmatch(text)
    if not found:
        return float("nan")
    days, hours, first, rest = found.groups()
    parts = [float(part) for part in rest.split(":")[1:]]
    if days is not None:
        minutes, seconds = [*parts, 0.0, 0.0][:2]
        return float(days) * DAY_S + float(hours) * HOUR_S + minutes * MINUTE_S + seconds
    if len(parts) == 2:
        return float(first) * HOUR_S + parts[0] * MINUTE_S + parts[1]
    return float(first) * MINUTE_S + (parts[0] if parts else 0.0)


def whole(text: str) -> int | None:
    """Return a whole number of up to 18 digits; None for anything else."""
    return int(text) if re.fullmatch(r"\d{1,18}", text.strip()) else None


def number(text: str) -> float | None:
    """Return a number at least 0, perhaps with a unit of time behind it; None for anything else."""
    found = _WITH_UNIT.fullmatch(text.strip())
    plain = found[1] if found else text.strip()
    return float(plain) if re.fullmatch(r"\d{1,18}(\.\d{0,12})?", plain) else None


def seconds(text: str) -> float | None:
    """Return a time in seconds, infinity where it is unlimited: minutes, [D-]H:M:S, D-H; None for anything else.

    A plain number counts minutes unless "sec" stands behind it.
    """
    found = _WITH_UNIT.fullmatch(text.strip())
    if found and found[2]:
        return number(text)
    value = limit_s(found[1] if found else text)
    return None if value != value else value


def yes(text: str) -> bool | None:
    """Return whether a text says yes; None for anything but yes and no."""
    return {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}.get(text.strip().lower())


def names(text: str) -> tuple[str, ...]:
    """Return the names of "a,b", each once; "(null)" and "N/A" are none."""
    found = (name.strip() for name in text.split(","))
    return tuple(dict.fromkeys(name[:120] for name in found if name.lower() not in NO_VALUE))


def tres(text: str, left_out: Counter[str], memory: Literal["gib", "per-gib", "plain"] = "gib") -> dict[str, float]:
    """Return trackable resources, "cpu=100,mem=1000G,gres/gpu:a100=4"; others, such as licences, are counted.

    ``memory``: an amount in GiB, given in MiB where it has no unit; a weight for each GiB, given for a MiB or for the
    unit behind it; or a plain number.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        name, kind = key.strip(), key.strip().lower()
        if not equals or value.strip().lower() in NO_VALUE:
            continue
        amount = _AMOUNT.fullmatch(value.strip())
        if amount is None or not (kind in _KNOWN or _GPU.fullmatch(kind)):
            left_out[f"resource {name[:40]}"] += 1
            continue
        value_of, unit = float(amount[1]), amount[2].upper()
        if kind == "mem" and memory != "plain":
            value_of = value_of * _GIB[unit] if memory == "gib" else value_of / _GIB[unit]
        else:
            value_of *= _TIMES[unit]
        found[kind if kind in _KNOWN else "gres/gpu" + name[len("gres/gpu") :]] = value_of
    return found


def preempt_mode(text: str, left_out: Counter[str], where: str) -> str | None:
    """Return OFF, CANCEL or REQUEUE; None if the text says nothing of its own or something else."""
    modes = [word.strip().upper() for word in text.split(",") if word.strip()]
    for mode in modes:
        if mode not in ("OFF", "CANCEL", "REQUEUE", "CLUSTER", "DISABLED"):
            left_out[f"{where} {mode[:20]}"] += 1
    return next((mode for mode in modes if mode in ("OFF", "CANCEL", "REQUEUE")), None)
