"""The conformance suite: what every policy must hold, and the report of a policy that was put through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.plugins.loading import is_reference, told
from dlsched.policies import registry
from dlsched.testing import cases as of
from dlsched.testing import judges
from dlsched.testing.cases import Case, Cases
from dlsched.testing.shrinking import described, smallest
from dlsched.testing.subject import Subject
from dlsched.wording.formats import amount

Judge = Callable[[Subject, Scenario], str]
SEEDS = tuple(range(5))


class PolicyCheckFailed(AssertionError):
    """A policy does not hold what every policy must; ``report`` has all that was found."""

    def __init__(self, report: PolicyReport) -> None:
        self.report = report
        super().__init__(f"\n{report}")


@dataclass(frozen=True)
class Check:
    """A part of the suite.

    ``says``: what holds, as the report says it. ``judge`` returns "" or what is wrong: with a policy in a scenario of
    ``cases``, or with its specification alone where there are no cases. ``looks_ahead``: a clairvoyant policy, which
    says that it looks ahead, is not put to it. ``hint``: what to do about a failure.
    """

    key: str
    says: str
    judge: Judge | Callable[[PolicySpec], str]
    cases: Cases | None = None
    clairvoyant: bool = True
    hint: str = ""


CHECKS: tuple[Check, ...] = (
    Check("words", "has a label and a summary", judges.words_are_there),
    Check("parameters", "parameters are described and checked", judges.parameters_are_checked),
    Check("needs", "what it needs is asked of a scenario", judges.needs_are_respected),
    Check("ends", "every job ends, and the audit is clean", judges.ends_well, of.with_features),
    Check("drawn", "the same in random scenarios", judges.ends_well, of.drawn),
    Check("failures", "the same while nodes fail, arrive and are serviced", judges.ends_well, of.failures),
    Check("placement", "the same under every placement rule", judges.ends_well, of.placements),
    Check("ties", "the same for jobs of one instant, and for one job", judges.ends_well, of.few_jobs),
    Check("nodes", "the same with partitions, GPU types, shared GPUs, CPUs and memory", judges.ends_well,
          of.unequal_nodes),
    Check("shared-partitions", "the same with partitions that share nodes", judges.ends_well, of.shared_partitions),
    Check("rented", "the same on rented machines", judges.ends_well, of.rented,
          hint="A policy that opens no machines says so: needs=frozenset({Need.FIXED_NODES}) in its PolicySpec."),
    Check("come-and-go", "the same while nodes are rented as jobs need them", judges.ends_well, of.come_and_go,
          hint="A policy that needs nodes which stay says so: needs=frozenset({Need.ALWAYS_THERE}) in its PolicySpec."),
    Check("time-tables", "the same with run times by GPU count", judges.ends_well, of.time_tables),
    Check("servers", "the same for jobs with parameter servers", judges.ends_well, of.with_servers),
    Check("bare", "runs on jobs that have only what it needs", judges.bare, of.plain),
    Check("no-look-ahead", "later jobs do not change what it did before", judges.no_look_ahead,
          of.plain_and_everything, clairvoyant=False),
    Check("beliefs", "acts on believed run times, not on true ones", judges.sees_only_beliefs, of.plain_and_few,
          clairvoyant=False),
    Check("same-seed", "the same seed gives the same run", judges.same_seed_same_log, of.everything),
    Check("list-order", "the order of the list of jobs does not matter", judges.list_order_does_not_matter,
          of.everything),
    Check("partition-names", "other names of the same partitions do not matter", judges.names_do_not_matter,
          of.own_partitions),
    Check("state", "does not change the state that it is shown", judges.state_stays, of.plain_and_everything),
    Check("reasons", "reasons of waits make sense", judges.reasons_make_sense, of.plain),
    Check("compiled", "a compiled loop that stands in for it gives the same run", judges.loop_equals_policy, of.plain),
)  # fmt: skip
"""All checks, in the order of the report."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a check: passed in ``num_cases`` scenarios, failed because of ``why``, or skipped.

    ``case``: name of the scenario that failed; ``smallest``: the smallest one found in which the check fails too.
    """

    check: str
    says: str
    status: Literal["passed", "failed", "skipped"]
    num_cases: int = 0
    why: str = ""
    case: str = ""
    smallest: Scenario | None = None
    hint: str = ""

    def __str__(self) -> str:
        cases = f" ({amount(self.num_cases, 'scenario')})" if self.num_cases and self.status == "passed" else ""
        lines = [f"{self.status:<8}{self.says}{cases}"]
        if self.why:
            lines.append(f"        {self.why}" + (f" [scenario: {self.case}]" if self.case else ""))
        if self.smallest is not None:
            lines += ["        smallest scenario found in which it fails:"]
            lines += [f"          {line}" for line in described(self.smallest).splitlines()]
        if self.hint:
            lines.append(f"        {self.hint}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class PolicyReport:
    """What the suite found of a policy; ``str`` of it is for reading."""

    policy: str
    outcomes: tuple[Outcome, ...]

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The checks that failed."""
        return tuple(one for one in self.outcomes if one.status == "failed")

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def raise_for_failures(self) -> PolicyReport:
        """Return the report; raise PolicyCheckFailed, an AssertionError, if a check failed."""
        if self.failures:
            raise PolicyCheckFailed(self)
        return self

    def __str__(self) -> str:
        found = Counter(one.status for one in self.outcomes)
        words = ", ".join(f"{found[status]} {status}" for status in ("passed", "failed", "skipped") if found[status])
        lines = [line for one in self.outcomes for line in str(one).splitlines()]
        return "\n  ".join([f"Policy {self.policy}: {words}", *lines])


def check_policy(
    policy: str | PolicySpec | object,
    *,
    params: Mapping[str, Any] | None = None,
    seeds: Iterable[int] = SEEDS,
    scenarios: Iterable[Scenario] | Mapping[str, Scenario] | None = None,
    strict: bool = False,
) -> PolicyReport:
    """Return what the conformance suite finds of a policy.

    Parameters
    ----------
    policy
        A key, ``module:NAME``, a PolicySpec, or an object or class with ``plan(state)``.
    params
        Parameters that differ from their defaults.
    seeds
        One random scenario is drawn for each.
    scenarios
        Your own in place of ours, by name or in a list. Large ones take long: most checks run each twice.
    strict
        Raise PolicyCheckFailed if a check fails, in place of returning the report.

    Raises
    ------
    InputError
        If this is no policy, or a parameter is bad.
    """
    spec = registry.load(policy) if isinstance(policy, str) and is_reference(policy) else registry.given(policy)
    spec.parse(dict(params or {}))
    subject, drawn = Subject(spec, dict(params or {})), tuple(seeds)
    own = None if scenarios is None else _named(scenarios)
    outcomes = [run_check(subject, check, drawn, own) for check in CHECKS if own is None or check.key not in _OURS_ONLY]
    if all(one.status != "passed" for one in outcomes if one.num_cases):
        outcomes.append(_nothing_ran(outcomes))
    report = PolicyReport(spec.key, tuple(outcomes))
    return report.raise_for_failures() if strict else report


_OURS_ONLY = {
    *("drawn", "placement", "nodes", "shared-partitions", "rented", "time-tables", "servers", "failures", "ties"),
    "partition-names",
}
"""Checks that differ from another one only in their scenarios, or need one of a certain kind."""


def _named(scenarios: Iterable[Scenario] | Mapping[str, Scenario]) -> list[Case]:
    if isinstance(scenarios, Mapping):
        return [Case(name, given) for name, given in scenarios.items()]
    return [Case(given.name or f"scenario {number}", given) for number, given in enumerate(scenarios, 1)]


def _nothing_ran(outcomes: list[Outcome]) -> Outcome:
    lacking = next((one.why for one in outcomes if one.status == "skipped"), "")
    why = f"no scenario of the suite can be run ({lacking}): give some in scenarios="
    return Outcome("any", "runs at least one scenario", "failed", why=why)


def run_check(subject: Subject, check: Check, seeds: tuple[int, ...] = SEEDS, own: list[Case] | None = None) -> Outcome:
    """Return the outcome of one check; ``own`` replaces its scenarios."""
    if check.cases is None:
        why = check.judge(subject.spec)  # type: ignore[call-arg, arg-type]
        return Outcome(check.key, check.says, "failed" if why else "passed", why=why)
    if subject.spec.clairvoyant and not check.clairvoyant:
        return Outcome(check.key, check.says, "skipped", why="it looks ahead by design, and says so")
    num_cases, lacking = 0, "no such scenario suits it"
    for case in check.cases(subject.spec, seeds) if own is None else own:
        if lacks := subject.lacks(case.scenario):
            lacking = f"needs {lacks}"
            continue
        num_cases += 1
        under = replace(subject, params={**case.params, **subject.params})
        if why := _verdict(check, under, case.scenario):
            found = smallest(lambda given, under=under: bool(_verdict(check, under, given)), case.scenario)  # type: ignore[misc]
            why = _verdict(check, under, found) or why
            return Outcome(check.key, check.says, "failed", num_cases, why, case.name, found, check.hint)
    if not num_cases:
        return Outcome(check.key, check.says, "skipped", why=lacking)
    return Outcome(check.key, check.says, "passed", num_cases)


def _verdict(check: Check, subject: Subject, scenario: Scenario) -> str:
    """Return what the judge says; what the run raises is a verdict too, but for a scenario that cannot be run."""
    if subject.lacks(scenario):
        raise InputError(f"policy {subject.spec.key}", f"needs {subject.lacks(scenario)}")
    try:
        return check.judge(subject, scenario)  # type: ignore[call-arg, arg-type]
    except InputError:
        raise
    except DlschedError as error:
        return error.clause
    except Exception as error:  # what the code of others may raise
        return f"raised {told(error)}"
