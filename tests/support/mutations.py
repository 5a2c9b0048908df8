"""Files with accidents: flipped bytes, pieces cut, repeated or from other files, giants instead of tokens, packing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import zipfile
from collections.abc import Sequence

ODD = [b"", b"0", b"-1", b"1e999", b"9" * 40, b"nan", b"inf", b"None", b'"', b"'", b"\\", b"{", b"[", b"]", b"}",
       b"2038-01-19T03:14:07", b"0001-01-01 00:00:00", b"n[1-999999999]", b"1-00:00:00", b"\xff\xfe", b"\x00",
       b"\xc3\xa9", b"=1+1", b"gres/gpu=99999999999", b"\t", b",", b"|", b";", b":", b" ", b"\n", b"\r"]  # fmt: skip
GIANTS = [b"9" * 400, b"-" + b"9" * 5000, b"1e308", b"-1e-308", b"1e15", b"100000", b"1000000000",
          b"9223372036854775808", b"-9223372036854775809",
          b"NaN", b"Infinity", b"-Infinity", b"\\ud800", b"\\udfff\\ud800", b"\xed\xa0\x80",
          b"true", b"null", b"[]", b"{}", b"x" * 3000, b"a.b" * 60, b"[" * 200, b'{"a":' * 200, b"99999-23:59:59",
          b"9999-12-31T23:59:59Z", b"\xe2\x80\xae", b"<b>", b"n[0-9]" * 8, b"*a", b"&a [*a]", b"1,1" * 50]  # fmt: skip
TOKEN = re.compile(rb"[A-Za-z0-9_.+-]+|[^A-Za-z0-9_.+-]")


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return the content after one to four small accidents."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(8):
            case 0:
                del data[at:]
            case 1 if at < len(data):
                data[at] = rng.randrange(256)
            case 2 if len(data) > 1:
                other = rng.randrange(len(data) - 1)
                data[other], data[other + 1] = data[other + 1], data[other]
            case 3:
                lines = bytes(data).split(b"\n")
                line = rng.randrange(len(lines))
                lines[line:line] = [lines[rng.randrange(len(lines))]] * rng.randint(1, 3)
                data = bytearray(b"\n".join(lines))
            case 4:
                data[at:at] = rng.choice(ODD) * rng.randint(1, 3)
            case 5:
                data = bytearray(_replaced(bytes(data), rng, ODD))
            case 6:
                del data[at : at + rng.randint(1, 30)]
            case _:
                lines = bytes(data).split(b"\n")
                del lines[rng.randrange(len(lines))]
                data = bytearray(b"\n".join(lines))
    return bytes(data)


def battered(content: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return the content after accidents of one kind: bytes, giants, a piece of another file, repeats; packed at times.

    Packed files may be damaged once more.
    """
    match rng.randrange(5):
        case 0:
            data = bytearray(content)
            for _ in range(rng.choice([1, 3, 10, 100])):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            result = bytes(data)
        case 1:
            result = content
            for _ in range(rng.choice([1, 1, 2, 5])):
                result = _replaced(result, rng, GIANTS)
        case 2:
            other = rng.choice(others)
            cut, start = rng.randrange(len(content) + 1), rng.randrange(len(other))
            result = content[:cut] + other[start : start + rng.randint(1, 2000)] + content[cut:] * rng.randint(0, 1)
        case 3:
            start = rng.randrange(len(content))
            piece = content[start : start + rng.randint(1, 500)]
            result = content[:start] + piece * rng.choice([2, 2, 50]) + content[start:]
        case _:
            result = mutated(content, rng)
    if rng.random() < 0.15:
        result = packed(result, rng)
        if rng.random() < 0.7:
            result = mutated(result, rng)
    return result


def packed(content: bytes, rng: random.Random) -> bytes:
    """Return the content in one of the compressions that are read."""
    match rng.randrange(5):
        case 0:
            return gzip.compress(content, mtime=0)
        case 1:
            return bz2.compress(content)
        case 2:
            return lzma.compress(content)
        case _:
            buffer = io.BytesIO()
            way = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
            with zipfile.ZipFile(buffer, "w", way) as archive:
                archive.writestr(zipfile.ZipInfo(rng.choice(["a.csv", "b/a.csv", "x" * 300])), content, way)
            return buffer.getvalue()


def _replaced(content: bytes, rng: random.Random, instead: Sequence[bytes]) -> bytes:
    """Return the content with another token in place of one, which is found near a random place."""
    at = rng.randrange(len(content) + 1)
    token = TOKEN.search(content, at)
    start, end = token.span() if token else (at, at)
    while start > 0 and token and re.match(rb"[A-Za-z0-9_.+-]", content[start - 1 : start]):
        start -= 1
    return content[:start] + rng.choice(instead) + content[end:]
