"""From files to the settings of a Slurm: several files make one setup, which is then put into a scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np

from dlsched.domain.assumptions import Assumption
from dlsched.domain.errors import InputError, reading, validated
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmReservation, SlurmSetup, of_partitions
from dlsched.domain.workload import Floats, Workload
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.slurm_settings.conf import looks_like_conf, read_conf
from dlsched.workload.readers.slurm_settings.part import Booked, Part
from dlsched.workload.readers.slurm_settings.reservations import looks_like_reservations, read_reservations
from dlsched.workload.readers.slurm_settings.tables import kind_of_table, read_table
from dlsched.workload.readers.source import TraceText, open_trace

MOST_BYTES = 50_000_000
NAMED = 12
LEAST_S = 1.0
WAY_OUT = (
    "Give slurm.conf, scontrol show config, scontrol show partition, sacctmgr show qos -P, sacctmgr show assoc -P, "
    "sshare -a -l -P, topology.conf or scontrol show res"
)


@dataclass(frozen=True)
class SlurmFound:
    """Settings of a Slurm that were read.

    ``sources`` say what each file gave, ``notes`` what of it is not modelled or needs attention. ``booked`` are the
    reservations with their times as printed: :func:`with_slurm` turns these into seconds of a trace.
    """

    setup: SlurmSetup
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()
    booked: tuple[Booked, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return what was found in JSON's own types: counts, and options as they were given."""
        setup = self.setup
        users = sum(bool(one.user) for one in setup.associations)
        return {
            "sources": list(self.sources), "notes": list(self.notes),
            "options": setup.options.model_dump(mode="json", exclude_none=True),
            "partitions": [one.name for one in setup.partitions], "qos": [one.name for one in setup.qos],
            "accounts": len(setup.associations) - users, "users": users, "reservations": [b.name for b in self.booked],
            "node_weights": len(setup.node_weights), "switches": len(setup.switches),
        }  # fmt: skip


def read_slurm(files: Iterable[tuple[bytes, str]]) -> SlurmFound:
    """Return the settings that files say together, each (content, name for messages); later files go before.

    Raises
    ------
    InputError
        A file without settings of a Slurm, or with a mistake.
    """
    parts = []
    for content, name in files:
        with reading(f"file {name}"):
            text = open_trace(content, name)
            part = _part(text)
        if part is None or part.gives == Part("").gives:
            raise InputError(f"file {text.name}", "it has no settings of Slurm that count", WAY_OUT)
        parts.append(part)
    return merged(parts)


@lru_cache(maxsize=2)
def settings_of(slurm: tuple[bytes, ...], description: bytes | None) -> SlurmFound | None:
    """Return the settings in the files of an import, and in the description of its cluster if that is a slurm.conf.

    None if there are none. InputError as :func:`read_slurm`.
    """
    files = [(content, f"{number} of --slurm") for number, content in enumerate(slurm, 1)]
    if description is not None:
        with reading("description of the cluster"):
            text = open_trace(description, "description of the cluster")
            head = Head(text.data)
            part = read_conf(text) if looks_like_conf(head) else Part("")
        if part.partitions or part.options:
            files = [(description, "description of the cluster"), *files]
    return read_slurm(files) if files else None


def partitions_with_limits(options: ReadOptions) -> frozenset[str]:
    """Return the partitions whose settings give a time limit to jobs without one."""
    found = settings_of(options.slurm, options.cluster)
    return frozenset() if found is None else frozenset(_default_limits(found.setup))


def _part(text: TraceText) -> Part | None:
    if text.is_parquet or len(text.data) > MOST_BYTES:
        return None
    head = Head(text.data)
    if looks_like_reservations(head):
        return read_reservations(text)
    if kind_of_table(head):
        return read_table(text)
    return read_conf(text) if looks_like_conf(head) else None


def merged(parts: Sequence[Part]) -> SlurmFound:
    """Return what parts say together; later ones go before. InputError for settings that contradict each other."""
    options: dict[str, Any] = {}
    partitions, qos = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    associations: dict[tuple[str, str, str], dict[str, Any]] = {}
    reservations, weights, switches = dict[str, Booked](), dict[str, int](), dict[str, str]()
    for part in parts:
        options |= part.options
        reservations |= part.reservations
        weights |= part.node_weights
        switches |= part.switches
        for mine, theirs in ((partitions, part.partitions), (qos, part.qos)):
            for name, given in theirs.items():
                mine[name] = mine.get(name, {}) | given
        for key, given in part.associations.items():
            associations[key] = associations.get(key, {}) | given
    notes = [f"{part.source}: {note}" for part in parts for note in part.notes]
    notes += [f"{part.source}, not modelled: {_counted(part.left_out)}" for part in parts if part.left_out]
    if next((part.limits_hold for part in reversed(parts) if part.limits_hold is not None), True) is False:
        limited = [given for given in (*qos.values(), *associations.values()) if given.pop("limits", None)]
        notes += ["AccountingStorageEnforce has no limits: those of QOS and accounts are left out"] if limited else []
    setup = {
        "options": options,
        "partitions": [{"name": name} | given for name, given in partitions.items()],
        "qos": [{"name": name} | given for name, given in qos.items()],
        "associations": _accounts(associations),
        "node_weights": weights,
        "switches": switches,
    }
    sources = tuple(f"{part.source} ({part.gives})" for part in parts)
    return SlurmFound(
        validated(SlurmSetup, setup, "settings of Slurm"), sources, tuple(notes), tuple(reservations.values())
    )


def _accounts(associations: Mapping[tuple[str, str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the associations with the accounts that only users or parents name; those without a parent are root's."""
    accounts = {one: given for (one, user, partition), given in associations.items() if not user and not partition}
    named = {account for account, _, _ in associations} | {given.get("parent", "") for given in accounts.values()}
    in_order = sorted(named - {""}, key=lambda name: (name != "root", name))
    rows = [{"account": name} | accounts.get(name, {}) for name in in_order]
    for row in rows:
        above = row.get("parent") or ("root" if "root" in named else "")
        row["parent"] = "" if row["account"] == "root" else above
    own = [
        {"account": account, "user": user, "partition": partition} | given
        for (account, user, partition), given in associations.items()
        if user or partition
    ]
    return rows + own


def _counted(left_out: Counter[str]) -> str:
    """Return what is left out, most often first: "flags of a QOS (3), SchedulerParameters bf_continue, …"."""
    listed = [name if times == 1 else f"{name} ({times:,})" for name, times in left_out.most_common(NAMED)]
    return ", ".join(listed) + (f" and {len(left_out) - NAMED:,} more" if len(left_out) > NAMED else "")


# ---- into a scenario ---------------------------------------------------------------------------------


def with_slurm(scenario: Scenario, found: SlurmFound) -> Scenario:
    """Return the scenario with these settings in place of those it has; its assumptions say where they come from.

    Jobs without a time limit get the DefaultTime, else the MaxTime of their partition. Reservations need the date of
    second 0: without it, and where they ended before, they are left out and named.
    """
    jobs, filled = with_partition_limits(scenario.workload, found.setup)
    reserved, lost = _reservations(found.booked, jobs.meta.get("time_zero", ""))
    notes = [*found.notes]
    if lost:
        verb = "is left out: it is over" if lost == 1 else "are left out: they are over"
        notes.append(f"{_amount(lost, 'reservation')} {verb} by then, or the jobs have no dates")
    if filled:
        verb, own = ("gets", "its") if filled == 1 else ("get", "their")
        notes.append(
            f"{_amount(filled, 'job')} without a time limit {verb} DefaultTime, else MaxTime, of {own} partition"
        )
    if over := over_max_time(jobs, found.setup):
        verb, own = ("has", "its") if over == 1 else ("have", "their")
        notes.append(f"{_amount(over, 'job')} {verb} a time limit above MaxTime of {own} partition")
    told = Assumption(kind="slurm", text=". ".join((f"settings from {', '.join(found.sources)}", *notes)))
    return scenario.replace(
        workload=jobs,
        slurm=found.setup.model_copy(update={"reservations": reserved}),
        assumptions=(*(one for one in scenario.assumptions if one.kind != "slurm"), told),
    )


def _amount(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def _reservations(booked: Sequence[Booked], time_zero: str) -> tuple[tuple[SlurmReservation, ...], int]:
    """Return the reservations in seconds from a date, and how many are left out: over by then, or with odd times."""
    try:
        zero = datetime.fromisoformat(time_zero).replace(tzinfo=None)
    except ValueError:
        return (), len(booked)
    kept = []
    for one in booked:
        try:
            start_s, end_s = ((datetime.fromisoformat(time) - zero).total_seconds() for time in (one.start, one.end))
        except ValueError:
            continue
        if end_s > max(start_s, 0.0):
            who = {"users": one.users, "accounts": one.accounts}
            start_s = max(start_s, 0.0)
            kept.append(SlurmReservation(name=one.name, nodes=one.nodes, start_s=start_s, end_s=end_s, **who))
    return tuple(kept), len(booked) - len(kept)


def with_partition_limits(jobs: Workload, setup: SlurmSetup) -> tuple[Workload, int]:
    """Return the jobs in which those without a time limit have that of their partition, and how many got one."""
    told = np.full(len(jobs), np.nan) if jobs.limit_s is None else jobs.limit_s
    of_partition = _by_partition(jobs, _default_limits(setup))
    filled = np.isnan(told) & ~np.isnan(of_partition)
    if not filled.any():
        return jobs, 0
    return jobs.with_columns(limit_s=np.where(filled, of_partition, told)), int(filled.sum())


def _default_limits(setup: SlurmSetup) -> dict[str, float]:
    """Return the time limit of a job without one, by partition, where there is one: DefaultTime, else MaxTime."""
    limit_s = {one.name: one.DefaultTime_s or one.MaxTime_s for one in setup.partitions}
    return {name: value for name, value in limit_s.items() if value}


def over_max_time(jobs: Workload, setup: SlurmSetup) -> int:
    """Return how many jobs have a time limit above MaxTime of their partition, of the largest of several."""
    if jobs.limit_s is None:
        return 0
    most_s = _by_partition(jobs, {one.name: one.MaxTime_s or np.inf for one in setup.partitions})
    return int((jobs.limit_s > most_s + LEAST_S).sum())


def _by_partition(jobs: Workload, value: Mapping[str, float]) -> Floats:
    """Return the value of each job's partition, the largest of several; NaN without one."""
    if jobs.partition is None or not value:
        return np.full(len(jobs), np.nan)
    return of_partitions(jobs.partition.tolist(), value)


def over_each_other(before: SlurmSetup, given: SlurmSetup) -> SlurmSetup:
    """Return the settings in which options and lists that are given replace those of before; the others stay."""
    options = before.options.model_copy(update=given.options.model_dump(exclude_none=True))
    lists = {name: value for name in SlurmSetup.model_fields if name != "options" and (value := getattr(given, name))}
    return before.model_copy(update={"options": options, **lists})
