"""What the Workload page says of jobs: sentence, cards, charts, doctor's report, table, fill rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario
from dlsched.figures import workload as figures
from dlsched.figures.cluster import demand
from dlsched.metrics.findings import guards, workload_sentence
from dlsched.metrics.formats import count, duration, number, share
from dlsched.ui import charts, session
from dlsched.ui.parts import cards, guard_rails, mistakes_shown, sentence
from dlsched.ui.text import dollars, safe
from dlsched.workload import fill
from dlsched.workload.doctor import Finding, Report, arrival_window_s, fit_of

MAX_ROWS = 1000


def profile(scenario: Scenario) -> None:
    """Show the sentence, cards and charts of the scenario's jobs."""
    jobs, cluster = scenario.workload, scenario.cluster
    fit = fit_of(jobs, cluster, scenario.options.placement)
    median = float(np.median(jobs.work))
    widest = float(jobs.gpus.max())
    load = None if np.isnan(fit.load) else fit.load
    guard_rails(
        [g for g in guards(scenario, load=load, never_fit=len(fit.never_fit), widest_gpus=widest) if g.level != "info"]
    )
    sentence(
        workload_sentence(
            len(jobs), arrival_window_s(jobs), median, load=load, gpus=cluster.num_gpus, never_fit=len(fit.never_fit)
        )
    )
    cards([
        ("Jobs", count(len(jobs)), "Jobs that will be simulated."),
        ("Load", share(load), f"GPU time asked for over GPU time of the scenario's {count(cluster.num_gpus)} GPUs while jobs arrive."),
        ("Run time, median", duration(median), "Half of the jobs run shorter, at the width they ask for."),
        ("Widest job", f"{number(widest)} GPUs", "GPUs of the largest job."),
    ])  # fmt: skip
    if fit.never_fit:
        with st.expander(f"{count(len(fit.never_fit))} jobs that can never fit this cluster"):
            st.markdown(", ".join(safe(job) for job in fit.never_fit[:50]))
    _findings("Not modelled on this cluster", [f for f in fit.not_modelled if f.count])
    theme = charts.page_theme()
    shown = figures.profile(jobs, theme)
    for left in range(0, len(shown), 2):
        for column, place in zip(st.columns(2), (left, left + 1), strict=True):
            if place < len(shown):
                with column:
                    charts.show(shown[place], f"profile-{place}")
    if cluster.num_gpus:
        charts.show(demand(jobs, float(cluster.num_gpus), theme), "demand", caption=True)


def doctor(report: Report, format_label: str) -> None:
    """Show what the reader read, kept, repaired and dropped, with examples."""
    with st.container(border=True):
        st.markdown(f"**Trace doctor** · {format_label}")
        st.markdown(
            f"Kept **{count(report.kept)}** of {count(report.rows)} rows; repaired {count(report.repaired)}, dropped {count(report.dropped)}."
        )
        for note in report.notes:
            st.markdown(f":gray[{safe(note, 300)}]")
        for kind, title in (
            ("dropped", "Dropped"),
            ("repaired", "Repaired"),
            ("flagged", "Kept, but look"),
            ("not modelled", "Not modelled"),
        ):
            _findings(title, list(report.of_kind(kind)))  # type: ignore[arg-type]


def _findings(title: str, findings: list[Finding]) -> None:
    for finding in findings:
        with st.expander(f"{title}: {count(finding.count)} × {safe(finding.reason, 120)}"):
            st.markdown(safe(finding.rule, 400))
            if finding.examples:
                rows = pd.DataFrame([(e.line, e.value) for e in finding.examples], columns=["line", "value"])
                st.dataframe(rows, hide_index=True, key=f"finding-{title}-{finding.reason}")


def jobs_table(scenario: Scenario) -> None:
    """Show the first rows of the workload with a filter."""
    with st.expander(f"Table of jobs ({count(len(scenario.workload))})"):
        frame = pd.DataFrame(scenario.workload.columns())
        text = st.text_input("Filter by job, user or class", key="workload-filter")
        if text:
            named = [c for c in ("job_id", "user", "group", "job_class") if c in frame]
            hit = np.logical_or.reduce(
                [frame[c].astype(str).str.contains(text, case=False, regex=False) for c in named]
            )
            frame = frame[hit]
        st.markdown(f":gray[{count(min(len(frame), MAX_ROWS))} of {count(len(frame))} rows shown; times in seconds.]")
        st.dataframe(frame.head(MAX_ROWS), hide_index=True, key="workload-table")


def fill_boxes(scenario: Scenario) -> None:
    """Offer a stated rule for each thing no job has: one labelled click each."""
    lacking = fill.missing(scenario)
    if not lacking:
        return
    st.subheader("Not in the data, filled by one click", anchor=False)
    offers: dict[Need, tuple[str, str, Callable[[Scenario], Scenario]]] = {
        Need.DUE: ("Make due times", "due = submission + U[1, 3] × fastest run time", fill.fill_due),
        Need.WEIGHT: ("Make lateness weights", "$1 per GPU for each hour late", fill.fill_weights),
        Need.PRICE: (
            "Set example prices",
            f"${fill.EXAMPLE_USD_PER_GPU_H:.2f} per GPU-hour, an example and not a quote",
            fill.fill_prices,
        ),
        Need.PRIORITY: ("Make priorities", "smaller jobs first", fill.fill_priorities),
        Need.USER: ("Make users", "8 made-up users", fill.fill_users),
    }
    with st.container(horizontal=True):
        for need, (label, rule, change) in offers.items():
            if need in lacking and st.button(
                label, key=f"fill-{need.name}", help=dollars(f"Rule: {rule}. Becomes a new version.")
            ):
                with mistakes_shown():
                    session.keep(change(scenario), based_on=scenario.content_hash)
                    st.query_params.clear()
                    st.rerun()
