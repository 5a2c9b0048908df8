"""``queues``: a run with quotas by queue, and what more quota for some of them does."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

import pandas as pd

from dlsched.cli.arguments import add_compute_options, add_csv, add_file, add_futures, add_json, names, numbers
from dlsched.cli.goal import futures_of
from dlsched.cli.output import print_table, printable
from dlsched.cli.reading import loaded
from dlsched.cli.simulate import parse_params
from dlsched.cli.study_command import answer_to, complain, tell
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies import more_quota
from dlsched.studies.design import Futures
from dlsched.studies.inspect import queues
from dlsched.studies.inspect.queues.answer import Queues
from dlsched.studies.inspect.queues.words import (
    cards_of,
    cautions_of,
    fairness_words,
    queues_frame,
    sentence_of,
    stopped_words,
    trust_frame,
    trust_words,
)
from dlsched.studies.more_quota.answer import MoreQuota
from dlsched.studies.more_quota.words import errors_of, frame_of, outcome_words
from dlsched.studies.more_quota.words import sentence_of as more_sentence
from dlsched.wording.formats import MISSING, duration, number
from dlsched.wording.queues import tree_cautions


def add_arguments(parser: ArgumentParser) -> None:
    """Add the flags."""
    add_file(parser)
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the policy; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (default: 0)")
    parser.add_argument("--more", type=names, metavar="QUEUE,QUEUE", help="also: what more quota for these queues does")
    parser.add_argument(
        "--steps", type=numbers, default=[1.0, 4.0, 8.0], metavar="N,N",
        help="with --more: how much more quota (default: 1,4,8, and as much as the nodes have)",
    )  # fmt: skip
    add_futures(parser)
    add_csv(parser, "one line per queue")
    add_compute_options(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Carry out the command; 1 where a run of --more failed."""
    scenario = loaded(options)
    if scenario.queues is None:
        raise InputError(
            f"file {options.file}",
            "it has no queues",
            "Give them with --queues FILE, or as [queues] in the scenario file",
        )
    question = {"scenario": scenario.content_hash, "policy": "queue-tree", "params": parse_params(options.param)}
    spec = queues.STUDY.read_spec(question | {"seed": options.seed})
    answer = answer_to(queues.STUDY, spec, scenario, options)
    more = None
    if options.more:
        futures = Futures() if options.futures is None else futures_of(options, scenario)
        asked = question | {"queues": options.more, "steps": options.steps, "futures": futures.model_dump()}
        more = answer_to(more_quota.STUDY, more_quota.STUDY.read_spec(asked), scenario, options)
    plain = {**answer.to_plain(), "more_quota": None if more is None else more.to_plain(),
             "sentence": sentence_of(answer)}  # fmt: skip
    tell(options, plain, lambda: _show(answer, more, scenario), lambda: _rows(answer))
    return complain(*(errors_of(more) if more is not None else ()))


def _rows(answer: Queues) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in queues_frame(answer).to_dict("records")]


def _show(answer: Queues, more: MoreQuota | None, scenario: Scenario) -> None:
    print(printable(sentence_of(answer)))
    for label, value, _ in cards_of(answer):
        print(f"  {printable(label)}: {printable(value)}")
    for caution in (*tree_cautions(scenario), *cautions_of(answer)):
        print(printable(f"Mind: {caution.text}"))
    _print(queues_frame(answer), [])
    print(printable(stopped_words(answer)))
    print(printable(fairness_words(answer)))
    if words := trust_words(answer):
        print(printable(words))
        _print(trust_frame(answer), [])
    if more is not None:
        print(f"\nMore quota. {printable(more_sentence(more))}")
        _print(frame_of(more), ["p95 wait now", "p95 wait then", "Its p95 wait now", "Its p95 wait then"])
        for outcome in more.outcomes:
            print(f"  {printable(outcome_words(more, outcome))}")


def _print(frame: pd.DataFrame, durations: Sequence[str]) -> None:
    """Print a table; waits are durations."""

    def cell(name: str, value: Any) -> str:
        if value is None or value != value:
            return MISSING
        if name in durations or name == "p95 wait" or name.startswith("Wait: "):
            return duration(value)
        return number(value) if isinstance(value, float) else str(value)

    rows = [[cell(str(name), value) for name, value in row.items()] for row in frame.to_dict("records")]
    print_table([str(name) for name in frame], rows)
