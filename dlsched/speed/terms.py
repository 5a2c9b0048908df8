"""What a training time is made of: features of a run, and the terms a regression may choose from.

A term is a product of features or their inverses. Iterations enter only as a factor, never as an inverse, so that a
predicted time is linear in them and half the iterations left are half of what grows with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from dlsched.domain.workload import Floats

MOST_FACTORS = 3
"""Features besides the iterations that a product may have."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A number that describes a profiling run: key, the word a user reads, what it means."""

    key: str
    word: str
    help: str


FEATURES = (
    Feature("iterations", "iterations", "Training steps of the run: epochs x samples / batch size."),
    Feature("batch", "batch size", "Samples of one training step."),
    Feature("gflops", "GFLOPS", "Nominal single-precision speed of one GPU in billions of operations per second."),
    Feature("gpus", "GPUs", "GPUs used by the run, all on one node."),
    Feature("disk_s", "disk seconds", "Seconds to load a fixed set of files into a GPU's memory."),
)
ITERATIONS, BATCH, GFLOPS, GPUS, DISK = range(5)

Term = tuple[tuple[int, int], ...]
"""(feature, power 1 or -1) of each factor; empty = the constant."""


def candidates(features: Collection[int]) -> list[Term]:
    """Return the constant, then every term of these features: products first of one, then of two, then of three."""
    plain = list(_products([feature for feature in sorted(features) if feature != ITERATIONS]))
    if ITERATIONS not in features:
        return plain
    return plain + [((ITERATIONS, 1), *term) for term in plain]


def _products(features: list[int]) -> Iterator[Term]:
    for size in range(MOST_FACTORS + 1):
        for chosen in combinations(features, size):
            for powers in product((1, -1), repeat=size):
                yield tuple(zip(chosen, powers, strict=True))


def design(values: Floats, terms: Collection[Term]) -> Floats:
    """Return the value of each term, shape (rows, terms), of features of shape (rows, len(FEATURES))."""
    columns = np.ones((len(values), len(terms)))
    for place, term in enumerate(terms):
        for feature, power in term:
            columns[:, place] *= values[:, feature] if power > 0 else 1.0 / values[:, feature]
    return columns


def words(term: Term) -> str:
    """Return a term as a user reads it: "iterations x batch size / GPUs"."""
    over = [FEATURES[feature].word for feature, power in term if power > 0]
    under = [FEATURES[feature].word for feature, power in term if power < 0]
    if not term:
        return "a constant"
    below = "" if not under else f" / {under[0]}" if len(under) == 1 else f" / ({' × '.join(under)})"
    return (" × ".join(over) or "1") + below
