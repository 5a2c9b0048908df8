"""Slurm logs: sacct as text and JSON, squeue as JSON, and the UB Slurm simulator.

``SACCT_COMMAND`` is the export to ask for.
"""

from dlsched.workload.readers.exports import SACCT_COMMAND
from dlsched.workload.readers.slurm.json_jobs import SACCT_JSON
from dlsched.workload.readers.slurm.squeue import SQUEUE_JSON
from dlsched.workload.readers.slurm.text import SACCT
from dlsched.workload.readers.slurm.ub_simulator import UB_CSV, UB_EVENTS

FORMATS = (SACCT, SACCT_JSON, SQUEUE_JSON, UB_EVENTS, UB_CSV)

__all__ = ["FORMATS", "SACCT_COMMAND"]
