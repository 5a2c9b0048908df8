"""Host lists as Slurm writes them: ``node[01-04,7],gpu1`` is six names. Plain lists with commas are host lists too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from dlsched.domain.errors import InputError

MOST_HOSTS = 200_000
LONGEST_NAME = 255
NO_HOSTS = frozenset({"", "none assigned", "(null)", "none", "n/a"})
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)
_DIGITS = re.compile(r"(\d+)", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[\s\[\],]")
_LONGEST_NUMBER = 18  # digits; longer ones are never counted on

Parts = list[str]  # of a name: text, digits, text, digits, ..., text


def expand(text: str, most: int = MOST_HOSTS) -> list[str]:
    """Return the names of a host list in the order written; repeated names stay.

    A range is ``low-high`` or ``low-high:step`` and has the zero padding of ``low``. Several brackets of one name are
    a product, the last one fastest. What accounting writes for "no node" is an empty list. Logs repeat their lists:
    expand each distinct text once.

    Raises
    ------
    InputError
        A bracket that is not opened or not closed, a range that is no number or runs backwards, a blank in a name,
        a name of more than 255 characters, more than ``most`` names.
    """
    text = text.strip()
    if text.lower() in NO_HOSTS:
        return []
    names: list[str] = []
    for item in _items(text):
        names += _names(item, text, most - len(names), most)
    return names


def compress(names: Iterable[str]) -> str:
    """Return names as one host list; ``expand`` gives them back once each, in natural order (node2 before node10).

    Raises
    ------
    InputError
        A name that is empty, too long, or holds a blank, a comma or a bracket.
    """
    runs: list[tuple[Parts, int, Parts]] = []  # first name, which part counts on (0: none yet), its numbers
    for name in in_order(names):
        if not name or len(name) > LONGEST_NAME or _NOT_IN_NAMES.search(name):
            raise _wrong(name, f"a name has 1 to {LONGEST_NAME} characters, no blanks, commas or brackets")
        parts = _DIGITS.split(name)
        if runs and (place := _counts_on(*runs[-1][:2], parts)):
            first, _, numbers = runs[-1]
            numbers.append(parts[place])
            runs[-1] = first, place, numbers if len(numbers) > 1 else [first[place], parts[place]]
        else:
            runs.append((parts, 0, []))
    return ",".join(_written(*run) for run in runs)


def in_order(names: Iterable[str]) -> list[str]:
    """Return the distinct names in natural order: numbers in them by value."""
    return sorted(set(names), key=_by_value)


def _by_value(name: str) -> list[tuple[int, str, int]]:
    parts = _DIGITS.split(name)
    key = []
    for place, part in enumerate(parts):
        value = part.lstrip("0") if place % 2 else part
        key.append((len(value), value, len(part)) if place % 2 else (0, value, 0))
    return key


# ---- reading -------------------------------------------------------------------------------------


def _items(text: str) -> Iterator[str]:
    """Yield what the commas outside brackets separate; empty ones are left out."""
    if "[" not in text and "]" not in text:
        yield from (item.strip() for item in text.split(",") if item.strip())
        return
    start, is_open = 0, False
    for place, sign in enumerate(text + ","):
        if sign == "[" and is_open:
            raise _wrong(text, "a bracket is opened inside another one")
        if sign == "]" and not is_open:
            raise _wrong(text, "a bracket is closed that was not opened")
        if sign in "[]":
            is_open = sign == "["
        elif sign == "," and not is_open:
            if item := text[start:place].strip():
                yield item
            start = place + 1
    if is_open:
        raise _wrong(text, "a bracket is opened but not closed")


def _names(item: str, text: str, left: int, most: int) -> list[str]:
    """Return the names of one item, at most ``left``; ``text`` is the whole list, ``most`` its limit, for messages."""
    if re.search(r"\s", item):
        raise _wrong(text, f"a name must not hold blanks, got {item!r:.60}")
    pieces = re.split(r"[\[\]]", item)  # text, ranges, text, ranges, ..., text
    if sum(map(len, pieces[::2])) > LONGEST_NAME:
        raise _wrong(text, f"a name has more than {LONGEST_NAME} characters")
    choices, count = [], 1
    for place, piece in enumerate(pieces):
        choices.append(_numbers(piece, text, left, most) if place % 2 else [piece])
        count *= len(choices[-1])
        if count > left:
            raise _too_many(text, most)
    names = ["".join(name) for name in product(*choices)]
    if max(map(len, names)) > LONGEST_NAME:
        raise _wrong(text, f"a name has more than {LONGEST_NAME} characters")
    return names


def _numbers(ranges: str, text: str, left: int, most: int) -> list[str]:
    """Return what one bracket holds, ``left`` numbers at most."""
    numbers: list[str] = []
    for one in ranges.split(","):
        match = _RANGE.fullmatch(one.strip())
        if match is None:
            raise _wrong(text, f"a range must be a number, low-high or low-high:step, got {one!r:.60}")
        low, high, step = match[1], match[2] or match[1], match[3] or "1"
        if max(len(low), len(high), len(step)) > _LONGEST_NUMBER:
            raise _wrong(text, f"a number in brackets has at most {_LONGEST_NUMBER} digits")
        if int(high) < int(low):
            raise _wrong(text, f"a range must not run backwards, got {one!r}")
        if int(step) < 1:
            raise _wrong(text, f"the step of a range must be 1 or more, got {one!r}")
        values = range(int(low), int(high) + 1, int(step))
        if len(numbers) + len(values) > left:
            raise _too_many(text, most)
        numbers += [str(value).zfill(len(low)) for value in values]
    return numbers


def _too_many(text: str, most: int) -> InputError:
    return _wrong(text, f"it stands for too many names, {most:,} at most", "Check its ranges")


def _wrong(text: str, why: str, do: str = "Write it as in node[01-04,7],gpu1") -> InputError:
    return InputError(f"host list {text!r:.80}", why, do)


# ---- writing -------------------------------------------------------------------------------------


def _counts_on(first: Parts, place: int, parts: Parts) -> int:
    """Return the one part, digits, in which a name differs from the first of a run; 0 if there is no such part.

    ``place`` is the part in which the names of the run differ so far, 0 while it has one name.
    """
    if len(first) != len(parts):
        return 0
    apart = [i for i, (one, other) in enumerate(zip(first, parts, strict=True)) if one != other]
    if len(apart) != 1 or apart[0] % 2 == 0 or len(parts[apart[0]]) > _LONGEST_NUMBER:
        return 0
    return apart[0] if place in (0, apart[0]) else 0


def _written(first: Parts, place: int, numbers: Parts) -> str:
    if not place:
        return "".join(first)
    ranges: list[list[str]] = []
    for number in numbers:
        if ranges and number == str(int(ranges[-1][-1]) + 1).zfill(len(ranges[-1][0])):
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return "".join(first[:place]) + f"[{','.join('-'.join(ends) for ends in ranges)}]" + "".join(first[place + 1 :])
