"""Every kind of file that is known. A new format is a module with a TraceFormat, and its line here."""

from __future__ import annotations

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
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
"""All formats, in the groups of the selector on the page Jobs."""
FORMATS: tuple[TraceFormat, ...] = tuple(one for group in GROUPS.values() for one in group)
_FORMAT = {one.key: one for one in FORMATS}


def find_format(key: str) -> TraceFormat:
    """Return the format of a key; InputError with near names for an unknown one."""
    if key not in _FORMAT:
        raise InputError(f"format {key[:80]!r}", "no such format", names_hint(key, list(_FORMAT)))
    return _FORMAT[key]
