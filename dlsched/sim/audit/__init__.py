"""The auditor: re-checks a run from its log alone, sharing no code with what produced the log."""

from dlsched.sim.audit.books import audit_books
from dlsched.sim.audit.check import audit

__all__ = ["audit", "audit_books"]
