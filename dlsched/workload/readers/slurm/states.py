"""Job states of Slurm, from sacct(1) and squeue(1)."""

from __future__ import annotations

STATES = (
    "boot_fail", "cancelled", "completed", "configuring", "completing", "deadline", "failed", "launch_failed",
    "node_fail", "out_of_memory", "pending", "power_up_node", "preempted", "reconfig_fail", "requeued",
    "requeue_fed", "requeue_hold", "resizing", "resv_del_hold", "revoked", "running", "signaling", "special_exit",
    "stage_out", "stopped", "suspended", "timeout", "update_db",
)  # fmt: skip
CODES = {
    "bf": "boot_fail", "ca": "cancelled", "cd": "completed", "cf": "configuring", "cg": "completing",
    "dl": "deadline", "f": "failed", "lf": "launch_failed", "nf": "node_fail", "oom": "out_of_memory",
    "pd": "pending", "pr": "preempted", "r": "running", "rd": "resv_del_hold", "rf": "requeue_fed",
    "rh": "requeue_hold", "rq": "requeued", "rs": "resizing", "rv": "revoked", "s": "suspended",
    "se": "special_exit", "si": "signaling", "so": "stage_out", "st": "stopped", "to": "timeout",
}  # fmt: skip
UNKNOWN = "unknown"
HELD = ("requeue_hold", "resv_del_hold", "special_exit")
CANNOT_START = ("dependency", "dependencyneversatisfied", "jobhelduser", "jobheldadmin")
"""Reasons, in small letters, of pending jobs that wait for something else than room."""
WAITING = ("pending", "requeue_fed", *HELD)
RUNNING = ("running", "suspended", "stopped", "completing", "configuring", "resizing", "signaling", "stage_out")
"""States of a job that holds nodes, unless it has an end."""
CUT_SHORT = ("preempted", "requeued", "node_fail", "boot_fail", "launch_failed", "reconfig_fail")
"""States in which the run time is less than the job needs."""


def state_of(text: str) -> str:
    """Return the state of 'CANCELLED by 1234', of 'COMPLETI+' (cut off: the first that starts so) or of 'CD'."""
    words = text.split()
    word = words[0].lower() if words else ""
    if word in STATES:
        return word
    if len(word) > 1 and word.endswith("+"):
        return next((state for state in STATES if state.startswith(word[:-1])), UNKNOWN)
    return CODES.get(word, UNKNOWN)
