"""What one file says of a Slurm, as texts turned into numbers with units; what of it is not modelled is counted."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dlsched.domain.units import DAY_S
from dlsched.workload.readers.slurm.times import limit_s

YEAR_S = 365 * DAY_S
MIB_PER_GIB = 1024.0
NO_VALUE = frozenset({"", "(null)", "n/a", "none", "-1", "unlimited", "infinite"})
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([KMGTP]?)B?", re.IGNORECASE)
_WITH_UNIT = re.compile(r"(\S+)\s*(?:sec|secs|seconds|min|mins|minutes)", re.IGNORECASE)
_GIB = {"": 2.0**-10, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}
_TIMES = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_GPU = re.compile(r"gres/gpu(:[\w.-]{1,40})?")
_KNOWN = frozenset({"cpu", "node", "mem", "billing"})

AccountKey = tuple[str, str, str]
"""Account, user ("" = the account itself) and partition ("" = all)."""


class Booked(NamedTuple):
    """A reservation; its times are as printed, ISO 8601 without a zone."""

    name: str
    start: str
    end: str
    nodes: str
    users: tuple[str, ...]
    accounts: tuple[str, ...]


@dataclass
class Part:
    """What one file gives: fields of the models of :mod:`dlsched.domain.slurm` by name, only those that it states.

    ``limits_hold``: whether limits of QOS and associations are enforced, None if not said. ``left_out`` counts what is
    not modelled or cannot be read, by name.
    """

    source: str
    options: dict[str, Any] = field(default_factory=dict)
    partitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    qos: dict[str, dict[str, Any]] = field(default_factory=dict)
    associations: dict[AccountKey, dict[str, Any]] = field(default_factory=dict)
    reservations: dict[str, Booked] = field(default_factory=dict)
    node_weights: dict[str, int] = field(default_factory=dict)
    switches: dict[str, str] = field(default_factory=dict)
    limits_hold: bool | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def gives(self) -> str:
        """What it gives, counted: "12 options, 3 partitions"; "nothing that counts" where it is none of it."""
        counts = (
            (len(self.options), "option", "options"), (len(self.partitions), "partition", "partitions"),
            (len(self.qos), "QOS", "QOS"), (sum(not user for _, user, _ in self.associations), "account", "accounts"),
            (sum(bool(user) for _, user, _ in self.associations), "user", "users"),
            (len(self.reservations), "reservation", "reservations"),
            (len(self.node_weights), "node weight", "node weights"), (len(self.switches), "switch", "switches"),
        )  # fmt: skip
        told = [f"{number:,} {one if number == 1 else many}" for number, one, many in counts if number]
        return ", ".join(told) or "nothing that counts"


# ---- values ------------------------------------------------------------------------------------------


def whole(text: str) -> int | None:
    """Return a whole number of up to 18 digits; None for anything else."""
    return int(text) if re.fullmatch(r"\d{1,18}", text.strip()) else None


def number(text: str) -> float | None:
    """Return a number at least 0, perhaps with a unit of time behind it; None for anything else."""
    found = _WITH_UNIT.fullmatch(text.strip())
    plain = found[1] if found else text.strip()
    return float(plain) if re.fullmatch(r"\d{1,18}(\.\d{0,12})?", plain) else None


def seconds(text: str) -> float | None:
    """Return a time in seconds, infinity where it is unlimited: minutes, [D-]H:M:S, D-H; None for anything else."""
    found = _WITH_UNIT.fullmatch(text.strip())
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
