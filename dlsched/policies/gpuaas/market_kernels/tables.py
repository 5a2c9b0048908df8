"""The arrays the compiled Market works on. No numba here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints


class Rules(NamedTuple):
    """Settings of one decision: see :class:`dlsched.policies.gpuaas.market.MarketSettings`."""

    mixing: bool
    later_price: float
    wait: float
    steps: int


class Market(NamedTuple):
    """A rescheduling point with J jobs, N nodes, F GPU types and up to C configurations of a job.

    The problem: ``times`` (J, F, G), infinite where no node could hold it; ``slack``, ``weight`` (J,);
    ``price``, ``most`` (F,) per GPU, and GPUs of the largest node; ``fixed`` (F,) GPUs of nodes that stay;
    ``vm_gpus`` (F, G) GPUs of the machine that holds g+1; ``bill`` (F, G) its price;
    ``room`` (N,) GPUs of nodes that stay, 0 = free to choose.
    Configurations worth considering, fastest first: ``time``, ``gpus``, ``family`` (J, C), ``count`` (J,).
    What a job does at the prices ``extra`` (F,): ``runs``, ``now`` and ``later`` (J,) configurations, later = -1
    if it never changes; ``span`` (J,) time until then; ``run_cost``, ``wait_cost`` (J,).
    The schedule: ``node``, ``held`` (J,) GPUs; ``kind`` (N,) GPU type, -1 = closed; ``free`` (N,) GPUs.
    Scratch: ``hull`` and ``cost`` (C,), ``demand`` and ``quote`` (F,).
    """

    times: Floats
    slack: Floats
    weight: Floats
    price: Floats
    most: Ints
    fixed: Ints
    vm_gpus: Ints
    bill: Floats
    room: Ints
    time: Floats
    gpus: Ints
    family: Ints
    count: Ints
    extra: Floats
    runs: NDArray[np.bool_]
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
    demand: Floats
    quote: Floats
