"""The part Training time of Speed-up: profiling rows, models fitted to them, their accuracy, one prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import DlschedError, InputError
from dlsched.figures.training import network_errors, predicted_vs_measured
from dlsched.speed.regression import Fits, NetworkFit, Runs, fit_all
from dlsched.speed.terms import BATCH, DISK, FEATURES, ITERATIONS
from dlsched.studies.speed_models.training import (
    formula,
    generated_why,
    left_out,
    prediction_sentence,
    training_assumptions,
    training_cards,
    training_cautions,
    training_sentence,
)
from dlsched.ui.frame import charts
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.charts import csv
from dlsched.ui.frame.parts import cards, chips, error_box, guard_rails, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, kept_file, read_once
from dlsched.ui.scenario.jobs import import_report
from dlsched.wording.formats import count, duration, number, share
from dlsched.workload.catalogue import vm_examples
from dlsched.workload.profiles.demo_profile import demo_runs
from dlsched.workload.profiles.predicted_times import (
    Prediction,
    lacking_words,
    measured_widths,
    predict_on,
    typical,
    widths_of,
)
from dlsched.workload.profiles.profiling import ProfileRead, read_profiling, template_csv

# ---- profiling rows -------------------------------------------------------------------------------------


GENERATED, UPLOAD = "Generated example", "Upload"
ACCURACY, PREDICT, APPLY = "Accuracy", "Predict a job", "Apply to my jobs"
VIEW = "times"
"""Key of the control, and parameter of the URL, that says which view is open."""
DROP = "profile"
NAMED = {
    "network": ("Name of the network", "The file names no network, so all its rows are of this one"),
    "gpu_type": (
        "GPU type", "The file names no GPU type, so all its rows are of this one: named as in the machine types"
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Models:
    """Fitted models, whether their rows are generated, and a short name of where they come from for widget keys."""

    fits: Fits
    generated: bool
    tag: str

    @property
    def networks(self) -> list[str]:
        """Networks that can be predicted, sorted."""
        return [model.network for model in self.fits.models]


def chosen() -> tuple[Models | None, str, DeltaGenerator]:
    """Show where the rows come from and the views.

    Returns the models (None until there are some), which view is open, and a place for the next step.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.segmented_control(
            "Profiling rows", (GENERATED, UPLOAD), default=GENERATED, required=True, key="rows", bind="query-params",
            help="Measured training times: by network, GPU type, number of GPUs and batch size",
        )  # fmt: skip
        view = st.segmented_control(
            "View", (ACCURACY, PREDICT, APPLY), default=ACCURACY, required=True, key=VIEW, bind="query-params"
        )
        st.space("stretch")
        action = st.container(width="content")
    models = Models(_demo_fits(), generated=True, tag="generated") if source == GENERATED else _uploaded()
    return models, str(view), action


@st.cache_resource(show_spinner=False)
def _demo_fits() -> Fits:
    return fit_all(demo_runs())


def _uploaded() -> Models | None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        file = kept_file(
            "Drop profiling rows: CSV or Parquet, also .gz .zip .bz2 .xz", DROP,
            "A row for each measured run: network, gpu_type, gpus, batch_size, iterations (or epochs and samples), "
            "seconds. Up to 10,000 rows. The file stays on this host.",
        )  # fmt: skip
        if file is None:
            st.markdown(
                ":gray[Needed are the time and the number of GPUs of each run. GPU types get their nominal GFLOPS by "
                "name; step times (step_time, local_bsz) are understood too. A network needs 8 configurations.]"
            )
            st.download_button(
                "Template CSV", template_csv(), "profiling-rows.csv", "text/csv", key="profile-template",
                on_click="ignore", help="A small table with every column name",
            )  # fmt: skip
            return None
        try:
            read = _read(file)
            runs, key = _learnt_from(read, file.tag)
            with st.spinner("Fitting"):
                fits = _fits(key, runs)
        except DlschedError as error:
            error_box(error)
            return None
    with right:
        import_report(read.report, "profiling rows")
    return Models(fits, generated=False, tag=key)


def _read(file: File) -> ProfileRead:
    """Return the rows of a file, with the names given here for what it does not name."""
    given = {key: str(st.session_state.get(f"name-{key}-{file.tag}", "")).strip()[:80] for key in NAMED}
    read = read_once(file.name, f"{file.tag}-{given}", read_profiling, file.content, file.name, *given.values())
    for key in read.lacks:
        label, hint = NAMED[key]
        values = read.runs.network if key == "network" else read.runs.gpu_type
        st.text_input(
            label, placeholder=values[0], key=f"name-{key}-{file.tag}", max_chars=80, persist_state="session", help=hint
        )
    return read


def _learnt_from(read: ProfileRead, tag: str) -> tuple[Runs, str]:
    """Return the rows of the GPU types that are ticked, and a key that says which rows they are."""
    types = sorted(set(read.runs.gpu_type))
    chosen_types = types
    if len(types) > 1:
        chosen_types = st.multiselect(
            "GPU types to learn from", types, default=types, key=f"learn-{tag}", persist_state="session",
            help="Leave out a type whose times do not follow the others: one wrong type spoils the rest",
        )  # fmt: skip
    if not chosen_types:
        raise InputError("GPU types", "none is chosen", "Choose at least one")
    runs = read.runs.where(np.isin(read.runs.gpu_type.astype(str), chosen_types))
    return runs, f"{tag}-{'|'.join(chosen_types)}-{runs.networks[0]}"


@shared
def _fits(key: str, _runs: Runs) -> Fits:
    return fit_all(_runs)


# ---- the answer -----------------------------------------------------------------------------------------


MOST_LISTED = 30


def show(models: Models) -> None:
    """Show banners, sentence, cards and the two charts."""
    fits = models.fits
    guard_rails(training_cautions(fits))
    sentence(training_sentence(fits), ())
    cards(training_cards(fits))
    with st.container(horizontal=True, vertical_alignment="center"):
        if models.generated:
            st.badge("generated rows", color="orange", help=generated_why())
        chips(training_assumptions(generated=models.generated), "training")
    theme = charts.page_theme()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        charts.show(predicted_vs_measured(fits, theme), f"predicted-{models.tag}")
    with right:
        charts.show(network_errors(fits, theme), f"errors-{models.tag}")


def terms(models: Models) -> None:
    """Show which terms were chosen, in words, and what could not be used."""
    with st.expander("Formula of each network", key=f"terms-{models.tag}"):
        st.markdown(
            "The time of each network is a sum of these terms, each multiplied by a fitted number, in the order in "
            "which they were chosen. Iterations only multiply: half of them take half of what grows with them."
        )
        for model in models.fits.models[:MOST_LISTED]:
            unused = f" Not used: {left_out(model)}." if left_out(model) else ""
            st.markdown(f"**{safe(model.network, 60)}**: time = {formula(model)}.{unused}")
        if len(models.fits.models) > MOST_LISTED:
            st.markdown(f":gray[The first {MOST_LISTED} of {count(len(models.fits.models))} networks.]")
        types = sorted({gpu_type for model in models.fits.models for gpu_type in model.unseen})
        if types:
            st.markdown("Mean error for a GPU type when it is predicted from the others:")
            unseen = [
                [model.network, *(share(model.unseen.get(gpu_type)) for gpu_type in types)]
                for model in models.fits.models
            ]
            st.dataframe(
                pd.DataFrame(unseen, columns=["Network", *types]), hide_index=True, key=f"unseen-{models.tag}",
                alt="Error of each GPU type left out, by network",
            )  # fmt: skip


# ---- one job --------------------------------------------------------------------------------------------


OUTSIDE = " *"
SHOWN_GPUS = 8
ROUNDED_FROM = 1000
MACHINES = ("scenario", "measured", "examples")


def prediction(models: Models, cluster: Cluster) -> None:
    """Show the form and the times it asks for."""
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
    predicted = predict_on(fit, machines[chosen][1], **given)
    sentence(prediction_sentence(predicted, fit.mape), ())
    times_table(predicted, f"predict-{models.tag}")


def _number(column: DeltaGenerator, fit: NetworkFit, feature: int, key: str) -> float | None:
    """Show a number to give where the model uses the feature; return None if it does not."""
    info, middle = FEATURES[feature], float(typical(fit)[feature])
    middle = round(middle) if middle >= ROUNDED_FROM else middle
    label = "Disk (s)" if feature == DISK else f"{info.word[:1].upper()}{info.word[1:]}"
    if feature not in fit.ranges:
        why = "was the same in all rows" if feature in fit.fixed else "is not in all rows"
        value = f"{middle:g}" if feature in fit.fixed else "not used"
        column.text_input(label, value, disabled=True, key=f"fixed-{info.key}-{key}", help=f"{info.help} It {why}.")
        return None
    low, high = fit.ranges[feature]
    given = column.number_input(
        label, min_value=1e-6, max_value=1e12, value=float(middle), key=f"predict-{info.key}-{key}", format="%g",
        help=f"{info.help} Measured from {number(low)} to {number(high)}.",
    )  # fmt: skip
    return float(given)


def times_table(prediction: Prediction, key: str) -> None:
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
    notes = ["* extrapolated: this GPU type or size was not measured; expect more than the mean error."] * outside
    notes += [f"No times: {safe(text, 300)}." for text in lacking_words([prediction])]
    if notes:
        st.markdown(f":gray[{' '.join(notes)}]")


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
