"""Measurements on the Throughput page: a file, one of its series, the fitted times and what they leave open."""

from __future__ import annotations

import streamlit as st

from dlsched.speed.measurements import Measurements, ProfiledTimes
from dlsched.speed.network_fit import NetworkFits, fit_all
from dlsched.speed.queueing import NETWORKS, STATIONS
from dlsched.studies.speed_models.throughput import NETWORK_WORDS, fit_table
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, file_of, kept_file, put
from dlsched.ui.lab.throughput_source import Source
from dlsched.ui.scenario.jobs import import_report
from dlsched.wording.formats import amount, share
from dlsched.workload.profiles.demo_throughput import demo_csv
from dlsched.workload.profiles.throughput_file import TEMPLATES, MeasurementRead, read_measurements

DROP = "measurements"
EXAMPLE = "generated-throughput.csv"


def measurements_file() -> tuple[File, MeasurementRead] | None:
    """Show the drop zone; return the file in it and what was read, None without a file.

    Raises
    ------
    DlschedError
        When the file cannot be used; it names the line and the rule.
    """
    held = file_of(DROP)
    title = "Measurements" if held is None else f"Measurements: {safe(held.name)}"
    with st.expander(title, expanded=held is None, key=f"measurements-{held is None}"):
        left, right = st.columns([3, 2], gap="medium")
        with left:
            file = kept_file(
                "Drop measured throughput or step times: CSV or Parquet, also .gz .zip .bz2 .xz", DROP,
                "A row for each number of workers: workers, throughput (mini-batches/s) or step_time (s), model. "
                "Or profiled mini-batches: worker_s, uplink_s, server_s, downlink_s. The file stays on this host.",
            )  # fmt: skip
            if file is None:
                _nothing_yet()
                return None
        read = _read(file.tag, file.name, file)
        with right:
            import_report(read.report, "measurements")
    return file, read


def _nothing_yet() -> None:
    st.markdown(
        ":gray[Needed are workers and throughput at three numbers of workers or more, or the four times of some "
        "mini-batches.]"
    )
    with st.container(horizontal=True):
        st.button("Show a generated example", key="throughput-example", on_click=put, args=(DROP, EXAMPLE, demo_csv()),
                  help="Made-up measurements of two training jobs")  # fmt: skip
        st.download_button(
            "Example file", demo_csv(), EXAMPLE, "text/csv", key="throughput-template", on_click="ignore",
            help="The same as a file, to fill with yours",
        )  # fmt: skip
        st.download_button(
            "Template for times", TEMPLATES["times"], "step-times.csv", "text/csv", key="times-template",
            on_click="ignore", help="The four times of profiled mini-batches, in ms",
        )  # fmt: skip


@st.cache_resource(max_entries=4, show_spinner=False)
def _read(tag: str, name: str, _file: File) -> MeasurementRead:
    return read_measurements(_file.content, name)


def series_of(file: File, read: MeasurementRead) -> Source:
    """Ask for a series of the file and return the training job it tells of."""
    names = list(read.series)
    name = names[0]
    if len(names) > 1:
        name = st.selectbox(
            "Series", names, key=f"series-{file.tag}", width=190, help="One of the training jobs that the file names"
        )
    found, tag = read.series[name], f"{file.tag}-{names.index(name)}"
    made_up = file.content == demo_csv()
    if isinstance(found, ProfiledTimes):
        return Source(name, tag, dict.fromkeys(NETWORKS, found.times), profiled=found)
    with st.spinner("Fitting"):
        fits = _fits(tag, found)
    return Source(name, tag, {fit.network: fit.times for fit in fits.fits}, fits=fits, generated=made_up)


@st.cache_resource(max_entries=16, show_spinner=False)
def _fits(tag: str, _measured: Measurements) -> NetworkFits:
    return fit_all(_measured)


def fit_section(source: Source) -> None:
    """Show fitted times and errors of the three networks, or how sure profiled times are."""
    if source.profiled is not None:
        _profiled(source.profiled)
    if source.fits is None:
        return
    fits = source.fits
    points = amount(len(fits.best.measured), "number")
    st.subheader("How well the networks fit", anchor=False)
    st.dataframe(
        fit_table(fits).round(1), hide_index=True, key=f"fit-{source.tag}",
        alt=f"Fitted times in ms and errors of the three networks; least mean error {share(fits.best.mean_error)}",
    )  # fmt: skip
    notes = [note for note in fits.best.notes if note not in fits.best.measured.findings]
    st.markdown(
        f"Judged on the {points} of workers it was fitted to. Best is {NETWORK_WORDS[fits.best.network]}:\n"
        + "".join(f"\n- {safe(note, 300)}." for note in notes)
    )


def _profiled(profiled: ProfiledTimes) -> None:
    """Say how sure the mean of each profiled time is."""
    told = [
        f"{name} ± {share(half)}" if half == half else f"{name} of one row"
        for name, half in zip(STATIONS, profiled.half_widths.tolist(), strict=True)
    ]
    st.markdown(f":gray[Means of {amount(profiled.rows, 'profiled mini-batch', 'profiled mini-batches')}, 95%: "
                f"{', '.join(told)}.]")  # fmt: skip
