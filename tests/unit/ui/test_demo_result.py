"""The result bundled for the page Home is what the demo gives today."""

from __future__ import annotations

import json

import pytest

from dlsched.workload.catalogue import data_path
from tools.demo_result import compute


@pytest.mark.slow
def test_the_bundled_result_is_up_to_date() -> None:
    stored = json.loads(data_path("demo_result.json").read_text(encoding="utf-8"))
    fresh = compute()
    assert stored == fresh, "run: python -m tools.demo_result"
