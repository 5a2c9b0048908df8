"""Figs 14 to 17 of the PD-ORS study: utility over OASiS', with many and with few time-critical jobs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.studies.reproductions.hell_knee.steady import Check, verdict_of
from dlsched.studies.reproductions.modelarts.gain import above, seen
from dlsched.studies.reproductions.modelarts.runs import said
from dlsched.studies.reproductions.path_relinking.grid import as_numbers
from dlsched.studies.reproductions.pd_ors.runs import (
    PAPER,
    PATIENT,
    USUAL,
    Case,
    Mix,
    Policy,
    Study,
    assumed,
    run_study,
    sizes_words,
)
from dlsched.studies.reproductions.pd_ors.utility import Axis
from dlsched.studies.reproductions.reproduction import Outcome, Reproduction, Setting
from dlsched.wording.formats import amount

SIZES = {"machines": (10, 20, 30, 40, 50), "jobs": (20, 40, 60, 80, 100)}
"""Of the study; the steps between the ends are ours."""
JOBS, MACHINES, SLOTS = 100, 30, 80
POLICIES: tuple[Policy, ...] = ("PD-ORS", "OASiS")
DECIMALS = 2


def cases_of(axis: Axis, mix: Mix, setting: Setting) -> list[Case]:
    """Return the sizes of a full reproduction, the ends and the middle of them for a quick one."""
    sizes = SIZES[axis][::2] if setting.quick else SIZES[axis]
    over_machines = axis == "machines"
    return [Case(JOBS, size, SLOTS, mix) if over_machines else Case(size, MACHINES, SLOTS, mix) for size in sizes]


def usual_figure(setting: Setting, axis: Axis) -> Outcome:
    """Return Fig. 14 or 16: the usual mix."""
    cases = cases_of(axis, USUAL, setting)
    study = run_study(setting, cases, POLICIES)
    return outcome_of(study, axis, cases, [], gains(study, axis, cases))


def patient_figure(setting: Setting, axis: Axis) -> Outcome:
    """Return Fig. 15 or 17: hardly any critical jobs, beside the usual mix."""
    usual, patient = (cases_of(axis, mix, setting) for mix in (USUAL, PATIENT))
    study = run_study(setting, [*usual, *patient], POLICIES)
    checks = [*gains(study, axis, patient), *smaller(study, axis, usual, patient)]
    return outcome_of(study, axis, patient, usual, checks)


def ratio(study: Study, case: Case) -> Interval:
    """Return PD-ORS's total utility over OASiS', of all seeds together."""
    return mean_interval(study.ratio(case, "OASiS"))


def gains(study: Study, axis: Axis, cases: Sequence[Case]) -> list[Check]:
    """Return whether PD-ORS is above OASiS, size by size."""
    found = [(case, study.gain(case, "OASiS")) for case in cases]
    return [
        above("PD-ORS's utility above OASiS', at", gain, f"{_at(axis, case)} ({said(ratio(study, case), 2)} times)")
        for case, gain in found
    ]


def smaller(study: Study, axis: Axis, usual: Sequence[Case], patient: Sequence[Case]) -> list[Check]:
    """Return whether the ratio is smaller with few critical jobs, size by size, on the same seeds."""
    checks = []
    for many, few in zip(usual, patient, strict=True):
        lost = paired_difference(study.ratio(many, "OASiS"), study.ratio(few, "OASiS"))
        text = f"smaller gain with {few.mix.words} than with {many.mix.words}, at"
        checks.append(above(text, lost, f"{_at(axis, few)} (by {said(lost, DECIMALS)})"))
    return checks


def outcome_of(
    study: Study, axis: Axis, cases: Sequence[Case], others: Sequence[Case], checks: Sequence[Check]
) -> Outcome:
    """Return what came out for the cases of the figure, beside ``others`` of the usual mix."""
    rows = [f"{_ratios(study, cases)} with {cases[0].mix.words} insensitive, sensitive and critical jobs"]
    rows += [f"{_ratios(study, others)} with {others[0].mix.words}"] if others else []
    words = f"PD-ORS's utility over OASiS' with {sizes_words(cases, axis)} {axis}: {'; '.join(rows)}."
    why = " ".join((seen(checks), _sample(study), assumed(cases[-1], POLICIES)))
    return Outcome(words, verdict_of(checks), why, data_of(study, axis, [*cases, *others], checks))


def data_of(study: Study, axis: Axis, cases: Sequence[Case], checks: Sequence[Check]) -> dict[str, Any]:
    """Return all numbers by mix and size."""
    by_mix: dict[str, dict[str, Any]] = {}
    for case in cases:
        by_mix.setdefault(case.mix.words, {})[str(getattr(case, axis))] = {
            "total_utility": {policy: as_numbers(study.mean(case, policy)) for policy in POLICIES},
            "pd_ors_over_oasis": as_numbers(ratio(study, case)),
            "pd_ors_minus_oasis": as_numbers(study.gain(case, "OASiS")),
        }
    return {
        "over": axis,
        "seeds": list(study.seeds),
        "mix": by_mix,
        "checks": [{"claim": f"{check.text} {check.where}".rstrip(), "holds": check.holds} for check in checks],
    }


def _ratios(study: Study, cases: Sequence[Case]) -> str:
    return ", ".join(said(ratio(study, case), DECIMALS) for case in cases)


def _at(axis: Axis, case: Case) -> str:
    return f"{getattr(case, axis)} {axis}"


def _sample(study: Study) -> str:
    return (
        f"Total utility of all of {amount(len(study.seeds), 'seed')} over OASiS' on the same jobs, our reading of "
        "'normalised'; ± is the 95% interval, of differences paired by seed; with another mix the same jobs change "
        "their class only; a part of the claim counts as seen where all of it agrees."
    )


def _reproduction(number: int, axis: Axis, mix: Mix) -> Reproduction:
    usual = mix is USUAL
    less = "" if usual else f", by less than with {USUAL.words}"
    claim = f"PD-ORS's utility is above OASiS' at every number of {axis} with {mix.words} of jobs{less}."
    compute = usual_figure if usual else patient_figure
    return Reproduction(f"pd-ors-{number}", PAPER, f"Fig. {number}", claim, partial(compute, axis=axis))


GAIN = (
    _reproduction(14, "machines", USUAL),
    _reproduction(15, "machines", PATIENT),
    _reproduction(16, "jobs", USUAL),
    _reproduction(17, "jobs", PATIENT),
)
