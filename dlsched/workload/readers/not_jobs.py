"""Files that people give in place of a job log, named for what they are, with the file or export that helps.

The specific ones come first. Those of a general kind (any JSON, YAML, HTML) decide only where no other format suits.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dlsched.workload.readers.exports import SACCT_COMMAND
from dlsched.workload.readers.formats import Head, Signs, TraceFormat

Sign = Callable[[Head], Signs | None]
YES = Signs(1, 1)
MORE_EXACT = Signs(2, 2)
"""Signs of a general kind that is part of another: a configuration file is key=value pairs."""
AS_SLURM = "Give it as settings of Slurm beside the job log (--slurm FILE)"
AS_CLUSTER = "Give it as the cluster beside the job log (--cluster FILE)"
SACCT = f"Export the jobs with {SACCT_COMMAND}"


def _known(key: str, label: str, signs: Sign, do: str, *, fallback: bool = False) -> TraceFormat:
    """Return a kind of file without jobs."""
    return TraceFormat(key, label, signs, why=f"it is {label}", do=do, fallback=fallback)


# ---- signs -----------------------------------------------------------------------------------------


def _lines(pattern: str, share: float = 0.5) -> Sign:
    """Return the signs of a text in which this share of the first lines match."""
    matcher = re.compile(pattern)

    def signs(head: Head) -> Signs | None:
        hits = sum(matcher.match(line) is not None for line in head.lines)
        return YES if hits and hits >= share * len(head.lines) else None

    return signs


def _anywhere(*patterns: str) -> Sign:
    """Return the signs of a text in which each pattern matches one of the first lines."""
    matchers = [re.compile(pattern) for pattern in patterns]

    def signs(head: Head) -> Signs | None:
        return YES if all(any(one.match(line) for line in head.lines) for one in matchers) else None

    return signs


def _words(*needed: str, without: str = "") -> Sign:
    """Return the signs of a printed table: words of its first line, which has no commas.

    Each of ``needed`` is a word, or several of which one is enough; ``without`` are words of other tables.
    """
    absent = set(without.split())

    def signs(head: Head) -> Signs | None:
        first = "".join(head.lines[:1])[:10_000].lower()
        words = set(re.split(r"[|\s]+", first)) if "," not in first else set()
        return YES if all(set(group.split("/")) & words for group in needed) and not absent & words else None

    return signs


def _columns(*names: str, without: tuple[str, ...] = ()) -> Sign:
    """Return the signs of a table that has all these columns, by their normal names."""

    def signs(head: Head) -> Signs | None:
        return YES if set(names) <= head.columns and not head.columns & set(without) else None

    return signs


def _json(*keys: str, start: str = "{", without: tuple[str, ...] = ()) -> Sign:
    """Return the signs of a JSON file that has all these keys somewhere."""

    def signs(head: Head) -> Signs | None:
        is_it = head.json_start in (start or ("{", "[")) and head.has_keys(keys) == len(keys)
        return YES if is_it and head.json_start and not head.has_keys(without) else None

    return signs


# ---- what schedulers print -------------------------------------------------------------------------

SLURM = (
    _known(
        "slurm-nodes", "the node list of scontrol show nodes",
        _lines(r"NodeName=\S+ .*\b(CfgTRES|CPUTot|CPUAlloc|Arch)=", 0.01),
        f"{AS_CLUSTER}. {SACCT}",
    ),
    _known(
        "slurm-conf", "a slurm.conf",
        _lines(
            r"(?i)\s*(ClusterName|ControlMachine|SlurmctldHost|SlurmUser|SelectType|SchedulerType|SlurmdPort|AuthType)\s*=|"
            r"\s*NodeName=\S+ (?!.*\b(CfgTRES|CPUTot|CPUAlloc|Arch)=)", 0.01,
        ),
        f"{AS_CLUSTER}. {SACCT}",
    ),
    _known(
        "slurm-partitions", "the output of scontrol show partition",
        _lines(r"PartitionName=\S+\s*(AllowGroups=.*)?$", 0.01),
        f"{AS_SLURM}. {SACCT}",
    ),
    _known(
        "slurm-job", "the output of scontrol show job", _lines(r"JobId=\d+\s.*JobName=", 0.01),
        f"For the queue as it is now give squeue --json. {SACCT}",
    ),
    _known(
        "slurm-jobcomp", "a job completion log of Slurm (jobcomp/filetxt)",
        _lines(r"JobId=\d+ UserId=\S+ .*\b(EndTime|JobState)="),
        f"It lacks GPUs and times of submission. {SACCT}",
    ),
    _known(
        "slurmctld-log", "a log of the Slurm daemons",
        _lines(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\] "), SACCT,
    ),
    _known(
        "sinfo", "the output of sinfo", _words("nodelist/hostnames", "partition/avail/state/cpus/gres",
                                               without="jobid st name user submit submit_time"),
        f"{AS_CLUSTER}. {SACCT}",
    ),
    _known(
        "squeue", "the table that squeue prints", _words("jobid", "st/state", "nodelist(reason)/reason"),
        f"It has no submission times and no finished jobs: give squeue --json. {SACCT}",
    ),
    _known(
        "sacctmgr-qos", "the output of sacctmgr show qos", _words("name", "priority", "gracetime/usagefactor"),
        f"{AS_SLURM}. {SACCT}",
    ),
    _known(
        "sacctmgr-assoc", "the output of sacctmgr show assoc",
        _words("account", "share/fairshare", "grpjobs/grptres/maxjobs/maxtres/qos", without="jobid rawshares"),
        f"{AS_SLURM}. {SACCT}",
    ),
    _known(
        "sshare", "the output of sshare", _words("account", "rawshares", "normshares/rawusage"), f"{AS_SLURM}. {SACCT}"
    ),
    _known(
        "slurm-reservations", "the output of scontrol show res", _lines(r"ReservationName=\S+ ", 0.01),
        f"{AS_SLURM}. {SACCT}",
    ),
    _known(
        "slurm-config", "the output of scontrol show config", _lines(r"Configuration data as of ", 0.001),
        f"{AS_SLURM}. {SACCT}",
    ),
    _known("sprio", "the output of sprio", _words("jobid", "priority", "fairshare/age/site", without="submit"), SACCT),
    _known(
        "slurm-json-nodes", "the JSON of scontrol show nodes or sinfo",
        _json("nodes", "hostname", "cpus", without=("jobs", "job_id", "hosts")), f"{AS_CLUSTER}. {SACCT}",
    ),
    _known(
        "slurm-error", "an error message of Slurm",
        _lines(r"(sacct|sinfo|squeue|scontrol|sacctmgr|slurm_\w+)(: | )(fatal|error|Invalid|Problem|unrecognized)"),
        f"The export failed: run it again as a user who may see all jobs. {SACCT}",
    ),
)  # fmt: skip
OTHER_SCHEDULERS = (
    _known(
        "pbsnodes", "the output of pbsnodes", _anywhere(r"\s+state = ", r"\s+(np|pcpus|resources_available\.\w+) = "),
        f"{AS_CLUSTER}. The jobs are in the server's accounting files (server_priv/accounting)",
    ),
    _known(
        "pbsnodes-json", "the JSON of pbsnodes", _json("nodes", "pbs_version", "resources_available"),
        f"{AS_CLUSTER}. The jobs are in the server's accounting files (server_priv/accounting)",
    ),
    _known(
        "pbs-server-log", "a log of the PBS daemons",
        _lines(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(\.\d+)?;[0-9a-fA-F]{4};"),
        "Give the server's accounting files (server_priv/accounting)",
    ),
    _known(
        "qstat-full", "the output of qstat -f", _anywhere(r"Job Id: \S", r"\s+Job_Name = "),
        "It lists the jobs of this moment: give the server's accounting files (server_priv/accounting)",
    ),
    _known(
        "qhost", "the output of qhost", _words("hostname", "arch", "ncpu", "load"),
        f"{AS_CLUSTER}. The jobs are in $SGE_ROOT/$SGE_CELL/common/accounting",
    ),
    _known(
        "qstat", "the table that qstat prints",
        _lines(r"(job-ID\s+prior|Job [Ii][Dd]\s+(Name|User)|Job id\s+Name)\b", 0.01),
        "It lists the jobs of this moment: give the accounting file (server_priv/accounting of PBS, common/accounting "
        "of SGE)",
    ),
    _known(
        "qacct", "the output of qacct", _anywhere(r"qname\s+\S", r"ru_wallclock\s+\S"),
        "Give the file $SGE_ROOT/$SGE_CELL/common/accounting itself",
    ),
    _known(
        "lsf-hosts", "the output of bhosts or lshosts", _words("host_name", "status/type", "max/ncpus"),
        f"{AS_CLUSTER}. The jobs are in LSF's lsb.acct",
    ),
    _known(
        "bqueues", "the output of bqueues", _words("queue_name", "prio", "status", "njobs"),
        "Give LSF's lsb.acct",
    ),
    _known(
        "bjobs", "the table that bjobs prints", _words("jobid", "stat", "from_host", "exec_host"),
        "It lists the jobs of this moment: give LSF's lsb.acct",
    ),
    _known(
        "bhist", "the report of bacct or bhist",
        _anywhere(r"(Accounting information about jobs that are:|Summary of time in seconds spent in|Job <\d+>)"),
        "Give LSF's lsb.acct itself",
    ),
    _known(
        "kubectl", "a table that kubectl prints", _words("name", "age", "status/ready/queue/reserved", without="jobid"),
        "Give kubectl get workloads.kueue.x-k8s.io -A -o json",
    ),
)  # fmt: skip

# ---- tables and descriptions beside a trace ----------------------------------------------------------

BESIDE_TRACES = (
    _known(
        "tiresias-cluster", "the cluster description of Tiresias (cluster_spec.csv)",
        _columns("num_switch", "num_node_p_switch", "num_gpu_p_node"),
        "Give the job table beside it; enter num_switch x num_node_p_switch nodes on the Cluster page",
    ),
    _known(
        "philly-machines", "the machine list of the Philly trace", _columns("machine_id", "number_of_gpus"),
        "Give cluster_job_log, which holds the jobs",
    ),
    _known(
        "philly-util", "a utilisation table of the Philly trace", _columns("machine_id", "gpu0_util"),
        "Give cluster_job_log, which holds the jobs",
    ),
    _known(
        "philly-util-host", "a utilisation table of the Philly trace",
        lambda head: _columns("machine_id", "cpu_util")(head) or _columns("machine_id", "mem_total", "mem_free")(head),
        "Give cluster_job_log, which holds the jobs",
    ),
    _known(
        "lucid-order", "a table of predicted priorities without times and GPUs, such as that of Lucid's estimator",
        lambda head: YES if head.columns == {"job_id", "priority"} else None,
        "Give the cluster_log.csv of Helios, which holds the jobs",
    ),
    _known(
        "gavel-throughputs", "the throughput table of Gavel",
        lambda head: YES if re.search(rb"\"\('[^'\"]{1,80}', \d+\)\"\s*:\s*\{\s*\"null\"", head.data[:4000]) else None,
        "Give it with a .trace file, as the reading choice throughputs",
    ),
    _known(
        "pollux-profile", "a table of step times of Pollux, by placement",
        _columns("local_bsz", "step_time", "sync_time"),
        "Give it on the page Speed-up of the lab, part Training time; the jobs are in a workload file",
    ),
    _known(
        "price-list", "a price list of machines",
        lambda head: (_columns("instance_type", "price", without=("job_id",))(head)
                      or _columns("vmtype", "cost", without=("execution_time",))(head)),
        "Give it on the page Prices",
    ),
    _known(
        "gpuaas-jobs", "the job table of a GPU-as-a-service instance", _columns("unique_jobs_id", "submission_time"),
        "Its run times are in another table: give the folder, or a zip of it, with Lof_Selectjobs.csv, "
        "SelectJobs_times.csv and tNodes.csv",
    ),
    _known(
        "gpuaas-times", "the table of run times of a GPU-as-a-service instance",
        _columns("unique_jobs_id", "vmtype", "execution_time"),
        "Give the folder, or a zip of it, with Lof_Selectjobs.csv, SelectJobs_times.csv and tNodes.csv",
    ),
    _known(
        "gpuaas-measured", "a table of measured run times by application and GPU type",
        _columns("application", "images", "epochs", "gpu_type", "execution_time"),
        "Give it on the page Speed-up of the lab, part Training time",
    ),
    _known(
        "gpuaas-nodes", "the node table of a GPU-as-a-service instance",
        lambda head: YES if head.columns == {"nodes"} else None,
        "Give the folder, or a zip of it, with Lof_Selectjobs.csv, SelectJobs_times.csv and tNodes.csv",
    ),
    _known(
        "simgrid-platform", "a SimGrid or Batsim platform (XML), which describes machines",
        lambda head: YES if re.search(rb"<platform\b[^>]{0,500}>", head.data[:20_000]) else None,
        "Give the workload (JSON) or Batsim's jobs.csv; enter the machines on the Cluster page",
    ),
    _known(
        "gpu-metrics", "a list of metrics in the Prometheus format",
        _lines(r"(# (HELP|TYPE) \w|\w+\{.*\} [\d.eE+-]+$)", 0.8),
        "It holds measurements of devices, not jobs: give the log of the scheduler",
    ),
    _known(
        "nvidia-smi", "the output of nvidia-smi",
        _anywhere(r"(\| NVIDIA-SMI |=+NVSMI LOG=+|index, .*name.*\bmemory|timestamp, name, pci\.bus_id)"),
        "It holds measurements of devices, not jobs: give the log of the scheduler",
    ),
)  # fmt: skip
SCENARIO = _known(
    "scenario", "a scenario file of dlsched",
    lambda head: (_json("format_version", "workload", "cluster")(head)
                  or _anywhere(r"format_version\s*=\s*\d", r"\[(workload|cluster)\b")(head)),
    "Open it as a scenario: on the page Home, or as the FILE of simulate and compare",
)  # fmt: skip
SAVED_MAPPING = _known(
    "column-mapping", "a saved column mapping", _json("version", "fields", "column"),
    "Give the table it belongs to, with --read mapping=FILE",
)  # fmt: skip

# ---- of a general kind -----------------------------------------------------------------------------


def _ini(head: Head) -> Signs | None:
    return MORE_EXACT if _anywhere(r"\s*\[[\w. \"'-]+\]\s*$", r"\s*[\w.-]+\s*=")(head) else None


def _yaml(head: Head) -> Signs | None:
    """More than half of the lines are keys, list items or comments of YAML."""
    if head.json_start or head.is_parquet:
        return None
    if head.lines[:1] == ("---",):
        return YES
    return _lines(r"\s*(- )?[\w./\"'-]+:(\s+[^,|\t]*)?$|\s*- [^,|\t]*$|\s*#", 0.8)(head)


def _is_xml(head: Head) -> Signs | None:
    return YES if re.match(rb"\s*<(\?xml|[A-Za-z][\w:.-]*[\s/>])", head.data[:500]) else None


def _is_html(head: Head) -> Signs | None:
    return YES if re.match(rb"(?i)\s*(<!--[^>]*>\s*)*<(!doctype html|html|head|body)\b", head.data[:2000]) else None


def _is_script(head: Head) -> Signs | None:
    return YES if head.data[:2] == b"#!" or _lines(r"#(SBATCH|PBS|BSUB|\$) -", 0.05)(head) else None


def _json_lines(head: Head) -> Signs | None:
    lines = head.lines[:20]
    is_it = len(lines) > 1 and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in lines[:-1])
    return MORE_EXACT if is_it else None


def _is_prose(head: Head) -> Signs | None:
    """Few lines have as many fields as the first, or all have one."""
    if head.is_parquet or head.json_start or not head.lines:
        return None
    width = len(head.dialect.header)
    alike = sum(len(row) == width for row in head.dialect.sample)
    return Signs(1, 2) if width < 2 or 2 * alike < len(head.dialect.sample) else None


JOB_LOG = "Give the log of the scheduler or a table with submission, run time and GPUs"
GENERAL = (
    _known("html", "a web page (HTML)", _is_html, f"Save the table or file itself. {JOB_LOG}", fallback=True),
    _known("notebook", "a Jupyter notebook", _json("cell_type", "cells"), JOB_LOG),
    _known("xml", "an XML file", _is_xml, JOB_LOG, fallback=True),
    _known("script", "a script", _is_script, JOB_LOG, fallback=True),
    _known(
        "json-lines", "a file with one JSON object a line, in no known format", _json_lines, JOB_LOG, fallback=True,
    ),
    _known(
        "json", "a JSON file in no known format", lambda head: YES if head.json_start else None, JOB_LOG,
        fallback=True,
    ),
    _known("yaml", "a YAML file", _yaml, JOB_LOG, fallback=True),
    _known("ini", "a configuration file", _ini, JOB_LOG, fallback=True),
    _known(
        "key-value", "a text of key=value pairs", _lines(r"\s*[\w./:-]+\s?=\s?[^=]*(=.*)?$", 0.7), JOB_LOG,
        fallback=True,
    ),
    _known(
        "program-log", "the log of a program",
        _lines(r"[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(:\d\d)?[^|\t]*\b(DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b"
               r"|[A-Z][a-z]{2}\s+\d+ \d\d:\d\d:\d\d \S+ \S+(\[\d+\])?: |(DEBUG|INFO|WARNING|ERROR)[:\s]", 0.5),
        JOB_LOG, fallback=True,
    ),
    _known("prose", "a text without columns", _is_prose,
           f"{JOB_LOG}, separated by commas, tabs, semicolons or |", fallback=True),
)  # fmt: skip
NOT_JOBS: tuple[TraceFormat, ...] = (*SLURM, *OTHER_SCHEDULERS, *BESIDE_TRACES, SCENARIO, SAVED_MAPPING, *GENERAL)
