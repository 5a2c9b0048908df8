"""Guard rails: what a reader must know before trusting a number, with the number and a way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dlsched.domain.scenario import Scenario
from dlsched.wording.counted import counted_of, room_words
from dlsched.wording.formats import Number, amount, count, duration, number, share
from dlsched.wording.resources import comes_at_once, room_of, scarcest

Level = Literal["red", "orange", "info"]
ORDER: dict[Level, int] = {"red": 0, "orange": 1, "info": 2}
UNEQUAL_WINDOWS = 1.05
"""Total costs of runs whose lengths differ by more than this factor cannot be compared."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A banner: red = do not use, orange = read with care, info = good to know; ``action`` is the way out."""

    level: Level
    text: str
    action: str = ""


def cautions(
    scenario: Scenario,
    metrics: Mapping[str, Number] | None = None,
    *,
    load: float | None = None,
    never_fit: int = 0,
    widest: float = 0.0,
    left_out: int = 0,
    audit: Sequence[str] = (),
    remark: str = "",
) -> list[Caution]:
    """Return the guard rails of a scenario, or of one policy's result on it; worst first.

    Parameters
    ----------
    metrics
        The numbers of the run; None before a run.
    load
        GPU time asked per time over GPU time possible, as import_report.offered_load; above 1 the queue only grows.
    never_fit, widest
        Jobs that can never fit, and what the widest of them asks for of the counted resource: GPUs, cores.
    left_out
        Jobs dropped because they can never fit.
    audit
        What the audit found; empty = clean.
    remark
        What the policy says of itself on this scenario.
    """
    found = [*_scenario_cautions(scenario, load, never_fit, widest), *_audit_cautions(audit)]
    if remark:
        found.append(Caution("orange", remark))
    if left_out:
        found.append(
            Caution("orange", f"{_jobs(left_out)} too large for the cluster {_were(left_out)} left out of this run.",
                  counted_of(scenario).say("Add a node type that holds them, or cap their GPUs"))
        )  # fmt: skip
    if metrics is not None:
        found += _unfinished_cautions(metrics)
    return sorted(found, key=lambda guard: ORDER[guard.level])


def comparison_cautions(
    completed: Mapping[str, int], common: int, makespan_s: Mapping[str, Number] | None = None
) -> list[Caution]:
    """Return the guard rails of a comparison.

    ``completed`` jobs by run, ``common`` jobs that every run completed, makespan by run.
    """
    found = []
    if any(done != common for done in completed.values()):
        counts = ", ".join(f"{name} {count(done)}" for name, done in completed.items())
        found.append(
            Caution("orange", f"The runs completed different jobs ({counts}), so their means do not compare.",
                  f"Compare only the {count(common)} jobs that all runs completed")
        )  # fmt: skip
    spans = [span for span in (makespan_s or {}).values() if span]
    if spans and max(spans) > UNEQUAL_WINDOWS * min(spans):
        lasts = f"The runs last from {duration(min(spans))} to {duration(max(spans))}"
        text = f"{lasts}, so their total costs cannot be compared."
        found.append(Caution("info", text, "Compare the cost per month"))
    return found


def overload_cautions(
    load: float | None, scenario: Scenario, where: str = "", action: str = "Add nodes, or find the size that fits"
) -> list[Caution]:
    """Return the banner of an overloaded cluster; ``where``: which cluster it is about.

    ``load`` as :func:`cautions`. Where another resource is scarcer than the one that counts, the banner is about that.
    """
    if load is None:
        return []
    scarce = None if scenario.workload.has_servers or comes_at_once(scenario) else scarcest(scenario)
    room = room_words(scenario.cluster, counted_of(scenario)) or "the cluster"
    if scarce is not None:
        load, room = scarce[1], room_of(scenario, scarce[0])
    if not load > 1:
        return []
    who = f"{where}, jobs" if where else "Jobs"
    text = (
        f"{who} ask for {share(load)} of what {room} can do: the queue grows until the trace ends, so waits "
        "depend more on the length of the trace than on the policy."
    )
    return [Caution("orange", text, action)]


# ---- of any answer -----------------------------------------------------------------------------------


def audit_words(audit: Sequence[str]) -> str:
    """Return what the audit found of one run or answer; at least one violation."""
    return f"The audit found {amount(len(audit), 'violation')}. First: {audit[0]}."


def violation_words(found: Sequence[tuple[str, str]], noun: str = "run") -> str:
    """Return what the audit found, as pairs of where and what, one for each run (``noun``) with a violation."""
    where, what = found[0]
    return f"The audit found violations in {amount(len(found), noun)}. First, {where}: {what}."


def violation_cautions(found: Sequence[tuple[str, str]], noun: str = "run") -> list[Caution]:
    """Return the banner of an answer that rests on runs with violations; see :func:`violation_words`."""
    return [Caution("red", violation_words(found, noun), "Do not use this answer")] if found else []


def origin_cautions(scenario_name: str, *, stale: bool, elsewhere: bool) -> list[Caution]:
    """Return the banners of an answer that other code made, or about a scenario that is not in this store."""
    found = []
    if elsewhere:
        found.append(Caution("info", f"This answer is about the scenario {scenario_name}, which is not in this store."))
    if stale:
        found.append(Caution("info", "Computed by another version of this program.", "Run it again to be sure"))
    return found


# ---- of a scenario and a run -------------------------------------------------------------------------


def _scenario_cautions(scenario: Scenario, load: float | None, never_fit: int, widest: float) -> list[Caution]:
    cluster = scenario.cluster
    found = overload_cautions(load, scenario)
    if never_fit:
        counted = counted_of(scenario)
        size = f"; the largest asks for {number(widest)} {counted.many}" if widest else ""
        found.append(Caution("orange", f"{_jobs(never_fit)} can never fit the cluster{size}.",
                             counted.say("Drop them, cap their GPUs, or add a node type")))  # fmt: skip
    if any(vm.usd_per_h is None for vm in cluster.vm_types):
        found.append(Caution("info", "Not every machine has a price: costs are unknown, not $0.", "Set prices"))
    return found


def _audit_cautions(audit: Sequence[str]) -> list[Caution]:
    if not audit:
        return []
    return [Caution("red", audit_words(audit), "Do not use this run; it cannot enter a report")]


def _unfinished_cautions(metrics: Mapping[str, Number]) -> list[Caution]:
    unfinished, jobs = int(metrics.get("unfinished") or 0), int(metrics.get("jobs") or 0)
    if not unfinished:
        return []
    left = f"{count(unfinished)} of {_jobs(jobs)} {_were(unfinished)} not done at the end of the run"
    if metrics.get("stalled"):
        text = f"The policy stopped starting jobs: nothing ran, nothing was due to happen, and {left}."
        action = (
            "See on Run details why they wait: a job that is larger than a limit of its user, account or QOS never "
            "starts. Else use another policy, or check that the jobs fit the cluster"
        )
        return [Caution("red", text, action)]
    return [Caution("orange", f"{left}; mean times are over the others.", "Run longer, or add nodes")]


def _jobs(number_of: int) -> str:
    return amount(number_of, "job")


def _were(number_of: int) -> str:
    return "was" if number_of == 1 else "were"
