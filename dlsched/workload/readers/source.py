"""From a file or bytes to clean UTF-8 text: sizes, compression, archives, encodings. Nothing is written to disk."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any, ParamSpec, Protocol, TypeVar

from dlsched.domain.errors import DAMAGED, InputError, reading
from dlsched.domain.names import first_of

P = ParamSpec("P")
T = TypeVar("T")
MAX_BYTES = 512 * 1024**2
"""A million lines of sacct with the fields we ask for have 300 MB."""
MAX_JSON_BYTES = 200 * 1024**2
"""Less than for tables: JSON takes many times its size in memory."""
CHUNK_BYTES = 1 << 20
MAX_JSON_VALUES = 20_000_000
MAX_LINES = 20_000_000
MAX_LAYERS = 3
XZ_MEMORY_BYTES = 256 * 1024**2
LARGEST_CONTROL_SHARE = 0.05
PARQUET_MAGIC = b"PAR1"
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b") | {127})
_JSON = re.compile(rb"\s*[\[{]")
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(rb"%s(?!%s)|(?<!%s)%s" % (_HIGH, _LOW, _HIGH, _LOW))
"""In JSON: the escape of one half of a character without the other."""
_FOREIGN = (
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
)


@dataclass(frozen=True, slots=True)
class TraceText:
    """Content of a trace file: UTF-8 text without byte-order mark and NUL bytes, lines ended by LF or CRLF; or a
    Parquet file (``is_parquet``). ``notes`` say what was done to get there.
    """

    data: bytes
    name: str
    notes: tuple[str, ...] = ()
    is_parquet: bool = False


def open_trace(source: Path | bytes, name: str = "") -> TraceText:
    """Return the decompressed, decoded content of a file.

    Raises
    ------
    InputError
        Missing, empty, too large (stored or decompressed), damaged, an archive of several files, or not text.
    """
    data, name = _stored_bytes(source, name)
    notes: list[str] = []
    for _ in range(MAX_LAYERS):
        unpacked = _unpack(data, name, notes)
        if unpacked is None:
            break
        data = unpacked
    if not data.strip():
        raise InputError(f"file {name}", "it is empty", "Export it again")
    if data.startswith(PARQUET_MAGIC):
        return TraceText(data, name, tuple(notes), is_parquet=True)
    text = _as_text(data, name, notes)
    if _JSON.match(text):
        if len(text) > MAX_JSON_BYTES:
            limit = f"JSON files are limited to {MAX_JSON_BYTES // 1024**2} MiB"
            raise InputError(f"file {name}", f"it is too large: {limit}", "Split it, or export it as a table")
        text = _without_halves(text, notes)
    lines = text.count(b"\n")
    if lines > MAX_LINES:
        raise InputError(f"file {name}", f"it has {lines:,} lines; the limit is {MAX_LINES:,}", "Split it")
    return TraceText(text, name, tuple(notes))


def guarded(read: Callable[P, T]) -> Callable[P, T]:
    """Let a function that reads a file, ``read(source, name, ...)``, raise errors of ours only."""

    @wraps(read)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        source, name = args[0] if args else None, args[1] if len(args) > 1 else kwargs.get("name")
        label = name if isinstance(name, str) and name else Path(source).name if isinstance(source, (str, Path)) else ""
        with reading(f"file {label or 'upload'}"):
            return read(*args, **kwargs)

    return call


def json_object(text: TraceText, do: str) -> dict[str, Any]:
    """Return the JSON object that a file is.

    Raises
    ------
    InputError
        Damaged, no object, or more values than fit into memory. ``do`` says how to export it.
    """
    what, data = f"file {text.name}", text.data
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_JSON_VALUES:
        raise InputError(what, f"its JSON has more than {MAX_JSON_VALUES:,} values", "Export fewer jobs")
    content = json_value(text, do, what)
    if not isinstance(content, dict):
        raise InputError(what, "its JSON is no object", do)
    return content


def json_value(text: TraceText, do: str, what: str) -> Any:
    """Return the JSON value that a file is; InputError about ``what``, with the way out ``do``, if it is damaged."""
    try:
        return json.loads(text.data)
    except (ValueError, RecursionError):
        raise InputError(what, "its JSON is damaged or cut off", do) from None


def _stored_bytes(source: Path | bytes, name: str) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        _check_size(len(source), name)
        return source, name or "upload"
    name = name or source.name
    if not source.exists():
        raise InputError(f"file {source}", "there is no such file", "Check the path")
    if not source.is_file():
        raise InputError(f"file {source}", "it is a folder, not a file", "Give the trace file inside it")
    try:
        _check_size(source.stat().st_size, name)
        return source.read_bytes(), name
    except OSError as error:
        raise InputError(f"file {source}", f"it cannot be opened: {error.strerror}", "Check its permissions") from None


def _check_size(size: int, name: str, state: str = "") -> None:
    if size > MAX_BYTES:
        limit = f"files are limited to {MAX_BYTES // 1024**2} MiB"
        raise InputError(f"file {name}", f"it is too large{state}: {limit}", "Split it, or export fewer columns")


# ---- compression ---------------------------------------------------------------------------------


def _unpack(data: bytes, name: str, notes: list[str]) -> bytes | None:
    """Return the content of one layer of compression; None if there is none."""
    packers: tuple[tuple[bytes, str, Callable[[bytes, str], bytes]], ...] = (
        (b"\x1f\x8b", "gzip", _gunzip),
        (b"BZh", "bzip2", _bunzip),
        (b"\xfd7zXZ\x00", "xz", _unxz),
        (b"PK\x03\x04", "zip", _unzip),
        (b"PK\x05\x06", "zip", _unzip),
    )
    for magic, kind, unpack in packers:
        if data.startswith(magic):
            try:
                content = unpack(data, name)
            except DAMAGED as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"file {name}", f"its {kind} compression is damaged", "Export it again") from None
            notes.append(f"Decompressed {kind}: {len(data):,} to {len(content):,} bytes")
            return content
    return None


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read_capped(stream: _Reader, name: str) -> bytes:
    return _join_capped(iter(lambda: stream.read(CHUNK_BYTES), b""), name)


def _join_capped(chunks: Iterator[bytes], name: str) -> bytes:
    """Return the joined chunks; stop as soon as they pass the limit, so that a bomb never unfolds."""
    content = bytearray()
    for chunk in chunks:
        content += chunk
        _check_size(len(content), name, " when decompressed")
    return bytes(content)


def _gunzip(data: bytes, name: str) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        return _read_capped(stream, name)


def _bunzip(data: bytes, name: str) -> bytes:
    with bz2.BZ2File(io.BytesIO(data)) as stream:
        return _read_capped(stream, name)


def _unxz(data: bytes, name: str) -> bytes:
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)

    def chunks() -> Iterator[bytes]:
        yield decoder.decompress(data, CHUNK_BYTES)
        while not decoder.eof:
            chunk = decoder.decompress(b"", CHUNK_BYTES)
            if not chunk and decoder.needs_input:
                raise EOFError
            yield chunk

    return _join_capped(chunks(), name)


def _unzip(data: bytes, name: str) -> bytes:
    """Return the only file of an archive; folders and macOS side files do not count."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [m for m in archive.infolist() if not m.filename.endswith("/")]
        inside = [m for m in files if not m.filename.startswith("__MACOSX/")]
        names = [_member_name(m.filename) for m in inside]
        if "[Content_Types].xml" in names:
            raise InputError(f"file {name}", "it is an Office document", "Save the sheet as CSV")
        if len(inside) != 1:
            why = f"the archive must hold exactly one file, but holds {len(names)} ({first_of(sorted(names), 10)})"
            raise InputError(f"file {name}", why, "Unpack it and give one of them")
        if inside[0].flag_bits & 1:
            raise InputError(f"file {name}", "the archive is password-protected", "Unpack it first")
        with archive.open(inside[0]) as stream:
            return _read_capped(stream, name)


def _member_name(path: str) -> str:
    """Return the printable last part of a member's path: paths inside archives are never followed."""
    return "".join(c for c in PurePosixPath(path.replace("\\", "/")).name if c.isprintable())[:60] or "?"


# ---- encoding ------------------------------------------------------------------------------------


def _as_text(data: bytes, name: str, notes: list[str]) -> bytes:
    for magic, kind in _FOREIGN:
        if data.startswith(magic):
            raise InputError(f"file {name}", f"it is {kind}", "Use a text, gzip, bzip2, xz or zip file")
    if data[257:262] == b"ustar":
        raise InputError(f"file {name}", "it is a tar archive", "Unpack it and give one of the files")
    data = _as_utf8(data, name, notes)
    head = data[: 1 << 16]
    strange = len(head) - len(head.translate(None, _CONTROLS))
    if strange > LARGEST_CONTROL_SHARE * len(head):
        raise InputError(f"file {name}", "it is not a text file", "Use a text file such as CSV, or the original export")
    nuls = data.count(b"\0")
    if nuls:
        notes.append(f"Removed {nuls:,} NUL bytes")
        data = data.replace(b"\0", b"")
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not data.strip():
        raise InputError(f"file {name}", "it is empty", "Export it again")
    return data


def _without_halves(data: bytes, notes: list[str]) -> bytes:
    """Return JSON without escapes of half a character (a lone surrogate), which is no text."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    whole, halves = _HALF.subn(b"?", data)
    if halves:
        notes.append(f"Repaired encoding: {halves:,} halves of characters (\\ud800 to \\udfff) became question marks")
    return whole


def _as_utf8(data: bytes, name: str, notes: list[str]) -> bytes:
    """Return the text as UTF-8 without byte-order mark; note every conversion."""
    if data.startswith(b"\xef\xbb\xbf"):
        notes.append("Removed a UTF-8 byte-order mark")
        data = data[3:]
    wide = _wide_encoding(data)
    if wide:
        try:
            text = data.decode(wide)
        except UnicodeDecodeError:
            raise InputError(f"file {name}", f"its {wide} text is damaged", "Save it as UTF-8") from None
        notes.append(f"Repaired encoding: converted from {wide.upper()} to UTF-8")
        return text.lstrip("\ufeff").encode("utf-8", "replace")
    if data.isascii() or _is_utf8(data):
        return data
    repaired = data.decode("utf-8", "replace")
    bad = repaired.count("\ufffd")
    if len(data) - len(repaired) > 2 * bad:  # characters of several bytes: UTF-8 with damage, not Latin-1
        notes.append(f"Repaired encoding: {bad:,} bytes that are not UTF-8 were replaced")
        return repaired.encode()
    notes.append("Repaired encoding: converted from Latin-1 (Windows-1252) to UTF-8")
    try:
        return data.decode("cp1252").encode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()


def _wide_encoding(data: bytes) -> str:
    """Return utf-16, utf-16-le, utf-16-be, utf-32 or nothing, by mark or by where the zero bytes are."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = data[:4096]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head[1::2]) and even <= 0.1 * len(head[::2]):
        return "utf-16-le"
    if even > 0.4 * len(head[::2]) and odd <= 0.1 * len(head[1::2]) and len(head) > 1:
        return "utf-16-be"
    return ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
