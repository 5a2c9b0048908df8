"""Energy of a run: kWh, cost of electricity and carbon, of each job and of all GPUs that are idle.

A GPU draws ``busy_w`` while a job holds it and ``idle_w`` while its machine is up and no job does; both times PUE. A
job's energy is that of the GPUs it holds, so jobs + idle = all. Price and carbon are integrated over the steps in
which the energy is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dlsched.domain.energy import EnergySetup, gpu_types_of
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.billing import SAME_TIME, Stays, vm_of_share
from dlsched.sim.log import RunLog

G_PER_KG, W_PER_KW = 1000.0, 1000.0


@dataclass(frozen=True, eq=False)
class Energy:
    """Of each job and of idle GPUs: kWh, $ and kg CO2e; $ or kg are None if no price or no carbon is given."""

    job_kwh: Floats
    idle_kwh: float
    job_usd: Floats | None
    idle_usd: float | None
    job_kg: Floats | None
    idle_kg: float | None


def energy_of(scenario: Scenario, log: RunLog, up: Stays, piece_of_share: Ints, gpus: Floats) -> Energy | None:
    """Return the energy of a run; None without power for each GPU type of its cluster.

    ``up`` are the stays in which nodes can be used; ``piece_of_share`` and ``gpus``, those held, belong to the shares
    of the log.
    """
    setup, cluster = scenario.energy, scenario.cluster
    if setup is None or setup.unknown_types(gpu_types_of(cluster)):
        return None
    of_type = {one.gpu_type: (one.idle_w, one.busy_w) for one in setup.power}
    watts = np.array([of_type[vm.gpu_type] if vm.gpus else (0.0, 0.0) for vm in cluster.vm_types], dtype=float)
    idle_kw, busy_kw = watts.T * setup.pue / W_PER_KW
    sizes = np.array([vm.gpus for vm in cluster.vm_types], dtype=float)

    from_s, to_s = log.piece_start_s[piece_of_share], log.piece_end_s[piece_of_share]
    vm, row = vm_of_share(cluster, log, from_s), log.piece_row[piece_of_share]

    def parts(rate: tuple[float, ...]) -> tuple[Floats, float]:
        """Return the integral of kW x rate over hours: of each job, and of what is idle."""
        held = _integral(setup, rate, from_s, to_s) * gpus
        there = _integral(setup, rate, up.start_s, up.end_s) * sizes[up.vm]
        of_jobs = np.bincount(row, held * busy_kw[vm], minlength=len(scenario.workload)).astype(float)
        drawn_up, drawn_held = float(there @ idle_kw[up.vm]), float(held @ idle_kw[vm])
        idle = drawn_up - drawn_held
        return of_jobs, idle if abs(idle) > SAME_TIME * abs(drawn_up) else 0.0

    job_kwh, idle_kwh = parts((1.0,))
    job_usd, idle_usd = parts(setup.usd_per_kwh) if setup.usd_per_kwh else (None, None)
    job_g, idle_g = parts(setup.g_per_kwh) if setup.g_per_kwh else (None, None)
    return Energy(
        job_kwh, idle_kwh, job_usd, idle_usd,
        None if job_g is None else job_g / G_PER_KG, None if idle_g is None else idle_g / G_PER_KG,
    )  # fmt: skip


def _integral(setup: EnergySetup, rate: tuple[float, ...], from_s: Floats, to_s: Floats) -> Floats:
    """Return the integral of a rate over each span, rate x hours; a list of rates begins again at its end."""
    if len(rate) == 1:
        return rate[0] * (to_s - from_s) / HOUR_S
    sums = np.concatenate([[0.0], np.cumsum(rate)])

    def until(time_s: Floats) -> Floats:
        steps = (time_s - setup.first_s) / setup.step_s
        whole = np.floor(steps)
        rounds, place = np.divmod(whole, len(rate))
        at = place.astype(np.int64)
        return np.asarray(rounds * sums[-1] + sums[at] + np.asarray(rate)[at] * (steps - whole))

    return np.asarray((until(to_s) - until(from_s)) * setup.step_s / HOUR_S)
