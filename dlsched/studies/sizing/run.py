"""The cheapest size that meets its targets, from question to answer."""

from __future__ import annotations

from concurrent.futures import Executor

from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.statements import Change, least_declared
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.design import Variant, check_variant
from dlsched.studies.estimate import LIST_RUN_S, estimate_run
from dlsched.studies.simulation import Progress
from dlsched.studies.sizing.answer import Counts, Headroom, Sizing, Status, above
from dlsched.studies.sizing.campaigns import campaign_of
from dlsched.studies.sizing.headroom import headroom_of
from dlsched.studies.sizing.reasons import reasons
from dlsched.studies.sizing.rule import require_numbers
from dlsched.studies.sizing.search import OutOfRuns, below, cheapest
from dlsched.studies.sizing.sizes import Sizes, sizes_under
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
        trials.complete(sizes.today)
        require_numbers(spec.targets, trials.size(sizes.today).draws)
        cheapest(trials, sizes.types, sizes.today)
        answer = _settled(trials)
    except OutOfRuns:
        complete = False
        trials.use_reserve()
        answer = next(iter(trials.all_meeting()), None)
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
    sizes = sizes_under(spec.condition, scenario, spec.types)
    check_variant(scenario, Variant(policy=spec.policy, params=spec.params, changes=spec.condition), spec.futures)
    return sizes


def estimate_s(spec: SizeSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    return usual_runs(spec) * (LIST_RUN_S if scenario is None else estimate_run(scenario, spec.policy).seconds)


def _settled(trials: SizeTrials) -> Counts | None:
    """Return the cheapest size that meets the targets, once the sizes just below it ran all futures; None without one.

    Of a single type the size two below only has to fail, which takes few futures.

    The search leaves out sizes that should not meet the targets, as smaller ones or larger ones do not; where those
    tried do all the same, they have their chance.
    """
    while True:
        best = next(iter(trials.all_meeting()), None)
        if best is None:
            return None
        lower = below(trials.sizes.types, best)
        shown = lower if len(best) > 1 else lower[:1]
        if all(trials.is_complete(size) for size in shown) and not any(trials.meets(size) for size in lower):
            return _cheaper_in_runs(trials, best)
        for size in shown:
            trials.complete(size)


def _cheaper_in_runs(trials: SizeTrials, best: Counts) -> Counts:
    """Return the size, or a larger one whose runs cost less beyond chance, where only runs tell the cost.

    One node more of each type is tried as long as that is cheaper. Policies that rent what they need often pay about as
    much whatever the limit; chance must not choose among those.
    """
    if trials.sizes.cost_by != "runs":
        return best
    found = best
    while True:
        for size in filter(trials.sizes.hold, above(found)):
            trials.complete(size)
        less = {}
        for size in trials.all_promising():
            trials.complete(size)
            change = trials.cost_change(size, best)
            if trials.meets(size) and change is not None and _is_sure(change):
                less[size] = change.value
        cheapest_yet = min(less, key=lambda size: less[size], default=best)
        if cheapest_yet == found:
            break
        found = cheapest_yet
    for size in below(trials.sizes.types, found):
        trials.complete(size)
    return found


def _is_sure(change: Change) -> bool:
    """Whether a cost is less in nearly all futures: many sizes are compared, and chance must win none of them."""
    return change.verdict == "better" and (change.kind == "exact" or change.better >= least_declared(change.n))


def _around(trials: SizeTrials, answer: Counts | None) -> bool:
    """Run what is shown beside the answer in all futures: one node more of each type; False when runs ran out."""
    if answer is None:
        return True
    try:
        for counts in (answer, *above(answer)):
            trials.complete(counts)
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
    shown = {size.counts for size in tried if not size.stopped}
    status: Status = "found" if answer is not None else "none" if complete else "stopped"
    why = () if answer is not None or not complete else reasons(spec, scenario, sizes, trials)
    stopped = () if complete else (f"the search stopped at {spec.most_runs:,} runs",)
    return Sizing(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        policy=spec.policy,
        label=registry.find(spec.policy).label,
        params=spec.params,
        futures=spec.futures.recorded if trials.rule_at(1.0).exact else spec.futures,
        condition=spec.condition,
        rule=trials.rule_at(1.0),
        types=sizes.types,
        cost_by=sizes.cost_by,
        today=sizes.today,
        sizes=tuple(size for size in tried if trials.is_decided(size)),
        answer=answer,
        neighbours=() if answer is None else tuple(one for one in below(sizes.types, answer) if one in shown),
        status=status,
        reasons=(*why, *stopped),
        headroom=headroom,
        campaign=campaign_of(scenario),
        rented_nodes=sizes.rented_nodes,
        runs=trials.runs,
    )
