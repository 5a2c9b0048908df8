"""``fit``: a scheduler learned from the first half of a log and judged on the half it has not seen."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dlsched.cli.arguments import add_compute_options, add_json, add_reading
from dlsched.cli.output import print_table, printable, progress_line
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags, complain, kept, opened, tell, typed
from dlsched.domain.scenario import Scenario
from dlsched.studies.calibration.record import GROUPING_WORDS
from dlsched.studies.calibration.tables import GROUP_HEADER, group_rows
from dlsched.studies.calibration.words import THRESHOLDS
from dlsched.studies.fitting import STUDY, FitSpec
from dlsched.studies.fitting.answer import Fit
from dlsched.studies.fitting.judged import judged_scenario, nodes_words
from dlsched.studies.fitting.words import (
    FAMILY_HEADER,
    GRADES,
    JUDGED_HEADER,
    LEARNED_HEADER,
    MEANS,
    band_words,
    before_any_policy,
    counted,
    family_rows,
    flags,
    judged_rows,
    learned_rows,
    nearer_words,
    sentence,
    unexplained,
)
from dlsched.wording.cautions import audit_words
from dlsched.workload.scenario_file import write_scenario


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("file", metavar="FILE", help="log with recorded starts, or a scenario file with such a log")
    add_reading(parser)
    add_flags(parser, FitSpec, {"replays": "N", "seed": "S"})
    add_compute_options(parser)
    parser.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="STORE",
        help="keep the answer in a result store, where the pages and other commands with --save find it (default "
        "store: DLSCHED_STORE, else ~/.dlsched/results.duckdb); put it after FILE",
    )
    parser.add_argument(
        "--write",
        metavar="OUT",
        help="write the scenario that the fitted policy was judged on, with its nodes and absences (.json or .toml)",
    )
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    scenario = loaded(options, never_started="keep")  # they held places in the queue
    spec = STUDY.read_spec({"scenario": scenario.content_hash} | typed(options, FitSpec))
    STUDY.check(spec, scenario)
    with kept(options) as store, opened(options) as executor:
        record = STUDY.compute(spec, scenario, progress_line(options.json), executor=executor, store=store)
        if store is not None:
            store.save_scenario(scenario)
            store.save_experiment(record)
    answer = STUDY.read_answer(record.answer)
    if options.write:
        write_scenario(judged_scenario(answer, scenario), options.write)
    summary = {**answer.summary(), "nearer": nearer_words(answer), "flags": flags(answer)}
    tell(options, summary | answer.to_plain(), lambda: _show(answer, scenario, options.write))
    found = [f"{one.label}, {text}" for one in answer.judged.replays for text in one.audit]
    return complain(audit_words(found) if found else "")


def _show(answer: Fit, scenario: Scenario, written: str | None) -> None:
    for text in before_any_policy(answer):
        print(printable(text))
    print(printable(sentence(answer)))
    print(MEANS[answer.measures.grade])
    if nearer := nearer_words(answer):
        print(nearer)
    print(f"{printable(answer.scenario_name)}: {counted(answer)}")
    print(band_words(answer))
    for text in unexplained(answer):
        print(printable(text))
    print("\nSecond half:")
    print_table(JUDGED_HEADER, judged_rows(answer))
    print(GRADES.replace("*", ""))
    by = answer.judged.default_by
    print(f"\nUnder {answer.fitted.label}, by {GROUPING_WORDS[by]}, second half:")
    print_table((GROUPING_WORDS[by], *GROUP_HEADER), [tuple(map(str, row)) for row in group_rows(answer.fitted, by)])
    print(THRESHOLDS)
    print("\nWhat was learned:")
    print_table(LEARNED_HEADER, learned_rows(answer))
    print("\nFamilies, mean factor:")
    print_table(FAMILY_HEADER, family_rows(answer))
    print(f"\nThe fitted policy: {printable(flags(answer))}")
    if written:
        print(f"{printable(written)} is the scenario it was judged on: run it with these flags.")
    elif judged_scenario(answer, scenario) is not scenario:
        print(f"It was judged on {nodes_words(answer)}, which no flag says: write that scenario with --write OUT.")
