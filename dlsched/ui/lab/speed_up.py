"""The parts of the page Speed-up: how fast more GPUs, other machines, or more parameter servers make a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from dlsched.domain.scenario import Scenario
from dlsched.studies.speed_models import server_split, throughput
from dlsched.ui.lab import apply_times, parameter_servers, training_time
from dlsched.ui.lab import throughput as curves

HOW = "How it is computed"


def show_throughput(current: Scenario) -> None:
    """Show speed-up by nodes, and where the time of a step goes."""
    asked, action = curves.chosen()
    if asked is None:
        curves.nothing_yet(action)
    else:
        curves.show(asked)
        curves.next_steps(asked, current, action)
    with st.expander(HOW, key="throughput-how"):
        st.markdown(throughput.HOW)


def show_training_time(current: Scenario) -> None:
    """Show one of the views: how accurate predicted run times are, those of one job, or what the jobs would get."""
    models, view, action = training_time.chosen()
    if models is None:
        apply_times.nothing_yet(action)
    elif view == training_time.ACCURACY:
        training_time.show(models)
        training_time.terms(models)
    elif view == training_time.PREDICT:
        training_time.prediction(models, current.cluster)
    else:
        apply_times.section(models, current, action)
    if models is not None and view != training_time.APPLY:
        apply_times.offer(action)


def show_servers(current: Scenario) -> None:
    """Show how many workers and servers make a job fastest, or how the layers of its network overlap."""
    asked, view, action = parameter_servers.chosen(current)
    parameter_servers.next_step(current, action)
    if asked is not None and view == parameter_servers.LAYERS:
        parameter_servers.show_layers(asked)
    elif asked is not None:
        parameter_servers.show(asked)
    with st.expander(HOW, key="servers-how"):
        st.markdown(server_split.HOW)


PARTS: Mapping[str, Callable[[Scenario], None]] = {
    "Throughput": show_throughput,
    "Training time": show_training_time,
    "Parameter servers": show_servers,
}
