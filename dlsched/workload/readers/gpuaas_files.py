"""Where the three tables of a GPU-as-a-service instance are: a folder, or a zip archive of one."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from dlsched.domain.errors import InputError
from dlsched.workload.readers.gpuaas import FILES, InstanceRead, read_instance
from dlsched.workload.readers.source import MAX_BYTES


def is_instance_folder(folder: Path) -> bool:
    """Whether a folder holds any of the tables."""
    return any((folder / name).is_file() for name in FILES)


def read_instance_folder(folder: Path) -> InstanceRead:
    """Return the instance of a folder, named after it; InputError naming what is wrong."""
    files: dict[str, Path | bytes] = {name: folder / name for name in FILES if (folder / name).is_file()}
    return read_instance(files, folder.resolve().name or "instance")


def is_instance_zip(source: Path | bytes) -> bool:
    """Whether a file or bytes are a zip archive that holds any of the tables."""
    try:
        with _opened(source) as archive:
            return any(_base(member.filename) in FILES for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError):
        return False


def read_instance_zip(source: Path | bytes, name: str) -> InstanceRead:
    """Return the instance of a zip archive. Only the three tables are unfolded, in memory, each up to the limit.

    Raises
    ------
    InputError
        A table is missing, there twice, too large, damaged or behind a password; else as :func:`read_instance`.
    """
    files: dict[str, Path | bytes] = {}
    try:
        with _opened(source) as archive:
            for member in archive.infolist():
                base = _base(member.filename)
                if base in files:
                    raise InputError(f"file {name}", f"the archive holds {base} twice", "Pack one instance")
                if base in FILES:
                    files[base] = _content(archive, member, name)
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError) as error:
        raise InputError(f"file {name}", "its zip compression is damaged", "Pack it again") from error
    return read_instance(files, PurePosixPath(name).stem or "instance")


def _opened(source: Path | bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)


def _base(path: str) -> str:
    """Return the last part of a member's path, nothing for side files of macOS: paths are never followed."""
    return "" if path.startswith("__MACOSX/") else PurePosixPath(path.replace("\\", "/")).name


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    if member.flag_bits & 1:
        raise InputError(f"file {name}", "the archive is protected by a password", "Unpack it first")
    with archive.open(member) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        limit = f"files are limited to {MAX_BYTES // 1024**2} MiB"
        raise InputError(
            f"file {name}", f"{_base(member.filename)} is too large when decompressed: {limit}", "Split it"
        )
    return content
