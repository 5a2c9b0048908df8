"""What numbers of a run do not load unasked."""

from __future__ import annotations

import subprocess
import sys


def test_numbers_and_sentences_do_not_load_pandas_or_scipy():
    code = (
        "import sys, dlsched.metrics.summary, dlsched.wording.assumptions, dlsched.wording.cautions;"
        "import dlsched.metrics.stats.intervals;"
        "print([name for name in ('pandas', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
