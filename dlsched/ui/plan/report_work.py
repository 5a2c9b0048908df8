"""From stored runs to a memo: options, who gains, situations of a stored sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dlsched.domain.errors import InputError, StaleAnswer
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.compare import common_jobs
from dlsched.metrics.winners import Winners
from dlsched.policies.registry import find
from dlsched.report.alternatives import Alternative, alternative_of, memo_cautions, origin_of, taken_for_granted
from dlsched.report.evidence import Sensitivity, of_sweep, winners_of
from dlsched.report.memo import Memo, build
from dlsched.studies.design.factors import is_drawn
from dlsched.studies.sweep import STUDY as SWEEP_STUDY
from dlsched.studies.sweep.answer import Sweep
from dlsched.ui.frame import loaders, runs_of, session
from dlsched.ui.frame.runs_of import Series
from dlsched.ui.scenario import price_lists
from dlsched.wording.assumptions import is_random

Runs = tuple[tuple[str, tuple[str, ...]], ...]
"""Label and runs, draw by draw, of each option, the baseline first."""
SWEEP = "sweep"
MOST_SWEEPS = 20
"""So many of the newest stored sweeps are looked at."""
MOST_DRAWS = 10
"""Who gains is told over at most so many draws: each needs all jobs of all runs."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the reader typed and ticked; empty texts are replaced by ours."""

    question: str = ""
    recommended: str = ""
    note: str = ""
    who_loses: bool = True
    situations: bool = True
    hide_names: bool = False


def memo_of(chosen: Sequence[Series], wanted: Wanted) -> Memo:
    """Return the memo of runs, the first of which is the baseline.

    Raises
    ------
    InputError
        As :func:`report.memo.build`, and where the runs have no draw in common.
    """
    seeds = runs_of.shared_seeds(list(chosen))
    if not seeds:
        raise InputError("options", "have no draw in common", "Run them with the same draws")
    options = [_option(series, seeds) for series in chosen]
    scenario = scenario_of(chosen)
    exact = runs_of.are_exact(chosen)
    plain = build(options, made_on=price_lists.today(), exact=exact)  # refuses before anything large is loaded
    jobs = {series.label: loaders.jobs(series.run_of(seeds[0])) for series in chosen}
    common = common_jobs(jobs)[0]
    return build(
        options,
        made_on=price_lists.today(),
        question=wanted.question,
        recommended=wanted.recommended,
        note=wanted.note,
        exact=exact,
        rents=scenario.cluster.free_slots,
        winners=_winners(chosen, seeds[:MOST_DRAWS], wanted.hide_names) if wanted.who_loses else (),
        sensitivity=stored_sensitivity(scenario, plain.service) if wanted.situations else None,
        assumptions=taken_for_granted(scenario, options, price_lists.today()),
        cautions=memo_cautions(scenario, options, common),
    )


def scenario_of(chosen: Sequence[Series]) -> Scenario:
    """Return the scenario of the baseline."""
    return loaders.scenario_of(chosen[0].run_ids[0])


def _option(series: Series, seeds: Sequence[int]) -> Alternative:
    infos = [loaders.info(series.run_of(seed)) for seed in seeds]
    scenario = loaders.scenario_of(infos[0].run_id)
    known = session.store().scenario_info(infos[0].scenario_hash)
    name, version = (known.name, known.version) if known else (infos[0].scenario_name, 0)
    return alternative_of(
        series.label,
        [loaders.metrics(info.run_id) for info in infos],
        scenario,
        series.policy,
        infos[0].params,
        seeds,
        origin=origin_of(scenario, name, version),
        audit=[complaint for info in infos for complaint in info.audit],
        code_version=infos[0].code_version,
    )


def _winners(chosen: Sequence[Series], seeds: Sequence[int], hide_names: bool) -> tuple[Winners, ...]:
    runs = tuple((series.label, tuple(series.run_of(seed) for seed in seeds)) for series in chosen)
    return _kept_winners(str(session.store().path), runs, runs_of.are_exact(chosen), hide_names)


@st.cache_resource(max_entries=20, show_spinner=False)
def _kept_winners(_path: str, runs: Runs, exact: bool, hide_names: bool) -> tuple[Winners, ...]:
    """Return who gains under each run against the first, computed once."""
    (base, base_ids), *others = runs
    after = {label: [loaders.jobs(run) for run in ids] for label, ids in others}
    before = [loaders.jobs(run) for run in base_ids]
    return winners_of(base, before, after, exact=exact, hide_names=hide_names)


def stored_sensitivity(scenario: Scenario, metric: str) -> Sensitivity | None:
    """Return what the newest stored sweep of one thing at a time says about this scenario; None without one."""
    store = session.store()
    for known in store.list_experiments(SWEEP)[:MOST_SWEEPS]:
        try:
            sweep = SWEEP_STUDY.read_answer(store.get_experiment(known.experiment_id).answer)
        except StaleAnswer:
            continue
        if sweep.scenario != scenario.content_hash or sweep.mode != "one-at-a-time":
            continue
        found = of_sweep(sweep, metric, exact=_is_exact(scenario, sweep))
        if found is not None:
            return found
    return None


def _is_exact(scenario: Scenario, sweep: Sweep) -> bool:
    drawn = is_random(scenario) or any(find(policy).draws for policy in sweep.policies)
    changes = [axis.key for axis in sweep.axes if axis.key.partition(".")[0] not in sweep.policies]
    return not drawn and not is_drawn(scenario, changes)
