"""What a scenario assumes where its data did not say: the rule in words, what it is about, since when."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Literal

from pydantic import model_validator

from dlsched.domain.model import FrozenModel

Kind = Literal[
    "rule", "found-cluster", "default-cluster", "earlier-cluster", "example-price", "list-prices", "predicted-times",
    "speed-curve", "bandwidth", "varied", "due-dates", "lateness-costs", "priorities", "users", "time-limits", "slurm",
    "energy",
]  # fmt: skip
EXAMPLE_PRICE = "example price, not a quote"
"""How prices are called that are about what a GPU is rented for, wherever they are used."""
LEADS: dict[Kind, str] = {
    "found-cluster": "Cluster",
    "default-cluster": "Default cluster",
    "earlier-cluster": "Default cluster of earlier jobs",
    "speed-curve": "speed curve",
    "slurm": "Slurm",
    "energy": "Energy",
    "varied": "varied",
}
"""How the words of a kind start."""
FILLED: dict[Kind, tuple[str, ...]] = {
    "due-dates": ("due dates: ", "due = "),
    "lateness-costs": ("cost of lateness: ", "an hour late costs "),
    "priorities": ("priority: ",),
    "users": ("users: ",),
    "time-limits": ("time limits: ",),
}
"""How the text of a rule starts that filled a column of the jobs; the second one in older scenarios."""


class Assumption(FrozenModel):
    """A rule that filled what the data did not say.

    ``kind``: what it is about, so that it ends when that is described; "rule" for all that stays with the jobs.
    ``since``: the day of the prices it speaks of. A plain text, as older scenarios hold, is read as what it was.
    """

    kind: Kind = "rule"
    text: str
    since: date | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, given: Any) -> Any:
        return _parts_of_text(given) if isinstance(given, str) else given

    @property
    def words(self) -> str:
        """The assumption as it is shown."""
        return f"{LEADS[self.kind]}: {self.text}" if self.kind in LEADS else self.text

    @property
    def is_about_default_cluster(self) -> bool:
        """Whether it says that the cluster is a default one, not described."""
        return self.kind in ("default-cluster", "earlier-cluster")

    @property
    def is_cluster_of_log(self) -> bool:
        """Whether it says that the cluster is what the jobs of the log ran on."""
        return self.kind == "found-cluster" and self.text.startswith(("from the log (", "from the log."))

    @property
    def is_about_prices(self) -> bool:
        """Whether it says where prices come from."""
        return self.kind in ("example-price", "list-prices")

    @property
    def is_example_price(self) -> bool:
        """Whether it says that prices are examples, which were neither typed nor quoted."""
        return self.kind == "example-price" or (self.kind == "list-prices" and EXAMPLE_PRICE in self.text)

    @property
    def is_about_cluster(self) -> bool:
        """Whether it says what the cluster is, or where its prices come from."""
        return self.kind == "found-cluster" or self.is_about_default_cluster or self.is_about_prices

    @property
    def is_about_speed(self) -> bool:
        """Whether it says how run times follow from GPUs."""
        return self.kind in ("predicted-times", "speed-curve")

    def plain(self) -> str | dict[str, Any]:
        """Return it as scenario files hold it: a text where that is read as the same, else its fields."""
        if self.kind in ("rule", *FILLED) and Assumption.model_validate(self.text) == self:
            return self.text
        return self.model_dump(mode="json", exclude_none=True)


def stated(*given: str | Assumption) -> tuple[Assumption, ...]:
    """Return assumptions; a text is a rule, perhaps one that filled a column."""
    return tuple(rule_of(one) if isinstance(one, str) else one for one in given)


def rule_of(text: str) -> Assumption:
    """Return a rule that was followed, of the kind of the column that it filled."""
    filled = next((kind for kind, leads in FILLED.items() if text.startswith(leads)), None)
    return Assumption(kind=filled or "rule", text=text)


def with_other_jobs(assumptions: tuple[Assumption, ...]) -> tuple[Assumption, ...]:
    """Return the assumptions about a cluster that stay when it gets other jobs."""
    kept = [one for one in assumptions if one.is_about_cluster or one.kind == "slurm"]
    return tuple(
        one.model_copy(update={"kind": "earlier-cluster"}) if one.kind == "default-cluster" else one for one in kept
    )


# ---- texts of older scenarios ------------------------------------------------------------------------

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def _parts_of_text(text: str) -> dict[str, Any]:
    """Return the fields of an assumption that was kept as a text."""
    for kind, lead in LEADS.items():
        if text.startswith(f"{lead}: "):
            return {"kind": kind, "text": text[len(lead) + 2 :]}
    if "list prices " in text:
        return {"kind": "list-prices", "text": text, "since": _day_of(text)}
    if EXAMPLE_PRICE in text:
        return {"kind": "example-price", "text": text}
    if text.startswith("times predicted"):
        return {"kind": "predicted-times", "text": text}
    return {"kind": "bandwidth", "text": text} if text.startswith("bandwidth") else rule_of(text).model_dump()


def _day_of(text: str) -> date | None:
    for day in _DAY.findall(text):
        try:
            return date.fromisoformat(day)
        except ValueError:
            continue
    return None
