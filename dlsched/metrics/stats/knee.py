"""Where paying more begins to bring much less: the knee of cost against service."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def knee_of(costs: Sequence[float], services: Sequence[float]) -> int | None:
    """Return the place of the knee among points of the frontier; None if there is none.

    Both are better when lower. Each is scaled to 0..1; the knee is the point furthest below the chord from the
    cheapest point to that with the best service (the rule of Kneedle, Satopaa et al. 2011, without smoothing). It
    depends on which points were tried, and on nothing that anybody wants: a knee is no recommendation.
    """
    cost, service = np.asarray(costs, dtype=float), np.asarray(services, dtype=float)
    if cost.size < 3 or not np.ptp(cost) or not np.ptp(service):
        return None
    scaled_cost = (cost - cost.min()) / np.ptp(cost)
    scaled_service = (service - service.min()) / np.ptp(service)
    below = 1 - scaled_cost - scaled_service  # the chord runs from (0, 1) to (1, 0)
    best = int(np.argmax(below))
    return best if below[best] > 1e-9 else None
