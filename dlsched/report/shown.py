"""How an answer shows itself in a notebook: its sentence, what limits it, and a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from dlsched.wording.assumptions import Premise
from dlsched.wording.caveats import Caveat, mind_line

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 30


class Shown:
    """An answer with its ``sentence``, ``caveats``, other ``assumptions`` and a ``table``."""

    @property
    def sentence(self) -> str:
        """The answer in a sentence or two, as the page and the command print it."""
        raise NotImplementedError

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must be known together with the sentence, worst first; each has ``label`` and ``why``."""
        raise NotImplementedError

    @property
    def assumptions(self) -> tuple[Premise, ...]:
        """All that the answer rests on: its caveats, then the rest; each has ``label`` and ``why``."""
        raise NotImplementedError

    @property
    def table(self) -> pd.DataFrame:
        """The answer as texts to read; numbers to compute with are in ``frame``."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.sentence, _note(self.caveats))))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence}>"

    def _repr_html_(self) -> str:
        note = _note(self.caveats)
        texts = [f"<p><strong>{escape(self.sentence)}</strong></p>", f"<p>{escape(note)}</p>" if note else ""]
        return "".join([*texts, self.table.head(MOST_ROWS).to_html(index=False, border=0)])


def _note(caveats: Sequence[Caveat]) -> str:
    return mind_line([one.label for one in caveats])
