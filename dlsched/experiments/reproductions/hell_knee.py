"""Figures and tables of the HELL/KNEE study: throughput of a job, and schedules of many."""

from __future__ import annotations

from dlsched.experiments.reproductions.hell_knee_model import MODEL

HELL_KNEE = (*MODEL,)
