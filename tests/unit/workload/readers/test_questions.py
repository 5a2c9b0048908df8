"""Tables that do not say what their numbers count are asked about; the answer is a reading choice."""

import pickle

import numpy as np
import pytest

from dlsched.domain.cluster import VmType
from dlsched.domain.errors import InputError
from dlsched.workload.import_report import requested_totals
from dlsched.workload.readers import ColumnMapping, FieldMap, MappingNeeded, ReadOptions, read_trace

WORKERS = "id,submitted_at,runtime_s,gpus,replicas,cpu,mem_gb\na,0,60,1,94,12,8\nb,5,60,2,2,4,16\nc,9,60,8,1,2,4\n"
CORES = "id,submitted_at,runtime_s,cores\na,0,60,16\nb,5,60,1\nc,9,60,\n"
SWF = "; MaxNodes: 4\n; MaxProcs: 32\n1 0 10 60 4 -1 -1 4 100 2097152 1 3 1 -1 2 1 -1 -1\n"


def read(text, **options):
    return read_trace(text.encode(), "t.csv", ReadOptions(**options))


def test_gpus_beside_workers_are_asked_about():
    with pytest.raises(MappingNeeded) as caught:
        read(WORKERS)
    whole, each = caught.value.readings
    assert (whole.choice, whole.value, whole.gives) == (
        "gpus_counted",
        "per-job",
        "largest job: 8 GPUs, all jobs: 11 GPUs",
    )
    assert (each.value, each.gives) == ("per-worker", "largest job: 94 GPUs, all jobs: 106 GPUs")
    assert "column 'gpus' may hold" in str(caught.value)
    assert "Choose gpus_counted=per-job or gpus_counted=per-worker" in str(caught.value)
    assert caught.value.guess.fields["workers"].column == "replicas"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.readings) == (str(caught.value), caught.value.readings)


def test_the_answer_decides_for_gpus_cpus_and_memory():
    each = read(WORKERS, gpus_counted="per-worker")
    assert requested_totals(each.workload) == {"gpus_total": 106, "cpus_total": 12 * 94 + 4 * 2 + 2}
    assert each.workload.columns()["mem_gib_per_worker"].tolist() == [8, 16, 4]
    assert "GPUs, CPUs and memory are those of each worker" in each.assumptions
    assert "Column 'gpus' was read as: gpus of each worker" in each.assumptions
    whole = read(WORKERS, gpus_counted="per-job")
    assert requested_totals(whole.workload) == {"gpus_total": 11, "cpus_total": 18}
    assert whole.workload.workers.tolist() == [94, 2, 1]


@pytest.mark.parametrize(
    "text",
    [
        WORKERS.replace(",94,", ",1,").replace(",2,2,", ",2,1,"),  # one worker each
        WORKERS.replace("gpus", "num_gpus").replace("replicas", "workers"),  # our own names
        WORKERS.replace(",cpu,", ",gpus_per_worker,"),  # the table says it
    ],
)
def test_it_is_not_asked_where_it_makes_no_difference(text):
    assert read(text).report.kept == 3


def test_a_confirmed_mapping_is_the_answer():
    fields = {"submit": "submitted_at", "run": "runtime_s", "gpus_per_worker": "gpus", "workers": "replicas"}
    mapping = ColumnMapping(fields={key: FieldMap(column=column) for key, column in fields.items()})
    assert requested_totals(read(WORKERS, mapping=mapping).workload)["gpus_total"] == 106


def test_cores_without_gpus_are_asked_about():
    with pytest.raises(MappingNeeded, match="no column gives GPUs; column 'cores' may hold") as caught:
        read(CORES)
    assert [(one.choice, one.value) for one in caught.value.readings] == [
        ("processors", "cpus"),
        ("processors", "gpus"),
    ]
    assert caught.value.readings[0].gives == "largest job: 16 cores"
    cpus = read(CORES, processors="cpus")
    assert requested_totals(cpus.workload) == {"gpus_total": 0, "cpus_total": 17}
    assert (cpus.report.kept, cpus.report.dropped) == (2, 1)
    assert cpus.workload.workers.tolist() == [1, 1]
    gpus = read(CORES, processors="gpus", gpus_per_processor=0.125)
    assert requested_totals(gpus.workload) == {"gpus_total": 2.125, "cpus_total": 0}


def test_swf_processors_are_gpus_or_cores():
    assert requested_totals(read(SWF).workload) == {"gpus_total": 4, "cpus_total": 0}
    cpus = read(SWF, processors="cpus")
    assert requested_totals(cpus.workload) == {"gpus_total": 0, "cpus_total": 4}
    assert cpus.workload.workers.tolist() == [4]
    assert cpus.workload.columns()["mem_gib_per_worker"].tolist() == [2]
    assert "Each processor counted as one CPU core of a job without GPUs" in cpus.assumptions
    assert cpus.cluster.cluster.pools[0].vm == VmType(name="8-processor node", gpus=0, cpus=8)


@pytest.mark.parametrize(
    ("unit", "seconds"), [("s", 1), ("ms", 1e-3), ("us", 1e-6), ("min", 60), ("h", 3600), ("d", 86400), ("unix", 1)]
)
def test_units_of_times(unit, seconds):
    text = "id,when,lasted,gpus\na,1000,7,1\nb,3000,7,1\n"
    mapping = ColumnMapping(
        fields={
            "submit": FieldMap(column="when", unit=unit),
            "run": FieldMap(column="lasted", unit="s" if unit == "unix" else unit),
            "gpus": FieldMap(column="gpus"),
        }
    )
    jobs = read(text, mapping=mapping).workload
    assert np.diff(jobs.submit_s) == pytest.approx([2000 * seconds])
    assert jobs.work == pytest.approx([7 * seconds] * 2)
    assert jobs.meta.get("time_zero") == ("1970-01-01T00:16:40" if unit == "unix" else None)


def test_a_table_without_any_demand_says_what_is_missing():
    with pytest.raises(InputError, match=r"no column was recognised for number of GPUs \(or CPU cores\)"):
        read("id,submitted_at,runtime_s\na,0,60\n")
