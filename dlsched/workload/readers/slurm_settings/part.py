"""What one file says of a Slurm, with what of it is not modelled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
