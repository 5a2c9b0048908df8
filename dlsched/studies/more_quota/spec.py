"""Which queues are given how much more quota, and in which futures."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel, Key
from dlsched.domain.names import names_hint
from dlsched.domain.queue_tree import Name
from dlsched.domain.scenario import Scenario
from dlsched.studies.design import EditedScenarios, Futures, ResolvedVariant, Variant, resolve_variant
from dlsched.studies.design.factors import factor_of
from dlsched.studies.design.variants import Value
from dlsched.studies.inspect.queues.spec import QueuesSpec
from dlsched.studies.study import require_scenario
from dlsched.workload.queues_from_jobs import amounts_of_flavors


class MoreQuotaSpec(FrozenModel):
    """More quota for each of some queues, one at a time, against the quotas as they are, in the same futures."""

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    policy: Key = Field("queue-tree", description="Policy that obeys the quotas.")
    params: dict[Key, Any] = Field(default_factory=dict, max_length=100)
    queues: tuple[Name, ...] = Field(min_length=1, max_length=20, description="Queues that are asked about.")
    steps: tuple[float, ...] = Field(
        (1.0, 4.0, 8.0), min_length=1, max_length=10, description="How much more quota, in the unit of the quota."
    )
    up_to_nodes: bool = Field(True, description="Also as much quota as the nodes of the flavor have.")
    futures: Futures = Field(default_factory=Futures)


class Choice(FrozenModel):
    """One queue with more quota: the key of its quota, and the nominal amount before and after."""

    queue: str
    key: str
    before: float
    after: float
    is_all: bool = False

    @property
    def more(self) -> float:
        """How much more it is."""
        return self.after - self.before

    @property
    def changes(self) -> dict[str, Value]:
        """The change by its key."""
        return {self.key: self.after}


def choices_of(spec: MoreQuotaSpec, scenario: Scenario) -> list[Choice]:
    """Return what is tried: every step for every queue, then all that the nodes have where that is more.

    InputError for a queue without quota, or that does not exist.
    """
    tree = scenario.queues
    if tree is None:
        raise InputError(f"scenario {scenario.name!r:.80}", "has no queues", "Add them on the page Cluster")
    found = []
    for queue in dict.fromkeys(spec.queues):
        if queue not in tree.tree:
            raise InputError(f"queue {queue!r:.80}", "there is none of this name", names_hint(queue, tree.tree))
        resource = next(iter(tree.resources), "gpus")
        quota = next((one for one in tree.tree[queue].quota if one.resource == resource), None)
        if quota is None:
            do = "Add one on the page Cluster, or ask about another queue"
            raise InputError(f"queue {queue!r:.80}", f"has no quota of {resource}", do)
        key = f"quota.{queue}.{quota.flavor}.{resource}"
        before = quota.nominal
        factor_of(scenario, key)  # InputError where names are so that the key means another quota
        found += [Choice(queue=queue, key=key, before=before, after=before + step) for step in spec.steps]
        here = amounts_of_flavors(scenario.cluster, quota.resource)
        most = here.get(quota.flavor, sum(here.values()))
        if spec.up_to_nodes and most > before + max(spec.steps):
            found.append(Choice(queue=queue, key=key, before=before, after=most, is_all=True))
    return found


def sides_of(spec: MoreQuotaSpec, scenario: Scenario) -> tuple[ResolvedVariant, list[tuple[Choice, ResolvedVariant]]]:
    """Return the quotas as they are, and each choice, ready to run; InputError where that cannot be."""
    require_scenario("more quota", spec.scenario, scenario)
    edited = EditedScenarios(scenario)

    def side(changes: dict[str, Value]) -> ResolvedVariant:
        variant = Variant(policy=spec.policy, params=spec.params, changes=changes)
        return resolve_variant(edited, variant, spec.futures)

    return side({}), [(choice, side(choice.changes)) for choice in choices_of(spec, scenario)]


def check(spec: MoreQuotaSpec, scenario: Scenario | None) -> None:
    """Raise InputError where a question cannot be answered."""
    if spec.policy not in QueuesSpec.policies:
        raise InputError(f"policy {spec.policy}", "obeys no quotas", f"Use {' or '.join(QueuesSpec.policies)}")
    if scenario is not None:
        sides_of(spec, scenario)
