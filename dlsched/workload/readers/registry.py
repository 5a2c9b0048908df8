"""Every kind of file that is known. A new format of ours is a module with a TraceFormat, and its line here; others are
found as plug-ins.
"""

from __future__ import annotations

import re

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.plugins import Catalogue, Problem
from dlsched.workload.readers import (
    acme,
    alibaba_pai,
    alibaba_spot,
    aws_hpc,
    batsim,
    gavel,
    google2011,
    helios,
    openb,
    opendc,
    philly,
    research_tables,
    slurm,
    swf,
    tabular,
)
from dlsched.workload.readers.accounting import lsf, pbs, pbs_json, sge
from dlsched.workload.readers.formats import TraceFormat
from dlsched.workload.readers.kubernetes.workloads import KUEUE
from dlsched.workload.readers.not_jobs import NOT_JOBS
from dlsched.workload.readers.options import ReadOptions

GROUPS: dict[str, tuple[TraceFormat, ...]] = {
    "Tables": (tabular.NATIVE, tabular.CSV),
    "Schedulers": (
        *slurm.FORMATS,
        pbs.PBS,
        pbs_json.PBS_JSON,
        lsf.LSF,
        lsf.LSF_EVENTS,
        sge.SGE,
        KUEUE,
        aws_hpc.AWS_HPC,
        aws_hpc.AWS_HPC_RESULTS,
    ),
    "Archives and simulators": (
        swf.SWF,
        batsim.WORKLOAD,
        batsim.JOBS_CSV,
        opendc.OPENDC,
        opendc.OPENDC_FRAGMENTS,
        opendc.OPENDC_OTHERS,
        opendc.OPENDC_EXPERIMENT,
        opendc.OPENDC_TOPOLOGY,
        gavel.GAVEL,
        gavel.SHOCKWAVE,
        research_tables.TIRESIAS,
        research_tables.MURI,
        research_tables.POLLUX,
    ),
    "Public traces": (
        philly.PHILLY,
        helios.HELIOS,
        helios.CAPACITY,
        openb.OPENB,
        openb.OPENB_NODES,
        alibaba_pai.PAI_TASKS,
        alibaba_pai.PAI_SIMULATOR,
        *alibaba_pai.PAI_OTHERS,
        alibaba_spot.SPOT_JOBS,
        alibaba_spot.SPOT_NODES,
        acme.ACME,
        acme.ACME_CONVERTED,
        acme.ACME_SUMMARY,
        acme.ACME_USAGE,
        google2011.GOOGLE_2011,
        *google2011.GOOGLE_2011_OTHERS,
    ),
    "Other files": NOT_JOBS,
}
"""Our own formats, in the groups of the selector on the page Jobs."""
FORMATS: tuple[TraceFormat, ...] = tuple(one for group in GROUPS.values() for one in group)
_FORMAT = {one.key: one for one in FORMATS}


def _fault(one: TraceFormat) -> str:
    if not isinstance(one.key, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,59}", one.key):
        return "its key must be lower-case letters, digits, - and _, at most 60"
    if not isinstance(one.label, str) or not one.label:
        return "it must have a label"
    if unknown := set(one.choices) - set(ReadOptions.model_fields):
        return f"there is no reading choice {min(unknown)!r}"
    return "" if callable(one.signs) and (one.read is None or callable(one.read)) else "signs and read must be callable"


_OUTSIDE = Catalogue("dlsched.readers", "format", TraceFormat, lambda: (*_FORMAT, "auto"), _fault)


def groups() -> dict[str, tuple[TraceFormat, ...]]:
    """Return all formats in the groups of the selector: ours, then those of plug-ins."""
    outside = tuple(_OUTSIDE.all().values())
    return GROUPS | ({"Plug-ins": outside} if outside else {})


def formats() -> tuple[TraceFormat, ...]:
    """Return every format: ours, then those of plug-ins."""
    return *FORMATS, *_OUTSIDE.all().values()


def problems() -> tuple[Problem, ...]:
    """Return the plug-ins whose formats cannot be used, each with its error."""
    return _OUTSIDE.problems()


def find_format(key: str) -> TraceFormat:
    """Return the format of a key; InputError with near names for an unknown one."""
    found = _FORMAT.get(key) or _OUTSIDE.find(key)
    if found is None:
        raise InputError(f"format {key[:80]!r}", "no such format", names_hint(key, [one.key for one in formats()]))
    return found
