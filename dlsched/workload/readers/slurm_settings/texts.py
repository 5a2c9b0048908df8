"""Settings in Slurm's own notation, as its files and tables have them, and back: what the page Cluster edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from dlsched.domain.errors import InputError
from dlsched.domain.slurm import (
    NOT_MODELLED,
    OPTIONS,
    SlurmAssociation,
    SlurmLimits,
    SlurmOptions,
    SlurmPartition,
    SlurmQos,
    SlurmSetup,
)
from dlsched.domain.slurm_notation import NO_VALUE, number
from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.workload.readers.slurm_settings.conf import read_option, read_partition
from dlsched.workload.readers.slurm_settings.found import merged
from dlsched.workload.readers.slurm_settings.part import Part
from dlsched.workload.readers.slurm_settings.tables import normal, read_association, read_qos

PARTITION = ("Name", "PriorityTier", "PriorityJobFactor", "MaxTime", "DefaultTime", "OverTimeLimit", "QOS",
             "TRESBillingWeights", "PreemptMode", "OverSubscribe")  # fmt: skip
QOS = ("Name", "Priority", "UsageFactor", "Preempt", "PreemptMode", "GrpJobs", "GrpTRES", "MaxJobsPU", "MaxTRESPU",
       "MaxJobsPA", "MaxTRESPA", "MaxTRES", "MaxWall")  # fmt: skip
ACCOUNT = ("Account", "User", "Partition", "ParentName", "Share", "RawUsage", "QOS", "GrpJobs", "GrpTRES", "MaxJobs",
           "MaxTRES", "MaxWall")  # fmt: skip
_NUMBERS = frozenset({"PriorityTier", "PriorityJobFactor", "Priority", "UsageFactor", "RawUsage", "GrpJobs", "MaxJobs",
                      "MaxJobsPU", "MaxJobsPA"})  # fmt: skip
_SAYS_NOTHING = NO_VALUE | {"cluster", "no"}
Row = Mapping[str, str]
_Model = TypeVar("_Model", SlurmPartition, SlurmQos, SlurmAssociation)


class Texts(NamedTuple):
    """Options by field, and rows of partitions, QOS, and accounts and users; "" = not given."""

    options: Row
    partitions: Sequence[Row]
    qos: Sequence[Row]
    accounts: Sequence[Row]


def texts_of(setup: SlurmSetup) -> Texts:
    """Return the settings in Slurm's notation."""
    return Texts(
        options_text(setup.options),
        [partition_row(one) for one in setup.partitions],
        [qos_row(one) for one in setup.qos],
        [account_row(one) for one in setup.associations],
    )


def setup_of(texts: Texts, before: SlurmSetup) -> SlurmSetup:
    """Return the settings that texts say; what they do not show, such as reservations, stays as in ``before``.

    Raises
    ------
    InputError
        Naming the option or row, the column and the text that cannot be read.
    """
    if texts == texts_of(before):
        return before
    part = Part("options")
    for field, text in texts.options.items():
        if text.strip():
            name = field.removesuffix("_s")
            read_option(part, field, text.strip(), name)
            if field not in part.options:
                raise InputError(f"option {name}", f"cannot be {text[:60]!r}", "Correct it, or leave it empty")
    found = merged([
        part,
        *_parts("partition", PARTITION, texts.partitions, _take_partition),
        *_parts("QOS", QOS, texts.qos, read_qos),
        *_parts("account or user", ACCOUNT, texts.accounts, read_association),
    ]).setup  # fmt: skip
    same_options = options_text(found.options) == options_text(before.options)
    unseen = {name: getattr(before.options, name) for name in NOT_MODELLED}
    return before.model_copy(update={
        "options": before.options if same_options else found.options.model_copy(update=unseen),
        "partitions": _kept(found.partitions, before.partitions, partition_row),
        "qos": _kept(found.qos, before.qos, qos_row),
        "associations": _kept(found.associations, before.associations, account_row),
    })  # fmt: skip


def _take_partition(part: Part, row: dict[str, str]) -> None:
    read_partition(part, row["name"].strip(), row)


def _parts(
    what: str, columns: Sequence[str], rows: Sequence[Row], take: Callable[[Part, dict[str, str]], None]
) -> list[Part]:
    """Return what each row says; InputError for a cell that cannot be read, or a row that comes twice."""
    parts: list[Part] = []
    seen: dict[tuple[str, ...], int] = {}
    for place, row in enumerate(rows, 1):
        given = {column: row.get(column, "").strip() for column in columns}
        if not any(given.values()):
            continue
        where = f"{what} in row {place}"
        if not given[columns[0]]:
            raise InputError(f"{where}, column {columns[0]}", "is empty", "Fill it in, or delete the row")
        part = Part(what)
        take(part, {normal(column): text for column, text in given.items()})
        key = next(iter([*((name,) for name in (*part.partitions, *part.qos)), *part.associations]))
        if key in seen:
            raise InputError(where, f"is the same as row {seen[key]}", "Delete one of them")
        seen[key] = place
        if part.left_out:
            why = f"{next(iter(part.left_out))!r:.80} is not modelled or cannot be read"
            raise InputError(where, why, "Correct it, or leave it empty")
        read = _read_back(part)
        for name, text in given.items():
            is_lost = number(text) is None if name in _NUMBERS else not read[name]
            if text and is_lost and text.lower() not in _SAYS_NOTHING:
                why = f"{text!r:.60} cannot be read"
                raise InputError(f"{where}, column {name}", why, "Correct it, or leave it empty")
        parts.append(part)
    return parts


def _read_back(part: Part) -> Row:
    """Return the one row that a part holds."""
    setup = merged([part]).setup
    if setup.partitions:
        return partition_row(setup.partitions[0])
    if setup.qos:
        return qos_row(setup.qos[0])
    key = next(iter(part.associations))
    return next(account_row(one) for one in setup.associations if (one.account, one.user, one.partition) == key)


def _kept(found: Sequence[_Model], before: Sequence[_Model], row_of: Callable[[Any], Row]) -> tuple[_Model, ...]:
    """Return what was found, with the exact numbers of before where it reads the same; before if all of it does."""
    exact = {tuple(row_of(one).values()): one for one in before}
    rows = [tuple(row_of(one).values()) for one in found]
    if sorted(rows) == sorted(exact):
        return tuple(before)
    return tuple(exact.get(row, one) for row, one in zip(rows, found, strict=True))


# ---- to texts ----------------------------------------------------------------------------------------


def options_text(options: SlurmOptions) -> dict[str, str]:
    """Return each option as slurm.conf has it; "" = not given."""
    return {field: option_text(field, getattr(options, field)) for field in OPTIONS}


def option_text(field: str, value: Any) -> str:
    """Return the value of an option as slurm.conf has it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, dict):
        return tres_text(value, memory="")
    if isinstance(value, tuple):
        return ",".join(value)
    if field in ("bf_window_s", "OverTimeLimit_s", "PriorityCalcPeriod_s") and value % MINUTE_S == 0:
        return _plain(value / MINUTE_S)
    return time_text(value) if field.endswith("_s") else _plain(value)


def partition_row(one: SlurmPartition) -> dict[str, str]:
    """Return a partition by column of PARTITION."""
    cells = (
        one.name, str(one.PriorityTier), str(one.PriorityJobFactor), time_text(one.MaxTime_s),
        time_text(one.DefaultTime_s), option_text("OverTimeLimit_s", one.OverTimeLimit_s), one.QOS,
        tres_text(one.TRESBillingWeights), one.PreemptMode or "", "EXCLUSIVE" if one.exclusive else "",
    )  # fmt: skip
    return dict(zip(PARTITION, cells, strict=True))


def qos_row(one: SlurmQos) -> dict[str, str]:
    """Return a QOS by column of QOS."""
    cells = (one.name, str(one.Priority), _plain(one.UsageFactor), ",".join(one.Preempt), one.PreemptMode or "")
    limits = _limits(one.limits, QOS[len(cells) :])
    return dict(zip(QOS, (*cells, *limits), strict=True))


def account_row(one: SlurmAssociation) -> dict[str, str]:
    """Return an account or user by column of ACCOUNT."""
    shares = "parent" if one.shares is None else str(one.shares)
    usage = _plain(one.raw_usage) if one.raw_usage else ""
    cells = (one.account, one.user, one.partition, one.parent, shares, usage, ",".join(one.QOS))
    limits = _limits(one.limits, ACCOUNT[len(cells) :])
    return dict(zip(ACCOUNT, (*cells, *limits), strict=True))


def time_text(seconds: float | None) -> str:
    """Return a time as D-HH:MM:SS, without days below one; "" for None."""
    if seconds is None:
        return ""
    days, rest = divmod(round(seconds), int(DAY_S))
    hours, rest = divmod(rest, int(HOUR_S))
    minutes, left = divmod(rest, int(MINUTE_S))
    return (f"{days}-" if days else "") + f"{hours:02d}:{minutes:02d}:{left:02d}"


def tres_text(amounts: Mapping[str, float], memory: str = "G") -> str:
    """Return trackable resources as "cpu=4,mem=2G"; ``memory`` is the unit behind the memory."""
    return ",".join(f"{name}={_plain(value)}{memory if name == 'mem' else ''}" for name, value in amounts.items())


_COLUMN_OF_LIMIT = {"MaxJobs": "MaxJobsPU", "MaxTRES": "MaxTRESPJ", "MaxWall": "MaxWall_s"}


def _limits(limits: SlurmLimits, columns: Sequence[str]) -> list[str]:
    cells = []
    for column in columns:
        value = getattr(limits, _COLUMN_OF_LIMIT.get(column, column))
        if isinstance(value, dict):
            cells.append(tres_text(value))
        else:
            cells.append(time_text(value) if column == "MaxWall" else "" if value is None else str(value))
    return cells


def _plain(number: float) -> str:
    return f"{number:.9f}".rstrip("0").rstrip(".")
