"""``reproduce``: a figure or table of a paper, computed anew."""

from __future__ import annotations

import sys
from argparse import Namespace

from dlsched.cli.output import print_json, print_table
from dlsched.experiments.reproductions.model import Setting
from dlsched.experiments.reproductions.registry import REPRODUCTIONS, find


def run(options: Namespace) -> int:
    """Carry out the command; without a key, list what there is."""
    if options.key is None:
        print_table(("key", "figure", "claim"), [(one.key, one.figure, one.claim) for one in REPRODUCTIONS])
        return 0
    found = find(options.key)
    outcome = found.run(Setting(options.quick, _tell if sys.stderr.isatty() else None, options.load_scale))
    answer = {"key": found.key, "paper": found.paper, "figure": found.figure, "claim": found.claim}
    answer |= {"ours": outcome.ours, "verdict": outcome.verdict, "why": outcome.why, "quick": options.quick}
    if options.json:
        print_json(answer | dict(outcome.data))
        return 0
    print(f"{found.figure}, {found.paper}")
    print(f"Claim:   {found.claim}\nOurs:    {outcome.ours}\nVerdict: {outcome.verdict}. {outcome.why}")
    return 0


def _tell(share: float, text: str) -> None:
    print(f"\r{share:4.0%} {text:<70.70}", end="", file=sys.stderr, flush=True)
    if share >= 1:
        print(file=sys.stderr)
