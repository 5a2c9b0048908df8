"""Which run and decision the Look-ahead page shows, and the work that brings the decision back, in the background."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.policies.registry import find
from dlsched.runner.background import RunTask
from dlsched.store.runs import RunInfo
from dlsched.studies.inspect.look_ahead import LookAheadSpec, StoredRun, StoredWidths
from dlsched.studies.inspect.look_ahead.answer import changes_at
from dlsched.ui.frame import loaders, session
from dlsched.ui.results.decision_inspector import Replays, decisions
from dlsched.workload.studies.modelarts import sample_elastic

POLICIES = LookAheadSpec.policies
REPLAYS = Replays("look-ahead", "Look-ahead", "look", "decision", POLICIES)


def offer(info: RunInfo) -> None:
    """Show a button that opens the decisions of a run, where its policy is one that this page knows."""
    if info.policy in POLICIES:
        label = "See what it planned" if info.policy == POLICIES[0] else "See its decisions"
        why = "Every decision, with what the other allocator would have done"
        REPLAYS.offer(info, label, why, "results/look_ahead.py")


@st.cache_resource(max_entries=4, show_spinner=False)
def _pieces(_path: str, run_id: str) -> pd.DataFrame:
    return session.store().segments(run_id)


def pieces(run_id: str) -> pd.DataFrame:
    """Return the run's pieces, as metrics.segments_table."""
    return _pieces(str(session.store().path), run_id)


@st.cache_resource(max_entries=12, show_spinner=False)
def _busiest(_path: str, run_id: str) -> int:
    return int(np.argmax(changes_at(_pieces(_path, run_id), decisions(run_id)["time_s"].to_numpy(float)))) + 1


def busiest(run_id: str) -> int:
    """Return the decision at which most workers change hands, the first of them."""
    return _busiest(str(session.store().path), run_id)


def ask(info: RunInfo, spec: dict[str, Any]) -> None:
    """Have a block of decisions worked out in the background."""
    scenario = loaders.scenario_of(info.run_id)
    REPLAYS.ask(spec, StoredRun(scenario, StoredWidths.of(decisions(info.run_id), pieces(info.run_id))))


def run_demo() -> None:
    """Run both allocators on the sample of elastic training."""
    sample = sample_elastic()
    session.keep(sample)
    session.look_at_run("")
    REPLAYS.work.begin(session.runner().submit([RunTask(sample, key, {}, 0, find(key).label) for key in POLICIES]))
