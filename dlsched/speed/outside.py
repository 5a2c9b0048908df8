"""Speed models from outside: what one declares, how it is found, and a watch over what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel

from dlsched.domain.cluster import VmType
from dlsched.domain.errors import DlschedError, InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.names import names_hint
from dlsched.domain.policy import NoParams
from dlsched.domain.scenario import KIND_PATTERN, SpeedKind, SpeedSpec
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.plugins import Catalogue, Problem
from dlsched.plugins.loading import told
from dlsched.speed.model import SpeedModel


@dataclass(frozen=True, slots=True)
class SpeedModelSpec:
    """A speed model from outside, as an entry point of ``dlsched.speed_models`` names it.

    ``key`` is the ``kind`` of a scenario's speed. ``build(params, workload, vm_types)`` returns the model of
    a workload, ``params`` being the checked values of the scenario's ``speed.params``. ``origin`` and ``fingerprint``
    are filled when it is found.
    """

    key: str
    label: str
    summary: str
    build: Callable[[Any, Workload, Sequence[VmType]], SpeedModel]
    params: type[FrozenModel] = NoParams
    origin: str = ""
    fingerprint: str = ""


OWN_KINDS: tuple[str, ...] = get_args(SpeedKind)


def _fault(spec: Any) -> str:
    if not isinstance(spec.key, str) or not re.fullmatch(KIND_PATTERN, spec.key):
        return "its key must be lower-case letters, digits, ., - and _, at most 80"
    if not (isinstance(spec.params, type) and issubclass(spec.params, BaseModel)):
        return "params must be a pydantic model, as a subclass of dlsched.domain.model.FrozenModel"
    return "" if callable(spec.build) else "build must be callable"


_OUTSIDE = Catalogue("dlsched.speed_models", "speed model", SpeedModelSpec, lambda: OWN_KINDS, _fault)


def outside_models() -> tuple[SpeedModelSpec, ...]:
    """Return the speed models of plug-ins."""
    return tuple(_OUTSIDE.all().values())


def problems() -> tuple[Problem, ...]:
    """Return the plug-ins whose speed models cannot be used, each with its error."""
    return _OUTSIDE.problems()


def model_of(spec: SpeedSpec) -> SpeedModelSpec | None:
    """Return the model from outside of a scenario's speed, None if it is one of ours.

    Raises
    ------
    InputError
        A kind that is not here, with near names, or parameters that it does not have.
    """
    if spec.kind in OWN_KINDS:
        return None
    found = _OUTSIDE.find(spec.kind)
    if found is None:
        known = [*OWN_KINDS, *(one.key for one in outside_models())]
        do = f"{names_hint(spec.kind, known)}, or install the package that brings it"
        raise InputError(f"speed, kind {spec.kind!r}", "no speed model has this name", do)
    return found


def described(spec: SpeedSpec) -> str:
    """Return label and origin of a speed model from outside, as in "Amdahl from mypkg 1.0"."""
    try:
        found = model_of(spec)
    except InputError:
        return f"{spec.kind}, which is not installed here"
    return spec.kind if found is None else f"{found.label} from {found.origin}"


def check_speed(spec: SpeedSpec) -> None:
    """Raise InputError for a speed model that is not here or does not take the parameters."""
    if (found := model_of(spec)) is not None:
        validated(found.params, spec.params, f"speed model {found.key}")


def outside_fingerprints() -> set[str]:
    """Return the fingerprints of the speed models from outside, as they are in this process."""
    return _OUTSIDE.fingerprints()


class WatchedModel:
    """A speed model from outside: what goes wrong in it is an error with its name, and its rates are numbers."""

    def __init__(self, spec: SpeedModelSpec, given: SpeedSpec, workload: Workload, vm_types: Sequence[VmType]) -> None:
        self._name, self._jobs = f"speed model {spec.key} from {spec.origin}", len(workload)
        params = validated(spec.params, given.params, f"speed model {spec.key}")
        self._model: SpeedModel = self._asked(lambda: spec.build(params, workload, vm_types))
        low, high = self._asked(self._model.limits)
        self._limits = self._whole(low), self._whole(high)
        if (self._limits[0] < 1).any() or (self._limits[0] > self._limits[1]).any():
            raise self._refused("limits must be at least 1, and the smallest at most the largest")

    def limits(self) -> tuple[Ints, Ints]:
        """Return the smallest and the largest legal width."""
        return self._limits

    def legal(self, row: int, workers: int, servers: int) -> bool:
        """Whether a width is legal on some machine type."""
        return bool(self._asked(lambda: self._model.legal(row, workers, servers)))

    def rate(self, row: int, workers: int, servers: int, vms: Collection[int], nodes: int = 1) -> float:
        """Return work per second of a gang."""
        return float(self._rates(lambda: self._model.rate(row, workers, servers, vms, nodes), ()))

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return work per second on reference nodes."""
        return self._rates(lambda: self._model.rates(rows, workers), np.shape(rows))

    def rates_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Return work per second on one machine type."""
        return self._rates(lambda: self._model.rates_on(rows, workers, vm), np.shape(rows))

    def fastest(self) -> Floats:
        """Return the largest rate of each job."""
        return self._rates(self._model.fastest, (self._jobs,))

    def _rates(self, call: Callable[[], Any], shape: tuple[int, ...]) -> Floats:
        try:
            rates = np.asarray(self._asked(call), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._refused("rates must be numbers") from error
        if rates.shape != shape:
            raise self._refused(f"rates must have shape {shape}, got {rates.shape}")
        if not (np.isfinite(rates) & (rates >= 0)).all():
            raise self._refused("rates must be finite and at least 0")
        return rates

    def _whole(self, values: Any) -> Ints:
        array = np.asarray(values)
        if array.shape != (self._jobs,) or array.dtype.kind not in "iu":
            raise self._refused("limits must be two arrays of whole numbers, one a job")
        return array.astype(np.int64)

    def _asked(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except DlschedError:
            raise
        except Exception as error:
            raise self._refused(f"raised {told(error)}") from error

    def _refused(self, why: str) -> InputError:
        return InputError(self._name, why, "Correct it, or choose another speed model")
