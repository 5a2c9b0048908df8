"""The hosts a job ran on and its cores on each, as PBS (``exec_host``) and LSF write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_NOT_IN_NAMES = re.compile(r"[\s\[\](),]")
_LONGEST_NUMBER = 9  # digits


class Hosts(NamedTuple):
    """Host names as a comma list, how many, their cores together; whether each has as many; whether names changed."""

    names: str = ""
    nodes: int = 0
    cores: int = 0
    even: bool = True
    renamed: bool = False


def exec_hosts(text: str) -> Hosts:
    """Return the hosts of ``node1/0+node1/1``, ``node1/0-7+node2/0-3,6`` (TORQUE) or ``node1/0*8+node2/2*8`` (PBS Pro).

    A slot or a range of slots is that many cores, ``*8`` is eight cores. ValueError for anything else.
    """
    return _joined((host, _slots(slots)) for host, _, slots in (part.partition("/") for part in text.split("+")))


def counted_hosts(names: Iterable[str]) -> Hosts:
    """Return the hosts of LSF: ``16*host1``, or ``host1`` once for each core."""
    pairs = []
    for name in names:
        count, star, host = name.partition("*")
        pairs.append((host, whole(count)) if star and count.isdecimal() else (name, 1))
    return _joined(pairs)


def whole(text: str) -> int:
    """Return a count of at most nine digits; ValueError for anything else."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER):
        raise ValueError(text)
    return int(text)


def _slots(text: str) -> int:
    if not text:
        return 1
    _, star, cores = text.partition("*")
    if star:
        return whole(cores)
    total = 0
    for part in text.split(","):
        low, dash, high = part.partition("-")
        total += max(0, whole(high) - whole(low) + 1) if dash else 1
    return total


def _joined(pairs: Iterable[tuple[str, int]]) -> Hosts:
    cores: dict[str, int] = {}
    for host, count in pairs:
        cores[host] = cores.get(host, 0) + count
    cores.pop("", None)
    renamed = _NOT_IN_NAMES.search("".join(cores)) is not None
    if renamed:
        return _joined((_NOT_IN_NAMES.sub("", host), count) for host, count in cores.items())._replace(renamed=True)
    counts = cores.values()
    return Hosts(",".join(cores), len(cores), sum(counts), len(set(counts)) <= 1, renamed)
