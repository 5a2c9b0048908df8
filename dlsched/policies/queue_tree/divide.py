"""What each of several queues should have of a whole, as KAI divides it: quota first, the rest by level and weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf


@dataclass(frozen=True, slots=True)
class Claim:
    """What a queue may claim of one resource, in units (GPUs).

    ``nominal``: its quota; ``request``: what it holds and waits for; ``limit``: the most it may have; infinite = none.
    ``weight``: for what is left after the quotas; ``level``: higher ones first. ``usage``: past use as a part of the
    whole. ``created``: older queues go first at a tie, then by name.
    """

    name: str
    nominal: float
    request: float
    weight: float = 1.0
    limit: float = inf
    level: int = 0
    usage: float = 0.0
    created: float = 0.0

    @property
    def wanted(self) -> float:
        """Return the most that the queue can take."""
        return min(self.request, self.limit)


def divide(total: float, claims: Sequence[Claim], past_use: float = 0.0) -> tuple[dict[str, float], float]:
    """Return queue -> target, and what is left over.

    Every queue gets what it wants up to its quota, even beyond the total. What is left goes to the queues of the
    highest level in rounds, by weight and in whole units, until all have what they want or no one got less than it was
    offered; then to the next level. Units that rounding down left go one each, to the largest fraction first.
    ``past_use``: how much past use lowers weights.
    """
    shares = {claim.name: min(claim.nominal, claim.wanted) for claim in claims}
    left = max(0.0, total - sum(shares.values()))
    levels = sorted({claim.level for claim in claims}, reverse=True)
    fractions: dict[int, dict[str, float]] = {}
    for level in levels:
        fractions[level] = {}
        left = _rounds(left, [claim for claim in claims if claim.level == level], shares, fractions[level], past_use)
    by_name = {claim.name: claim for claim in claims}
    for level in levels:
        offered = fractions[level]
        for name in sorted(offered, key=lambda each: (-offered[each], by_name[each].created, each)):
            if left <= 0:
                break
            unit = min(1.0, left)
            shares[name] += unit
            left -= unit
    return shares, left


def _rounds(
    left: float, claims: Sequence[Claim], shares: dict[str, float], fractions: dict[str, float], past_use: float
) -> float:
    """Give to the queues of one level; return what is left. ``fractions``: what rounding down kept from a queue."""
    while left > 0:
        open_claims = [claim for claim in claims if claim.wanted > shares[claim.name]]
        weights = _weights(open_claims, past_use)
        whole = sum(weights.values())
        if whole <= 0:
            break
        offered, again = left, False
        for claim in open_claims:
            if left <= 0:
                break
            wanted = claim.wanted - shares[claim.name]
            fair = offered * (weights[claim.name] / whole)
            if claim.weight == 0:
                continue
            if wanted <= fair:
                given = wanted
                fractions.pop(claim.name, None)
            else:
                given = float(floor(fair))
                if fair > given:
                    fractions[claim.name] = fair - given
            shares[claim.name] += given
            left -= given
            again = again or (given > 0 and wanted < fair)
        if not again:
            break
    return left


def _weights(claims: Sequence[Claim], past_use: float) -> dict[str, float]:
    """Return queue -> weight as a part of all, lowered by past use."""
    whole = sum(claim.weight for claim in claims)
    if whole <= 0:
        return {}
    parts = {claim.name: claim.weight / whole for claim in claims}
    return {claim.name: max(0.0, parts[claim.name] + past_use * (parts[claim.name] - claim.usage)) for claim in claims}
