"""Importing code from outside: within a time limit, and with one clear message for whatever goes wrong."""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any

from dlsched.domain.errors import DlschedError, InputError
from dlsched.plugins.origin import Origin, origin_of

VARIABLE = "DLSCHED_PLUGINS"
"""Variable with references, as in ``mypkg.mymodule:SPEC,other:SPEC``, which the app and its workers load."""
GROUPS = ("dlsched.policies", "dlsched.readers", "dlsched.speed_models")
_FORM, _WRITE = "is not of the form module:NAME", "Write it as in mypkg.mymodule:SPEC"
LIMIT_S = 30.0
"""An import that takes longer is given up: a page or a command must not wait for ever for code of others."""
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_REFERENCE = re.compile(f"({_NAME}):({_NAME})")


@dataclass(frozen=True, slots=True)
class Found:
    """A thing that was loaded; ``where`` names it in messages, ``reference`` is how it was typed ("" = installed)."""

    thing: Any
    where: str
    origin: Origin
    reference: str = ""


def is_reference(text: str) -> bool:
    """Whether a text has the form ``module:NAME``."""
    return _REFERENCE.fullmatch(text) is not None


def load_reference(reference: str) -> Found:
    """Return what ``module:NAME`` names; the module may be in the current folder.

    Only what a user types or the server's configuration may come here, never a link, a file or an upload.

    Raises
    ------
    InputError
        Bad form, no such module or name, an import that raises or takes longer than :data:`LIMIT_S`.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise InputError(f"plug-in {reference[:120]!r}", _FORM, _WRITE)
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())  # last, so that no file there hides a module of Python or of ours
    module, name = match.groups()
    thing = _load(module, name, f"plug-in {reference}")
    return Found(thing, reference, origin_of(module, _declared_by(module)), reference)


def load_entry_point(point: EntryPoint) -> Found:
    """Return what an entry point names; InputError as :func:`load_reference`."""
    owner = point.dist.name if point.dist is not None else "an unknown distribution"
    where = f"entry point {point.name} of {owner}"
    thing = _load(point.module, point.attr, f"{where}, {point.value}")
    return Found(thing, where, origin_of(point.module, point.dist))


def points_of(group: str) -> Iterator[EntryPoint]:
    """Yield the entry points of a group, in the order of their distributions and names."""
    yield from sorted(entry_points(group=group), key=lambda one: (one.dist.name if one.dist else "", one.name))


def references() -> list[str]:
    """Return the references of the variable :data:`VARIABLE`."""
    return [part.strip() for part in os.environ.get(VARIABLE, "").split(",") if part.strip()]


def with_named(given: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment whose process and its workers load these references too; InputError for a bad form."""
    if not given:
        return dict(environment)
    for reference in given:
        if not is_reference(reference):
            raise InputError(f"--plugin {reference[:120]}", _FORM, _WRITE)
    return {**environment, VARIABLE: ",".join(dict.fromkeys([*references(), *given]))}


def _declared_by(module: str) -> Distribution | None:
    """Return the distribution with an entry point into the same outermost package; quicker than looking at files."""
    top = module.partition(".")[0]
    points = (point for group in GROUPS for point in points_of(group))
    return next((point.dist for point in points if point.module.partition(".")[0] == top), None)


def _load(module: str, name: str, what: str) -> Any:
    loaded = _imported(module, what)
    try:
        return reduce(getattr, name.split("."), loaded) if name else loaded
    except AttributeError:
        public = ", ".join(one for one in vars(loaded) if not one.startswith("_"))
        raise InputError(what, f"module {module} has no {name}", f"It has: {public[:200]}") from None


def _imported(module: str, what: str) -> Any:
    """Return the module, imported in a thread of its own, so that one that hangs can be left behind."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(importlib.import_module(module))
        except BaseException as error:  # also SystemExit: a script that was not meant to be imported
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True, name=f"import-{module}")
    thread.start()
    thread.join(LIMIT_S)
    if not outcome:
        raise InputError(what, f"importing it takes longer than {LIMIT_S:g} s", "Move slow work out of the module")
    if isinstance(outcome[0], BaseException):
        raise _refusal(outcome[0], module, what) from outcome[0]
    return outcome[0]


def _refusal(error: BaseException, module: str, what: str) -> InputError:
    if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
        do = "Check its name, install its package, or start dlsched in the folder of the file"
        return InputError(what, f"there is no module {error.name}", do)
    return InputError(what, f"importing it raised {told(error)}", "Correct it, or uninstall it")


def told(error: BaseException) -> str:
    """Return what was raised and where: ``ValueError: bad width (mymodule.py, line 12)``."""
    if isinstance(error, DlschedError):
        return error.clause
    text = " ".join(str(error).split())[:300]
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith("<frozen")]
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return said if isinstance(error, SyntaxError) else said + where
