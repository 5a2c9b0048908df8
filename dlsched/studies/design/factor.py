"""A change of a scenario that can be named: its key, its unit, its bounds, and the edit itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario

Kind = Literal["whole", "number", "names"]
Turn = Literal["days", "demand", "terms", "usual", "failures"]
"""When a factor is applied: days before all else, then how many jobs there are, then what others change further: terms
and prices of nodes; failures of what the others leave."""
Role = Literal["condition", "option"]
"""A condition happens to the planner: demand, run times, prices, failures. An option is what the planner chooses."""
Value = float | str
Edit = Callable[[Scenario, Any, int], Scenario]
"""From a scenario, a checked value and the seed of the draw to the changed scenario."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A line of the table.

    ``unit`` of the value, "x" = a factor, "" = a share or names; ``low`` and ``high`` bound numbers, ``above`` whether
    ``low`` itself is out; ``role`` whether it happens or is chosen; ``of_jobs`` whether it edits the jobs,
    ``per_draw`` whether it draws something of its own.
    ``choices`` are the texts that a value may be: of kind names () = any, of a number beside numbers.
    ``base``: a number with a sign is added to it; None = a sign has no meaning of its own.
    ``own`` returns the value a scenario has, at which nothing changes.
    """

    key: str
    label: str
    unit: str
    kind: Kind
    low: float
    high: float
    help: str
    edit: Edit
    role: Role = "condition"
    above: bool = False
    of_jobs: bool = False
    per_draw: bool = False
    turn: Turn = "usual"
    choices: tuple[str, ...] = ()
    base: float | None = None
    own: Callable[[Scenario], Value | None] = lambda _: None

    @property
    def is_of_draw(self) -> bool:
        """Whether it changes jobs as they were drawn: failures count from the first submission of a draw too."""
        return self.of_jobs or self.turn == "failures"

    def read(self, value: Value) -> Value:
        """Return the value as its kind holds it; InputError naming the change for one out of range."""
        what = f"change {self.key}"
        if value in self.choices:
            return value
        if self.kind == "names" and self.choices:
            why = f"must be one of {', '.join(self.choices)}, got {value!r:.80}"
            raise InputError(what, why, names_hint(str(value), self.choices))
        if self.kind == "names":
            if not names_of(str(value)):
                raise InputError(what, "needs at least one name", "Join names with +")
            return "+".join(names_of(str(value)))
        try:
            number = float(value)
        except (TypeError, ValueError):
            texts = "".join(f" or {text}" for text in self.choices)
            raise InputError(what, f"must be a number{texts}, got {value!r:.80}", f"Give a number{texts}") from None
        has_sign = number < 0 or str(value).strip()[:1] in ("+", "-")
        if has_sign and self.base is None and self.choices:
            raise InputError(what, f"has no number that {value!s:.40} can be added to", "Give a number without a sign")
        if has_sign and self.base is not None:
            number += self.base
        if self.kind == "whole" and not number.is_integer():  # nor is "nan" or "inf"
            raise InputError(what, f"must be a whole number, got {value!r:.80}", "Give a whole number")
        if not (self.low <= number <= self.high) or (self.above and number == self.low):
            least = f"above {self.low:g}" if self.above else f"at least {self.low:g}"
            raise InputError(what, f"must be {least} and at most {self.high:g}, got {number:g}", "Correct the value")
        return int(number) if self.kind == "whole" else number


def names_of(text: str) -> list[str]:
    """Return the names of "a+b"."""
    return [name.strip() for name in text.split("+") if name.strip()]
