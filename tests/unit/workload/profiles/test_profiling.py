"""Profiling rows: names of columns, units, what is filled, what is dropped and why; hostile files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.speed.regression import fit_all
from dlsched.speed.terms import BATCH, DISK, GFLOPS, GPUS, ITERATIONS
from dlsched.workload.profiles.measured_rows import MOST_ROWS
from dlsched.workload.profiles.profiling import read_profiling, template_csv

HEAD = "network,gpu_type,gpus,batch_size,iterations,seconds\n"


def read(text: str | bytes, name: str = "runs.csv"):
    return read_profiling(text.encode() if isinstance(text, str) else text, name)


def why(text: str | bytes) -> str:
    with pytest.raises(InputError) as raised:
        read(text)
    return str(raised.value)


def test_plain_table():
    found = read(HEAD + "a,V100,2,64,1000,50\nb,T4,1,32,500,80\n")
    assert found.runs.network.tolist() == ["a", "b"]
    assert found.runs.seconds.tolist() == [50, 80]
    assert found.runs.features[:, [ITERATIONS, BATCH, GFLOPS, GPUS]].tolist() == [
        [1000, 64, 15_700, 2],
        [500, 32, 8100, 1],
    ]
    assert np.isnan(found.runs.features[:, DISK]).all()
    assert any("nominal vendor figures: T4 8,100, V100 15,700" in note for note in found.report.notes)


def test_template_is_read_and_begins_a_prediction():
    found = read(template_csv())
    assert found.report.kept == 4
    assert found.runs.network[0] == "my-net"


def test_authors_column_names_and_epochs():
    text = "Application,Images,Epochs,Batchsize,Jobs,GpuType,GpuNumber,ExecutionTime\nx,1000,20,50,J1,K80,1,9\n"
    found = read(text)
    assert found.runs.features[0, ITERATIONS] == 20 * 1000 / 50
    assert found.runs.features[0, GFLOPS] == 4368


def test_step_times_become_seconds_for_a_thousand_samples_on_one_node():
    text = "placement,local_bsz,step_time,sync_time\n1,4,0.5,0.1\n2,4,0.5,0.1\n11,4,0.9,0.1\n12,8,1,1\n"
    found = read_profiling(text.encode(), "bert.csv")
    assert found.runs.network.tolist() == ["bert", "bert"]
    assert found.runs.seconds == pytest.approx([1000 * 0.5 / 4, 1000 * 0.5 / 8])
    assert found.report.dropped == 2
    assert found.report.findings[0].reason == "spread over several nodes"
    assert found.lacks == ("network", "gpu_type")
    named = read_profiling(text.encode(), "bert.csv", "mine", "T4").runs
    assert named.networks == ("mine",)
    assert named.features[0, GFLOPS] == 8100


def test_own_gflops_hours_tflops_and_disk():
    found = read("model,gpu,num_gpus,time_h,tflops,disk_seconds\nm,mine,4,2,10,7\n")
    assert found.runs.seconds.tolist() == [7200]
    assert found.runs.features[0, [GFLOPS, DISK]].tolist() == [10_000, 7]


BAD_ROWS = {
    "a,V100,two,64,1000,50": "number of GPUs cannot be read",
    "a,V100,,64,1000,50": "no number of GPUs",
    "a,V100,0,64,1000,50": "number of GPUs out of range",
    "a,V100,1.5,64,1000,50": "number of GPUs is not usable",
    "a,V100,5000,64,1000,50": "number of GPUs is not usable",
    "a,V100,2,64,1000,inf": "training time cannot be read",
    "a,V100,2,64,1000,-5": "training time out of range",
    "a,V100,2,64,1000,0": "training time out of range",
    "a,V100,2,64,1000,1e16": "training time out of range",
    "a,V100,2,64,1000,1e999": "training time cannot be read",
    "a,V100,2,64,1000,=1+1": "training time cannot be read",
    "a,V100,2,,1000,50": "no batch size",
    ",V100,2,64,1000,50": "no network",
    "a,,2,64,1000,50": "no gpu type",
    "a,unheard,2,64,1000,50": "no GFLOPS",
    "a,V100,2,64": "wrong number of fields in the line",
}


@pytest.mark.parametrize("row", BAD_ROWS)
def test_bad_rows_are_dropped_by_line_with_their_rule(row):
    good = "".join(f"a,V100,{gpus},64,1000,{90 / gpus}\n" for gpus in (1, 2, 4))
    found = read(HEAD + good + row + "\n")
    assert found.report.kept == 3
    (finding,) = found.report.of_kind("dropped")
    assert finding.reason == BAD_ROWS[row]
    assert finding.examples[0].line == 5


BAD_FILES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "it is empty"),
    "header only": (HEAD, "only a header and no data rows"),
    "no time": ("network,gpus\na,1\n", "no column was recognised for the training time"),
    "no GPUs": ("network,seconds\na,1\n", "no column was recognised for the number of GPUs"),
    "step times without batch": ("gpus,step_time\n1,2\n", "the batch size that step times need"),
    "jobs as networks": (HEAD + "".join(f"job{i},V100,1,64,10,{i + 1}\n" for i in range(300)), "not jobs"),
    "too many rows": (HEAD + "a,V100,1,64,10,5\n" * (MOST_ROWS + 1), "the limit is 10,000"),
    "nothing usable": (HEAD + "a,V100,x,64,10,5\n", "no row can be used"),
    "pdf": (b"%PDF-1.7 \n" + bytes(300), "PDF"),
    "bomb": (gzip.compress(b"0" * (1 << 20), 1) * 513, "too large when decompressed"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_get_one_clear_message(case):
    content, message = BAD_FILES[case]
    assert message in why(content)


def test_formulas_and_markup_stay_text_and_are_flagged():
    found = read(HEAD + "=cmd(),V100,1,64,10,5\n<b>x</b>,V100,1,64,10,5\n")
    assert set(found.runs.network) == {"=cmd()", "<b>x</b>"}
    assert found.report.of_kind("flagged")[0].count == 2


def test_encodings_and_delimiters():
    text = (HEAD + "ä,V100,1,64,10,5\n").replace(",", ";")
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
        assert read(text.encode(encoding)).runs.network[0] == "ä"


def test_times_beyond_perfect_scaling_and_copied_times_are_flagged():
    rows = "a,V100,1,64,10,100.03\na,V100,2,64,10,55\na,V100,4,64,10,10\na,T4,1,64,10,100.03\na,T4,2,64,10,60\n"
    found = read(HEAD + rows)
    flagged = {finding.reason: finding for finding in found.report.of_kind("flagged")}
    assert [example.line for example in flagged["faster than perfect scaling"].examples] == [4]
    assert [example.line for example in flagged["same time as on another GPU type"].examples] == [2, 5]
    assert found.report.kept == 5


def test_measured_times_of_the_study(shared_data: Path):
    """480 rows on four GPU types; on the Quadro P600 they fall below perfect scaling, then equal those of the K80."""
    found = read_profiling(shared_data / "gpuaas" / "data_2d10d_filtered.csv")
    assert found.report.kept == 480
    flagged = {finding.reason: finding.count for finding in found.report.of_kind("flagged")}
    assert flagged["faster than perfect scaling"] == 20
    assert flagged["same time as on another GPU type"] > 100
    fit = fit_all(found.runs).of("pytorch_alexnet")
    assert 0.05 < fit.mape < 0.2
    without = fit_all(found.runs.where(found.runs.gpu_type != "Quadro P600"))
    assert without.mape < 0.03
    assert fit.unseen["Quadro P600"] > 1  # nothing measured is like it


@pytest.mark.parametrize(
    ("network", "most"),
    [("bert", 0.03), ("cifar10", 0.06), ("deepspeech2", 0.06), ("imagenet", 0.05), ("ncf", 0.1), ("yolov3", 0.25)],
)
def test_measured_step_times_of_pollux(shared_data: Path, network, most):
    found = read_profiling(shared_data / "pollux" / "traces" / network / "placements.csv")
    assert set(found.runs.network) == {network}
    assert found.runs.features[:, GPUS].max() == 4
    fits = fit_all(found.runs)
    assert fits.of(network).mape < most
