"""``commit``: how many nodes to own or reserve, so that a year costs least at a service target, the rest rented."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from dlsched.cli.arguments import add_compute_options, add_csv, add_file, add_json, add_keep_numbers
from dlsched.cli.goal import add_goal, goal_of
from dlsched.cli.output import print_mind, print_table, printable
from dlsched.cli.reading import loaded
from dlsched.cli.study_command import add_flags, answer_to, complain, known_trust, tell, typed
from dlsched.domain.errors import InputError
from dlsched.studies.commitment import STUDY, CommitmentSpec
from dlsched.studies.commitment.answer import Commitment
from dlsched.studies.commitment.words import (
    break_even_words,
    certainty,
    numbers_of,
    premises_of,
    reached_lines,
    rows_of,
    sentence,
    simulated_words,
    violations,
    waits_words,
)
from dlsched.studies.sizing.words import caveats_of_goal
from dlsched.wording.cautions import violation_words
from dlsched.wording.caveats import Caveat, plain_caveats
from dlsched.wording.formats import Kind, amount, capital
from dlsched.wording.typed import NotRead, read, way_out

PRICES = {"base_usd_per_h": "--base-price", "rent_usd_per_h": "--rent-price"}
TIMES = {"boot_s": "--boot", "idle_timeout_s": "--idle"}
KINDS: dict[str, Kind] = {**dict.fromkeys(PRICES, "usd_per_gpu_h"), **dict.fromkeys(TIMES, "duration")}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    add_file(parser)
    add_goal(parser, CommitmentSpec)
    add_flags(parser, CommitmentSpec, {"base": "TYPE", "terms": "TERMS"})
    for field, flag in PRICES.items():
        said = CommitmentSpec.model_fields[field].description
        parser.add_argument(flag, dest=field, metavar="USD", help=f"{said} (default: of its machine type)")
    add_flags(parser, CommitmentSpec, {"rent": "TYPE", "rent_terms": "TERMS"})
    for field, flag in TIMES.items():
        said = CommitmentSpec.model_fields[field].description
        parser.add_argument(flag, dest=field, metavar="TIME", help=f"{said} Example: 5m (default: as in the scenario)")
    said = CommitmentSpec.model_fields["rent_after_s"].description
    said = f"{said} With several, as 0s,15m,1h, each is searched; the cheapest of all is the answer"
    metavar, default = "TIME[,TIME...]", "(default: as in the scenario)"
    parser.add_argument("--rent-after", dest="rent_after_s", metavar=metavar, help=f"{said} {default}")
    flags = {"evictions_per_h": "X", "most": "N", "rent_most": "N", "every": "", "most_runs": "N"}
    add_flags(parser, CommitmentSpec, flags, evictions_per_h="evictions")
    add_csv(parser, "one line per number of committed nodes")
    add_keep_numbers(parser)
    add_compute_options(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 0 also where nothing meets the targets: that is an answer. 1 when the audit complains."""
    scenario = loaded(options)
    own = typed(options, CommitmentSpec)
    for field, flag in (PRICES | TIMES).items():
        if field in own:
            own[field] = _read(flag, own[field], KINDS[field])
    if "rent_after_s" in own:
        waits = [_read("--rent-after", text, "duration") for text in own["rent_after_s"].split(",")]
        own |= {"rent_after_s": waits[0], "or_after_s": waits[1:]}
    spec = STUDY.read_spec(own | goal_of(options, scenario))
    answer = answer_to(STUDY, spec, scenario, options)
    trust = known_trust(scenario, answer.policy, options)
    caveats = caveats_of_goal(scenario, answer.policy, answer.rule, answer.futures.vary, trust)
    plain = {**answer.to_plain(), "numbers": numbers_of(answer), "caveats": plain_caveats(caveats)}
    tell(options, plain, lambda: _show(answer, caveats), lambda: rows_of(answer))
    found = violations(answer)
    return complain(violation_words(found) if found else "")


def _read(flag: str, text: str, kind: Kind) -> float:
    """Return a number that was typed; InputError naming the option."""
    try:
        return read(kind, text)
    except NotRead as error:
        raise InputError(f"{flag} {text:.80}", str(error), way_out(kind)) from None


def _show(answer: Commitment, caveats: Sequence[Caveat]) -> None:
    print(printable(sentence(answer)))
    print_mind(caveats)
    print(f"{capital(certainty(answer))}. {answer.label}, {amount(answer.runs, 'run')}.")
    for text in filter(None, (waits_words(answer), *reached_lines(answer))):
        print(printable(text))
    rows = rows_of(answer)
    print_table(list(rows[0]), [list(row.values()) for row in rows])
    year = premises_of(answer)[0]
    for text in (break_even_words(answer), simulated_words(answer), f"{capital(year.label)}. {year.why}"):
        print(printable(text))
