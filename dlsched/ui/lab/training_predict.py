"""Predict one network on the Training time page: iterations and batch in, a table of GPU type by GPUs out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.cluster import Cluster
from dlsched.speed.regression import NetworkFit
from dlsched.speed.terms import BATCH, DISK, FEATURES, ITERATIONS
from dlsched.ui.frame.charts import csv
from dlsched.ui.frame.text import safe
from dlsched.ui.lab.training_rows import Models
from dlsched.wording.formats import duration, number, share
from dlsched.workload.catalogue import vm_examples
from dlsched.workload.profiles.predicted_times import (
    Prediction,
    lacking_words,
    measured_widths,
    predict_on,
    typical,
    widths_of,
)

OUTSIDE = " *"
SHOWN_GPUS = 8
ROUNDED_FROM = 1000
MACHINES = ("scenario", "measured", "examples")


def form(models: Models, cluster: Cluster) -> None:
    """Show the form and the times it asks for."""
    st.subheader("Predict one job", anchor=False)
    columns = st.columns([2, 1, 1, 1, 2], vertical_alignment="bottom")
    network = columns[0].selectbox(
        "Network", models.networks, key=f"predict-network-{models.tag}", help="A network that has profiling rows"
    )
    fit = models.fits.of(network)
    inputs = {ITERATIONS: "iterations", BATCH: "batch", DISK: "disk_s"}
    given = {
        name: _number(column, fit, feature, f"{models.tag}-{network}")
        for column, (feature, name) in zip(columns[1:4], inputs.items(), strict=True)
    }
    machines = {
        "scenario": ("machines of this scenario", widths_of(cluster)),
        "measured": ("GPU types that were measured", measured_widths(fit)),
        "examples": ("example machine types", widths_of(Cluster(slots=1, catalogue=vm_examples()))),
    }
    chosen = columns[4].selectbox(
        "On", MACHINES, key="predict-on", format_func=lambda key: machines[key][0],
        help="GPU types, each up to the GPUs of its largest machine",
    )  # fmt: skip
    times_table(predict_on(fit, machines[chosen][1], **given), f"predict-{models.tag}", share(fit.mape))


def _number(column: DeltaGenerator, fit: NetworkFit, feature: int, key: str) -> float | None:
    """Show a number to give where the model uses the feature; return None where it does not."""
    info, middle = FEATURES[feature], float(typical(fit)[feature])
    middle = round(middle) if middle >= ROUNDED_FROM else middle
    label = "Disk (s)" if feature == DISK else f"{info.word[:1].upper()}{info.word[1:]}"
    if feature not in fit.ranges:
        why = "was the same in all rows" if feature in fit.fixed else "is not in all rows"
        value = f"{middle:g}" if feature in fit.fixed else "not used"
        column.text_input(label, value, disabled=True, key=f"fixed-{info.key}-{key}", help=f"{info.help} It {why}.")
        return None
    low, high = fit.ranges[feature]
    asked = column.number_input(
        label, min_value=1e-6, max_value=1e12, value=float(middle), key=f"predict-{info.key}-{key}", format="%g",
        help=f"{info.help} Measured from {number(low)} to {number(high)}.",
    )  # fmt: skip
    return float(asked)


def times_table(prediction: Prediction, key: str, error: str) -> None:
    """Show predicted times, GPU types down and GPUs across, with what lies outside or cannot be told."""
    if prediction.rows:
        counts = _counts(max(len(row) for row in prediction.rows.values()))
        cells = [
            [gpu_type, *(_cell(row, prediction.outside[gpu_type], gpus) for gpus in counts)]
            for gpu_type, row in prediction.rows.items()
        ]
        heads = ["GPU type", *(f"{gpus} GPU{'s' if gpus > 1 else ''}" for gpus in counts)]
        st.dataframe(
            pd.DataFrame(cells, columns=heads), hide_index=True, key=f"{key}-times", placeholder="–",
            alt=f"Predicted training time of {prediction.network[:40]} by GPU type and number of GPUs",
        )  # fmt: skip
    outside = any(any(row) for row in prediction.outside.values())
    said = [f"Mean error of this network {error}."] if prediction.rows else []
    if outside:
        said.append("* extrapolated: a GPU type or a size that was not measured, expect more than the mean error.")
    said += [f"No times: {safe(text, 300)}." for text in lacking_words([prediction])]
    st.markdown(f":gray[{' '.join(said)}]" if said else "No machine here has GPUs.")


def _counts(most: int) -> Sequence[int]:
    """Return the numbers of GPUs to show: all when few, else powers of two and the largest."""
    if most <= SHOWN_GPUS:
        return range(1, most + 1)
    return sorted({*(2**power for power in range(int(np.log2(most)) + 1)), most})


def _cell(row: Sequence[float], outside: Sequence[bool], gpus: int) -> str | None:
    if gpus > len(row):
        return None
    return duration(row[gpus - 1]) + (OUTSIDE if outside[gpus - 1] else "")


def times_csv(predictions: Sequence[Prediction], errors: Mapping[str, float], *, generated: bool) -> bytes:
    """Return predicted times as a table: network, GPU type, GPUs, seconds, and how sure."""
    rows = [
        (p.network, gpu_type, gpus, seconds, "no" if outside else "yes", errors[p.network], generated)
        for p in predictions
        for gpu_type, row in p.rows.items()
        for gpus, (seconds, outside) in enumerate(zip(row, p.outside[gpu_type], strict=True), start=1)
    ]
    names = ["network", "gpu_type", "gpus", "seconds", "within_measured_range", "mean_error", "generated_data"]
    return csv(pd.DataFrame(rows, columns=names))
