"""What stands around the numbers of a memo: what they take for granted, and what to know before trusting them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.report.options import Alternative
from dlsched.wording.assumptions import Assumption, assumptions
from dlsched.wording.cautions import ORDER, Caution, cautions, comparison_cautions
from dlsched.workload.import_report import in_seconds, offered_load


def taken_for_granted(scenario: Scenario, options: Sequence[Alternative], today: date) -> list[Assumption]:
    """Return the assumptions of the scenario and of the policies looked at."""
    specs = [registry.find(option.policy) for option in options if option.policy]
    return assumptions(
        scenario,
        uses_run_times=any(spec.uses_run_times for spec in specs),
        clairvoyant=any(spec.clairvoyant for spec in specs),
        stops_jobs=any(option.mean("preemptions") or option.mean("resizes") for option in options),
        today=today,
    )


def memo_cautions(scenario: Scenario, options: Sequence[Alternative], common: int | None = None) -> list[Caution]:
    """Return what to know before trusting the numbers, worst first.

    ``common``: jobs that all options completed in the first draw; None where that is not known.
    """
    found = cautions(scenario, load=offered_load(in_seconds(scenario), scenario.cluster))
    for option in options:
        stalled = cautions(scenario, option.draws[0]) if option.mean("stalled") else []
        found += [Caution("red", f"{option.name}: {each.text}", each.action) for each in stalled if each.level == "red"]
        if option.policy and (remark := registry.find(option.policy).remark_on(dict(option.params), scenario)):
            found.append(Caution("orange", f"{option.name}: {remark}"))
    if common is not None:
        completed = {option.name: int(option.draws[0].get("completed") or 0) for option in options}
        spans = {option.name: option.draws[0].get("makespan") for option in options}
        found += comparison_cautions(completed, common, spans)
    return sorted(found, key=lambda guard: ORDER[guard.level])
