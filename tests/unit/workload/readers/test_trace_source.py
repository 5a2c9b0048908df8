"""Hostile and unusual files: sizes, compression, archives, encodings."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers import read_trace, source

CSV = b"job_id,submit_time_s,num_gpus,duration_s,user\na,0,1,60,ann\nb,10,2,30,ben\n"


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(CSV, id="plain"),
        pytest.param(gzip.compress(CSV), id="gzip"),
        pytest.param(bz2.compress(CSV), id="bzip2"),
        pytest.param(lzma.compress(CSV), id="xz"),
        pytest.param(zipped(**{"t.csv": CSV}), id="zip"),
        pytest.param(
            zipped(**{"dir/": b"", "t.csv": CSV, "__MACOSX/._t.csv": b"x"}), id="zip with folder and side file"
        ),
        pytest.param(zipped(**{"../../etc/t.csv": CSV}), id="zip with a path that leads out"),
        pytest.param(zipped(**{"t.csv.gz": gzip.compress(CSV)}), id="gzip inside zip"),
        pytest.param(CSV.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(CSV.replace(b"\n", b"\r"), id="CR only"),
        pytest.param(CSV.replace(b",", b";"), id="semicolons"),
        pytest.param(CSV.replace(b",", b"\t"), id="tabs"),
        pytest.param(CSV.replace(b",", b"|"), id="bars"),
        pytest.param(b"sep=,\n" + CSV, id="Excel's sep line"),
        pytest.param(b"# exported today\n\n" + CSV, id="comment and blank line first"),
        pytest.param(CSV.replace(b"ben\n", b"ben,\n").replace(b"ann\n", b"ann,\n"), id="trailing delimiter"),
        pytest.param(CSV.decode().encode("utf-16"), id="UTF-16 with mark"),
        pytest.param(CSV.decode().encode("utf-16-le"), id="UTF-16 LE without mark"),
        pytest.param(CSV.decode().encode("utf-16-be"), id="UTF-16 BE without mark"),
        pytest.param(b"\xef\xbb\xbf" + CSV, id="UTF-8 with mark"),
        pytest.param(CSV.replace(b"ann", b"a\0nn"), id="NUL byte"),
    ],
)
def test_same_jobs_however_packed(packed):
    read = read_trace(packed, "t")
    assert list(read.workload.job_id) == ["a", "b"]
    assert list(read.workload.gpus) == [1, 2]
    assert list(read.workload.columns()["user"]) == ["ann", "ben"]
    assert read.report.counts == {"rows": 2, "kept": 2, "repaired": 0, "dropped": 0}


def test_latin_1_is_converted_and_said():
    read = read_trace(CSV.replace(b"ann", "Jürgen".encode("latin-1")), "t")
    assert read.workload.columns()["user"][0] == "Jürgen"
    assert any(note.startswith("Repaired encoding") for note in read.report.notes)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n\n", "empty", id="blank"),
        pytest.param(b"\0" * 50, "not a text file", id="NULs"),
        pytest.param(bytes(range(256)) * 20, "not a text file", id="binary"),
        pytest.param(zipped(a=CSV, b=CSV), "exactly one file, but holds 2 (a, b)", id="zip of two"),
        pytest.param(zipped(), "exactly one file, but holds 0", id="zip of none"),
        pytest.param(zipped(**{"[Content_Types].xml": b"<x/>"}), "Office document", id="xlsx"),
        pytest.param(gzip.compress(CSV)[:-12], "gzip compression is damaged", id="cut gzip"),
        pytest.param(lzma.compress(CSV)[:-12], "xz compression is damaged", id="cut xz"),
        pytest.param(bz2.compress(CSV)[:-12], "bzip2 compression is damaged", id="cut bzip2"),
        pytest.param(zipped(t=CSV)[:-30], "zip compression is damaged", id="cut zip"),
        pytest.param(b"PAR1" + CSV, "Parquet data are damaged", id="no Parquet"),
        pytest.param(b"%PDF-1.7 x", "PDF", id="pdf"),
        pytest.param(b"\xff\xfea\0b", "damaged", id="UTF-16 with half a character"),
    ],
)
def test_unusable_content_gives_one_message(content, says):
    with pytest.raises(InputError) as caught:
        read_trace(content, "t")
    assert says in str(caught.value)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, lambda data: zipped(t=data)])
def test_a_bomb_stops_at_the_limit(pack, monkeypatch):
    monkeypatch.setattr(source, "MAX_BYTES", 3 << 20)
    bomb = pack(b"0" * (20 << 20))
    assert len(bomb) < 1 << 20
    with pytest.raises(InputError, match="too large when decompressed: files are limited to 3 MiB"):
        read_trace(bomb, "t")


def test_a_large_stored_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(source, "MAX_BYTES", 1 << 20)
    with pytest.raises(InputError, match="too large: files"):
        read_trace(b"x" * (2 << 20), "t")
    (tmp_path / "t.csv").write_bytes(b"x" * (2 << 20))
    with pytest.raises(InputError, match="too large: files"):
        read_trace(tmp_path / "t.csv")


def test_json_has_a_limit_of_its_own(monkeypatch):
    monkeypatch.setattr(source, "MAX_JSON_BYTES", 1 << 20)
    with pytest.raises(InputError, match="JSON files are limited to 1 MiB"):
        read_trace(b' [{"a": "' + b"x" * (2 << 20), "t")
    with pytest.raises(InputError, match="without columns"):
        read_trace(b"x" * (2 << 20), "t")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_trace(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="folder"):
        read_trace(tmp_path)


def test_json_with_too_many_values_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(source, "MAX_JSON_VALUES", 10)
    text = source.TraceText(b'{"jobs": [' + b"[]," * 20, "t")
    with pytest.raises(InputError, match="more than 10 values"):
        source.json_object(text, "Export it again")


def test_json_that_is_no_object_is_refused():
    with pytest.raises(InputError, match=r"is no object.*Export it again"):
        source.json_object(source.TraceText(b"[1]", "t"), "Export it again")
