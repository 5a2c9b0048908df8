"""Fixtures and settings for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.browsers import browser
from tests.support.plugin_package import forget

__all__ = ["browser"]

# "ci" finds the same examples on every machine; HYPOTHESIS_PROFILE=dev looks for new ones.
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of public traces kept beside the project; skip where it is not there."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("public traces not found: expected the folder shared/data beside the project folder")
    return folder


@pytest.fixture(scope="module", autouse=True)
def _plugins_of_this_file_only() -> Iterator[None]:
    """Forget the policies, readers and speed models that a file of tests gave, so that no later file meets them."""
    yield
    forget()
