"""What the page Jobs says of jobs: sentence, cards, charts, import report, table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.domain.assumptions import with_other_jobs
from dlsched.domain.cluster import Cluster
from dlsched.domain.columns import CPU, GANG_COLUMNS
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import COLUMN, RESOURCES, Workload
from dlsched.figures import workload as figures
from dlsched.figures.base import Chart
from dlsched.figures.cluster import demand
from dlsched.figures.palette import Theme
from dlsched.metrics.findings import workload_sentence
from dlsched.ui.frame import charts
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.parts import cards, guard_rails, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.scenario import new_scenario
from dlsched.wording.cautions import cautions
from dlsched.wording.clock import clock_of
from dlsched.wording.counted import COUNTED, GPUS, Counted, counted_of, counted_on, room_words
from dlsched.wording.formats import amount, capital, count, duration, share
from dlsched.wording.resources import (
    amounts_of,
    asked_of,
    comes_at_once,
    requested_words,
    room_of,
    scarcest,
    scarcest_card,
    servers_words,
    unit_of,
)
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.cluster_from_log.found import FOUND_COLUMNS
from dlsched.workload.import_report import Finding, Report, arrival_window_s, fit_of, in_seconds, offered_load

MAX_ROWS = 1000
MOST_TYPES_AT_ONCE, TYPES_PX = 10, 390
KINDS = (
    ("dropped", "Dropped"),
    ("repaired", "Repaired"),
    ("flagged", "Warnings"),
    ("not modelled", "Not modelled"),
)
LABELS = {
    "job_id": "Job", "submit_s": "Submitted (s)", "work": "Run time (s)", "due_s": "Due (s)", "job_class": "Class",
    "gpus_per_worker": "GPUs per worker", "cpus_per_worker": "CPUs per worker", "gpu_types": "GPU types",
    "mem_gib_per_worker": "Memory per worker (GiB)", "weight_usd_per_s": "Cost of lateness ($/s)",
    "recorded_start_s": "Recorded start (s)", "recorded_end_s": "Recorded end (s)",
    "limit_s": "Time limit (s)", "held_s": "Held before submission (s)",
    "cancel_after_s": "Taken back after (s)",
    "disk_gib_per_worker": "Disk per worker (GiB)", "servers": "Parameter servers",
    "cpus_per_server": "CPUs per server", "mem_gib_per_server": "Memory per server (GiB)",
    "disk_gib_per_server": "Disk per server (GiB)", "workers_per_server": "Max. workers per server",
    "limit_gpus": "Limit (GPUs)", "limit_cpus": "Limit (CPUs)", "limit_mem_gib": "Limit, memory (GiB)",
    "limit_disk_gib": "Limit, disk (GiB)", "batch_s": "Step: shared part (s)", "step_s": "Step: fixed part (s)",
    "transfer_s": "Step: transfers (s)", "worker_overhead_s": "Step: per worker (s)",
    "server_overhead_s": "Step: per server (s)", "spread_s": "Step: on several nodes (s)",
    "utility_1": "Value if done at once", "utility_2": "Value: decay (1/unit)",
    "utility_3": "Value: half left after (units)",
}  # fmt: skip
STEPS = "Training steps"
"""Heading of the work of jobs with parameter servers."""
GANG_NAMES = frozenset(column.name for column in GANG_COLUMNS)


def on_cluster(made: Scenario, current: Scenario, found: ClusterFound | None, source: str) -> Scenario:
    """Ask which cluster new jobs go on and return them on it.

    ``made`` is on the cluster ``found`` in the log or its description, else on the default one for its jobs. The
    cluster of a scenario that is being made goes before both. Settings of a Slurm stay with its cluster, without
    reservations, whose times were those of other jobs.
    """
    is_new = new_scenario.begun(current) is not None
    words = "the default for these jobs" if found is None else f"from {found.source}"
    offers = {"made": (words, made.cluster)}
    offers["current"] = ("the new one" if is_new else f"keep that of “{current.name}”", current.cluster)
    first = "current" if is_new else "made"
    of_default = "8-GPU" if made.counted == GPUS.index else "64-core"
    chosen = st.selectbox(
        "On which cluster", list(offers), key=f"on-{source}-{first}-{words}", index=list(offers).index(first),
        format_func=lambda key: f"{offers[key][0]}: {_size_and_load(made, offers[key][1])}",
        help=f"If the file says nothing of its cluster, this is the smallest number of {of_default} nodes that fits "
        "the largest job at a load of at most 70%. You can change it on the page Cluster.",
    )  # fmt: skip
    if chosen == "made":
        if found is not None:
            found_cluster(found)
        return made
    slurm = made.slurm or (None if current.slurm is None else current.slurm.model_copy(update={"reservations": ()}))
    own = tuple(one for one in made.assumptions if not one.is_about_cluster)
    kept = (one for one in with_other_jobs(current.assumptions) if one.kind != "slurm" or made.slurm is None)
    return made.replace(cluster=current.cluster, slurm=slurm, assumptions=(*own, *kept))


def found_cluster(found: ClusterFound) -> None:
    """Show the node types of a cluster that was read, with where each part comes from."""
    rows = pd.DataFrame(found.rows(), columns=[*FOUND_COLUMNS])
    st.dataframe(rows, hide_index=True, key="found-cluster", alt="The node types that were read",
                 height="content" if len(rows) <= MOST_TYPES_AT_ONCE else TYPES_PX,
                 column_config={"Memory": st.column_config.NumberColumn(format="%g GiB")})  # fmt: skip
    st.markdown(f":gray[{safe('. '.join((capital(found.words), *found.notes)), 900)}. Change it on the page Cluster.]")


def on_which_cluster(shown: Scenario, base: Scenario, *, is_new: bool) -> None:
    """Say which cluster jobs that are not used yet go on and what load that makes, with the way to another one.

    ``base`` is what they were put on: the current scenario, or with ``is_new`` the one that is being made.
    """
    if shown.cluster != base.cluster:
        whose = "a cluster of their own"
    else:
        whose = "the new cluster" if is_new else f"the cluster of “{safe(base.name)}”"
    with st.container(horizontal=True, vertical_alignment="center", key="on-which-cluster"):
        words = _size_and_load(shown, shown.cluster)
        st.markdown(f"These jobs run on **{whose}**: {words}.", width="content")
        if not is_new and st.button("Another cluster…", key="another-cluster", type="tertiary",
                                    help="Enter its size first, then its jobs"):  # fmt: skip
            new_scenario.dialog()


def _size_and_load(scenario: Scenario, cluster: Cluster) -> str:
    """Return "8 nodes, 64 GPUs, load 85%"; without the load where the cluster has no fixed GPUs."""
    load = offered_load(in_seconds(scenario), cluster)
    return size_of(cluster, counted_on(scenario.workload, cluster)) + (
        "" if np.isnan(load) else f", load {share(load)}"
    )


def size_of(cluster: Cluster, counted: Counted = GPUS) -> str:
    """Return the size of a cluster in words: its nodes, and their GPUs or cores, whichever count."""
    if cluster.free_slots:
        return f"up to {amount(cluster.slots, 'rented machine')}"
    room = room_words(cluster, counted) or room_words(cluster, COUNTED[CPU])
    return ", ".join(part for part in (amount(cluster.num_nodes, "node"), room) if part)


def profile(scenario: Scenario) -> None:
    """Show the banners, the sentence, the cards and the charts of the scenario's jobs."""
    jobs, cluster = in_seconds(scenario), scenario.cluster
    fit = fit_of(jobs, cluster, scenario.options.placement)
    median, widest = float(np.median(jobs.work)), float(jobs.requested[:, scenario.counted].max())
    counted = counted_of(scenario)
    load = None if np.isnan(fit.load) else fit.load
    warnings = cautions(scenario, load=load, never_fit=len(fit.never_fit), widest=widest)
    guard_rails([caution for caution in warnings if caution.level != "info"])
    together = asked_of(scenario) if (jobs.has_servers or counted != GPUS) and comes_at_once(scenario) else {}
    told = load if counted == GPUS else asked_of(scenario).get(counted.column)
    sentence(
        workload_sentence(
            len(jobs), 0.0 if together else arrival_window_s(jobs), median, load=together.get(counted.column, told),
            room=room_words(cluster, counted), never_fit=len(fit.never_fit),
            scarcer="" if jobs.has_servers else _scarcer(scenario),
        ),
        (),
    )  # fmt: skip
    cards([
        ("Jobs", count(len(jobs)), "Jobs that will be simulated."),
        scarcest_card(scenario) or _load_card(load, cluster),
        ("Run time, median", duration(median), counted.say("Half of the jobs run for less, on the GPUs they request.")),
        ("Largest job", counted.amount(widest), counted.say("GPUs of the largest job.")),
    ])  # fmt: skip
    if jobs.has_servers:
        st.markdown(servers_words(scenario))
    _charts(scenario)
    if fit.never_fit:
        with st.expander(f"{amount(len(fit.never_fit), 'job')} that can never fit this cluster"):
            st.markdown(", ".join(safe(job) for job in fit.never_fit[:50]) + (" …" if len(fit.never_fit) > 50 else ""))
    _findings("Not modelled on this cluster", [f for f in fit.not_modelled if f.count])


def _scarcer(scenario: Scenario) -> str:
    """Return "112% of 480 cores" where another resource is scarcer than the one that counts; "" where none is."""
    found = scarcest(scenario)
    if found is None or found[0] == counted_of(scenario).column:
        return ""
    return f"{share(found[1])} of {room_of(scenario, found[0])}"


def _load_card(load: float | None, cluster: Cluster) -> tuple[str, str, str]:
    if load is None:
        why = "here the policy rents the machines" if cluster.free_slots else "here nothing limits the jobs"
        return ("Load", share(load), f"Load is defined for owned nodes with GPUs or stated cores; {why}.")
    why = "GPU time requested divided by the cluster's GPU time while jobs arrive; CPUs, memory and disk do not count."
    return ("Load", share(load), f"{why} Cluster: {amount(cluster.num_gpus, 'GPU')}.")


def _charts(scenario: Scenario) -> None:
    pictures, over_time = _pictures(scenario.content_hash, charts.page_theme(), scenario)
    for left in range(0, len(pictures), 2):
        for column, place in zip(st.columns(2), (left, left + 1), strict=True):
            if place < len(pictures):
                with column:
                    charts.show(pictures[place], f"profile-{place}")
    charts.show(over_time, "demand", caption=True)


@shared
def _pictures(scenario_hash: str, theme: Theme, _scenario: Scenario) -> tuple[Sequence[Chart], Chart | None]:
    """Return the charts of what the jobs ask for, and what they ask for over time where the nodes have a limit."""
    jobs, clock = in_seconds(_scenario), clock_of(_scenario.workload)
    pictures = figures.profile(jobs, theme, clock, counted_of(_scenario))
    if (scarce := scarcest(_scenario)) is not None:
        capacity = float(_scenario.cluster.nodes.capacity[:, RESOURCES.index(scarce[0])].sum())
        unit, amounts = unit_of(_scenario, scarce[0]), amounts_of(_scenario, scarce[0])
        return pictures, demand(jobs, capacity, theme, amounts=amounts, unit=unit, clock=clock)
    gpus = _scenario.cluster.num_gpus
    return pictures, demand(jobs, float(gpus), theme, clock=clock) if gpus else None


def import_report(
    report: Report, format_label: str, name: str = "Import check", *, workload: Workload | None = None
) -> None:
    """Show what the reader read, kept, repaired and dropped, with examples; of jobs also what they request."""
    with st.container(border=True, gap="small"):
        st.markdown(f"**{name}** · recognised as {format_label}")
        st.markdown(
            f"Kept **{count(report.kept)}** of {amount(report.rows, 'row')}; "
            f"repaired {count(report.repaired)}, dropped {count(report.dropped)}."
        )
        if workload is not None:
            st.markdown(f"{requested_words(workload)}.")
        for kind, title in KINDS:
            _findings(title, list(report.of_kind(kind)))  # type: ignore[arg-type]
        if report.notes:
            st.markdown(f":gray[{safe(' · '.join(report.notes), 600)}]")


def import_counts(scenario: Scenario) -> None:
    """Show what was kept of the rows that the scenario's jobs were read from, and what kind of jobs they are."""
    read = scenario.read
    with st.container(border=True, gap="small"):
        st.markdown("**Import check**")
        if scenario.generator is not None:
            st.markdown("These jobs were generated, not read from a file.")
        elif not read.get("rows"):
            st.markdown("What was dropped or repaired when these jobs were read is not known.")
        else:
            st.markdown(
                f"Kept **{count(read['kept'])}** of {amount(read['rows'], 'row')}; "
                f"repaired {count(read.get('repaired', 0))}, dropped {count(read.get('dropped', 0))}."
            )
        if not scenario.workload.has_recorded_starts:
            st.markdown("They have no recorded start times, so a replay cannot be compared with what happened.")


def _findings(title: str, findings: list[Finding]) -> None:
    for finding in findings:
        with st.expander(f"{title}: {count(finding.count)} × {safe(finding.reason, 120)}"):
            st.markdown(safe(finding.rule, 400))
            if finding.examples:
                rows = pd.DataFrame([(e.line, e.value) for e in finding.examples], columns=["line", "value"])
                st.dataframe(rows, hide_index=True, key=f"finding-{title}-{finding.reason}", alt="Examples with lines")


def jobs_table(scenario: Scenario) -> None:
    """Show the first rows of the workload with a filter."""
    jobs = scenario.workload
    with st.expander(f"Table of jobs ({count(len(jobs))})", key="jobs-table", on_change="rerun") as box:
        if not box.open:
            return
        text = st.text_input("Filter by job, user, group or class", key="workload-filter")
        hit = np.flatnonzero(_named(scenario, text)) if text else np.arange(len(jobs))
        present = shown_columns(scenario)
        columns = {label: getattr(jobs, name)[hit[:MAX_ROWS]] for name, label in present.items()}
        st.markdown(f":gray[{count(min(len(hit), MAX_ROWS))} of {count(len(hit))} rows shown.]")
        st.dataframe(
            pd.DataFrame(columns), hide_index=True, key="workload-table", alt="Jobs, in order of submission",
            column_config={label: st.column_config.Column(help=COLUMN[name].help) for name, label in present.items()},
        )  # fmt: skip


def label_of(column: str) -> str:
    """Return the heading of a workload column, with its unit."""
    return LABELS.get(column, column.replace("_", " ").capitalize())


def shown_columns(scenario: Scenario) -> dict[str, str]:
    """Return the columns to show with their headings; those of parameter servers only where they say something."""
    headings = {
        name: label_of(name)
        for name, values in scenario.workload.columns().items()
        if name not in GANG_NAMES or bool(np.nan_to_num(values.astype(float)).any())
    }
    if scenario.speed.kind == "parameter-server":
        headings["work"] = STEPS
    return headings


def _named(scenario: Scenario, text: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which jobs have the text in a name."""
    is_named = np.zeros(len(scenario.workload), dtype=bool)
    for name in ("job_id", "user", "group", "job_class"):
        values = getattr(scenario.workload, name)
        if values is not None:
            is_named |= pd.Series(values).astype(str).str.contains(text, case=False, regex=False).to_numpy()
    return is_named
