"""How far a simulation of a scenario can be trusted: what a stored calibration says of it, among its other caveats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.studies.calibration import STUDY, CalibrationSpec
from dlsched.studies.calibration.answer import Calibration, has_same_record
from dlsched.studies.calibration.words import trust_caveat
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.frame import session
from dlsched.ui.scenario import price_lists
from dlsched.wording.assumptions import Premise, assumptions
from dlsched.wording.caveats import Caveat, caveats_of

CALIBRATIONS = Answers(STUDY)


def known_trust(scenario: Scenario) -> Caveat | None:
    """Return how far a replay explains what was recorded of a scenario; None if no replay was made.

    The newest answer about the scenario counts, else about the nearest earlier version with the same recorded jobs: a
    change of cluster, rules, prices or due dates leaves the record as it is.
    """
    if not scenario.workload.has_recorded_starts:
        return None
    newest: dict[str, Shown[CalibrationSpec, Calibration]] = {}
    for shown in CALIBRATIONS.readable():
        newest.setdefault(shown.spec.scenario, shown)
    if (own := newest.get(scenario.content_hash)) is not None:
        return trust_caveat(own.answer, stale=own.stale)
    version = session.store().scenario_info(scenario.content_hash) if newest else None
    while version is not None and version.based_on:
        version = session.store().scenario_info(version.based_on)
        if version is None or (found := newest.get(version.scenario_hash)) is None:
            continue
        if has_same_record(session.load_scenario(version.scenario_hash).workload, scenario.workload):
            return trust_caveat(found.answer, stale=found.stale, of=f"version {version.version}")
    return None


def caveats(
    scenario: Scenario,
    policies: Iterable[str],
    *,
    about: Scenario | None = None,
    resampled: bool = False,
    metrics: Collection[str] | None = None,
) -> tuple[Caveat, ...]:
    """Return what stands beside a headline about policies on a scenario; ``about``: the stored one it is a change of.

    The rest is as for :func:`dlsched.wording.caveats.caveats_of`.
    """
    trust = known_trust(about or scenario)
    found = caveats_of(scenario, map(find, policies), trust=trust, resampled=resampled, metrics=metrics)
    if about is None or about.generator is None:
        return found
    # A change of drawn jobs makes them given ones, which does not make them recorded.
    return tuple(one for one in found if one.kind != "these-days-only")


def premises(scenario: Scenario, metrics: Sequence[Mapping[str, object]] = ()) -> list[Premise]:
    """Return what is assumed beside the caveats; ``metrics``: of runs, which say whether jobs were stopped."""
    stops_jobs = any(values.get("preemptions") or values.get("resizes") for values in metrics)
    return assumptions(scenario, stops_jobs=stops_jobs, today=price_lists.today())
