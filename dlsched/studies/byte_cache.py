"""Values by key, together never above a number of bytes: what a process remembers of what it computed."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np
import pandas as pd

R = TypeVar("R")

MOST_BYTES = 1 << 30
"""Of all values together; one value that is larger is kept alone."""
IDLE_S = 1800.0
"""A value that was not asked for this long is dropped at the next question."""
_LOOKED_AT = 50
"""Elements of a collection that are measured; the others count as much on average."""
_WHOLE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, Enum)
"""What is there anyway, whoever refers to it."""


@dataclass(slots=True)
class _Kept:
    value: Any
    version: Hashable
    size: int
    read_s: float


@dataclass(eq=False)
class ByteCache:
    """Values by key; the least recently used go first when they hold more than ``most_bytes`` together.

    Threads may share it: a value is made once, by the first thread that needs it, while others wait for it.
    """

    most_bytes: int = MOST_BYTES
    idle_s: float = IDLE_S
    clock: Callable[[], float] = time.monotonic
    bytes_held: int = 0
    _kept: OrderedDict[Hashable, _Kept] = field(default_factory=OrderedDict)
    _making: dict[Hashable, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable, make: Callable[[], R], version: Hashable = None) -> R:
        """Return the value of a key, made now where there is none of this version; what ``make`` raises is not kept."""
        with self._lock:
            if (found := self._read(key, version)) is not None:
                return found.value  # type: ignore[no-any-return]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if (found := self._read(key, version)) is not None:
                    return found.value  # type: ignore[no-any-return]
            try:
                value = make()
                size = size_of(value)
                with self._lock:
                    self._keep(key, _Kept(value, version, size, self.clock()))
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return value

    def find(self, key: Hashable) -> Any:
        """Return the value of a key, which counts as used; None if it has none."""
        with self._lock:
            found = self._read(key, None)
        return None if found is None else found.value

    def keep(self, key: Hashable, value: Any) -> None:
        """Keep a value under a key, in the place of another."""
        size = size_of(value)
        with self._lock:
            self._keep(key, _Kept(value, None, size, self.clock()))

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()
            self.bytes_held = 0

    def __len__(self) -> int:
        return len(self._kept)

    def _read(self, key: Hashable, version: Hashable) -> _Kept | None:
        found = self._kept.get(key)
        if found is None or found.version != version:
            return None
        found.read_s = self.clock()
        self._kept.move_to_end(key)
        return found

    def _keep(self, key: Hashable, new: _Kept) -> None:
        now_s = new.read_s
        if (before := self._kept.pop(key, None)) is not None:
            self.bytes_held -= before.size
        self._kept[key] = new
        self.bytes_held += new.size
        while len(self._kept) > 1:
            oldest = next(iter(self._kept))
            if self.bytes_held <= self.most_bytes and now_s - self._kept[oldest].read_s <= self.idle_s:
                break
            self.bytes_held -= self._kept.pop(oldest).size


def size_of(value: Any) -> int:
    """Return about how many bytes a value holds, with all that it refers to; of long collections a part is measured."""
    return _size_of(value, set())


def _size_of(value: Any, seen: set[int]) -> int:
    if isinstance(value, _WHOLE) or id(value) in seen:
        return 0
    if isinstance(value, (str, bytes, int, float, bool, type(None))):
        return sys.getsizeof(value)
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes + (_sum_of(value.ravel(), value.size, seen) if value.dtype.hasobject else 0)
    if isinstance(value, pd.DataFrame):
        columns = [value[name] for name in value.columns]  # all at once: a dropped one would lend its id to the next
        return _sum_of(columns, None, seen) + _size_of(value.index, seen)
    if isinstance(value, (pd.Series, pd.Index)):
        inside = _sum_of(value.array, len(value), seen) if value.dtype == object else 0
        return int(value.memory_usage(deep=False)) + inside
    held = sys.getsizeof(value, 64)
    if isinstance(value, dict):
        return held + _sum_of(value.keys(), len(value), seen) + _sum_of(value.values(), len(value), seen)
    if isinstance(value, (list, tuple, set, frozenset)):
        return held + _sum_of(value, len(value), seen)
    slots = [getattr(value, one.name, None) for one in fields(value)] if is_dataclass(value) else ()
    return held + _sum_of((*getattr(value, "__dict__", {}).values(), *slots), None, seen)


def _sum_of(values: Iterable[Any], count: int | None, seen: set[int]) -> int:
    """Return the bytes of all ``count`` values, from the first of them; None measures each."""
    if count is None or count <= _LOOKED_AT:
        return sum(_size_of(value, seen) for value in values)
    return round(sum(_size_of(value, seen) for value in islice(values, _LOOKED_AT)) * count / _LOOKED_AT)
