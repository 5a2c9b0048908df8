"""An independent recomputation of the energy of a run, of its cost and carbon, in all and of each job."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dlsched.domain.workload import GPU, Floats
from dlsched.sim.audit.facts import SECONDS_PER_H, Facts, last_before
from dlsched.sim.audit.shares import Spans


class Drawn(NamedTuple):
    """What the scenario asks to be counted: metric -> its value, and column of the jobs table -> its values.

    ``rounding`` is what differences of the whole may be off by, for each metric.
    """

    metrics: dict[str, float | None]
    of_jobs: dict[str, Floats]
    rounding: dict[str, float]


def drawn(facts: Facts, up: Spans) -> Drawn:
    """Return the energy that busy and idle GPUs draw in these spans of the nodes; None for what is not given."""
    setup, kinds = facts.scenario.energy, facts.vm_types
    metrics: dict[str, float | None] = dict.fromkeys(("energy_kwh", "energy_idle_kwh", "energy_usd", "carbon_kg"))
    power = {} if setup is None else {one.gpu_type: one for one in setup.power}
    if setup is None or any(vm.gpus and vm.gpu_type not in power for vm in kinds):
        return Drawn(metrics, {}, {})
    log, owner = facts.log, facts.piece_of_share
    start_s, end_s = log.piece_start_s[owner], log.piece_end_s[owner]
    vm = up.vm[last_before(up.node, up.start_s, log.share_node, (start_s + end_s) / 2)] if len(owner) else owner
    gpus, rows = facts.held()[:, GPU], log.piece_row[owner]

    def kw(of_type: str) -> Floats:
        watts = [getattr(power[one.gpu_type], of_type) if one.gpus else 0.0 for one in kinds]
        return np.array(watts, dtype=float) * setup.pue / 1000

    idle_kw, busy_kw = kw("idle_w"), kw("busy_w")
    size = np.array([float(one.gpus) for one in kinds])
    of_jobs: dict[str, Floats] = {}
    rounding: dict[str, float] = {}
    for name, rate, unit in (
        ("energy_kwh", (1.0,), 1.0),
        ("energy_usd", setup.usd_per_kwh, 1.0),
        ("carbon_kg", setup.g_per_kwh, 1e-3),
    ):
        if not rate:
            continue
        of_share = _between(rate, setup.first_s, setup.step_s, start_s, end_s) * gpus * unit
        of_stay = _between(rate, setup.first_s, setup.step_s, up.start_s, up.end_s) * size[up.vm] * unit
        all_idle = math.fsum(of_stay * idle_kw[up.vm])
        idle = all_idle - math.fsum(of_share * idle_kw[vm])
        paid = np.zeros(len(facts.scenario.workload))
        np.add.at(paid, rows, of_share * busy_kw[vm])
        of_jobs[name] = paid
        metrics[name] = math.fsum(paid) + idle
        rounding[name] = 1e-9 * math.fsum(np.abs(of_stay * idle_kw[up.vm]))
        if name == "energy_kwh":
            metrics["energy_idle_kwh"], rounding["energy_idle_kwh"] = idle, rounding[name]
    return Drawn(metrics, of_jobs, rounding)


def _between(rate: Sequence[float], first_s: float, step_s: float, from_s: Floats, to_s: Floats) -> Floats:
    """Return rate x hours of each span: what a list adds up to, read off at both ends."""
    added = np.cumsum([0.0, *rate])

    def at(time_s: Floats) -> Floats:
        steps = (time_s - first_s) / step_s
        rounds = np.floor(steps / len(rate))
        return np.asarray(added[-1] * rounds + np.interp(steps - rounds * len(rate), np.arange(len(rate) + 1), added))

    if len(rate) == 1:
        return rate[0] * (to_s - from_s) / SECONDS_PER_H
    return (at(to_s) - at(from_s)) * (step_s / SECONDS_PER_H)
