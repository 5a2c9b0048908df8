"""Policies named as ``module:NAME`` where a command takes the key of a policy."""

from __future__ import annotations

import os
import re
from argparse import Namespace

_NAMES = ("policy", "policies", "keys", "baseline", "reference")
"""Options that take one key of a policy or several."""
_TEXTS = ("set", "axes_typed", "param")
"""Options whose texts may hold one: ``policy=KEY``, ``KEY.PARAMETER=VALUE``."""
_REFERENCE = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


def load_references(options: Namespace) -> None:
    """Load the modules that are named in place of policies, and put their keys where they were named.

    What was typed may make code load; a file, a link or an upload never does.

    Raises
    ------
    InputError
        As :func:`dlsched.policies.registry.load`.
    """
    _take_command(options)
    keys: dict[str, str] = {}
    for name in (*_NAMES, *_TEXTS):
        given = getattr(options, name, None)
        if isinstance(given, str):
            setattr(options, name, _with_key(given, keys, name))
        elif isinstance(given, list):
            setattr(options, name, [_with_key(text, keys, name) for text in given])


def _take_command(options: Namespace) -> None:
    """Keep the command line of an external policy for this process and its workers: it is no parameter.

    It is typed as ``--param command=...`` under the policy ``external``, else as ``--param external.command=...``.
    """
    typed = getattr(options, "param", None) or []
    if not any("command=" in text for text in typed):
        return
    from dlsched.policies.external import KEY, VARIABLE

    names = ("command=", f"{KEY}.command=") if getattr(options, "policy", None) == KEY else (f"{KEY}.command=",)
    for text in typed:
        if text.startswith(names):
            os.environ[VARIABLE] = text.partition("=")[2]
    options.param = [text for text in typed if not text.startswith(names)]


def _with_key(text: str, keys: dict[str, str], option: str) -> str:
    """Return a text with the key of a policy where it has a reference; ``keys`` of those that are loaded."""
    if option in _NAMES:
        return _key_of(text, keys) if _REFERENCE.fullmatch(text) else text
    if option == "set":
        return re.sub(rf"(?<=policy=){_REFERENCE.pattern}", lambda match: _key_of(match[0], keys), text)
    known = next((one for one in keys if text.startswith(f"{one}.")), "")
    return keys[known] + text.removeprefix(known) if known else text


def _key_of(reference: str, keys: dict[str, str]) -> str:
    from dlsched.policies import registry  # only where there is one: it loads all policies

    if reference not in keys:
        keys[reference] = registry.load(reference).key
    return keys[reference]
