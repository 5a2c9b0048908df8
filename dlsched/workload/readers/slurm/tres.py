"""What a job holds: trackable resources (TRES), generic resources (GRES) and ReqMem."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from dlsched.domain.workload import Floats, Texts
from dlsched.workload.readers.slurm.tables import distinct

MEM_PER_CPU = 2.0**31
"""Slurm's flag for memory per CPU; versions before 21.08 printed it as part of the amount in MiB."""
_MIB = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_TIMES = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_QUANTITY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([KMGTP]?)([nc]?)", re.IGNORECASE)
_BRACKETS = re.compile(r"\([^()]*\)?")
_NONE = {"", "none", "(null)", "n/a", "unknown"}


class Tres(NamedTuple):
    """Amounts of one TRES text, 0 where it says nothing; GPU types as 'a100|v100'."""

    gpus: float = 0.0
    cpus: float = 0.0
    mem_mib: float = 0.0
    nodes: float = 0.0
    gpu_types: str = ""


def parse_tres(text: str) -> Tres:
    """Return the amounts of ``key=number[KMGTP]`` parts separated by commas.

    ``gres/gpu`` is the total of all types; typed entries are added up only without it. Memory without unit is MiB.
    """
    total, typed, amounts = None, dict[str, float](), dict[str, float]()
    for part in text.split(","):
        key, _, value = part.partition("=")
        quantity = _QUANTITY.fullmatch(value.strip())
        if not quantity:
            continue
        name, unit = key.strip().lower(), quantity[2].upper()
        amount = float(quantity[1]) * (_MIB if name == "mem" else _TIMES)[unit]
        if name == "gres/gpu":
            total = amount
        elif name.startswith("gres/gpu:"):
            typed[key.strip()[len("gres/gpu:") :]] = amount
        else:
            amounts[name] = amount
    gpus = sum(typed.values()) if total is None else total
    cpus, mem_mib, nodes = (amounts.get(name, 0.0) for name in ("cpu", "mem", "node"))
    return Tres(gpus, cpus, mem_mib, nodes, "|".join(sorted(typed)))


def parse_gres(text: str) -> Tres:
    """Return the GPUs of ``gpu[:type]:count`` parts separated by commas, as ReqGRES and ``--gres`` have them."""
    if "=" in text:
        return parse_tres(text)
    gpus, types = 0.0, set[str]()
    for part in _BRACKETS.sub("", text).split(","):
        words = [word.strip() for word in re.split(r"[:/]", part)]
        if "gpu" not in words:
            continue
        kind = words[words.index("gpu") + 1 :]
        count = kind.pop() if kind and kind[-1].isdecimal() else "1"
        gpus += float(count[:15])
        types.update(word for word in kind if word)
    return Tres(gpus=gpus, gpu_types="|".join(sorted(types)))


class TresColumns(NamedTuple):
    """The amounts of a column of TRES texts, one entry a row."""

    gpus: Floats
    cpus: Floats
    mem_mib: Floats
    nodes: Floats
    gpu_types: Texts


def tres_columns(column: Any, *, gres: bool = False) -> TresColumns:
    """Return the amounts of each row of a TRES column, or of a GRES column."""
    values, which = distinct(column)
    parsed = [(parse_gres if gres else parse_tres)(value) for value in values] or [Tres()]
    gpus, cpus, mem_mib, nodes, types = zip(*parsed, strict=True)
    return TresColumns(
        np.array(gpus)[which],
        np.array(cpus)[which],
        np.array(mem_mib)[which],
        np.array(nodes)[which],
        np.array(types, dtype=object)[which],
    )


def parse_req_mem(text: str) -> tuple[float, str]:
    """Return (MiB, 'c' per CPU, 'n' per node or '' of the job) of a ReqMem; NaN where it says nothing.

    Before Slurm 21.08 the amount ends with c or n; from 2^31 MiB per node on it is that flag plus MiB per CPU.
    """
    quantity = _QUANTITY.fullmatch(text.strip())
    if text.strip().lower() in _NONE or not quantity:
        return float("nan"), ""
    mib, per = float(quantity[1]) * _MIB[quantity[2].upper()], quantity[3].lower()
    if per == "n" and mib >= MEM_PER_CPU:
        return mib - MEM_PER_CPU, "c"
    return mib, per


def req_mem_mib(column: Any, cpus: Floats, nodes: Floats) -> Floats:
    """Return the memory that each job asked for in ReqMem, MiB of the whole job; NaN where it says nothing."""
    values, which = distinct(column)
    parsed = [parse_req_mem(value) for value in values] or [(float("nan"), "")]
    mib, per = (np.array(part)[which] for part in zip(*parsed, strict=True))
    times = np.where(per == "c", cpus, np.where(per == "n", np.maximum(nodes, 1), 1.0))
    return np.asarray(mib * times, dtype=np.float64)
