"""What the package offers, and what it does not load unasked."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dlsched.metrics as metrics


def test_everything_offered_is_there():
    assert all(getattr(metrics, name) is not None for name in metrics.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        metrics.nonsense  # noqa: B018


def test_numbers_and_sentences_do_not_load_pandas_or_scipy():
    code = (
        "import sys, dlsched.metrics.summary, dlsched.wording.assumptions, dlsched.wording.cautions;"
        "import dlsched.metrics.stats.intervals;"
        "print([name for name in ('pandas', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
