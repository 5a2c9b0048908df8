"""One instant: what has happened, the period of priorities, then the passes that are due.

:func:`step` is for compiled callers, ``advance`` is kept in numba's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import from_dtype, njit, types

from dlsched.domain import plan
from dlsched.domain.fingerprint import fingerprint
from dlsched.domain.plan import WaitReason
from dlsched.policies.slurm.kernels import tables
from dlsched.policies.slurm.kernels.backfill import VALID_TO, backfill_pass, last_candidate
from dlsched.policies.slurm.kernels.compiled import OPTIONS, compiled
from dlsched.policies.slurm.kernels.fairness import renew
from dlsched.policies.slurm.kernels.life import (
    BACKFILL_DIRTY,
    MAIN_DIRTY,
    QUEUE,
    RUNNING,
    STARTED,
    add_use,
    beyond_limit,
    enqueue,
    hours_closed,
    leave,
    over_limit,
    sort_queue,
    stir,
    stop,
    tidy_queue,
)
from dlsched.policies.slurm.kernels.main_pass import PASSES, RESERVATIONS, STOPPED, main_pass, try_alone
from dlsched.policies.slurm.kernels.placing import FREE, has_room
from dlsched.policies.slurm.kernels.priority import age_factor, priority_of
from dlsched.policies.slurm.kernels.tables import NOT_SAID, Clock, Core, Count, Ints, State

TOLD, ASSOCS, STAMP, FAIR_STALE = int(Count.TOLD), int(Count.ASSOCS), int(Count.STAMP), int(Count.FAIR_STALE)
PERIOD, LAST_MAIN, QUICK, FULL = int(Clock.PERIOD), int(Clock.LAST_MAIN), int(Clock.QUICK), int(Clock.FULL)
BACKFILL, ELIGIBLE, HOUR = int(Clock.BACKFILL), int(Clock.ELIGIBLE), int(Clock.HOUR)
RESERVATION = int(Clock.RESERVATION)
RUNS, GONE = int(State.RUNNING), int(State.GONE)
ALL = 2**62
HOUR_S = 3600.0
ROOM = 1e-9
REQUEUED_S = 121.0
"""A job that is put back into the queue becomes eligible so much later."""
_NO_ROOM, _SPLIT, _NO_NODE = int(WaitReason.NO_ROOM), int(WaitReason.SPLIT), int(WaitReason.NO_NODE)
_RESERVED, _HELD_BACK = int(WaitReason.RESERVED), int(WaitReason.HELD_BACK)
_OVER_LIMIT, _HOURS, _PREEMPTED = int(WaitReason.OVER_LIMIT), int(WaitReason.HOURS), int(WaitReason.PREEMPTED)
_BEYOND_LIMIT = int(WaitReason.BEYOND_LIMIT)


@compiled
def step(core: Core, now: float, ended: Ints, lost: Ints, gone: Ints, back: Ints, arrived: Ints) -> float:
    """Take in what has happened by ``now`` and decide; return when to decide next besides events.

    ``ended``, ``lost`` (they run no longer and wait again, with a new limit) and ``arrived``: rows in ascending order;
    ``gone`` and ``back``: nodes. The answer is in ``started``, ``stopped`` and ``told``.
    """
    core.counts[STARTED] = core.counts[STOPPED] = core.counts[TOLD] = core.counts[PASSES] = 0
    core.counts[STAMP] += 1
    _catch_up(core, now)
    for row in ended:
        leave(core, row, now)
    for row in lost:
        stop(core, row, now)
        _requeue(core, row, now)
    for node in gone:
        core.up[node] = 0
        for resource in range(core.free.shape[1]):
            core.free[node, resource] = 0.0
    for node in back:
        core.up[node] = 1
        for resource in range(core.free.shape[1]):
            core.free[node, resource] = core.capacity[node, resource]
    if len(ended) + len(lost) + len(gone) + len(back) > 0:
        core.counts[FREE] += 1
        stir(core)
        tidy_queue(core)
    for row in arrived:
        _arrive(core, row, now)
    if len(ended) + len(lost) + len(back) + len(arrived) > 0:
        _call_main(core, now)
    _decide(core, now)
    return _next_wake(core, now)


# ---- priorities -------------------------------------------------------------------------------------------


@compiled
def last_step(now: float, from_s: float, every_s: float) -> float:
    """Return which point of a grid, from_s + step * every_s, is the last that is not after now.

    The quotient may be rounded to either side of a whole number. A point missed that way would be due for ever.
    """
    step = np.floor((now - from_s) / every_s)
    while from_s + step * every_s > now:
        step -= 1
    while from_s + (step + 1) * every_s <= now:
        step += 1
    return step


@compiled
def _grid(now: float, from_s: float, every_s: float) -> float:
    """Return the last point of a grid that is not after now."""
    return from_s + last_step(now, from_s, every_s) * every_s


@compiled
def _after(time_s: float, now: float, from_s: float, every_s: float) -> float:
    """Return the first point of a grid that is after now and not before ``time_s``; never if that is never."""
    if time_s == np.inf:
        return np.inf
    steps = np.ceil((max(time_s, now) - from_s) / every_s)
    while from_s + steps * every_s <= now or from_s + steps * every_s < time_s:
        steps += 1
    return from_s + steps * every_s


@compiled
def _catch_up(core: Core, now: float) -> None:
    """Handle the periods before now; also passes that were due and could not have changed a thing."""
    if core.clock[QUICK] < now:
        core.clock[LAST_MAIN], core.clock[QUICK] = core.clock[QUICK], np.inf
    if core.clock[PERIOD] == -np.inf:
        core.clock[PERIOD] = _grid(now, core.rule[0].from_s, core.rule[0].period_s)
    _periods(core, now, True)


@compiled
def _periods(core: Core, now: float, before: bool) -> None:
    """Handle the periods up to now, or only those before: use fades and is added up, then priorities are renewed."""
    rule, any_period = core.rule[0], False
    while True:
        due = _after(core.clock[PERIOD], core.clock[PERIOD], rule.from_s, rule.period_s)
        if due > now or (before and due == now):
            break
        any_period = True
        if rule.weight_fairshare > 0:
            _renew_use(core, due)
            core.clock[PERIOD] = due
        else:
            step = last_step(now, rule.from_s, rule.period_s)
            if before and rule.from_s + step * rule.period_s == now:
                step -= 1
            core.clock[PERIOD] = rule.from_s + step * rule.period_s
    if any_period and rule.in_order == 0 and core.counts[QUEUE] > 0:
        for place in range(core.counts[QUEUE]):
            _set_priority(core, core.queue[place], core.clock[PERIOD])
        if sort_queue(core):
            stir(core)


@compiled
def _renew_use(core: Core, due: float) -> None:
    """Let use fade and add that of running jobs; the classic factors see use before the latter."""
    faded = core.rule[0].decay ** (due - core.clock[PERIOD])
    for one in range(core.counts[ASSOCS]):
        core.assocs[one].usage *= faded
        core.assocs[one].seen = core.assocs[one].usage
    for place in range(core.counts[RUNNING]):
        add_use(core, core.running[place], due)
    if core.rule[0].classic == 0:
        for one in range(core.counts[ASSOCS]):
            core.assocs[one].seen = core.assocs[one].usage
    core.counts[FAIR_STALE] = 1


@compiled
def _set_priority(core: Core, row: int, at_s: float) -> None:
    job, rule = core.jobs[row], core.rule[0]
    if rule.in_order == 1:
        job.priority = 1.0
        return
    if rule.weight_fairshare > 0 and core.counts[FAIR_STALE] == 1:
        _renew_factors(core)
    fair = core.assocs[job.assoc].factor * rule.weight_fairshare
    age = age_factor(at_s - job.eligible_s, rule.max_age_s) * rule.weight_age
    job.priority = priority_of(job.weighted + age + fair, 0.0)


@compiled
def _renew_factors(core: Core) -> None:
    count, assocs = core.counts[ASSOCS], core.assocs
    damping = core.rule[0].damping if core.rule[0].classic == 1 else 0.0
    renew(
        assocs["parent"][:count], assocs["shares"][:count], assocs["seen"][:count], assocs["active"][:count],
        assocs["is_user"][:count], damping, assocs["factor"][:count],
    )  # fmt: skip
    core.counts[FAIR_STALE] = 0


# ---- arrivals, and jobs that come back ----------------------------------------------------------------------


@compiled
def _arrive(core: Core, row: int, now: float) -> None:
    one = core.jobs[row].assoc
    while one > 0 and core.assocs[one].active == 0:
        core.assocs[one].active = 1
        core.counts[FAIR_STALE] = 1
        one = core.assocs[one].parent
    _set_priority(core, row, now)
    enqueue(core, row)
    if core.rule[0].tries_at_once:
        try_alone(core, row, now)
        tidy_queue(core)


@compiled
def _requeue(core: Core, row: int, now: float) -> None:
    """A stopped job waits again as if it were submitted now."""
    job = core.jobs[row]
    job.submit_s, job.eligible_s, job.reason, job.stopped = now, now + REQUEUED_S, NOT_SAID, 1
    _set_priority(core, row, now)
    enqueue(core, row)


# ---- passes -------------------------------------------------------------------------------------------------


@compiled
def _call_main(core: Core, now: float) -> None:
    """Make a main pass due, as soon as the last one is long enough ago."""
    last = max(core.clock[LAST_MAIN], _grid(now, core.rule[0].from_s, core.rule[0].main_every_s))
    core.clock[QUICK] = min(core.clock[QUICK], max(now, last + core.rule[0].main_delay_s))


@compiled
def _decide(core: Core, now: float) -> None:
    """Make the passes that are due: period of priorities, main pass, backfill."""
    _periods(core, now, False)
    clock, counts = core.clock, core.counts
    if clock[ELIGIBLE] <= now:
        stir(core)
        _call_main(core, now)
    if clock[HOUR] <= now or clock[RESERVATION] <= now:
        stir(core)
    if clock[FULL] <= now or (counts[MAIN_DIRTY] and _grid(now, core.rule[0].from_s, core.rule[0].main_every_s) == now):
        clock[LAST_MAIN], clock[QUICK] = now, np.inf
        if counts[MAIN_DIRTY]:
            main_pass(core, now, ALL)
    elif clock[QUICK] <= now:
        clock[LAST_MAIN], clock[QUICK] = now, np.inf
        if counts[MAIN_DIRTY]:
            main_pass(core, now, core.rule[0].main_depth)
    rule = core.rule[0]
    on_time = counts[BACKFILL_DIRTY] and _grid(now, rule.backfill_from_s, rule.backfill_s) == now  # after an event
    if clock[BACKFILL] <= now or (rule.backfills and on_time):
        backfill_pass(core, now)
    for k in range(counts[STOPPED]):
        _requeue(core, core.stopped[k], now)


@compiled
def _next_wake(core: Core, now: float) -> float:
    """Say why jobs wait; return when something can change without an event."""
    clock, counts, rule = core.clock, core.counts, core.rule[0]
    clock[ELIGIBLE] = clock[HOUR] = clock[RESERVATION] = clock[FULL] = clock[BACKFILL] = np.inf
    if counts[QUEUE] == 0:
        return np.inf
    _explain(core, now)
    for place in range(counts[QUEUE]):
        row = core.queue[place]
        if core.jobs[row].eligible_s > now:
            clock[ELIGIBLE] = min(clock[ELIGIBLE], core.jobs[row].eligible_s)
        if hours_closed(core, row, now):
            clock[HOUR] = _after(now, now, rule.monday_s, HOUR_S)
    for number in range(counts[RESERVATIONS]):
        if core.reservations[number].end_s > now:
            clock[RESERVATION] = min(clock[RESERVATION], core.reservations[number].end_s)
    wake = min(clock[ELIGIBLE], clock[HOUR], clock[RESERVATION])
    if last_candidate(core, now, counts[QUEUE]) < 0:
        if rule.preempts > 0:
            return min(wake, clock[QUICK])
        return wake
    if counts[MAIN_DIRTY]:
        clock[FULL] = _after(now, now, rule.from_s, rule.main_every_s)
    if rule.backfills:
        valid_to = now if counts[BACKFILL_DIRTY] else clock[VALID_TO]
        clock[BACKFILL] = _after(valid_to, now, rule.backfill_from_s, rule.backfill_s)
    wake = min(wake, clock[QUICK], clock[FULL], clock[BACKFILL])
    if rule.in_order == 0 and counts[QUEUE] > 1:
        wake = min(wake, _after(now, now, rule.from_s, rule.period_s))
    return wake


@compiled
def _explain(core: Core, now: float) -> None:
    """Tell jobs why they wait: all after a pass, else those that have not been told."""
    everyone = core.counts[PASSES] > 0
    for place in range(core.counts[QUEUE]):
        row = core.queue[place]
        job = core.jobs[row]
        if not everyone and job.reason != NOT_SAID:
            continue
        reason = _reason(core, row, now)
        if job.reason != reason:
            job.reason = reason
            core.told[core.counts[TOLD]] = row
            core.counts[TOLD] += 1


@compiled
def _reason(core: Core, row: int, now: float) -> int:
    if over_limit(core, row):
        return _BEYOND_LIMIT if beyond_limit(core, row) else _OVER_LIMIT
    if hours_closed(core, row, now):
        return _HOURS
    job = core.jobs[row]
    kind = core.kinds[job.kind]
    if kind.stamp != core.counts[STAMP]:
        kind.stamp, kind.reason = core.counts[STAMP], _reason_of_kind(core, job.kind)
    if kind.reason == _RESERVED:
        return _HELD_BACK if core.counts[MAIN_DIRTY] or job.eligible_s > now else _RESERVED
    return _PREEMPTED if kind.reason == _NO_ROOM and job.stopped else kind.reason


@compiled
def _reason_of_kind(core: Core, number: int) -> int:
    """Return why jobs of a kind wait, judged by what is free on the nodes they may use."""
    if has_room(core, number):
        return _RESERVED
    kind, any_node = core.kinds[number], False
    for node in range(len(core.up)):
        any_node = any_node or core.claims[kind.claim, node] & core.up[node] == 1
    if not any_node:
        return _NO_NODE
    for resource in range(core.demand.shape[1]):
        missing = core.demand[number, resource] * kind.units
        for node in range(len(core.up)):
            if core.claims[kind.claim, node] & core.up[node]:
                missing -= core.free[node, resource]
        if core.demand[number, resource] > 0 and missing > ROOM:
            return _NO_ROOM
    return _SPLIT


# ---- the function that is kept ------------------------------------------------------------------------------


def core_types() -> list[Any]:
    """Return the numba types of the arrays, in the order of Core."""
    records = {
        "jobs": tables.JOB, "kinds": tables.KIND, "assocs": tables.ASSOC, "reservations": tables.RESERVATION,
        "slots": tables.SLOT, "rule": tables.RULE,
    }  # fmt: skip
    floats = ("demand", "amounts", "free", "capacity", "used", "caps", "future", "trial", "ready")
    bytes_ = ("claims", "partitions", "reserved", "reserved_for", "closed", "may_stop", "slot_free")
    lines: dict[str, Any] = {"clock": types.float64}
    lines |= dict.fromkeys(("up", "mask", "shut", "allowed", "shut_partitions"), types.uint8)
    kinds: dict[str, Any] = dict.fromkeys(floats, types.float64) | dict.fromkeys(bytes_, types.uint8)
    kinds |= dict.fromkeys(("by_user", "ready_of"), types.int64)
    return [
        types.Array(kinds[name], 2, "C")
        if name in kinds
        else types.Array(from_dtype(records[name]) if name in records else lines.get(name, types.int64), 1, "C")
        for name in Core._fields
    ]


def sources() -> list[Path]:
    """Return the source files of the passes, and of the codes they write."""
    return [*Path(__file__).parent.glob("*.py"), Path(str(plan.__file__))]


def _compile(stamp: int) -> Callable[..., float]:
    line = types.Array(types.int64, 1, "C")

    # arrays one by one: a tuple with record arrays takes numba a millisecond to recognise at each call
    @njit(types.float64(*core_types(), types.float64, line, line, line, line, line), cache=True, **OPTIONS)
    def advance(  # type: ignore[no-untyped-def]
        jobs, kinds, demand, amounts, claims, partitions, free, capacity, up, order, leaf, share_node,
        share_units, queue, running, used, caps, limits_of, assocs, reservations, reserved, reserved_for,
        closed, may_stop, slots, slot_free, rule, counts, clock, started, stopped, told, mask, shut,
        allowed, shut_partitions, by_partition, by_user, future, trial, deaths, pick, pick_units, by_leaf,
        ready, ready_of, now, ended, lost, gone, back, arrived,
    ):  # fmt: skip
        if stamp < 0:
            return 0.0
        core = Core(
            jobs, kinds, demand, amounts, claims, partitions, free, capacity, up, order, leaf, share_node,
            share_units, queue, running, used, caps, limits_of, assocs, reservations, reserved, reserved_for,
            closed, may_stop, slots, slot_free, rule, counts, clock, started, stopped, told, mask, shut,
            allowed, shut_partitions, by_partition, by_user, future, trial, deaths, pick, pick_units, by_leaf,
            ready, ready_of,
        )  # fmt: skip
        return step(core, now, ended, lost, gone, back, arrived)

    return advance


advance = _compile(fingerprint(sources()))
"""``advance(*core, now, ended, lost, gone, back, arrived)``: see :func:`step`."""
