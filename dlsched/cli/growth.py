"""``growth``: months ahead with more jobs each, when a target breaks, and by when to order."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from typing import Any

from dlsched.cli.compute import kept_and_opened
from dlsched.cli.goal import goal_of
from dlsched.cli.output import clear_line, print_json, print_table, printable, progress_line, write_csv
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.growth import GrowthSpec, check, read_spec, run_growth
from dlsched.studies.growth.answer import Growth
from dlsched.studies.growth.words import ASSUMED, rows_of, sentence, table_rows, violations
from dlsched.wording.cautions import violation_words
from dlsched.workload.load import load

MONTH = re.compile(r"[1-9]\d{3}-(0[1-9]|1[0-2])")


def run(options: Namespace) -> int:
    """Carry out the command; 0 also where a target breaks: that is an answer. 1 when the audit complains."""
    scenario = load(options.file)
    spec = asked(options, scenario)
    check(spec, scenario)
    answer = computed(spec, scenario, options)
    if options.csv:
        write_csv(rows_of(answer), options.csv)
    if options.json:
        print_json(answer.to_plain())
    else:
        clear_line()
        _show(answer)
    return _complaints(answer)


def asked(options: Namespace, scenario: Scenario) -> GrowthSpec:
    """Return the question that was typed."""
    if options.begin is not None and not MONTH.fullmatch(options.begin):
        raise InputError(f"--begin {options.begin}", "is not a year and a month", "Write it as in --begin 2026-11")
    typed = {
        "percent": options.percent,
        "months": options.months,
        "lead_months": options.lead,
        "begin": options.begin,
    }
    steps, seeds = [read_step(text) for text in options.deliver], list(range(options.draws))
    spec = goal_of(options, scenario) | {"steps": steps, "seeds": seeds}
    return read_spec(spec | {name: value for name, value in typed.items() if value is not None})


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


def computed(spec: GrowthSpec, scenario: Scenario, options: Namespace) -> Growth:
    """Return the answer; runs are taken from the store and kept there where one is given."""
    with kept_and_opened(options) as (store, executor):
        return run_growth(spec, scenario, executor, store, progress_line(options.json))


def _show(answer: Growth) -> None:
    print(printable(sentence(answer)))
    print(f"{ASSUMED[0].why} {answer.label}.")
    rows = table_rows(answer)
    print_table(list(rows[0]), [list(row.values()) for row in rows])


def _complaints(answer: Growth) -> int:
    found = violations(answer)
    if found:
        print(f"dlsched: {printable(violation_words(found))}", file=sys.stderr)
    return 1 if found else 0
