"""A memo from stored runs, or from kept answers with runs beside them: options, who gains, what could change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import Numbers, count_common_jobs
from dlsched.metrics.winner_words import with_letters
from dlsched.metrics.winners import Winners
from dlsched.report.alternatives import (
    NOTHING,
    TODAY,
    Alternative,
    Origin,
    alternative_of,
    condition_of,
    memo_cautions,
    memo_caveats,
    origin_of,
    taken_for_granted,
)
from dlsched.report.evidence import Frontier, Sensitivity, answer_words, frontier_of, of_sweep, winners_of
from dlsched.report.happened import AT_ONCE, Happened, happened_in, happened_of
from dlsched.report.memo import DRAWN, Memo, build
from dlsched.studies.code_version import version_of
from dlsched.studies.design import Futures, Variant, changed
from dlsched.studies.history import spec_of
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.what_if import WhatIfSpec, is_exact
from dlsched.studies.what_if.answer import WhatIf
from dlsched.ui.frame import identity, loaders, runs_of, session
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.runs_of import Series, SeriesNumbers
from dlsched.ui.plan import memo_options, size_state
from dlsched.ui.plan.memo_options import Kept
from dlsched.ui.plan.sweep_runs import SWEEPS
from dlsched.ui.scenario import price_lists
from dlsched.ui.scenario.happened import HISTORIES
from dlsched.ui.scenario.trust import known_trust
from dlsched.wording.assumptions import Premise, draw_premises
from dlsched.wording.cautions import Caution, cautions
from dlsched.wording.clock import clock_of
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import count
from dlsched.workload.import_report import in_seconds, offered_load

Runs = tuple[tuple[str, tuple[str, ...]], ...]
"""Label and runs, future by future, of each option, the baseline first."""
MOST_DRAWS = 10
"""Who gains is told over at most so many futures: each needs all jobs of all runs."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the reader typed and ticked; empty texts are replaced by ours."""

    question: str = ""
    recommended: str = ""
    note: str = ""
    who_loses: bool = True
    situations: bool = True
    hide_names: bool = False


def _memo(
    options: Sequence[Alternative],
    scenario: Scenario,
    wanted: Wanted,
    *,
    basis: Basis,
    find_winners: Callable[[], tuple[Winners, ...]],
    find_cautions: Callable[[], list[Caution]],
    drawn: Sequence[Premise] = (),
    sizes: Frontier | None = None,
) -> Memo:
    """Return the memo of options; winners and cautions are looked for once it is sure that there is one."""
    today = price_lists.today()
    caveats = memo_caveats(scenario, options, known_trust(scenario, options[0].policy))
    # Refuses before anything large is loaded.
    plain = build(options, made_on=today, basis=basis, rents=scenario.cluster.rents, caveats=caveats, sizes=sizes)
    return build(
        options,
        made_on=today,
        question=wanted.question,
        recommended=wanted.recommended,
        note=wanted.note,
        basis=basis,
        rents=scenario.cluster.rents,
        winners=find_winners() if wanted.who_loses else (),
        sensitivity=stored_sensitivity(scenario, plain) if wanted.situations else None,
        caveats=caveats,
        assumptions=[*drawn, *taken_for_granted(scenario, options, today)],
        cautions=find_cautions(),
        sizes=sizes,
        happened=_happened(scenario, hide_names=wanted.hide_names),
        counted=counted_of(scenario),
        made_by=identity.actor().name,
    )


def _happened(scenario: Scenario, *, hide_names: bool) -> Happened | None:
    """Return what happened in the scenario's log: as the page Jobs computed it, else of a small log."""
    if scenario.generator is not None or not scenario.workload.has_recorded_starts:
        return None
    known = HISTORIES.answer_to(spec_of(scenario))
    if known is not None:
        return happened_of(known.answer, clock_of(scenario.workload), hide_names=hide_names)
    return happened_in(scenario, hide_names=hide_names, most_jobs=AT_ONCE)


def stored_sensitivity(scenario: Scenario, memo: Memo) -> Sensitivity | None:
    """Return what the newest stored sweep of one thing at a time says about the options of a memo; None without one.

    It must have the same options with the same numbers: others would say something else than the recommendation.
    """
    for shown in SWEEPS["one-at-a-time"].readable():
        sweep = shown.answer
        if sweep.scenario == scenario.content_hash:
            found = of_sweep(sweep, memo.service, memo.options, memo.comparison.basis)
            if found is not None and found.fits(memo.comparison):
                return found
    return None


# ---- from runs ---------------------------------------------------------------------------------------


def memo_of_runs(chosen: Sequence[Series], numbers: SeriesNumbers, wanted: Wanted) -> Memo:
    """Return the memo of runs, the first of which is the baseline, with their numbers in all futures.

    Raises
    ------
    InputError
        As :func:`report.memo.build`, and where the runs have no future in common.
    """
    in_full = runs_of.shared_seeds(list(chosen))
    if not in_full:
        raise InputError("options", "have no future in common", "Run them in the same futures")
    options = [_run_option(series, place, numbers, in_full) for place, series in enumerate(chosen)]
    scenario = scenario_of(chosen)

    def find_cautions() -> list[Caution]:
        jobs = {series.label: loaders.jobs(series.run_of(in_full[0])) for series in chosen}
        return memo_cautions(scenario, options, count_common_jobs(jobs))

    return _memo(
        options, scenario, wanted, basis=numbers.basis, find_cautions=find_cautions,
        find_winners=lambda: _run_winners(chosen, in_full[:MOST_DRAWS], wanted.hide_names),
    )  # fmt: skip


def scenario_of(chosen: Sequence[Series]) -> Scenario:
    """Return the scenario of the baseline."""
    return loaders.scenario_of(chosen[0].run_ids[0])


def _run_option(series: Series, place: int, numbers: SeriesNumbers, in_full: Sequence[int]) -> Alternative:
    """Return runs as an option, with the numbers of all futures that the options share."""
    infos, known_futures = [loaders.info(series.run_of(seed)) for seed in in_full], numbers.futures
    audit = [complaint for info in infos for complaint in info.audit]
    futures = Futures(seeds=tuple(in_full))
    if known_futures is not None and known_futures.places:
        audit, futures = [*dict.fromkeys([*audit, *known_futures.complaints(place)])], known_futures.shared
    scenario = loaders.scenario_of(infos[0].run_id)
    known = session.info_of(infos[0].scenario_hash)
    name, version = (known.name, known.version) if known else (infos[0].scenario_name, 0)
    return alternative_of(
        series.label,
        numbers.metrics[series.label],
        scenario,
        series.policy,
        infos[0].params,
        futures,
        origin=origin_of(scenario, name, version),
        audit=audit,
        code_version=infos[0].code_version,
    )


def _run_winners(chosen: Sequence[Series], seeds: Sequence[int], hide_names: bool) -> tuple[Winners, ...]:
    runs = tuple((series.label, tuple(series.run_of(seed) for seed in seeds)) for series in chosen)
    return _kept_winners(runs, runs_of.are_exact(chosen), hide_names)


@shared
def _kept_winners(runs: Runs, exact: bool, hide_names: bool) -> tuple[Winners, ...]:
    """Return who gains under each run against the first, computed once."""
    (base, base_ids), *others = runs
    after = {label: [loaders.jobs(run) for run in ids] for label, ids in others}
    before = [loaders.jobs(run) for run in base_ids]
    return winners_of(base, before, after, exact=exact, hide_names=hide_names)


# ---- from kept answers -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Numbers:
    """What is known of an option in the futures of a memo; ``answer`` None if stored runs stand for it."""

    kept: Kept
    draws: Sequence[Numbers]
    audit: Sequence[str]
    answer: WhatIf | None


def memo_of_kept(scenario: Scenario, kept: Sequence[Kept], frame: WhatIfSpec, wanted: Wanted) -> Memo:
    """Return the memo of kept answers, all of them computed as the frame asks.

    Raises
    ------
    InputError
        As :func:`report.memo.build`; also where a run of an option did not come to its end.
    """
    found = [_numbers(one, frame, scenario) for one in kept]
    answers = [one.answer for one in found if one.answer is not None]
    if not answers:
        raise InputError("options", "have no answer of What if or Size among them", "Tick one, or take runs alone")
    options = _options(scenario, frame, found, answers[0])
    exact = all(answer.exact for answer in answers) and is_exact(frame, scenario)
    basis = EXACT_BASIS if exact else next((one.basis for one in answers if not one.exact), DRAWN)
    return _memo(
        options, scenario, wanted, basis=basis, find_cautions=lambda: _cautions(scenario, options),
        find_winners=lambda: _winners(scenario, frame, found, wanted.hide_names, exact=exact),
        drawn=draw_premises(frame.futures.vary, "What if"), sizes=_sizes(scenario, kept, frame),
    )  # fmt: skip


def _numbers(one: Kept, frame: WhatIfSpec, scenario: Scenario) -> _Numbers:
    if memo_options.runs_fit(one, frame, scenario) and one.series is not None:
        series = one.series
        runs = [series.run_of(seed) if seed in series.seeds else series.run_ids[0] for seed in frame.futures.seeds]
        audit = [complaint for run in runs for complaint in loaders.info(run).audit]
        return _Numbers(one, [loaders.metrics(run) for run in runs], audit, None)
    shown = memo_options.answer_of(one, frame)
    if shown is None:
        raise InputError(f"option {one.name}", "was not computed in the futures of this memo", "Compute it again")
    if shown.answer.errors:
        why = f"has a run that did not come to its end: {shown.answer.errors[0]}"
        raise InputError(f"option {one.name}", why, "Leave it out")
    return _Numbers(one, shown.answer.changed.metrics, shown.answer.audit, shown.answer)


def _options(scenario: Scenario, frame: WhatIfSpec, found: Sequence[_Numbers], first: WhatIf) -> list[Alternative]:
    """Return today and the options in one form; all of them are of the scenario as the store knows it."""
    known = session.info_of(scenario.content_hash)
    origin = origin_of(scenario, known.name, known.version) if known else origin_of(scenario)
    name = NOTHING if frame.condition else TODAY
    today = _option(name, first.baseline.metrics, first.baseline.audit, frame.baseline, frame, scenario, origin)
    rest = [
        _option(
            one.kept.name,
            one.draws,
            one.audit,
            one.kept.spec.changed,
            frame,
            scenario,
            origin,
            _fitting(one.kept.sizing, frame),
        )
        for one in found
    ]
    return [today, *rest]


def _option(
    name: str,
    draws: Sequence[Numbers],
    audit: Sequence[str],
    case: Variant,
    frame: WhatIfSpec,
    scenario: Scenario,
    origin: Origin,
    sizing: Sizing | None = None,
) -> Alternative:
    return alternative_of(
        name, draws, scenario, case.policy, case.params, frame.futures, origin=origin, audit=audit,
        code_version=version_of(scenario, [case.policy]), changes=case.changes,
        claim="" if sizing is None else answer_words(sizing), condition=condition_of(scenario, frame.condition),
    )  # fmt: skip


def _sizes(scenario: Scenario, kept: Sequence[Kept], frame: WhatIfSpec) -> Frontier | None:
    """Return every size tried by the search behind an option, else by the newest one about the scenario."""
    for one in kept:
        sizing = _fitting(one.sizing, frame)
        if sizing is not None and (found := frontier_of(sizing, one.name)) is not None:
            return found
    newest = _fitting(size_state.newest_size(scenario.content_hash), frame)
    return None if newest is None else frontier_of(newest)


def _fitting(sizing: Sizing | None, frame: WhatIfSpec) -> Sizing | None:
    """Return a search that was asked what the memo asks: under its condition, in its futures; else None."""
    if sizing is None or sizing.futures != frame.futures or dict(sizing.condition) != frame.condition:
        return None
    return sizing


# ---- who gains ---------------------------------------------------------------------------------------


def _winners(
    scenario: Scenario, frame: WhatIfSpec, found: Sequence[_Numbers], hide_names: bool, *, exact: bool
) -> tuple[Winners, ...]:
    """Return who gains under each option against today, of answers as they are, of runs from their jobs.

    Runs are left out where today's own runs are not stored.
    """
    said: list[Winners] = []
    base = NOTHING if frame.condition else TODAY
    before = _today_jobs(scenario, frame)
    for one in found:
        if one.answer is not None:
            first = one.answer.winners[:1]
            told = [each.model_copy(update={"baseline": base, "other": one.kept.name}) for each in first]
            said += map(with_letters, told) if hide_names else told
        elif one.kept.series is not None and before:
            series, own = one.kept.series, one.kept.series.seeds
            runs = [series.run_of(seed) if seed in own else series.run_ids[0] for seed in before]  # exact: any says all
            after = {one.kept.name: [loaders.jobs(run) for run in runs]}
            said += winners_of(base, list(before.values()), after, exact=exact, hide_names=hide_names)
    return tuple(said)


def _today_jobs(scenario: Scenario, frame: WhatIfSpec) -> Mapping[int, pd.DataFrame]:
    """Return the jobs tables of today's stored runs by seed, at most MOST_DRAWS; empty without all of them."""
    if frame.condition:
        return {}
    seeds = frame.futures.seeds[:MOST_DRAWS]
    for series in runs_of.series_on(scenario.content_hash):
        if memo_options.case_of(series) == frame.baseline and set(seeds) <= {*series.seeds}:
            return {seed: loaders.jobs(series.run_of(seed)) for seed in seeds}
    return {}


# ---- what to know ------------------------------------------------------------------------------------


def _cautions(scenario: Scenario, options: Sequence[Alternative]) -> list[Caution]:
    """Return what to know of all options, then of each one's changed scenario, worst first."""
    completed = {option.name: int(option.draws[0].get("completed") or 0) for option in options}
    jobs = {int(option.draws[0].get("jobs") or 0) for option in options}
    common = next(iter(jobs)) if {*completed.values()} == jobs else None
    found = memo_cautions(scenario, options, common)
    if common is None:
        counts = ", ".join(f"{name} {count(done)}" for name, done in completed.items())
        text = f"The options do not complete all jobs, or not the same ({counts}): their means do not compare."
        found.append(Caution("orange", text, "Read the completed jobs first"))
    own = {guard.text for guard in found}
    for option in options:
        if option.changes:
            made = changed(scenario, {**option.condition.changes, **option.changes})
            told = cautions(made, load=offered_load(in_seconds(made), made.cluster))
            found += [Caution(guard.level, f"{option.name}: {guard.text}", guard.action)
                      for guard in told if guard.level != "info" and guard.text not in own]  # fmt: skip
    return found
