"""Errors a user can meet. Each names the thing, the rule, the value and the way out.

DlschedError
├── InputError        something the user gave cannot be used
│   └── Unforeseen    a library raised it while a file was read
├── PlanError         a policy asked for something impossible: a bug in the policy
├── StaleAnswer       a stored answer that today's code cannot read
├── StoreError        the result store cannot be used
│   ├── NotAllowed    this user may read it, but not change it
│   └── StoreInUse    another process has its file
└── AccessRefused     this user may not use the server
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

DAMAGED = (OSError, EOFError, ValueError, RuntimeError, struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What the packages that unpack raise about damaged content."""
_Model = TypeVar("_Model", bound=BaseModel)


class DlschedError(Exception):
    """Base of every error this package raises on purpose."""

    @property
    def clause(self) -> str:
        """The message as a part of a sentence: without its full stop."""
        return str(self).removesuffix(".")


class InputError(DlschedError, ValueError):
    """Input that cannot be used.

    Parameters
    ----------
    what
        The thing: "row 17, column due_s".
    why
        The rule and the value that broke it: "due 120 s is before submission 300 s".
    do
        The way out: "correct the row, or drop the 4 rows like it".
    """

    def __init__(self, what: str, why: str, do: str = "") -> None:
        self.what, self.why, self.do = map(_writable, (what, why, do))
        super().__init__(f"{self.what}: {self.why}." + (f" {self.do}." if do else ""))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        return type(self), (self.what, self.why, self.do)


class Unforeseen(InputError):
    """Something that a library raised about a file and no reader expected: a reader should say it better."""


class PlanError(DlschedError):
    """A plan that cannot be carried out; names the time, the node, the resource, the use and the capacity."""


class StaleAnswer(DlschedError):
    """A stored question or answer that an older version wrote and today's code cannot read. ``label``: of the study."""

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(f"{label}: this answer was made by an older version of this program. Ask again.")

    def __reduce__(self) -> tuple[type[StaleAnswer], tuple[str]]:
        return type(self), (self.label,)


class StoreError(DlschedError):
    """The result store cannot be used: in use by another process, too new, or damaged."""


class NotAllowed(StoreError):
    """The user may read, but not change or compute anything."""


class StoreInUse(StoreError):
    """Another process has the file of the store."""


class AccessRefused(DlschedError):
    """The user may not use the server at all."""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever is raised while ``what`` (as in "file jobs.csv") is read into one InputError.

    The only place for it: readers catch what they can explain better. What is left becomes :class:`Unforeseen`, with
    the error of the library as its cause.
    """
    try:
        yield
    except DlschedError:
        raise
    except ValidationError as error:
        raise from_validation(what, error) from error
    except MemoryError as error:
        raise InputError(what, "reading it needs more memory than is available", "Give a smaller part of it") from error
    except RecursionError as error:
        raise InputError(what, "it is nested too deep", "Export it again, or flatten it") from error
    except Exception as error:
        why = (
            f"it is damaged or unusual and cannot be read ({type(error).__name__}: {' '.join(str(error).split()):.120})"
        )
        raise Unforeseen(what, why, "Export it again, or in another format") from error


def _writable(text: str) -> str:
    """Return a text without lone surrogates, which no terminal, file or page can show."""
    return text.encode("utf-8", "backslashreplace").decode()


def from_validation(what: str, error: ValidationError) -> InputError:
    """Return the first complaint of a parameter model as one plain sentence."""
    first = error.errors(include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    where = ".".join(str(part)[:80] for part in first["loc"])[:200]
    if isinstance(cause, InputError):  # it names the thing itself, but not which of several it is in
        return InputError(f"{what}, {where}, {cause.what}", cause.why, cause.do) if len(first["loc"]) > 1 else cause
    given = first.get("input")
    value = "" if isinstance(given, (dict, list, tuple)) else f", got {given!r:.80}"
    message = first["msg"].removeprefix("Value error, ")
    more = f" (and {len(error.errors()) - 1} more)" if len(error.errors()) > 1 else ""
    return InputError(f"{what}, {where}" if where else what, f"{message}{value}{more}", "Correct the value")


def validated(model: type[_Model], given: Any, what: str) -> _Model:
    """Return plain values as a checked model; InputError that names ``what`` and the field."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise from_validation(what, error) from error
