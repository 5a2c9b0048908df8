"""Reading a plan: each allocation becomes a checked change of what one row holds and reserves."""

from __future__ import annotations

from typing import NamedTuple

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Allocation, Share, Step
from dlsched.sim.event_queue import instant_s
from dlsched.sim.world import World, gang_width


class AllocationChange(NamedTuple):
    """What a row shall hold from now on: ``shares`` (empty = nothing), or None for ``workers`` on any nodes.

    ``future`` are dated steps to come. ``blocked`` is what it blocks on the pool beyond its use. ``keeps_nodes``:
    only a width was given and it is the held one.
    """

    row: int
    workers: int
    shares: tuple[Share, ...] | None
    future: tuple[Step, ...]
    blocked: tuple[float, ...] | None
    keeps_nodes: bool


def read_change(world: World, row: int, allocation: Allocation, now_s: float) -> AllocationChange:
    """Return the change an allocation asks for; PlanError when it makes no sense for this row now."""
    if not 0 <= row < world.event_queue.submitted:
        raise PlanError(f"At {now_s:g} s: the plan names row {row}, which has not been submitted yet.")
    if not world.is_active(row):
        raise PlanError(f"At {now_s:g} s: the plan names job {world.jobs.job_id[row]!r}, which has ended.")
    if not allocation:
        return AllocationChange(row, 0, (), (), None, False)
    current: Step | None = allocation[0]
    future: tuple[Step, ...] = ()
    if len(allocation) > 1 or allocation[0].start_s is not None:  # most last until completion
        current, future = _split(world, row, allocation, now_s)
    for step in allocation:
        _check_step(world, row, step, now_s)
    if current is None or current.workers == 0:
        return AllocationChange(row, 0, (), future, None, False)
    shares = current.shares
    keeps = shares is None and (current.workers, _servers(world, row, current)) == world.width(row)
    if keeps:
        shares = world.held[row]
    return AllocationChange(row, current.workers, shares, future, _blocked(world, row, current, now_s), keeps)


def _split(world: World, row: int, steps: Allocation, now_s: float) -> tuple[Step | None, tuple[Step, ...]]:
    """Return the step that holds now, if any, and the steps to come."""
    tolerance_s = instant_s(now_s)
    last_s = now_s - tolerance_s
    for number, step in enumerate(steps):
        start_s = now_s if step.start_s is None and number == 0 else step.start_s
        if start_s is None or start_s < last_s or (number > 0 and start_s == last_s):
            raise PlanError(
                f"At {now_s:g} s: the steps of job {world.jobs.job_id[row]!r} must start now or later, each after the "
                f"one before; step {number + 1} starts at {step.start_s}."
            )
        last_s = start_s
    if steps[0].start_s is None or steps[0].start_s <= now_s + tolerance_s:
        return steps[0], steps[1:]
    return None, steps


def _check_step(world: World, row: int, step: Step, now_s: float) -> None:
    """Raise PlanError when width and shares disagree, a node does not exist, or the width is not legal."""
    if step.workers == 0 and not step.shares and not step.servers:
        return
    if step.shares is not None:
        if gang_width(step.shares) != (step.workers, step.servers):
            held = gang_width(step.shares)
            raise PlanError(f"{_job(world, row, now_s)}: the shares hold {held}, not {step.workers, step.servers}.")
        num_nodes = len(world.nodes.vm)
        for share in step.shares:
            if not 0 <= share.node < num_nodes:
                job = _job(world, row, now_s)
                raise PlanError(f"{job}: there is no node {share.node}; the last one is {num_nodes - 1}.")
            if share.workers < 0 or share.servers < 0 or share.workers + share.servers == 0:
                job = _job(world, row, now_s)
                raise PlanError(f"{job}: a share of {share.workers} workers on node {share.node} holds nothing.")
        if len(step.shares) > 1 and len({share.node for share in step.shares}) < len(step.shares):
            raise PlanError(f"{_job(world, row, now_s)}: two shares on one node.")
    elif step.servers:
        job = _job(world, row, now_s)
        raise PlanError(f"{job}: a number of workers brings its own servers; name the shares for any other number.")
    servers = _servers(world, row, step)
    if not world.speed.legal(row, step.workers, servers):
        smallest, largest = (limit[row] for limit in world.speed.limits())
        job, beside = _job(world, row, now_s), f" and {servers} servers" if servers else ""
        raise PlanError(f"{job} cannot run with {step.workers} workers{beside}; allowed are {smallest} to {largest}.")


def _job(world: World, row: int, now_s: float) -> str:
    """Return how a message begins; plans are long, so only those that are wrong pay for it."""
    return f"At {now_s:g} s: job {world.jobs.job_id[row]!r}"


def _servers(world: World, row: int, step: Step) -> int:
    """Return the servers of a step; a width without shares brings those that go with it."""
    return step.servers if step.shares is not None else world.room.site.asks.servers_for(row, step.workers)


def _blocked(world: World, row: int, step: Step, now_s: float) -> tuple[float, ...] | None:
    if step.reserve is None:
        return None
    if world.options.placement != "pool":
        raise PlanError(f"At {now_s:g} s: job {world.jobs.job_id[row]!r} blocks more than it uses without a pool.")
    used = world.room.site.asks.held(row, Share(0, step.workers, _servers(world, row, step)))
    return tuple(max(0.0, limit - amount) for limit, amount in zip(step.reserve, used, strict=True))
