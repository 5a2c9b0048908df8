"""Where a module comes from: its distribution and version, and a hash of the sources that decide what it answers."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import Distribution, packages_distributions, version
from pathlib import Path

_CODE = frozenset({".py", ".pyx", ".so", ".pyd", ".dll", ".dylib"})
_SHOWN_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Origin:
    """``name`` and ``version`` of a distribution; of a module without one its name, and no version. ``digest``: of its
    sources as they were loaded.
    """

    name: str
    version: str
    digest: str

    @property
    def words(self) -> str:
        """What a user is shown: ``mypkg 1.0``, or ``mymodule (file hash 1a2b3c)`` without a distribution."""
        return (
            f"{self.name} {self.version}" if self.version else f"{self.name} (file hash {self.digest[:_SHOWN_DIGITS]})"
        )

    @property
    def fingerprint(self) -> str:
        """What keys of answers hold: another version or another source is another fingerprint."""
        return f"{self.name} {self.version}+{self.digest}"


def origin_of(module: str, distribution: Distribution | None = None) -> Origin:
    """Return where an imported module comes from; ``distribution``: the one that declares it, if that is known."""
    digest = _digest(source_files(module))
    if distribution is not None:
        return Origin(distribution.name, distribution.version, digest)
    names = sorted(packages_distributions().get(module.partition(".")[0], ()))
    return Origin(names[0], version(names[0]), digest) if names else Origin(module, "", digest)


def source_files(module: str) -> list[tuple[str, Path]]:
    """Return the files that are taken for the sources of an imported module, each with its name in the hash.

    Of a package all code in the folder of its outermost regular package; of a single module its file and the modules
    beside it that it imports.
    """
    package = module
    while (parent := package.rpartition(".")[0]) and getattr(sys.modules.get(parent), "__file__", None):
        package = parent
    given = getattr(sys.modules[package], "__file__", None)
    if given is None:
        return []
    file = Path(given)
    return _of_folder(file.parent) if file.stem == "__init__" else _of_file(file)


def _of_folder(folder: Path) -> list[tuple[str, Path]]:
    return [(f"{folder.name}/{file.relative_to(folder).as_posix()}", file)
            for file in sorted(folder.rglob("*")) if file.suffix in _CODE and file.is_file()]  # fmt: skip


def _of_file(file: Path) -> list[tuple[str, Path]]:
    """Return a file and what it imports from its own folder, and so on; each once."""
    found: dict[str, Path] = {}
    todo = [file]
    while todo:
        one = todo.pop()
        if one.name in found:
            continue
        found[one.name] = one
        for name in _imported(one):
            beside = one.parent / f"{name}.py"
            if beside.is_file():
                todo.append(beside)
            elif (one.parent / name / "__init__.py").is_file():
                found |= dict(_of_folder(one.parent / name))
    return sorted(found.items())


def _imported(file: Path) -> set[str]:
    """Return the outermost names that a source imports; none of one that is not Python."""
    if file.suffix != ".py":
        return set()
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    digest = blake2b(digest_size=6)
    for name, file in files:
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
