"""Progress of a steady state in words."""

from __future__ import annotations

from dlsched.runner.background import TaskState, TaskStatus
from dlsched.ui.lab.steady_work import progress_words

NAME = "Steady state, four networks"


def status(text: str, eta_s: float | None = None, share: float = 0.74) -> TaskStatus:
    return TaskStatus("id", NAME, TaskState.RUNNING, share, text, eta_s, "", None)


def test_progress_counts_the_points_that_are_done() -> None:
    said = progress_words(status("SRPT at load 0.5: 4,000 jobs", 40.2), 20)
    assert said == "14 of 20 points, SRPT at load 0.5: 4,000 jobs, about 40 s left"


def test_questions_of_others_are_told_by_name() -> None:
    assert progress_words(status("", share=0.0), None) == f"{NAME}, waiting"
