"""Where the curve of the part Throughput comes from: four timings, an example network, or measurements in a file."""

from __future__ import annotations

import streamlit as st

from dlsched.speed.measurements import Measurements, ProfiledTimes
from dlsched.speed.network_fit import NetworkFits, fit_all
from dlsched.speed.queueing import NETWORKS, STATIONS, StepTimes
from dlsched.studies.speed_models.throughput import NETWORK_WORDS, Layout, Source, fit_table
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.text import safe
from dlsched.ui.frame.uploads import File, file_of, kept_file, put, read_once
from dlsched.ui.scenario.jobs import import_report
from dlsched.wording.formats import amount, share
from dlsched.workload.profiles.demo_throughput import demo_csv
from dlsched.workload.profiles.throughput_file import TEMPLATES, MeasurementRead, read_measurements
from dlsched.workload.studies.hell_knee import BATCH, K520_TFLOPS, TABLE_III, on_nodes

TIMES, NETWORK, UPLOAD = "Enter timings", "Example network", "Upload"
SOURCES = (TIMES, NETWORK, UPLOAD)
MOST_NODES = 200
MOST_SERVERS = 64
STATION_HELP = {
    "worker": ("Worker", 29.0, "Computing the gradient of a mini-batch, without waiting for anything"),
    "uplink": ("Uplink", 72.0, "Sending the gradient to the server when the link is otherwise idle"),
    "server": ("Server", 18.0, "Applying the gradient at the server"),
    "downlink": ("Downlink", 72.0, "Sending the new parameters back to the worker when the link is otherwise idle"),
}


def four_times() -> Source:
    """Ask for the four times of a mini-batch in ms.

    Raises
    ------
    InputError
        When all are 0.
    """
    given_s: dict[str, float] = {}
    for name, (label, value, hint) in STATION_HELP.items():
        given_ms = st.number_input(
            f"{label}, ms", min_value=0.0, max_value=1e9, value=value, key=f"{name}_ms", format="%g",
            bind="query-params", width=105, help=f"{hint}. Milliseconds, measured with one worker and one server.",
        )  # fmt: skip
        given_s[f"{name}_s"] = given_ms / 1000
    times = StepTimes(**given_s)
    return Source("my training job", TIMES, dict.fromkeys(NETWORKS, times))


def study_network() -> Source:
    """Ask for a network of Table III and the nodes it trains on."""
    by_name = {one.name: one for one in TABLE_III}
    name = st.selectbox(
        "Network", list(by_name), index=2, key="net", bind="query-params", width=150,
        help="Table III of the HELL/KNEE study, which has its numbers from the literature",
    )  # fmt: skip
    batch = st.number_input(
        "Mini-batch", 1, 10**7, BATCH, key="mini_batch", bind="query-params", width=105,
        help=f"Examples: {BATCH:,} in the study. Assumed: computing takes time in proportion, sending does not.",
    )  # fmt: skip
    tflops = st.number_input(
        "TFLOP/s", 1e-3, 1e6, K520_TFLOPS, key="tflops", bind="query-params", width=105, format="%g",
        help=f"Of the GPU: {K520_TFLOPS:g} in the study, nominal for a Grid K520. Assumed: all of it is used.",
    )  # fmt: skip
    gbit = st.number_input(
        "Gbit/s", 1e-3, 1e5, 1.0, key="gbit", bind="query-params", width=105, format="%g",
        help="Of the link: 1 in the study. The bytes of the model over this are the time of a transfer each way.",
    )  # fmt: skip
    network = on_nodes(by_name[name], batch, tflops, gbit)
    own = network.times != by_name[name].times
    return Source(name, NETWORK, dict.fromkeys(NETWORKS, network.times), network, own, batch=float(batch))


def layout_form(source: Source) -> tuple[Layout, float | None]:
    """Ask on how many nodes, with how many servers, and whether these have nodes of their own; the batch is optional.

    Measured throughput is of one server; numbers for more would be a guess on a guess.
    """
    if source.fits is None:
        nodes = st.number_input(
            "Nodes, up to", 2, MOST_NODES, 16, key="most_nodes", bind="query-params", width=110, help=NODES_HELP
        )
        with st.popover("More"):
            servers = st.number_input(
                "Servers", 1, MOST_SERVERS, 1, key="servers", bind="query-params", help=SERVERS_HELP
            )
            shared = st.toggle("Server shares a node", key="shared", bind="query-params", help=SHARED_HELP)
            return Layout(int(nodes), int(servers), shared), _batch(source)
    measured = source.fits.best.measured
    wanted = min(max(16, int(measured.workers[-1]) + 1), MOST_NODES)
    nodes = st.number_input("Nodes, up to", 2, MOST_NODES, wanted, key=f"nodes-{source.tag}", width=110,
                            help=NODES_HELP)  # fmt: skip
    with st.popover("More"):
        shared = st.toggle("Server shares a node", measured.synchronous, key=f"shared-{source.tag}", help=SHARED_HELP)
        return Layout(int(nodes), 1, shared), _batch(source)


def _batch(source: Source) -> float | None:
    if source.batch is not None:
        return source.batch
    return st.number_input(
        "Examples a mini-batch", min_value=1, max_value=10**7, value=None, key="examples", bind="query-params",
        placeholder="optional", help="Tells examples per second too; the curve does not depend on it",
    )  # fmt: skip


NODES_HELP = "The largest number of nodes to look at, for one job"
SERVERS_HELP = (
    "Servers that split the parameters evenly: links and server take 1/m of their time with m servers. "
    "The study found this too hopeful where the split is uneven."
)
SHARED_HELP = (
    "Off: on two and more nodes the servers have nodes of their own, so that w nodes are w - 1 workers and one server. "
    "On: every node has a worker, and servers run next to them at no cost."
)


# ---- measurements in a file -----------------------------------------------------------------------------


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
        read = read_once(file.name, file.tag, read_measurements, file.content, file.name)
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


def series_of(file: File, read: MeasurementRead) -> Source:
    """Ask for a series of the file and return the training job it tells of."""
    names = list(read.series)
    name = names[0]
    if len(names) > 1:
        name = st.selectbox(
            "Series", names, key=f"series-{file.tag}", width=190, help="One of the training jobs that the file names"
        )
    series, tag = read.series[name], f"{file.tag}-{names.index(name)}"
    made_up = file.content == demo_csv()
    if isinstance(series, ProfiledTimes):
        return Source(name, tag, dict.fromkeys(NETWORKS, series.times), profiled=series)
    with st.spinner("Fitting"):
        fits = _fits(tag, series)
    return Source(name, tag, {fit.network: fit.times for fit in fits.fits}, fits=fits, generated=made_up)


@shared
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
    half_widths = [
        f"{name} ± {share(half)}" if half == half else f"{name} of one row"
        for name, half in zip(STATIONS, profiled.half_widths.tolist(), strict=True)
    ]
    st.markdown(f":gray[Means of {amount(profiled.rows, 'profiled mini-batch', 'profiled mini-batches')}, 95%: "
                f"{', '.join(half_widths)}.]")  # fmt: skip
