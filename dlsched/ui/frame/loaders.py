"""Stored runs as frames, loaded once per process; sessions share them, so no code may write into them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dlsched.domain.cluster import vm_capacity
from dlsched.domain.counted import counted_of_vm, machines_of
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import CPU, GPU, Ints
from dlsched.figures.bars import JOB_FACTS, with_jobs
from dlsched.figures.raster import top_groups
from dlsched.store.runs import RunInfo
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.session import load_scenario, store
from dlsched.wording.clock import Clock, clock_of

MACHINES = ("gpu_type", "vm_type")
MOST_MACHINES = 8
"""As many colours as are clearly different in a chart."""


@shared
def metrics(run_id: str) -> dict[str, float | int | None]:
    """Return the metrics of a run."""
    return store().metrics(run_id)


def info(run_id: str) -> RunInfo:
    """Return what the store says of a run."""
    return _info(run_id, store().changes)


@shared
def _info(run_id: str, changes: int) -> RunInfo:
    return store().run_info(run_id)


def scenario_of(run_id: str) -> Scenario:
    """Return the scenario a run was made with."""
    return load_scenario(info(run_id).scenario_hash)


def clock(run_id: str) -> Clock:
    """Return what the times of a run are called: dates where its trace has them."""
    return clock_of(scenario_of(run_id).workload)


@shared
def jobs(run_id: str) -> pd.DataFrame:
    """Return one row a job, as metrics.tables.jobs_of, with sizes in what counts; see :func:`jobs_counted`."""
    return jobs_counted(store().jobs(run_id), scenario_of(run_id))


def jobs_counted(jobs: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return jobs whose column ``gpus`` is told in what counts for each: ``counted``, an index in RESOURCES.

    As they are on clusters of GPUs; cores (memory) where those count; cores for the CPU jobs of a mixed cluster.
    """
    if is_of_gpus(scenario):
        return jobs
    counted: Ints = np.full(len(jobs), scenario.counted)
    if scenario.counted == GPU:
        counted[((jobs["gpus"] == 0) & (jobs["cpus"] > 0)).to_numpy()] = CPU
    return _told_in(jobs, counted)


def is_of_gpus(scenario: Scenario) -> bool:
    """Whether GPUs count on every node of the scenario."""
    kinds = machines_of(scenario.cluster)
    return all(counted_of_vm(vm, scenario.counted) == GPU for vm in kinds)


def _told_in(frame: pd.DataFrame, counted: Ints) -> pd.DataFrame:
    held = np.column_stack([frame[name].fillna(0.0).to_numpy(float) for name in ("gpus", "cpus", "mem_gib")])
    return frame.assign(gpus=held[np.arange(len(frame)), counted], counted=counted)


def pieces_counted(pieces: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return pieces with a column ``vm_type`` whose ``gpus`` are told in what counts on their node.

    ``counted`` as :func:`jobs_counted`.
    """
    if is_of_gpus(scenario):
        return pieces
    of_vm = {vm.name: counted_of_vm(vm, scenario.counted) for vm in scenario.cluster.vm_types}
    counted: Ints = np.array([of_vm.get(name, scenario.counted) for name in pieces["vm_type"]], dtype=np.int64)
    return _told_in(pieces, counted)


def of_headline(frame: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return the rows that are told in the resource that counts for the scenario: no cores among GPUs."""
    return frame[frame["counted"] == scenario.counted] if "counted" in frame else frame


@shared
def dues(run_id: str) -> pd.DataFrame:
    """Return due_s and tardiness_s of each job: all that the overview of a run needs of its jobs."""
    return store().jobs(run_id, columns=("due_s", "tardiness_s"))


@shared
def pieces(run_id: str) -> pd.DataFrame:
    """Return the little that the overview of a run needs of its segments: node, start_s, end_s, gpus, due_s."""
    scenario, due_s = scenario_of(run_id), dues(run_id)["due_s"].to_numpy(float)
    needed = "row", "node", "start_s", "end_s", "gpus", "cpus", "mem_gib"
    pieces = store().segments(run_id, columns=needed)
    if not is_of_gpus(scenario):
        named = pieces.assign(vm_type=vm_types(pieces, scenario, store().nodes(run_id)))
        pieces = pieces_counted(named, scenario)
    return pieces[["node", "start_s", "end_s", "gpus"]].assign(due_s=due_s[pieces["row"].to_numpy()])


@shared
def waits(run_id: str) -> pd.DataFrame:
    """Return why jobs of a run waited, as metrics.tables.waits_of."""
    return store().waits(run_id)


@shared
def segments(run_id: str) -> pd.DataFrame:
    """Return the run's segments with what the charts tell of their jobs, and the machine they ran on."""
    scenario = scenario_of(run_id)
    told = store().jobs(run_id, columns=("job_id", "row", *JOB_FACTS))
    pieces = with_jobs(store().segments(run_id), told, waits(run_id))
    named = pieces.assign(vm_type=vm_types(pieces, scenario, store().nodes(run_id)))
    return with_machines(pieces_counted(named, scenario), scenario)


@shared
def stays(run_id: str) -> pd.DataFrame:
    """Return the billed stays of machines, as metrics.tables.nodes_of, with gpu_type and gpus of the machine."""
    scenario = scenario_of(run_id)
    stays = with_machines(store().nodes(run_id), scenario)
    return stays.assign(gpus=stays["vm_gpus"])


def rented_stays(run_id: str, scenario: Scenario) -> pd.DataFrame:
    """Return the stays of machines that are rented: on slots all, else those of pools that rent their nodes."""
    paid, cluster = stays(run_id), scenario.cluster
    nodes = [node for pool in cluster.rented_pools for node in cluster.nodes_of(pool)]
    return paid if cluster.free_slots else paid[paid["node"].isin(nodes)]


def with_machines(frame: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return a frame that has a column ``vm_type`` with the GPU type and the GPUs of those machines.

    ``vm_gpus`` are cores (memory) where those count; a machine without GPUs is of type "CPU" there.
    """
    kinds = {vm.name: vm for vm in scenario.cluster.vm_types}
    named, of_gpus = frame["vm_type"], is_of_gpus(scenario)
    sizes = {name: float(vm_capacity(vm)[counted_of_vm(vm, scenario.counted)]) for name, vm in kinds.items()}
    types = {name: vm.gpu_type if vm.gpus or of_gpus else "CPU" for name, vm in kinds.items()}
    codes, known = pd.factorize(named)  # code -1, an unknown name, takes what stands last
    gpu_types = np.array([*(types.get(name, "") for name in known), ""], dtype=object)
    vm_gpus = np.array([*(sizes.get(name, np.nan) for name in known), np.nan])
    return frame.assign(gpu_type=pd.Series(gpu_types[codes], frame.index, dtype=object), vm_gpus=vm_gpus[codes])


def vm_types(pieces: pd.DataFrame, scenario: Scenario, stays: pd.DataFrame) -> pd.Series:
    """Return the VM type of each piece: its node's, or what the free slot was then.

    ``stays`` as metrics.tables.nodes_of.
    """
    if not scenario.cluster.free_slots:
        names = np.array([vm.name for vm in scenario.cluster.vm_types], dtype=object)
        return pd.Series(names[scenario.cluster.nodes.vm[pieces["node"].to_numpy()]], pieces.index, dtype=object)
    opened = stays[["node", "start_s", "vm_type"]].sort_values("start_s", kind="stable")
    begun = pieces[["node", "start_s"]].reset_index().sort_values("start_s", kind="stable")
    found = pd.merge_asof(begun, opened, on="start_s", by="node").set_index("index")["vm_type"]
    return found.reindex(pieces.index).fillna("")


@shared
def groups(run_id: str, by: str) -> tuple[str, ...]:
    """Return the largest groups of the whole run, so that a user keeps its colour when the window moves.

    Machine types are those of the cluster, so that they keep their colour in all runs.
    """
    if by in MACHINES:
        scenario = scenario_of(run_id)
        kinds = sorted(set(with_machines(_names_of(scenario), scenario)[by]))
        if len(kinds) <= MOST_MACHINES:
            return tuple(kinds)
    return top_groups(of_headline(segments(run_id), scenario_of(run_id)), by)


def _names_of(scenario: Scenario) -> pd.DataFrame:
    return pd.DataFrame({"vm_type": [vm.name for vm in scenario.cluster.vm_types]}, dtype=object)


@shared
def groupings(run_id: str, names: tuple[str, ...] = ("job_class", "user", "group", *MACHINES)) -> tuple[str, ...]:
    """Return which of these columns differ between the run's pieces."""
    pieces = segments(run_id)
    return tuple(name for name in names if name in pieces and (pieces[name] != pieces[name].iloc[0]).any())


@shared
def series(run_id: str) -> pd.DataFrame:
    """Return the run's series over time, as metrics.tables.series_of."""
    return store().series(run_id)


def absences(run_id: str, scenario: Scenario) -> pd.DataFrame:
    """Return the times nodes are away: node, start_s, end_s (infinite = for good); rented nodes while not rented."""
    cluster = scenario.cluster
    rows = [(absence.node, absence.start_s, absence.until_s) for absence in cluster.absences]
    if cluster.rents_nodes:
        since_s = {node: 0.0 for pool in cluster.rented_pools for node in cluster.nodes_of(pool)}
        paid = stays(run_id).sort_values("start_s", kind="stable")
        for node, start_s, end_s in zip(paid["node"], paid["start_s"], paid["end_s"], strict=True):
            if node in since_s:
                rows.append((int(node), since_s[node], float(start_s)))
                since_s[node] = float(end_s)
        rows += [(node, from_s, np.inf) for node, from_s in since_s.items()]
    return pd.DataFrame(rows, columns=["node", "start_s", "end_s"]).astype(
        {"node": "int64", "start_s": float, "end_s": float}
    )
