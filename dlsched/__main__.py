"""The command ``dlsched``, also as ``python -m dlsched``."""

import gc
import sys
from typing import NoReturn

from dlsched.cli.main import main
from dlsched.ending import to_the_end

GARBAGE_AFTER = 50_000
"""New objects between two looks for garbage; Python's own 700 cost a short command a tenth of its time."""


def run() -> NoReturn:
    """Carry out what was typed and leave with its status."""
    gc.set_threshold(GARBAGE_AFTER)
    to_the_end(lambda: main(sys.argv[1:]))


if __name__ == "__main__":
    run()
