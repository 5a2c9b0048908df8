"""Stored calibrations: which one speaks for a scenario, its own or that of an earlier version with the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.store.scenarios import ScenarioInfo
from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.calibration.record import has_same_record
from dlsched.studies.calibration.words import trust_caveat
from dlsched.wording.caveats import Caveat

if TYPE_CHECKING:
    from dlsched.store import Store

MOST_LOOKED_AT = 20
"""Newest answers among which one about the scenario is looked for."""


def trust_of(
    scenario: Scenario,
    policy: str,
    newest: Mapping[str, tuple[Calibration, bool]],
    info_of: Callable[[str], ScenarioInfo | None],
    load: Callable[[str], Scenario],
) -> Caveat | None:
    """Return how well a replay explains what was recorded of a scenario; None if no replay was made.

    The newest answer about the scenario counts, else about the nearest earlier version with the same recorded jobs: a
    change of cluster, rules, prices or due dates leaves the record as it is.

    Parameters
    ----------
    policy
        That of today, or the baseline of a comparison.
    newest
        The newest answer by the hash of its scenario, and whether it is by other code than today's.
    info_of, load
        What a store knows of a scenario, and the scenario, by hash.
    """
    if not scenario.workload.has_recorded_starts or not newest:
        return None
    if (own := newest.get(scenario.content_hash)) is not None:
        return trust_caveat(own[0], policy, stale=own[1])
    version = info_of(scenario.content_hash)
    while version is not None and version.based_on:
        version = info_of(version.based_on)
        if version is None or (found := newest.get(version.scenario_hash)) is None:
            continue
        if has_same_record(load(version.scenario_hash).workload, scenario.workload):
            return trust_caveat(found[0], policy, stale=found[1], of=f"version {version.version}")
    return None


def trust_in(store: Store, scenario: Scenario, policy: str) -> Caveat | None:
    """Return :func:`trust_of` a scenario from the newest answers in a store; versions need not be kept there.

    So any scenario with the same recorded jobs counts, whatever cluster or rules were typed since.
    """
    from dlsched.studies.calibration import STUDY

    newest: dict[str, tuple[Calibration, bool]] = {}
    for one in store.list_experiments(STUDY.kind)[:MOST_LOOKED_AT]:
        with suppress(DlschedError):  # of an older version of this program, with other fields
            record = store.get_experiment(one.experiment_id)
            spec, answer = STUDY.read_record(record)
            newest.setdefault(spec.scenario, (answer, record.code_version != STUDY.version))
    if (found := trust_of(scenario, policy, newest, store.scenario_info, store.get_scenario)) is not None:
        return found
    for about, (answer, stale) in newest.items():
        known = store.scenario_info(about) is not None
        if known and has_same_record(store.get_scenario(about).workload, scenario.workload):
            return trust_caveat(answer, policy, stale=stale, of="another version")
    return None
