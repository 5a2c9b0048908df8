"""Past use of sub-queues, by which a queue with order = usage takes its jobs.

History decays towards what is used now, at every sample. What a job adds by being admitted counts at once, as a
penalty, until the next sample sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf


@dataclass(slots=True)
class PastUse:
    """History and penalties of sub-queues, in units (GPUs, cores, GiB).

    ``weights``: of sub-queues, 1 where none is given; ``resource_weights``: of resources, 1 where none is given.
    """

    half_life_s: float
    sampling_s: float = 300.0
    weights: Mapping[str, float] = field(default_factory=dict)
    resource_weights: Mapping[str, float] = field(default_factory=dict)
    history: dict[str, dict[str, float]] = field(default_factory=dict)
    penalties: dict[str, dict[str, float]] = field(default_factory=dict)

    def of(self, local: str) -> float:
        """Return the past use of a sub-queue over its weight; infinite without weight."""
        weight = self.weights.get(local, 1.0)
        if weight <= 0:
            return inf
        history, penalties = self.history.get(local, {}), self.penalties.get(local, {})
        return (
            sum(
                self.resource_weights.get(resource, 1.0) * (history.get(resource, 0.0) + penalties.get(resource, 0.0))
                for resource in sorted({*history, *penalties})
            )
            / weight
        )

    def admitted(self, local: str, request: Mapping[str, float]) -> None:
        """Count a job that was admitted just now."""
        part = decay(self.sampling_s, self.half_life_s)
        penalties = self.penalties.setdefault(local, {})
        for resource, amount in request.items():
            penalties[resource] = penalties.get(resource, 0.0) + amount * part

    def sample(self, used: Mapping[str, Mapping[str, float]], elapsed_s: float) -> None:
        """Move history towards what each sub-queue uses now; penalties become part of it."""
        part = decay(elapsed_s, self.half_life_s)
        for local in {*self.history, *self.penalties, *used}:
            now, history = used.get(local, {}), self.history.setdefault(local, {})
            penalties = self.penalties.pop(local, {})
            for resource in {*now, *history, *penalties}:
                before = history.get(resource, 0.0)
                history[resource] = before * (1 - part) + now.get(resource, 0.0) * part + penalties.get(resource, 0.0)


def decay(elapsed_s: float, half_life_s: float) -> float:
    """Return the part of history that is forgotten within a time."""
    return 1.0 if half_life_s <= 0 else 1.0 - 0.5 ** (elapsed_s / half_life_s)
