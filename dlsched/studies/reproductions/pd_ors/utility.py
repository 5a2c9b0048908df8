"""Figs 6 to 8 and 12 to 17 of the PD-ORS study: total utility over the number of machines and of jobs.

Figs 14 to 17 show it over OASiS', with many and with few time-critical jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.studies.reproductions.claims import Check, above, as_numbers, mean_words, nested, outcome_of
from dlsched.studies.reproductions.pd_ors.runs import (
    PAPER,
    PATIENT,
    RIVALS,
    USUAL,
    JobsOnMachines,
    Mix,
    Policy,
    PolicyStudy,
    assumed,
    run_study,
    sample_of,
    sizes_words,
)
from dlsched.studies.reproductions.reproduction import ORDER_ONLY, CpuTime, Outcome, Reproduction, Setting
from dlsched.wording.formats import amount

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
        f"{rival} at {_at(figure.axis, case)}"
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
            where = f"{_at(figure.axis, case)} ({ours:.1f} and {theirs:.1f})"
            checks.append(above(f"PD-ORS {more} {rival}, at", study.gain(case, rival, figure.far), where))
        if figure.grows:
            grown = study.gain_growth(cases[0], cases[-1], rival)
            ends = f"{_at(figure.axis, cases[-1])} than at {_at(figure.axis, cases[0])}"
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


def _at(axis: Axis, case: JobsOnMachines) -> str:
    return f"{getattr(case, axis)} {axis}"


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


# ---- over OASiS', by mix of classes ----------------------------------------------------------------------


SIZES = {"machines": (10, 20, 30, 40, 50), "jobs": (20, 40, 60, 80, 100)}
"""Of the study; the steps between the ends are ours."""
JOBS, MACHINES, SLOTS = 100, 30, 80
BOTH: tuple[Policy, ...] = ("PD-ORS", "OASiS")
DECIMALS = 2


def cases_with(axis: Axis, mix: Mix, setting: Setting) -> list[JobsOnMachines]:
    """Return the sizes of a full reproduction, the ends and the middle of them for a quick one."""
    sizes = SIZES[axis][::2] if setting.quick else SIZES[axis]
    over_machines = axis == "machines"
    return [
        JobsOnMachines(JOBS, size, SLOTS, mix) if over_machines else JobsOnMachines(size, MACHINES, SLOTS, mix)
        for size in sizes
    ]


def usual_figure(setting: Setting, axis: Axis) -> Outcome:
    """Return Fig. 14 or 16: the usual mix."""
    cases = cases_with(axis, USUAL, setting)
    study = run_study(setting, cases, BOTH)
    return _outcome_of_mix(study, axis, cases, [], gains(study, axis, cases))


def patient_figure(setting: Setting, axis: Axis) -> Outcome:
    """Return Fig. 15 or 17: hardly any critical jobs, beside the usual mix."""
    usual, patient = (cases_with(axis, mix, setting) for mix in (USUAL, PATIENT))
    study = run_study(setting, [*usual, *patient], BOTH)
    checks = [*gains(study, axis, patient), *smaller(study, axis, usual, patient)]
    return _outcome_of_mix(study, axis, patient, usual, checks)


def ratio(study: PolicyStudy, case: JobsOnMachines) -> Interval:
    """Return PD-ORS's total utility over OASiS', of all seeds together."""
    return mean_interval(study.ratio(case, "OASiS"))


def gains(study: PolicyStudy, axis: Axis, cases: Sequence[JobsOnMachines]) -> list[Check]:
    """Return whether PD-ORS is above OASiS, size by size."""
    text = "PD-ORS's utility above OASiS', at"
    times = {case: mean_words(ratio(study, case), DECIMALS) for case in cases}
    return [above(text, study.gain(case, "OASiS"), f"{_at(axis, case)} ({times[case]} times)") for case in cases]


def smaller(
    study: PolicyStudy, axis: Axis, usual: Sequence[JobsOnMachines], patient: Sequence[JobsOnMachines]
) -> list[Check]:
    """Return whether the ratio is smaller with few critical jobs, size by size, on the same seeds."""
    checks = []
    for many, few in zip(usual, patient, strict=True):
        lost = paired_difference(study.ratio(many, "OASiS"), study.ratio(few, "OASiS"))
        text = f"smaller gain with {few.mix.words} than with {many.mix.words}, at"
        checks.append(above(text, lost, f"{_at(axis, few)} (by {mean_words(lost, DECIMALS)})"))
    return checks


def _outcome_of_mix(
    study: PolicyStudy,
    axis: Axis,
    cases: Sequence[JobsOnMachines],
    others: Sequence[JobsOnMachines],
    checks: Sequence[Check],
) -> Outcome:
    """Return what came out for the cases of the figure, beside ``others`` of the usual mix."""
    rows = [f"{_ratios(study, cases)} with {cases[0].mix.words} insensitive, sensitive and critical jobs"]
    rows += [f"{_ratios(study, others)} with {others[0].mix.words}"] if others else []
    words = f"PD-ORS's utility over OASiS' with {sizes_words(cases, axis)} {axis}: {'; '.join(rows)}."
    sample = (
        f"Total utility of all of {amount(len(study.seeds), 'seed')} over OASiS' on the same jobs, our reading of "
        "'normalised'; ± is the 95% interval, of differences paired by seed; with another mix the same jobs change "
        "their class only; a part of the claim counts as seen where all of it agrees."
    )
    data = ratios_of(study, axis, [*cases, *others])
    return outcome_of(words, checks, data, sample, assumed(cases[-1], BOTH))


def ratios_of(study: PolicyStudy, axis: Axis, cases: Sequence[JobsOnMachines]) -> dict[str, Any]:
    """Return all numbers by mix and size."""
    by_mix: dict[str, dict[str, Any]] = {}
    for case in cases:
        by_mix.setdefault(case.mix.words, {})[str(getattr(case, axis))] = {
            "total_utility": {policy: as_numbers(study.utility(case, policy)) for policy in BOTH},
            "pd_ors_over_oasis": as_numbers(ratio(study, case)),
            "pd_ors_minus_oasis": as_numbers(study.gain(case, "OASiS")),
        }
    return {
        "over": axis,
        "seeds": list(study.seeds),
        "mix": by_mix,
    }


def _ratios(study: PolicyStudy, cases: Sequence[JobsOnMachines]) -> str:
    return ", ".join(mean_words(ratio(study, case), DECIMALS) for case in cases)


def _figure_of_mix(number: int, axis: Axis, mix: Mix, quick_s: float, full_s: float) -> Reproduction:
    usual = mix is USUAL
    less = "" if usual else f", by less than with {USUAL.words}"
    claim = f"PD-ORS's utility is above OASiS' at every number of {axis} with {mix.words} of jobs{less}."
    compute = partial(usual_figure if usual else patient_figure, axis=axis)
    time, printed = CpuTime(quick_s, full_s, full_is_measured=False), replace(ORDER_ONLY, panel="pd_ors_over_oasis")
    return PAPER.figure(number, claim, compute, time, printed)


GAIN = (
    _figure_of_mix(14, "machines", USUAL, 13, 91),
    _figure_of_mix(15, "machines", PATIENT, 24, 170),
    _figure_of_mix(16, "jobs", USUAL, 9.7, 68),
    _figure_of_mix(17, "jobs", PATIENT, 17, 120),
)
