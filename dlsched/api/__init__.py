"""What Python callers use beside ``load`` and ``simulate``: questions that need many runs, asked as functions.

Each asks the same study as the page and the command of its name, so all three give the same numbers.
"""

from dlsched.api.answers import SizeAnswer, SweepAnswer, WhatIfAnswer
from dlsched.api.questions import compare, size, sweep, what_if
from dlsched.api.traces import Trace, read_trace

__all__ = ["SizeAnswer", "SweepAnswer", "Trace", "WhatIfAnswer", "compare", "read_trace", "size", "sweep", "what_if"]
