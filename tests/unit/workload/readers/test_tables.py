"""Native tables and CSV through a mapping: conversions, repairs, drops, line numbers, mappings."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.workload import COLUMNS, Workload
from dlsched.workload.readers import (
    ColumnMapping,
    FieldMap,
    MappingNeeded,
    ReadOptions,
    guess_mapping,
    load_mapping,
    read_trace,
    save_mapping,
    template_csv,
    write_native,
)
from dlsched.workload.readers.convert import split_gpus
from dlsched.workload.readers.table import sniff

HEAD = "job_id,submit_time_s,num_gpus,duration_s"


def read(text: str, **options):
    return read_trace(text.encode(), "t.csv", ReadOptions(**options))


def rows(*lines: str, head: str = HEAD) -> str:
    """Return a table with enough good rows that a few bad ones do not make it unreadable."""
    width = head.count(",") - 3
    good = [f"good{i},{i},1,60" + "," * width for i in range(20)]
    return "\n".join([head, *lines, *good]) + "\n"


def findings(trace, kind):
    return {f.reason: (f.count, [(e.line, e.value) for e in f.examples]) for f in trace.report.of_kind(kind)}


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("x,abc,1,60", "submission time cannot be read", id="text in submission"),
        pytest.param("x,5,one,60", "gpus cannot be read", id="text in GPUs"),
        pytest.param("x,5,1,inf", "run time cannot be read", id="infinite run time"),
        pytest.param("x,5,1,1e999", "run time cannot be read", id="too large for a number"),
        pytest.param("x,5,1,NaN", "no run time", id="NaN run time"),
        pytest.param("x,,1,60", "no submission time", id="no submission"),
        pytest.param("x,5,1,-3", "run time is negative", id="negative run time"),
        pytest.param("x,5,1,0", "run time is 0 s", id="zero run time"),
        pytest.param("x,-5,1,60", "submitted before time zero", id="negative submission"),
        pytest.param("x,5,-1,60", "GPU count is negative", id="negative GPUs"),
        pytest.param("x,5,0,60", "requests no resources", id="0 GPUs and nothing else"),
        pytest.param("x,5,1e6,60", "requests too many GPUs or workers", id="a million GPUs"),
        pytest.param("x,5,1,1e16", "run time out of range", id="run time of 1e16 s"),
        pytest.param("x,5,1", "wrong number of fields in the line", id="too few fields"),
        pytest.param("x,5,1,60,9", "wrong number of fields in the line", id="too many fields"),
        pytest.param("good3,3,1,60", "repeated row", id="repeated row"),
    ],
)
def test_bad_rows_are_dropped_with_a_reason(line, reason):
    trace = read(rows(line))
    assert trace.report.counts == {"rows": 21, "kept": 20, "repaired": 0, "dropped": 1}
    (found,) = trace.report.of_kind("dropped")
    assert (found.reason, found.count) == (reason, 1)
    if reason != "repeated row":
        assert found.examples[0].line == 2


def test_line_numbers_count_blank_lines_and_ragged_ones():
    text = f"# note\n{HEAD}\n\na,0,1,60\nragged,1\n\nb,1,1,oops\n" + rows().split("\n", 1)[1]
    trace = read(text)
    assert findings(trace, "dropped") == {
        "wrong number of fields in the line": (1, [(5, "ragged,1")]),
        "run time cannot be read": (1, [(7, "oops")]),
    }


def test_a_row_is_dropped_once_and_examples_stop_at_five():
    trace = read(rows(*[f"x{i},bad,bad,-1" for i in range(8)]))
    assert trace.report.counts == {"rows": 28, "kept": 20, "repaired": 0, "dropped": 8}
    (found,) = trace.report.of_kind("dropped")
    assert found.count == 8
    assert [e.line for e in found.examples] == [2, 3, 4, 5, 6]


def test_mostly_bad_file_is_refused_with_an_example():
    with pytest.raises(InputError, match=r"most rows cannot be read: 3 of 4; .*line 2: 'x'"):
        read(f"{HEAD}\na,x,1,60\nb,y,1,60\nc,z,1,60\nd,0,1,60\n")


def test_header_only():
    with pytest.raises(InputError, match="only a header and no data rows"):
        read(HEAD + "\n")


def test_no_usable_row_names_the_reason():
    with pytest.raises(InputError, match=r"no row can be used; most often \(2 times\): run time is 0 s"):
        read(f"{HEAD}\na,0,1,0\nb,0,1,0\n")


def test_zero_run_time_can_become_one_second():
    trace = read(rows("x,5,1,0"), zero_run="one-second")
    assert trace.report.counts == {"rows": 21, "kept": 21, "repaired": 1, "dropped": 0}
    assert trace.workload.work[list(trace.workload.job_id).index("x")] == 1


def test_outliers_are_kept_and_flagged():
    trace = read(rows("x,5,1,1e9", "y,1000000000,1,60"), format="csv")
    assert trace.report.kept == 22
    assert findings(trace, "flagged") == {
        "run time over 1 year": (1, [(2, "1e+09")]),
        "submitted more than 1 year after the job before it": (1, [(3, "1e+09")]),
    }


def test_duplicate_ids_are_numbered_or_dropped():
    text = rows("d,0,1,60", "d,1,1,60", "d,2,1,60", "d#2,3,1,60")
    trace = read(text)
    assert [i for i in trace.workload.job_id if i.startswith("d")] == ["d", "d#3", "d#4", "d#2"]
    assert trace.report.repaired == 2
    assert read(text, duplicates="drop").report.counts == {"rows": 24, "kept": 22, "repaired": 0, "dropped": 2}


def test_formulas_scripts_and_controls_stay_text():
    trace = read(
        rows(
            '=cmd|calc,0,1,60,"<script>alert(1)</script>"', "b\x07c\u202e,1,1,60,u", "-5,2,1,60,u", head=HEAD + ",user"
        )
    )
    assert set(trace.workload.job_id) >= {"=cmd|calc", "bc", "-5"}
    assert findings(trace, "flagged") == {
        "job_id looks like a formula or markup": (1, [(2, "=cmd|calc")]),
        "user looks like a formula or markup": (1, [(2, "<script>alert(1)</script>")]),
    }
    assert findings(trace, "repaired") == {"job_id is not plain text": (1, [(3, "b\ufffdc\ufffd")])}


def test_overlong_text_is_cut():
    trace = read(rows(f"{'n' * 5000},0,1,60"))
    assert max(map(len, trace.workload.job_id)) == 200
    assert trace.report.repaired == 1


def test_shares_of_gpus_are_kept_exactly():
    trace = read(rows("half,0,0.5,60", "more,1,1.5,60"))
    jobs = dict(zip(trace.workload.job_id, trace.workload.gpus, strict=True))
    assert (jobs["half"], jobs["more"]) == (0.5, 1.5)
    assert findings(trace, "not modelled") == {"shares of a GPU": (2, [(2, "0.5"), (3, "1.5")])}


@given(st.lists(st.floats(0, 1e5), min_size=1))
def test_split_gpus_never_rounds(totals):
    workers, each = split_gpus(np.array(totals))
    assert np.allclose(workers * each, totals, rtol=1e-15)
    assert ((each <= 1) & (workers >= 1) & (workers == np.floor(workers))).all()


def test_cpu_jobs_with_cpus_are_kept_or_dropped():
    text = rows("c,0,0,60,8", head=HEAD + ",num_cpus")
    assert read(text).report.kept == 21
    assert read(text, cpu_jobs="drop").report.kept == 20


def test_bad_optional_values_become_empty_and_are_counted():
    trace = read(rows("x,0,1,60,high,-1", "y,1,1,60,2,0.5", head=HEAD + ",priority,weight_usd_per_s"))
    assert trace.report.repaired == 1
    assert np.isnan(trace.workload.priority[0])
    assert list(trace.workload.priority[[2]]) == [2.0]
    assert set(findings(trace, "repaired")) == {"priority cannot be read", "weight is negative"}


def test_quotes_with_line_breaks_and_stray_quotes():
    quoted = read(rows('"a\nb",0,1,60', '"x, y",1,1,60'))
    assert {"ab", "x, y"} <= set(quoted.workload.job_id)
    assert quoted.report.rows == 22
    stray = read(rows('"a,0,1,60', "b,1,1,60", '"c,2,1,60'))
    assert stray.report.counts == {"rows": 23, "kept": 23, "repaired": 0, "dropped": 0}
    odd = read(rows('"a,0,1,60'))
    assert odd.report.kept == 21
    assert odd.report.notes == ("Quotes are not balanced: read as plain characters",)


def test_decimal_comma_with_semicolons():
    trace = read("job_id;submit_time_s;num_gpus;duration_s\na;0,5;1;60,25\nb;2;1;60\n")
    assert list(trace.workload.submit_s) == [0.5, 2.0]
    assert trace.workload.work[0] == 60.25


# ---- times ---------------------------------------------------------------------------------------


def test_iso_timestamps_set_time_zero():
    trace = read("job_id,submit_time,num_gpus,duration_s,due_s\na,2024-03-01T10:00:30,1,60,2024-03-01T11:00:00\n"
                 "b,2024-03-01T10:00:00,1,60,\n")  # fmt: skip
    assert list(trace.workload.job_id) == ["b", "a"]
    assert list(trace.workload.submit_s) == [0.0, 30.0]
    assert trace.workload.due_s[1] == 3600.0
    assert trace.workload.meta["time_zero"] == "2024-03-01T10:00:00"
    assert list(trace.workload.order) == [1, 0]


def test_offsets_are_one_clock():
    trace = read(
        "job_id,submit_time,num_gpus,duration_s\na,2024-03-01T10:00:00Z,1,60\nb,2024-03-01T10:30:00+01:00,1,60\n"
    )
    assert dict(zip(trace.workload.job_id, trace.workload.submit_s, strict=True)) == {"b": 0.0, "a": 1800.0}


def test_unix_seconds_are_shifted_and_said():
    trace = read(f"{HEAD}\na,1700000000,1,60\nb,1700000060,1,60\n")
    assert list(trace.workload.submit_s) == [0.0, 60.0]
    assert trace.workload.meta["time_zero"] == "2023-11-14T22:13:20"
    assert any("seconds since 1970" in text for text in trace.assumptions)


def test_dates_and_plain_seconds_do_not_mix():
    with pytest.raises(InputError, match="submissions are dates but the due are plain seconds"):
        read("job_id,submit_time,num_gpus,duration_s,due_s\na,2024-03-01T10:00:30,1,60,100\n")


def test_start_and_end_give_the_run_time_and_negative_waits_are_repaired():
    trace = read("id,submitted,start_time,end_time,gpus\n1,100,90,200,2\n2,100,150,160,2\n")
    assert trace.format_key == "csv"
    assert list(trace.workload.work) == [110.0, 10.0]
    assert np.isnan(trace.workload.recorded_start_s[0])
    assert findings(trace, "repaired") == {"started before it was submitted": (1, [(2, "-10")])}


# ---- mapping -------------------------------------------------------------------------------------


def test_guess_by_synonyms_values_and_units():
    header = ["JobName", "Submit Time (ms)", "GPU Count", "Elapsed", "deadline", "duration_min", "state"]
    sample = [["a", "0", "8", "01:00:00", "9", "x", "done"], ["b", "5", "1", "1-00:00:00", "", "y", "dead"]]
    fields = guess_mapping(header, sample).fields
    assert {key: (f.column, f.unit) for key, f in fields.items()} == {
        "job_id": ("JobName", ""),
        "submit": ("Submit Time (ms)", "ms"),
        "run": ("Elapsed", "clock"),
        "gpus": ("GPU Count", ""),
        "due": ("deadline", "s"),
        "status": ("state", ""),
    }
    assert all(0.8 <= f.confidence <= 1 for f in fields.values())


def test_mapping_is_used_saved_and_loaded(tmp_path):
    text = "a,b,c,d\nx,1,2,3\ny,4,5,6\n"
    fields = {
        "job_id": FieldMap(column="a"),
        "submit": FieldMap(column="b", unit="min"),
        "gpus": FieldMap(column="c"),
        "run": FieldMap(column="d", unit="h"),
    }
    save_mapping(ColumnMapping(fields=fields), tmp_path / "m.json")
    mapping = load_mapping((tmp_path / "m.json").read_text())
    trace = read(text, mapping=mapping)
    assert list(trace.workload.submit_s) == [60, 240]
    assert list(trace.workload.work) == [3 * 3600, 6 * 3600]
    with pytest.raises(InputError, match=r"missing columns: d.*The file has: a, b, c, dd"):
        read("a,b,c,dd\nx,1,2,3\n", mapping=mapping)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="no JSON"),
        pytest.param(json.dumps({"fields": {"colour": {"column": "a"}}}), id="unknown meaning"),
        pytest.param(json.dumps({"fields": {"run": {"column": "a", "unit": "gib"}}}), id="unit of another kind"),
    ],
)
def test_bad_mapping_files(text):
    with pytest.raises(InputError, match="column mapping"):
        load_mapping(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("foo,bar\n1,2\n", "no column was recognised for submission time, run time", id="nothing known"),
        pytest.param("job_id,submit_time_s,duration_s\na,0,60\n", "number of GPUs", id="no GPUs"),
        pytest.param(
            "job_id,submit_time_s,num_gpus,durration_s\na,0,1,60\n", "perhaps 'durration_s' for run", id="typo"
        ),
        pytest.param("1,2,3,4\n5,6,7,8\n", "holds numbers, not column names", id="no header"),
    ],
)
def test_unclear_columns_ask_for_a_mapping(text, says):
    with pytest.raises(MappingNeeded, match=says) as caught:
        read(text)
    assert isinstance(caught.value.guess, ColumnMapping)


def test_thousands_of_columns():
    head = ",".join([HEAD, *[f"c{i}" for i in range(5000)]])
    assert read(f"{head}\na,0,1,60{',1' * 5000}\nb,0,1,60{',1' * 5000}\n").report.kept == 2
    with pytest.raises(InputError, match="columns; the limit is 10,000"):
        read(",".join(f"c{i}" for i in range(20_000)) + "\n1\n")


# ---- native files --------------------------------------------------------------------------------


def test_vc_becomes_group_and_template_reads():
    assert list(read(HEAD + ",vc\na,0,1,60,v1\n").workload.group) == ["v1"]
    trace = read(template_csv())
    assert trace.format_key == "native"
    assert trace.report.counts == {"rows": 3, "kept": 3, "repaired": 0, "dropped": 0}
    assert trace.workload.due_s[0] == 14400


NAMES = st.text(st.characters(categories=["L", "N"], include_characters="-_ .,;'\""), min_size=1, max_size=8).map(
    lambda text: text.strip() or "x"
)


@st.composite
def workloads(draw):
    count = draw(st.integers(1, 6))

    def floats(low, high, gaps=False):
        value = st.floats(low, high)
        return draw(st.lists(value | st.just(float("nan")) if gaps else value, min_size=count, max_size=count))

    workers = np.array(draw(st.lists(st.integers(1, 64), min_size=count, max_size=count)))
    columns = {
        "job_id": draw(st.lists(NAMES, min_size=count, max_size=count, unique=True)),
        "submit_s": floats(0, 1e7),
        "work": floats(1e-3, 1e7),
        "workers": workers,
        "gpus_per_worker": floats(0.01, 8),
    }
    for column in COLUMNS:
        if column.name in columns or not draw(st.booleans()):
            continue
        if column.name == "gpu_types":
            columns[column.name] = draw(st.lists(st.sampled_from(["", "A", "A|B"]), min_size=count, max_size=count))
        elif column.kind == "text":
            columns[column.name] = draw(st.lists(NAMES, min_size=count, max_size=count))
        elif column.name == "min_workers":
            columns[column.name] = np.maximum(1, workers // 2)
        elif column.name == "max_workers":
            columns[column.name] = workers * 2
        elif column.name == "servers":
            columns[column.name] = workers
        elif column.name.startswith("limit_") or column.name in {"workers_per_server", "cancel_after_s"}:
            columns[column.name] = floats(0.01, 1e6, gaps=True)
        elif column.name == "recorded_start_s":
            columns[column.name] = np.array(columns["submit_s"]) + floats(0, 100)
        else:
            columns[column.name] = floats(0, 1e6, gaps=column.name in {"priority", "due_s", "weight_usd_per_s"})
    return Workload.from_columns(columns)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@given(jobs=workloads())
def test_written_tables_read_back_equal(kind, jobs):
    buffer = io.BytesIO()
    write_native(jobs, buffer, kind)
    trace = read_trace(buffer.getvalue(), "t")
    assert trace.format_key == "native"
    wanted = {n: v for n, v in jobs.columns().items() if v.dtype == object and (v != "").any()}
    wanted |= {n: v for n, v in jobs.columns().items() if v.dtype != object and np.isfinite(v).any()}
    assert trace.workload.columns().keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(trace.workload.columns()[name], values, err_msg=name)


def test_write_to_paths(tmp_path: Path):
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [5.0]}, {"time_zero": "2024-01-01"})
    for name in ("t.csv", "t.parquet"):
        write_native(jobs, tmp_path / name)
        assert read_trace(tmp_path / name).workload == jobs
    assert pq.read_schema(tmp_path / "t.parquet").metadata[b"dlsched.time_zero"] == b"2024-01-01"
    with pytest.raises(InputError, match="cannot be written"):
        write_native(jobs, tmp_path / "absent" / "t.csv")


def parquet(**columns) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def test_parquet_types():
    content = parquet(
        job_id=pa.array([7, 8]),
        submit_time=pa.array([1_709_287_200_000_000, 1_709_287_260_000_000], pa.timestamp("us")),
        num_gpus=pa.array([1, None], pa.int32()),
        duration_s=pa.array([1.5, 2.5]),
        user=pa.array(["x", "y"]).dictionary_encode(),
    )
    trace = read_trace(content, "t.parquet")
    assert list(trace.workload.job_id) == ["7"]
    assert list(trace.workload.columns()["user"]) == ["x"]
    assert trace.workload.meta["time_zero"] == "2024-03-01T10:00:00"
    assert findings(trace, "dropped") == {"no gpus": (1, [(2, "None")])}
    nested = parquet(job_id=["a"], submit_time_s=[0], num_gpus=[1], duration_s=[5], user=[["x"]])
    with pytest.raises(InputError, match="'user': its Parquet type list"):
        read_trace(nested, "t")


def test_long_names_that_repeat_are_cut_with_their_count():
    header = ",".join(["job_id", "submit_time_s", "num_gpus", "duration_s", *["x" * 90] * 2])
    dialect = sniff(f"{header}\n1,0,1,60,5,6\n".encode())
    assert dialect.header[-2:] == ("x" * 70, "x" * 70 + " (2)")
