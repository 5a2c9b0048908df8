"""``simulate``: read, run, audit, print, and keep when asked to."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from dlsched.cli.output import clear_line, print_json, print_metrics, printable, progress_line
from dlsched.cli.reading import loaded
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.plan import REASON_TEXT, WaitReason
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry
from dlsched.sim.log import JobStatus
from dlsched.studies.simulation import Run, resolve_policy, simulate, timed
from dlsched.wording.counted import counted_of, room_words
from dlsched.wording.formats import Kind, amount, as_cell
from dlsched.wording.typed import NotRead, read


def run(options: Namespace) -> int:
    """Carry out the command; 1 when the audit found a violation."""
    params = parse_params(options.param)
    registry.find(options.policy)  # a wrong name should not cost the reading of a large trace
    cpu_s: dict[str, float] = {}
    with timed(cpu_s, "read"):
        scenario = with_options(loaded(options), options)
    resolve_policy(scenario, options.policy, params)
    with ExitStack() as stack:
        store = None
        if options.save:
            from dlsched.cli.store import open_store

            store = stack.enter_context(open_store(options.store))  # before the run: it may be refused
        one_off = store is None  # what is kept must not depend on what computed it: only the engine times decisions
        done = simulate(scenario, options.policy, params, options.seed, progress_line(options.json), one_off=one_off)
        answer = summary(done, cpu_s)
        if options.jobs:
            write_jobs(done, Path(options.jobs))
        if store is not None:
            answer["run_id"] = store.save_run(done.record())
    _show(done, answer, options)
    if answer["audit"]:
        print(f"dlsched: the audit found {amount(len(answer['audit']), 'violation')}", file=sys.stderr)
    return 1 if answer["audit"] else 0


def summary(done: Run, cpu_s: dict[str, float]) -> dict[str, Any]:
    """Return what ``--json`` prints; ``cpu_s`` holds the phases before the run."""
    metrics, audit = done.metrics, done.audit()  # first, because they add to cpu_s
    return {
        "metrics": metrics,
        "audit": audit,
        "read": done.read,
        "cpu_s": cpu_s | done.cpu_s,
        "policy": done.policy,
        "params": done.params,
        "seed": done.seed,
        "scenario_hash": done.scenario.content_hash,
        "oversize": done.prepared.oversize,
        "code_version": done.code_version,
        "plugin": done.plugin,
    }


JOB_COLUMNS = {
    "job_id": "job_id", "submit_s": "submit_s", "first_start_s": "start_s", "left_s": "end_s", "status": "status",
    "wait_s": "delay_s", "run_s": "run_s", "gpus": "gpus",
}  # fmt: skip
"""Columns of the table of jobs, and what they are called in the file: ``delay_s`` is from submission to first start."""
NAMES, GIVEN = ("user", "group", "job_class", "partition"), ("limit_s", "held_s", "recorded_start_s", "recorded_end_s")


def write_jobs(done: Run, path: Path) -> None:
    """Write a CSV with one row per job in order of submission; times in seconds from the start of the trace.

    Empty where a job never started or ended. A name that a spreadsheet would run as a formula gets a quote before it.
    InputError if the file cannot be written.
    """
    jobs = done.prepared.scenario.workload
    table = done.jobs[[*JOB_COLUMNS]].rename(columns=JOB_COLUMNS)
    for name in (*NAMES, *GIVEN):
        if (values := getattr(jobs, name)) is not None:
            table[name] = values
    for name in {"job_id", *NAMES} & set(table.columns):
        table[name] = [as_cell(text) for text in table[name]]
    try:
        table.to_csv(path, index=False)
    except OSError as error:
        raise InputError(f"file {path}", f"it cannot be written: {error.strerror}", "Check the folder") from None


def parse_params(given: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of ``K=V`` texts; lists, objects and null are JSON, the rest the model of the policy reads.

    Times and money may be typed as the app prints them: ``quantum_s=1 d 12 h``.

    Raises
    ------
    InputError
        If one has no "=", is given twice, or is broken JSON.
    """
    params: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"--param {text}", "is not of the form K=V", "Write it as in --param quantum_s=60")
        if key in params:
            raise InputError(f"--param {text}", f"{key} is given twice", "Give it once")
        try:
            params[key] = json.loads(value) if value == "null" or value[:1] in ("[", "{") else _as_shown(key, value)
        except ValueError as error:
            raise InputError(f"--param {text}", f"the value is not valid JSON ({error})", "Correct it") from error
    return params


def _as_shown(key: str, value: str) -> float | str:
    """Return a time in seconds or money in dollars, by the ending of its name; any other text as it is."""
    kind: Kind | None = "duration" if key.endswith("_s") else "usd" if key.endswith("_usd") else None
    with suppress(NotRead):
        return value if kind is None else read(kind, value, "s")
    return value


def with_options(scenario: Scenario, options: Namespace) -> Scenario:
    """Return the scenario with the cluster, prices and rules that were typed."""
    cluster = with_prices(with_nodes(scenario.cluster, options.nodes, options.gpus_per_node), options.price)
    changes = {name: getattr(options, name) for name in ("placement", "oversize", "limits") if getattr(options, name)}
    return scenario.replace(cluster=cluster, options=scenario.options.model_copy(update=changes))


def with_nodes(cluster: Cluster, nodes: int | None, gpus: int | None) -> Cluster:
    """Return a cluster of ``nodes`` equal nodes with ``gpus`` each; what is None stays as it is.

    Raises
    ------
    InputError
        If only one of the two is given and the cluster has several node types, or a number is out of range.
    """
    if nodes is None and gpus is None:
        return cluster
    both = nodes is not None and gpus is not None
    if not both and len(cluster.pools) != 1:
        raise InputError(
            "--nodes and --gpus-per-node",
            "only one of them is given, but the cluster has several node types",
            "Give both",
        )
    kept = {} if both else dict(cluster.pools[0])
    if nodes is not None:
        kept["count"] = nodes
    try:
        if gpus is not None:
            kept["vm"] = VmType(name=f"{gpus}-GPU node", gpus=gpus)
        return Cluster(pools=(Pool(**kept),), scaling=cluster.scaling if kept.get("terms") else None)
    except ValidationError as error:
        raise from_validation("--nodes and --gpus-per-node", error) from error


def with_prices(cluster: Cluster, usd_per_h: float | None) -> Cluster:
    """Return the cluster with this price for every node."""
    if usd_per_h is None:
        return cluster
    price = {"usd_per_h": usd_per_h}
    pools = tuple(pool.model_copy(update={"vm": pool.vm.model_copy(update=price)}) for pool in cluster.pools)
    catalogue = tuple(vm.model_copy(update=price) for vm in cluster.catalogue)
    return cluster.model_copy(update={"pools": pools, "catalogue": catalogue})


def _show_left(done: Run) -> None:
    """Say why jobs still wait where a run ended because nothing could happen any more."""
    log = done.log
    said = dict(zip(log.wait_row.tolist(), log.wait_reason.tolist(), strict=True))
    left = np.flatnonzero(log.job_status == JobStatus.UNFINISHED).tolist() if log.stalled else []
    for reason, number in Counter(said.get(row, WaitReason.NOT_RECORDED) for row in left).most_common():
        print(f"{amount(number, 'job')} left waiting: {REASON_TEXT[WaitReason(reason)]}")


def _show(done: Run, answer: dict[str, Any], options: Namespace) -> None:
    if options.json:
        print_json(answer)
        return
    clear_line()
    cluster, read, cut = done.prepared.scenario.cluster, done.read, done.prepared.oversize
    label = registry.find(done.policy).label
    counted = counted_of(done.prepared.scenario)
    fixed = ", ".join(filter(None, (amount(cluster.num_nodes, "node"), room_words(cluster, counted))))
    if rented := sum(cluster.pools[number].count for number in cluster.rented_pools):
        fixed += f", up to {rented:,} of them rented"
    size = f"up to {amount(cluster.slots, 'rented machine')}" if cluster.free_slots else fixed
    print(f"{printable(done.scenario.name)}: {label} on {size}")
    print(
        f"read {read['rows']:,} rows: kept {read['kept']:,}, repaired {read['repaired']:,}, dropped {read['dropped']:,}"
    )
    if any(cut.values()):
        print(f"jobs that are too large: {cut['dropped']:,} dropped, {cut['capped']:,} reduced")
    remark = registry.find(done.policy).remark_on(dict(done.params), done.prepared.scenario)
    if remark:
        print(f"note: {remark}")
    print_metrics(answer["metrics"], counted)
    _show_left(done)
    print("audit: " + ("clean" if not answer["audit"] else amount(len(answer["audit"]), "violation")))
    for line in answer["audit"]:
        print(f"  {printable(line)}")
    if "run_id" in answer:
        print(f"saved as run {answer['run_id']}")
