"""How a sacct export is written: its field names, their order without a header line, and the delimiter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.domain.errors import InputError
from dlsched.workload.readers.exports import SACCT_COMMAND
from dlsched.workload.readers.slurm.states import UNKNOWN, state_of

ASKED = SACCT_COMMAND.rpartition(" ")[2]
"""The fields of the command that dlsched asks for, in its order."""

DELIMITERS = ("|", "|#", "\u2603", "\t", ";", ",", "^", "~", "!", "||")
TABLE_DELIMITERS = (",", ";", "\t")
HEADER_LINES = 5
MOST_FIELDS = 1000
SAMPLE_LINES = 200
NAMED_SHARE = 0.8
ALIKE_SHARE = 0.5
_FIELDS = """
    account admincomment alloccpus allocgres allocnodes alloctres associd avecpu avecpufreq avediskread avediskwrite
    avepages averss avevmsize blockid cluster comment constraints consumedenergy consumedenergyraw container cputime
    cputimeraw dbindex derivedexitcode elapsed elapsedraw eligible end exitcode extra failednode flags gid group jobid
    jobidraw jobname layout licenses maxdiskread maxdiskreadnode maxdiskreadtask maxdiskwrite maxdiskwritenode
    maxdiskwritetask maxpages maxpagesnode maxpagestask maxrss maxrssnode maxrsstask maxvmsize maxvmsizenode
    maxvmsizetask mcslabel mincpu mincpunode mincputask ncpus nnodes nodelist ntasks partition planned plannedcpu
    plannedcpuraw priority qos qosraw qosreq reason reqcpufreq reqcpufreqgov reqcpufreqmax reqcpufreqmin reqcpus reqgres
    reqmem reqnodes reqtres reservation reservationid reserved restarts resvcpu resvcpuraw segmentsize sluid start state
    stderr stdin stdout submit submitline suspended systemcomment systemcpu timelimit timelimitraw totalcpu
    tresusageinave tresusageinmax tresusageinmaxnode tresusageinmaxtask tresusageinmin tresusageinminnode
    tresusageinmintask tresusageintot tresusageoutave tresusageoutmax tresusageoutmaxnode tresusageoutmaxtask
    tresusageoutmin tresusageoutminnode tresusageoutmintask tresusageouttot uid user usercpu wckey wckeyid
    workdir"""
NAMES = frozenset(_FIELDS.split())
"""Every field of sacct(1), 17.11 to 25.05, in lower case."""
_SLURM_ONLY = frozenset({
    "jobidraw", "alloctres", "reqtres", "reqgres", "allocgres", "elapsedraw", "timelimit", "timelimitraw", "nnodes",
    "ncpus", "nodelist", "qos", "reqmem", "reqcpus", "alloccpus", "cputimeraw", "allocnodes",
})  # fmt: skip
_XDMOD_HEAD = (
    "jobid,jobidraw,cluster,partition,{qos}account,group,gid,user,uid,submit,eligible,start,end,elapsed,exitcode,"
)
_XDMOD_TAIL = "state,nnodes,ncpus,reqcpus,reqmem,{tres},timelimit,nodelist,jobname"
KNOWN_ORDERS = (
    ("the command that dlsched asks for", ASKED),
    *(
        ("XDMoD", (_XDMOD_HEAD + _XDMOD_TAIL).format(qos=qos, tres=tres))
        for tres in ("reqtres,alloctres", "reqgres,reqtres", "reqgres")
        for qos in ("qos,", "")
    ),
    ("hb-jobinfo",
    "jobid,jobname,user,partition,nodelist,nnodes,ncpus,ntasks,state,submit,start,end,timelimit,elapsed,totalcpu,"
    "cputime,usercpu,systemcpu,reqmem,maxrss,maxvmsize,reqtres,alloctres,tresusageinmax,tresusageintot,tresusageouttot,"
    "maxdiskread,maxdiskwrite,maxrssnode,maxrsstask,maxvmsizenode,maxvmsizetask,maxdiskreadnode,maxdiskreadtask,"
    "maxdiskwritenode,maxdiskwritetask,comment"),
)  # fmt: skip
"""Field orders of exports without a header line: the command above, XDMoD (three generations), and hb-jobinfo
(https://github.com/rug-cit-hpc/hb-jobinfo); each with its name.
"""

_FIRST_WORD = re.compile(
    r"\s*\"?(?:\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?(?:\.\w+)?|[A-Za-z]\w*(?:%-?\d+)?)\"?([^\w\s\"]{1,10}|\t)"
)
_FIRST_CUT = re.compile(r"\s*([^\w\s\"]{1,10})")
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*|\d{9,11}|unknown|none|"
_FIELD_FORM = {
    name: re.compile(form, re.IGNORECASE)
    for form, names in (
        (r"\d+.*", ("jobid", "jobidraw")),
        (_TIME, ("submit", "eligible", "start", "end")),
        (r"\d*", ("elapsedraw", "nnodes", "ncpus", "reqcpus", "alloccpus", "gid", "uid")),
        (r"(?:\d+-)?[\d:.]*", ("elapsed",)),
        (r"(?:[\w/:.-]+=[^,]*,?)*", ("reqtres", "alloctres")),
        (r"[^=]*", ("reqgres", "allocgres")),
    )
    for name in names
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Field names in lower case and the delimiter, of one or more characters; ``skipped`` lines stand above the data.

    ``order`` names the known order of a file without a header line.
    """

    names: tuple[str, ...]
    delimiter: str
    skipped: int
    order: str = ""

    @property
    def is_of_sacct(self) -> bool:
        """Whether no other scheduler's table looks so: a known order, or a header line with names of sacct alone."""
        if not self.skipped:
            return True
        names = set(self.names)
        return bool({"jobid", "jobidraw"} & names) and (
            self.delimiter not in TABLE_DELIMITERS or bool(_SLURM_ONLY & names)
        )


def field_names(text: str) -> tuple[str, ...]:
    """Return the names of a ``--format`` list in lower case, widths such as %20 cut off."""
    return tuple(re.sub(r"%-?\d*$", "", name.strip().strip('"')).lower() for name in text.split(","))


def layout_of(lines: Sequence[str], asked: str = "") -> Layout | None:
    """Return the layout of a file from its first lines; None if it is no sacct export, or its order is not known.

    A header line decides; without one the field list ``asked``, else one of the known orders that the lines suit.

    Raises
    ------
    InputError
        The lines do not have as many fields as the list asked for.
    """
    sample = [line for line in lines[:SAMPLE_LINES] if line.strip()]
    for number, line in enumerate(sample[:HEADER_LINES]):
        found = _header(line)
        if found:
            names = _fitted(*found, sample[number + 1 :])
            return Layout(names, found[1], lines.index(line) + 1)
    if asked:
        names = field_names(asked)
        delimiter = _delimiter(sample, len(names))
        if not delimiter:
            why = f"most lines do not have the {len(names)} fields of the list"
            raise InputError("sacct_fields", why, "Give the list of the --format option, in its order")
        return Layout(_fitted(names, delimiter, sample), delimiter, 0, "the list given")
    best, layout = 0.0, None
    for order, fields in KNOWN_ORDERS:
        names = field_names(fields)
        delimiter = _delimiter(sample, len(names))
        share = _suits(names, delimiter, sample)
        if share >= NAMED_SHARE and share > best:
            best, layout = share, Layout(_fitted(names, delimiter, sample), delimiter, 0, order)
    return layout


def looks_like_sacct(lines: Sequence[str]) -> bool:
    """Return whether most lines are records of sacct in an order that is not known: job number, state and times."""
    sample = [line for line in lines[:SAMPLE_LINES] if line.strip()]
    for delimiter in _candidates(sample[0] if sample else ""):
        records = [[part.strip() for part in line.split(delimiter)] for line in sample]
        good = [
            any(re.fullmatch(r"\d+(_\[?[\d,%:-]+\]?)?(\+\d+)?(\.\w+)?", part) for part in parts)
            and any(state_of(part) != UNKNOWN and len(part) > 3 for part in parts)
            and sum(bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", part)) for part in parts) >= 2
            for parts in records
        ]
        if good and good[0] and sum(good) > ALIKE_SHARE * len(good):
            return True
    return False


def is_screen_table(lines: Sequence[str]) -> bool:
    """Return whether the lines are sacct's table for the screen: names, a line of dashes, values cut to a width."""
    if len(lines) < 2 or not re.fullmatch(r"\s*-+(?: +-+)+\s*", lines[1]):
        return False
    words = lines[0].lower().split()
    return sum(word in NAMES for word in words) >= NAMED_SHARE * len(words)


def _header(line: str) -> tuple[tuple[str, ...], str] | None:
    """Return names and delimiter of a header line: the delimiter that cuts most field names out of it."""
    best: tuple[int, int, str] = (0, 0, "")
    line = line.strip("\r\n ")
    for delimiter in _candidates(line):
        names = _names(line, delimiter) if line.count(delimiter) < MOST_FIELDS else []
        known = sum(name in NAMES for name in names)
        if known >= 2 and known >= NAMED_SHARE * len([name for name in names if name]):
            best = max(best, (known, len(delimiter), delimiter))
    return (tuple(_names(line, best[2])), best[2]) if best[2] else None


def _names(line: str, delimiter: str) -> list[str]:
    return [name for part in line.split(delimiter) for name in field_names(part.replace(",", " "))]


def _candidates(line: str) -> tuple[str, ...]:
    """Return the usual delimiters, and what stands behind the first word of the line, or before it."""
    found = _FIRST_WORD.match(line) or _FIRST_CUT.match(line)
    return tuple(dict.fromkeys((*DELIMITERS, *([found[1]] if found else []))))


def _delimiter(sample: Sequence[str], fields: int) -> str:
    """Return the delimiter that cuts most lines into this many fields, or one more (``-p``); '' if few lines do."""
    counts = Counter[str]()
    for delimiter in _candidates(sample[0] if sample else ""):
        counts[delimiter] = sum(line.count(delimiter) + 1 in (fields, fields + 1) for line in sample)
    delimiter, lines = max(counts.items(), key=lambda item: (item[1], len(item[0])), default=("", 0))
    return delimiter if lines > ALIKE_SHARE * len(sample) else ""


def _fitted(names: tuple[str, ...], delimiter: str, sample: Sequence[str]) -> tuple[str, ...]:
    """Return unique names with one more for the end of the line where most lines end with the delimiter."""
    longer = sum(line.rstrip("\r\n").endswith(delimiter) and line.count(delimiter) == len(names) for line in sample)
    return _unique((*names, "") if longer > ALIKE_SHARE * len(sample) else names)


def _suits(names: Sequence[str], delimiter: str, sample: Sequence[str]) -> float:
    """Return the share of the lines in which every field has the form of its name."""
    if not sample or not delimiter:
        return 0.0
    good = 0
    for line in sample:
        value = dict(zip(names, (part.strip() for part in line.split(delimiter)), strict=False))
        formed = all(form.fullmatch(value[name]) for name, form in _FIELD_FORM.items() if value.get(name))
        good += formed and state_of(value.get("state", "")) != UNKNOWN
    return good / len(sample)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    seen = Counter[str]()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(result)
