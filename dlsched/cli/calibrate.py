"""``calibrate``: replays of a recorded trace against its own starts, and how far to trust a what-if."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dlsched.cli.arguments import GROUPINGS, add_csv, add_json
from dlsched.cli.output import print_table, printable
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags, answer_to, complain, tell, typed
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.studies.calibration import STUDY, CalibrationSpec, default_policies
from dlsched.studies.calibration.answer import GROUPING_WORDS, Calibration, ComparedGroup
from dlsched.studies.calibration.words import (
    POLICY_HEADER,
    THRESHOLDS,
    VERDICTS,
    counted,
    policy_rows,
    rows_of,
    sentence,
    verdict_of,
)
from dlsched.wording.cautions import audit_words
from dlsched.wording.formats import duration, factor

GROUP_HEADER = (
    "group", "jobs", "wait, recorded", "wait, replayed", "ratio", "turnaround, recorded", "turnaround, replayed",
    "what-ifs",
)  # fmt: skip


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("file", metavar="FILE", help="trace with recorded starts, or a scenario file with such a trace")
    add_flags(parser, CalibrationSpec, {"policies": "A,B", "seed": "S"})
    parser.add_argument(
        "--by",
        choices=GROUPINGS,
        help="how to group the jobs (default: the grouping that best shows where the replay is off)",
    )
    add_csv(parser, "one line per policy and group")
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    scenario = loaded(options)
    usual = {"scenario": scenario.content_hash, "policies": list(default_policies(scenario))}
    answer = answer_to(STUDY, STUDY.read_spec(usual | typed(options, CalibrationSpec)), scenario, options)
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
    print(printable(sentence(answer, by=by)))
    print(f"{printable(answer.scenario_name)}: {printable(counted(answer))}")
    for one in scenario.assumptions:
        if one.is_about_default_cluster:
            print(f"Not the cluster that the trace was recorded on: {printable(one.words)}.")
    print_table(POLICY_HEADER, policy_rows(answer))
    print(f"\nUnder {answer.best.label}, by {GROUPING_WORDS[by]}:")
    print_table(GROUP_HEADER, [_group(group) for group in answer.best.groups[by]])
    print(THRESHOLDS)
    print("Every replay was audited.")


def _group(group: ComparedGroup) -> tuple[str, ...]:
    wait, jct = group.wait, group.jct
    totals = ("–", "–") if jct is None else (duration(jct.recorded.mean_s), duration(jct.replayed.mean_s))
    waits = (duration(wait.recorded.mean_s), duration(wait.replayed.mean_s), factor(wait.ratio))
    return (group.name, f"{wait.jobs:,}", *waits, *totals, VERDICTS[verdict_of(group)])
