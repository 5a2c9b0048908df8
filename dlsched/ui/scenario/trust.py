"""How far a simulation of a scenario can be trusted: what a stored calibration says of it, among its other caveats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.studies.calibration import STUDY
from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.calibration.stored import trust_of
from dlsched.ui.answers import Answers
from dlsched.ui.frame import session
from dlsched.ui.scenario import price_lists
from dlsched.wording.assumptions import Premise, assumptions
from dlsched.wording.caveats import Caveat, caveats_of

CALIBRATIONS = Answers(STUDY)


def known_trust(scenario: Scenario, policy: str = "") -> Caveat | None:
    """Return what a stored calibration says of a scenario under the policy of today; None if none was made."""
    newest: dict[str, tuple[Calibration, bool]] = {}
    for shown in CALIBRATIONS.readable() if scenario.workload.has_recorded_starts else ():
        newest.setdefault(shown.spec.scenario, (shown.answer, shown.stale))
    return trust_of(scenario, policy, newest, session.store().scenario_info, session.load_scenario)


def caveats(
    scenario: Scenario,
    policies: Iterable[str],
    *,
    about: Scenario | None = None,
    resampled: bool = False,
    metrics: Collection[str] | None = None,
) -> tuple[Caveat, ...]:
    """Return what stands beside a headline about policies on a scenario; ``about``: the stored one it is a change of.

    The first policy is that of today, of which a calibration speaks. The rest is as for
    :func:`dlsched.wording.caveats.caveats_of`.
    """
    policies = tuple(policies)
    trust = known_trust(about or scenario, policies[0] if policies else "")
    found = caveats_of(scenario, map(find, policies), trust=trust, resampled=resampled, metrics=metrics)
    if about is None or about.generator is None:
        return found
    # A change of drawn jobs makes them given ones, which does not make them recorded.
    return tuple(one for one in found if one.kind != "these-days-only")


def premises(scenario: Scenario, metrics: Sequence[Mapping[str, object]] = ()) -> list[Premise]:
    """Return what is assumed beside the caveats; ``metrics``: of runs, which say whether jobs were stopped."""
    stops_jobs = any(values.get("preemptions") or values.get("resizes") for values in metrics)
    return assumptions(scenario, stops_jobs=stops_jobs, today=price_lists.today())
