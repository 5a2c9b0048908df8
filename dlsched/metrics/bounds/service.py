"""Proven bounds on service under any policy: mean turnaround time, lateness, utility.

The proofs are in decision 023. Turnaround times and lateness are bounded for the jobs that a run completed, because a
policy that completes others has another sum to make; utility for all jobs, because a policy may have let others in.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.utility import has_utility, utility_at
from dlsched.domain.workload import Floats
from dlsched.metrics.billing import instant_s
from dlsched.metrics.bounds.fluid import Needs, earliest_ends, needs_of
from dlsched.metrics.run_facts import RunFacts
from dlsched.sim.log import JobStatus

CUTS = 16
"""Times at which the fluid machine is asked how much of the utility it can have produced."""
ROUNDING = 1e-9
"""By how much sums of a run may be off: relative, added to what the fluid machine can do."""


def service_bounds(facts: RunFacts) -> dict[str, float | None]:
    """Return the bounds by metric key, seconds and utility; None if the number they bound is undefined, or nothing can
    be proven: of the speed model of a plug-in no law is known.
    """
    if not facts.scenario.speed.is_ours:
        return dict.fromkeys(("jct_mean_bound", "tardiness_total_bound", "utility_total_bound"))
    needs = needs_of(facts)
    return {
        "jct_mean_bound": jct_mean_bound(facts, needs),
        "tardiness_total_bound": tardiness_total_bound(facts, needs),
        "utility_total_bound": utility_total_bound(facts, needs),
    }


def jct_mean_bound(facts: RunFacts, needs: Needs) -> float | None:
    """Return the least mean turnaround time of the jobs that completed, seconds; None if none did."""
    done = facts.completed
    if not done.any():
        return None
    submit_s = facts.jobs.submit_s[done] - facts.log.start_s  # small numbers: sums stay exact
    ends_s = earliest_ends(submit_s, needs.alone_s[done], needs.fluid_s[:, done])
    return float((ends_s - submit_s).mean())


def tardiness_total_bound(facts: RunFacts, needs: Needs) -> float | None:
    """Return the least total tardiness, seconds, of the jobs that did all their work; None without due dates.

    The larger of two bounds: each job alone; and the earliest ends against the due dates, both in order. Jobs that
    failed count, they ended with the work they had; all others count nothing.
    """
    if not facts.has_due.any() or facts.jobs.due_s is None:
        return None
    ended = facts.completed | facts.is_status(JobStatus.FAILED)
    start_s = facts.log.start_s
    submit_s, due_s = facts.jobs.submit_s[ended] - start_s, facts.jobs.due_s[ended] - start_s
    alone_s, fluid_s = needs.alone_s[ended], needs.fluid_s[:, ended]
    due_s = np.where(np.isnan(due_s), np.inf, due_s)
    alone = _late_s(submit_s + alone_s, due_s, start_s)
    last_s = np.sort(due_s) + instant_s(facts.log.end_s)  # what ends by then may count as in time
    together = np.maximum(earliest_ends(submit_s, alone_s, fluid_s) - last_s, 0.0)
    return float(max(alone.sum(), together.sum()))


def _late_s(end_s: Floats, due_s: Floats, start_s: float) -> Floats:
    """Return the time past due of each end, 0 within one instant as in a run's facts; times since ``start_s``."""
    past_s = end_s - due_s
    return np.where(past_s > instant_s(end_s + start_s), past_s, 0.0)


def utility_total_bound(facts: RunFacts, needs: Needs) -> float | None:
    """Return the most utility that any policy can get from all jobs of the run; None without utilities.

    The least of several bounds, one for each time: what ends by then is worth what it is worth alone and shares what
    the fluid machine can do until then, a part of a job counting as a part of its worth; what ends later is worth
    what it would be worth at that time. The machine is that of the resource the jobs need most of.
    """
    if not has_utility(facts.jobs):
        return None
    submit_s, start_s, horizon_s = facts.jobs.submit_s, facts.log.start_s, facts.scenario.options.horizon_s
    best = _most_worth(facts, needs, submit_s + needs.alone_s)
    bounds = [float(best.sum())]
    wholes_s = needs.fluid_s[:, best > 0].sum(axis=1)
    if not wholes_s.any():
        return bounds[0]
    fluid_s, whole_s = needs.fluid_s[int(wholes_s.argmax())], float(wholes_s.max())
    for cut_s in start_s + whole_s * np.arange(1, CUTS + 1) / CUTS:
        later = _most_worth(facts, needs, np.full(len(submit_s), cut_s))
        bounds.append(float(later.sum()) + _most_added(best - later, fluid_s, cut_s - start_s))
    if horizon_s is not None and horizon_s > start_s:
        bounds.append(_most_added(best, fluid_s, horizon_s - start_s))
    return min(bounds)


def _most_worth(facts: RunFacts, needs: Needs, not_before_s: Floats) -> Floats:
    """Return what each job can be worth at most if it completes at these times or later, at least 0, (jobs,).

    A bug job never completes; others do so neither before they could alone, nor after they are cancelled or the
    horizon. A worth that rises with time (g2 below 0) has g1 as its limit.
    """
    jobs, options, truth = facts.jobs, facts.scenario.options, facts.truth
    end_s = np.maximum(not_before_s, jobs.submit_s + needs.alone_s)
    slack_s = 2 * instant_s(np.maximum(end_s, facts.log.end_s))
    last_s = np.minimum(truth.cancel_s, np.inf if options.horizon_s is None else options.horizon_s)
    can = ~truth.is_bug & np.isfinite(end_s) & (end_s <= last_s + slack_s)
    worth = utility_at(jobs, options, np.arange(len(jobs)), np.where(can, end_s, 0.0), np.where(can, slack_s, 0.0))
    assert jobs.utility_1 is not None
    assert jobs.utility_2 is not None
    worth = np.where((jobs.utility_2 < 0) & ~np.isnan(worth), jobs.utility_1, worth)
    return np.where(can, np.maximum(np.nan_to_num(worth), 0.0), 0.0)


def _most_added(value: Floats, size_s: Floats, room_s: float) -> float:
    """Return the most value of parts of jobs whose sizes fit the room: the best value for its size first."""
    wanted = value > 0
    value, size_s = value[wanted], size_s[wanted]
    with np.errstate(over="ignore"):
        order = np.argsort(size_s / value, kind="stable")
    value, size_s = value[order], size_s[order]
    room_s *= 1 + ROUNDING
    before_s = np.cumsum(size_s) - size_s
    part = np.divide(room_s - before_s, size_s, out=np.ones(len(size_s)), where=size_s > 0)
    return float(value @ np.clip(part, 0.0, 1.0))
