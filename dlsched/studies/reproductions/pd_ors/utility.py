"""Figs 6, 7, 8, 12 and 13 of the PD-ORS study: total utility over the number of machines and of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from dlsched.studies.reproductions.claims import Check, above, as_numbers, mean_words, nested, outcome_of
from dlsched.studies.reproductions.pd_ors.runs import (
    PAPER,
    RIVALS,
    JobsOnMachines,
    Policy,
    PolicyStudy,
    assumed,
    run_study,
    sample_of,
    sizes_words,
)
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Reproduction, Setting

FAR = 0.05
"""PD-ORS "significantly outperforms" where it is surely more than this share above; the study gives no number."""
Axis = Literal["machines", "jobs"]


@dataclass(frozen=True, slots=True)
class UtilityFigure:
    """Utility over ``axis``; ``grows``: the gain grows with it; ``far``: what "outperforms" takes at least."""

    axis: Axis
    cases: tuple[JobsOnMachines, ...]
    rivals: tuple[Policy, ...]
    grows: bool
    far: float
    assumed: tuple[str, ...] = ()


_SIZES = "the numbers of machines and jobs along the axis are ours: what is printed does not name them"
_FAR = f"'significantly' read as more than {FAR:.0%}"
OVER_MACHINES = tuple(JobsOnMachines(50, machines, 20) for machines in (20, 40, 60, 80, 100))
OVER_JOBS = tuple(JobsOnMachines(jobs, 100, 20) for jobs in (10, 20, 30, 40, 50))
TRACE_MACHINES = tuple(JobsOnMachines(100, machines, 80, bursts=True) for machines in (10, 20, 30, 40, 50))
TRACE_JOBS = tuple(JobsOnMachines(jobs, 30, 80, bursts=True) for jobs in (20, 40, 60, 80, 100))
WITH_OASIS: tuple[Policy, ...] = ("OASiS", *RIVALS)

FIGURES = {
    6: UtilityFigure("machines", OVER_MACHINES, RIVALS, grows=True, far=FAR, assumed=(_SIZES, _FAR)),
    7: UtilityFigure("jobs", OVER_JOBS, RIVALS, grows=True, far=FAR, assumed=(_SIZES, _FAR)),
    8: UtilityFigure("jobs", OVER_JOBS, ("OASiS",), grows=True, far=0.0, assumed=(_SIZES,)),
    12: UtilityFigure("machines", TRACE_MACHINES, WITH_OASIS, grows=False, far=0.0, assumed=(_SIZES,)),
    13: UtilityFigure("jobs", TRACE_JOBS, WITH_OASIS, grows=False, far=0.0, assumed=(_SIZES,)),
}


def cases_of(figure: UtilityFigure, setting: Setting) -> tuple[JobsOnMachines, ...]:
    """Return the sizes of a full reproduction, a small and the largest for a quick one."""
    return (figure.cases[1], figure.cases[-1]) if setting.quick else figure.cases


def run_figure(setting: Setting, number: int) -> Outcome:
    """Return one of the figures."""
    figure = FIGURES[number]
    cases = cases_of(figure, setting)
    study = run_study(setting, cases, ("PD-ORS", *figure.rivals))
    basis = " ".join(part for part in (ties(figure, cases, study), sample_of(study)) if part)
    given = assumed(cases[-1], figure.rivals, figure.assumed)
    checks, data = checks_of(figure, cases, study), data_of(figure, cases, study)
    return outcome_of(_ours(figure, cases, study), checks, data, basis, given)


def ties(figure: UtilityFigure, cases: Sequence[JobsOnMachines], study: PolicyStudy) -> str:
    """Return where a rival gets PD-ORS's very utility at every seed; empty where none does."""
    where = [
        f"{rival} at {_at(figure, case)}"
        for rival in figure.rivals
        for case in cases
        if study.gain(case, rival).exact and not study.gain(case, rival).mean
    ]
    if not where:
        return ""
    return f"The very utility of PD-ORS at every seed: {', '.join(where)}; so few jobs that can be done hardly compete."


def checks_of(figure: UtilityFigure, cases: Sequence[JobsOnMachines], study: PolicyStudy) -> list[Check]:
    """Return the parts of the claim, rival by rival."""
    checks = []
    more = f"more than {figure.far:.0%} above" if figure.far else "above"
    for rival in figure.rivals:
        for case in cases:
            ours, theirs = study.beside(case, rival)
            where = f"{_at(figure, case)} ({ours:.1f} and {theirs:.1f})"
            checks.append(above(f"PD-ORS {more} {rival}, at", study.gain(case, rival, figure.far), where))
        if figure.grows:
            grown = study.gain_growth(cases[0], cases[-1], rival)
            ends = f"{_at(figure, cases[-1])} than at {_at(figure, cases[0])}"
            checks.append(above(f"more gained on {rival} at {ends} (by {mean_words(grown)})", grown))
    return checks


def data_of(figure: UtilityFigure, cases: Sequence[JobsOnMachines], study: PolicyStudy) -> dict[str, Any]:
    """Return all numbers by policy and size."""
    by_size = {str(getattr(case, figure.axis)): case for case in cases}

    return {
        "over": figure.axis,
        "cases": [{"jobs": case.jobs, "machines": case.machines, "slots": case.slots} for case in cases],
        "seeds": list(study.seeds),
        "total_utility": nested(
            lambda policy, case: as_numbers(study.utility(case, policy)), ("PD-ORS", *figure.rivals), by_size
        ),
        "pd_ors_minus": nested(lambda rival, case: as_numbers(study.gain(case, rival)), figure.rivals, by_size),
    }


def _ours(figure: UtilityFigure, cases: Sequence[JobsOnMachines], study: PolicyStudy) -> str:
    best = ", ".join(mean_words(study.utility(case, "PD-ORS")) for case in cases)
    rows = "; ".join(
        f"{rival} "
        + ", ".join(
            f"{study.utility(case, rival).mean:.1f} ({mean_words(study.gain(case, rival))} less)" for case in cases
        )
        for rival in figure.rivals
    )
    return f"Total utility with {sizes_words(cases, figure.axis)} {figure.axis}: PD-ORS {best}; {rows}."


def _at(figure: UtilityFigure, case: JobsOnMachines) -> str:
    return f"{getattr(case, figure.axis)} {figure.axis}"


def _reproduction(number: int, claim: str, time: CpuTime) -> Reproduction:
    return PAPER.figure(number, claim, partial(run_figure, number=number), time)


_FAR_ABOVE = "PD-ORS's total utility is far above FIFO's, DRF's and Dorm's, by more the more"
_TRACE = "With arrivals of a trace, PD-ORS's total utility is above OASiS', FIFO's, DRF's and Dorm's at every number of"
UTILITY = (
    _reproduction(6, f"{_FAR_ABOVE} machines.", CpuTime(16, 190, full_is_measured=False)),
    _reproduction(7, f"{_FAR_ABOVE} jobs.", CpuTime(12, 140, full_is_measured=False)),
    _reproduction(8, "PD-ORS's total utility is above OASiS', by more the more jobs.", CpuTime(2.8, 12)),
)
UTILITY_OF_TRACE = (
    _reproduction(12, f"{_TRACE} machines.", CpuTime(48, 580, full_is_measured=False)),
    _reproduction(13, f"{_TRACE} jobs.", CpuTime(38, 460, full_is_measured=False)),
)
