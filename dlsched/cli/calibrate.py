"""``calibrate``: replays of a recorded trace against its own starts, and how far to trust a what-if."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from dlsched.cli.output import clear_line, print_json, print_table, printable, progress_line, write_csv
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.runner.executor import open_pool
from dlsched.studies.calibration import CalibrationSpec, check, default_policies, read_spec, run_calibration
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
from dlsched.wording.formats import amount, duration, factor
from dlsched.workload.load import load

GROUP_HEADER = (
    "group", "jobs", "wait, recorded", "wait, replayed", "ratio", "JCT, recorded", "JCT, replayed", "what-ifs",
)  # fmt: skip


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    scenario = load(options.file)
    spec = asked(options, scenario)
    check(spec, scenario)
    with open_pool().executor as executor:
        answer = run_calibration(spec, scenario, executor, progress=progress_line(options.json))
    by = grouping(options, answer)
    if options.csv:
        write_csv(rows_of(answer), options.csv)
    if options.json:
        print_json(answer.to_plain())
    else:
        clear_line()
        _show(answer, by, scenario)
    found = [f"{replay.policy}, {text}" for replay in answer.replays for text in replay.audit]
    if found:
        print(f"dlsched: the audit found {amount(len(found), 'violation')}, first {found[0]}", file=sys.stderr)
    return 1 if found else 0


def asked(options: Namespace, scenario: Scenario) -> CalibrationSpec:
    """Return the question that was typed; without policies the usual ones."""
    policies = options.policies or list(default_policies(scenario))
    spec: dict[str, Any] = {"scenario": scenario.content_hash, "policies": policies, "seed": options.seed}
    return read_spec(spec)


def grouping(options: Namespace, answer: Calibration) -> str:
    """Return by what to tell groups apart: what was typed, else what says best where the replay is off."""
    by = options.by or answer.default_by
    if by not in answer.groupings:
        raise InputError(f"--by {by!r:.80}", "the jobs have no such names", names_hint(by, answer.groupings))
    return str(by)


def _show(answer: Calibration, by: str, scenario: Scenario) -> None:
    print(printable(sentence(answer, by=by)))
    print(f"{printable(answer.scenario_name)}: {printable(counted(answer))}")
    for one in scenario.assumptions:
        if one.is_about_default_cluster:
            print(f"Not the cluster of the recording: {printable(one.words)}.")
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
