"""``when``: when the jobs of a queue start, with an interval for each; and how often such intervals held on the log."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.cli.arguments import add_compute_options, add_csv, add_json, add_reading
from dlsched.cli.output import print_table, printable
from dlsched.cli.reading import options_typed
from dlsched.cli.simulate import parse_params
from dlsched.cli.study_command import add_flags, answer_to, tell, typed
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.when_starts import SCORE_STUDY, STUDY, Score, ScoreSpec, When, WhenSpec, with_history
from dlsched.studies.when_starts.queue_at import Record
from dlsched.studies.when_starts.spec import usual_policy
from dlsched.studies.when_starts.words import (
    GPUS_NOTE,
    SCORE_NOTE,
    change_rows,
    change_sentence,
    job_sentence,
    notes_of,
    plain_rows,
    rows_of,
    score_rows,
    score_sentence,
    sentence,
)
from dlsched.wording.clock import Clock, clock_of
from dlsched.wording.typed import NotRead
from dlsched.workload.import_report import in_seconds
from dlsched.workload.load import load

MOST_ROWS = 40


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "file", metavar="FILE",
        help="the queue as it is now (squeue --json, Kueue Workloads), or a log with --at or --score",
    )  # fmt: skip
    add_reading(parser)
    parser.add_argument("--history", metavar="LOG", help="log of ended jobs, which tells how long jobs really run")
    parser.add_argument("--at", metavar="TIME", help="instant of a log, as in '2026-03-02 14:00' or 'day 26, 08:43'")
    add_flags(parser, WhenSpec, {"policy": "KEY", "seed": "S", "later": "", "job": "ID"})
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the policy; may be repeated"
    )
    parser.add_argument("--futures", type=int, metavar="N", help="number of futures (default: 200; 60 with --score)")
    parser.add_argument(
        "--score", action="store_true", help="how often jobs started within such intervals, on the log itself"
    )
    add_flags(parser, ScoreSpec, {"instants": "K"})
    add_compute_options(parser)
    add_csv(parser, "one line per waiting job")
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command."""
    scenario = _loaded(options)
    given = typed(options, WhenSpec) | {"scenario": scenario.content_hash, "params": parse_params(options.param)}
    given = {name: value for name, value in given.items() if value is not None}
    given.setdefault("policy", usual_policy(scenario))
    if options.score:
        _only_with("--score", {"--at": options.at, "--job": given.pop("job", "")})
        if options.instants is not None:
            given["instants"] = options.instants
        score = answer_to(SCORE_STUDY, SCORE_STUDY.read_spec(given), scenario, options)
        tell(options, score.to_plain(), lambda: _show_score(score), lambda: score_rows(score))
        return 0
    clock = clock_of(scenario.workload)
    spec = STUDY.read_spec(given | {"at_s": _instant(options, scenario, clock)})
    answer = answer_to(STUDY, spec, scenario, options)
    tell(options, answer.to_plain(), lambda: _show(answer, clock), lambda: plain_rows(answer))
    return 0


def _loaded(options: Namespace) -> Scenario:
    """Return the scenario of the file with all jobs that wait, and of the log that comes with it."""
    reading = options_typed(options)
    scenario = load(options.file, reading.model_copy(update={"pending": "keep"}))
    if options.history is None:
        return scenario
    if Record.of(in_seconds(scenario)).now_s is None:
        why = f"{printable(options.file)} is a log itself: it has no jobs that wait at its end"
        raise InputError("--history", why, "Leave --history out, and give --at TIME")
    return with_history(scenario, load(options.history, reading.model_copy(update={"format": "auto", "mapping": None})))


def _only_with(flag: str, others: Mapping[str, Any]) -> None:
    for other, value in others.items():
        if value:
            raise InputError(f"{other} {value}", f"cannot be combined with {flag}", "Give one of them")


def _instant(options: Namespace, scenario: Scenario, clock: Clock) -> float:
    """Return the instant that was typed, else that with which the file ends."""
    if options.at is None:
        now_s = Record.of(in_seconds(scenario)).now_s
        if now_s is None:
            raise InputError(
                f"file {options.file}", "is a log without jobs that wait at its end, so it is not said when now is",
                f"Give --at TIME, as in --at '{clock.moment(float(scenario.workload.submit_s[-1]))}', or --score",
            )  # fmt: skip
        return now_s
    try:
        at_s = clock.read(options.at)
    except NotRead as error:
        raise InputError(f"--at {options.at}", str(error), "Correct it") from None
    if at_s < 0:
        raise InputError(f"--at {options.at}", "is before the first job of the log", "Give a later time")
    return at_s


def _show(answer: When, clock: Clock) -> None:
    print(f"{printable(answer.scenario_name)}, {clock.moment(answer.at_s)}: {printable(sentence(answer))}")
    if answer.job:
        job = next(job for job in answer.jobs if job.job_id == answer.job)
        print(printable(job_sentence(answer, job, clock)))
        for less in answer.changes:
            print(printable(change_sentence(less, job)))
        if answer.changes:
            print()
            _print(change_rows(answer))
            print(GPUS_NOTE)
    if answer.jobs:
        print()
        _print(rows_of(answer, clock), next((n for n, job in enumerate(answer.jobs) if job.job_id == answer.job), 0))
        print()
    for note in notes_of(answer):
        print(printable(note))


def _show_score(score: Score) -> None:
    print(f"{printable(score.scenario_name)}: {printable(score_sentence(score))}")
    _print(score_rows(score))
    print(SCORE_NOTE)


def _print(rows: Sequence[Mapping[str, Any]], asked: int = 0) -> None:
    """Print the first MOST_ROWS rows, and the row that was asked for if it is further down."""
    shown = [*rows[:MOST_ROWS], *rows[max(asked, MOST_ROWS) : asked + 1]]
    print_table([*rows[0]], [[*row.values()] for row in shown])
    if len(rows) > len(shown):
        print(f"and {len(rows) - len(shown):,} more; --csv writes all of them")
