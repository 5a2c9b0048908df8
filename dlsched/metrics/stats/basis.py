"""Where the numbers of several futures come from: it decides what may be said of them (decision 029)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dlsched.domain.model import FrozenModel

Kind = Literal["exact", "recorded", "drawn"]


class Basis(FrozenModel):
    """What futures are futures of.

    ``exact``: nothing is random, future 0 says all. ``recorded``: future 0 is what was recorded, the others are put
    together from it. ``drawn``: every future, the first too, is a draw of a generator or of what is random. Where they
    ``are_replays``, all that is drawn is a second of each run time and of the scheduler's clock.
    """

    kind: Kind = "exact"
    futures: int = Field(0, ge=0, description="Futures beside future 0 that were asked for.")
    days: int = Field(0, ge=0, description="Days of the trace where its whole days are resampled, else 0.")
    are_replays: bool = Field(False, description="Whether futures are replays of what was recorded, shaken a little.")

    @property
    def is_exact(self) -> bool:
        """Whether one future says all."""
        return self.kind == "exact"

    @property
    def is_recorded(self) -> bool:
        """Whether future 0 is what was recorded, so that its numbers come first."""
        return self.kind == "recorded"


EXACT_BASIS = Basis()
