"""What people give in place of a job log is named for what it is."""

import json
import pickle

import pytest

from dlsched.workload.readers import read_trace
from dlsched.workload.readers.formats import NotJobs
from dlsched.workload.readers.not_jobs import NOT_JOBS
from dlsched.workload.readers.registry import FORMATS

NODE_LINES = """\
NodeName=g01 Arch=x86_64 CoresPerSocket=16
   CPUAlloc=3 CPUTot=32 CPULoad=0.10
   Gres=gpu:4
   RealMemory=257000 AllocMem=0
   State=IDLE
"""
NODE_ONE_LINE = "NodeName=g01 CfgTRES=cpu=64,mem=514404M,billing=64,gres/gpu=4\nNodeName=g02 CfgTRES=cpu=64,mem=1M\n"
CONF = """\
# our cluster
ClusterName=ours
SlurmctldHost=head
SchedulerType=sched/backfill
NodeName=g[01-04] CPUs=64 RealMemory=512000 Gres=gpu:4
PartitionName=long Nodes=ALL MaxTime=7-0
"""
PARTITION = """\
PartitionName=long
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   MaxNodes=UNLIMITED MaxTime=7-00:00:00
"""
JOB = """\
JobId=17 JobName=train
   UserId=ann(1001) GroupId=ann(1001)
   JobState=RUNNING Reason=None
"""
SAMPLES = {
    "slurm-nodes": [NODE_LINES, NODE_ONE_LINE],
    "slurm-conf": [CONF],
    "slurm-partitions": [PARTITION],
    "slurm-job": [JOB],
    "sinfo": [
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ngpu* up 2-00:00:00 3 idle g[01-03]\n",
        "NODELIST|PARTITION|CPUS|MEMORY|GRES|AVAIL_FEATURES|STATE\ng01|gpu|64|512000|gpu:4|(null)|idle\n",
    ],
    "squeue": ["  JOBID PARTITION  NAME  USER ST  TIME  NODES NODELIST(REASON)\n 17 gpu train ann R 2:03 1 g01\n"],
    "sacctmgr-qos": ["Name|Priority|GraceTime|Preempt|UsageFactor|MaxTRESPU\nnormal|0|00:00:00||1.000000|\n"],
    "sacctmgr-assoc": ["Cluster|Account|User|Share|GrpJobs|GrpTRES|MaxJobs|QOS\nours|root||1||||normal\n"],
    "sshare": ["Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\nroot||||123|1.0|\n"],
    "slurm-reservations": ["ReservationName=a StartTime=2026-01-01T10:00 EndTime=2026-01-02T10:00:00 Nodes=n1\n"],
    "slurm-config": ["Configuration data as of 2026-01-01T10:00:00\nAccountingStorageBackupHost = (null)\nx = y\n"],
    "sprio": ["  JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE\n 17 gpu 1000 0 10 990\n"],
    "slurm-json-nodes": [json.dumps({"nodes": [{"name": "g01", "hostname": "g01", "cpus": 64}], "meta": {}})],
    "slurm-error": ["sacct: error: slurm_persist_conn_open_without_init: failed to open\nsacct: fatal: no database\n"],
    "pbsnodes": ["n1\n     state = free\n     np = 8\n     ntype = cluster\n\nn2\n     state = down\n     np = 8\n"],
    "pbsnodes-json": [json.dumps({"pbs_version": "20", "nodes": {"n1": {"resources_available": {"ncpus": 8}}}})],
    "qstat-full": ["Job Id: 12.head\n    Job_Name = train\n    Job_Owner = ann@head\n    job_state = R\n"],
    "qhost": ["HOSTNAME  ARCH  NCPU NSOC NCOR NTHR LOAD MEMTOT\n----\nn1 lx-amd64 8 1 8 8 0.1 31G\n"],
    "qstat": ["job-ID  prior   name  user   state submit/start at  queue\n-----\n 17 0.5 train ann r 11/02/2026\n"],
    "qacct": ["=====\nqname        all.q\nhostname     n1\nru_wallclock 60\n"],
    "lsf-hosts": [
        "HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN\nn1 ok - 8 2 2\n",
        "HOST_NAME  type  model  cpuf ncpus maxmem maxswp server\nn1 X86_64 A 60.0 8 31G 1G Yes\n",
    ],
    "bjobs": ["JOBID USER  STAT  QUEUE   FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n17 ann RUN gpu a b c Nov 2\n"],
    "bhist": ["Accounting information about jobs that are:\n  - submitted by all users.\n"],
    "kubectl": ["NAME   READY   STATUS    RESTARTS   AGE\ntrain-0  1/1   Running   0          3h\n"],
    "tiresias-cluster": ["num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,8,4,64,256\n"],
    "philly-machines": ["machineId, number of GPUs, single GPU mem\nm1,8, 24GB\n"],
    "philly-util": ["time,machineId,gpu0_util,gpu1_util,\n2017-10-03 00:08:00 PDT,m1,10.0,NA,\n"],
    "philly-util-host": ["time,machine_id,cpu_util\n2017-10-03 00:08:00 PDT,m1,10.0\n"],
    "lucid-order": ["job_id,priority\n7,12\n8,9\n"],
    "gavel-throughputs": [json.dumps({kind: {"('A', 1)": {"null": 2.5}} for kind in ("v100", "p100", "k80")})],
    "price-list": [
        "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,GpuInfo,Price,SpotPrice,Region\nx,A100,8,96,,9,3,r\n",
        "VMtype,GPUtype,nGPUs,cost\nsmall,K80,1,0.5\n",
    ],
    "gpuaas-jobs": ["Application,Images,Epochs,Jobs,UniqueJobsID,SubmissionTime,Deadline\na,1,2,J1,JJ1,0,9\n"],
    "gpuaas-times": ["UniqueJobsID,VMtype,GPUtype,nGPUs,max_nGPUs,cost,ExecutionTime\nJJ1,small,K80,1,1,0.5,60\n"],
    "gpuaas-measured": ["Application,Images,Epochs,Jobs,GpuType,GpuNumber,ExecutionTime\na,1,2,J1,K80,1,9.5\n"],
    "pollux-profile": ["placement,local_bsz,step_time,sync_time\n1,32,0.5,0.1\n"],
    "slurm-jobcomp": ["JobId=7 UserId=ann(10) Name=a JobState=COMPLETED EndTime=2026-11-02T10:00:00\n"],
    "slurmctld-log": ["[2026-11-02T10:00:00.123] sched: Allocate JobId=7 NodeList=g01\n"],
    "pbs-server-log": ["11/02/2026 10:00:00;0008;PBS_Server;Job;7.head;Job Queued at request of ann\n"],
    "bqueues": ["QUEUE_NAME  PRIO STATUS  MAX JL/U JL/P JL/H NJOBS PEND RUN\nlong 30 Open:Active - - - - 9 1 8\n"],
    "gpuaas-nodes": ["Nodes\nn1\nn2\n"],
    "simgrid-platform": ["<?xml version='1.0'?>\n<platform version=\"4.1\"><host id='h'/></platform>\n"],
    "gpu-metrics": ['# HELP DCGM_FI_DEV_GPU_UTIL busy\nDCGM_FI_DEV_GPU_UTIL{gpu="0"} 97\n'],
    "nvidia-smi": ["Mon Nov  2 10:00:00 2026\n+-----+\n| NVIDIA-SMI 535.1   Driver Version: 535.1 |\n|-----|\n"],
    "scenario": [
        json.dumps({"format_version": 1, "cluster": {"pools": []}, "workload": {"columns": {}}}),
        'format_version = 1\nname = "x"\n[cluster]\n[workload]\n',
    ],
    "column-mapping": [json.dumps({"version": 1, "fields": {"run": {"column": "t", "unit": "s"}}})],
    "html": ["<!DOCTYPE html>\n<html><body>Log in</body></html>\n"],
    "notebook": [json.dumps({"cells": [{"cell_type": "code", "source": []}], "nbformat": 4})],
    "xml": ["<?xml version='1.0'?>\n<jobs><job id='1'/></jobs>\n"],
    "script": ["#!/bin/bash\n#SBATCH --gres=gpu:4\nsrun python train.py\n"],
    "json-lines": ['{"a": 1}\n{"a": 2}\n'],
    "json": ["[1, 2, 3]", '{"a": 1}', "[" * 5_000],
    "yaml": ["jobs:\n  - name: a\n    gpus: 4\n  - name: b\n    gpus: 2\n"],
    "ini": ["[main]\nhost = head\nport = 17\n"],
    "key-value": ["gpus=4\nnodes=2\nqueue=long\n"],
    "program-log": ["2026-11-02 10:00:00,123 INFO started\n2026-11-02 10:00:01,456 WARNING slow\n"],
    "prose": ["hello world\n", "These are notes, written by hand,\nabout the jobs we ran.\nNo table is here.\n"],
}  # fmt: skip
CASES = [(key, text) for key, texts in SAMPLES.items() for text in texts]


def test_every_kind_has_a_sample():
    assert {one.key for one in NOT_JOBS} == set(SAMPLES)
    assert len({one.key for one in FORMATS}) == len(FORMATS)


@pytest.mark.parametrize(("key", "text"), CASES, ids=[f"{key}-{len(text)}" for key, text in CASES])
def test_it_is_named_with_the_way_out(key, text):
    label = next(one.label for one in FORMATS if one.key == key)
    for content in (text, text.replace("\n", "\r\n")):
        with pytest.raises(NotJobs) as caught:
            read_trace(content.encode(), "jobs.csv")
        assert caught.value.named_as == label
        assert f"it is {label}" in str(caught.value)
        assert len(caught.value.do) > 10


def test_the_name_survives_another_process():
    with pytest.raises(NotJobs) as caught:
        read_trace(CONF.encode(), "c")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.named_as) == (str(caught.value), "a slurm.conf")


@pytest.mark.parametrize(
    "text",
    [
        "job_id,submit_time_s,num_gpus,duration_s,machine_id,priority\na,0,1,60,m1,2\n",
        "name,submit,age,status,gpus,duration\na,0,1,ok,2,60\n",
        "jobid,account,rawshares,submit,gpus,duration\n1,a,2,0,2,60\n",
        "# key = value\njob_id,submit_time_s,num_gpus,duration_s\na=1,0,1,60\n",
    ],
)
def test_tables_of_jobs_are_not_mistaken(text):
    assert read_trace(text.encode(), "t").report.kept == 1
