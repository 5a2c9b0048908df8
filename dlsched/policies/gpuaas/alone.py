"""What one job can be given when it has a node to itself, for the methods that put one job on a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas.instance import Instance, Schedule


@dataclass(frozen=True, eq=False)
class Offers:
    """Configurations in catalogue order: by GPU type and GPUs where the machine type may be chosen, then by the
    machine types of nodes that stay.

    ``vm``, ``gpus``, ``price`` (K,) machine type, GPUs for the job, $ per time unit; ``stays`` (K,) offered by nodes
    that stay, else by free ones; ``times`` (J, K) residual times, infinity = this job cannot run so.
    """

    vm: Ints
    gpus: Ints
    price: Floats
    stays: NDArray[np.bool_]
    times: Floats

    @classmethod
    def of(cls, instance: Instance) -> Offers:
        """Return what the nodes of an instance offer: on a free one the cheapest machine that holds the GPUs."""
        family, place = np.nonzero(instance.holder >= 0) if (instance.node_vm < 0).any() else (_NONE, _NONE)
        vms = [instance.holder[family, place]]
        gpus = [place + 1]
        for vm in np.unique(instance.node_vm[instance.node_vm >= 0]):
            most = min(int(instance.vm_gpus[vm]), instance.times.shape[2])
            vms.append(np.full(most, vm))
            gpus.append(np.arange(1, most + 1))
        vm_of, gpus_of = np.concatenate(vms), np.concatenate(gpus)
        return cls(
            vm=vm_of,
            gpus=gpus_of,
            price=instance.vm_price[vm_of],
            stays=np.arange(len(vm_of)) >= len(family),
            times=instance.times[:, instance.vm_family[vm_of], gpus_of - 1],
        )

    def from_node(self, node_vm: int) -> NDArray[np.bool_]:
        """Return which configurations a node offers, given its machine type or -1 for free to choose; (K,)."""
        return np.asarray(~self.stays if node_vm < 0 else self.stays & (self.vm == node_vm))

    @cached_property
    def cost(self) -> Floats:
        """The whole residual run alone on the machine, t x c_v, (J, K); infinity where the job cannot run."""
        can_run = np.isfinite(self.times)
        return np.where(can_run, np.where(can_run, self.times, 0.0) * self.price, np.inf)

    def run_cost(self, instance: Instance) -> Floats:
        """The whole residual run with its lateness, t x c_v + omega tau, (J, K); infinity where the job cannot run."""
        finite = np.where(np.isfinite(self.times), self.times, 0.0)
        late = np.maximum(0.0, finite - instance.slack[:, None])
        return np.asarray(self.cost + instance.weight[:, None] * late)

    def put(self, schedule: Schedule, job: int, offer: int, node: int) -> None:
        """Give a job the configuration ``offer`` on ``node``, which becomes such a machine."""
        schedule.node[job], schedule.gpus[job], schedule.vm[node] = node, self.gpus[offer], self.vm[offer]

    def cheapest_in_time(self, job: int, slack: float, offered: NDArray[np.bool_]) -> int | None:
        """Return the cheapest of the ``offered`` (K,) that meets the due date, else the fastest; None = cannot run.

        Ties go to the cheapest, then to catalogue order.
        """
        times = np.where(offered, self.times[job], np.inf)
        in_time = np.isfinite(times) & (times <= slack)
        if in_time.any():
            return int(np.argmin(np.where(in_time, self.cost[job], np.inf)))
        return int(least(times, self.price)) if np.isfinite(times).any() else None


_NONE = np.zeros(0, dtype=np.int64)


def least(*keys: Floats) -> Ints:
    """Return for each row the column of the least first key, ties by the next, at last the first column; (J,).

    Every key is (J, K) or, the same for all rows, (K,).
    """
    return np.asarray(np.lexsort(np.broadcast_arrays(*reversed(keys)), axis=-1)[..., 0])
