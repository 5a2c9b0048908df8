"""The package as a user gets it: built, installed in an environment of its own, which nobody may write to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from numba.core.caching import UserWideCacheLocator

from dlsched.files import PACKAGE

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = "fairness"
"""The kept function that an installation has to compile anew: the quickest."""


@dataclass(frozen=True)
class Installation:
    """An environment with the wheel; ``home`` is the user's folder, ``elsewhere`` where commands are typed."""

    env: Path
    wheel: Path
    home: Path
    elsewhere: Path

    @property
    def packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.env)}))

    @property
    def code_cache(self) -> Path:
        return self.home / ".cache" / "numba"

    def command(self, program: str, *args: str) -> list[str]:
        """Return the command line of a program of the environment, for a user who may not write where it is."""
        # The superuser writes anywhere, unless this right is taken away.
        bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"] if os.geteuid() == 0 else []
        return [*bound, str(self.env / "bin" / program), *args]

    def environment(self, **changes: str) -> dict[str, str]:
        """Return the variables of that user: none of the tests' own."""
        taken = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DLSCHED", "XDG"))}
        return taken | {"HOME": str(self.home)} | changes

    def run(self, program: str, *args: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(program, *args), capture_output=True, text=True, check=False, cwd=self.elsewhere,
            env=self.environment(**changes),
        )  # fmt: skip

    def files(self) -> set[Path]:
        return {*self.env.rglob("*")}


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build a "wheel" or "sdist" with hatchling and return the file."""
    tool = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(tool, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel made from the source archive, which therefore holds all that is needed."""
    folder = tmp_path_factory.mktemp("dist")
    with tarfile.open(build("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    return build("wheel", next(path for path in folder.iterdir() if path.is_dir()), folder)


@pytest.fixture(scope="session")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Install the wheel beside the dependencies that are here already, and take the right to write away."""
    if os.name != "posix":
        pytest.skip("needs the permissions of POSIX")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("the superuser needs setpriv (util-linux) to be kept from writing")
    folder = tmp_path_factory.mktemp("installed")
    made = Installation(folder / "env", wheel, folder / "home", folder / "elsewhere")
    venv.create(made.env, symlinks=True)
    for path in (made.home, made.elsewhere):
        path.mkdir()
    python = str(made.env / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    (made.packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    take_compiled_code(made)
    allow_writing(made.env, allowed=False)
    yield made
    allow_writing(made.env, allowed=True)


def take_compiled_code(made: Installation) -> None:
    """Put what is compiled here where the user's would be: compiling all of it takes minutes."""
    for kept in PACKAGE.rglob("__pycache__/*.nb[ic]"):
        if not kept.name.startswith(LEFT_OUT):
            source = made.packages / "dlsched" / kept.parents[1].relative_to(PACKAGE) / "source.py"
            there = made.code_cache / UserWideCacheLocator.get_suitable_cache_subpath(str(source))
            there.mkdir(parents=True, exist_ok=True)
            shutil.copy(kept, there)


def allow_writing(folder: Path, *, allowed: bool) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o200 if allowed else path.stat().st_mode & 0o555)
