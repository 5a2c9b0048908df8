"""From JSON or YAML to Kubernetes objects, one at a time, with bounds on what a hostile file can cost.

Numbers stay texts, as quantities do ("500m", "8"), so that no giant number is ever built; null is None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import yaml

from dlsched.domain.errors import InputError
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.source import TraceText

Object = dict[str, Any]
LARGEST_OBJECT = 4 << 20
"""Characters; Kubernetes itself stores at most 1.5 MiB an object."""
MOST_JSON_VALUES = 5_000_000
LARGEST_YAML = 64 << 20
MOST_YAML_NODES = 10_000_000
MOST_NODES_OF_OBJECT = 200_000
DEEPEST = 60
AS_JSON = "Export it as JSON: kubectl get ... -o json"
_BLANK = re.compile(r"[\s,]*")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))


def looks_like_objects(head: Head) -> bool:
    """Return whether a file has apiVersion and kind: as JSON keys, or at the beginning of lines of YAML."""
    if head.is_parquet:
        return False
    if head.json_start and head.has_keys(("apiVersion", "kind")) == 2:
        return True
    return all(re.search(rb"(?m)^(?:[-\s{]\s*)?%s:\s" % key, head.data) for key in (b"apiVersion", b"kind"))


def objects(text: TraceText) -> Iterator[tuple[int, Object]]:
    """Yield (line, object) for each object of a file: single, many documents, or the items of a List.

    Raises
    ------
    InputError
        Damaged JSON or YAML, nested too deep, an object too large, aliases of YAML.
    """
    head = text.data[:1000].lstrip()
    if head[:1] == b"[" or re.match(rb'\{\s*["}]', head):
        yield from _of_json(text)
    else:
        yield from _of_yaml(text)


# ---- JSON ------------------------------------------------------------------------------------------


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)


class _Json:
    """A position in JSON text: values are cut out one by one, so that a list is never held as a whole."""

    def __init__(self, text: TraceText) -> None:
        self.content = text.data.decode("utf-8")
        self.name = text.name
        self.at = 0
        self._line, self._counted = 1, 0
        self._values = 0
        self.skip()

    def skip(self) -> str:
        """Move over blanks and commas; return the character there, nothing at the end."""
        found = _BLANK.match(self.content, self.at)
        self.at = found.end() if found else self.at
        return self.content[self.at : self.at + 1]

    def line(self) -> int:
        """Return the line number of the position."""
        self._line += self.content.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def value(self) -> Any:
        """Return the value at the position and move behind it."""
        self._values += 1
        if self._values > MOST_JSON_VALUES:
            raise self.wrong(f"its lists have more than {MOST_JSON_VALUES:,} values")
        size = 1 << 12
        while True:
            piece = self.content[self.at : self.at + size]
            is_cut = self.at + size < len(self.content)
            try:
                found, end = _DECODER.raw_decode(piece)
            except RecursionError:
                raise self.wrong("its JSON is nested too deep") from None
            except ValueError as error:
                if not is_cut:
                    raise self.wrong(f"it is not valid JSON: {str(error)[:80]}") from None
            else:
                if not is_cut or end < len(piece):
                    self.at += end
                    return found
            if size >= LARGEST_OBJECT:
                raise self.wrong(f"an object is damaged or has more than {LARGEST_OBJECT:,} characters")
            size *= 4

    def wrong(self, why: str) -> InputError:
        """Return the message for a problem at the position."""
        return InputError(f"file {self.name}, line {self.line()}", why, "Export it again; it may be cut off")


def _of_json(text: TraceText) -> Iterator[tuple[int, Object]]:
    json_text = _Json(text)
    while start := json_text.skip():
        if start == "[":
            yield from _elements(json_text)
        elif start == "{":
            yield from _members(json_text)
        else:
            raise json_text.wrong("it is not valid JSON: an object must start with '{'")


def _elements(json_text: _Json) -> Iterator[tuple[int, Object]]:
    json_text.at += 1
    while (char := json_text.skip()) != "]":
        if not char:
            raise json_text.wrong("its JSON ends before the list is complete")
        line, value = json_text.line(), json_text.value()
        if isinstance(value, dict):
            yield line, value
    json_text.at += 1


def _members(json_text: _Json) -> Iterator[tuple[int, Object]]:
    """Yield the items of a List as they come, or the object itself."""
    line, whole, is_list = json_text.line(), Object(), False
    json_text.at += 1
    while (char := json_text.skip()) != "}":
        if char != '"':
            raise json_text.wrong("its JSON ends before the object is complete" if not char else "it is not valid JSON")
        key = json_text.value()
        if json_text.skip() != ":":
            raise json_text.wrong("it is not valid JSON: ':' is missing")
        json_text.at += 1
        if json_text.skip() == "[" and key == "items":
            is_list = True
            yield from _elements(json_text)
        else:
            whole[key] = json_text.value()
    json_text.at += 1
    if not is_list:
        yield line, whole


# ---- YAML ------------------------------------------------------------------------------------------


class _Builder:
    """Puts events of a YAML parser together to objects; those of a List are handed out one by one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stack: list[tuple[Any, int]] = []  # container, its line
        self.keys: list[str | None] = []  # of each container: the key whose value comes next
        self.nodes = 0

    def take(self, event: yaml.Event) -> tuple[int, Object] | None:
        """Return an object that this event completes."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise self.wrong(line, "it has YAML aliases (*name), which are not read", AS_JSON)
        if isinstance(event, yaml.ScalarEvent):
            is_null = event.implicit[0] and event.value in _NULLS
            return self._add(None if is_null else event.value, line)
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(self.stack) >= DEEPEST:
                raise self.wrong(line, f"its YAML is nested deeper than {DEEPEST} levels", "Check the file")
            self.stack.append(({} if isinstance(event, yaml.MappingStartEvent) else [], line))
            self.keys.append(None)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self.keys.pop()
            return self._add(*self.stack.pop())
        return None

    def _add(self, value: Any, line: int) -> tuple[int, Object] | None:
        self.nodes += 1
        if self.nodes > MOST_NODES_OF_OBJECT:
            raise self.wrong(line, f"an object has more than {MOST_NODES_OF_OBJECT:,} values", AS_JSON)
        in_list = len(self.stack) == 1 or (len(self.stack) == 2 and self.keys[0] == "items")
        if not self.stack or (in_list and isinstance(self.stack[-1][0], list)):
            self.nodes = 0
            is_list = isinstance(value, dict) and isinstance(value.get("items"), list) and not self.stack
            return (line, value) if isinstance(value, dict) and not is_list else None
        parent, key = self.stack[-1][0], self.keys[-1]
        if isinstance(parent, list):
            parent.append(value)
        elif key is None:
            if not isinstance(value, str):
                raise self.wrong(line, "a YAML key is not a text", "Check the file")
            self.keys[-1] = value
        else:
            parent[key] = value
            self.keys[-1] = None
        return None

    def wrong(self, line: int, why: str, do: str) -> InputError:
        return InputError(f"file {self.name}, line {line}", why, do)


def _of_yaml(text: TraceText) -> Iterator[tuple[int, Object]]:
    if len(text.data) > LARGEST_YAML:
        why = f"it is too large for YAML: the limit is {LARGEST_YAML >> 20} MiB"
        raise InputError(f"file {text.name}", why, AS_JSON)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(text.name)
    try:
        for number, event in enumerate(yaml.parse(text.data, Loader=loader)):
            if number > MOST_YAML_NODES:
                raise InputError(f"file {text.name}", f"it has more than {MOST_YAML_NODES:,} values", AS_JSON)
            if (found := builder.take(event)) is not None:
                yield found
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", "") or "a character is not allowed")[:100]
        raise InputError(f"file {text.name}{where}", f"it is not valid YAML: {problem}", "Export it again") from None


# ---- parts of an object ----------------------------------------------------------------------------


def part(item: Mapping[str, Any], name: str) -> Object:
    """Return a nested object; an empty one for what is missing or of another kind."""
    value = item.get(name)
    return value if isinstance(value, dict) else {}


def parts(item: Mapping[str, Any], name: str) -> list[Object]:
    """Return the objects of a list; none for what is missing or of another kind."""
    value = item.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def word(item: Mapping[str, Any], name: str) -> str:
    """Return a plain value as text; nothing for what is missing or nested."""
    value = item.get(name)
    return "" if value is None or isinstance(value, (dict, list)) else str(value)[:500]


def is_host(name: Any) -> bool:
    """Return whether a value can be the name of a node."""
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,253}", name) is not None
