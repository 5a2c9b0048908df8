"""What a solver prints of itself: nobody sees it, and nothing else is lost with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

NOISY = """
import contextlib, ctypes, os, sys, threading
import scipy.optimize
from dlsched.optimise.milp import Milp

real = scipy.optimize.milp

def noisy(*args, **options):
    with contextlib.suppress(OSError):
        os.write(1, b"stray\\n")
    ctypes.CDLL(None).puts(b"held back")  # a pipe gets it later, by itself when the process ends
    return real(*args, **options)

scipy.optimize.milp = noisy
program = Milp()
program.columns([1.0], lower=2.0, integer=True)
print("before")
{then}
print(program.solve().objective)
"""
OTHER = "threading.Thread(target=threading.Event().wait, daemon=True).start()"
WORKER = f"from dlsched.optimise.quiet import divert_output; {OTHER}; divert_output()"
NO_OUTPUT = "sys.stdout.flush(); os.close(1); sys.stdout = sys.stderr"


def printed(then: str) -> tuple[str, str]:
    code = [sys.executable, "-c", NOISY.format(then=then)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # as a user has it
    done = subprocess.run(code, capture_output=True, text=True, cwd=ROOT, env=buffered, check=True)
    return done.stdout, done.stderr


def test_a_program_of_one_thread_prints_its_own_words_only() -> None:
    assert printed("") == ("before\n2.0\n", "")


def test_with_other_threads_nothing_is_diverted_as_their_words_would_be_lost() -> None:
    out, _ = printed(OTHER)
    assert sorted(out.split()) == ["2.0", "back", "before", "held", "stray"]


def test_a_worker_keeps_quiet_whatever_its_threads() -> None:
    assert printed(WORKER) == ("before\n", "2.0\n")


def test_without_a_standard_output_there_is_nothing_to_divert() -> None:
    assert printed(NO_OUTPUT) == ("before\n", "2.0\n")
