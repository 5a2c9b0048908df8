"""What the sessions of a server share: values by their question, together never above a number of bytes.

Streamlit's own caches count entries, which are a few bytes or a hundred megabytes each, and keep them for good.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from dlsched.studies.byte_cache import ByteCache

P = ParamSpec("P")
R = TypeVar("R")

CHANGES = "changes"

SHARED = ByteCache()
"""What the sessions of this server share."""


def drop_oldest(kept: dict[Any, Any], most: int) -> None:
    """Leave the latest ``most`` entries of a dict that threads share."""
    for key in [*kept][: max(len(kept) - most, 0)]:
        kept.pop(key, None)


def shared(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function answer from :data:`SHARED`; arguments named ``_x`` are not part of the question.

    An argument ``changes`` says in which state of the store it asks: an answer of another state is replaced. Its
    arguments are hashable, and sessions share what it returns: no code may write into it.
    """
    asked = signature(function)
    named = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def answer(*args: P.args, **kwargs: P.kwargs) -> R:
        given = asked.bind(*args, **kwargs)
        given.apply_defaults()
        question = tuple(value for name, value in given.arguments.items() if name[0] != "_" and name != CHANGES)
        return SHARED.get((named, question), lambda: function(*args, **kwargs), given.arguments.get(CHANGES))

    return answer
