"""Which calibration of a scenario there is, the computation of one, and what other pages may say of it."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.domain.scenario import Scenario
from dlsched.runner.background import StudyTask
from dlsched.studies.calibration import STUDY, CalibrationSpec, check, read_spec
from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.calibration.words import trust_chip
from dlsched.studies.estimate import estimate_s
from dlsched.ui.answers import Answers, Shown
from dlsched.ui.frame import session
from dlsched.wording.assumptions import Premise
from dlsched.wording.formats import amount, duration

KIND = "calibration"
CALIBRATIONS = Answers(STUDY)
WORK = CALIBRATIONS.work
Known = Shown[CalibrationSpec, Calibration]


def newest(scenario_hash: str) -> Known | None:
    """Return the newest stored calibration of a scenario; None where there is none."""
    return CALIBRATIONS.newest(scenario_hash)


def known_trust(scenario_hash: str) -> Premise | None:
    """Return how far to trust what-ifs about a scenario: "replay explains 82% of waits"; None where nobody asked."""
    found = newest(scenario_hash)
    return None if found is None else trust_chip(found.answer, stale=found.stale)


def question_of(scenario: Scenario, policies: Sequence[str]) -> CalibrationSpec:
    """Return the question; InputError where it cannot be answered."""
    spec = read_spec({"scenario": scenario.content_hash, "policies": list(policies)})
    check(spec, scenario)
    return spec


def start(scenario: Scenario, policies: Sequence[str]) -> None:
    """Ask the background runner for a calibration; InputError where it cannot be answered."""
    spec = question_of(scenario, policies)
    name = f"Calibration, {amount(len(policies), 'policy', 'policies')}"
    WORK.begin([session.runner().ask(StudyTask(KIND, spec.model_dump(mode="json"), name, scenario))])


def button_words(scenario: Scenario, policies: Sequence[str]) -> str:
    """Return what the button says: Replay 4 policies, about 12 s."""
    by_policy = [estimate_s(scenario, policy, session.store()) for policy in policies]
    about_s = sum(one.seconds for one in by_policy)
    rounded_s = 60 * round(about_s / 60) if about_s >= 90 else max(1, round(about_s))
    return f"Replay {amount(len(policies), 'policy', 'policies')}, about {duration(rounded_s)}"
