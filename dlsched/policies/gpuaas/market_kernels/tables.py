"""The arrays the compiled Market works on. No numba here."""

from __future__ import annotations

from typing import NamedTuple

from dlsched.domain.workload import Floats, Ints

CLOSED, SHUT = -1, -2
"""No GPU type: a node that may be opened, and one that may not."""


class Rules(NamedTuple):
    """Settings of one decision: see :class:`dlsched.policies.gpuaas.market.MarketSettings`.

    ``spare``: time that a job must have left to be held back.
    """

    mixing: bool
    later_price: float
    wait: float
    steps: int
    spare: float


class Market(NamedTuple):
    """A rescheduling point with J jobs, N nodes, F GPU types and up to C configurations of a job.

    The problem: ``times`` (J, F, G), infinite where no node could hold it; ``slack``, ``weight`` (J,);
    ``runs`` (J,) whether a job holds GPUs now;
    ``price``, ``most`` (F,) per GPU, and GPUs of the largest node; ``fixed`` (F,) GPUs of nodes that stay;
    ``vm_gpus``, ``bill`` (F, G) GPUs and price of the machine that holds g+1;
    ``room`` (N,) GPUs of nodes that stay, 0 = free to choose, -1 = must remain closed.
    Configurations worth considering, fastest first: ``time``, ``gpus``, ``family`` (J, C), ``num_configs`` (J,).
    What a job does at the prices ``extra`` (F,): ``choice`` (J,) configuration, -1 = it waits; if it runs, ``now``
    and ``later`` (J,), -1 = it never changes; ``span`` (J,) time until then; ``run_cost``, ``wait_cost`` (J,).
    ``at_low``, ``at_high`` (J,) are the choices at the ends of the bracket, ``demand`` (F,) the GPUs asked for;
    ``unsure`` (J,) lists jobs in between; ``is_short`` (1,) whether any price is above 0.
    The schedule: ``node``, ``held`` (J,) GPUs; ``kind`` (N,) GPU type, CLOSED or SHUT; ``free`` (N,) GPUs.
    ``quote``, ``later_quote`` (F,) are all a GPU costs now, and after waiting. Scratch: ``hull``, ``cost`` (C,).
    """

    times: Floats
    slack: Floats
    weight: Floats
    runs: Ints
    price: Floats
    most: Ints
    fixed: Ints
    vm_gpus: Ints
    bill: Floats
    room: Ints
    time: Floats
    gpus: Ints
    family: Ints
    num_configs: Ints
    extra: Floats
    choice: Ints
    at_low: Ints
    at_high: Ints
    unsure: Ints
    is_short: Ints
    now: Ints
    later: Ints
    span: Floats
    run_cost: Floats
    wait_cost: Floats
    node: Ints
    held: Ints
    kind: Ints
    free: Ints
    hull: Ints
    cost: Floats
    demand: Ints
    quote: Floats
    later_quote: Floats
