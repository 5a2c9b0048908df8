"""Which code made a result: the package's version and a hash of the sources that can change a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import dlsched
from dlsched.domain.errors import InputError
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.speed import outside as speed
from dlsched.store.record import VERSIONS_JOINED_BY

# Not the readers: what they read is in the scenario's hash. Not pages, figures, store: they change no number.
INFLUENCE = (
    *("domain", "speed", "placement", "optimise", "policies", "sim", "metrics"),
    *("workload/generators", "workload/studies"),
)


@lru_cache(maxsize=32)
def code_version(more: tuple[str, ...] = ()) -> str:
    """Return version and source hash, as in ``0.1.0+3f2a9c1d04e7``; runs of another one are shown as older.

    ``more`` names folders that decide an answer beyond a run.
    """
    root = Path(dlsched.__file__).parent
    digest = blake2b(digest_size=6)
    for folder in (*INFLUENCE, *more):
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{dlsched.__version__}+{digest.hexdigest()}"


def version_of(scenario: Scenario | None, policies: Iterable[str], more: tuple[str, ...] = ()) -> str:
    """Return the version of all code that decides an answer: ours, and the plug-ins of its policies and speed model.

    As in ``1.0.0+3f2a9c1d04e7 | mypkg 1.0+1a2b3c4d5e6f``; InputError for a policy or speed model that is not here.
    """
    outside = {one.fingerprint for one in _deciding(scenario, policies)}
    return VERSIONS_JOINED_BY.join([code_version(more), *sorted(outside)])


def origins_of(scenario: Scenario | None, policies: Iterable[str]) -> str:
    """Return where the plug-ins come from that decide an answer, as in "mypkg 1.0, other 2.1"; "" without one."""
    return ", ".join(dict.fromkeys(one.origin for one in _deciding(scenario, policies)))


def _deciding(scenario: Scenario | None, policies: Iterable[str]) -> list[PolicySpec | speed.SpeedModelSpec]:
    """Return the policies and the speed model from outside that decide an answer."""
    model = None if scenario is None else speed.model_of(scenario.speed)
    found = [*(spec for key in policies if (spec := registry.find(key)).origin), model]
    return [one for one in found if one is not None]


def version_today(scenario: Scenario, policy: str) -> str | None:
    """Return :func:`version_of` a run; None if its policy or speed model is not here."""
    try:
        return version_of(scenario, [policy])
    except InputError:
        return None


def plugin_versions() -> set[str]:
    """Return what the versions of answers say of the plug-ins that are here."""
    return registry.outside_fingerprints() | speed.outside_fingerprints()


def is_older(version: str, more: tuple[str, ...] = ()) -> bool:
    """Whether an answer was made by other code than today's: ours, or that of a plug-in."""
    ours, *outside = version.split(VERSIONS_JOINED_BY)
    return ours != code_version(more) or (bool(outside) and not plugin_versions().issuperset(outside))


def policies_in(plain: Any) -> list[str]:
    """Return the keys of policies from outside that plain data names anywhere."""
    outside = {spec.key for spec in registry.outside()}
    return sorted(outside & set(_texts(plain))) if outside else []


def _texts(plain: Any) -> Iterator[str]:
    if isinstance(plain, str):
        yield plain
    elif isinstance(plain, Mapping):
        yield from (text for part in (*plain, *plain.values()) for text in _texts(part))
    elif isinstance(plain, (list, tuple)):
        yield from (text for part in plain for text in _texts(part))
