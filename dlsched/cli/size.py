"""``size``: the cheapest cluster that meets targets, the sizes around it, and how much more load it takes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from dlsched.cli.arguments import add_compute_options, add_file, add_json, add_keep_numbers
from dlsched.cli.goal import add_goal, goal_of
from dlsched.cli.output import print_mind, print_table, printable
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags, answer_to, complain, known_trust, tell, typed
from dlsched.domain.errors import InputError
from dlsched.studies.sizing import STUDY, SizeSpec
from dlsched.studies.sizing.answer import Sizing, one_more, reversals
from dlsched.studies.sizing.words import (
    burst_words,
    caveats_of_goal,
    headroom_words,
    left_out_words,
    neighbour_words,
    one_more_words,
    reversal_words,
    rows_of,
    sentence,
    sure_words,
    violations,
    why_none,
)
from dlsched.wording.cautions import violation_words
from dlsched.wording.caveats import Caveat, plain_caveats
from dlsched.wording.formats import amount


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    add_file(parser)
    add_goal(parser, SizeSpec)
    parser.add_argument(
        "--types",
        dest="ranges",
        metavar="A=N:M,B=N:M",
        help="machine types to vary, from N to M nodes; nodes=N:M for all of them (default: up to four times today's "
        "nodes, including rented ones)",
    )
    flags = {"lack_percent": "%", "headroom": "", "most_runs": "N"}
    add_flags(parser, SizeSpec, flags, lack_percent="lack")
    add_keep_numbers(parser)
    add_compute_options(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 0 also where no size meets the targets: that is an answer. 1 when the audit complains."""
    scenario = loaded(options)
    types = [] if options.ranges is None else [_range(text) for text in options.ranges.split(",")]
    spec = STUDY.read_spec(typed(options, SizeSpec) | goal_of(options, scenario) | {"types": types})
    answer = answer_to(STUDY, spec, scenario, options)
    trust = known_trust(scenario, answer.policy, options)
    caveats = caveats_of_goal(scenario, answer.policy, answer.rule, answer.futures.vary, trust)
    plain = {**answer.to_plain(), "caveats": plain_caveats(caveats)}
    tell(options, plain, lambda: _show(answer, caveats))
    found = violations(answer)
    return complain(violation_words(found) if found else "")


def _range(text: str) -> dict[str, Any]:
    name, equals, counts = text.rpartition("=")
    least, colon, most = counts.partition(":")
    if not (equals and colon and name.strip() and least.strip().isdecimal() and most.strip().isdecimal()):
        raise InputError(f"--types {text}", "is not of the form TYPE=FROM:TO", "Write it as in --types nodes=4:20")
    key = name.strip()
    return {"key": key if key == "nodes" else f"nodes.{key}", "least": int(least), "most": int(most)}


def _show(answer: Sizing, caveats: Sequence[Caveat]) -> None:
    print(printable(sentence(answer)))
    print_mind(caveats)
    print(f"{sure_words(answer)} {answer.label}, {amount(answer.runs, 'run')}.")
    for text in (*why_none(answer), *(answer.reasons if answer.answer is not None else ())):
        print(printable(f"{text}."))
    rows = rows_of(answer)
    print_table(list(rows[0]), [list(row.values()) for row in rows])
    notes = [neighbour_words(answer), left_out_words(answer), burst_words(answer)]
    notes += [reversal_words(answer, one) for one in reversals(answer)]
    notes += [one_more_words(answer, more) for more in one_more(answer)]
    notes += [headroom_words(answer, room) for room in answer.headroom]
    for note in filter(None, notes):
        print(printable(note))
