"""The memo about policies and changes that were compared."""

from __future__ import annotations

from datetime import date

from pandas import DataFrame

from dlsched.domain.errors import InputError
from dlsched.metrics.winners import Winners
from dlsched.report.alternatives import alternative_of, memo_cautions, memo_caveats, origin_of, taken_for_granted
from dlsched.report.compared import Compared
from dlsched.report.evidence import winners_of
from dlsched.report.happened import happened_in
from dlsched.report.memo import Memo, build
from dlsched.studies.code_version import version_of
from dlsched.studies.design import VariantTask, in_full
from dlsched.wording.counted import counted_of


def memo_of(
    found: Compared,
    *,
    question: str = "",
    recommendation: str = "",
    note: str = "",
    hide_names: bool = False,
    groups: bool = True,
) -> Memo:
    """Return the memo of what was compared.

    ``question``, ``recommendation`` and ``note`` replace or add to the computed texts; ``hide_names``: users and groups
    are shown as A, B, C; ``groups``: it says which of them gain and lose, which takes the jobs of single runs.

    Raises
    ------
    InputError
        If a run failed its audit.
    """
    if found.violations:
        worst = found.violations[0]
        why = f"failed its audit at seed {worst.seed}: {worst.audit[0]}"
        raise InputError(f"policy {worst.policy}", why, "Leave the policy out and report the bug")
    scenario = found.scenario
    origin = origin_of(scenario)
    compared = [
        alternative_of(name, [draw.metrics or {} for draw in draws], scenario, found.variants[name].policy,
                  found.variants[name].params, found.futures, origin=origin,
                  code_version=version_of(scenario, [found.variants[name].policy]),
                  changes=found.variants[name].changes, condition=found.condition)
        for name, draws in found.draws.items()
    ]  # fmt: skip
    who, common = _who(found, hide_names=hide_names) if groups else ((), None)
    return build(
        compared,
        made_on=date.today(),
        question=question,
        recommended=recommendation,
        note=note,
        basis=found.basis,
        rents=scenario.cluster.rents,
        winners=who,
        caveats=memo_caveats(scenario, compared, found.trust),
        assumptions=taken_for_granted(scenario, compared, date.today()),
        cautions=memo_cautions(scenario, compared, common),
        happened=happened_in(scenario, hide_names=hide_names),
        counted=counted_of(scenario),
    )


def _who(found: Compared, *, hide_names: bool) -> tuple[tuple[Winners, ...], int]:
    """Return which groups gain and lose in the first futures, rerun for their jobs, and how many jobs all complete."""
    seeds = [found.futures.seeds[place] for place in in_full(found.basis, found.futures)]
    jobs = {name: [_jobs(found, name, seed) for seed in seeds] for name in found.draws}
    base, *names = jobs
    done = [set(first.loc[first["status"] == "completed", "job_id"]) for first, *_ in jobs.values()]
    exact = found.basis.kind != "drawn"
    who = winners_of(base, jobs[base], {name: jobs[name] for name in names}, exact=exact, hide_names=hide_names)
    return who, len(set.intersection(*done))


def _jobs(found: Compared, name: str, seed: int) -> DataFrame:
    if found.jobs is not None and (name, seed) in found.jobs:
        return found.jobs[name, seed]
    variant = found.variants[name]
    changes = found.futures.changes_in(seed) | {**found.condition.changes, **variant.changes}
    return VariantTask(found.scenario, changes, variant.policy, variant.params, seed).run().jobs
