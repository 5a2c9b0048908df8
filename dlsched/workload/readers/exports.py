"""How the job log of each scheduler is exported: one table for the page Jobs, messages and docs."""

from __future__ import annotations

from dataclasses import dataclass

SACCT_COMMAND = (
    "sacct -a -X -D -P -S 2026-01-01 -E now -o JobID,JobIDRaw,Cluster,Partition,QOS,Account,User,Submit,Eligible,"
    "Start,End,ElapsedRaw,State,NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,TimelimitRaw,NodeList,Priority,Flags,"
    "Reason,Constraints,Reservation"
)


SLURM_SETTINGS = """\
scontrol show config > config.txt; scontrol show partition > partitions.txt; scontrol show res > reservations.txt
sacctmgr show qos -P > qos.txt; sacctmgr show assoc tree -P > accounts.txt; sshare -a -l -P > shares.txt"""
"""How the settings of a Slurm become files; slurm.conf will do for the first two."""
SETTINGS = (
    "The settings, for the policy Slurm: give the files with `--slurm FILE` in any command, or on the page Cluster. "
    "slurm.conf itself will do for the first two:"
)


@dataclass(frozen=True, slots=True)
class Export:
    """How the jobs of a scheduler become a file: the command, its notes, and the commands for nodes and settings."""

    scheduler: str
    command: str
    notes: tuple[str, ...]
    nodes: str
    settings: str = ""


EXPORTS = (
    Export(
        "Slurm",
        f"{SACCT_COMMAND} > jobs.txt",
        (
            "Run it as a user who may see the jobs of all users; change the date after -S.",
            "Leave out --state, and start some days before the time you want to study: jobs that were running then "
            "occupied nodes.",
            "The output of sacct --json is read too; squeue --json gives the queue as it is now.",
        ),
        "scontrol show nodes -o > nodes.txt",
        SLURM_SETTINGS,
    ),
    Export(
        "PBS, TORQUE, Altair",
        "cat /var/spool/pbs/server_priv/accounting/2026* > jobs.txt",
        (
            "Run it on the server host. TORQUE keeps its files in /var/spool/torque/server_priv/accounting.",
            "Each day has one file; join several days.",
        ),
        "pbsnodes -a > nodes.txt",
    ),
    Export(
        "LSF",
        "cat $LSB_SHAREDIR/CLUSTER/logdir/lsb.acct* > jobs.txt",
        (
            "CLUSTER is the name of the cluster, as lsid prints it; LSB_SHAREDIR is in lsf.conf.",
            "Give the file itself, not the output of bacct or bhist.",
        ),
        "lshosts -w > nodes.txt",
    ),
    Export(
        "SGE, UGE",
        "cp $SGE_ROOT/$SGE_CELL/common/accounting jobs.txt",
        ("Give the file itself, not the output of qacct.", "Rotated files end in .0, .1 and so on; join them."),
        "qhost -F > nodes.txt",
    ),
    Export(
        "Kueue",
        "kubectl get workloads.kueue.x-k8s.io -A -o json > jobs.json",
        (
            "Finished workloads are listed until they are deleted: export before their retention period ends, or join "
            "exports.",
        ),
        "kubectl get nodes,resourceflavors -o json > nodes.json",
    ),
)


def guide() -> str:
    """Return docs/guides/export-your-log.md."""
    parts = [
        "# Export your log",
        "The page Jobs and the command `import` read what the scheduler wrote, plain or compressed. This page says how "
        "to get it. Nothing leaves your host; user names may be hashed first.",
    ]
    for one in EXPORTS:
        notes = "\n".join(f"- {note}" for note in one.notes)
        parts += [f"## {one.scheduler}", "The jobs:", f"    {one.command}", notes]
        parts += ["The nodes, to give beside the jobs:", f"    {one.nodes}"]
        if one.settings:
            parts += [SETTINGS, "\n".join(f"    {line}" for line in one.settings.split("\n"))]
    return "\n\n".join(parts) + "\n"
