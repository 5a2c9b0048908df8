"""The list of reproductions: add one by adding it here."""

from __future__ import annotations

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.studies.reproductions.hell_knee import HELL_KNEE
from dlsched.studies.reproductions.modelarts import MODELARTS
from dlsched.studies.reproductions.path_relinking import PATH_RELINKING
from dlsched.studies.reproductions.pd_ors import PD_ORS
from dlsched.studies.reproductions.reproduction import Reproduction
from dlsched.studies.reproductions.smd import SMD

REPRODUCTIONS: tuple[Reproduction, ...] = (*PATH_RELINKING, *HELL_KNEE, *MODELARTS, *SMD, *PD_ORS)
BY_KEY = {one.key: one for one in REPRODUCTIONS}


def find(key: str) -> Reproduction:
    """Return the reproduction with this key; raise InputError that lists near keys, or all where none is near."""
    if key in BY_KEY:
        return BY_KEY[key]
    hint = names_hint(key.lower().replace("_", "-"), BY_KEY, most=3)
    raise InputError(f"reproduction {key[:60]!r}", "there is no reproduction with this key", hint)
