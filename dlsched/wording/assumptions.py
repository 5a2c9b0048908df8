"""What an answer assumes beside its caveats: a premise for each assumption of a scenario that is not neutral.

What must stand beside a headline is a caveat, see :mod:`dlsched.wording.caveats`; it is not repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from dlsched.domain.assumptions import FILLED, Assumption
from dlsched.domain.cluster import VmType
from dlsched.domain.scenario import Scenario
from dlsched.speed.outside import described
from dlsched.wording.certainty import EXACT
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import amount, duration, money, share
from dlsched.wording.resources import UPDATES_WORDS
from dlsched.wording.settings import VARY_WHY, Value, vary_words
from dlsched.workload.prices.price_list import stale_days

PLACEMENT = {
    "pool": ("placement: one pool", "Jobs are limited by total capacity only, not by nodes: waits come out too short."),
    "best-fit": (
        "placement: best fit",
        "A job goes to the fullest node that fits; large ones take whole empty nodes.",
    ),
    "pack": ("placement: pack", "A job takes as few nodes as possible, fullest first."),
    "spread": ("placement: spread", "A job takes as many nodes as possible, emptiest first."),
}
FILLED_IN = "Missing in your data; filled in by this rule."
OVERSIZE = {"drop": "left out", "cap": "fewer GPUs"}


@dataclass(frozen=True, slots=True)
class Premise:
    """One assumption: short label, why it is there, and the page, or page and part, where it can be changed."""

    label: str
    why: str
    where: str = ""


def assumptions(scenario: Scenario, *, stops_jobs: bool = False, today: date | None = None) -> list[Premise]:
    """Return the premises behind any result of the scenario but its caveats; with ``today`` also that prices are old.

    ``stops_jobs``: jobs were stopped for others or changed their GPU count.
    """
    say = counted_of(scenario).say
    running = [replace(chip, why=say(chip.why)) for chip in _running(scenario, stops_jobs=stops_jobs)]
    groups = (
        _data(scenario),
        _estimates(scenario),
        _prices(scenario, today),
        _machines(scenario),
        running,
        _jobs(scenario),
    )
    return [chip for group in groups for chip in group]


def is_random(scenario: Scenario) -> bool:
    """Whether another run seed gives another result."""
    options, evictions = scenario.options, scenario.cluster.has_evictions
    drawn = (options.estimate_error, options.bug_share, options.cancel_share)
    return scenario.generator is not None or evictions or any(drawn)


def exact_premise() -> Premise:
    """Return what an answer stands on where nothing is random."""
    why = "Nothing is random where given jobs run as they are: one run says all about them, and nothing about others."
    return Premise(EXACT, why)


def draw_premises(vary: Mapping[str, Value], where: str = "") -> list[Premise]:
    """Return what differs between futures, each with how; ``where``: the page that changes it."""
    drawn = "Different in each future, and the same for all options compared."
    named = zip(vary, vary_words(vary), strict=True)
    return [Premise(words, VARY_WHY.get(key, drawn), where) for key, words in named]


def _data(scenario: Scenario) -> list[Premise]:
    rest = [one for one in scenario.assumptions if not is_caveat(one)]
    return [_rule(one, drawn=scenario.generator is not None) for one in rest]


def is_caveat(one: Assumption) -> bool:
    """Whether a caveat tells of it: of a filled column, a made-up cluster or an example price."""
    return one.kind in FILLED or one.is_about_default_cluster or one.is_example_price


def _rule(one: Assumption, *, drawn: bool) -> Premise:
    """Return a rule that filled in what the data did not say; ``drawn`` jobs brought their speed with them."""
    if one.kind == "predicted-times":
        why = "From a regression on profiling rows; the share is its mean error on rows it had not seen."
        return Premise(one.words, why, "Speed-up, Training time")
    if one.kind == "speed-curve":
        why = "This says how much faster a job runs with more GPUs; your data do not."
        return Premise(one.words, why, "Jobs" if drawn else "Speed-up, Throughput")
    if one.kind == "found-cluster":
        return Premise(one.words, "It was read, not entered; change what is wrong.", "Cluster")
    return Premise(one.words, FILLED_IN, "Cluster" if one.is_about_prices else "Jobs")


def _ended_at_limit(scenario: Scenario) -> str:
    """Return when a job is ended, as a part of a sentence: at its limit, after Slurm's OverTimeLimit, or never."""
    jobs, slurm = scenario.workload, scenario.slurm
    partitions = [""] if jobs.partition is None else jobs.partition
    over_s = [0.0] if slurm is None else sorted(set(slurm.over_times_s(partitions)))
    if over_s == [0.0]:
        return "a job that reaches it is ended as failed."
    if over_s == [float("inf")]:
        return "OverTimeLimit is UNLIMITED, so no job is ended."
    if len(over_s) == 1:
        return f"a job that runs {duration(over_s[0])} beyond it is ended as failed (OverTimeLimit)."
    most = "without end" if over_s[-1] == float("inf") else duration(over_s[-1])
    return f"a job is ended as failed when the OverTimeLimit of its partition, up to {most}, is over."


def _estimates(scenario: Scenario) -> list[Premise]:
    options, limit_s = scenario.options, scenario.workload.limit_s
    chips = []
    if options.estimate_error > 0:
        why = "Policies that use run times see each of them off by up to this much."
        chips.append(Premise(f"estimates ± {share(options.estimate_error)}", why, "Run"))
    if limit_s is not None:
        with_limit = f"{share(float(np.isfinite(limit_s).mean()))} of the jobs have one."
        label, why = {
            "believe": ("time limits believed", "Policies take a job's time limit for its run time; it runs as long "
                        "as it did."),
            "kill": ("time limits enforced", "Policies take a job's time limit for its run time; "
                     f"{_ended_at_limit(scenario)}"),
            "ignore": ("time limits ignored", "Policies that use run times see the true ones."),
        }[options.limits]  # fmt: skip
        chips.append(Premise(label, f"{why} {with_limit}", "Run"))
    return chips


def _prices(scenario: Scenario, today: date | None) -> list[Premise]:
    vms = scenario.cluster.vm_types
    priced = [vm for vm in vms if vm.usd_per_h is not None]
    chips = []
    if len(priced) < len(vms):
        missing = ", ".join(vm.name for vm in vms if vm.usd_per_h is None)
        chips.append(Premise("no price set", f"Costs are unknown without a price for {missing}.", "Cluster"))
    if not priced:
        return chips
    if not any(one.is_about_prices for one in scenario.assumptions):
        chips.append(Premise("list prices", "Prices as entered or listed, without discounts of your own.", "Cluster"))
    chips.extend(_stale(scenario, today))
    if scenario.options.billing == "hour":
        chips.append(
            Premise("billing per started hour", "Each stay of a machine is rounded up to the hour.", "Cluster")
        )
    else:
        chips.append(Premise("billing per second", "Machines are paid for to the second.", "Cluster"))
    if scenario.options.rejection_usd > 0:
        label = f"{money(scenario.options.rejection_usd)} per rejected job"
        chips.append(Premise(label, "A planning weight for rejecting a job, not money paid.", "Run"))
    return chips


def _stale(scenario: Scenario, today: date | None) -> list[Premise]:
    days = [one.since for one in scenario.assumptions if one.is_about_prices and one.since is not None]
    age = stale_days(min(days), today) if days and today else 0
    why = f"The oldest price is from {min(days)}: check it against today's list." if age else ""
    return [Premise(f"prices {age:,} days old", why, "Prices")] if age else []


def _machines(scenario: Scenario) -> list[Premise]:
    cluster, options = scenario.cluster, scenario.options
    label, why = PLACEMENT[options.placement]
    chips = [Premise(label, why, "Run")]
    if any(vm.speed != 1 for vm in cluster.vm_types):
        speeds = ", ".join(_speed(vm) for vm in cluster.vm_types)
        chips.append(Premise("machines differ in speed", f"Relative to the recorded GPU: {speeds}.", "Cluster"))
    if pools := [cluster.pools[number] for number in cluster.rented_pools]:
        most = sum(pool.count for pool in pools)
        kinds = " and ".join(dict.fromkeys("on demand" if pool.kind == "on-demand" else "spot" for pool in pools))
        why = f"Rented ({kinds}) when jobs wait, and given back when idle."
        chips.append(Premise(f"up to {amount(most, 'rented node')}", why, "Cluster"))
    failures = sum(absence.cause == "fails" for absence in cluster.absences)
    if failures:
        chips.append(
            Premise(amount(failures, "failure"), "Nodes fail at stated times, unknown to policies.", "Cluster")
        )
    return chips


def _speed(vm: VmType) -> str:
    return f"{vm.name} {vm.speed:g}x"


def _running(scenario: Scenario, *, stops_jobs: bool) -> list[Premise]:
    options, chips = scenario.options, []
    if scenario.speed.kind == "scaling":
        label = f"speed-up {share(scenario.speed.efficiency)} per doubling"
        chips.append(Premise(label, "Each doubling of the GPUs keeps this share of the ideal gain.", "Run"))
    if scenario.speed.kind == "table":
        why = "The run time of a job is looked up by its profile, GPU type and number of GPUs on one node."
        chips.append(Premise("run times by table", why, "Speed-up, Training time"))
    if not scenario.speed.is_ours:
        label = f"speed model {described(scenario.speed)}"
        chips.append(Premise(label, "How fast jobs run is what this plug-in says; it is not part of dlsched.", "Run"))
    if scenario.speed.kind == "parameter-server":
        updates = UPDATES_WORDS[scenario.speed.updates]
        why = "The time of a training step follows from workers, parameter servers and the times of its parts; "
        how = {"async": "each worker steps on its own.", "sync": "all workers step together."}
        where = "Run" if scenario.generator is None else "Jobs"
        chips.append(Premise(f"parameter servers, {updates}", why + how[scenario.speed.updates], where))
    if options.restart_s > 0:
        rule = {
            "pause": "A job makes no progress for this long after every start, move or change of its GPU count.",
            "delayed": "A job keeps its old speed for this long after a start or after GPUs are added.",
        }
        chips.append(Premise(f"restart {duration(options.restart_s)}", rule[options.restart_mode], "Run"))
    elif stops_jobs:
        why = "Jobs that are stopped or change their GPU count lose nothing by it; real restarts take time."
        chips.append(Premise("restarts cost nothing", why, "Run"))
    if options.checkpoint_s > 0:
        label = f"checkpoint every {duration(options.checkpoint_s)}"
        chips.append(Premise(label, "A node failure loses the work since the last checkpoint.", "Run"))
    if options.horizon_s is not None:
        label = f"stopped at {duration(options.horizon_s)}"
        chips.append(Premise(label, "Jobs not done by then are counted as unfinished.", "Run"))
    return chips


def _jobs(scenario: Scenario) -> list[Premise]:
    options, chips = scenario.options, []
    if options.oversize != "refuse":
        words = {"drop": "are left out", "cap": "get the most GPUs that fit, for longer"}
        label = f"jobs that are too large: {OVERSIZE[options.oversize]}"
        chips.append(Premise(label, f"Jobs that can never fit the cluster {words[options.oversize]}.", "Run"))
    if options.bug_share > 0:
        label = f"{share(options.bug_share)} of jobs crash early"
        chips.append(Premise(label, f"A bug ends them within {duration(options.bug_within_s)} of their start.", "Run"))
    if options.cancel_share > 0:
        why = "Their users cancel them up to two run times after submission."
        chips.append(Premise(f"{share(options.cancel_share)} of jobs cancelled", why, "Run"))
    return chips
