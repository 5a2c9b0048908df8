"""Phrases that must not come back are found in texts, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import check_wording

PAGE = Path(check_wording.ROOT, check_wording.TABLE).read_text(encoding="utf-8")
PHRASES = {"who gets in": "admission control", "GPUs … not there": "GPUs down", '"Pay less"': "Rent"}


def found(source: str, path: str = "a.py") -> list[str]:
    return [line.split(": ")[1].split(";")[0] for line in check_wording.findings(path, source, PHRASES)]


@pytest.mark.parametrize(
    ("source", "phrase"),
    [
        ('text = "Who gets in"', "who gets in"),
        ('def f():\n    """Return who\n    gets in."""', "who gets in"),
        ('text = f"{share} who gets in of {count}"', "who gets in"),
        ('text = "who " "gets in"', "who gets in"),
        ('text = f"GPUs of {nodes} not there"', "GPUs … not there"),
        ('label = "Pay less"', '"Pay less"'),
    ],
)
def test_a_phrase_in_a_text_is_found(source: str, phrase: str):
    assert found(source) == [phrase]


@pytest.mark.parametrize(
    "source",
    [
        'text = "who gets involved"',
        "who_gets_in = 1  # who gets in",
        'text = "You pay less here"',
        'text = "GPUs of the many nodes that were bought last year are not there"',
    ],
)
def test_part_of_a_word_a_name_or_a_comment_is_not(source: str):
    assert found(source) == []


def test_code_in_a_page_of_docs_is_not_looked_at():
    assert found("`who gets in`\n```\nwho gets in\n```\n", "a.md") == []
    assert check_wording.findings("a.md", "One\ntwo who\ngets in", PHRASES)[0].startswith("a.md:2:")


def test_the_list_of_the_style_sheet_is_read_whole():
    listed = check_wording.phrases(PAGE)
    rows = PAGE.partition(check_wording.HEADING)[2].count("\n| ") - 1
    assert len(listed) == rows > 40
    assert listed["left to gain"].startswith("could be")
    assert all(better for better in listed.values())
