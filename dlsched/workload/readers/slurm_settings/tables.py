"""Tables that sacctmgr and sshare print with -P: QOS, accounts and users; columns in any order, any delimiter."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.domain.slurm_notation import NO_VALUE, YEAR_S, names, number, preempt_mode, seconds, tres, whole
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.slurm_settings.part import Part
from dlsched.workload.readers.source import TraceText

DELIMITERS = ("|#", "||", "|", "☃", "\t", ";", ",", "^", "~", "!")
MOST_ROWS = 100_000
LIMIT_COLUMNS = {
    "grpjobs": "GrpJobs", "maxjobspu": "MaxJobsPU", "maxjobs": "MaxJobsPU", "maxjobspa": "MaxJobsPA",
    "grptres": "GrpTRES", "maxtrespu": "MaxTRESPU", "maxtrespa": "MaxTRESPA", "maxtres": "MaxTRESPJ",
    "maxtrespj": "MaxTRESPJ",
}  # fmt: skip
OLD_LIMITS = {
    "grpcpus": ("GrpTRES", "cpu"), "grpnodes": ("GrpTRES", "node"), "maxcpus": ("MaxTRESPJ", "cpu"),
    "maxnodes": ("MaxTRESPJ", "node"), "maxcpuspu": ("MaxTRESPU", "cpu"), "maxnodespu": ("MaxTRESPU", "node"),
}  # fmt: skip
"""Columns of versions before 15.08: the limit, and of what."""
NOT_MODELLED = {
    name.lower(): name
    for name in (
        "GrpSubmit", "GrpSubmitJobs", "GrpWall", "GrpTRESMins", "GrpTRESRunMins", "MaxTRESMins", "MaxTRESPerNode",
        "MaxSubmit", "MaxSubmitJobs", "MaxSubmitPU", "MaxSubmitPA", "MaxSubmitJobsPU", "MaxSubmitJobsPA", "MinTRES",
        "UsageThres", "GraceTime", "Flags", "LimitFactor", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA", "PreemptExemptTime",
        "MinPrioThresh", "MaxJobsAccruePU", "MaxJobsAccruePA", "GrpJobsAccrue",
    )
}  # fmt: skip
_OF_ASSOCIATIONS = frozenset({"share", "fairshare", "grpjobs", "grptres", "maxjobs", "maxtres", "parentname"})
_TRIVIAL = NO_VALUE | {"00:00:00", "0", "0.000000", "1.000000"}
PRINT = {
    "qos": "sacctmgr show qos -P", "assoc": "sacctmgr show assoc -P", "sshare": "sshare -a -l -P",
}  # fmt: skip
Row = dict[str, str]


def kind_of_table(head: Head) -> str:
    """Return "qos", "assoc" or "sshare" of a text whose first line is the header of such a table, else ""."""
    if head.is_parquet or head.json_start or not head.lines:
        return ""
    return _kind({normal(cell) for cell in _split(head.lines[0][:100_000])[0]})


def _kind(columns: set[str]) -> str:
    if {"account", "rawshares"} <= columns:
        return "sshare"
    if "account" in columns and columns & _OF_ASSOCIATIONS:
        return "assoc" if not columns & {"jobid", "submit"} else ""
    if {"name", "priority"} <= columns and columns & {"usagefactor", "gracetime", "grptres", "maxtrespu", "maxjobspu",
                                                      "preempt", "grpjobs", "maxwall"}:  # fmt: skip
        return "qos"
    return ""


def read_table(text: TraceText) -> Part:
    """Return what a table of QOS, associations or shares says.

    Raises
    ------
    InputError
        Not such a table, one printed for a screen, a row of another length, or more than 100,000 rows.
    """
    lines = [line for line in text.data.decode("utf-8", "replace").splitlines() if line.strip()]
    header, delimiter = _split(lines[0][:100_000])
    columns = [normal(cell) for cell in header]
    kind = _kind(set(columns))
    what = f"file {text.name}"
    if not kind:
        raise InputError(what, "its first line names no columns of QOS or associations", f"Print {PRINT['assoc']}")
    if not delimiter:
        why = "it is printed for a screen, where long texts are cut"
        raise InputError(what, why, f"Print it with -P: {PRINT[kind]}")
    if len(lines) > MOST_ROWS:
        raise InputError(what, f"it has more than {MOST_ROWS:,} rows", "Give those of one cluster")
    part = Part(PRINT[kind].removesuffix(" -P").removesuffix(" -a -l"))
    rows = list[Row]()
    for place, line in enumerate(lines[1:], 2):
        cells = line.split(delimiter)
        if not len(columns) <= len(cells) + 1 <= len(columns) + 2:  # -p ends lines with the delimiter
            why = f"line {place} has {len(cells)} fields, the header {len(columns)}"
            raise InputError(what, why, f"Print it again: {PRINT[kind]}")
        row = dict(zip(columns, cells, strict=False))
        if normal(row.get("account", row.get("name", ""))) not in ("account", "name"):  # a header that is repeated
            rows.append(row)
    if kind == "qos":
        for row in rows:
            read_qos(part, row)
        return part
    rows = _of_one_cluster(part, rows)
    parent = _parents(rows)
    for place, row in enumerate(rows):
        read_association(part, row, parent.get(place, ""))
    return part


def _split(header: str) -> tuple[list[str], str]:
    """Return the cells of a header and the delimiter that gives most cells; "" where only blanks are between them."""
    found = max(DELIMITERS, key=lambda one: (len(header.split(one)), len(one)))
    return (header.split(found), found) if found in header else (header.split(), "")


def normal(name: str) -> str:
    """Return a column name in small letters, without blanks, PerUser as PU."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    for long, short in (("peruser", "pu"), ("peraccount", "pa"), ("perjob", "pj"), ("rawfairshare", "rawshares")):
        plain = plain.removesuffix(long) + short if plain.endswith(long) else plain
    return plain


def _limits(row: Row, left_out: Counter[str], where: str) -> dict[str, Any]:
    """Return the limits of a row as a field of its own, if it has some; those that are not modelled are counted."""
    found: dict[str, Any] = {}
    for column, field in LIMIT_COLUMNS.items():
        text = row.get(column, "").strip()
        if text.lower() in NO_VALUE:
            continue
        value: Any = tres(text, left_out) if "TRES" in field else whole(text)
        if value is None:
            left_out[f"{field}={text[:40]}"] += 1
        elif value != {}:
            found[field] = value
    for column, (field, resource) in OLD_LIMITS.items():
        amount = whole(row.get(column, ""))
        if amount is not None:
            found[field] = {resource: float(amount)} | found.get(field, {})
    wall_s = seconds(row.get("maxwall", row.get("maxwallpj", "")))
    if wall_s is not None and 0 < wall_s < float("inf"):
        found["MaxWall_s"] = min(wall_s, YEAR_S)
    for column in NOT_MODELLED.keys() & row.keys():
        if row[column].strip().lower() not in _TRIVIAL:
            left_out[f"{NOT_MODELLED[column]} of {where}"] += 1
    return {"limits": found} if found else {}


def read_qos(part: Part, row: Row) -> None:
    """Take a row of QOS."""
    name = row["name"].strip()[:120]
    if not name:
        return
    given = _limits(row, part.left_out, "a QOS")
    if (priority := whole(row.get("priority", ""))) is not None:
        given["Priority"] = min(priority, 2**32)
    if (factor := number(row.get("usagefactor", ""))) is not None:
        given["UsageFactor"] = min(factor, 1e6)
    if others := names(row.get("preempt", "")):
        given["Preempt"] = others
    if mode := preempt_mode(row.get("preemptmode", ""), part.left_out, "PreemptMode of a QOS"):
        given["PreemptMode"] = mode
    part.qos[name] = given


def read_association(part: Part, row: Row, parent: str = "") -> None:
    """Take a row of an account or user, of ``parent`` where the row itself names none."""
    account, user, partition = (row.get(name, "").strip()[:120] for name in ("account", "user", "partition"))
    if not account:
        return
    given = _limits(row, part.left_out, "an account or user")
    shares = (row["rawshares"] if "rawshares" in row else row.get("share", row.get("fairshare", ""))).strip()
    if shares.lower() == "parent":  # those of the account above
        given["shares"] = None
    elif (counted := whole(shares)) is not None:
        given["shares"] = min(counted, 2**31)
    elif shares:
        part.left_out[f"share {shares[:20]}"] += 1
    if (usage := number(row.get("rawusage", ""))) is not None:
        given["raw_usage"] = usage
    if qos := names(row.get("qos", "")):
        given["QOS"] = qos
    above = row.get("parentname", "").strip()[:120] or parent
    if above and not user and account != "root":
        given["parent"] = above
    part.associations[account, user, partition] = given


def _parents(rows: list[Row]) -> dict[int, str]:
    """Return the account above each row of an account that is indented below another, by row number."""
    above: list[tuple[int, str]] = []
    found: dict[int, str] = {}
    for place, row in enumerate(rows):
        text = row.get("account", "")
        if row.get("user", "").strip() or not text.strip():
            continue
        indent = len(text) - len(text.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        if above:
            found[place] = above[-1][1]
        above.append((indent, text.strip()[:120]))
    return found


def _of_one_cluster(part: Part, rows: list[Row]) -> list[Row]:
    """Return the rows of the cluster with most of them."""
    clusters = Counter(row.get("cluster", "").strip() for row in rows)
    if len(clusters) < 2:
        return rows
    first = clusters.most_common(1)[0][0]
    others = ", ".join(sorted(name[:40] for name in clusters if name != first)[:5])
    part.notes.append(f"only the rows of the cluster {first[:60]} are taken, not those of {others}")
    return [row for row in rows if row.get("cluster", "").strip() == first]
