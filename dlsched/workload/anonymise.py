"""A copy of a log or scenario without names and dates, on which every replay gives the same numbers.

Names become a letter and digits of a keyed hash (BLAKE2b), the same for the same name and key. Partitions, nodes and
node types are numbered in their own order instead, because that order decides which of equal nodes a job gets. Dates
move by a whole number of weeks, so that weekday and hour stay. Everything else stays: times from the first job, what
jobs request, priorities, recorded outcomes, names of GPU types. No text is copied but those.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.assumptions import EXAMPLE_PRICE, Assumption
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.columns import COLUMNS
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Texts, Workload, partition_names
from dlsched.workload.anonymise_rules import (
    host_lists,
    names_in_queues,
    names_in_slurm,
    renamed_queues,
    renamed_slurm,
)
from dlsched.workload.hostlist import compress, expand, in_order

LETTERS: Mapping[str, str] = {
    "job_id": "j", "user": "u", "group": "g", "model": "m", "profile": "f", "job_class": "c",
    "features": "t",
}  # fmt: skip
"""First letter of the names that stand in for those of a column; others have x."""
KEPT = ("gpu_types",)
"""Text columns that stay: GPU types decide where a job may run and how fast."""
IN_ORDER = ("partition", "recorded_nodes")
_JOINED = re.compile(r"[^&|]+")
DIGITS = (12, 18, 30)
"""How many digits a name may have: the first of these with which no two names are the same."""
LEAST_WEEKS, MOST_WEEKS = 52, 520
EARLY_YEAR = 1995
"""Dates before this year move forwards, as clocks start in 1980."""
MOST_NODE_NAMES = 20_000_000
STATUS_WORDS = frozenset({
    "aborted", "boot_fail", "canceled", "cancelled", "completed", "complete", "completing", "deadline", "done", "error",
    "evicted", "exit", "failed", "finished", "killed", "node_fail", "out_of_memory", "partial", "pass", "passed",
    "pending", "preempted", "requeued", "resizing", "revoked", "running", "stopped", "succeeded", "success",
    "suspended", "terminated", "timeout", "unknown",
})  # fmt: skip
"""Recorded outcomes that are copied, in small letters; what follows the first word is not."""
SAME = "as in the original"
ABOUT_NAMES = frozenset({"rule", "users"})
"""Kinds of assumptions that are left out: their words may hold names."""
_WORD = re.compile(r"[A-Za-z_]+")


@dataclass(frozen=True, eq=False)
class Copy:
    """The copy, and how many names of each kind were replaced, most first."""

    scenario: Scenario
    replaced: Mapping[str, int]
    has_dates: bool


def anonymised(scenario: Scenario, key: bytes) -> Copy:
    """Return a copy of a scenario without names and dates; ``key``, of up to 64 bytes, decides what stands for them.

    Raises
    ------
    InputError
        Where the jobs are generated from a description: its words are part of what is drawn. Also for more than
        20 million node names.
    """
    if scenario.generator is not None:
        do = "Save the jobs as a table first, or share the description itself"
        raise InputError(f"scenario {scenario.name!r:.80}", "has jobs that are generated, not recorded", do)
    jobs, cluster = scenario.workload, scenario.cluster
    of_slurm = names_in_slurm(scenario.slurm)
    partitions = _partitions_of(jobs, cluster, of_slurm.get("partition", set()))
    nodes = _Nodes.of(jobs, cluster, host_lists(scenario.slurm), key)
    new_names: dict[str, Mapping[str, str]] = {"partition": partitions}
    columns: dict[str, Any] = {}
    replaced: dict[str, int] = {}
    profiles = () if scenario.speed.times is None else scenario.speed.times.profiles
    for column in COLUMNS:
        values = getattr(jobs, column.name)
        if column.kind != "text" or column.name in (*KEPT, *IN_ORDER, "recorded_status", "features"):
            continue
        beside = of_slurm.get(column.name, {*profiles} if column.name == "profile" else set())
        new = new_names[column.name] = pseudonyms({*(() if values is None else values)} | beside, key, column.name)
        if values is not None:
            columns[column.name] = _mapped(values, new)
        if values is not None or new:
            replaced[column.name] = len(new)
    if jobs.partition is not None:
        columns["partition"] = _mapped(jobs.partition, {str(e): _entry(str(e), partitions) for e in {*jobs.partition}})
    if partitions:
        replaced["partition"] = len(partitions)
    features = _features_of(jobs, cluster, key)
    if jobs.features is not None:
        columns["features"] = _mapped(jobs.features, {str(e): _tagged(str(e), features) for e in {*jobs.features}})
    if features:
        replaced["features"] = len(features)
    if jobs.recorded_status is not None:
        outcomes = {str(text): _status(str(text), key) for text in {*jobs.recorded_status}}
        columns["recorded_status"] = _mapped(jobs.recorded_status, outcomes)
    if jobs.recorded_nodes is not None:
        columns["recorded_nodes"] = _mapped(jobs.recorded_nodes, nodes.lists)
    if nodes.count:
        replaced["node"] = nodes.count
    queues = _numbered(sorted(names_in_queues(scenario.queues)), "q")
    if queues:
        replaced["queue"] = len(queues)
    types = _types_of(cluster)
    meta = _moved(jobs.meta, key)
    copy = replace(jobs, **columns, meta=meta)
    return Copy(
        scenario.replace(
            workload=copy,
            cluster=_cluster(cluster, types, partitions, nodes, features),
            speed=_speed(scenario.speed, new_names["profile"]),
            queues=None if scenario.queues is None else renamed_queues(scenario.queues, jobs, new_names, queues, types),
            slurm=None if scenario.slurm is None else renamed_slurm(scenario.slurm, new_names, nodes.lists),
            name="anonymised",
            assumptions=_assumptions(scenario.assumptions),
        ),
        dict(sorted(replaced.items(), key=lambda item: -item[1])),
        "time_zero" in meta,
    )


def key_of(secret: str | None = None) -> bytes:
    """Return the key of a secret; a random one, which is kept nowhere, without one."""
    return secrets.token_bytes(64) if secret is None else blake2b(secret.encode(errors="surrogatepass")).digest()


# ---- names -------------------------------------------------------------------------------------------


def pseudonyms(names: Iterable[str], key: bytes, column: str) -> dict[str, str]:
    """Return what stands in for each name of a column; different names get different ones, "" stays out.

    Only digits follow the letter, so that no name of letters comes about by chance.
    """
    distinct = {str(name) for name in names} - {""}
    for digits in DIGITS:
        found = {name: _pseudonym(name, key, column, digits) for name in distinct}
        if len(set(found.values())) == len(found):
            return found
    raise InputError(f"column {column}", "two names have the same hash", "Try again with another key")


def _pseudonym(name: str, key: bytes, column: str, digits: int) -> str:
    text = f"{column}\0{name}".encode(errors="surrogatepass")
    number = int.from_bytes(blake2b(text, key=key, digest_size=16).digest(), "big")
    return LETTERS.get(column, "x") + f"{number:039d}"[-digits:]


def _mapped(values: Texts, new: Mapping[str, str]) -> Texts:
    """Return the column with other names; what is not among them, such as "", becomes empty."""
    codes, names = pd.factorize(values)
    return np.array([new.get(str(name), "") for name in names], dtype=object)[codes]


def _status(text: str, key: bytes) -> str:
    """Return the first word of an outcome where it is a usual one: "CANCELLED by 1001" names a user."""
    if not text:
        return ""
    word = _WORD.match(text.strip())
    if word is not None and word.group().lower() in STATUS_WORDS:
        return word.group()
    return _pseudonym(text, key, "recorded_status", DIGITS[0])


def _numbered(names: Sequence[str], lead: str) -> dict[str, str]:
    """Return numbers in the order of the names: p01, p02, ...; sorted they are in the same order."""
    digits = max(2, len(str(len(names))))
    return {name: f"{lead}{number:0{digits}d}" for number, name in enumerate(names, 1)}


def _partitions_of(jobs: Workload, cluster: Cluster, others: set[str]) -> dict[str, str]:
    entries = {
        *(() if jobs.partition is None else jobs.partition),
        *(pool.partition for pool in cluster.pools),
        *others,
    }
    return _numbered(sorted(frozenset().union(*(partition_names(str(entry)) for entry in entries))), "p")


def _entry(entry: str, new: Mapping[str, str]) -> str:
    """Return the partitions of a job or a node, "a|b", by their new names."""
    return "|".join(new[name.strip()] for name in entry.split("|") if name.strip())


def _features_of(jobs: Workload, cluster: Cluster, key: bytes) -> dict[str, str]:
    entries = {*(() if jobs.features is None else jobs.features), *(pool.features for pool in cluster.pools)}
    return pseudonyms((name.strip() for entry in entries for name in _JOINED.findall(str(entry))), key, "features")


def _tagged(entry: str, new: Mapping[str, str]) -> str:
    """Return features of a job, "a&b", or a node, "a|b", by their new names."""
    return _JOINED.sub(lambda name: new.get(name[0].strip(), ""), entry)


# ---- nodes -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Host list -> host list of the copy, and how many nodes they name."""

    lists: Mapping[str, str]
    count: int

    @classmethod
    def of(cls, jobs: Workload, cluster: Cluster, others: set[str], key: bytes) -> _Nodes:
        """Number all nodes in natural order; a text that is no host list is hashed as a whole."""
        recorded = () if jobs.recorded_nodes is None else jobs.recorded_nodes
        texts = {*recorded, *(pool.nodes for pool in cluster.pools), *others}
        expanded: dict[str, list[str]] = {}
        other: dict[str, str] = {}
        total = 0
        for text in {str(one) for one in texts} - {""}:
            try:
                expanded[text] = expand(text)
            except InputError:
                other[text] = _pseudonym(text, key, "recorded_nodes", DIGITS[0])
                continue
            total += len(expanded[text])
            if total > MOST_NODE_NAMES:
                why = f"the host lists name more than {MOST_NODE_NAMES:,} nodes in all"
                raise InputError("column recorded_nodes", why, "Leave the column out")
        new = _numbered(in_order(name for names in expanded.values() for name in names), "n")
        lists = {text: _list_of([new[name] for name in names]) for text, names in expanded.items()}
        return cls(lists | other, len(new) + len(other))


def _list_of(names: list[str]) -> str:
    """Return names as a host list; one that repeats names keeps them all."""
    return compress(names) if len(set(names)) == len(names) else ",".join(names)


# ---- dates, cluster, speed, assumptions -----------------------------------------------------------------


def _moved(meta: Mapping[str, str], key: bytes) -> dict[str, str]:
    """Return the date of second 0, moved by a whole number of weeks, and its zone where that is UTC; nothing else."""
    try:
        zero = datetime.fromisoformat(meta.get("time_zero", ""))
    except ValueError:
        return {}
    zone = "as recorded"
    if zero.tzinfo is not None:
        zero, zone = zero.astimezone(UTC).replace(tzinfo=None), "UTC"
    span = MOST_WEEKS - LEAST_WEEKS + 1
    weeks = LEAST_WEEKS + int.from_bytes(blake2b(b"weeks", key=key, digest_size=8).digest(), "big") % span
    with suppress(OverflowError):
        moved = zero + timedelta(weeks=weeks if zero.year < EARLY_YEAR else -weeks)
        return {"time_zero": moved.isoformat(), "time_zone": zone}
    return {}


def _types_of(cluster: Cluster) -> dict[str, str]:
    return _numbered(sorted({vm.name for vm in (*(pool.vm for pool in cluster.pools), *cluster.catalogue)}), "type-")


def _cluster(
    cluster: Cluster,
    types: Mapping[str, str],
    partitions: Mapping[str, str],
    nodes: _Nodes,
    features: Mapping[str, str],
) -> Cluster:
    """Return the cluster with node types, partitions and nodes numbered, and other names of features."""

    def renamed(vm: VmType) -> VmType:
        return vm.model_copy(update={"name": types[vm.name]})

    def pool_of(pool: Pool) -> Pool:
        named = {"partition": _entry(pool.partition, partitions), "nodes": nodes.lists.get(pool.nodes, "")}
        named["features"] = _tagged(pool.features, features)
        return pool.model_copy(update={"vm": renamed(pool.vm), **named})

    pools, catalogue = tuple(map(pool_of, cluster.pools)), tuple(map(renamed, cluster.catalogue))
    return cluster.model_copy(update={"pools": pools, "catalogue": catalogue})


def _speed(speed: SpeedSpec, profiles: Mapping[str, str]) -> SpeedSpec:
    if speed.times is None:
        return speed
    rows = {profiles[profile]: by_type for profile, by_type in speed.times.rows.items()}
    return speed.model_copy(update={"times": TimeTable(rows=rows)})


def _assumptions(given: Sequence[Assumption]) -> tuple[Assumption, ...]:
    """Return what kinds of assumptions there are, without their words."""
    kinds = {"example-price" if one.is_example_price else one.kind: one.since for one in given}
    return tuple(
        Assumption(kind=kind, text=EXAMPLE_PRICE if kind == "example-price" else SAME, since=since)
        for kind, since in kinds.items()
        if kind not in ABOUT_NAMES
    )
