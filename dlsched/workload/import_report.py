"""Import report: what a reader read, kept, repaired and dropped, and how the jobs suit a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster
from dlsched.domain.counted import counted_resource
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import PlacementRule, Scenario
from dlsched.domain.workload import CPU, DISK, GPU, MEM, RESOURCES, Floats, Ints, Workload, partition_names
from dlsched.speed import build_speed

Bools = NDArray[np.bool_]
FindingKind = Literal["dropped", "repaired", "flagged", "not modelled"]
EXAMPLES = 5
EXAMPLE_WIDTH = 60
LARGEST_UNREADABLE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Example:
    """One row behind a finding: its line in the file (rows from 1 where a format has no lines) and the value."""

    line: int
    value: str


@dataclass(frozen=True, slots=True)
class Finding:
    """``count`` rows with one peculiarity, the rule applied to them, and up to five of them.

    ``unreadable`` marks drops of rows that could not be understood, unlike jobs that never ran.
    """

    kind: FindingKind
    reason: str
    rule: str
    count: int
    examples: tuple[Example, ...] = ()
    unreadable: bool = False

    def __str__(self) -> str:
        shown = ", ".join(f"line {e.line}: {e.value!r}" for e in self.examples)
        return f"{self.count:,} {self.kind}: {self.reason}. {self.rule}." + (f" ({shown})" if shown else "")


@dataclass(frozen=True, slots=True)
class Report:
    """Outcome of reading one trace. ``rows`` = ``kept`` + ``dropped``; ``repaired`` rows are among the kept.

    A row is dropped for one reason only, so the counts of dropped findings add up; a kept row can be repaired or
    flagged for several. ``notes`` are facts about the file as a whole (encoding, delimiter).
    """

    rows: int
    kept: int
    repaired: int
    dropped: int
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Return what ``Scenario.read`` holds."""
        return {"rows": self.rows, "kept": self.kept, "repaired": self.repaired, "dropped": self.dropped}

    def of_kind(self, kind: FindingKind) -> tuple[Finding, ...]:
        """Return the findings of one kind, most frequent first."""
        return tuple(sorted((f for f in self.findings if f.kind == kind), key=lambda f: -f.count))

    def as_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return f"Kept {self.kept:,} of {self.rows:,} rows, repaired {self.repaired:,}, dropped {self.dropped:,}."


class Ledger:
    """Books of one import: marks rows dropped, repaired or flagged, and remembers examples.

    Parameters
    ----------
    rows
        Rows that became table rows.
    line_of
        Row numbers (from 0) -> line numbers of the file.
    names
        Job ids, shown as examples where a rule is not about one value.
    """

    def __init__(self, rows: int, line_of: Callable[[Ints], Ints] | None = None, names: Any = None) -> None:
        self.alive: Bools = np.ones(rows, dtype=bool)
        self.notes: list[str] = []
        self._repaired: Bools = np.zeros(rows, dtype=bool)
        self._names = names
        self._line_of = line_of or (lambda found: found + 1)
        self._findings: list[Finding] = []
        self._lost = 0

    def drop(self, mask: Bools, reason: str, rule: str, values: Any = None, *, unreadable: bool = True) -> None:
        """Drop the rows of ``mask`` that are still there."""
        self._note("dropped", mask & self.alive, reason, rule, values, unreadable)
        self.alive &= ~mask

    def repair(self, mask: Bools, reason: str, rule: str, values: Any = None) -> None:
        """Count rows whose value was replaced by a stated rule."""
        self._note("repaired", mask & self.alive, reason, rule, values)
        self._repaired |= mask

    def flag(self, mask: Bools, reason: str, rule: str, values: Any = None) -> None:
        """Count rows that are kept as they are but deserve a look."""
        self._note("flagged", mask & self.alive, reason, rule, values)

    def not_modelled(self, mask: Bools, reason: str, rule: str, values: Any = None) -> None:
        """Count rows with a property the simulator does not follow."""
        self._note("not modelled", mask & self.alive, reason, rule, values)

    def lost(
        self, count: int, reason: str, rule: str, examples: tuple[Example, ...], *, unreadable: bool = True
    ) -> None:
        """Count rows that never became table rows."""
        if count:
            self._lost += count
            self._findings.append(Finding("dropped", reason, rule, count, examples, unreadable))

    def _note(
        self, kind: FindingKind, mask: Bools, reason: str, rule: str, values: Any, unreadable: bool = False
    ) -> None:
        rows = np.flatnonzero(mask)
        if not rows.size:
            return
        first = rows[:EXAMPLES]
        values_of_rows = self._names if values is None else values
        texts = ["" if values_of_rows is None else example_text(values_of_rows[int(row)]) for row in first]
        examples = tuple(Example(int(line), text) for line, text in zip(self._line_of(first), texts, strict=True))
        self._findings.append(Finding(kind, reason, rule, int(rows.size), examples, unreadable))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was written so far."""
        return tuple(self._findings)

    def report(self, what: str = "file", way_out: str = "Check the export and how it is read") -> Report:
        """Close the books; InputError when nothing usable is left or most rows could not be understood.

        ``what`` names the file and ``way_out`` says what to do then.
        """
        rows, kept = len(self.alive) + self._lost, int(self.alive.sum())
        drops = [f for f in self._findings if f.kind == "dropped"]
        unreadable = sum(f.count for f in drops if f.unreadable)
        if not rows:
            raise InputError(what, "it has only a header and no data rows", "Export it again, with data rows")
        worst = max(drops, key=lambda f: f.count, default=None)
        if worst is not None and (kept == 0 or unreadable > LARGEST_UNREADABLE_SHARE * rows):
            about = "no row can be used" if kept == 0 else f"most rows cannot be read: {unreadable:,} of {rows:,}"
            example = (
                f", for example line {worst.examples[0].line}: {worst.examples[0].value!r}" if worst.examples else ""
            )
            why = f"{about}; most often ({worst.count:,} times): {worst.reason}{example}"
            raise InputError(what, why, way_out)
        return Report(
            rows=rows,
            kept=kept,
            repaired=int((self._repaired & self.alive).sum()),
            dropped=rows - kept,
            findings=tuple(self._findings),
            notes=tuple(self.notes),
        )


def example_text(value: Any) -> str:
    """Return a short printable form of a source value."""
    plain = value.as_py() if hasattr(value, "as_py") else value
    if isinstance(plain, float):
        plain = f"{plain:g}"
    text = "".join(c if c.isprintable() else "�" for c in str(plain)[: EXAMPLE_WIDTH + 1])
    return text if len(text) <= EXAMPLE_WIDTH else text[: EXAMPLE_WIDTH - 1] + "…"


# ---- the jobs against a cluster ----------------------------------------------------------------------


def in_seconds(scenario: Scenario) -> Workload:
    """Return the jobs with ``work`` as the seconds each runs with what it asks for, on nodes of speed 1.

    Jobs with parameter servers count their work in training steps. A request that cannot run counts with the fastest
    width; where steps have no times at all, or some job has no servers, steps are left as they are: no run is possible.
    """
    jobs = scenario.workload
    if scenario.speed.kind != "parameter-server":
        return jobs
    try:
        speed = build_speed(scenario.speed, jobs)
    except InputError:
        return jobs
    rate = speed.rates(np.arange(len(jobs)), jobs.workers)
    if (rate <= 0).any():
        rate = np.where(rate > 0, rate, speed.fastest())
    return replace(jobs, work=np.divide(jobs.work, rate, out=jobs.work.copy(), where=rate > 0))


def arrival_window_s(workload: Workload) -> float:
    """Return seconds from the first to the last submission; the longest run time when all come at once."""
    if not len(workload):
        return 0.0
    span = float(workload.submit_s[-1] - workload.submit_s[0])
    return span if span > 0 else float(workload.work.max())


def offered_load(workload: Workload, cluster: Cluster) -> float:
    """Return what jobs ask for over what is possible in the arrival window; NaN where nothing limits them.

    Asked = sum of GPUs x run time; possible = GPUs of all owned nodes x (last - first submission). Where all jobs
    come at once the window is the longest run time. Above 1 the queue grows for as long as jobs arrive. Where GPUs do
    not count (:func:`dlsched.domain.counted.counted_resource`), the scarcest of the others does: the largest of
    :func:`loads_of`.
    """
    if counted_resource(workload, cluster) != GPU:
        others = (load for name, load in loads_of(workload, cluster).items() if name != RESOURCES[GPU])
        return max(others, default=float("nan"))
    possible = cluster.num_gpus * arrival_window_s(workload)
    asked_gpu_s = float(workload.gpus @ workload.work)
    return asked_gpu_s / possible if possible > 0 else float("nan")


def loads_of(workload: Workload, cluster: Cluster) -> dict[str, float]:
    """Return load by resource, counted as :func:`load_of`, where jobs ask for it and every fixed node states it.

    Keys as RESOURCES. What a job asks for is what its workers and its parameter servers hold together.
    """
    return _of_capacity(workload, cluster, workload.work / max(arrival_window_s(workload), 1e-300))


def shares_at_once(workload: Workload, cluster: Cluster) -> dict[str, float]:
    """Return what all jobs together ask for over what there is, by resource as :func:`loads_of`."""
    return _of_capacity(workload, cluster, np.ones(len(workload)))


def _of_capacity(workload: Workload, cluster: Cluster, weight: Floats) -> dict[str, float]:
    total: Floats = cluster.nodes.capacity.sum(axis=0)
    asked = weight @ workload.requested
    stated = np.isfinite(total) & (total > 0) & (asked > 0)
    return {name: float(asked[r] / total[r]) for r, name in enumerate(RESOURCES) if stated[r]}


def requested_totals(workload: Workload) -> dict[str, float]:
    """Return what all jobs together request, each counted whole: ``gpus_total`` and ``cpus_total`` (cores)."""
    asked = workload.requested.sum(axis=0)
    return {
        f"{name}_total": round(float(asked[place]), 6)  # shares of a job's cores add up to the job's number again
        for place, name in ((GPU, "gpus"), (CPU, "cpus"))
    }


@dataclass(frozen=True, slots=True)
class Fit:
    """How a workload suits a cluster: load (NaN where nothing limits it), ids that never fit, what is not followed."""

    load: float
    never_fit: tuple[str, ...]
    not_modelled: tuple[Finding, ...]


def never_fit(workload: Workload, cluster: Cluster, rule: PlacementRule = "best-fit") -> tuple[str, ...]:
    """Return the ids of the jobs that the empty cluster could never hold, in order of submission."""
    from dlsched.placement import can_ever_fit

    fits = np.asarray(can_ever_fit(workload, cluster, rule))
    return tuple(str(job_id) for job_id in workload.job_id[~fits])


def fit_of(workload: Workload, cluster: Cluster, rule: PlacementRule = "best-fit") -> Fit:
    """Return the part of an import report that depends on the cluster."""
    return Fit(offered_load(workload, cluster), never_fit(workload, cluster, rule), _not_followed(workload, cluster))


def _not_followed(workload: Workload, cluster: Cluster) -> tuple[Finding, ...]:
    """Count demands that this cluster does not model."""
    vms = cluster.vm_types
    partitions = set().union(*(partition_names(pool.partition) for pool in cluster.pools))
    findings = []
    if workload.partition is not None:
        asks = workload.partition != ""
        if not partitions:
            count = int(asks.sum())
            rule = "The cluster has no partitions, so these jobs may run on any node"
        else:
            missing = [entry for entry in set(workload.partition.tolist()) if not partition_names(entry) & partitions]
            count = int((asks & np.isin(workload.partition.astype(str), missing)).sum())
            rule = "The cluster does not have their partition, so these jobs run on nodes without a partition"
        findings.append(Finding("not modelled", "job names a partition", rule, count))
    if workload.features is not None and not any(pool.features for pool in cluster.pools):
        count = int((workload.features != "").sum())
        rule = "The cluster's nodes state no features, so these jobs may run on any node"
        findings.append(Finding("not modelled", "job requests node features", rule, count))
    for resource, limit, what in ((CPU, "cpus", "CPU cores"), (MEM, "mem_gib", "memory"), (DISK, "disk_gib", "disk")):
        if all(getattr(vm, limit) is None for vm in vms):
            asks = (workload.demand[:, resource] > 0) | (workload.server_demand[:, resource] > 0)
            rule = f"No node of the cluster states its {what}, so jobs are not limited by it"
            findings.append(Finding("not modelled", f"job requests {what}", rule, int(asks.sum())))
    return tuple(finding for finding in findings if finding.count)
