"""Settings of Slurm by hand: units and old names, merging, what is named as not modelled, what is refused."""

from __future__ import annotations

import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.slurm import SlurmLimits, SlurmSetup
from dlsched.workload.readers.slurm_settings.found import SlurmFound, read_slurm
from tests.support.slurm_files import ASSOC, CONF, FILES, QOS, RESERVATIONS, SSHARE

HOUR, DAY = 3600.0, 86400.0


def read(*texts: str) -> SlurmFound:
    return read_slurm((text.encode(), f"file {number}") for number, text in enumerate(texts))


def test_options_of_slurm_conf() -> None:
    """By slurm.conf(5): half-life and ages as D-H, the period and OverTimeLimit in minutes, bf_interval in seconds."""
    options = read(CONF).setup.options.model_dump(exclude_none=True)
    assert options == {
        "SchedulerType": "sched/backfill", "bf_interval": 120, "bf_window_s": 2 * DAY, "bf_resolution": 600,
        "bf_max_job_test": 1000, "bf_max_job_user": 20, "defer": True, "default_queue_depth": 500,
        "PriorityType": "priority/multifactor", "PriorityDecayHalfLife_s": 7 * DAY, "PriorityMaxAge_s": 14 * DAY,
        "PriorityCalcPeriod_s": 300, "PriorityWeightAge": 1000, "PriorityWeightFairshare": 100_000,
        "PriorityWeightTRES": {"cpu": 100, "mem": 50, "gres/gpu": 2000}, "PriorityFavorSmall": False,
        "PriorityFlags": ("NO_FAIR_TREE", "ACCRUE_ALWAYS"), "FairShareDampeningFactor": 5,
        "PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE", "OverTimeLimit_s": 600,
    }  # fmt: skip


def test_partitions_and_weights_of_nodes() -> None:
    found = read(CONF)
    cpu, gpu = found.setup.partitions
    assert (cpu.name, cpu.PriorityJobFactor, cpu.PriorityTier, cpu.MaxTime_s) == ("cpu", 10, 1, 2 * DAY)
    assert (cpu.DefaultTime_s, cpu.exclusive) == (HOUR, False)
    assert (gpu.PriorityTier, gpu.QOS, gpu.MaxTime_s, gpu.DefaultTime_s) == (20, "gpuqos", None, None)
    assert (gpu.exclusive, gpu.PreemptMode) == (True, "OFF")
    assert gpu.TRESBillingWeights == {"cpu": 1, "mem": 0.25, "gres/gpu:a100": 8}
    assert found.setup.node_weights == {"n[01-04]": 10, "g[1-2]": 50}
    assert found.sources == ("slurm.conf (21 options, 2 partitions, 2 node weights)",)
    assert found.notes == (
        "slurm.conf, not modelled: SchedulerParameters bf_continue, PriorityFlags ACCRUE_ALWAYS, PreemptMode GANG, "
        "KillWait, AllowAccounts of a partition",
    )


def test_a_weight_of_memory_without_unit_is_one_for_each_mib() -> None:
    weights = read('PartitionName=a Nodes=ALL TRESBillingWeights="Mem=0.5"').setup.partitions[0].TRESBillingWeights
    assert weights == {"mem": 512}


def test_scontrol_shows_the_same() -> None:
    config = """\
Configuration data as of 2024-05-01T10:00:00
KillWait                = 45 sec
OverTimeLimit           = 10 min
PriorityCalcPeriod      = 00:05:00
PriorityDecayHalfLife   = 7-00:00:00
PriorityFavorSmall      = No
PriorityUsageResetPeriod= NONE
PriorityWeightTRES      = (null)
SchedulerParameters     = bf_window=2880,defer
TopologyPlugin          = topology/flat
"""
    partition = """\
PartitionName=gpu
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=NO QoS=gpuqos
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=2-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=g[1-2]
   PriorityJobFactor=1 PriorityTier=20 RootOnly=NO ReqResv=NO OverSubscribe=EXCLUSIVE
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=64 TotalNodes=2 SelectTypeParameters=NONE

PartitionName=cpu
   MaxTime=UNLIMITED PriorityTier=1 QoS=N/A
"""
    found = read(config, partition)
    assert found.setup.options.model_dump(exclude_none=True) == {
        "OverTimeLimit_s": 600, "PriorityCalcPeriod_s": 300, "PriorityDecayHalfLife_s": 7 * DAY,
        "PriorityFavorSmall": False, "bf_window_s": 2 * DAY, "defer": True,
    }  # fmt: skip
    assert [(p.name, p.QOS, p.PriorityTier, p.MaxTime_s) for p in found.setup.partitions] == [
        ("gpu", "gpuqos", 20, 2 * DAY), ("cpu", "", 1, None),
    ]  # fmt: skip
    assert found.notes == ("scontrol show config, not modelled: KillWait",)
    assert found.sources == ("scontrol show config (6 options)", "scontrol show partition (2 partitions)")


def test_a_time_over_the_limit_without_end() -> None:
    for word in ("UNLIMITED", "infinite"):
        setup = read(f"OverTimeLimit={word}\nPriorityWeightAge=1").setup
        assert setup.options.OverTimeLimit_s == "UNLIMITED"
        assert setup.over_times_s([""]) == [float("inf")]
    assert read("PriorityWeightAge=1").setup.over_times_s([""]) == [0]


def test_a_partition_has_a_time_over_the_limit_of_its_own() -> None:
    """By slurm.conf(5): minutes, instead of those of the option; of several partitions the longest."""
    found = read(
        "OverTimeLimit=10\nPartitionName=own OverTimeLimit=0\nPartitionName=free OverTimeLimit=UNLIMITED\n"
        "PartitionName=plain"
    )
    assert [one.OverTimeLimit_s for one in found.setup.partitions] == [0, "UNLIMITED", None]
    asked = ["own", "free", "plain", "", "own|plain", "own|free"]
    assert found.setup.over_times_s(asked) == [0, float("inf"), 600, 600, 600, float("inf")]
    assert not any("OverTimeLimit" in note for note in found.notes)
    shown = read("PartitionName=cpu\n   OverTimeLimit=NONE PreemptMode=OFF\n")
    assert shown.setup.partitions[0].OverTimeLimit_s is None


def test_what_cannot_be_read_is_left_out_and_named() -> None:
    found = read("""\
PriorityWeightAge=many
PriorityMaxAge=0
SchedulerType=sched/wiki
PriorityWeightQOS=7
SchedulerParameters=bf_interval=-1,bf_max_job_test=0
PriorityWeightJobSize=99999999999999999
""")
    assert found.setup.options.model_dump(exclude_none=True) == {"PriorityWeightQOS": 7}
    for name in ("priorityweightage=many", "prioritymaxage=0", "schedulertype=sched/wiki", "bf_interval=-1",
                 "bf_max_job_test=0", "priorityweightjobsize=9"):  # fmt: skip
        assert name in found.notes[0]


def test_qos() -> None:
    normal, high = read(QOS).setup.qos
    assert (normal.name, normal.Priority, normal.limits, normal.PreemptMode) == ("normal", 0, SlurmLimits(), None)
    assert (high.Priority, high.UsageFactor, high.Preempt) == (1000, 2, ("low", "normal"))
    assert high.limits == SlurmLimits(
        GrpTRES={"cpu": 100, "mem": 1000, "gres/gpu": 8}, MaxTRESPJ={"cpu": 64}, MaxWall_s=2 * DAY,
        MaxTRESPU={"mem": 0.5}, MaxJobsPU=10, MaxTRESPA={"node": 4}, MaxJobsPA=20,
    )  # fmt: skip
    assert "resource license/x, Flags of a QOS" in read(QOS).notes[0]


def accounts(setup: SlurmSetup) -> dict[tuple[str, str], tuple[str, int | None, float]]:
    return {(one.account, one.user): (one.parent, one.shares, one.raw_usage) for one in setup.associations}


def test_accounts_by_their_indentation_and_their_use() -> None:
    found = read(ASSOC, SSHARE)
    assert accounts(found.setup) == {
        ("root", ""): ("", 1, 29348), ("phys", ""): ("root", 20, 19348), ("optics", ""): ("phys", 7, 19348),
        ("optics", "ann"): ("", None, 19348), ("bio", ""): ("root", 10, 0), ("bio", "bob"): ("", 3, 0),
    }  # fmt: skip
    ann = next(one for one in found.setup.associations if one.user == "ann")
    assert ann.limits == SlurmLimits(MaxJobsPU=5, MaxTRESPJ={"cpu": 10}, MaxWall_s=HOUR)
    assert ann.QOS == ("normal", "high")
    assert next(one.partition for one in found.setup.associations if one.user == "bob") == "gpu"
    assert found.notes == ("sacctmgr show assoc, not modelled: GrpSubmit of an account or user",)


@pytest.mark.parametrize("delimiter", ["|", ";", "\t", "^", "|#", "☃"])
def test_columns_in_any_order_and_with_any_delimiter(delimiter: str) -> None:
    columns = list(zip(*(line.split("|") for line in ASSOC.splitlines()), strict=True))[::-1]
    lines = [f"{delimiter.join(cells)}{delimiter}" for cells in zip(*columns, strict=True)]  # -p ends lines with it
    assert read("\n".join(lines)).setup == read(ASSOC).setup


def test_parents_by_name_and_accounts_that_only_users_name() -> None:
    named = "Account|ParentName|User|Share\nroot||| 1\nchem|science||4\nchem||eve|2\nlaw||joe|1\n"
    assert accounts(read(named).setup) == {
        ("root", ""): ("", 1, 0), ("science", ""): ("root", 1, 0), ("chem", ""): ("science", 4, 0),
        ("chem", "eve"): ("", 2, 0), ("law", ""): ("root", 1, 0), ("law", "joe"): ("", 1, 0),
    }  # fmt: skip


def test_one_cluster_of_several() -> None:
    found = read(ASSOC + "other|root|||1|||||||normal|\n")
    assert accounts(found.setup) == accounts(read(ASSOC).setup)
    assert "only the rows of the cluster lab are taken, not those of other" in found.notes[0]


def test_limits_that_slurm_does_not_enforce_are_left_out() -> None:
    found = read("AccountingStorageEnforce=associations\nPriorityWeightAge=1\n", QOS, ASSOC)
    limits = [*(one.limits for one in found.setup.qos), *(one.limits for one in found.setup.associations)]
    assert set(map(repr, limits)) == {repr(SlurmLimits())}
    assert found.notes[-1] == "AccountingStorageEnforce has no limits: those of QOS and accounts are left out"
    held = read("AccountingStorageEnforce=associations,limits,qos\nPriorityWeightAge=1\n", QOS)
    assert held.setup.qos == read(QOS).setup.qos


def test_reservations() -> None:
    found = read(RESERVATIONS)
    assert [(one.name, one.nodes, one.users, one.accounts) for one in found.booked] == [
        ("maint", "n[01-02]", (), ("phys", "optics")), ("course", "ALL", ("ann",), ()),
    ]  # fmt: skip
    assert found.notes == ("scontrol show res, not modelled: flag DAILY of a reservation",)


def test_later_files_go_before() -> None:
    found = read(CONF, "PriorityWeightAge=5\nPartitionName=cpu MaxTime=1-0\n")
    assert found.setup.options.PriorityWeightAge == 5
    assert found.setup.options.PriorityWeightFairshare == 100_000
    assert (found.setup.partitions[0].MaxTime_s, found.setup.partitions[0].PriorityJobFactor) == (DAY, 10)


def test_an_included_file_is_asked_for() -> None:
    assert read("PriorityWeightAge=5\nInclude /etc/slurm/part.conf\n").notes == (
        "slurm.conf: it includes /etc/slurm/part.conf: give that file too if it has settings",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\nworld\n", r"file 0: it has no settings of Slurm that count\. Give slurm.conf"),
        ("SlurmctldPort=6817\nClusterName=x\n", "no settings of Slurm that count"),
        ("NodeName=n1 Arch=x86 CPUTot=4\n", "no settings of Slurm that count"),
        ("   Account       User  RawShares\n---------- ---------- ----------\nroot 1\n", "printed for a screen"),
        ("Account|User|Share\nroot|x\nroot\n", "line 3 has 1 fields, the header 3"),
        ("Account|ParentName|User|Share\na|b||1\nb|a||1\n", "account 'a' is above itself"),
        ("ReservationName=a StartTime=2024-05-01T10:00:00 EndTime=2024-05-02T10:00:00 Nodes=n[3-1]", "n\\[3-1\\]"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text)


def test_switches_of_topology_conf() -> None:
    found = read("SwitchName=s1 Nodes=n[01-02]\nSwitchName=s2 Nodes=n[03-04]\nSwitchName=top Switches=s[1-2]\n")
    assert found.setup.switches == {"s1": "n[01-02]", "s2": "n[03-04]"}
    assert found.sources == ("slurm.conf (2 switches)",)


def test_all_files_together_make_one_setup() -> None:
    found = read(*FILES.values())
    assert len(found.sources) == 5
    assert SlurmSetup.model_validate(found.setup.model_dump(mode="json")) == found.setup
    assert found.plain()["users"] == 2
