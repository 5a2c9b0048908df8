"""The three files that name packages agree: ranges in pyproject.toml, names for pip, exact versions."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RANGES = [Requirement(text) for text in PROJECT["dependencies"]]


def lines(file: str) -> list[str]:
    """Return the lines that name a package, without comments."""
    kept = (re.sub(r"\s*#.*", "", line) for line in (ROOT / file).read_text(encoding="utf-8").splitlines())
    return [line for line in kept if line and not line.startswith("-")]


def names(file: str) -> list[str]:
    return [canonicalize_name(line) for line in lines(file)]


PINS = {
    canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines("constraints.txt"))
}


def test_pip_is_given_the_packages_of_the_project():
    assert names("requirements.txt") == [canonicalize_name(one.name) for one in RANGES]
    for file in ("requirements.txt", "requirements-dev.txt"):
        assert [line for line in lines(file) if not re.fullmatch(r"[a-z0-9-]+", line)] == []


@pytest.mark.parametrize("wanted", RANGES, ids=lambda one: one.name)
def test_ranges_hold_the_exact_version_and_end_before_one_that_may_break(wanted: Requirement):
    assert wanted.specifier.contains(PINS[canonicalize_name(wanted.name)])
    assert {one.operator for one in wanted.specifier} == {">=", "<"}


def test_everything_needed_has_an_exact_version():
    waiting = [*names("requirements.txt"), *names("requirements-dev.txt")]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        for text in metadata.requires(name) or []:
            one = Requirement(text)
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                waiting.append(canonicalize_name(one.name))
    assert needed - PINS.keys() == set()
    assert "highspy" not in PINS
