"""Slurm logs: sacct as text and JSON, squeue as JSON, and the UB Slurm simulator.

``SACCT_COMMAND`` is the export to ask for.
"""

from dlsched.workload.readers.exports import SACCT_COMMAND
from dlsched.workload.readers.slurm.text import SACCT

__all__ = ["SACCT", "SACCT_COMMAND"]
