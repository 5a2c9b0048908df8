"""Descriptions of a cluster: what Slurm and PBS print of their nodes, by hand; hostile ones are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.workload.cluster_from_log import ClusterFound
from dlsched.workload.readers import read_cluster, read_trace
from dlsched.workload.readers.options import ReadOptions


def read(text: str) -> ClusterFound:
    return read_cluster(text.encode(), "nodes.txt")


def kinds(found: ClusterFound) -> list[tuple[Any, ...]]:
    """Return names, GPUs, GPU type, cores, GiB and partitions of each node type."""
    return [(p.nodes, p.vm.gpus, p.vm.gpu_type, p.vm.cpus, p.vm.mem_gib, p.partition) for p in found.cluster.pools]


SCONTROL = """\
NodeName=g2 Arch=x86_64 CoresPerSocket=16 CPUAlloc=0 CPUEfctv=62 CPUTot=64 CPULoad=0.10 Gres=gpu:a100:4(S:0-1) \
OS=Linux 5.14 #1 SMP RealMemory=524288 AllocMem=0 State=IDLE+DRAIN ThreadsPerCore=2 Partitions=gpu,short \
CfgTRES=cpu=62,mem=512G,billing=62,gres/gpu=4 Reason=CPUTot=99 is wrong
NodeName=g1 Arch=x86_64 CPUTot=64 CPUEfctv=62 Gres=gpu:a100:4 RealMemory=524288 State=MIXED Partitions=short,gpu \
CfgTRES=cpu=62,mem=512G,gres/gpu=4
NodeName=n1 Arch=x86_64 CPUTot=32 Gres=(null) RealMemory=131072 MemSpecLimit=2048 State=IDLE* Partitions=short
NodeName=login Arch=x86_64 CPUTot=8 RealMemory=1 State=IDLE
"""


def test_scontrol_one_line_a_node() -> None:
    found = read(SCONTROL)
    assert kinds(found) == [("g[1-2]", 4, "a100", 62.0, 512.0, "gpu|short"), ("n1", 0, "", 32.0, 126.0, "short")]
    assert found.notes == (
        "Left out, as no partition lists them: 1 node (login)",
        "Down or drained now, but kept: 1 node (g2)",
    )
    assert found.source == "scontrol show nodes"


def test_scontrol_with_several_lines_a_node() -> None:
    several = "\n\n".join(line.replace(" ", "\n   ").replace("\n   ", " ", 1) for line in SCONTROL.splitlines())
    assert kinds(read(several)) == kinds(read(SCONTROL))


def test_scontrol_json() -> None:
    node = {"name": "g1", "hostname": "g1", "cpus": 64, "real_memory": 1024, "gres": "gpu:h100:8(S:0-1)"}
    nodes = [node | {"partitions": ["a", "b"], "state": ["IDLE", "DRAIN"]}, {"name": 3}, [], node | {"name": "x"}]
    found = read(json.dumps({"nodes": nodes}))
    assert kinds(found) == [("g1", 8, "h100", 64.0, 1.0, "a|b")]
    assert len(found.notes) == 2


CONF = r"""
ClusterName=lab   # of ours
NodeName=DEFAULT CPUs=32 RealMemory=65536
NodeName=n[01-03] Feature=ib,big State=UNKNOWN
NodeName=n04 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 \
   State=DOWN Reason="power supply"
NodeName=DEFAULT CPUs=64 MemSpecLimit=1024 Gres=gpu:a100:4
NodeName=g[1-2] NodeHostname=gpu[1-2]
NodeName=new[1-9] State=FUTURE
nodename=spare Procs=4
NodeSet=fast Feature=ib
PartitionName=DEFAULT MaxTime=1-0
PartitionName=all Nodes=ALL Default=YES
PartitionName=gpu Nodes=g[1-2]
PartitionName=ib  Nodes=fast,n04
"""


def test_slurm_conf() -> None:
    """Defaults hold for the lines below them; n04 gets CPUs=32 from them, whatever its sockets say."""
    found = read(CONF)
    assert kinds(found) == [
        ("g[1-2]", 4, "a100", 64.0, 63.0, "all|gpu"),
        ("n[01-03]", 0, "", 32.0, 64.0, "all|ib"),
        ("n04", 0, "", 32.0, 64.0, "all|ib"),
        ("spare", 4, "a100", 64.0, 63.0, "all"),
    ]
    assert [pool.features for pool in found.cluster.pools] == ["", "big|ib", "", ""]
    assert found.notes == (
        "Left out, as they do not exist yet (State=FUTURE): 9 nodes (new1, new2, new3, new4, new5, …)",
        "Down or drained now, but kept: 1 node (n04)",
    )


def test_slurm_conf_without_cpus_counts_sockets() -> None:
    found = read("ClusterName=x\nNodeName=a Sockets=2 CoresPerSocket=8 ThreadsPerCore=2\nNodeName=b\n")
    assert [p.vm.cpus for p in found.cluster.pools] == [32.0, 1.0]


def test_a_slurm_conf_that_includes_a_file_needs_it() -> None:
    with pytest.raises(InputError, match=r"includes 'nodes.conf'.*scontrol show nodes"):
        read("ClusterName=x\nInclude nodes.conf\nPartitionName=a Nodes=ALL\n")


SINFO = """\
NODELIST|PARTITION|CPUS|MEMORY|GRES|AVAIL_FEATURES|STATE
n1|short*|32|128000|(null)|ib|idle
n1|long|32|128000|(null)|ib|idle
n2|long|32|128000|(null)|ib|down*
g1|gpu|64|512000|gpu:a100:2,gpu:v100:1|(null)|mixed
"""


def test_sinfo_with_and_without_its_header_line() -> None:
    expected = [
        ("g1", 3, "a100", 64.0, 500.0, "gpu"),
        ("n1", 0, "", 32.0, 125.0, "long|short"),
        ("n2", 0, "", 32.0, 125.0, "long"),
    ]
    for text in (SINFO, SINFO.split("\n", 1)[1]):
        found = read(text)
        assert kinds(found) == expected
        assert len(found.notes) == 2


PBS = """\
node1
     Mom = node1.example
     state = job-exclusive
     pcpus = 64
     resources_available.mem = 134217728kb
     resources_available.ncpus = 32
     resources_available.ngpus = 2
     resources_available.accelerator_model = V100

node2[0]
     state = offline,down
     np = 8
     gpus = 0
     queue = long
     status = opsys=linux,physmem=16777216kb,ncpus=8
"""


def test_pbsnodes() -> None:
    found = read(PBS)
    assert kinds(found) == [("node1", 2, "V100", 32.0, 128.0, ""), ("", 0, "", 8.0, 16.0, "long")]
    assert found.notes == ("Down or drained now, but kept: 1 node (node2[0])",)


def test_pbsnodes_json() -> None:
    own = {"state": "free", "resources_available": {"ncpus": 32, "mem": "134217728kb", "ngpus": 1}}
    found = read(json.dumps({"timestamp": 1, "pbs_version": "22", "nodes": {"n1": own, "n2": own | {"queue": "q"}}}))
    assert kinds(found) == [("n1", 1, "GPU", 32.0, 128.0, ""), ("n2", 1, "GPU", 32.0, 128.0, "q")]


@pytest.mark.parametrize(
    "text",
    [
        "NodeName=n[1-999999999] CPUTot=4 Arch=x\n",
        "NodeName=n1 CPUTot=4 Gres=gpu:9999999 Arch=x\n",
        "ClusterName=x\nNodeName=n[1-\n",
        "ClusterName=x\nPartitionName=a Nodes=ALL\n",
        "ClusterName=x\nNodeName=n[1-90000]\n" + "PartitionName=p Nodes=n[1-90000]\n" * 30,
        "NODELIST|PARTITION|STATE\nn1|a|idle\n",
        '{"nodes": {}, "pbs_version": 1, "resources_available": 1}',
        '{"nodes": [' + "[" * 50_000 + '], "hostname": 1, "cpus": 1}',
        "a,b\n1,2\n",
    ],
)
def test_what_is_no_description_gets_one_clear_message(text: str) -> None:
    with pytest.raises(InputError):
        read(text)


@given(st.sampled_from([SCONTROL, CONF, SINFO, PBS]), st.data())
def test_a_damaged_description_is_read_or_refused(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 30))
    with_noise = text[:place] + data.draw(st.text("=|[],-:9aZ \n\\#", max_size=6)) + text[place + cut :]
    try:
        found = read(with_noise)
    except InputError:
        return
    assert found.cluster.num_nodes


def test_a_description_takes_the_partitions_it_lacks_from_the_log() -> None:
    log = "job_id,submit_time_s,start_s,num_gpus,duration_s,partition,node_list\n"
    log += "a,0,0,1,60,p,n1\nb,0,5,1,60,q,n2\nc,0,5,1,60,q,n9\n"
    nodes = "".join(f"NodeName={name} CfgTRES=cpu=8,mem=64G,gres/gpu=2 State=IDLE\n" for name in ("n1", "n2", "n3"))
    found = read_trace(log.encode(), "log.csv", ReadOptions(cluster=nodes.encode())).cluster
    assert found is not None
    assert kinds(found) == [
        ("n1", 2, "GPU", 8.0, 64.0, "p"),
        ("n2", 2, "GPU", 8.0, 64.0, "q"),
        ("n3", 2, "GPU", 8.0, 64.0, ""),
    ]
    assert found.notes == (
        "Left out, as only the log names them: 1 node (n9)",
        "In no partition, as no job of the log ran there, and idle if all jobs name one: 1 node (n3)",
    )
