"""What a memo chooses between: options with their metrics in each future, their scenario and their caveats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import Numbers
from dlsched.policies import registry
from dlsched.studies.design.factors import changed, factor_of, role_of
from dlsched.studies.design.variants import Futures, Value
from dlsched.wording.assumptions import Premise, assumptions
from dlsched.wording.cautions import ORDER, Caution, cautions, comparison_cautions
from dlsched.wording.caveats import Caveat, Kind, caveats_of
from dlsched.wording.formats import listed
from dlsched.wording.settings import setting_words, within_sentence
from dlsched.workload.import_report import in_seconds, offered_load

TOLD_RUN_TIMES = "it is told true run times, which are not known in practice"
SEES_AHEAD = "it is told of jobs before they are submitted: a limit, not an option"
TODAY, NOTHING = "Today", "Do nothing"
"""The first option of kept answers: today's nodes and policy as things are, and under a condition."""
SPOKEN = {TODAY: "today", NOTHING: "doing nothing"}
"""How they are called within a sentence."""


@dataclass(frozen=True)
class Condition:
    """What happens whatever is chosen: changes by key, and the same in words. Without any, things are as they are."""

    changes: Mapping[str, Value] = field(default_factory=dict)
    words: str = ""


def condition_of(scenario: Scenario, changes: Mapping[str, Value]) -> Condition:
    """Return a condition of a scenario; InputError for an unknown change or a value out of range."""
    factors = {key: factor_of(scenario, key) for key in changes}
    read = {key: factors[key].read(value) for key, value in changes.items()}
    words = [setting_words(key, factors[key].label, factors[key].unit, value) for key, value in read.items()]
    return Condition(read, listed(words) if words else "")


@dataclass(frozen=True, slots=True)
class Origin:
    """The scenario behind an option. ``version`` 0: a file that no store has numbered."""

    name: str
    version: int
    scenario_hash: str
    workload_hash: str
    jobs: int
    data_kind: str

    @property
    def words(self) -> str:
        """Name and version as a reader knows them."""
        return f"{self.name}, v{self.version}" if self.version else self.name


@dataclass(frozen=True, eq=False)
class Alternative:
    """One thing to choose: its name and its metrics in each of its ``futures``, under a ``condition``.

    All options of a memo meet the same condition, and the same jobs in each future. ``origin`` is the scenario that the
    option is for; the answer about a change of it bears it too, with a name that says the change. The rest says how to
    compute it again and what speaks against it. ``policy`` is a key of the registry, "" where the option is none;
    ``params`` are those that differ from their defaults; ``changes`` what is changed in the scenario, by key;
    ``audit`` the auditor's complaints; ``caveat`` what to know before choosing it; ``claim`` what a search for a size
    says of it, as the end of a sentence; ``is_limit``: it shows what is possible, not a choice; ``mind`` the kinds of
    caveats that a memo with it must say.
    """

    name: str
    draws: tuple[Numbers, ...]
    origin: Origin
    policy: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    futures: Futures = field(default_factory=Futures)
    audit: tuple[str, ...] = ()
    code_version: str = ""
    caveat: str = ""
    is_limit: bool = False
    changes: Mapping[str, Value] = field(default_factory=dict)
    claim: str = ""
    mind: frozenset[Kind] = frozenset()
    condition: Condition = field(default_factory=Condition)

    @property
    def spoken(self) -> str:
        """The name within a sentence: "two more nodes", "doing nothing"; names of policies stay as they are."""
        return SPOKEN.get(self.name) or (within_sentence(self.name) if self.changes else self.name)

    @property
    def happens(self) -> list[str]:
        """The keys of changes that are conditions, and so no choice."""
        return [key for key in self.changes if role_of(key) == "condition"]

    def mean(self, key: str) -> float | None:
        """Return the mean of a metric over the futures; None if one has none."""
        values = [value for draw in self.draws if (value := draw.get(key)) is not None]
        return sum(values) / len(values) if values and len(values) == len(self.draws) else None

    def headline(self, key: str, basis: Basis) -> float | None:
        """Return the value that stands first: of the recorded month, else the mean over futures; None without one."""
        return self.mean(key) if basis.kind == "drawn" else self.draws[0].get(key)


def origin_of(scenario: Scenario, name: str = "", version: int = 0) -> Origin:
    """Return the origin of a scenario; ``name`` and ``version`` as the store knows it."""
    jobs = scenario.workload
    return Origin(
        name or scenario.name, version, scenario.content_hash, jobs.content_hash, len(jobs), scenario.data_kind
    )


def alternative_of(
    name: str,
    draws: Sequence[Numbers],
    scenario: Scenario,
    policy: str,
    params: Mapping[str, Any],
    futures: Futures,
    *,
    origin: Origin | None = None,
    audit: Sequence[str] = (),
    code_version: str = "",
    changes: Mapping[str, Value] | None = None,
    claim: str = "",
    condition: Condition | None = None,
) -> Alternative:
    """Return a policy's runs on a scenario as an option; what to know of the policy comes from the registry.

    Raises
    ------
    InputError
        If there is no such policy or it has no such parameters.
    """
    spec = registry.find(policy)
    defaults = spec.parse({}).model_dump(mode="json")
    given = spec.parse(dict(params)).model_dump(mode="json")
    differing = {key: value for key, value in given.items() if value != defaults.get(key)}
    told = spec.uses_run_times and scenario.options.estimate_error == 0
    caveat = SEES_AHEAD if spec.clairvoyant else TOLD_RUN_TIMES if told else ""
    return Alternative(
        name,
        tuple(draws),
        origin or origin_of(scenario),
        policy,
        differing,
        futures,
        tuple(audit),
        code_version,
        caveat,
        spec.clairvoyant,
        dict(changes or {}),
        claim,
        frozenset(one.kind for one in caveats_of(scenario, [spec], resampled="days" in futures.vary)),
        condition or Condition(),
    )


# ---- what stands around the numbers -------------------------------------------------------------------


def taken_for_granted(scenario: Scenario, options: Sequence[Alternative], today: date) -> list[Premise]:
    """Return the assumptions behind the options, beside their caveats."""
    stops_jobs = any(option.mean("preemptions") or option.mean("resizes") for option in options)
    return assumptions(scenario, stops_jobs=stops_jobs, today=today)


def memo_caveats(scenario: Scenario, options: Sequence[Alternative], trust: Caveat | None = None) -> tuple[Caveat, ...]:
    """Return what must stand beside the recommendation; ``trust``: what a calibration says of the scenario."""
    policies = [registry.find(option.policy) for option in options if option.policy]
    return caveats_of(
        scenario, policies, trust=trust, resampled=any("days" in option.futures.vary for option in options)
    )


def memo_cautions(scenario: Scenario, options: Sequence[Alternative], common: int | None = None) -> list[Caution]:
    """Return what to know before trusting the numbers, worst first.

    ``common``: jobs that all options completed in the first draw; None if that is not known.
    """
    met = changed(scenario, options[0].condition.changes)
    banners = cautions(met, load=offered_load(in_seconds(met), met.cluster))
    for option in options:
        stalled = cautions(scenario, option.draws[0]) if option.mean("stalled") else []
        worst = [each for each in stalled if each.level == "red"]
        banners += [Caution("red", f"{option.name}: {each.text}", each.action) for each in worst]
        if option.policy and (remark := registry.find(option.policy).remark_on(dict(option.params), scenario)):
            banners.append(Caution("orange", f"{option.name}: {remark}"))
    if common is not None:
        completed = {option.name: int(option.draws[0].get("completed") or 0) for option in options}
        spans = {option.name: option.draws[0].get("makespan") for option in options}
        banners += comparison_cautions(completed, common, spans)
    return sorted(banners, key=lambda guard: ORDER[guard.level])
