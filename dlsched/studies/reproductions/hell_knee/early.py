"""Fig. 14 of the HELL/KNEE study: early results of jobs that may be stopped before their end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval
from dlsched.metrics.stats.steady import before_the_end, least_kept, steady_mean, warm_up
from dlsched.studies.reproductions.claims import Check, outcome_of, surely_above
from dlsched.studies.reproductions.hell_knee.networks import PAPER
from dlsched.studies.reproductions.hell_knee.steady import POLICIES, SteadyComparison, run_study, steady_spec, tables
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Printed, PrintedNumber, Reproduction, Setting
from dlsched.studies.simulation import simulate
from dlsched.studies.steady import SteadyPolicy
from dlsched.studies.steady.curves import fraction_times_s
from dlsched.wording.formats import PLUS_MINUS, share
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario

GAMMAS = (0.0, 1.0, 1.05, 1.1)
LOAD = 0.7
"""Ours, the highest of Fig. 12: the study does not say at which load Fig. 14 is."""
FRACTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)
EARLY, GAMMA = 0.4, 1.05
PRINTED_H = {0.0: 41.0, 1.05: 26.8}
PRINTED_REDUCTION = 1 - PRINTED_H[GAMMA] / PRINTED_H[0.0]
QUANTILES = 100


def figure_14(setting: Setting) -> Outcome:
    """Distribution of the time to parts of the work under HELL, for values of gamma."""
    policies = [SteadyPolicy(key=POLICIES["hell"], params={"gamma": gamma}, label=_name(gamma)) for gamma in GAMMAS]
    study = run_study(setting, steady_spec(setting, StreamSpec(), (LOAD,), policies))
    jobs = max(point.jobs_simulated for point in study.answer.points)
    times = _times(study, [gamma for gamma in GAMMAS if not study.grows(_name(gamma), LOAD)], jobs)
    printed = {_name(gamma): mean_h for gamma, mean_h in PRINTED_H.items()}
    data = tables(study) | {"load": LOAD, "fractions": list(FRACTIONS), "printed_mean_h_to_40_percent": printed}
    data["mean_h_to_fraction"] = {_name(gamma): _means(one) for gamma, one in times.items()}
    data["quantiles_h_to_fraction"] = {_name(gamma): _quantiles(one) for gamma, one in times.items()}
    if not {0.0, GAMMA} <= set(times):
        return Outcome(
            f"load {study.responses(LOAD)}.", "different", ("The queue grows, so that there is no mean.",), data
        )
    at = FRACTIONS.index(EARLY)
    saved = _saved(times[0.0][at], times[GAMMA][at])
    checks = [
        Check(f"{share(EARLY)} of the work sooner with gamma {GAMMA:g}", surely_above(saved)),
        Check(f"{share(EARLY)} sooner by {share(PRINTED_REDUCTION)}", not saved.tells_apart(PRINTED_REDUCTION)),
        Check(
            f"mean response longer with gamma {GAMMA:g} ({study.compared(_name(GAMMA), _name(0.0), LOAD)})",
            study.shorter(_name(0.0), _name(GAMMA), LOAD),
        ),
    ]
    data["reduction_of_mean_to_40_percent"] = {"mean": saved.mean, "half_width": saved.half_width, "jobs": saved.n}
    means = {gamma: float(one[at].mean()) for gamma, one in times.items()}
    ours = (
        f"At load {LOAD:g} jobs have {share(EARLY)} of their work done after {means[0.0]:.1f} h on average without, "
        f"and {means[GAMMA]:.1f} h with gamma {GAMMA:g}: {share(saved.mean)} {PLUS_MINUS} {share(saved.half_width)} "
        "sooner. "
        f"Mean response: load {study.responses(LOAD)}."
    )
    return outcome_of(ours, checks, data, f"The study does not say at which load; ours is {LOAD:g}.")


def _name(gamma: float) -> str:
    return f"gamma {gamma:g}"


def _times(study: SteadyComparison, gammas: Sequence[float], jobs: int) -> dict[float, Floats]:
    """Return hours from submission until each job had each of ``FRACTIONS`` of its work done, shape (fractions, jobs).

    Of the jobs that count in the steady state under all gammas; these see the same jobs.
    """
    spec = study.answer.spec
    scenario = stream_scenario(spec.stream_at(LOAD, jobs), spec.seed)
    submit_s = scenario.workload.submit_s
    times_h, last = {}, jobs
    for gamma in gammas:
        run = simulate(scenario, POLICIES["hell"], {"gamma": gamma})
        last = min(last, max(before_the_end(submit_s, run.log.job_end_s), least_kept(jobs)))
        parts_s = [fraction_times_s(run.log, submit_s, run.truth.work, part) for part in FRACTIONS]
        times_h[gamma] = np.array(parts_s) / HOUR_S
    return {gamma: hours[:, warm_up(jobs) : last] for gamma, hours in times_h.items()}


def _interval(values: Floats) -> Interval:
    """Return the mean of all values with the half width of the steady mean."""
    return Interval(float(values.mean()), steady_mean(values).interval.half_width, len(values))


def _saved(without: Floats, having: Floats) -> Interval:
    """Return by which share the mean time is shorter, over the same jobs, each of shape (jobs,).

    The interval is that of the difference, over the mean without; that this mean is uncertain too is left out.
    """
    difference, base = _interval(without - having), float(without.mean())
    return Interval(difference.mean / base, (difference.half_width or 0.0) / base, difference.n)


def _means(times: Floats) -> dict[str, dict[str, float | None]]:
    means = {}
    for part, hours in zip(FRACTIONS, times, strict=True):
        interval = _interval(hours)
        means[f"{part:g}"] = {"mean": interval.mean, "half_width": interval.half_width}
    return means


def _quantiles(times: Floats) -> dict[str, list[float]]:
    """Return the quantiles at (i + 0.5) / 100, the distribution function of the figure."""
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    return {f"{part:g}": np.quantile(row, at).tolist() for part, row in zip(FRACTIONS, times, strict=True)}


EARLY_RESULTS: tuple[Reproduction, ...] = (
    PAPER.figure(
        14,
        "With gamma 1.05 HELL brings jobs to 40% of their work in 26.8 h instead of 41 h (35% sooner), while the mean "
        "response to their end rises.",
        figure_14,
        CpuTime(11, 31),
        Printed(
            "26.8 h instead of 41 h",
            tuple(
                PrintedNumber("mean_h_to_fraction", mean_h, x=EARLY, series=_name(gamma))
                for gamma, mean_h in PRINTED_H.items()
            ),
        ),
    ),
)
