"""The number of committed nodes with the least cost of a year, from question to answer."""

from __future__ import annotations

import math
from concurrent.futures import Executor

from dlsched.domain.cluster import Pool
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.commitment.answer import RENTED_COSTS, Commit, Commitment, Nodes, Waited, cost_at
from dlsched.studies.commitment.offer import Mix, mix_of
from dlsched.studies.commitment.search import least, usual_looks
from dlsched.studies.commitment.spec import MOST_NODES, CommitmentSpec
from dlsched.studies.commitment.use import Use, use_of
from dlsched.studies.design import Variant, basis_of, check_variant, run_variants
from dlsched.studies.design.factors import NODES_OF
from dlsched.studies.estimate import estimate_run
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress, progress_of_part
from dlsched.studies.sizing import SizeSpec, run_size
from dlsched.studies.sizing.rule import Replicate, Rule, require_numbers
from dlsched.studies.sizing.search import OutOfRuns
from dlsched.studies.sizing.sizes import most_nodes
from dlsched.studies.sizing.spec import TypeRange
from dlsched.studies.sizing.trials import Means, draw_of
from dlsched.studies.study import require_scenario
from dlsched.wording.formats import amount

ALL_RUNS = 3
"""About so many times the futures are run to find how many nodes do without renting, in compiled loops."""
RENTED_RUN_S = 0.5
"""CPU seconds of a run of 1,000 jobs with rented nodes, which the engine plays: a guess before the jobs are known."""


def run_commitment(
    spec: CommitmentSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Commitment:
    """Return the answer; parameters and errors as :func:`studies.design.run_variants`.

    Where several waits before renting are asked about, each has a search of its own; the cheapest mix is the answer.

    Raises
    ------
    InputError
        Also for another scenario than the question names, as :func:`commitment.offer.mix_of`, or for a target that has
        no number on these jobs.
    """
    check(spec, scenario)
    waits, found = _waits(spec, scenario), list[Commitment]()
    for place, wait_s in enumerate(waits):
        left = spec.most_runs - sum(one.runs for one in found)
        if found and left < len(spec.futures.seeds):
            break
        one = spec.model_copy(update={"rent_after_s": wait_s, "or_after_s": (), "most_runs": left})
        means = Means(executor, store, progress_of_part(progress, place, len(waits)))
        found.append(_cheapest(one, scenario, means, found[0] if found else None))
    if len(waits) == 1:
        return found[0]
    costs = [None if one.best is None else cost_at(one, one.best) for one in found]
    tried = tuple(
        Waited(rent_after_s=one.rent_after_s, nodes=one.best, usd_year=None if cost is None else cost.usd)
        for one, cost in zip(found, costs, strict=True)
    )
    usd = [math.inf if cost is None else cost.usd for cost in costs]
    best = usd.index(min(usd))
    runs, stopped = sum(one.runs for one in found), len(found) < len(waits) or any(one.stopped for one in found)
    return found[best].model_copy(update={"waits": tried, "runs": runs, "stopped": stopped})


def _waits(spec: CommitmentSpec, scenario: Scenario | None) -> list[float | None]:
    """Return the waits to search, each once; None = as the scenario has it."""
    first_s = spec.rent_after_s
    if first_s is None and scenario is not None:
        first_s = scenario.cluster.rent_after_s
    return [spec.rent_after_s, *(wait_s for wait_s in dict.fromkeys(spec.or_after_s) if wait_s != first_s)]


def _cheapest(spec: CommitmentSpec, scenario: Scenario, means: Means, first: Commitment | None) -> Commitment:
    """Return the answer for one wait before renting; renting nothing is as in the ``first``, that of another wait."""
    mix = mix_of(spec, scenario)
    trials = _Trials(spec, mix, means)
    owned = trials.all_committed() if first is None else first.all_committed
    # More nodes than do without renting cost more than those do: the search ends there.
    trials.most = most = spec.most or (mix.today if owned is None else owned)
    uses = trials.uses()
    require_numbers(spec.targets, trials.commit(most).draws)
    found = Commitment(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        policy=spec.policy,
        label=registry.find(spec.policy).label,
        params=spec.params,
        futures=trials.futures,
        condition=spec.condition,
        rule=trials.rule,
        base=_nodes(mix.base, most),
        rented=_nodes(mix.rented, mix.rented.count),
        fixed_usd_per_h=_fixed(mix),
        left_out=mix.left_out,
        today=mix.base.count,
        tried=tuple(trials.known.values()),
        best=None,
        all_committed=owned,
        all_most=trials.all_most,
        rent_after_s=mix.scenario.cluster.rent_after_s,
        uses=uses,
        runs=0,
    )

    def rank(nodes: int) -> tuple[bool, float]:
        """Return a key by which fewer dollars come first; where a target is missed, how far it is."""
        now = found.model_copy(update={"tried": (trials.commit(nodes),)})
        cost, check = cost_at(now, nodes), now.check(nodes)
        if cost is not None and check.verdict == "meets":
            return (False, cost.usd)
        used = [one.target.share_used(one.mean) for one in check.targets if one.mean is not None]
        return (True, max(used, default=math.inf))

    try:
        least(rank, most, every=spec.every)
        stopped = False
    except OutOfRuns:
        stopped = True
    found = found.model_copy(update={"tried": tuple(trials.known[nodes] for nodes in sorted(trials.known))})
    best = min(found.meeting, key=lambda nodes: (rank(nodes), nodes), default=None)
    return found.model_copy(update={"best": best, "stopped": stopped, "runs": trials.runs})


def check(spec: CommitmentSpec, scenario: Scenario) -> Mix:
    """Return what is committed to and rented; InputError when the question cannot be answered."""
    require_scenario("commitment", spec.scenario, scenario)
    mix = mix_of(spec, scenario)
    check_variant(mix.scenario, _variant(spec, mix, 0), spec.futures)
    return mix


def estimate_s(spec: CommitmentSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the answer takes."""
    run_s = RENTED_RUN_S if scenario is None else estimate_run(scenario, spec.policy).seconds
    return usual_runs(spec, scenario) * run_s


def usual_runs(spec: CommitmentSpec, scenario: Scenario | None = None, *, exact: bool = False) -> int:
    """Return about how many runs the answer takes."""
    most = spec.most or (16 if scenario is None else mix_of(spec, scenario).today)
    looks = usual_looks(most, every=spec.every) + 1 + ALL_RUNS
    return min(spec.most_runs, looks * len(_waits(spec, scenario)) * (1 if exact else len(spec.futures.seeds)))


def _variant(spec: CommitmentSpec, mix: Mix, nodes: int) -> Variant:
    return Variant(policy=spec.policy, params=spec.params, changes={**spec.condition, mix.key: nodes})


def _nodes(pool: Pool, most: int) -> Nodes:
    terms = pool.terms
    plain = {} if terms is None else terms.model_dump()
    rents = {name: plain[name] for name in ("boot_s", "idle_timeout_s", "evictions_per_h") if name in plain}
    years = plain.get("commitment_years", 0)
    return Nodes(name=pool.vm.name, kind=pool.kind, usd_per_h=pool.vm.usd_per_h or 0.0, most=most, years=years, **rents)


def _fixed(mix: Mix) -> dict[str, float]:
    found: dict[str, float] = {}
    for pool in mix.fixed:
        found[pool.kind] = found.get(pool.kind, 0.0) + pool.count * (pool.vm.usd_per_h or 0.0)
    return found


class _Trials:
    """Runs numbers of committed nodes when asked about them, each in all futures and once."""

    def __init__(self, spec: CommitmentSpec, mix: Mix, means: Means) -> None:
        self.spec, self.mix, self.means, self.runs = spec, mix, means, 0
        checked = check_variant(mix.scenario, _variant(spec, mix, 0), spec.futures)
        basis = basis_of(mix.scenario, [checked], spec.futures)
        self.rule = Rule(targets=spec.targets, claim=spec.claim, level=spec.level, basis=basis)
        self.futures = spec.futures.recorded if self.rule.exact else spec.futures
        self.known: dict[int, Commit] = {}
        self.most = spec.most or mix.today
        self.all_most = max(most_nodes(mix.today), spec.most)

    def all_committed(self) -> int | None:
        """Return the fewest nodes that meet the targets without any to rent; None if ``all_most`` do not."""
        scenario, spec = self.mix.without_renting, self.spec
        size = SizeSpec(
            scenario=scenario.content_hash,
            targets=spec.targets,
            policy=spec.policy,
            params=spec.params,
            claim=spec.claim,
            level=spec.level,
            condition=spec.condition,
            types=(TypeRange(key=self.mix.key, least=0 if self.mix.fixed else 1, most=self.all_most),),
            futures=self.futures,
            headroom=False,
        )
        means, told = self.means, self.tell("nothing rented", 0)
        try:
            answer = run_size(size, scenario, means.executor, means.store, told).answer
        except InputError:  # no such cluster can run these jobs
            return None
        return None if answer is None else answer[0]

    def uses(self) -> tuple[Use, ...]:
        """Return the use of nodes by future where all are rented, as many as are needed."""
        rented = self.mix.rented
        enough = {NODES_OF + rented.vm.name: max(rented.count, min(MOST_NODES, self.all_most))}
        variant = _variant(self.spec, self.mix, 0)
        variant = variant.model_copy(update={"changes": {**variant.changes, **enough}})
        found = check_variant(self.mix.scenario, variant, self.futures)
        tasks = found.tasks(self.mix.scenario)
        return tuple(run_all(tasks, use_of, self.means.executor, self.tell("all rented", 1), noun="run"))

    def commit(self, nodes: int) -> Commit:
        """Return what is known of a number of nodes; runs it in all futures where it was not run."""
        if nodes in self.known:
            return self.known[nodes]
        if self.runs + len(self.futures.seeds) > self.spec.most_runs:
            raise OutOfRuns
        means, told = self.means, self.tell(f"{amount(nodes, 'node')} committed", 2 + len(self.known))
        variant = _variant(self.spec, self.mix, nodes)
        try:
            batch = run_variants(self.mix.scenario, [variant], self.futures, means.executor, means.store, told)
        except InputError as error:  # such as a failure stated for a node that there is not
            self.known[nodes] = Commit(nodes=nodes, error=error.clause)
            return self.known[nodes]
        self.runs += len(self.futures.seeds)
        metrics = [*(target.metric for target in self.spec.targets), RENTED_COSTS[self.mix.rented.kind]]
        draws = tuple(
            self._needed(draw_of(result, seed, metrics))
            for seed, result in zip(self.futures.seeds, batch.results[0], strict=True)
        )
        self.known[nodes] = Commit(nodes=nodes, draws=draws)
        return self.known[nodes]

    def _needed(self, draw: Replicate) -> Replicate:
        """Return a run that has to do as many jobs as with the most committed nodes in the same future."""
        most = self.known.get(self.most)
        same = None if most is None else next((one for one in most.draws if one.seed == draw.seed), None)
        return draw.model_copy(update={"needed": draw.done if same is None else same.done}) if not draw.error else draw

    def tell(self, what: str, done: int) -> Progress | None:
        """Return where a part of the work tells its progress; how many parts a search has is not known before."""
        told = self.means.progress
        if told is None:
            return None

        looks = usual_looks(self.most, every=self.spec.every) + 2

        def tell(share: float, text: str) -> None:
            told(min(0.97, (done + share) / looks), f"{what}: {text}")

        return tell
