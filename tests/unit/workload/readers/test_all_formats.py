"""Every format at once: its fixture is detected as itself and as no other, and mutated files end in one message."""

import contextlib
import json
import os
import random
import re

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.readers import ReadOptions, detect, read_trace
from dlsched.workload.readers.detection import SURE
from dlsched.workload.readers.formats import NotJobs
from dlsched.workload.readers.registry import FORMATS, find_format
from tests.support.mutations import mutated
from tests.unit.workload.readers import test_batsim as batsim
from tests.unit.workload.readers import test_detection as basic
from tests.unit.workload.readers import test_headless_traces as headless
from tests.unit.workload.readers import test_not_jobs as not_jobs
from tests.unit.workload.readers import test_public_traces as public
from tests.unit.workload.readers import test_research_traces as research
from tests.unit.workload.readers.accounting import test_lsf, test_pbs, test_pbs_json, test_sge
from tests.unit.workload.readers.kubernetes import test_workloads as kueue
from tests.unit.workload.readers.slurm import test_slurm_json as slurm_json
from tests.unit.workload.readers.slurm import test_ub_simulator

MUTATIONS = int(os.environ.get("DLSCHED_MUTATIONS", "1000"))
"""Mutated files read in all; 10,000 take a minute or two."""
CONVERTED = (
    "job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,gpu_workers,ps,"
    "gpu_per_worker,cpu_per_gpu_worker,cpu_per_ps_worker,tensorsizes,profiled_network\n"
    "0,0.0,200,0.5,0.75,4,0,8.0,15.0,15.0,10,1000\n1,5.0,20,0.5,0.25,3,2,1.5,10.0,10.0,10,500\n"
)
PAI_SIMULATOR = (
    "job_id,user,gpu_type,num_gpu,num_cpu,submit_time,num_inst,wait_time,duration,user_dur\n"
    "1,u,V100,4,24,100,2,5.5,60,61\n2,u,CPU,0,8,110,1,,30,31\n"
)
OPENDC = public.parquet(id=[7, 9], submission_time=[10_000, 20_000], duration=[30_000, 45_500], cpu_count=[16, 4],
                        cpu_capacity=[33.5, 2.0], mem_capacity=[100, 2])  # fmt: skip
FILES: dict[str, str | bytes] = {
    **basic.FORMATS,
    "sacct-json": json.dumps({"jobs": [slurm_json.old_job(5), slurm_json.new_job(6)], "meta": {}}),
    "squeue-json": json.dumps({"jobs": slurm_json.QUEUE, "last_update": slurm_json.told(slurm_json.NOW)}),
    "ub-events": test_ub_simulator.EVENTS,
    "ub-csv": test_ub_simulator.TABLE,
    "pbs": test_pbs.TORQUE,
    "pbs-json": json.dumps(test_pbs_json.LISTING) if isinstance(test_pbs_json.LISTING, dict) else test_pbs_json.LISTING,
    "lsf": test_lsf.LOG,
    "sge": test_sge.LOG,
    "kueue": kueue.listed(kueue.ran("a"), kueue.ran("b")),
    "aws-hpc": public.AWS,
    "batsim": json.dumps(batsim.WORKLOAD),
    "batsim-csv": batsim.NEW,
    "opendc": OPENDC,
    "gavel": research.GAVEL_7,
    "shockwave": research.SHOCKWAVE,
    "tiresias": research.TIRESIAS,
    "muri": research.MURI,
    "pollux": research.POLLUX,
    "pai": headless.TASKS,
    "pai-simulator": PAI_SIMULATOR,
    "alibaba-spot": public.SPOT_JOBS,
    "acme": public.KALOS,
    "acme-converted": CONVERTED,
    "google-2011": headless.EVENTS,
}  # fmt: skip
CONTENT = {key: text if isinstance(text, bytes) else text.encode() for key, text in FILES.items()}
GIVEN = {"throughputs": json.dumps(research.RATES).encode(), "run_times": {"others": 60.0}}
"""What formats need that do not say how long jobs run."""


def test_every_format_has_a_fixture():
    assert sorted(FILES) == sorted(one.key for one in FORMATS if one.read is not None)


@pytest.mark.parametrize("key", sorted(FILES))
def test_a_fixture_is_detected_as_itself_and_as_no_other(key):
    sure = [one.format_key for one in detect(CONTENT[key]) if one.certainty >= SURE]
    others = [name for name in sure if name != key and not find_format(name).fallback]
    assert others == (["native"] if key == "opendc" else []), "any Parquet table may be ours"
    assert key in sure
    trace = read_trace(CONTENT[key], "t", ReadOptions(**GIVEN))
    assert trace.format_key == key
    assert trace.report.kept >= 1
    jobs = trace.workload
    assert np.isfinite(jobs.submit_s).all()
    assert (jobs.work > 0).all()


# ---- mutations -----------------------------------------------------------------------------------

SAMPLES = CONTENT | {f"{key} {len(text)}": text.encode() for key, text in not_jobs.CASES}


@pytest.mark.parametrize("key", sorted(SAMPLES))
def test_mutated_files_end_in_one_message(key):
    rng = random.Random(key)
    for number in range(-(-MUTATIONS // len(SAMPLES))):
        content = mutated(SAMPLES[key], rng)
        chosen = "auto" if number % 3 or key not in FILES else key
        options = ReadOptions(format=chosen, gpus_counted="per-worker", processors="cpus", **GIVEN)
        try:
            trace = read_trace(content, "t", options)
        except InputError:
            continue
        except Exception as error:
            error.add_note(f"{key}, mutation {number}: {content[:2000]!r}")
            raise
        counts = trace.report.counts
        assert counts["rows"] == counts["kept"] + counts["dropped"]
        assert counts["kept"] == len(trace.workload) > 0


# ---- files as people have them -------------------------------------------------------------------

REAL = {
    "accounting/lsf_lsb.acct.log": "lsf",
    "accounting/pbs_accounting.log": "pbs",
    "accounting/pbs_gpu_cases.json": "a JSON file",
    "accounting/sge_accounting.log": "sge",
    "accounting/slurm_accounting.log": "sacct",
    "acme/converted_kalos_trace.csv": "acme-converted",
    "acme/trace_kalos_head.csv": "acme",
    "alibaba/openb_pod_list_gpuspec33.csv": "openb",
    "alibaba/v2026_spot_job_info_head.csv": "alibaba-spot",
    "alibaba/v2026_spot_node_info_df.csv": "the node list of the Alibaba spot GPU trace",
    "aws/hpc-cost-simulator_jobs.csv": "aws-hpc",
    "batsim/batsim_out_jobs.csv": "batsim-csv",
    "batsim/batsim_paper_workload_seed1.json": "batsim",
    "batsim/oar_out_jobs.csv": "batsim-csv",
    "google2011/machine-events-sample-1.csv": "Google 2011 machine_events",
    "google2011/task-events-sample-1.csv": "google-2011",
    "helios/Earth_gpu_number.csv": "the Helios table of GPUs",
    "helios/Venus_Sept_lgb.csv": "a table of predicted priorities",
    "kueue/kueueviz_00-resource-flavor.yaml": "ResourceFlavor",
    "kueue/kueueviz_01-cluster-queues.yaml": "ClusterQueue",
    "kueue/kueueviz_01.5-cohorts.yaml": "Cohort",
    "kueue/kueueviz_02-local-queues.yaml": "LocalQueue",
    "kueue/kueueviz_07-workload-priority-classes.yaml": "WorkloadPriorityClass",
    "kueue/sample-pytorchjob.yaml": "PyTorchJob",
    "opendc/accelerated_topology.json": "OpenDC topology",
    "opendc/surf_week_tasks.parquet": "opendc",
    "research/gavel_0e4a51.trace": "a Gavel trace",
    "research/muri_trace1.csv": "muri",
    "research/shockwave_120.trace": "shockwave",
    "research/sia_workload-1.csv": "a workload of Pollux or Sia",
    "research/tiresias_60_job.csv": "tiresias",
    "sacct/gcm_sample-sacct-multiple-multiline.txt": "sacct",
    "sacct/gcm_sample-sacct-output-invalid-utf8.txt": "sacct",
    "sacct/gcm_sample-sacct-output.txt": "sacct export",
    "sacct/hb-jobinfo_sacct.txt": "sacct",
    "sacct/hb-jobinfo_scontrol_nodes.txt": "the node list of scontrol show nodes",
    "sacct/mila_sacct_1.json": "sacct-json",
    "slurmsim/jobs500.events": "ub-events",
    "slurmsim/jobs500org.csv": "ub-csv",
    "swf/NASA-iPSC-1993-3.1-cln.swf.gz": "swf",
    "swf/evalys_easy.swf": "swf",
    "swf/hpc2n_alea.swf": "swf",
    "xdmod/phillips.log": "sacct",
}
"""File -> the format it is read in, else what it is refused as."""


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_real_file_is_read_or_named(shared_data, name):
    path = shared_data / "real" / name
    if not path.is_file():
        pytest.skip(f"real files not found: expected shared/data/real/{name} beside the project folder")
    expected = REAL[name]
    if expected in FILES:
        trace = read_trace(path)
        assert trace.format_key == expected
        assert trace.report.kept > 0
        return
    with pytest.raises(InputError, match=re.escape(expected)) as caught:
        read_trace(path)
    assert caught.value.do
    assert isinstance(caught.value, NotJobs) or name == "sacct/gcm_sample-sacct-output.txt"


def test_every_real_file_is_in_the_list(shared_data):
    folder = shared_data / "real"
    with contextlib.suppress(FileNotFoundError):
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"NOTES.md"}
        assert found <= set(REAL)
