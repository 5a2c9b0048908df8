"""Figs 14 to 17 of the PD-ORS study: utility over OASiS', with many and with few time-critical jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.studies.reproductions.claims import Check, above, as_numbers, mean_words, outcome_of
from dlsched.studies.reproductions.pd_ors.runs import (
    PAPER,
    PATIENT,
    USUAL,
    JobsOnMachines,
    Mix,
    Policy,
    PolicyStudy,
    assumed,
    run_study,
    sizes_words,
)
from dlsched.studies.reproductions.pd_ors.utility import Axis
from dlsched.studies.reproductions.reproduction import ORDER_ONLY, CpuTime, Outcome, Reproduction, Setting
from dlsched.wording.formats import amount

SIZES = {"machines": (10, 20, 30, 40, 50), "jobs": (20, 40, 60, 80, 100)}
"""Of the study; the steps between the ends are ours."""
JOBS, MACHINES, SLOTS = 100, 30, 80
POLICIES: tuple[Policy, ...] = ("PD-ORS", "OASiS")
DECIMALS = 2


def cases_of(axis: Axis, mix: Mix, setting: Setting) -> list[JobsOnMachines]:
    """Return the sizes of a full reproduction, the ends and the middle of them for a quick one."""
    sizes = SIZES[axis][::2] if setting.quick else SIZES[axis]
    over_machines = axis == "machines"
    return [
        JobsOnMachines(JOBS, size, SLOTS, mix) if over_machines else JobsOnMachines(size, MACHINES, SLOTS, mix)
        for size in sizes
    ]


def usual_figure(setting: Setting, axis: Axis) -> Outcome:
    """Return Fig. 14 or 16: the usual mix."""
    cases = cases_of(axis, USUAL, setting)
    study = run_study(setting, cases, POLICIES)
    return _outcome(study, axis, cases, [], gains(study, axis, cases))


def patient_figure(setting: Setting, axis: Axis) -> Outcome:
    """Return Fig. 15 or 17: hardly any critical jobs, beside the usual mix."""
    usual, patient = (cases_of(axis, mix, setting) for mix in (USUAL, PATIENT))
    study = run_study(setting, [*usual, *patient], POLICIES)
    checks = [*gains(study, axis, patient), *smaller(study, axis, usual, patient)]
    return _outcome(study, axis, patient, usual, checks)


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


def _outcome(
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
    data = data_of(study, axis, [*cases, *others])
    return outcome_of(words, checks, data, sample, assumed(cases[-1], POLICIES))


def data_of(study: PolicyStudy, axis: Axis, cases: Sequence[JobsOnMachines]) -> dict[str, Any]:
    """Return all numbers by mix and size."""
    by_mix: dict[str, dict[str, Any]] = {}
    for case in cases:
        by_mix.setdefault(case.mix.words, {})[str(getattr(case, axis))] = {
            "total_utility": {policy: as_numbers(study.utility(case, policy)) for policy in POLICIES},
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


def _at(axis: Axis, case: JobsOnMachines) -> str:
    return f"{getattr(case, axis)} {axis}"


def _reproduction(number: int, axis: Axis, mix: Mix, quick_s: float, full_s: float) -> Reproduction:
    usual = mix is USUAL
    less = "" if usual else f", by less than with {USUAL.words}"
    claim = f"PD-ORS's utility is above OASiS' at every number of {axis} with {mix.words} of jobs{less}."
    compute = partial(usual_figure if usual else patient_figure, axis=axis)
    time, printed = CpuTime(quick_s, full_s, full_is_measured=False), replace(ORDER_ONLY, panel="pd_ors_over_oasis")
    return PAPER.figure(number, claim, compute, time, printed)


GAIN = (
    _reproduction(14, "machines", USUAL, 13, 91),
    _reproduction(15, "machines", PATIENT, 24, 170),
    _reproduction(16, "jobs", USUAL, 9.7, 68),
    _reproduction(17, "jobs", PATIENT, 17, 120),
)
