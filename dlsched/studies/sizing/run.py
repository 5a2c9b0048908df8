"""The cheapest size that meets its targets, from question to answer."""

from __future__ import annotations

import math
from concurrent.futures import Executor

from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.design import Variant, check_variant
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.simulation import Progress
from dlsched.studies.sizing.answer import Counts, Headroom, Sizing, Status
from dlsched.studies.sizing.headroom import headroom_of
from dlsched.studies.sizing.reasons import reasons
from dlsched.studies.sizing.rule import require_numbers
from dlsched.studies.sizing.search import OutOfRuns, below, cheapest
from dlsched.studies.sizing.sizes import Sizes, sizes_of
from dlsched.studies.sizing.spec import SizeSpec
from dlsched.studies.sizing.trials import Means, SizeTrials, usual_runs
from dlsched.studies.study import require_scenario


def run_size(
    spec: SizeSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Sizing:
    """Return the answer; parameters and errors as :func:`studies.design.run_variants`.

    Raises
    ------
    InputError
        Also for another scenario than the question names, a VM type that cannot vary, or a target of a metric that
        has no number on these jobs.
    """
    sizes = check(spec, scenario)
    trials = SizeTrials(spec, scenario, sizes, Means(executor, store, progress))
    complete, answer = True, None
    try:
        today = trials.tried(sizes.today, trials.search_seeds)
        require_numbers(spec.targets, today.draws)
        cheapest(trials, sizes.types, sizes.today)
        answer = _settled(trials)
    except OutOfRuns:
        complete = False
        answer = next(iter(trials.all_confirmed()), None)
    complete &= _around(trials, answer)
    headroom = []
    if spec.headroom:
        for counts in dict.fromkeys(one for one in (answer, sizes.today) if one is not None):
            room = _headroom(trials, counts)
            complete &= room is not None
            headroom += [] if room is None else [room]
    return _answer(spec, scenario, sizes, trials, answer, tuple(headroom), complete=complete)


def check(spec: SizeSpec, scenario: Scenario) -> Sizes:
    """Return the sizes asked about; InputError when the question cannot be answered, before anything is computed."""
    require_scenario("size", spec.scenario, scenario)
    sizes = sizes_of(scenario, spec.types)
    check_variant(scenario, Variant(policy=spec.policy, params=spec.params), spec.futures)
    return sizes


def estimate_s(spec: SizeSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    return usual_runs(spec) * (LIST_RUN_S if scenario is None else estimate_run(scenario, spec.policy).seconds)


def _settled(trials: SizeTrials) -> Counts | None:
    """Return the cheapest confirmed size, once no cheaper one that was tried is left to confirm; None = there is none.

    The search leaves out sizes that should not meet the targets, as smaller ones or larger ones do not; where those
    tried do all the same, they have their chance. Today's cluster has it anyway: it gets the fresh draws too.
    """
    if all(one.least <= one.today <= one.most for one in trials.sizes.types) and trials.all_confirmed():
        trials.confirmed(trials.sizes.today)
    while True:
        best = next(iter(trials.all_confirmed()), None)
        limit = math.inf if best is None else trials.cost(best)
        cheaper = [size for size in trials.all_meeting() if trials.cost(size) < limit]
        found = next((size for size in sorted(cheaper, key=trials.cost) if trials.confirmed(size)), None)
        if found is not None:
            continue
        if best is None or all(trials.is_tried(size) for size in below(trials.sizes.types, best)):
            return best if best is None else _cheaper_in_runs(trials, best)
        for size in below(trials.sizes.types, best):
            trials.verdict(size)


def _cheaper_in_runs(trials: SizeTrials, best: Counts) -> Counts:
    """Return the size, or a larger one tried whose runs cost distinguishably less, where only runs tell the cost.

    Policies that rent what they need often pay about as much whatever the limit; chance must not choose among those.
    """
    if trials.sizes.cost_by != "runs":
        return best
    differences = {size: trials.cost_difference(size, best) for size in trials.all_meeting() if size != best}
    less = {size: of.mean for size, of in differences.items() if of is not None and of.mean < 0 and of.tells_apart()}
    confirmed = (size for size in sorted(less, key=lambda size: less[size]) if trials.confirmed(size))
    found = next(confirmed, best)
    for size in below(trials.sizes.types, found):
        trials.verdict(size)
    return found


def _around(trials: SizeTrials, answer: Counts | None) -> bool:
    """Run what is told beside the answer: one node more of each type, today's cluster; False when runs ran out."""
    if answer is None:
        return True
    larger = [(*answer[:place], count + 1, *answer[place + 1 :]) for place, count in enumerate(answer)]
    try:
        for counts in larger:
            trials.tried(counts, trials.search_seeds)
        trials.tried(trials.sizes.today, trials.search_seeds + trials.confirm_seeds)
    except OutOfRuns:
        return False
    return True


def _headroom(trials: SizeTrials, counts: Counts) -> Headroom | None:
    try:
        return headroom_of(trials, counts)
    except OutOfRuns:
        return None


def _answer(
    spec: SizeSpec,
    scenario: Scenario,
    sizes: Sizes,
    trials: SizeTrials,
    answer: Counts | None,
    headroom: tuple[Headroom, ...],
    *,
    complete: bool,
) -> Sizing:
    tried = trials.all_sizes()
    known = {size.counts for size in tried if size.draws or size.error}
    status: Status = "found" if answer is not None else "none" if complete else "stopped"
    why = () if answer is not None or not complete else reasons(spec, scenario, sizes, trials)
    stopped = () if complete else (f"the search stopped at {spec.most_runs:,} runs",)
    return Sizing(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        policy=spec.policy,
        label=registry.find(spec.policy).label,
        params=spec.params,
        futures=spec.futures,
        rule=trials.rule,
        types=sizes.types,
        cost_by=sizes.cost_by,
        today=sizes.today,
        sizes=tuple(size for size in tried if size.counts in known),
        answer=answer,
        neighbours=() if answer is None else tuple(one for one in below(sizes.types, answer) if one in known),
        search_seeds=trials.search_seeds,
        confirm_seeds=trials.confirm_seeds,
        status=status,
        reasons=(*why, *stopped),
        headroom=headroom,
        runs=trials.runs,
    )
