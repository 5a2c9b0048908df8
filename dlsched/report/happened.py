"""What a memo says of the recorded log behind it: a few sentences and the chargeback table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.domain.scenario import Scenario
from dlsched.metrics.job_classes import letters
from dlsched.studies.history import STUDY, History, spec_of
from dlsched.studies.history.answer import GROUPING_WORDS
from dlsched.studies.history.words import charge_rows, kind_of, notes_of, outlier_words, sentence, title_of
from dlsched.wording.clock import Clock, clock_of
from dlsched.wording.formats import MISSING, amount, show

MOST_GROUPS = 20
NAMED = ("user", "group")
"""Groupings whose names are those of people and teams."""
AT_ONCE = 20_000
"""Logs of so many jobs are looked at while a page is drawn; larger ones where the answer is stored."""


@dataclass(frozen=True, eq=False)
class Happened:
    """The section. ``rows`` of the chargeback table have equal keys; the last ones are the total and what was idle."""

    sentences: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]

    @property
    def head(self) -> list[str]:
        """The headings, units where cells have none."""
        return [title_of(name) for name in self.rows[0]] if self.rows else []

    def cells(self) -> list[list[str]]:
        """Return the rows as texts."""
        return [[_cell(name, value) for name, value in row.items()] for row in self.rows]


def happened_in(scenario: Scenario, *, hide_names: bool = False, most_jobs: int | None = None) -> Happened | None:
    """Return what happened in a scenario's log; None without recorded starts, or for more than ``most_jobs``."""
    jobs = scenario.workload
    if scenario.generator is not None or not jobs.has_recorded_starts or len(jobs) > (most_jobs or len(jobs)):
        return None
    return happened_of(STUDY.run(spec_of(scenario), scenario), clock_of(jobs), hide_names=hide_names)


def happened_of(answer: History, clock: Clock, *, hide_names: bool = False) -> Happened:
    """Return the section of an answer: by group where the log has groups, else by user."""
    by = next((name for name in ("group", "user", "partition", "month") if name in answer.groups), "")
    texts = (sentence(answer), outlier_words(answer, clock), *notes_of(answer, clock))
    return Happened(tuple(filter(None, texts)), tuple(_rows(answer, by, hide_names=hide_names)) if by else ())


def _rows(answer: History, by: str, *, hide_names: bool) -> Sequence[dict[str, Any]]:
    """Return the largest groups, the others as one row, the total and what was idle."""
    rows, many = charge_rows(answer, by), len(answer.groups[by])
    groups, last, word = rows[:many], rows[many:], GROUPING_WORDS[by]
    if hide_names and by in NAMED:
        groups = [row | {word: letters(place)} for place, row in enumerate(groups)]
    if len(groups) > MOST_GROUPS:
        rest = groups[MOST_GROUPS:]
        others = {name: _sum([row[name] for row in rest]) for name in rest[0] if name != word}
        groups = [*groups[:MOST_GROUPS], {word: amount(len(rest), "other"), **others}]
    return [*groups, *last]


def _sum(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _cell(name: str, value: Any) -> str:
    if isinstance(value, int | float):
        return show(kind_of(name), value)
    return MISSING if value is None else str(value)
