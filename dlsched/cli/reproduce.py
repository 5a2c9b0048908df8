"""``reproduce``: a figure or table of a paper, computed anew."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from dlsched.cli.output import print_json, print_table
from dlsched.cli.study_command import opened
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.wording.formats import duration


def run(options: Namespace) -> int:
    """Carry out the command; without a key, list what there is."""
    if options.key is None:
        print_table(("key", "figure", "claim"), [(one.key, one.figure, one.claim) for one in REPRODUCTIONS])
        return 0
    reproduction = find(options.key)
    progress = _tell if sys.stderr.isatty() else None
    before_s = _cpu_s()
    with opened(options) as executor:
        outcome = reproduction.run(Setting(options.quick, progress, options.load_scale, executor))
    cpu_s = _cpu_s() - before_s
    key, figure, paper, claim = reproduction.key, reproduction.figure, reproduction.paper.reference, reproduction.claim
    if options.json:
        answer = {"key": key, "paper": paper, "figure": figure, "claim": claim}
        answer |= {"ours": outcome.ours, "verdict": outcome.verdict, "why": outcome.why, "quick": options.quick}
        print_json(answer | {"cpu_s": cpu_s} | dict(outcome.data))
        return 0
    print(f"{figure}, {paper}")
    print(f"Claim:   {claim}\nOurs:    {outcome.ours}\nVerdict: {outcome.verdict}. {outcome.why}")
    print(f"CPU time: {duration(cpu_s)}")
    return 0


def _cpu_s() -> float:
    """Return the CPU time of this process and of those it has seen end, seconds; on Windows of this one only.

    Work on other machines does not count.
    """
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _tell(share: float, text: str) -> None:
    print(f"\r{share:4.0%} {text:<70.70}", end="", file=sys.stderr, flush=True)
    if share >= 1:
        print(file=sys.stderr)
