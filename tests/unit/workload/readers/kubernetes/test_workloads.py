"""Kueue Workloads as jobs: the traps of QuotaReserved, evictions, partial admission and mixed pods, by hand."""

import json
import math

import pytest
import yaml

from dlsched.workload.readers import read_trace
from dlsched.workload.readers.formats import NotJobs
from tests.support.traces import read, reasons

DAY = "2025-02-03T"


def at(clock: str) -> str:
    return f"{DAY}{clock}:00Z"


def pods(name="main", count=1, pod=None, **more):
    requests = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "4"} if pod is None else pod
    containers = [{"name": "c", "resources": {"requests": requests}}]
    return {"name": name, "count": count, "template": {"spec": {"containers": containers}}, **more}


def assigned(name="main", count=1, gpus="4", flavor="a100", **more):
    key = "nvidia.com/gpu"
    return {"name": name, "count": count, "flavors": {key: flavor}, "resourceUsage": {key: gpus}, **more}


def workload(name, created="08:00", spec=None, status=None, sets=None, given=None, queue="team", meta=None, **clock):
    """Return a Workload; ``clock`` = time of each condition that is True, or (time, status, reason)."""
    conditions = []
    for kind, value in clock.items():
        when, state, reason = (value, "True", "Succeeded") if isinstance(value, str) else value
        conditions.append({"type": kind, "status": state, "reason": reason, "lastTransitionTime": at(when)})
    admission = {"admission": {"clusterQueue": "vision", "podSetAssignments": given or [assigned()]}}
    queue_name = {"queueName": queue} if queue else {}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": at(created), **(meta or {})},
        "spec": {"podSets": sets or [pods()], **queue_name, **(spec or {})},
        "status": {"conditions": conditions, **(admission if "Admitted" in clock else {}), **(status or {})},
    }


def ran(name, **more):
    times = {"Admitted": "08:10", "PodsReady": "08:12", "Finished": "09:12"}
    return workload(name, **{**times, **more})


def listed(*items):
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List"})


def column(trace, name):
    short = [job_id.removeprefix("ns/") for job_id in trace.workload.job_id]
    return dict(zip(short, getattr(trace.workload, name), strict=True))


ONE = ran("a", spec={"priority": 100, "priorityClassRef": {"name": "research"}, "maximumExecutionTimeSeconds": 7200})
SHAPES = {
    "list": listed(ONE),
    "one object": json.dumps(ONE),
    "array": json.dumps([ONE]),
    "one object a line": json.dumps(ONE) + "\n" + json.dumps({"apiVersion": "v1", "kind": "ConfigMap"}) + "\n",
    "indented": json.dumps({"apiVersion": "v1", "kind": "List", "items": [ONE]}, indent=2),
    "YAML": yaml.safe_dump(ONE),
    "YAML list": yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [ONE]}),
    "YAML documents": f"---\n---\n# a comment\napiVersion: v1\nkind: Secret\n---\n{yaml.safe_dump(ONE)}---\n",
    "YAML array": yaml.safe_dump([ONE]),
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_a_list_reads_alike(text):
    trace = read(text)
    assert trace.format_key == "kueue"
    assert list(trace.workload.job_id) == ["ns/a"]
    jobs = trace.workload
    assert (jobs.work[0], jobs.workers[0], jobs.gpus_per_worker[0]) == (3600, 1, 4)
    assert (jobs.cpus_per_worker[0], jobs.mem_gib_per_worker[0]) == (8, 64)
    assert (jobs.recorded_start_s[0], jobs.recorded_end_s[0], jobs.limit_s[0]) == (600, 4320, 7200)
    assert (jobs.user[0], jobs.group[0], jobs.job_class[0], jobs.priority[0]) == ("ns", "vision", "research", 100)
    assert (jobs.gpu_types[0], jobs.recorded_status[0]) == ("a100", "completed")
    assert jobs.meta["time_zero"] == "2025-02-03T08:00:00"
    assert jobs.meta["time_zone"] == "UTC"


def test_what_waits_can_be_kept_as_the_queue_of_now():
    waiting = ("08:31", "False", "Pending")
    again = {"accumulatedPastExecutionTimeSeconds": 600}
    trace = read(listed(
        ran("ok"),
        workload("runs", Admitted="08:20", PodsReady="08:20"),
        workload("back", Admitted="08:25", status=again),
        workload("waits", created="08:30", QuotaReserved=waiting, spec={"maximumExecutionTimeSeconds": 60}),
        workload("thrown", QuotaReserved=waiting, Evicted=("08:30", "True", "Preempted"), status=again),
        workload("paused", spec={"active": False}, QuotaReserved=waiting),
    ), pending="keep")  # fmt: skip
    status = column(trace, "recorded_status")
    assert status == {"ok": "completed", "runs": "running", "back": "running", "waits": "pending (Pending)",
                      "thrown": "pending (Pending)"}  # fmt: skip
    start = column(trace, "recorded_start_s")
    assert (start["runs"], start["back"]) == (1200, 1500)
    assert math.isnan(start["waits"])
    assert column(trace, "work")["waits"] == 60
    assert column(trace, "work")["thrown"] == 3600, "as long as the longest of the list"
    assert trace.workload.meta["snapshot"] == "2025-02-03T09:12:00Z"


def test_a_job_of_a_queue_that_is_not_defined_is_on_hold():
    queues = [
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": name, "namespace": "ns"},
         "spec": {"clusterQueue": of}} for name, of in (("team", "vision"), ("old", "vision-2024"))
    ]  # fmt: skip
    vision = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "vision"}}
    jobs = [ran("ok"), workload("waits", created="08:30"), workload("lost", queue="old"), workload("own", queue="x")]
    status = column(read(listed(*jobs, *queues, vision), pending="keep"), "recorded_status")
    assert status == {
        "ok": "completed",
        "waits": "pending",
        "lost": "held (ClusterQueue vision-2024 not found)",
        "own": "pending",  # without a LocalQueue in the file, nothing says that it is not defined
    }
    assert set(column(read(listed(*jobs, *queues), pending="keep"), "recorded_status").values()) == {
        "completed",
        "pending",
    }


def test_what_never_ran_is_dropped_by_reason():
    waiting = ("08:01", "False", "Pending")
    trace = read(listed(
        ran("ok"),
        workload("waits", QuotaReserved=waiting),
        workload("checked", QuotaReserved="08:05"),
        workload("empty", status={"conditions": None}),
        workload("lost", QuotaReserved=waiting, Finished=("08:30", "True", "OwnerNotFound")),
        workload("paused", spec={"active": False}, QuotaReserved=waiting),
        workload("alien", queue=""),
        workload("thrown", QuotaReserved=waiting, Evicted=("08:30", "True", "Preempted"),
                 status={"accumulatedPastExecutionTimeSeconds": 600}),
        ran("slice", meta={"ownerReferences": [{"kind": "Workload", "name": "ok"}]}),
        ran("old", Finished=("08:40", "True", "WorkloadSliceReplaced")),
    ))  # fmt: skip
    assert list(trace.workload.job_id) == ["ns/ok"]
    assert reasons(trace, "dropped") == {
        "waiting for quota or an admission check": 3,
        "finished before it was admitted": 1,
        "deactivated (active = false)": 1,
        "no queueName": 1,
        "waiting again after an eviction": 1,
        "part of another Workload of the list": 1,
        "replaced by another slice of the same job": 1,
    }


def test_a_list_in_which_nothing_ran():
    with pytest.raises(
        NotJobs, match=r"none of its 2 Workloads has run \(1: no creationTimestamp; 1: waiting"
    ) as caught:
        read(listed(workload("a"), workload("b", meta={"creationTimestamp": None})))
    assert "column" not in str(caught.value)


def test_times_and_outcomes():
    trace = read(listed(
        ran("plain"),
        ran("no-ready", PodsReady=("08:10", "False", "x")),
        ran("late-ready", PodsReady="09:30"),  # left over from nothing that ran: after the end
        ran("reserved", QuotaReserved="07:59", Admitted="08:00"),
        workload("unmarked", QuotaReserved="08:20", Finished=("08:50", "True", "JobFinished"),
                 status={"admission": {"clusterQueue": "vision"}}),
        ran("failed", Finished=("08:22", "True", "Failed")),
        ran("out", Finished=("08:32", "True", "OutOfSync")),
        ran("evicted", Evicted=("08:05", "False", "QuotaReserved"),
            status={"accumulatedPastExecutionTimeSeconds": 120,
                    "schedulingStats": {"evictions": [{"reason": "Preempted", "count": 1}]}}),
        workload("runs", Admitted="08:30"),
        ran("last", created="09:00", Admitted="09:01", PodsReady="09:02", Finished="10:30"),
    ))  # fmt: skip
    assert column(trace, "work") == {
        "plain": 3600, "no-ready": 3720, "late-ready": 3720, "reserved": 3600, "unmarked": 1800, "failed": 600,
        "out": 1200, "evicted": 3720, "runs": 7200, "last": 5280,
    }  # fmt: skip
    start_s = column(trace, "recorded_start_s")
    assert (start_s["plain"], start_s["reserved"], start_s["unmarked"]) == (600, 0, 1200)
    assert str(start_s["evicted"]) == "nan"
    status = column(trace, "recorded_status")
    assert [status[k] for k in ("unmarked", "failed", "out", "runs")] == ["completed", "failed", "cancelled", "running"]
    assert reasons(trace, "flagged") == {"job was still running": 1, "evicted before its last start": 1}
    text = listed(ran("out", Finished=("08:32", "True", "OutOfSync")), workload("runs", Admitted="08:30"), ran("ok"))
    assert list(read(text, cancelled="drop", censored="drop").workload.job_id) == ["ns/ok"]


GPU = "nvidia.com/gpu"


def test_demand():
    bare = pods(pod={}, count=2)
    bare["template"]["spec"] = {
        "containers": [
            {"resources": {"limits": {GPU: "2", "cpu": "1500m"}, "requests": {"cpu": "500m"}}},
            {"resources": {"requests": {"cpu": "1", "memory": "1500Mi"}}},
        ],
        "initContainers": [
            {"resources": {"requests": {"cpu": "4"}}},
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}},
        ],
        "overhead": {"memory": "36Mi"},
    }
    slices = "nvidia.com/mig-1g.10gb"
    trace = read(listed(
        ran("usage", sets=[pods(count=8, minCount=2, pod={GPU: "2", "cpu": "3"})], given=[assigned(count=3, gpus="6")]),
        ran("counted", sets=[pods(count=2, pod={"cpu": "1", GPU: "1"})], given=[{"name": "main", "count": 2}],
            status={"resourceRequests": [{"name": "main", "resources": {"cpu": "6"}}],
                    "admission": {"clusterQueue": "q"}}),
        ran("bare", sets=[bare], given=[{"name": "main"}]),
        ran("two sets", sets=[pods("master"), pods("worker", 3)],
            given=[assigned("master"), assigned("worker", 3, "12", "h100")]),
        ran("uneven", sets=[pods("head", pod={GPU: "1", "cpu": "2"}), pods("worker", 2, pod={GPU: "8", "cpu": "10"})],
            given=[assigned("head", gpus="1"), assigned("worker", 2, "16")]),
        ran("launcher", sets=[pods("launcher", pod={"cpu": "4"}), pods("worker", 2)],
            given=[{"name": "launcher"}, assigned("worker", 2, "8")]),
        ran("cpu", sets=[pods(count=5, pod={"cpu": "2", "memory": "1e9"})], given=[{"name": "main", "count": 5}]),
        ran("mig", sets=[pods(pod={slices: "3"})], given=[{"name": "main"}]),
        ran("nic", sets=[pods(pod={GPU: "1", "rdma/hca": "1", "ephemeral-storage": "1Gi"})],
            given=[{"name": "main"}]),
        ran("odd", sets=[pods(pod={GPU: "many"})], given=[{"name": "main"}]),
    ))  # fmt: skip
    assert column(trace, "workers") == {
        "usage": 3, "counted": 2, "bare": 2, "two sets": 4, "uneven": 17, "launcher": 2, "cpu": 5, "mig": 1, "nic": 1,
    }  # fmt: skip
    assert column(trace, "gpus") == {
        "usage": 6, "counted": 2, "bare": 4, "two sets": 16, "uneven": 17, "launcher": 8, "cpu": 0, "mig": 3, "nic": 1,
    }  # fmt: skip
    cpus = column(trace, "cpus_per_worker")
    assert (cpus["usage"], cpus["counted"], cpus["bare"], cpus["two sets"]) == (3, 3, 4, 8)
    assert (cpus["uneven"], cpus["launcher"], cpus["cpu"]) == (22 / 17, 10, 2)
    memory = column(trace, "mem_gib_per_worker")
    assert (memory["bare"], memory["cpu"]) == (1.5, 1e9 / 2**30)
    assert column(trace, "gpu_types")["two sets"] == "a100|h100"
    assert reasons(trace, "dropped") == {"no GPU count": 1}
    assert reasons(trace, "flagged") == {
        "pods with different GPU counts": 1,
        "pods without GPUs beside pods with GPUs": 1,
        "GPU slices (MIG)": 1,
        "job without GPUs": 1,
    }
    assert reasons(trace, "not modelled") == {"job accepts fewer pods (minCount)": 1, "other resources": 1}


def test_nodes_of_a_topology_assignment():
    host = {"levels": ["kubernetes.io/hostname"]}
    domains = {**host, "domains": [{"values": ["n1"], "count": 1}, {"values": ["n 2;"], "count": 1}]}
    slices = {**host, "slices": [
        {"domainCount": 2, "valuesPerLevel": [{"prefix": "gpu-", "suffix": ".x", "roots": ["1", "2"]}]},
        {"domainCount": 1, "valuesPerLevel": [{"universalValue": "gpu-9"}]},
    ]}  # fmt: skip
    racks = {"levels": ["rack"], "domains": [{"values": ["r1"], "count": 1}]}
    names = {"old": domains, "new": slices, "racks": racks}
    trace = read(listed(*(ran(k, given=[assigned(topologyAssignment=v)]) for k, v in names.items())))
    assert column(trace, "recorded_nodes") == {"old": "n1", "new": "gpu-1.x,gpu-2.x,gpu-9", "racks": ""}


def test_queue_objects_in_the_list_explain_it():
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue",
             "metadata": {"name": "team", "namespace": "ns"}, "spec": {"clusterQueue": "language"}}  # fmt: skip
    kind = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "WorkloadPriorityClass", "metadata": {"name": "low"},
            "value": -10}  # fmt: skip
    job = ran("a", spec={"priorityClassName": "low"}, status={"admission": None})
    trace = read(listed(job, queue, kind))
    assert (trace.workload.group[0], trace.workload.priority[0]) == ("language", -10)
    assert any("1 LocalQueue" in note and "1 WorkloadPriorityClass" in note for note in trace.report.notes)


def objects_of(api, *kinds):
    return "---\n".join(f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\n" for kind in kinds)


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        pytest.param(objects_of("kueue.x-k8s.io/v1beta1", "ClusterQueue", "Cohort"), "Kueue ClusterQueue, Cohort",
                     "quotas and names, not jobs", id="queues"),
        pytest.param(objects_of("kubeflow.org/v1", "PyTorchJob"), "Kubeflow PyTorchJob",
                     "without times of submission and start", id="kubeflow"),
        pytest.param(objects_of("v1", "Pod", "Pod"), "Kubernetes Pod", r"Pods \(2 Pod\)", id="pods"),
        pytest.param(objects_of("v1", "Node"), "Kubernetes Node", "machines, not jobs", id="nodes"),
        pytest.param(objects_of("batch/v1", "Job"), "Kubernetes Job", "but no Workloads of Kueue", id="batch"),
        pytest.param(objects_of("scheduling.k8s.io/v1alpha1", "Workload"), "Kubernetes Workload",
                     "no Workloads of Kueue", id="another Workload"),
        pytest.param('{"apiVersion": "v1", "items": [], "kind": "List"}', "Kubernetes objects",
                     "holds no Kubernetes objects", id="empty list"),
    ],
)  # fmt: skip
def test_other_objects_are_named(text, name, why):
    with pytest.raises(NotJobs, match=why) as caught:
        read(text)
    assert caught.value.named_as == name
    assert "kubectl get workloads.kueue.x-k8s.io -A -o json" in caught.value.do


def test_samples_of_a_made_up_company(shared_data):
    path = shared_data / "queues" / "samples" / "workloads.json"
    if not path.is_file():
        pytest.skip("samples of Workloads not found: expected queues/samples/workloads.json")
    trace = read_trace(path)
    assert trace.report.counts == {"rows": 19, "kept": 13, "repaired": 0, "dropped": 6}
    jobs = {job.partition("/")[2]: row for row, job in enumerate(trace.workload.job_id)}
    assert trace.workload.workers[jobs["job-elastic"]] == 4
    assert trace.workload.work[jobs["job-segmenter"]] == 13_320 + 2940
    assert trace.workload.work[jobs["job-slow-start"]] == 63 * 60
    assert trace.workload.gpus.sum() == 8 + 16 + 4 + 24 + 1 + 16 + 24 + 2 + 8 + 8 + 8 + 8 + 8
