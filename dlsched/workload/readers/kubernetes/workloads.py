"""Kueue Workloads (v1beta1, v1beta2) as jobs. A condition holds its last change only; times are UTC, to the second."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import Floats, Texts
from dlsched.workload.import_report import Bools, Ledger
from dlsched.workload.readers.canonical import Draft, iso_time, optional, required
from dlsched.workload.readers.convert import from_python, split_gpus, timestamps
from dlsched.workload.readers.formats import NotJobs, Signs, TraceFormat
from dlsched.workload.readers.kubernetes.objects import Object, is_host, looks_like_objects, objects, part, parts, word
from dlsched.workload.readers.kubernetes.quantities import amount, is_gpu
from dlsched.workload.readers.kubernetes.queue_objects import QueueObjects, collect
from dlsched.workload.readers.nodes.kubernetes import read_objects
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.source import TraceText, open_trace
from dlsched.workload.readers.waiting import HELD, KEPT_RULE, PENDING, status_of, waiting_of

GROUP = "kueue.x-k8s.io/"
EXPORT = "kubectl get workloads.kueue.x-k8s.io -A -o json"
MOST_WORKLOADS = 500_000
MOST_KINDS = 1000
MOST_NODES = 10_000
GIB = 2.0**30
STATUS = {"Succeeded": "completed", "JobFinished": "completed", "Failed": "failed"}
"""Reason of the condition Finished -> outcome; any other (OwnerNotFound, OutOfSync) is cancelled."""
KNOWN_RESOURCES = ("cpu", "memory", "pods")
HOST_LEVEL = "kubernetes.io/hostname"


@dataclass
class _Demand:
    """What all pods of a Workload ask for; ``pods`` counts those with GPUs, all where there are none."""

    pods: float = 0.0
    gpus: float = 0.0
    cpus: float = 0.0
    mem_gib: float = 0.0
    is_uneven: bool = False
    is_mixed: bool = False
    has_slices: bool = False
    flavors: str = ""
    others: str = ""
    nodes: str = ""


@dataclass
class _Workload:
    """The parts of a Workload that matter, times as text."""

    line: int
    name: str
    namespace: str
    local_queue: str
    queue: str
    job_class: str
    priority: float
    limit_s: float
    past_s: float
    active: bool
    evicted: bool
    fewer_pods: bool
    owner: str
    created: str
    started: str
    ready: str
    finished: str
    reason: str
    waits_for: str
    """Why it has no quota."""
    seen: str
    """Latest time of the object."""
    demand: _Demand


@dataclass
class _List:
    """What a file holds: Workloads, queue objects that explain them, and the kinds of everything."""

    workloads: list[_Workload] = field(default_factory=list)
    told: QueueObjects = field(default_factory=QueueObjects)
    kinds: Counter[str] = field(default_factory=Counter)


def read_kueue(text: TraceText, options: ReadOptions) -> Draft:
    """Return the draft of a list of Workloads, JSON or YAML; other objects in it are counted.

    Submission = creation, start = Admitted (QuotaReserved for finished ones without), run time = Finished - the later
    of Admitted and PodsReady, plus what was run before evictions. Workloads that never got quota have no run time and
    are dropped.
    Workers are the pods with GPUs; where their GPU counts differ, single GPUs.

    Raises
    ------
    InputError
        NotJobs, with the kinds of its objects, where the file holds no Workload.
    """
    found = _collect(text, options)
    if not found.workloads:
        raise _no_workloads(text.name, found.kinds)
    rows = found.workloads
    ids = np.array([f"{w.namespace}/{w.name}" for w in rows], dtype=object)
    lines = np.array([w.line for w in rows], dtype=np.int64)
    ledger = Ledger(len(rows), lambda chosen: lines[chosen], ids)
    queues = found.told.tree()
    others = {kind: count for kind, count in found.kinds.items() if kind != f"{GROUP}Workload"}
    if others:
        ledger.notes.append(f"Other objects: {_counted(others)}")
    created, started, ready, finished, seen = (
        timestamps(from_python([getattr(w, name) for w in rows]))
        for name in ("created", "started", "ready", "finished", "seen")
    )
    submit_s = required(ledger, created, "creationTimestamp")
    start_s, end_s = optional(ledger, started, "time of Admitted"), optional(ledger, finished, "time of Finished")
    queue = [w.queue or found.told.queue_of.get(f"{w.namespace}/{w.local_queue}", w.local_queue) for w in rows]
    status = _book(ledger, rows, start_s, end_s, found.told.lost(queue), options)
    if not ledger.alive.any():
        raise _none_ran(text.name, ledger)
    taken_s = np.nanmax(np.append(seen.values, -math.inf))
    until_s = np.where(status == "running", taken_s, end_s)
    began_s = np.where(ready.values <= until_s, np.fmax(start_s, ready.values), start_s)
    run_s = until_s - began_s + np.array([w.past_s for w in rows])
    limit_s = np.array([w.limit_s for w in rows])
    if (waits := ledger.alive & (waiting_of(status, PENDING) | waiting_of(status, HELD))).any():
        longest_s = np.nanmax(np.append(run_s, -math.inf))
        run_s = np.where(waits, np.where(np.isnan(limit_s), longest_s if longest_s > 0 else DAY_S, limit_s), run_s)
    evicted = np.array([w.evicted for w in rows], dtype=bool) & ~waits
    if options.pending == "keep":  # the queue of now needs since when a job holds its quota, not its first start
        evicted &= status != "running"
    rule = "Its first start is not in the list: recorded start left empty; lost work counts as run time"
    ledger.flag(evicted, "evicted before its last start", rule)
    workers, per_worker, floats = _demand_columns(ledger, [w.demand for w in rows])
    priority = np.array([w.priority if not math.isnan(w.priority) else found.told.priorities.get(w.job_class, math.nan)
                         for w in rows])  # fmt: skip
    return Draft(
        ledger, submit_s, run_s, workers, per_worker,
        texts={
            "job_id": from_python(ids), "user": from_python([w.namespace for w in rows]),
            "group": from_python(queue),
            "job_class": from_python([w.job_class for w in rows]),
            "gpu_types": from_python([w.demand.flavors for w in rows]),
            "recorded_nodes": from_python([w.demand.nodes for w in rows]),
            "recorded_status": from_python(status),
        },
        floats=floats | {
            "recorded_start_s": np.where(evicted, np.nan, start_s), "recorded_end_s": end_s, "priority": priority,
            "limit_s": limit_s,
        },
        absolute=True,
        meta={"time_zone": "UTC"} | ({"snapshot": iso_time(taken_s) + "Z"} if waits.any() else {}),
        cluster=read_objects(text, found.told.flavors) if "/Node" in found.kinds else None,
        queues=queues,
        assumptions=[
            "The list holds what was not deleted: finished Workloads go with their jobs, so old and short ones may be "
            "missing",
            "A job accepts only the GPU flavor it was admitted to; the list does not say which others it would accept",
            "Times are whole seconds",
        ],
    )  # fmt: skip


# ---- rules -----------------------------------------------------------------------------------------


def _book(
    ledger: Ledger, rows: list[_Workload], start_s: Floats, end_s: Floats, lost: list[str], options: ReadOptions
) -> Texts:  # fmt: skip
    """Drop what is no job or never ran; return the outcome of each Workload. ``lost``: queues that are not defined."""
    names = {f"{w.namespace}/{w.name}" for w in rows}
    queued = np.array([bool(w.local_queue or w.queue) for w in rows], dtype=bool)
    ran, done = ~np.isnan(start_s), ~np.isnan(end_s)
    outcomes = np.array([STATUS.get(w.reason, "cancelled") for w in rows], dtype=object)
    status = np.where(done, outcomes, np.where(ran, "running", "waiting").astype(object))
    status[done & ~ran] = "cancelled"

    def drop(mask: Any, reason: str, rule: str) -> None:
        ledger.drop(np.asarray(mask, dtype=bool), reason, rule, unreadable=False)

    drop([bool(w.owner) and w.owner in names for w in rows], "part of another Workload of the list",
         "Dropped: slices and variants of a job are one job")  # fmt: skip
    drop([w.reason == "WorkloadSliceReplaced" for w in rows], "replaced by another slice of the same job",
         "Dropped: the Workload that replaced it counts")  # fmt: skip
    drop(~queued, "no queueName", "Dropped: Kueue does not manage it")
    drop(done & ~ran, "finished before it was admitted", "Dropped: it never ran")
    drop([not w.active for w in rows] & ~done, "deactivated (active = false)", "Dropped: cancelled, no run time")
    again = np.array([w.evicted for w in rows], dtype=bool)
    waiting = ~ran & ~done
    what = "waiting for quota or an admission check"
    if options.pending == "keep":
        ledger.flag(waiting, what, KEPT_RULE)
        why = [f"ClusterQueue {name} not found" if name else w.waits_for for w, name in zip(rows, lost, strict=True)]
        told = [status_of(text, held=bool(name)) for text, name in zip(why, lost, strict=True)]
        status[waiting] = np.array(told, dtype=object)[waiting]
    else:
        drop(waiting & again, "waiting again after an eviction", "Dropped: its starts are not in the list")
        drop(waiting, what, "Dropped: it has not run yet")
    if options.cancelled == "drop":
        drop(status == "cancelled", "job was cancelled", "Dropped as asked: cancelled = drop")
    if options.censored == "drop":
        drop(status == "running", "job was running", "Dropped as asked: censored = drop")
    else:
        rule = "Kept with the run time until the last time in the list, which is a lower bound"
        ledger.flag(status == "running", "job was still running", rule)
    fewer = np.array([w.fewer_pods for w in rows], dtype=bool)
    rule = "The pods of the admission count; a job that starts with fewer pods is not modelled"
    ledger.not_modelled(fewer, "job accepts fewer pods (minCount)", rule)
    return np.asarray(status, dtype=object)


def _demand_columns(ledger: Ledger, demands: list[_Demand]) -> tuple[Floats, Floats, dict[str, Floats]]:
    """Return workers, GPUs per worker, and CPUs and memory per worker."""
    pods, gpus, cpus, mem_gib = (
        np.array([getattr(d, name) for d in demands], dtype=np.float64) for name in ("pods", "gpus", "cpus", "mem_gib")
    )

    def are(name: str) -> Bools:
        return np.array([bool(getattr(d, name)) for d in demands], dtype=bool)

    uneven = are("is_uneven")
    ledger.flag(uneven, "pods with different GPU counts", "Placed as workers of one GPU; the total is kept", gpus)
    rule = "Their CPUs and memory are spread over the pods with GPUs"
    ledger.flag(are("is_mixed"), "pods without GPUs beside pods with GPUs", rule)
    rule = "Each slice counts as one GPU"
    ledger.flag(are("has_slices"), "GPU slices (MIG)", rule, gpus)
    rule = "Only GPUs, CPUs and memory are modelled"
    ledger.not_modelled(are("others"), "other resources", rule, [d.others for d in demands])
    single, share = split_gpus(gpus)
    workers = np.where(uneven, single, np.maximum(pods, 1.0))
    per_worker = np.where(uneven, share, gpus / workers)
    return workers, per_worker, {"cpus_per_worker": cpus / workers, "mem_gib_per_worker": mem_gib / workers}


# ---- collecting ------------------------------------------------------------------------------------


def _collect(text: TraceText, options: ReadOptions) -> _List:
    found = _List(told=collect(open_trace(one, "queues") for one in options.queues))
    for line, item in objects(text):
        kind = f"{word(item, 'apiVersion').rpartition('/')[0]}/{word(item, 'kind')}"
        if len(found.kinds) < MOST_KINDS or kind in found.kinds:
            found.kinds[kind] += 1
        if kind == f"{GROUP}Workload":
            if len(found.workloads) >= MOST_WORKLOADS:
                why = f"it has more than {MOST_WORKLOADS:,} Workloads"
                raise InputError(f"file {text.name}", why, "Export fewer namespaces at a time")
            found.workloads.append(_workload(line, item))
        else:
            found.told.take(item)
    return found


def _workload(line: int, item: Object) -> _Workload:
    meta, spec, status = (part(item, name) for name in ("metadata", "spec", "status"))
    conditions = {word(one, "type"): one for one in parts(status, "conditions")}
    times = [word(one, "lastTransitionTime") for one in conditions.values()]

    def when(kind: str) -> str:
        one = conditions.get(kind, {})
        return word(one, "lastTransitionTime") if word(one, "status") == "True" else ""

    evictions = sum(amount(word(one, "count")) > 0 for one in parts(part(status, "schedulingStats"), "evictions"))
    past_s = amount(word(status, "accumulatedPastExecutionTimeSeconds"))
    owners = [word(one, "name") for one in parts(meta, "ownerReferences") if word(one, "kind") == "Workload"]
    namespace = word(meta, "namespace")
    sets = parts(spec, "podSets")
    return _Workload(
        line=line,
        name=word(meta, "name"),
        namespace=namespace,
        local_queue=word(spec, "queueName"),
        queue=word(part(status, "admission"), "clusterQueue"),
        job_class=word(part(spec, "priorityClassRef"), "name") or word(spec, "priorityClassName"),
        priority=amount(word(spec, "priority")),
        limit_s=amount(word(spec, "maximumExecutionTimeSeconds")),
        past_s=past_s if past_s > 0 else 0.0,
        active=word(spec, "active").lower() != "false",
        evicted=evictions > 0 or "Evicted" in conditions or past_s > 0,
        fewer_pods=any(word(one, "minCount") for one in sets),
        owner=f"{namespace}/{owners[0]}" if owners else "",
        created=word(meta, "creationTimestamp"),
        started=when("Admitted") or (when("QuotaReserved") if when("Finished") else ""),
        ready=when("PodsReady"),
        finished=when("Finished"),
        reason=word(conditions.get("Finished", {}), "reason"),
        waits_for=word(conditions.get("QuotaReserved", {}), "reason"),
        seen=max([word(meta, "creationTimestamp"), *times]),
        demand=_demand(sets, status),
    )


def _demand(sets: list[Object], status: Object) -> _Demand:
    """Return what the pods ask for: by the admission, else as Kueue counted it, else by their containers.

    Resources that Kueue leaves out of the quota are missing in the first two, so each resource is looked up by itself.
    """
    admission = part(status, "admission")
    assigned = {word(one, "name"): one for one in parts(admission, "podSetAssignments")}
    counted = {word(one, "name"): part(one, "resources") for one in parts(status, "resourceRequests")}
    result, gpu_pods, all_pods, per_pod = _Demand(), 0.0, 0.0, set[float]()
    flavors, others, nodes = set[str](), set[str](), list[str]()
    for one in sets:
        name = word(one, "name")
        given = assigned.get(name, {})
        count = amount(word(given, "count") or word(one, "count") or "1")
        by_pod = _pod_requests(part(part(one, "template"), "spec"))
        totals = {resource: value * count for resource, value in by_pod.items()}
        totals |= _amounts(counted.get(name, {})) | _amounts(part(given, "resourceUsage"))
        gpus = sum(value for resource, value in totals.items() if is_gpu(resource))
        result.gpus += gpus
        result.cpus += totals.get("cpu", 0.0)
        result.mem_gib += totals.get("memory", 0.0) / GIB
        all_pods += count
        if gpus > 0:
            gpu_pods += count
            per_pod.add(gpus / count if count > 0 else math.nan)
            chosen = part(given, "flavors")
            flavors |= {word(chosen, resource) for resource in totals if is_gpu(resource)} - {""}
            result.has_slices |= any("/mig-" in resource for resource in totals)
        others |= {r for r, v in totals.items() if v > 0 and not is_gpu(r) and r not in KNOWN_RESOURCES
                   and not r.startswith("ephemeral-storage")}  # fmt: skip
        nodes.extend(islice(_nodes(part(given, "topologyAssignment")), MOST_NODES))
    result.pods = gpu_pods or all_pods
    result.is_uneven, result.is_mixed = len(per_pod) > 1, bool(gpu_pods) and gpu_pods < all_pods
    result.flavors, result.others = "|".join(sorted(flavors)), ", ".join(sorted(others))
    result.nodes = ",".join(dict.fromkeys(nodes[:MOST_NODES]))
    return result


def _amounts(resources: Object) -> dict[str, float]:
    """Return the stated amounts; NaN, which drops or flags the job, where one cannot be read."""
    return {name: amount(text) for name in resources if (text := word(resources, name))}


def _pod_requests(spec: Object) -> dict[str, float]:
    """Return what one pod asks for: its containers and sidecars together, or its largest init container, + overhead.

    Where a container states only a limit, that is its request.
    """
    together: Counter[str] = Counter()
    largest: dict[str, float] = {}
    for one in parts(spec, "containers"):
        together.update(_container(one))
    sidecars: Counter[str] = Counter()
    for one in parts(spec, "initContainers"):
        asked = _container(one)
        if word(one, "restartPolicy") == "Always":
            sidecars.update(asked)
        for name, value in asked.items():
            first = sidecars[name] if word(one, "restartPolicy") == "Always" else sidecars[name] + value
            largest[name] = max(largest.get(name, 0.0), first)
    together.update(sidecars)
    result = {name: max(together[name], largest.get(name, 0.0)) for name in {*together, *largest}}
    for name, value in _amounts(part(spec, "overhead")).items():
        result[name] = result.get(name, 0.0) + value
    return result


def _container(container: Object) -> dict[str, float]:
    resources = part(container, "resources")
    return _amounts(part(resources, "limits")) | _amounts(part(resources, "requests"))


def _nodes(assignment: Object) -> Iterator[str]:
    """Yield the nodes of a topology assignment whose lowest level is the host (v1beta1: domains, v1beta2: slices)."""
    levels = assignment.get("levels")
    if not isinstance(levels, list) or not levels or levels[-1] != HOST_LEVEL:
        return
    for one in parts(assignment, "domains"):
        values = one.get("values")
        if isinstance(values, list) and values and is_host(values[-1]):
            yield values[-1]
    for one in parts(assignment, "slices"):
        value = (parts(one, "valuesPerLevel") or [{}])[-1]
        before, after, roots = word(value, "prefix"), word(value, "suffix"), value.get("roots")
        names = [f"{before}{root}{after}" for root in roots] if isinstance(roots, list) else []
        yield from filter(is_host, [*names, word(value, "universalValue")])


# ---- files without jobs that ran -------------------------------------------------------------------------


def _counted(kinds: Mapping[str, int]) -> str:
    return first_of([f"{count:,} {kind.rpartition('/')[2][:60] or 'without kind'}" for kind, count in kinds.items()])


def _none_ran(name: str, ledger: Ledger) -> InputError:
    reasons = "; ".join(f"{one.count:,}: {one.reason}" for one in ledger.findings if one.kind == "dropped")
    why = f"none of its {len(ledger.alive):,} Workloads has run ({reasons})"
    return NotJobs(
        f"file {name}", why, f"Export again when jobs have run: {EXPORT}", "Kueue Workloads without run times"
    )


def _no_workloads(name: str, kinds: Mapping[str, int]) -> InputError:
    """Return the refusal of a file with other objects, by what they are."""
    groups = {kind.rpartition("/")[0].partition("/")[0] for kind in kinds}
    short = {kind.rpartition("/")[2] for kind in kinds} - {""}
    listed = _counted(kinds)
    if not short:
        return NotJobs(f"file {name}", "it holds no Kubernetes objects", f"Give {EXPORT}", "Kubernetes objects")
    label = f"Kubernetes {first_of(sorted(short), 5)}"
    why = f"it holds Kubernetes objects ({listed}), but no Workloads of Kueue"
    if groups <= {GROUP.rstrip("/")}:
        label = f"Kueue {first_of(sorted(short), 5)}"
        why = f"it holds queue objects of Kueue ({listed}): quotas and names, not jobs"
    elif groups == {"kubeflow.org"}:
        label = f"Kubeflow {first_of(sorted(short), 5)}"
        why = f"it holds Kubeflow jobs ({listed}): what shall run, without times of submission and start"
    elif short == {"Pod"}:
        why = f"it holds Pods ({listed}), which are parts of jobs, without the time they waited for quota"
    elif short == {"Node"}:
        why = f"it holds Nodes ({listed}), which are machines, not jobs"
    do = f"Give the Workloads: {EXPORT}"
    if short & {"ClusterQueue", "Node"}:
        do += "; this file can be given as the cluster beside them"
    return NotJobs(f"file {name}", why, do, label)


KUEUE = TraceFormat(
    "kueue",
    "Kueue Workloads",
    lambda head: Signs(2, 2) if looks_like_objects(head) else None,
    read_kueue,
    choices=("cancelled", "censored", "pending"),
    source="kueue.sigs.k8s.io, API reference kueue.x-k8s.io/v1beta2: Workload",
)
