"""Training times by linear regression with forward selection (path relinking, Section 2.2), one model a network.

The fit minimises relative errors, because relative errors are what is reported: every row is divided by its measured
time. Folds hold whole configurations, so that a repeated measurement never checks itself; what is reported was
predicted by models whose terms, too, were chosen without the fold (nested cross-validation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints, Texts
from dlsched.speed.terms import FEATURES, GFLOPS, Term, candidates, design

FOLDS = 5
LEAST_CONFIGURATIONS = 8
MOST_TERMS = 12
ROWS_PER_TERM = 3
LEAST_GAIN = 0.02
"""A further term must lower the cross-validated error by this share of it."""
LEAST_ERROR = 1e-9
"""Errors below this are rounding; nothing is gained by another term."""
COLLINEAR = 1e-9
"""A term of which the chosen ones explain all but this share (of squares) adds nothing but noise."""
LEAST_TYPES = 3
"""With fewer GPU types nothing can be said of a type that was not measured."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Profiling runs as columns: ``features`` (rows, len(FEATURES)), NaN where unknown; ``seconds`` measured, > 0."""

    network: Texts
    gpu_type: Texts
    features: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    @cached_property
    def networks(self) -> tuple[str, ...]:
        """Names of the networks, sorted."""
        return tuple(sorted(set(self.network)))

    def where(self, mask: np.ndarray) -> Runs:
        """Return some of the runs."""
        return Runs(self.network[mask], self.gpu_type[mask], self.features[mask], self.seconds[mask])


@dataclass(frozen=True, eq=False)
class NetworkFit:
    """The model of one network and how well it predicts.

    ``coefficients`` belong to ``terms`` divided by ``scales``. ``ranges`` holds what was measured of each feature in
    use, ``fixed`` the only value of a feature that never varied, ``unknown`` features that some row lacks.
    ``predicted`` (rows,) was predicted for each of ``runs`` by a model that had not seen its configuration, ``fold``
    says by which. ``unseen`` holds the error for each GPU type when that type was left out.
    """

    network: str
    runs: Runs
    terms: tuple[Term, ...]
    coefficients: Floats
    scales: Floats
    ranges: Mapping[int, tuple[float, float]]
    fixed: Mapping[int, float]
    unknown: tuple[int, ...]
    predicted: Floats
    fold: Ints
    unseen: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def errors(self) -> Floats:
        """Relative error of each row, as a positive share."""
        return np.abs(self.predicted / self.runs.seconds - 1.0)

    @cached_property
    def mape(self) -> float:
        """Mean absolute relative error, cross-validated."""
        return float(self.errors.mean())

    @cached_property
    def fold_mapes(self) -> Floats:
        """The same of each fold by itself."""
        return np.array([self.errors[self.fold == number].mean() for number in np.unique(self.fold)])

    @property
    def unseen_mape(self) -> float | None:
        """Mean of ``unseen``; None when too few GPU types were measured."""
        return float(np.mean(list(self.unseen.values()))) if self.unseen else None

    @cached_property
    def gpu_types(self) -> tuple[str, ...]:
        """GPU types that were measured, sorted."""
        return tuple(sorted(set(self.runs.gpu_type)))

    def predict(self, features: Floats) -> Floats:
        """Return seconds for rows of features; NaN where the model says 0 or less, or needs a feature that is NaN."""
        with np.errstate(invalid="ignore"):
            seconds = design(features, self.terms) / self.scales @ self.coefficients
            return np.where(seconds > 0, seconds, np.nan)

    def outside(self, features: Floats) -> np.ndarray:
        """Return which rows lie outside what was measured, in any feature in use."""
        beyond = np.zeros(len(features), dtype=bool)
        for feature, (low, high) in self.ranges.items():
            values = features[:, feature]
            beyond |= (values < low * (1 - 1e-9)) | (values > high * (1 + 1e-9))
        return beyond


@dataclass(frozen=True, eq=False)
class Fits:
    """One model a network, sorted by name; ``refused`` says why a network has none."""

    models: tuple[NetworkFit, ...]
    refused: Mapping[str, str]

    def of(self, network: str) -> NetworkFit:
        """Return the model of a network; InputError when it has none."""
        found = next((model for model in self.models if model.network == network), None)
        if found is None:
            why = self.refused.get(network, "has no profiling rows")
            raise InputError(f"network {network[:60]!r}", why, "Add profiling rows")
        return found

    @property
    def rows(self) -> int:
        """Rows of all models."""
        return sum(len(model.runs) for model in self.models)

    @property
    def mape(self) -> float:
        """Mean absolute relative error over all rows."""
        return float(np.concatenate([model.errors for model in self.models]).mean())


def fit_all(runs: Runs) -> Fits:
    """Return a model for every network that has enough rows.

    Raises
    ------
    InputError
        When no network has.
    """
    models, refused = [], {}
    for network in runs.networks:
        try:
            models.append(fit_network(runs.where(runs.network == network)))
        except InputError as error:
            refused[network] = error.why
    if not models:
        network, why = next(iter(refused.items()))
        raise InputError(f"network {network[:60]!r}", why, "Add profiling rows with other GPUs, batch sizes or types")
    return Fits(tuple(models), refused)


def fit_network(runs: Runs) -> NetworkFit:
    """Return the model of the runs of one network.

    Raises
    ------
    InputError
        With fewer than LEAST_CONFIGURATIONS different configurations.
    """
    fold = folds(runs)
    ranges, fixed, unknown = _usable(runs)
    terms = candidates(ranges)
    matrix = design(runs.features, terms)
    predicted = np.empty(len(runs))
    for number in np.unique(fold):
        seen = fold != number
        predicted[~seen] = _predict_left_out(matrix, runs.seconds, fold, seen)
    chosen = select(matrix, runs.seconds, fold)
    coefficients, scales = _coefficients(matrix[:, chosen], runs.seconds)
    return NetworkFit(
        network=str(runs.network[0]),
        runs=runs,
        terms=tuple(terms[place] for place in chosen),
        coefficients=coefficients,
        scales=scales,
        ranges=ranges,
        fixed=fixed,
        unknown=unknown,
        predicted=predicted,
        fold=fold,
        unseen=_unseen(runs, matrix, fold) if GFLOPS in ranges else {},
    )


def folds(runs: Runs) -> Ints:
    """Return the fold of each row; it depends on the configurations there are, not on their order in the file."""
    codes = np.unique(runs.gpu_type.astype(str), return_inverse=True)[1]
    keys = np.column_stack([np.nan_to_num(runs.features), codes])
    distinct, place = np.unique(keys, axis=0, return_inverse=True)
    if len(distinct) < LEAST_CONFIGURATIONS:
        why = (
            f"it has profiling rows of {len(distinct)} different configuration{'s' if len(distinct) > 1 else ''}, but "
            f"a prediction needs at least {LEAST_CONFIGURATIONS}"
        )
        raise InputError(f"network {str(runs.network[0])[:60]!r}", why, "Add profiling rows")
    shuffled = np.random.default_rng(0).permutation(len(distinct)) % FOLDS
    return np.asarray(shuffled[place.ravel()], dtype=np.int64)


def _usable(runs: Runs) -> tuple[dict[int, tuple[float, float]], dict[int, float], tuple[int, ...]]:
    """Return range of each feature that varies, the only value of one that does not, and those not always known."""
    ranges: dict[int, tuple[float, float]] = {}
    fixed: dict[int, float] = {}
    unknown = []
    for feature in range(len(FEATURES)):
        values = runs.features[:, feature]
        if np.isnan(values).any():
            unknown.append(feature)
        elif values.max() > values.min():
            ranges[feature] = (float(values.min()), float(values.max()))
        else:
            fixed[feature] = float(values[0])
    return ranges, fixed, tuple(unknown)


def _predict_left_out(matrix: Floats, seconds: Floats, fold: Ints, seen: np.ndarray) -> Floats:
    """Return what a model chosen and fitted on the rows ``seen`` predicts for the others."""
    chosen = select(matrix[seen], seconds[seen], fold[seen])
    coefficients, scales = _coefficients(matrix[seen][:, chosen], seconds[seen])
    return np.asarray(matrix[~seen][:, chosen] / scales @ coefficients)


def _unseen(runs: Runs, matrix: Floats, fold: Ints) -> dict[str, float]:
    """Return the error for each GPU type predicted from the others; empty with too few types."""
    types = sorted(set(runs.gpu_type))
    if len(types) < LEAST_TYPES:
        return {}
    errors = {}
    for gpu_type in types:
        seen = runs.gpu_type != gpu_type
        if len(np.unique(fold[seen])) > 1:
            predicted = _predict_left_out(matrix, runs.seconds, fold, seen)
            errors[gpu_type] = float(np.abs(predicted / runs.seconds[~seen] - 1.0).mean())
    return errors


def _coefficients(columns: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """Return coefficients of scaled columns that minimise the sum of squared relative errors, and the scales."""
    relative = columns / seconds[:, None]
    scales = np.linalg.norm(relative, axis=0)
    found = np.linalg.lstsq(relative / scales, np.ones(len(seconds)), rcond=1e-10)[0]
    return found, scales


# ---- forward selection ---------------------------------------------------------------------------


class _Fold:
    """One fold under way: candidate columns made orthogonal to the chosen ones, what is left, what is predicted."""

    def __init__(self, columns: Floats, train: np.ndarray) -> None:
        self.seen, self.held = columns[train], columns[~train]
        self.left = np.ones(len(self.seen))
        self.predicted = np.zeros(len(self.held))
        self._before = np.einsum("ij,ij->j", self.seen, self.seen)

    def errors(self) -> tuple[Floats, np.ndarray]:
        """Return the summed error on the held rows with each candidate added, and which add nothing new."""
        squares = np.einsum("ij,ij->j", self.seen, self.seen)
        nothing = squares <= COLLINEAR * self._before
        steps = (self.left @ self.seen) / np.where(nothing, 1.0, squares)
        return np.abs(self.predicted[:, None] + self.held * steps - 1.0).sum(axis=0), nothing

    def add(self, place: int) -> None:
        """Add a candidate and take its direction out of all others."""
        column, held = self.seen[:, place].copy(), self.held[:, place].copy()
        square = column @ column
        step = (column @ self.left) / square
        self.left -= step * column
        self.predicted += step * held
        shares = (column @ self.seen) / square
        self.seen -= np.outer(column, shares)
        self.held -= np.outer(held, shares)


def select(matrix: Floats, seconds: Floats, fold: Ints) -> list[int]:
    """Return the columns chosen by forward selection on the cross-validated error, the constant (column 0) first.

    Stops when the error falls by less than LEAST_GAIN of itself, at MOST_TERMS, or at ROWS_PER_TERM rows a term.
    """
    relative = matrix / seconds[:, None]
    relative = relative / np.linalg.norm(relative, axis=0)
    parts = [_Fold(relative, fold != number) for number in np.unique(fold)]
    for part in parts:
        part.add(0)
    chosen = [0]
    error = sum(float(np.abs(part.predicted - 1.0).sum()) for part in parts) / len(seconds)
    while len(chosen) < min(MOST_TERMS, len(seconds) // ROWS_PER_TERM) and error > LEAST_ERROR:
        found = [part.errors() for part in parts]
        sums = np.sum([errors for errors, _ in found], axis=0) / len(seconds)
        sums[np.any([nothing for _, nothing in found], axis=0)] = np.inf
        best = int(np.argmin(sums))
        if not sums[best] < error * (1 - LEAST_GAIN):
            break
        chosen.append(best)
        error = float(sums[best])
        for part in parts:
            part.add(best)
    return chosen
