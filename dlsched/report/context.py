"""What stands around the numbers of a memo: what they take for granted, and what to know before trusting them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from dlsched.domain.scenario import Scenario
from dlsched.metrics.chips import Chip, assumptions
from dlsched.metrics.guards import ORDER, Guard, comparison_guards, guards
from dlsched.policies import registry
from dlsched.report.options import Option
from dlsched.workload.doctor import in_time, load_of


def taken_for_granted(scenario: Scenario, options: Sequence[Option], today: date) -> list[Chip]:
    """Return the assumptions of the scenario and of the policies looked at."""
    specs = [registry.find(option.policy) for option in options if option.policy]
    return assumptions(
        scenario,
        uses_run_times=any(spec.uses_run_times for spec in specs),
        clairvoyant=any(spec.clairvoyant for spec in specs),
        stops_jobs=any(option.mean("preemptions") or option.mean("resizes") for option in options),
        today=today,
    )


def cautions(scenario: Scenario, options: Sequence[Option], common: int | None = None) -> list[Guard]:
    """Return what to know before trusting the numbers, worst first.

    ``common``: jobs that all options completed in the first draw; None where that is not known.
    """
    found = guards(scenario, load=load_of(in_time(scenario), scenario.cluster))
    for option in options:
        stalled = guards(scenario, option.draws[0]) if option.mean("stalled") else []
        found += [Guard("red", f"{option.name}: {each.text}", each.action) for each in stalled if each.level == "red"]
        if option.policy and (remark := registry.find(option.policy).remark_on(dict(option.params), scenario)):
            found.append(Guard("orange", f"{option.name}: {remark}"))
    if common is not None:
        completed = {option.name: int(option.draws[0].get("completed") or 0) for option in options}
        spans = {option.name: option.draws[0].get("makespan") for option in options}
        found += comparison_guards(completed, common, spans)
    return sorted(found, key=lambda guard: ORDER[guard.level])
