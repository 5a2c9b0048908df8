"""Files of a Slurm with two partitions, three accounts and two users, as its commands print them."""

CONF = """\
ClusterName=lab
SchedulerType=sched/backfill   # the default
SchedulerParameters==bf_interval=120,bf_window=2880,bf_resolution=600,max_job_bf=1000,bf_max_job_user=20,\\
defer,bf_continue,default_queue_depth=500
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
priorityMaxAge=14-0
PriorityCalcPeriod=5
PriorityWeightAge=1000
PriorityWeightFairshare=100000
PriorityWeightTRES=CPU=100,Mem=50,GRES/gpu=2000
PriorityFavorSmall=NO
PriorityFlags=NO_FAIR_TREE,ACCRUE_ALWAYS
FairShareDampeningFactor=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE,GANG
OverTimeLimit=10
KillWait=45
SlurmctldPort=6817
TopologyPlugin=topology/tree
NodeName=DEFAULT CPUs=32 RealMemory=256000
NodeName=n[01-04] Weight=10 Feature=ib
NodeName=g[1-2] Gres=gpu:a100:4 Weight=50
PartitionName=DEFAULT MaxTime=2-0 State=UP
PartitionName=cpu Nodes=n[01-04] DefaultTime=60 PriorityJobFactor=10
PartitionName=gpu Nodes=g[1-2] PriorityTier=20 QOS=gpuqos MaxTime=UNLIMITED \\
   TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu:a100=8" OverSubscribe=EXCLUSIVE AllowAccounts=a,b PreemptMode=OFF
"""
QOS = """\
Name|Priority|GraceTime|Preempt|PreemptMode|Flags|UsageFactor|GrpTRES|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MaxTRESPA|MaxJobsPA
normal|0|00:00:00||cluster||1.000000|||||||
high|1000|00:00:00|low,normal|requeue|DenyOnLimit|2.000000|cpu=100,mem=1000G,gres/gpu=8,license/x=3|cpu=64|2-00:00:00|\
mem=512|10|node=4|20
"""
ASSOC = """\
Cluster|Account|User|Partition|Share|GrpJobs|GrpTRES|GrpSubmit|MaxJobs|MaxTRES|MaxWall|QOS|Def QOS
lab|root|||1|||||||normal|
lab| phys|||20||cpu=100|500||||normal|
lab|  optics|||7|3||||||normal|
lab|   optics|ann||parent||||5|cpu=10|1:00:00|normal,high|normal
lab| bio|||10|||||||normal|
lab|  bio|bob|gpu|3|||||||normal|
"""
SSHARE = """\
Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins
root|||0.000000|29348||||||cpu=0
 phys||20|0.66|19348|||||
  optics||7|0.66|19348|||||
   optics|ann|parent|0.66|19348|||||
"""
RESERVATIONS = """\
ReservationName=maint StartTime=2024-05-01T10:00:00 EndTime=2024-05-02T10:00:00 Duration=1-00:00:00
   Nodes=n[01-02] NodeCnt=2 CoreCnt=64 Features=(null) PartitionName=(null) Flags=MAINT,DAILY
   TRES=cpu=64
   Users=(null) Groups=(null) Accounts=phys,optics Licenses=(null) State=INACTIVE BurstBuffer=(null)

ReservationName=course StartTime=2024-04-01T08:00:00 EndTime=2024-04-01T12:00:00 Duration=04:00:00
   Nodes=ALL NodeCnt=6 Flags=SPEC_NODES Users=ann Accounts=(null)
"""
FILES = {"conf": CONF, "qos": QOS, "assoc": ASSOC, "sshare": SSHARE, "res": RESERVATIONS}
