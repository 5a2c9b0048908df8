"""``reproduce``: a figure or table of a paper, computed anew."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from dlsched.cli.output import print_json, print_table
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.wording.formats import duration


def run(options: Namespace) -> int:
    """Carry out the command; without a key, list what there is."""
    if options.key is None:
        print_table(("key", "figure", "claim"), [(one.key, one.figure, one.claim) for one in REPRODUCTIONS])
        return 0
    found = find(options.key)
    before_s = _cpu_s()
    outcome = found.run(Setting(options.quick, _tell if sys.stderr.isatty() else None, options.load_scale))
    cpu_s = _cpu_s() - before_s
    answer = {"key": found.key, "paper": found.paper, "figure": found.figure, "claim": found.claim}
    answer |= {"ours": outcome.ours, "verdict": outcome.verdict, "why": outcome.why, "quick": options.quick}
    if options.json:
        print_json(answer | {"cpu_s": cpu_s} | dict(outcome.data))
        return 0
    print(f"{found.figure}, {found.paper}")
    print(f"Claim:   {found.claim}\nOurs:    {outcome.ours}\nVerdict: {outcome.verdict}. {outcome.why}")
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
