"""Pieces of HTML: every text goes through ``said``, so that nothing a user wrote becomes markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dlsched.wording.formats import cut

LONGEST = 2_000


def said(text: object, longest: int = LONGEST) -> str:
    """Return text as HTML that shows it letter by letter; its lines stay lines, letters that cannot be shown go."""
    return "<br>".join(line(part) for part in str(text).replace("\r\n", "\n")[:longest].split("\n"))


def line(text: object) -> str:
    """Return text as one line of HTML, also for an attribute."""
    return escape(cut(text, LONGEST), quote=True)


def element(tag: str, inner: str, kind: str = "") -> str:
    """Return an element around HTML, with a class; empty where there is nothing in it."""
    named = f' class="{kind}"' if kind else ""
    return f"<{tag}{named}>{inner}</{tag}>" if inner else ""


def listing(items: Iterable[str], kind: str = "") -> str:
    """Return a list of HTML items; empty without any."""
    return element("ul", "".join(f"<li>{item}</li>" for item in items), kind)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "", caption: str = "") -> str:
    """Return a table of HTML cells; the first of each row is its heading. Empty without rows."""
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    if not body:
        return ""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    named = f"<caption>{caption}</caption>" if caption else ""
    return element("table", f"{named}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>", kind)
