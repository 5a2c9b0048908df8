"""Who acts: the name that runs, notes and deletions are kept under, and whether this user may change anything."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Actor:
    """A user; ``name`` is empty where there is no login, ``may_write`` false for a reader.

    ``browser`` identifies the browser of a user without a name; it is not stored, and does not count in comparisons.
    """

    name: str = ""
    may_write: bool = True
    browser: str = field(default="", compare=False)

    @property
    def owner(self) -> str:
        """Whose work is waited for and may be stopped: the user's, or the browser's where there is no login."""
        return self.name or self.browser


NO_LOGIN = Actor()
