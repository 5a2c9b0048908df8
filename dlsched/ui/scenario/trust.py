"""How far a simulation of a scenario can be trusted: what a stored fit or calibration says, among its other caveats."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find_stored
from dlsched.studies import calibration, fitting
from dlsched.studies.stored_trust import sayings, trust_of
from dlsched.ui.answers import Answers
from dlsched.ui.frame import session
from dlsched.ui.scenario import price_lists
from dlsched.wording.assumptions import Premise, assumptions
from dlsched.wording.caveats import Caveat, caveats_of

CALIBRATIONS = Answers(calibration.STUDY)
FITS = Answers(fitting.STUDY)


def known_trust(scenario: Scenario, policy: str = "") -> Caveat | None:
    """Return what a stored fit or calibration says of a scenario under the policy of today; None if none was made."""
    if not scenario.workload.has_recorded_starts:
        return None
    fits = ((one.spec.scenario, one.answer, one.stale) for one in FITS.readable())
    calibrations = ((one.spec.scenario, one.answer, one.stale) for one in CALIBRATIONS.readable())
    said = sayings(chain(fits, calibrations), policy)
    return trust_of(scenario, said, session.store().scenario_info, session.load_scenario)


def caveats(
    scenario: Scenario,
    policies: Iterable[str],
    *,
    about: Scenario | None = None,
    resampled: bool = False,
    metrics: Collection[str] | None = None,
) -> tuple[Caveat, ...]:
    """Return what stands beside a headline about policies on a scenario; ``about``: the stored one it is a change of.

    The first policy is that of today, of which a fit or calibration speaks. The rest is as for
    :func:`dlsched.wording.caveats.caveats_of`.
    """
    policies = tuple(policies)
    trust = known_trust(about or scenario, policies[0] if policies else "")
    found = caveats_of(scenario, map(find_stored, policies), trust=trust, resampled=resampled, metrics=metrics)
    if about is None or about.generator is None:
        return found
    # A change of drawn jobs makes them given ones, which does not make them recorded.
    return tuple(one for one in found if one.kind != "these-days-only")


def premises(scenario: Scenario, metrics: Sequence[Mapping[str, object]] = ()) -> list[Premise]:
    """Return what is assumed beside the caveats; ``metrics``: of runs, which say whether jobs were stopped."""
    stops_jobs = any(values.get("preemptions") or values.get("resizes") for values in metrics)
    return assumptions(scenario, stops_jobs=stops_jobs, today=price_lists.today())
