"""What a speed model is, and how a scenario gets one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from dlsched.domain.cluster import VmType
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.workload import Floats, Ints, Workload


class SpeedModel(Protocol):
    """Work per second of each row by its width and machine types; built for one workload, never changed.

    Machine types are numbers into the ``vm_types`` the model was built with. The slowest node of a gang holds up the
    rest. A reference node has speed 1 and, where GPU types matter, the fastest type at hand.
    """

    def limits(self) -> tuple[Ints, Ints]:
        """Return the smallest and the largest legal width, each of shape (jobs,)."""
        ...

    def legal(self, row: int, workers: int, servers: int) -> bool:
        """Whether a width is legal on some machine type."""
        ...

    def rate(self, row: int, workers: int, servers: int, vms: Collection[int], nodes: int = 1) -> float:
        """Return work per second of a gang on so many nodes of these machine types; 0 = it cannot run so."""
        ...

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return work per second on reference nodes, shape of ``rows``; 0 where the width is not legal.

        Jobs with parameter servers have those of ``Workload.servers_for`` and sit on one node.
        """
        ...

    def rates_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Return work per second on one machine type, shape of ``rows``; 0 where the job cannot run so."""
        ...

    def fastest(self) -> Floats:
        """Return the largest rate of each job on reference nodes over all legal widths, shape (jobs,)."""
        ...


def build_speed(spec: SpeedSpec, workload: Workload, vm_types: Sequence[VmType] = ()) -> SpeedModel:
    """Return the speed model that ``spec`` describes, for the rows of ``workload`` on these machine types.

    Raises
    ------
    InputError
        A kind that neither we nor an installed plug-in has, or parameters that the model of a plug-in refuses.
    """
    from dlsched.speed.parameter_server import ParameterServer
    from dlsched.speed.scaling import Rigid, Scaling
    from dlsched.speed.table import Tabled

    if spec.kind == "table" and spec.times is not None:
        return Tabled.of(workload, spec.times, vm_types)
    speeds = tuple(vm.speed for vm in vm_types)
    if spec.kind == "parameter-server":
        return ParameterServer.of(workload, synchronous=spec.updates == "sync", speeds=speeds)
    if spec.kind == "rigid":
        return Rigid(workload.workers, speeds)
    if spec.kind == "scaling":
        return Scaling.of(workload, spec.efficiency, spec.max_factor, speeds)
    from dlsched.speed.outside import WatchedModel, model_of

    found = model_of(spec)
    assert found is not None  # a table has its times
    return WatchedModel(found, spec, workload, vm_types)
