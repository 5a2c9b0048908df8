"""Scenario files: JSON and TOML with one content, written whole or not at all.

JSON has null for a missing value in a column; TOML has no null and uses the empty text "". Infinity and NaN are in
neither. Workloads of more than ``INLINE_JOBS`` jobs go to a Parquet table beside the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.workload.scenario_document import from_document, to_document
from dlsched.workload.sidecar import sha256_of, table_bytes

__all__ = ["from_document", "read_scenario", "scenario_bytes", "to_document", "write_scenario"]

INLINE_JOBS = 5_000
Format = Literal["json", "toml"]


def read_scenario(source: Path | str | bytes, base_dir: Path | None = None) -> Scenario:
    """Return the scenario of a file or of a file's bytes; JSON or TOML, told apart by content.

    Parameters
    ----------
    source
        Path of the file, or its content.
    base_dir
        Folder below which files named by the scenario are looked for; by default the folder of the path, for bytes
        none.

    Raises
    ------
    InputError
        Naming the place in the file, the rule and the value.
    """
    if not isinstance(source, bytes):
        path = Path(source)
        try:
            source, base_dir = path.read_bytes(), base_dir or path.parent
        except OSError as error:
            raise InputError(f"file {path}", f"cannot be read ({error.strerror})", "Check the path") from error
    return from_document(_parsed(source), base_dir)


def write_scenario(scenario: Scenario, path: Path | str, *, inline: bool = False) -> None:
    """Write a scenario to ``NAME.json`` or ``NAME.toml``; a failed write leaves an earlier file as it was.

    More than ``INLINE_JOBS`` jobs go to ``NAME.jobs.parquet`` beside it, unless ``inline``.

    Raises
    ------
    InputError
        If the name ends otherwise or the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("json", "toml"):
        raise InputError(f"file {path}", "must end in .json or .toml", "Choose another name")
    document = to_document(scenario)
    if not inline and "columns" in document["workload"] and len(scenario.workload) > INLINE_JOBS:
        document["workload"] |= _write_table(scenario, path)
        for name in ("columns", "order"):
            document["workload"].pop(name, None)
    _write_whole(path, _text(document, "json" if kind == "json" else "toml").encode())


def scenario_bytes(scenario: Scenario, kind: Format = "json") -> bytes:
    """Return the content of a scenario file with all jobs inside, for a download."""
    return _text(to_document(scenario), kind).encode()


# ---- reading ---------------------------------------------------------------------------------------


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("scenario", "is not UTF-8 text", "Save the file as UTF-8") from error
    if not text.strip():
        raise InputError("scenario", "the file is empty", "Choose a scenario file")
    is_json = text.lstrip().startswith("{")
    try:
        return dict(json.loads(text)) if is_json else tomllib.loads(text)
    except RecursionError as error:
        raise InputError("scenario", "is nested too deep", "Choose a scenario file") from error
    except ValueError as error:
        why = f"is not valid {'JSON' if is_json else 'TOML'}: {error!s:.200}"
        raise InputError("scenario", why, "Correct the file there") from error


# ---- writing ---------------------------------------------------------------------------------------


def _text(document: Mapping[str, Any], kind: Format) -> str:
    if kind == "json":
        return _json(document, "") + "\n"
    import tomli_w  # kept local: only TOML files need it

    return tomli_w.dumps(_for_toml(document))


def _json(value: Any, indent: str) -> str:
    """Return JSON with one key a line and lists of plain values on one line, so that columns stay readable."""
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        keys = [
            f"{inner}{json.dumps(str(key), ensure_ascii=False)}: {_json(part, inner)}" for key, part in value.items()
        ]
        return "{\n" + ",\n".join(keys) + f"\n{indent}}}"
    if isinstance(value, (list, tuple)) and any(isinstance(part, (Mapping, list, tuple)) for part in value):
        return "[\n" + ",\n".join(inner + _json(part, inner) for part in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _for_toml(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _for_toml(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return ["" if part is None else _for_toml(part) for part in value]
    return value


def _write_table(scenario: Scenario, path: Path) -> dict[str, str]:
    data = table_bytes(scenario.workload)
    name = f"{path.stem}.jobs.parquet"
    _write_whole(path.with_name(name), data)
    return {"table": name, "sha256": sha256_of(data)}


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name first, so that nobody ever sees half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Choose another folder") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
