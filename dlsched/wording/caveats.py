"""Caveats: the premises that must stand beside a headline, on every page, in the memo and on the command line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from dlsched.domain.assumptions import Assumption
from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.wording.assumptions import FILLED_IN, Premise
from dlsched.wording.certainty import FEWEST_DAYS
from dlsched.wording.formats import amount, capital, listed

Kind = Literal[
    "told-the-future", "true-run-times", "example-data", "generated", "made-up-cluster", "made-up-due-dates",
    "made-up-prices", "made-up-lateness-costs", "made-up-priorities", "made-up-users", "made-up-time-limits",
    "calibration", "these-days-only", "reservations-ignored", "plug-in",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Worst first."""
LONGEST = 45


@dataclass(frozen=True, slots=True)
class Caveat(Premise):
    """A premise without which a headline misleads: its short text is read together with the headline.

    ``is_bad``: it says that the numbers are not to be trusted, so it comes first; ``is_mild``: that they may be.
    ``lead``: the words of a link to where something can be done about it, "" without one.
    """

    kind: Kind = field(kw_only=True)
    is_bad: bool = field(default=False, kw_only=True)
    is_mild: bool = field(default=False, kw_only=True)
    lead: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class _MadeUp:
    """What is said where a rule filled something, and when it matters.

    To metrics with such a key, to a need, or to policies that use run times.
    """

    kind: Kind
    text: str
    metrics: tuple[str, ...]
    need: Need | None
    of_run_times: bool = False


_MADE_UP = {
    "due-dates": _MadeUp("made-up-due-dates", "made-up due dates", ("late_", "tardiness", "total_cost"), Need.DUE),
    "lateness-costs": _MadeUp(
        "made-up-lateness-costs", "made-up costs of being late", ("tardiness_cost", "total_cost"), Need.WEIGHT
    ),
    "example-price": _MadeUp("made-up-prices", "example prices, not yours", ("cost", "usd"), Need.PRICE),
    "priorities": _MadeUp("made-up-priorities", "made-up priorities", (), Need.PRIORITY),
    "users": _MadeUp("made-up-users", "made-up users", ("users",), Need.USER),
    "time-limits": _MadeUp("made-up-time-limits", "made-up time limits", (), None, of_run_times=True),
}


def caveats_of(
    scenario: Scenario,
    policies: Iterable[PolicySpec],
    *,
    trust: Caveat | None = None,
    resampled: bool = False,
    metrics: Collection[str] | None = None,
) -> tuple[Caveat, ...]:
    """Return what must stand beside a headline about policies on a scenario, worst first.

    Parameters
    ----------
    scenario
        The scenario that the numbers are about, with its changes.
    trust
        What a calibration says of the scenario's record (``studies.calibration.words.trust_caveat``); None if
        there is none.
    resampled
        Whether numbers are also of months reshuffled from days of the trace.
    metrics
        Keys of the metrics that the headline speaks of, None for any: what was made up counts where one of them or a
        policy needs it.
    """
    policies = tuple(dict.fromkeys(policies))
    found = [*_told(scenario, policies), *_origin(scenario), *_made_up(scenario, policies, metrics)]
    if scenario.workload.has_recorded_starts:
        found.append(trust or _NOT_CALIBRATED)
    found += _days(scenario, resampled=resampled)
    found += _reservations(scenario, policies)
    found += _plugins(policies)
    return ordered(found)


def ordered(caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """Return caveats, each once, worst first."""

    def place(one: Caveat) -> tuple[bool, bool, int]:
        return not one.is_bad, one.is_mild, KINDS.index(one.kind)

    return tuple(sorted(dict.fromkeys(caveats), key=place))


def mind_line(texts: Sequence[str]) -> str:
    """Return the line below a sentence: "Note: SJF is told true run times; made-up due dates."; "" without any."""
    return f"Note: {'; '.join(texts)}." if texts else ""


def plain_caveats(caveats: Iterable[Caveat]) -> list[dict[str, str]]:
    """Return caveats in JSON's own types."""
    return [{"kind": one.kind, "text": one.label} for one in caveats]


# ---- the caveats --------------------------------------------------------------------------------------

_NOT_CALIBRATED = Caveat(
    "not compared with the log yet",
    "The log has recorded starts, but no policy was replayed against them: how close the simulation comes to your "
    "cluster is unknown.",
    "Jobs, Trust",
    kind="calibration",
    lead="Compare with the log",
)


def _told(scenario: Scenario, policies: Sequence[PolicySpec]) -> list[Caveat]:
    """Return what policies are told that a real scheduler would not know."""
    found = []
    if ahead := [policy.label for policy in policies if policy.clairvoyant]:
        why = f"{listed(ahead)} {_is_are(ahead)} told jobs before they are submitted: a limit, not an option."
        text = _who(ahead, "told the future")
        found.append(Caveat(text, why, "Run", kind="told-the-future", is_bad=True))
    told = [policy.label for policy in policies if policy.uses_run_times and not policy.clairvoyant]
    if told and scenario.options.estimate_error == 0 and not believes_limits(scenario):
        why = (
            f"{listed(told)} {_is_are(told)} told how long each job will run, which is not known in practice: expect "
            "smaller gains. Try estimates ± 50%."
        )
        found.append(Caveat(_who(told, "told true run times"), why, "Run", kind="true-run-times"))
    return found


def _plugins(policies: Sequence[PolicySpec]) -> list[Caveat]:
    """Return where policies come from that are not part of dlsched."""
    labels_of: dict[str, list[str]] = {}
    for policy in policies:
        labels_of.setdefault(policy.origin, []).append(policy.label)
    why = "It is not part of dlsched. Its runs are audited like all others; what it decides is its author's."
    return [
        Caveat(f"{listed(labels)} from {origin}", why, "Run", kind="plug-in")
        for origin, labels in labels_of.items() if origin
    ]  # fmt: skip


def _reservations(scenario: Scenario, policies: Sequence[PolicySpec]) -> list[Caveat]:
    """Return that policies other than Slurm use nodes which are reserved for the jobs of some users."""
    ignoring = [policy.label for policy in policies if policy.key != "slurm"]
    if scenario.slurm is None or not scenario.slurm.reservations or not ignoring:
        return []
    kept = amount(len(scenario.slurm.reservations), "reservation")
    verb = "ignores" if len(ignoring) == 1 else "ignore"
    why = f"{listed(ignoring)} {verb} the {kept} of your Slurm: only the policy Slurm keeps their nodes for some jobs."
    return [Caveat(f"{kept} ignored", why, "Cluster", kind="reservations-ignored")]


def believes_limits(scenario: Scenario) -> bool:
    """Whether policies believe a time limit, not the run time, of every job."""
    limit_s = scenario.workload.limit_s
    return limit_s is not None and scenario.options.limits != "ignore" and not bool(np.isnan(limit_s).any())


def _who(names: Sequence[str], what: str) -> str:
    """Return "SJF is told true run times"; names that take too much space are counted."""
    text = f"{listed(names)} {_is_are(names)} {what}"
    if len(text) <= LONGEST:
        return text
    return f"{amount(len(names), 'policy', 'policies')} {_is_are(names)} {what}"


def _is_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _origin(scenario: Scenario) -> list[Caveat]:
    """Return where jobs and cluster come from, where they are not the reader's."""
    found = []
    if scenario.data_kind == "example":
        why = "These jobs come with dlsched; they are not yours."
        found.append(Caveat("example data, not yours", why, "Jobs", kind="example-data"))
    if scenario.data_kind == "generated":
        why = f"The jobs are drawn at random from a stated mix (seed {scenario.seed}), not recorded."
        found.append(Caveat("generated data, not recorded", why, "Jobs", kind="generated"))
    if default := next((one for one in scenario.assumptions if one.is_about_default_cluster), None):
        why = f"{default.words}. Describe your own."
        found.append(Caveat("made-up cluster, not yours", why, "Cluster", kind="made-up-cluster"))
    return found


def _made_up(scenario: Scenario, policies: Sequence[PolicySpec], metrics: Collection[str] | None) -> list[Caveat]:
    """Return what a rule filled in and a headline or a policy rests on; without a policy all that was filled in."""
    rules: dict[str, list[Assumption]] = {}
    for one in scenario.assumptions:
        rules.setdefault("example-price" if one.is_example_price else one.kind, []).append(one)
    needs = {need for policy in policies for need in policy.needs}
    found = []
    for filled, about in _MADE_UP.items():
        told = about.metrics if metrics is None else [p for p in about.metrics if any(p in key for key in metrics)]
        used = about.of_run_times and any(policy.uses_run_times for policy in policies)
        matters = bool(told) or about.need in needs or used or not policies
        if matters and filled in rules:
            why = f"{FILLED_IN} {capital(listed([one.words for one in rules[filled]]))}."
            where = "Cluster" if about.need is Need.PRICE else "Jobs"
            found.append(Caveat(about.text, why, where, kind=about.kind))
    return found


def _days(scenario: Scenario, *, resampled: bool) -> list[Caveat]:
    """Return which days a recorded trace covers; jobs that are drawn, or that all come at once, cover none."""
    jobs = scenario.workload
    if scenario.generator is not None or scenario.data_kind == "generated" or jobs.all_at_once or not len(jobs):
        return []
    days = amount(jobs.days, "day")
    if jobs.days < FEWEST_DAYS:
        why = f"{days} of jobs: what they show may be chance. Only a longer trace says anything about other months."
        return [Caveat(f"{days}: too few for other months", why, "Jobs", kind="these-days-only")]
    if resampled:
        text = f"reshuffled from these {days} only"
        why = "Simulated months mix whole days of this trace. Days unlike any of them do not occur."
    else:
        text, why = (
            f"these {days} only",
            "The numbers are about the recorded jobs as they came, not a forecast of other months.",
        )
    return [Caveat(text, why, "Jobs", kind="these-days-only", is_mild=True)]
