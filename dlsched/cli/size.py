"""``size``: the cheapest cluster that meets targets, the sizes around it, and how much more load it takes."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from dlsched.cli.compute import kept_and_opened
from dlsched.cli.goal import goal_of
from dlsched.cli.output import clear_line, print_json, print_table, printable, progress_line
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.sizing import SizeSpec, check, read_spec, run_size
from dlsched.studies.sizing.answer import Counts, Sizing, check_at, cost_at, one_more, reversals
from dlsched.studies.sizing.words import (
    VERDICTS,
    headroom_words,
    left_out_words,
    neighbour_words,
    one_more_words,
    reached_words,
    reversal_words,
    sentence,
    sure_words,
    violations,
    why_none,
)
from dlsched.wording.cautions import violation_words
from dlsched.wording.formats import MISSING, amount, show_interval
from dlsched.workload.load import load


def run(options: Namespace) -> int:
    """Carry out the command; 0 also where no size meets the targets: that is an answer. 1 when the audit complains."""
    scenario = load(options.file)
    spec = asked(options, scenario)
    check(spec, scenario)
    answer = computed(spec, scenario, options)
    if options.json:
        print_json(answer.to_plain())
    else:
        clear_line()
        _show(answer)
    return _complaints(answer)


def asked(options: Namespace, scenario: Scenario) -> SizeSpec:
    """Return the question that was typed."""
    typed = {
        "draws": options.draws,
        "confirm": options.confirm,
        "lack_percent": options.lack,
        "most_runs": options.most_runs,
        "types": None if options.types is None else [_range(text) for text in options.types.split(",")],
    }
    spec = goal_of(options, scenario) | {"headroom": options.headroom}
    return read_spec(spec | {name: value for name, value in typed.items() if value is not None})


def _range(text: str) -> dict[str, Any]:
    name, equals, counts = text.rpartition("=")
    least, colon, most = counts.partition(":")
    if not (equals and colon and name.strip() and least.strip().isdecimal() and most.strip().isdecimal()):
        raise InputError(f"--types {text}", "is not of the form TYPE=LEAST:MOST", "Write it as in --types nodes=4:20")
    key = name.strip()
    return {"key": key if key == "nodes" else f"nodes.{key}", "least": int(least), "most": int(most)}


def computed(spec: SizeSpec, scenario: Scenario, options: Namespace) -> Sizing:
    """Return the answer; runs are taken from the store and kept there where one is given."""
    with kept_and_opened(options) as (store, executor):
        return run_size(spec, scenario, executor, store, progress_line(options.json))


def _show(answer: Sizing) -> None:
    print(printable(sentence(answer)))
    print(f"{sure_words(answer)} {answer.label}, {amount(answer.runs, 'run')}.")
    for text in (*why_none(answer), *(answer.reasons if answer.answer is not None else ())):
        print(printable(f"{text}."))
    _show_sizes(answer)
    notes = [neighbour_words(answer), left_out_words(answer)]
    notes += [reversal_words(answer, one) for one in reversals(answer)]
    notes += [one_more_words(answer, more) for more in one_more(answer)]
    notes += [headroom_words(answer, room) for room in answer.headroom]
    for note in filter(None, notes):
        print(printable(note))


def _show_sizes(answer: Sizing) -> None:
    names = [vm.name or "nodes" for vm in answer.types]
    header = (*names, "", "cost", *(target.words for target in answer.rule.targets), "all", "draws held")
    print_table(header, [_row(answer, size.counts) for size in answer.sizes])


def _row(answer: Sizing, counts: Counts) -> tuple[str, ...]:
    found, cost = check_at(answer, counts), cost_at(answer, counts)
    marks = [name for name, at in (("answer", answer.answer), ("today", answer.today)) if at == counts]
    usd = MISSING if cost is None else show_interval("usd_per_month", cost.mean, cost.half_width)
    held = "" if answer.rule.exact or not found.n else f"{found.hits} of {found.n}"
    return (
        *(f"{count:,}" for count in counts), ", ".join(marks), usd, *map(reached_words, found.targets),
        VERDICTS[found.verdict], held,
    )  # fmt: skip


def _complaints(answer: Sizing) -> int:
    found = violations(answer)
    if found:
        print(f"dlsched: {printable(violation_words(found))}", file=sys.stderr)
    return 1 if found else 0
