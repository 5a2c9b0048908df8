"""From the recorded starts and ends of a log to what happened: nothing is simulated."""

from __future__ import annotations

import numpy as np

from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import GPU, Floats
from dlsched.studies.calibration.idle import MOST_IDLE, idle_beside_long_waits, idle_of_record
from dlsched.studies.history.answer import (
    GROUPINGS,
    OUTCOMES,
    Capacity,
    GroupRow,
    History,
    IdleHour,
    LongWait,
    OutcomeRow,
    Resource,
)
from dlsched.studies.history.idle import (
    amount_of,
    capacity_of,
    idle_steps,
    queue_of,
    series_of,
    step_of,
    width_of,
    window_of,
)
from dlsched.studies.history.prices import cluster_words, rates_of, usd_of
from dlsched.studies.history.record import Record, record_of
from dlsched.studies.history.spec import HistorySpec
from dlsched.studies.history.tables import Groups, by_month, groups_of, month_edges, rows_of
from dlsched.studies.simulation import Progress
from dlsched.studies.study import require_scenario
from dlsched.wording.clock import Clock, clock_of
from dlsched.wording.formats import amount, share

RESOURCES: tuple[Resource, ...] = ("gpus", "cpus")
JOBS_PER_S = 150_000.0
LONGEST = 20
UNUSUAL, LEAST_MONTHS = 2.0, 4
LEAST_DAYS = 20
"""A month at an end of the log with fewer days in it is not compared with others."""


def check(spec: HistorySpec, scenario: Scenario) -> None:
    """Raise InputError for another scenario than the question names, or one without recorded starts."""
    require_scenario("what happened", spec.scenario, scenario)
    if not scenario.workload.has_recorded_starts:
        record_of(scenario)


def estimate_s(spec: HistorySpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds it takes."""
    return 0.2 + (0.0 if scenario is None else len(scenario.workload) / JOBS_PER_S)


def history_of(spec: HistorySpec, scenario: Scenario, progress: Progress | None = None) -> History:
    """Return what happened to the jobs of a scenario, by its recorded starts and ends.

    Raises
    ------
    InputError
        Another scenario than the question names, or no recorded start.
    """
    check(spec, scenario)
    report = progress or (lambda done, text: None)
    report(0.0, "Starts and ends")
    record, clock = record_of(scenario), clock_of(scenario.workload)
    rates = rates_of(spec, scenario, record)
    usd = usd_of(record, rates)
    resource: Resource = "gpus" if scenario.counted == GPU and (record.gpus > 0).any() else "cpus"
    report(0.1, "Waits and hours")
    total = rows_of(record, groups_of(None, len(record.jobs)), usd)[0].model_copy(update={"name": "all jobs"})
    groups = _groups(record, usd, clock)
    report(0.6, "What stood idle")
    window_s = window_of(record)
    capacity: list[Capacity] = []
    steps = notable = 0
    worst: tuple[IdleHour, ...] = ()
    if spec.cluster_known and window_s is not None:
        for one in RESOURCES:
            there = amount_of(scenario.cluster, one)
            if there is None or not (width_of(record, one) > 0).any():
                continue
            queue = queue_of(record, scenario.cluster, one, there)
            capacity.append(capacity_of(record, scenario.cluster, one, queue, window_s))
            if one == resource:
                steps, notable, worst = idle_steps(record, scenario.cluster, one, window_s, _phase_s(clock))
    main = next((one for one in capacity if one.resource == resource), None)
    free = idle_beside_long_waits(record.jobs, scenario.cluster) if capacity else None
    usd_per_h = rates.gpu_usd if resource == "gpus" else rates.core_usd
    report(0.9, "Longest waits")
    return History(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        jobs=len(record.jobs),
        started=int(record.started.sum()),
        early=record.early,
        dropped=int(scenario.read.get("dropped", 0)),
        first_s=record.first_s,
        last_s=record.last_s,
        resource=resource,
        has_gpus=bool((record.gpus > 0).any()),
        has_cores=bool((record.cores > 0).any()),
        total=total,
        groups=groups,
        outcomes=_outcomes(record),
        window_s=window_s,
        capacity=tuple(capacity),
        cluster_words=cluster_words(scenario, known=spec.cluster_known),
        prices=rates.told,
        idle_usd=None if main is None or usd_per_h is None else main.idle_h * usd_per_h,
        step_s=HOUR_S if window_s is None else step_of(window_s),
        idle_wanted=idle_of_record(record.jobs, scenario.cluster) if capacity else None,
        steps=steps,
        idle_steps=notable,
        worst=worst,
        longest=_longest(record, resource),
        series=series_of(record, resource),
        unusual_months=_unusual(groups.get("month", ()), record, clock, resource),
        is_sample=free is not None and free > MOST_IDLE,
        notes=_notes(record, scenario, main, free),
    )


def _phase_s(clock: Clock) -> float:
    """Return how far full hours of the log's clock are from full hours after its second 0."""
    return 0.0 if clock.zero is None else (HOUR_S - clock.zero.minute * 60 - clock.zero.second) % HOUR_S


def _groups(record: Record, usd: Floats | None, clock: Clock) -> dict[str, tuple[GroupRow, ...]]:
    """Return the rows of each grouping that the log has: most hours first, months in order of time."""
    found: dict[str, tuple[GroupRow, ...]] = {}
    for name in GROUPINGS:
        if name == "month":
            edges, names = month_edges(record.first_s, record.last_s, clock)
            if names:
                found[name] = _months(record, usd, edges, names)
        elif (values := getattr(record.jobs, name)) is not None:
            rows = rows_of(record, groups_of(values, len(record.jobs)), usd)
            found[name] = tuple(sorted(rows, key=lambda row: (-row.used.gpu_h, -row.used.core_h, -row.jobs, row.name)))
    return found


def _months(record: Record, usd: Floats | None, edges: Floats, names: tuple[str, ...]) -> tuple[GroupRow, ...]:
    code = np.clip(np.searchsorted(edges, record.jobs.submit_s, side="right") - 1, 0, len(names) - 1)
    return tuple(rows_of(record, Groups(code, names), usd, by_month(record, edges, usd)))


def _outcomes(record: Record) -> tuple[OutcomeRow, ...]:
    jobs = np.bincount(record.outcome, minlength=len(OUTCOMES))
    hours = [np.bincount(record.outcome, held * record.run_h, minlength=len(OUTCOMES))
             for held in (record.gpus, record.cores)]  # fmt: skip
    return tuple(
        OutcomeRow(outcome=name, jobs=int(jobs[i]), gpu_h=float(hours[0][i]), core_h=float(hours[1][i]))
        for i, name in enumerate(OUTCOMES)
        if jobs[i]
    )


def _longest(record: Record, resource: Resource) -> tuple[LongWait, ...]:
    wait_s = np.where(record.started, record.wait_s, -1.0)
    rows = np.argsort(-wait_s, kind="stable")[:LONGEST]
    jobs, width = record.jobs, width_of(record, resource)

    def text(name: str, row: int) -> str:
        values = getattr(jobs, name)
        return "" if values is None else str(values[row])

    return tuple(
        LongWait(job_id=text("job_id", row), user=text("user", row), group=text("group", row),
                 partition=text("partition", row), submit_s=float(jobs.submit_s[row]), wait_s=float(wait_s[row]),
                 held_s=float(record.held_s[row]), width=float(width[row]))
        for row in map(int, rows) if wait_s[row] > 0
    )  # fmt: skip


def _unusual(months: tuple[GroupRow, ...], record: Record, clock: Clock, resource: Resource) -> tuple[str, ...]:
    """Return the months whose hours a day are far from the median month's."""
    edges, _ = month_edges(record.first_s, record.last_s, clock)
    if len(months) < LEAST_MONTHS or len(edges) != len(months) + 1:
        return ()
    days = (np.minimum(edges[1:], record.last_s) - np.maximum(edges[:-1], record.first_s)) / DAY_S
    hours = np.array([month.used.gpu_h if resource == "gpus" else month.used.core_h for month in months])
    whole = days >= LEAST_DAYS
    if whole.sum() < LEAST_MONTHS:
        return ()
    per_day = hours[whole] / days[whole]
    usual = float(np.median(per_day))
    far = (per_day > UNUSUAL * usual) | (per_day < usual / UNUSUAL)
    return tuple(month.name for month, is_far in zip(np.array(months, dtype=object)[whole], far, strict=True) if is_far)


def _notes(record: Record, scenario: Scenario, main: Capacity | None, free: float | None) -> tuple[str, ...]:
    """Return what must be known to read the numbers; ``free`` as :func:`idle_beside_long_waits`."""
    notes = []
    before = int((record.ran & ~record.started).sum())
    if before:
        notes.append(f"{amount(before, 'job')} already ran when the log becomes complete: in the hours from then "
                     "on, in no wait. Jobs that waited then count from then.")  # fmt: skip
    without = len(record.jobs) - int(record.ran.sum())
    if without:
        early = f", {record.early:,} of them because it is before the arrival" if record.early else ""
        notes.append(f"{amount(without, 'job')} without a usable recorded start: in no wait and no hours{early}.")
    if dropped := scenario.read.get("dropped", 0):
        notes.append(f"{amount(dropped, 'row')} of the file were dropped when it was read and are in no number here.")
    running = int((record.outcome == OUTCOMES.index("still running")).sum())
    if running:
        verb = "was" if running == 1 else "were"
        notes.append(f"{amount(running, 'job')} {verb} still running: counted until the end of the log.")
    if main is not None and main.over_h > 0:
        over = share(main.over_h / max(main.used_h, 1e-300))
        notes.append(f"At times jobs used more than the cluster has ({over} of the hours used): it may be too small.")
    if free is not None and free > MOST_IDLE:
        text = f"{share(free)} of the cluster was idle while jobs waited: this looks like a sample of jobs"
        notes.append(f"{text}, not a whole log, so idle hours say nothing.")
    return tuple(notes)
