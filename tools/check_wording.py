"""Look for phrases that must not come back: ``python -m tools.check_wording``, part of ``make lint``.

The phrases are the last table of docs/style.md. It reads the strings of the code with its docstrings, the pages
of docs and the glossary; it does not read names, comments and what stands as code in a page of docs.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = "docs/style.md"
HEADING = "## Phrases that must not come back"
TEXTS = (
    "app.py",
    "dlsched/**/*.py",
    "pages/**/*.py",
    "tools/**/*.py",
    "docs/**/*.md",
    "README.md",
    "data/glossary.csv",
)
QUOTED: Mapping[str, str] = {
    TABLE: "the tables themselves",
    "docs/decisions/": "a decision speaks of its day",
}
"""Where the phrases may stand, by how the path starts, and why."""
UP_TO_FIVE_WORDS = r"(?:\s+\S+){0,5}?\s+"
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def phrases(page: str) -> dict[str, str]:
    """Return what to write instead of each phrase, from the text of docs/style.md."""
    rows = page.partition(HEADING)[2].split("\n|")[3:]
    cells = [row.split("\n")[0].strip("| ").split(" | ") for row in rows]
    return {phrase.strip(): better.strip() for phrase, better in cells}


def pattern(phrase: str) -> re.Pattern[str]:
    """Return what finds a phrase as whole words in any case; one in quotes only as a whole text, case and all."""
    if phrase.startswith('"'):
        return re.compile(rf"\A{re.escape(phrase.strip(chr(34)))}\Z")
    parts = [r"\s+".join(map(re.escape, part.split())) for part in phrase.split("…")]
    return re.compile(rf"(?<!\w){UP_TO_FIVE_WORDS.join(parts)}(?!\w)", re.IGNORECASE)


def texts_of(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file, each with the line it starts in; of an f-string what is filled in is left out."""
    if not path.endswith(".py"):
        yield 1, _CODE.sub(lambda code: "\n" * code[0].count("\n"), source)
        return
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            inside |= {id(part) for part in parts}
            yield node.lineno, "".join(str(part.value) if part in parts else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


def findings(path: str, source: str, wanted: Mapping[str, str]) -> list[str]:
    """Return "file:line: phrase; write: better" for each phrase in a file."""
    patterns = {phrase: pattern(phrase) for phrase in wanted}
    return [
        f"{path}:{line + text[: hit.start()].count(chr(10))}: {phrase}; write: {wanted[phrase]}"
        for line, text in texts_of(path, source)
        for phrase, finder in patterns.items()
        for hit in finder.finditer(text)
    ]


def main(patterns: Sequence[str] = TEXTS) -> int:
    """Print what was found; 1 where there is any."""
    wanted = phrases((ROOT / TABLE).read_text(encoding="utf-8"))
    files = {path.relative_to(ROOT).as_posix(): path for one in patterns for path in sorted(ROOT.glob(one))}
    found = [
        line
        for name, path in files.items()
        if not name.startswith(tuple(QUOTED))
        for line in findings(name, path.read_text(encoding="utf-8"), wanted)
    ]
    print("\n".join(found) or f"Wording: {len(files)} files without the {len(wanted)} phrases of {TABLE}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
