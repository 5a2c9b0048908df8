"""The config file: where the app is served, how its users are known, and what they may do."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, IPvAnyNetwork, StringConstraints, model_validator

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel

DEFAULT_PATH = Path("~/.dlsched/config.toml")
PATH_VARIABLE = "DLSCHED_CONFIG"
Login = Literal["none", "oidc", "header"]
Role = Literal["planner", "reader"]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


def _not_everyone(network: IPvAnyNetwork) -> IPvAnyNetwork:
    if not network.prefixlen:
        raise ValueError("must name the proxy: with every address allowed, any visitor could send the header")
    return network


def _plain_path(text: str) -> str:
    path = text.strip("/")
    if ".." in path.split("/"):
        raise ValueError("must not go up (..)")
    return path


Network = Annotated[IPvAnyNetwork, AfterValidator(_not_everyone)]
BasePath = Annotated[str, Field(pattern=r"^[A-Za-z0-9._~/-]*$", max_length=200), AfterValidator(_plain_path)]


def folded(names: Iterable[str]) -> frozenset[str]:
    """Return names as they are compared: capitals do not matter."""
    return frozenset(name.strip().casefold() for name in names)


class Access(FrozenModel):
    """The table ``[access]``: the login and the roles."""

    login: Login = Field(
        "none",
        description='`"none"`: no login, everyone who reaches the server may do everything. `"oidc"`: OpenID Connect. '
        '`"header"`: a reverse proxy signs users in and sends their name.',
    )
    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$", max_length=100)] = Field(
        "X-Forwarded-User", description="Header with the user's name, set by the proxy."
    )
    proxies: tuple[Network, ...] = Field(
        (), description="Addresses of the proxy, or networks. The header counts only if the connection comes from one."
    )
    provider: str = Field(
        "", max_length=100, description="Name of the OIDC provider in `secrets.toml`; empty if there is one, unnamed."
    )
    claim: Annotated[str, Field(pattern=r"^\w+$", max_length=100)] = Field(
        "email", description="Claim of the OIDC login that is the user's name."
    )
    planners: tuple[Name, ...] = Field((), description="Users who may change everything. Capitals do not matter.")
    readers: tuple[Name, ...] = Field((), description="Users who may read and download, but not change or compute.")
    others: Literal["refused", "reader", "planner"] = Field(
        "refused", description="Role of users who sign in and are in neither list."
    )
    read_only: bool = Field(
        False, description="No user may change anything; the store is opened for reading, also without a login."
    )

    @model_validator(mode="after")
    def _agree(self) -> Access:
        both = sorted(folded(self.planners) & folded(self.readers))
        if both:
            raise InputError("[access]", f"{both[0]} is a planner and a reader", "Leave the name in one list")
        listed = bool(self.planners or self.readers)
        if self.login == "none" and (listed or self.others != "refused"):
            raise InputError(
                "[access]",
                'planners, readers and others need a login, but login is "none"',
                'Set login = "oidc" or "header", or remove the lists',
            )
        if self.login != "none" and not listed and self.others == "refused":
            raise InputError(
                "[access]",
                "no user may enter: planners and readers are empty, and others are refused",
                'List names under planners, or set others = "reader"',
            )
        return self


class ServerSettings(FrozenModel):
    """The table ``[server]``: where the app is served. Options of the command line come before it."""

    address: Annotated[str, Field(min_length=1, max_length=255)] = Field(
        "127.0.0.1", description="Address to listen on: this machine only, or `0.0.0.0` for all of its addresses."
    )
    port: int = Field(8501, ge=1, le=65_535, description="First port to try.")
    base_path: BasePath = Field("", description="Path below which a proxy serves the app, such as `dlsched`.")
    allowed_hosts: tuple[Name, ...] = Field(
        (), description="Host names under which browsers reach the app; empty for any."
    )
    store: str = Field("", max_length=4096, description="File with the results; empty for `~/.dlsched/results.duckdb`.")


class Config(FrozenModel):
    """The whole file."""

    access: Access = Access()
    server: ServerSettings = ServerSettings()


def read_config(path: str | Path | None = None) -> Config:
    """Return the settings of a file: the argument, else the variable DLSCHED_CONFIG, else ``~/.dlsched/config.toml``.

    Only the last may be missing: all settings have their defaults then.

    Raises
    ------
    InputError
        If the file that was asked for is not there, cannot be read, or is wrong; names the setting.
    """
    asked = str(path or os.environ.get(PATH_VARIABLE) or "")
    file = Path(asked or DEFAULT_PATH).expanduser()
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not asked:
            return Config()
        raise InputError(f"config file {file}", "does not exist", "Check --config or DLSCHED_CONFIG") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"config file {file}", f"cannot be read ({reason})", "Check the file") from error
    return parse_config(text, f"config file {file}")


def parse_config(text: str, what: str = "config file") -> Config:
    """Return the settings of a text in TOML; InputError that names ``what`` and the setting."""
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(what, f"is no TOML ({error})", "Correct that line") from error
    return validated(Config, given, what)
