"""``calibrate``: replays of a recorded trace against its own starts, and how far to trust a what-if."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dlsched.cli.arguments import GROUPINGS, add_compute_options, add_csv, add_json, add_reading
from dlsched.cli.output import print_table, printable, progress_line
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags, complain, kept, opened, tell, typed
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.studies.calibration import STUDY, CalibrationSpec, default_policies
from dlsched.studies.calibration.answer import Calibration, ComparedGroup
from dlsched.studies.calibration.record import GROUPING_WORDS
from dlsched.studies.calibration.tables import (
    INPUTS_HEADER,
    MEASURE_HEADER,
    POLICY_HEADER,
    inputs_of,
    measure_rows,
    policy_rows,
    rows_of,
)
from dlsched.studies.calibration.words import (
    GRADES,
    THRESHOLDS,
    VERDICTS,
    counted,
    reaction_words,
    sentence,
    times_words,
    verdict_of,
    withheld_words,
)
from dlsched.wording.cautions import audit_words
from dlsched.wording.formats import duration

GROUP_HEADER = (
    "group", "jobs", "wait, recorded", "wait, replayed", "ratio", "turnaround, recorded", "turnaround, replayed",
    "what-ifs",
)  # fmt: skip


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("file", metavar="FILE", help="trace with recorded starts, or a scenario file with such a trace")
    add_reading(parser)
    add_flags(parser, CalibrationSpec, {"policies": "A,B", "seed": "S"})
    parser.add_argument(
        "--by",
        choices=GROUPINGS,
        help="how to group the jobs (default: the grouping that best shows where the replay is off)",
    )
    parser.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="STORE",
        help="keep the answer in a result store, where the pages and other commands with --save find it (default "
        "store: DLSCHED_STORE, else ~/.dlsched/results.duckdb); put it after FILE",
    )
    add_compute_options(parser)
    add_csv(parser, "one line per policy and group")
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    scenario = loaded(options)
    usual = {"scenario": scenario.content_hash, "policies": list(default_policies(scenario))}
    spec = STUDY.read_spec(usual | typed(options, CalibrationSpec))
    with kept(options) as store, opened(options) as executor:
        record = STUDY.compute(spec, scenario, progress_line(options.json), executor=executor, store=store)
        if store is not None:
            store.save_scenario(scenario)
            store.save_experiment(record)
    answer = STUDY.read_answer(record.answer)
    by = grouping(options, answer)
    tell(options, answer.to_plain(), lambda: _show(answer, by, scenario), lambda: rows_of(answer))
    found = [f"{replay.policy}, {text}" for replay in answer.replays for text in replay.audit]
    return complain(audit_words(found) if found else "")


def grouping(options: Namespace, answer: Calibration) -> str:
    """Return how to group the jobs: as typed, else by what best shows where the replay is off."""
    by = options.by or answer.default_by
    if by not in answer.groupings:
        raise InputError(f"--by {by!r:.80}", "the jobs have no such column", names_hint(by, answer.groupings))
    return str(by)


def _show(answer: Calibration, by: str, scenario: Scenario) -> None:
    best, word = answer.best, GROUPING_WORDS[by]
    print(printable(sentence(answer, by=by)))
    print(f"{printable(answer.scenario_name)}: {printable(counted(answer))}")
    for text in filter(None, (withheld_words(answer, best), reaction_words(answer))):
        print(printable(text))
    print_table(POLICY_HEADER, policy_rows(answer))
    print(GRADES.replace("*", ""))
    print(f"\nUnder {best.label}, by {word}, second half:")
    print_table((word, *MEASURE_HEADER[:-1]), measure_rows(best, by))
    print(f"\nUnder {best.label}, by {word}, both halves:")
    print_table(GROUP_HEADER, [_group(group) for group in best.groups[by]])
    print(THRESHOLDS)
    print()
    print_table(INPUTS_HEADER, inputs_of(scenario))
    print("Every replay was audited.")


def _group(group: ComparedGroup) -> tuple[str, ...]:
    wait, jct = group.wait, group.jct
    totals = ("–", "–") if jct is None else (duration(jct.recorded.mean_s), duration(jct.replayed.mean_s))
    waits = (duration(wait.recorded.mean_s), duration(wait.replayed.mean_s), times_words(wait.ratio))
    return (group.name, f"{wait.jobs:,}", *waits, *totals, VERDICTS[verdict_of(group)])
