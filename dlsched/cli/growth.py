"""``growth``: months ahead with more jobs each, when a target breaks, and by when to order."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from dlsched.cli.arguments import add_compute_options, add_csv, add_file, add_json, add_keep_numbers
from dlsched.cli.goal import add_goal, goal_of
from dlsched.cli.output import print_mind, print_table, printable
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags, answer_to, complain, known_trust, tell, typed
from dlsched.domain.errors import InputError
from dlsched.studies.growth import STUDY, GrowthSpec
from dlsched.studies.growth.answer import Growth
from dlsched.studies.growth.words import ASSUMED, rows_of, sentence, table_rows, violations
from dlsched.studies.sizing.words import caveats_of_goal
from dlsched.wording.cautions import violation_words
from dlsched.wording.caveats import Caveat, plain_caveats

MONTH = re.compile(r"[1-9]\d{3}-(0[1-9]|1[0-2])")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    add_file(parser)
    add_goal(parser, GrowthSpec)
    flags = {"percent": "%", "months": "N", "begin": "YYYY-MM", "lead_months": "N"}
    add_flags(parser, GrowthSpec, flags, lead_months="lead")
    parser.add_argument(
        "--deliver",
        action="append",
        default=[],
        metavar="MONTH:KEY:NODES",
        help="nodes added or retired at the start of a month: 4:nodes:+4, 8:nodes.a100:-2; may be repeated",
    )
    add_csv(parser, "one line per month")
    add_keep_numbers(parser)
    add_compute_options(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 0 also where a target breaks: that is an answer. 1 when the audit complains."""
    if options.begin is not None and not MONTH.fullmatch(options.begin):
        raise InputError(f"--begin {options.begin}", "is not a year and a month", "Write it as in --begin 2026-11")
    scenario = loaded(options)
    own = {"steps": [read_step(text) for text in options.deliver]}
    spec = STUDY.read_spec(typed(options, GrowthSpec) | goal_of(options, scenario) | own)
    answer = answer_to(STUDY, spec, scenario, options)
    trust = known_trust(scenario, answer.policy, options)
    caveats = caveats_of_goal(scenario, answer.policy, answer.rule, answer.futures.vary, trust)
    plain = {**answer.to_plain(), "caveats": plain_caveats(caveats)}
    tell(options, plain, lambda: _show(answer, caveats), lambda: rows_of(answer))
    found = violations(answer)
    return complain(violation_words(found) if found else "")


def read_step(text: str) -> dict[str, Any]:
    """Return the step of "4:nodes.a100:+4" or "4:nodes:-2".

    Raises
    ------
    InputError
        Naming the option as it was typed.
    """
    month, _, rest = text.partition(":")
    key, colon, nodes = rest.rpartition(":")  # names of VM types may hold a colon
    try:
        if not (month.strip().isdecimal() and colon and key.strip()):
            raise ValueError(text)
        return {"month": int(month), "key": key.strip(), "nodes": int(nodes)}
    except ValueError:
        why = "is not of the form MONTH:KEY:NODES"
        raise InputError(f"--deliver {text}", why, "Write it as in --deliver 4:nodes:+4") from None


def _show(answer: Growth, caveats: Sequence[Caveat]) -> None:
    print(printable(sentence(answer)))
    print_mind(caveats)
    print(f"{ASSUMED[0].why} {answer.label}.")
    rows = table_rows(answer)
    print_table(list(rows[0]), [list(row.values()) for row in rows])
