"""What a user can choose about reading a trace. Defaults keep every second of service that was recorded."""

from __future__ import annotations

from typing import Any, Literal, get_origin

from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.workload.readers.mapping import ColumnMapping


def parse_choice(name: str, text: str) -> Any:
    """Return the value of a reading choice as it is typed: a list as in "a,b", pairs as in "a:1,b:2", else the text.

    InputError where pairs are needed and have no colon.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    kind = get_origin(ReadOptions.model_fields[name].annotation)
    if kind is dict:
        pairs = [part.rpartition(":") for part in parts]
        if not all(colon for _, colon, _ in pairs):
            raise InputError(f"{name} {text[:80]!r}", "is not of the form NAME:NUMBER,NAME:NUMBER", "Correct it")
        return {key.strip(): number.strip() for key, _, number in pairs}
    return parts if kind is tuple else text


class ReadOptions(FrozenModel):
    """Choices of an import; each format uses those that concern it."""

    format: str = Field("auto", max_length=80, description="Trace format; auto = detect from the content.")
    mapping: ColumnMapping | None = Field(None, description="Meaning of the columns of a CSV file; empty = guess.")
    cancelled: Literal["keep", "drop"] = Field(
        "keep",
        title="Cancelled jobs",
        description="Jobs cancelled while running: keep them with their recorded run time, or drop them.",
    )
    censored: Literal["keep", "drop"] = Field(
        "keep",
        title="Still running at the end",
        description="Jobs still running when the trace ends: keep the run time observed so far, or drop them.",
    )
    pending: Literal["leave-out", "keep"] = Field(
        "leave-out",
        title="Jobs that have not started",
        description="Jobs of a queue that have not started: leave out those of a log and those on hold, or keep all of "
        "them as they wait now, which the question when they start needs.",
    )
    never_started: Literal["leave-out", "keep"] = Field(
        "leave-out",
        title="Jobs that left without a start",
        description="Jobs that were taken back while they waited: leave them out, or keep them in the queue until they "
        "left. If they start, they run until then or to their time limit. A fit of the scheduler needs them, as they "
        "held places in the queue; in a run they are cancelled, and their waits are never compared.",
    )
    cpu_jobs: Literal["keep", "drop"] = Field(
        "keep",
        title="Jobs without GPUs",
        description="Jobs without GPUs: keep them as CPU jobs, or drop them.",
    )
    zero_run: Literal["drop", "one-second"] = Field(
        "drop",
        title="Run time of 0 s",
        description="Jobs with a run time of 0 s: drop them, or run them for 1 s.",
    )
    duplicates: Literal["suffix", "drop"] = Field(
        "suffix",
        title="Repeated job ID",
        description="Different jobs with the same ID: number the later ones (#2, #3), or drop them. A repeated row "
        "with the same times and GPUs is always dropped.",
    )
    philly_run_time: Literal["wall", "attempts"] = Field(
        "wall",
        title="Run time",
        description="Philly: first start to last end (with re-queue gaps), or the sum of the attempts.",
    )
    absent_times: Literal["leave-out", "include"] = Field(
        "leave-out",
        title="Absent nodes",
        description="Times at which a node was idle for 20 min or more while jobs that fit waited: leave them out, or "
        "include them as maintenance. They describe the log; what-ifs on the same log then know them.",
    )
    cluster: bytes | None = Field(
        None,
        exclude=True,
        description="Content of a description of the cluster: scontrol show nodes, slurm.conf, sinfo, pbsnodes or a "
        "node list.",
    )
    queues: tuple[bytes, ...] = Field(
        (),
        exclude=True,
        max_length=20,
        description="Content of files with the queues of Kueue and their quotas, as kubectl prints them.",
    )
    slurm: tuple[bytes, ...] = Field(
        (),
        exclude=True,
        max_length=20,
        description="Content of files with settings of Slurm: slurm.conf, sacctmgr show qos -P, sacctmgr show assoc "
        "-P, sshare -a -l -P, scontrol show res.",
    )
    gpus_counted: Literal["ask", "per-job", "per-worker"] = Field(
        "ask",
        title="GPU column of a table with workers",
        description="Tables with a column of GPUs and one of workers: the GPUs are those of the whole job, or of each "
        "worker.",
    )
    processors: Literal["auto", "gpus", "cpus"] = Field(
        "auto",
        title="Processors or cores are",
        description="Logs that record processors or cores and no GPUs: count them as GPUs (gpus), or as the cores of "
        "jobs without GPUs (cpus). auto = GPUs for SWF logs; tables ask.",
    )
    gpus_per_processor: float = Field(
        1.0,
        title="GPUs per processor",
        gt=0,
        le=64,
        description="Where processors count as GPUs: GPUs per processor; 0.125 = eight cores count as one GPU.",
    )
    cores_per_gpu: dict[str, float] = Field(
        default_factory=dict,
        description="SWF: cores that count as one GPU, by partition number; other partitions use gpus_per_processor.",
    )
    sge_gpus: Literal["job", "slot"] = Field(
        "job",
        title="GPUs are asked for by",
        description="Grid Engine: GPUs of a request (-l gpu=2) count once for the job, or for each of its slots.",
    )
    throughputs: bytes | None = Field(
        None, exclude=True, title="Table of throughputs", description="Gavel: content of simulation_throughputs.json."
    )
    throughput_of: str = Field(
        "v100",
        title="GPU type of the throughputs",
        min_length=1,
        max_length=80,
        description="Gavel: the GPU type on which the steps run, as the table of throughputs names it.",
    )
    run_times: dict[str, float] = Field(
        default_factory=dict,
        title="Run times by application (s)",
        description="Pollux and Sia: run time in seconds by application, as in cifar10:1800,others:3600.",
    )
    arrival: Literal["eligible", "submit"] = Field(
        "eligible",
        title="Jobs arrive when",
        description="Jobs arrive when dependencies and holds let them run (eligible), or when submitted.",
    )
    sacct_fields: str = Field(
        "",
        title="Field list of sacct",
        max_length=4000,
        description="sacct export without a header line: the list of its --format option, as in JobID,User,State.",
    )
