"""Figures and tables of the HELL/KNEE study: throughput of a job, and schedules of many."""

from __future__ import annotations

from dlsched.studies.reproductions.hell_knee.early import EARLY_RESULTS
from dlsched.studies.reproductions.hell_knee.model import MODEL
from dlsched.studies.reproductions.hell_knee.schedules import SCHEDULES

HELL_KNEE = (*SCHEDULES, *EARLY_RESULTS, *MODEL)
