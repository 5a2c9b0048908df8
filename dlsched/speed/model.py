"""What a speed model is, and how a scenario gets one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.workload import Floats, Ints, Workload


class SpeedModel(Protocol):
    """Work per second of each row as a function of its width; built for one workload, never changed."""

    def limits(self) -> tuple[Ints, Ints]:
        """Return the smallest and the largest legal width, each of shape (jobs,)."""
        ...

    def rate(self, row: int, workers: int, servers: int, node_speed: float) -> float:
        """Return work per second of a gang whose slowest node has this relative speed; 0 = width not legal."""
        ...

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return work per second on nodes of speed 1, shape of ``rows``; 0 where the width is not legal."""
        ...


def gang_speed(node_speeds: Iterable[float]) -> float:
    """Return the speed of a gang: its slowest node holds up the rest. At least one node."""
    return min(node_speeds)


def build_speed(spec: SpeedSpec, workload: Workload) -> SpeedModel:
    """Return the speed model that ``spec`` describes, for the rows of ``workload``."""
    from dlsched.speed.scaling import Rigid, Scaling

    if spec.kind == "rigid":
        return Rigid(workload.workers)
    return Scaling.of(workload, spec.efficiency, spec.max_factor)
