"""What the store knows of choices in the futures of their scenario: the one place where pages read such numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.summary import Metrics
from dlsched.store.record import run_key
from dlsched.studies.code_version import version_of
from dlsched.studies.design import EditedScenarios, Futures, Variant, VariantTask, basis_of, resolve_variant
from dlsched.studies.design.run import stored_results

if TYPE_CHECKING:
    from dlsched.store import Store


@dataclass(frozen=True, eq=False)
class FuturesPlan:
    """What there is to know: each different run by its key, and for every choice the key of each future.

    Where nothing is random there is one future, which says all.
    """

    futures: Futures
    basis: Basis
    tasks: Mapping[str, VariantTask]
    keys: tuple[tuple[str, ...], ...]

    @property
    def count(self) -> int:
        """How many futures there are, future 0 among them."""
        return len(self.futures.seeds)


@dataclass(frozen=True, eq=False)
class FuturesNumbers:
    """A plan, what is known of it by key, the auditor's complaints, and the errors of what failed."""

    plan: FuturesPlan
    known: Mapping[str, Metrics]
    audit: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def places(self) -> tuple[int, ...]:
        """Places of the futures that all choices have."""
        return tuple(
            place for place in range(self.plan.count) if all(keys[place] in self.known for keys in self.plan.keys)
        )

    @property
    def missing(self) -> dict[str, VariantTask]:
        """Runs whose numbers are not known and can be."""
        return {key: task for key, task in self.plan.tasks.items() if key not in self.known and key not in self.failed}

    @property
    def errors(self) -> dict[str, list[str]]:
        """The errors of each policy that failed in some futures."""
        found: dict[str, list[str]] = {}
        for key, error in self.failed.items():
            found.setdefault(self.plan.tasks[key].policy, []).append(error)
        return found

    @property
    def missing_futures(self) -> int:
        """How many futures some choice does not have, and can."""
        missing = self.missing
        return sum(any(keys[place] in missing for keys in self.plan.keys) for place in range(self.plan.count))

    def complaints(self, choice: int) -> list[str]:
        """Return what the auditor says of a choice, over the futures that are known."""
        return [complaint for key in self.plan.keys[choice] for complaint in self.audit.get(key, ())]

    @property
    def shared(self) -> Futures:
        """The futures that all choices have."""
        futures = self.plan.futures
        return Futures(seeds=tuple(futures.seeds[place] for place in self.places), vary=futures.vary)

    def metrics(self, choice: int) -> list[Metrics]:
        """Return the numbers of a choice in the futures that all choices have."""
        return [self.known[self.plan.keys[choice][place]] for place in self.places]


def plan_futures(choices: Sequence[tuple[Scenario, Variant]], futures: Futures) -> FuturesPlan:
    """Return what is known of choices, each about its scenario; the scenarios have the same jobs.

    Raises
    ------
    InputError
        An unknown change, a bad value, or a policy that cannot run the jobs.
    """
    edited: dict[str, EditedScenarios] = {}
    resolved = [
        resolve_variant(edited.setdefault(scenario.content_hash, EditedScenarios(scenario)), variant, futures)
        for scenario, variant in choices
    ]
    basis = basis_of(choices[0][0], resolved, futures)
    places = range(1 if basis.is_exact else len(futures.seeds))
    asked = [one.tasks(scenario) for one, (scenario, _) in zip(resolved, choices, strict=True)]
    keys = tuple(tuple(tasks[place].key for place in places) for tasks in asked)
    tasks = {
        key: of_choice[place]
        for of_choice, own in zip(asked, keys, strict=True)
        for place, key in zip(places, own, strict=True)
    }
    return FuturesPlan(futures.recorded if basis.is_exact else futures, basis, tasks, keys)


def known_numbers(plan: FuturesPlan, store: Store) -> FuturesNumbers:
    """Return what a store knows of a plan: of single futures, else of runs that are kept with all their jobs."""
    results = stored_results(store, plan.tasks)
    known: dict[str, Metrics] = {key: dict(result.metrics) for key, result in results.items() if result.metrics}
    audit = {key: result.audit for key, result in results.items() if result.audit}
    whole = {
        run_key(
            task.scenario.content_hash, task.policy, task.params, task.seed, version_of(task.scenario, [task.policy])
        ): key
        for key, task in plan.tasks.items()
        if key not in known and not task.changes
    }
    for asked, run_id in store.find_runs([*whole]).items():
        known[whole[asked]], audit[whole[asked]] = store.metrics(run_id), tuple(store.run_info(run_id).audit)
    return FuturesNumbers(plan, known, audit)
