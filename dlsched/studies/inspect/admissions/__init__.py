"""Intervals of a stored run of SMD, ESW or Optimus, worked out again, with what the others would do beside it."""

from dlsched.studies.inspect.admissions.answer import Admissions
from dlsched.studies.inspect.admissions.run import run_admissions
from dlsched.studies.inspect.admissions.spec import AdmissionsSpec
from dlsched.studies.inspect.re_execute import check_scenario
from dlsched.studies.study import Study, one_piece

__all__ = ["STUDY", "AdmissionsSpec", "run_admissions"]

REPLAY_S, INTERVAL_S = 2.0, 0.05
"""CPU seconds of coming to an interval, and of one with 200 jobs, with three rules and two admissions, about."""

STUDY = Study(
    kind="admissions",
    label="Admissions",
    page="Run details",
    spec=AdmissionsSpec,
    answer=Admissions,
    check=check_scenario,
    run=one_piece(run_admissions),
    estimate_s=lambda spec, scenario=None: REPLAY_S + INTERVAL_S * (spec.last - spec.first + 1),
    words=lambda answer: answer.words,
    sources=("studies/inspect/admissions",),
)
