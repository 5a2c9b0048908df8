"""What the app was started with: ``--store FILE``, ``--config FILE``, ``--read-only``, and the config file itself."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from functools import lru_cache

from dlsched.access.config import PATH_VARIABLE, Access, Config, read_config


@dataclass(frozen=True)
class Options:
    """What follows ``streamlit run app.py --``."""

    store: str | None
    config: str | None
    read_only: bool


def options() -> Options:
    """Return what the app was started with; what it does not know is left to others."""
    return _parsed(tuple(sys.argv[1:]))


@lru_cache(maxsize=4)  # pages ask some hundred times
def _parsed(args: tuple[str, ...]) -> Options:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--store")
    parser.add_argument("--config")
    parser.add_argument("--read-only", action="store_true")
    found, _ = parser.parse_known_args(list(args))
    return Options(found.store, found.config, found.read_only)


@lru_cache(maxsize=4)
def _read(path: str | None, variable: str | None) -> Config:
    return read_config(path or variable)


def config() -> Config:
    """Return the settings of the config file, as they were when the server started; InputError where it is wrong."""
    return _read(options().config, os.environ.get(PATH_VARIABLE))


def access() -> Access:
    """Return the login and the roles; ``--read-only`` comes before the file."""
    found = config().access
    return found.model_copy(update={"read_only": True}) if options().read_only else found
