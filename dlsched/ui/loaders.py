"""Stored runs as frames, loaded once per process; sessions share them, so nobody writes into them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.figures.bars import with_jobs
from dlsched.store.runs import RunInfo
from dlsched.ui.session import load_scenario, store


@st.cache_resource(max_entries=200, show_spinner=False)
def _metrics(_path: str, run_id: str) -> dict[str, float | int | None]:
    return store().metrics(run_id)


def metrics(run_id: str) -> dict[str, float | int | None]:
    """Return the metrics of a run."""
    return _metrics(str(store().path), run_id)


def info(run_id: str) -> RunInfo:
    """Return what is frozen in a run (its note may change, so it is not cached)."""
    return store().run_info(run_id)


def scenario_of(run_id: str) -> Scenario:
    """Return the scenario a run was made with."""
    return load_scenario(str(store().path), info(run_id).scenario_hash)


@st.cache_resource(max_entries=12, show_spinner=False)
def _jobs(_path: str, run_id: str) -> pd.DataFrame:
    return store().jobs(run_id)


def jobs(run_id: str) -> pd.DataFrame:
    """Return one row a job, as metrics.jobs_table."""
    return _jobs(str(store().path), run_id)


@st.cache_resource(max_entries=6, show_spinner=False)
def _segments(_path: str, run_id: str) -> pd.DataFrame:
    return with_jobs(store().segments(run_id), _jobs(_path, run_id), store().waits(run_id))


def segments(run_id: str) -> pd.DataFrame:
    """Return the run's segments with what the charts tell of their jobs."""
    return _segments(str(store().path), run_id)


@st.cache_resource(max_entries=12, show_spinner=False)
def _series(_path: str, run_id: str) -> pd.DataFrame:
    return store().series(run_id)


def series(run_id: str) -> pd.DataFrame:
    """Return the run's series over time, as metrics.series_table."""
    return _series(str(store().path), run_id)


def absences(scenario: Scenario) -> pd.DataFrame:
    """Return the times nodes are away: node, start_s, end_s (infinite = for good)."""
    rows = [(absence.node, absence.start_s, absence.until_s) for absence in scenario.cluster.absences]
    return pd.DataFrame(rows, columns=["node", "start_s", "end_s"]).astype(
        {"node": "int64", "start_s": float, "end_s": float}
    )
