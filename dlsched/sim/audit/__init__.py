"""The auditor: re-checks a run from its log alone, sharing no code with what produced the log."""

from dlsched.sim.audit.check import audit
from dlsched.sim.audit.check_metrics import JUDGED, check_metrics

__all__ = ["JUDGED", "audit", "check_metrics"]
