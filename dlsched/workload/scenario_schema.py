"""The JSON Schema of scenario files, made of the models that read them.

It is stricter than the reader about types (a number written as a text is refused) and looser about rules that join
several keys, such as columns of equal length: those the reader checks.
"""

from __future__ import annotations

import json
import re
from typing import Any

from dlsched.domain.columns import COLUMNS, Column
from dlsched.domain.scenario import FORMAT_VERSION
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.scenario_file import ScenarioDocument
from dlsched.workload.studies.registry import KINDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
UNITS = {
    "usd_per_gpu_h": "$/GPU-hour", "usd_per_h": "$/h", "usd_per_s": "$/s", "jobs_per_h": "jobs/h",
    "_per_h": "1/h", "_usd": "$",
    "_gib": "GiB", "_mb": "MB", "_s": "s", "_h": "h", "_percent": "%",
}  # fmt: skip
"""Units by the ending of a key, longer endings first; keys say their unit."""
SOURCES = ("columns", "table", "file", "generator")
EXCLUSIVE = (("columns", "table"), ("columns", "file"), ("table", "file"), ("generator", "file"))


def scenario_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12: types, defaults, ranges, choices, units (as ``unit``) and descriptions."""
    made = ScenarioDocument.model_json_schema(ref_template="#/$defs/{model}")
    defs: dict[str, Any] = made.pop("$defs")
    defs["ReadOptions"] = _with_defs(ReadOptions.model_json_schema(), defs)
    for name, field in ReadOptions.model_fields.items():
        if field.exclude:  # contents of files, which no scenario file holds
            del defs["ReadOptions"]["properties"][name]
    kinds = {kind.key: f"Generator-{kind.key}" for kind in KINDS}
    for kind in KINDS:
        model = _with_defs(kind.model.model_json_schema(), defs)
        defs[kinds[kind.key]] = {**model, "required": ["kind", *model.get("required", [])]}
    made["properties"]["format_version"] |= {"enum": [FORMAT_VERSION]}
    defs["Assumption"] = {"anyOf": [{"type": "string", "description": "The rule in words."}, defs["Assumption"]]}
    workload = defs["WorkloadPart"]
    parts: dict[str, dict[str, Any]] = {
        "columns": {"anyOf": [_columns(), {"type": "null"}], "default": None},
        "generator": {"anyOf": [*({"$ref": f"#/$defs/{name}"} for name in kinds.values()), {"type": "null"}]},
        "read_options": {"$ref": "#/$defs/ReadOptions"},
    }
    for name, part in parts.items():
        workload["properties"][name] = {"description": workload["properties"][name]["description"], **part}
    workload["anyOf"] = [_given(name) for name in SOURCES]
    workload["not"] = {"anyOf": [{"allOf": [_given(one), _given(other)]} for one, other in EXCLUSIVE]}
    head = {"$schema": DIALECT, "title": "dlsched scenario"}
    told: dict[str, Any] = _tidy({**made, "$defs": dict(sorted(defs.items()))})
    return {**head, **told, "title": "dlsched scenario", "description": "Jobs, cluster and rules of a simulation."}


def schema_text() -> str:
    """Return the schema as the content of a file."""
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


def _with_defs(schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose definitions were moved to the common ones."""
    for name, part in schema.pop("$defs", {}).items():
        defs.setdefault(name, part)
    return schema


def _columns() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {column.name: _column(column) for column in COLUMNS},
        "required": ["job_id", "submit_s", "work"],
        "additionalProperties": False,
    }


def _column(column: Column) -> dict[str, Any]:
    number = {"anyOf": [{"type": "number"}, {"enum": [None, ""]}]}
    return {
        "type": "array",
        "items": {"type": ["string", "integer", "null"]} if column.kind == "text" else number,
        "description": column.help,
        **({"unit": column.unit} if column.unit else {}),
    }


def _given(name: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _tidy(part: Any, key: str = "") -> Any:
    """Return a part of a schema without titles that only repeat the key, with units, and with plain descriptions."""
    if isinstance(part, list):
        return [_tidy(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: _tidy(value) for name, value in part.items() if name not in ("properties", "default", "enum")}
    found |= {name: part[name] for name in ("default", "enum") if name in part}
    if isinstance(part.get("properties"), dict):
        found["properties"] = {name: _tidy(value, name) for name, value in part["properties"].items()}
    title = part.get("title")
    if key and isinstance(title, str) and title.lower() == key.replace("_", " ").lower():
        del found["title"]
    if isinstance(part.get("description"), str):
        found["description"] = _words(part["description"])
    if key and "unit" not in found and _is_number(part):
        unit = next((unit for ending, unit in UNITS.items() if key.endswith(ending)), "")
        found |= {"unit": unit} if unit else {}
    return found


def _is_number(part: dict[str, Any]) -> bool:
    kinds = [part, *part.get("anyOf", [])]
    return any(one.get("type") in ("number", "integer") for one in kinds if isinstance(one, dict))


def _words(text: str) -> str:
    """Return a docstring as plain text: without marks of code and roles, paragraphs in a line each."""
    plain = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")
    return "\n\n".join(" ".join(part.split()) for part in plain.split("\n\n"))
