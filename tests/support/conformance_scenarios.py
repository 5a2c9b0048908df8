"""Small scenarios for the conformance suite: many ties, many sizes, everything a policy may need."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.policy import Policy, PolicySpec
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import Prepared
from dlsched.sim.simulate import run_policy

PLACEMENTS = ("pool", "best-fit", "pack", "spread")


def full_workload(num_jobs: int = 36, seed: int = 0, widths: tuple[int, ...] = (1, 1, 1, 2, 4, 8, 12)) -> Workload:
    """Return jobs with every column a policy may need, whole seconds, many ties."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.integers(0, 24, num_jobs) * 50.0)
    work = rng.integers(1, 40, num_jobs) * 20.0
    return Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(num_jobs)],
            "submit_s": submit_s,
            "work": work,
            "workers": rng.choice(widths, num_jobs),
            "user": rng.choice(["ann", "bob", "cai"], num_jobs),
            "priority": rng.integers(0, 3, num_jobs).astype(float),
            "due_s": submit_s + work * rng.integers(1, 4, num_jobs),
            "weight_usd_per_s": rng.integers(1, 4, num_jobs) / 100,
        }
    )


def fixed_nodes(*gpus: int, absences: tuple[Absence, ...] = ()) -> Cluster:
    """Return one node of each of these sizes, priced by the GPU."""
    pools = tuple(Pool(vm=VmType(name=f"node-{g}", gpus=g, usd_per_h=float(g)), count=1) for g in gpus)
    return Cluster(pools=pools, absences=absences)


def free_slots(count: int = 4) -> Cluster:
    """Return free slots with three sizes of VM; the middle one is the cheapest per GPU."""
    sizes = {"small": (1, 1.0), "middle": (4, 3.0), "large": (8, 9.0)}
    catalogue = tuple(VmType(name=name, gpus=gpus, usd_per_h=usd) for name, (gpus, usd) in sizes.items())
    return Cluster(slots=count, catalogue=catalogue)


FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "restart-pause": {"restart_s": 30.0},
    "restart-delayed": {"restart_s": 30.0, "restart_mode": "delayed"},
    "estimates": {"estimate_error": 0.5},
    "bugs": {"bug_share": 0.3, "bug_within_s": 100.0},
    "cancels": {"cancel_share": 0.4},
    "checkpoints": {"checkpoint_s": 45.0},
    "horizon": {"horizon_s": 900.0},
    "all": {
        "restart_s": 30.0,
        "estimate_error": 0.5,
        "bug_share": 0.2,
        "bug_within_s": 100.0,
        "cancel_share": 0.2,
        "checkpoint_s": 45.0,
    },
}

ABSENCES = (
    Absence(node=0, start_s=300.0, end_s=700.0, cause="fails"),
    Absence(node=1, start_s=1000.0, end_s=1400.0, cause="maintenance"),
    Absence(node=2, start_s=0.0, end_s=200.0, cause="arrives"),
)


def scenario(feature: str = "plain", cluster: Cluster | None = None, **changes: Any) -> Scenario:
    """Return the standard small scenario with one group of options; ``changes`` replace its fields."""
    fields: dict[str, Any] = {
        "workload": full_workload(),
        "cluster": cluster or fixed_nodes(8, 8, 4),
        "options": SimulationRules(**FEATURES[feature]),
        "speed": SpeedSpec(kind="scaling"),
    }
    return Scenario(**{**fields, **changes})


@st.composite
def kernel_scenarios(draw: st.DrawFn) -> Scenario:
    """Draw a scenario the kernel can run: few distinct times and sizes, so that ties are the rule."""
    nodes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=5))
    count = draw(st.integers(1, 25))
    unit = draw(st.sampled_from([1.0, 10.0, 0.1, 1 / 3]))

    def numbers(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    workload = Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "submit_s": np.array(numbers(0, 8)) * unit,
            "work": np.array(numbers(1, 12)) * unit,
            "workers": np.minimum(numbers(1, 10), sum(nodes)),
            "priority": np.array(numbers(0, 3), dtype=float),
            "due_s": np.array(numbers(1, 5)) * 5.0,
        }
    )
    options = SimulationRules(
        placement=draw(st.sampled_from(PLACEMENTS)),
        estimate_error=draw(st.sampled_from([0.0, 0.5])),
        bug_share=draw(st.sampled_from([0.0, 0.4])),
        bug_within_s=5.0,
    )
    return Scenario(workload, fixed_nodes(*nodes), options)


def built(spec: PolicySpec, prepared: Prepared, params: dict[str, Any] | None = None) -> Policy:
    """Return a fresh policy for one run."""
    values = spec.parse(params)
    return spec.build(values, prepared.scenario.workload) if spec.clairvoyant else spec.build(values)


def engine_log(spec: PolicySpec, prepared: Prepared, params: dict[str, Any] | None = None) -> RunLog:
    """Run a policy in the generic engine."""
    return run_policy(prepared, built(spec, prepared, params), use_kernel=False)


def first_difference(one: RunLog, other: RunLog, before_s: float = np.inf) -> str:
    """Return the first column in which two logs differ, with both contents; empty = none.

    With ``before_s`` only what was decided and done before that time counts. Measured times of the policy never do.
    """
    for name in _columns_compared():
        left, right = _cut(one, name, before_s), _cut(other, name, before_s)
        same = left.shape == right.shape and (
            np.allclose(left, right, rtol=1e-12, atol=1e-9, equal_nan=True)
            if left.dtype.kind == "f"
            else bool((left == right).all())
        )
        if not same:
            return f"{name}: {left} and {right}"
    return ""


def _columns_compared() -> list[str]:
    return [
        f.name for f in dataclasses.fields(RunLog) if f.name.split("_")[0] in _TIME_OF and f.name != "decision_cpu_s"
    ]


_TIME_OF = {
    "piece": "piece_start_s",
    "share": "piece_start_s",
    "decision": "decision_s",
    "wait": "wait_from_s",
    "lease": "lease_start_s",
    "job": "",
}


def _cut(log: RunLog, name: str, before_s: float) -> np.ndarray:
    """Return a column up to a time; ends and how they came about count as far as they lie before it."""
    values: np.ndarray = getattr(log, name)
    early = getattr(log, _TIME_OF[name.split("_")[0]] or name) < before_s
    if np.isinf(before_s):
        return values
    if name == "share_first":
        return np.diff(values)[early]
    if name.startswith("share"):
        return values[np.repeat(early, np.diff(log.share_first))]
    if name == "job_status":
        return values[log.job_end_s < before_s]
    if name == "piece_end":
        return values[log.piece_end_s < before_s]
    values = values[early]
    return np.minimum(values, before_s) if name in ("piece_end_s", "lease_end_s", "piece_progress_from_s") else values
