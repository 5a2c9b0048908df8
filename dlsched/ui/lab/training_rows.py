"""Profiling rows on the Training time page: generated ones, or a file; and the models fitted to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.errors import DlschedError, InputError
from dlsched.speed.regression import Fits, Runs, fit_all
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.uploads import File, kept_file
from dlsched.ui.scenario.jobs import import_report
from dlsched.workload.profiles.demo_profile import NOISE, SEED, demo_runs
from dlsched.workload.profiles.profiling import ProfileRead, read_profiling, template_csv

GENERATED, UPLOAD = "Generated example", "Upload"
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


def chosen() -> tuple[Models | None, DeltaGenerator]:
    """Show where the rows come from; return the models, None until there are some, and a place for the next step."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.segmented_control(
            "Profiling rows", (GENERATED, UPLOAD), default=GENERATED, required=True, key="rows", bind="query-params",
            help="Measured training times: by network, GPU type, number of GPUs and batch size",
        )  # fmt: skip
        st.space("stretch")
        action = st.container(width="content")
    if source == GENERATED:
        return Models(_demo_fits(), generated=True, tag="generated"), action
    return _uploaded(), action


@st.cache_resource(show_spinner=False)
def _demo_fits() -> Fits:
    return fit_all(demo_runs())


def generated_why() -> str:
    """Return what the generated rows are."""
    return (
        f"Made up: six applications on five GPU types by a speed law with {NOISE:.0%} noise, seed {SEED}. "
        "They show how the page works and say nothing of your networks."
    )


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
    read = _read_as(file.tag, file.name, given["network"], given["gpu_type"], file)
    for key in read.lacks:
        label, hint = NAMED[key]
        values = read.runs.network if key == "network" else read.runs.gpu_type
        st.text_input(
            label, placeholder=values[0], key=f"name-{key}-{file.tag}", max_chars=80, persist_state="session", help=hint
        )
    return read


@st.cache_resource(max_entries=4, show_spinner=False)
def _read_as(tag: str, name: str, network: str, gpu_type: str, _file: File) -> ProfileRead:
    return read_profiling(_file.content, name, network, gpu_type)


def _learnt_from(read: ProfileRead, tag: str) -> tuple[Runs, str]:
    """Return the rows of the GPU types that are ticked, and a key that says which rows they are."""
    types = sorted(set(read.runs.gpu_type))
    kept = types
    if len(types) > 1:
        kept = st.multiselect(
            "GPU types to learn from", types, default=types, key=f"learn-{tag}", persist_state="session",
            help="Leave out a type whose times do not follow the others: one wrong type spoils the rest",
        )  # fmt: skip
    if not kept:
        raise InputError("GPU types", "none is chosen", "Choose at least one")
    runs = read.runs.where(np.isin(read.runs.gpu_type.astype(str), kept))
    return runs, f"{tag}-{'|'.join(kept)}-{runs.networks[0]}"


@st.cache_resource(max_entries=8, show_spinner=False)
def _fits(key: str, _runs: Runs) -> Fits:
    return fit_all(_runs)
