"""``history``: what happened in a recorded log: waits, hours used, cost, and what stood idle; nothing is simulated."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from dlsched.cli.output import print_table, printable
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import tell
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.studies.history import STUDY, History, spec_of
from dlsched.studies.history.answer import GROUPING_WORDS
from dlsched.studies.history.words import (
    FIT_NOTE,
    capacity_rows,
    charge_rows,
    idle_rows,
    kind_of,
    longest_rows,
    notes_of,
    outlier_words,
    rows_of,
    sentence,
    title_of,
    wait_rows,
)
from dlsched.wording.clock import Clock, clock_of
from dlsched.wording.formats import MISSING, show

MOST_ROWS = 25


def run(options: Namespace) -> int:
    """Carry out the command."""
    scenario = loaded(options)
    answer = STUDY.run(spec_of(scenario, options.price, options.core_price), scenario)
    if options.by is not None and options.by not in answer.groups:
        raise InputError(f"--by {options.by}", "the log has no such column", names_hint(options.by, answer.groups))
    by = options.by or next(iter(answer.groups), "")
    chosen = [options.by] if options.by else [*answer.groups]
    clock = clock_of(scenario.workload)
    tell(options, answer.to_plain(), lambda: _show(answer, by, clock), lambda: rows_of(answer, chosen))
    return 0


def _show(answer: History, by: str, clock: Clock) -> None:
    print(f"{printable(answer.scenario_name)}: {printable(sentence(answer))}")
    if by:
        print(f"\nWaits by {GROUPING_WORDS[by]}:")
        _print(wait_rows(answer, by))
        print(f"\nHours and cost by {GROUPING_WORDS[by]}:")
        rows = charge_rows(answer, by)
        many = len(answer.groups[by])
        _print(rows[:many], rows[many:])
    if answer.capacity and not answer.is_sample:
        print("\nUse of the cluster:")
        _print(capacity_rows(answer))
    if answer.worst:
        print(f"\n{printable(outlier_words(answer, clock))} {FIT_NOTE}")
        _print(idle_rows(answer, clock)[:5])
    if answer.longest:
        print("\nLongest waits:")
        _print(longest_rows(answer, clock)[:5])
    print()
    for note in notes_of(answer, clock):
        print(printable(note))


def _print(rows: Sequence[dict[str, Any]], last: Sequence[dict[str, Any]] = ()) -> None:
    """Print the first rows and the ``last`` ones, numbers as their column says."""
    shown = [*rows[:MOST_ROWS], *last]
    print_table([*map(title_of, shown[0])], [[_cell(name, value) for name, value in row.items()] for row in shown])
    if len(rows) > MOST_ROWS:
        print(f"and {len(rows) - MOST_ROWS:,} more; --csv writes all of them")


def _cell(column: str, value: Any) -> str:
    if isinstance(value, int | float):
        return show(kind_of(column), value)
    return MISSING if value is None else str(value)
