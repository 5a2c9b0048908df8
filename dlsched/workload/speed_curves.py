"""Speed curves for the jobs of any scenario: work per second on 1, 2, ... GPUs, as rows of a time table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.domain.assumptions import Assumption
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.timetable import MOST_GPUS, TimeTable
from dlsched.domain.workload import Floats, Ints, Texts, Workload
from dlsched.speed import build_speed


def seconds_per_work(rates: Floats, width: int = 1) -> tuple[float, ...]:
    """Return a row of a time table from a speed curve, 1 at ``width``; rates on 1, 2, ... nodes, shape (nodes,).

    A table has no widths that cannot run. Where the curve has 0, nodes that bring nothing stay idle: the job runs as
    on the most nodes below. The first rate is above 0.
    """
    last = np.maximum.accumulate(np.where(rates > 0, np.arange(len(rates)), 0))
    used = rates[last]
    return tuple(float(seconds) for seconds in used[width - 1] / used)


def give_curve(scenario: Scenario, rates_by_name: Mapping[str, Sequence[float]], words: str) -> Scenario:
    """Return the scenario with speed curves in place of its speed model, alike on every GPU type of its machines.

    ``rates_by_name`` holds work per second on 1, 2, ... GPUs, in any unit of work; relative speeds of machines stay.
    One curve is for all jobs; of several, a job has the one its column ``profile`` names. Jobs keep how long they run
    with the GPUs they ask for, g, on the fastest GPU type at hand: a curve has a row X(g) / X(w) for each g that jobs
    ask for, and ``work`` is the run time there, so that load stays what it was too. The row for g = 1 has the name of
    the curve. Drawn jobs stay as they are drawn now: another draw would not know of the curves. ``words`` says in a
    few words where the curves come from.

    Raises
    ------
    InputError
        A curve that no table can hold, a job without a curve, or one whose width is beyond its curve or cannot run.
    """
    if not rates_by_name:
        raise InputError("speed curves", "there are none", "Give one curve for all jobs, or one per profile")
    curves = {name: _checked(name, rates) for name, rates in rates_by_name.items()}
    jobs = scenario.workload
    gpus = np.maximum(np.ceil(jobs.gpus - 1e-9), 1).astype(np.int64)
    names = _names(jobs, gpus, list(curves))
    _check_widths(jobs, gpus, names, curves)
    wanted = sorted(set(zip(map(str, names), gpus.tolist(), strict=True)))
    types = dict.fromkeys(vm.gpu_type for vm in scenario.cluster.vm_types)
    rows = {_row_name(name, width): seconds_per_work(curves[name], width) for name, width in wanted}
    profile = np.array(
        [_row_name(str(name), int(width)) for name, width in zip(names, gpus, strict=True)], dtype=object
    )
    table = TimeTable(rows={name: dict.fromkeys(types, row) for name, row in rows.items()})
    notes = [one for one in scenario.assumptions if not one.is_about_speed]
    return scenario.replace(
        workload=jobs.with_columns(profile=profile, work=requested_run_s(scenario), min_workers=None, max_workers=None),
        speed=SpeedSpec(kind="table", times=table),
        generator=None,
        assumptions=(*notes, Assumption(kind="speed-curve", text=words)),
    )


def _checked(name: str, rates: Sequence[float]) -> Floats:
    curve = np.asarray(rates, dtype=np.float64)
    what = f"speed curve {name[:60]!r}"
    if curve.ndim != 1 or not 1 <= len(curve) <= MOST_GPUS:
        raise InputError(
            what, f"must have 1 to {MOST_GPUS:,} rates, got {curve.size:,}", "Give one rate per number of GPUs"
        )
    if not (np.isfinite(curve) & (curve >= 0)).all():
        at = int(np.argmin(np.isfinite(curve) & (curve >= 0)))
        raise InputError(what, f"the rate on {_gpus(at + 1)} must be 0 or more, got {curve[at]:g}", "Correct the rate")
    if curve[0] == 0:
        raise InputError(what, "the rate on 1 GPU must be above 0, got 0", "Enter the speed of one GPU")
    return curve


def _row_name(name: str, gpus: int) -> str:
    return name if gpus == 1 else f"{name}, {_gpus(gpus)}"


def _gpus(gpus: int) -> str:
    return f"{gpus:,} {'GPU' if gpus == 1 else 'GPUs'}"


def _names(jobs: Workload, gpus: Ints, curves: Sequence[str]) -> Texts:
    """Return the curve of each job; a profile that an earlier call made counts as its curve."""
    if len(curves) == 1:
        return np.full(len(jobs), curves[0], dtype=object)
    way_out = "Give one curve for all jobs, or name a curve in the column profile of each"
    if jobs.profile is None:
        raise InputError("workload", f"has no column 'profile' to choose from {len(curves)} speed curves", way_out)
    curve_of = {(_row_name(name, width), width): name for name in curves for width in set(gpus.tolist())}
    curve_of |= {(name, width): name for name in curves for width in set(gpus.tolist())}
    names = [curve_of.get((str(name), int(width))) for name, width in zip(jobs.profile, gpus, strict=True)]
    if None in names:
        row = names.index(None)
        what = f"job {jobs.job_id[row]!s:.60}, column profile"
        raise InputError(what, f"{str(jobs.profile[row])[:60]!r} has no speed curve", way_out)
    return np.array(names, dtype=object)


def _check_widths(jobs: Workload, gpus: Ints, names: Texts, curves: Mapping[str, Floats]) -> None:
    for row, (name, width) in enumerate(zip(names, gpus.tolist(), strict=True)):
        curve, what = curves[name], f"job {jobs.job_id[row]!s:.60}"
        if width > len(curve):
            why = f"requests {_gpus(width)}, but the speed curve {name[:60]!r} ends at {len(curve):,}"
            raise InputError(what, why, "Give a longer curve, or leave out such jobs")
        if curve[width - 1] == 0:
            why = f"requests {_gpus(width)}, where the speed curve {name[:60]!r} has rate 0"
            raise InputError(what, why, "Correct the curve, or leave out such jobs")


def requested_run_s(scenario: Scenario) -> Floats:
    """Return how long each job runs now with what it asks for, on the fastest GPU type at hand, seconds."""
    jobs = scenario.workload
    speed = build_speed(scenario.speed, jobs, scenario.cluster.vm_types)
    rate = speed.rates(np.arange(len(jobs)), jobs.workers)
    if (rate <= 0).any():
        job = jobs.job_id[int(np.argmin(rate))]
        raise InputError(f"job {job!s:.60}", "cannot run with the GPUs it requests", "Leave it out")
    return np.asarray(jobs.work / rate)
