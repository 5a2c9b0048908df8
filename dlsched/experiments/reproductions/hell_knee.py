"""Figures and tables of the HELL/KNEE study: throughput of a job, and schedules of many."""

from __future__ import annotations

from dlsched.experiments.reproductions.hell_knee_early import EARLY_RESULTS
from dlsched.experiments.reproductions.hell_knee_model import MODEL
from dlsched.experiments.reproductions.hell_knee_schedules import SCHEDULES

HELL_KNEE = (*SCHEDULES, *EARLY_RESULTS, *MODEL)
