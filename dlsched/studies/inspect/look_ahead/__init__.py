"""Decisions of a stored ModelArts run, worked out again: the plan, and what the greedy allocator would do."""

from dlsched.studies.inspect.look_ahead.answer import LookAheads
from dlsched.studies.inspect.look_ahead.run import run_look_ahead
from dlsched.studies.inspect.look_ahead.spec import LookAheadSpec, StoredRun, StoredWidths
from dlsched.studies.inspect.re_execute import check_scenario
from dlsched.studies.study import Study, one_piece

__all__ = ["STUDY", "LookAheadSpec", "StoredRun", "StoredWidths", "run_look_ahead"]

REPLAY_S, DECISION_S = 2.0, 0.15
"""CPU seconds of coming to a decision, and of one with 40 jobs, about."""

STUDY = Study(
    kind="look-ahead",
    label="Look-ahead",
    page="Run details",
    spec=LookAheadSpec,
    answer=LookAheads,
    check=lambda spec, stored: check_scenario(spec, stored.scenario),
    run=one_piece(run_look_ahead),
    estimate_s=lambda spec, scenario=None: REPLAY_S + DECISION_S * (spec.last - spec.first + 1),
    words=lambda answer: answer.words,
    sources=("studies/inspect/look_ahead",),
    about=StoredRun,
)
