"""A run with quotas once more, from its journal to the numbers of its queues."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dlsched.domain.columns import RESOURCES
from dlsched.domain.errors import InputError
from dlsched.domain.queue_lookup import QuotaClock, queues_of
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.journal_tables import QuotaTables
from dlsched.metrics.step_functions import accrued, sum_after, thin
from dlsched.policies.queue_tree.tree import AMOUNTS_PER_UNIT, Tree
from dlsched.studies.inspect.queues.answer import (
    CAUSE_OF,
    Band,
    Cause,
    OftenStopped,
    QueueNumbers,
    Queues,
    Stop,
    StoppedFor,
    jain_index,
)
from dlsched.studies.inspect.queues.record import by_queue
from dlsched.studies.inspect.queues.spec import QueuesSpec
from dlsched.studies.inspect.queues.states import States, states_of, waiting_of
from dlsched.studies.inspect.re_execute import check_scenario
from dlsched.studies.simulation import Progress, Run, simulate

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_POINTS = 240
MOST_BANDS = 40
MOST_STOPS = 300
MOST_OFTEN = 20
MOST_HOLDERS = 3


def run_queues(spec: QueuesSpec, scenario: Scenario, progress: Progress | None = None) -> Queues:
    """Return what a run says of its queues.

    Raises
    ------
    InputError
        If this is another scenario than the question names, it has no queues, or the policy cannot run it.
    """
    check_scenario(spec, scenario)
    return queues_of_run(simulate(scenario, spec.policy, spec.params, spec.seed, progress))


def queues_of_run(run: Run) -> Queues:
    """Return what a run says of its queues; InputError where its scenario has none."""
    scenario = run.prepared.scenario
    if scenario.queues is None:
        raise InputError(f"scenario {scenario.name!r}", "has no queues", "Add them on the page Cluster")
    tree, jobs = scenario.queues, scenario.workload
    tables = RunTables(run.journal, run.jobs, run.waits, queues_of(tree, jobs), float(run.log.end_s))
    return queues_of_tables(QuotaClock.of(tree, jobs), tables, run.scenario)


class RunTables(NamedTuple):
    """The tables of one run: journal, jobs and waits as :class:`Run` has them, the queue of each job, and the end."""

    journal: QuotaTables
    jobs: pd.DataFrame
    waits: pd.DataFrame
    queue: Sequence[str]
    end_s: float


class _Steps(NamedTuple):
    """A queue's quota of one resource over time, flavors added up: arrays over ``at_s``, the last one the end."""

    at_s: Floats
    lenders: Mapping[str, Floats]
    nominal: Floats
    used: Floats
    borrowed: Floats
    lent: Floats
    idle: Floats

    def hours(self, of: Floats) -> float:
        return float(of[:-1] @ np.diff(self.at_s)) / HOUR_S

    def quota_at(self, places: Ints) -> dict[str, Any]:
        """Return what a :class:`Band` says of the quota, at some of the times."""
        columns = {"nominal": self.nominal, "used": self.used, "borrowed": self.borrowed, "lent": self.lent}
        lenders = {lender: _plain(amount[places]) for lender, amount in self.lenders.items()}
        return {name: _plain(of[places]) for name, of in columns.items()} | {"lenders": lenders}


def queues_of_tables(clock: QuotaClock, run: RunTables, scenario: Scenario) -> Queues:
    """Return the numbers of all queues from the tables of a run; ``scenario`` is named in the answer."""
    tree = clock.tree
    resource = next(iter(tree.resources), RESOURCES[0])
    start_s = float(run.jobs["submit_s"].min()) if len(run.jobs) else 0.0
    end_s = max(run.end_s, start_s + 1.0)
    states = states_of(tree, clock, run.journal.holds, start_s, end_s)
    steps = {queue: _added(states, queue, resource) for queue in tree.tree}
    shares = _shares(tree, states)
    caused = run.journal.preemptions[run.journal.preemptions["stopped"].astype(bool)]
    holders = _holders(run, steps)
    of_queue = pd.Series(list(run.queue), dtype=object)
    first_wait = _first_waits(run)
    of_job_s = run.jobs["wait_s"].to_numpy(float)
    replayed = by_queue(scenario.workload, of_job_s, run.queue) if len(of_job_s) else {}
    numbers = []
    for queue, node in tree.tree.items():
        rows = np.flatnonzero((of_queue == queue).to_numpy())
        waits_s = of_job_s[rows]
        waits_s = waits_s[~np.isnan(waits_s)]
        measured, not_compared = replayed.get(queue, (None, 0))
        own, share = steps[queue], shares[queue]
        lost = caused[caused["queue"] == queue]
        numbers.append(
            QueueNumbers(
                queue=queue, parent=node.parent or "", weight=node.weight, jobs=len(rows), started=len(waits_s),
                wait_s=tuple(np.quantile(waits_s, QUANTILES, method="inverted_cdf").tolist()) if len(waits_s) else (),
                waited_s=first_wait.get(queue, {}),
                nominal_h=own.hours(own.nominal), used_h=own.hours(own.used), borrowed_h=own.hours(own.borrowed),
                lent_h=own.hours(own.lent), idle_h=own.hours(own.idle),
                stopped=len(lost), caused=int((caused["for_queue"] == queue).sum()),
                lost_h=float(lost["lost_gpu_s"].sum()) / HOUR_S,
                share=float(share[:-1] @ np.diff(states.at_s)) / (end_s - start_s), holders=holders.get(queue, ()),
                replayed=measured, not_compared=not_compared,
            )
        )  # fmt: skip
    with_jobs = [one for one in numbers if one.jobs]
    return Queues(
        scenario=scenario.content_hash,
        scenario_name=scenario.name,
        rule=tree.rule,
        fair_sharing=tree.fair_sharing,
        resource=resource,
        start_s=start_s,
        end_s=end_s,
        queues=tuple(numbers),
        bands=_bands(tree, numbers, states, steps, shares, run, resource, end_s),
        stopped_for=_stopped_for(caused),
        stops=_stops(caused),
        often=_often(caused),
        jain=jain_index([one.borrowed_h / one.weight for one in with_jobs if one.weight > 0]),
    )


# ---- quotas over time --------------------------------------------------------------------------------


def _added(states: States, queue: str, resource: str, flavor: str = "") -> _Steps:
    """Return a queue's quota of a resource over time, of one flavor or of all added up."""
    total, from_whom = np.zeros((5, len(states.at_s))), dict[str, Floats]()
    for (name, of, what), (nominal, used, lent, lenders) in states.of.items():
        if name == queue and what == resource and flavor in ("", of):
            borrowed = np.maximum(used - nominal, 0.0)
            idle = np.maximum(nominal - (used - borrowed) - lent, 0.0)
            total += [nominal, used, borrowed, lent, idle]
            for lender, amount in lenders.items():
                from_whom[lender] = from_whom.get(lender, 0.0) + amount
    return _Steps(states.at_s, from_whom, *total)


def _shares(tree: QueueTree, states: States) -> dict[str, Floats]:
    """Return the dominant resource share of each queue: borrowed over what its cohort could get, over its weight.

    What can be borrowed is that of the quotas at the start. A weight of 0 ranks above all others; its share is shown as
    0, as no number says it.
    """
    numbers = Tree.of(tree)
    found = {}
    for queue, node in tree.tree.items():
        share = np.zeros(len(states.at_s))
        for resource, amount in numbers.lendable[numbers.number[queue]].items():
            if amount > 0:
                borrowed = _added(states, queue, resource).borrowed
                share = np.maximum(share, borrowed * AMOUNTS_PER_UNIT / amount)
        found[queue] = share / node.weight if node.weight > 0 else 0.0 * share
    return found


def _bands(
    tree: QueueTree, numbers: Sequence[QueueNumbers], states: States, steps: Mapping[str, _Steps],
    shares: Mapping[str, Floats], run: RunTables, resource: str, end_s: float,
) -> tuple[Band, ...]:  # fmt: skip
    """Return the queues with the most use over time, together and by flavor, thinned for a picture."""
    flavors = [
        flavor for flavor in tree.flavors
        if any((quota.flavor, quota.resource) == (flavor, resource) for node in tree.tree.values()
               for quota in node.quota)
    ]  # fmt: skip
    each = 1 + (len(flavors) if len(flavors) > 1 else 0)
    most = sorted(numbers, key=lambda one: (-max(one.used_h, one.nominal_h), one.queue))[: max(MOST_BANDS // each, 1)]
    kept = {one.queue for one in most}
    queue_of = np.array(run.queue, dtype=object)
    rows, from_s, to_s = waiting_of(run.jobs, run.journal.holds, end_s)
    asked = run.jobs[resource].to_numpy(float) if resource in run.jobs else np.zeros(len(run.jobs))
    bands = []
    for queue in (name for name in tree.tree if name in kept):
        waits = queue_of[rows] == queue
        held = run.journal.holds
        held = held[(held["queue"] == queue) & (held["resource"] == resource)].drop_duplicates(["row", "from_s"])
        at_s = np.unique(np.concatenate([states.at_s, from_s[waits], to_s[waits]]))
        at_s = at_s[(at_s >= states.at_s[0]) & (at_s <= end_s)]
        place = np.searchsorted(states.at_s, at_s, side="right") - 1
        own = steps[queue]
        waiting, waiting_jobs = (
            _open_at(from_s[waits], to_s[waits], weight, at_s) for weight in (asked[rows[waits]], np.ones(waits.sum()))
        )
        running = _open_at(held["from_s"].to_numpy(float), held["to_s"].to_numpy(float), np.ones(len(held)), at_s)
        keep = thin(at_s, [own.used[place], own.lent[place], waiting], MOST_POINTS)
        bands.append(
            Band(
                queue=queue, flavor="", time_s=_plain(at_s[keep]), **own.quota_at(place[keep]),
                waiting=_plain(waiting[keep]), waiting_jobs=_plain(waiting_jobs[keep]),
                running_jobs=_plain(running[keep]), share=_plain(shares[queue][place][keep]),
            )
        )  # fmt: skip
        for flavor in flavors if len(flavors) > 1 else ():
            one = _added(states, queue, resource, flavor)
            keep = thin(one.at_s, [one.used, one.lent], MOST_POINTS)
            bands.append(Band(queue=queue, flavor=flavor, time_s=_plain(one.at_s[keep]), **one.quota_at(keep)))
    return tuple(bands)


def _plain(values: Floats) -> tuple[float, ...]:
    return tuple(np.asarray(values, dtype=float).tolist())


def _open_at(from_s: Floats, to_s: Floats, amount: Floats, at_s: Floats) -> Floats:
    """Return the sum of the amounts that are open at each time."""
    return np.asarray(np.round(sum_after(from_s, amount, at_s) - sum_after(to_s, amount, at_s), 6))


# ---- waits -------------------------------------------------------------------------------------------


def _first_waits(run: RunTables) -> dict[str, dict[Cause, float]]:
    """Return the seconds that jobs of each queue waited until their first start, by cause."""
    found: dict[str, dict[Cause, float]] = defaultdict(lambda: defaultdict(float))
    submit_s, start_s = (run.jobs[name].to_numpy(float) for name in ("submit_s", "first_start_s"))
    until_s = np.where(np.isnan(start_s), _left_or(run), start_s)
    told_s = np.zeros(len(submit_s))
    waits = run.waits
    rows = waits["row"].to_numpy(int)
    length_s = np.minimum(waits["to_s"].to_numpy(float), until_s[rows]) - waits["from_s"].to_numpy(float)
    for row, reason, seconds in zip(rows.tolist(), waits["reason"].tolist(), length_s.tolist(), strict=True):
        if seconds > 0:
            found[run.queue[row]][CAUSE_OF.get(reason, "other")] += seconds
            told_s[row] += seconds
    for row, rest_s in enumerate((until_s - submit_s - told_s).tolist()):
        if rest_s > 1e-6:
            found[run.queue[row]]["other"] += rest_s
    return {queue: dict(of) for queue, of in found.items()}


def _left_or(run: RunTables) -> Floats:
    left_s = run.jobs["left_s"].to_numpy(float)
    return np.where(np.isnan(left_s), run.end_s, left_s)


def _holders(run: RunTables, steps: Mapping[str, _Steps]) -> dict[str, tuple[str, ...]]:
    """Return who borrowed while jobs of a queue waited for quota that was lent, the largest borrower first."""
    lent = run.waits[run.waits["reason"].map(CAUSE_OF) == "lent"]
    queue_of = np.array(run.queue, dtype=object)
    found = {}
    for queue in dict.fromkeys(queue_of[lent["row"].to_numpy(int)].tolist()):
        spans = lent[queue_of[lent["row"].to_numpy(int)] == queue]
        from_s, to_s = spans["from_s"].to_numpy(float), spans["to_s"].to_numpy(float)
        borrowed = {}
        for other, own in steps.items():
            if other != queue and own.borrowed.any():
                grown = own.borrowed[:-1] * np.diff(own.at_s)
                of = [accrued(own.at_s[:-1], own.at_s[1:], grown, at) for at in (from_s, to_s)]
                borrowed[other] = float((of[1] - of[0]).sum())
        ranked = sorted((name for name in borrowed if borrowed[name] > 0), key=lambda name: -borrowed[name])
        found[queue] = tuple(ranked[:MOST_HOLDERS])
    return found


# ---- stopped jobs ------------------------------------------------------------------------------------


def _stopped_for(caused: pd.DataFrame) -> tuple[StoppedFor, ...]:
    jobs, lost_s = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in caused.to_dict("records"):
        jobs[row["queue"], row["for_queue"]] += 1
        lost_s[row["queue"], row["for_queue"]] += row["lost_gpu_s"]
    return tuple(
        StoppedFor(queue=queue, for_queue=other, jobs=count, lost_h=lost_s[queue, other] / HOUR_S)
        for (queue, other), count in jobs.items()
    )


def _stops(caused: pd.DataFrame) -> tuple[Stop, ...]:
    by_loss = caused["lost_gpu_s"].astype(float).sort_values(ascending=False, kind="stable").index
    shown = caused.loc[by_loss[:MOST_STOPS]].sort_values("told_s", kind="stable")
    return tuple(
        Stop(
            time_s=float(row["told_s"]), job=str(row["job_id"]), queue=row["queue"], for_job=str(row["for_job_id"]),
            for_queue=row["for_queue"], reason=row["reason"], lost_h=float(row["lost_gpu_s"]) / HOUR_S,
            earlier=int(row["earlier"]),
        )
        for row in shown.to_dict("records")
    )  # fmt: skip


def _often(caused: pd.DataFrame) -> tuple[OftenStopped, ...]:
    times, lost_s = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in caused.to_dict("records"):
        key = (str(row["job_id"]), str(row["queue"]))
        times[key] += 1
        lost_s[key] += row["lost_gpu_s"]
    ranked = sorted(times, key=lambda key: (-times[key], -lost_s[key], key))
    return tuple(
        OftenStopped(job=job, queue=queue, times=times[job, queue], lost_h=lost_s[job, queue] / HOUR_S)
        for job, queue in ranked[:MOST_OFTEN]
    )
