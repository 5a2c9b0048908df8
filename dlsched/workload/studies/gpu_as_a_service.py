"""Whole scenarios of GPU as a service: drawn jobs, free slots, the study's machine types and the time table."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.workload.catalogue import PAPER, price_list
from dlsched.workload.generators import GpuaasSpec, draw, plain
from dlsched.workload.generators.gpuaas import BASE_TYPE, OTHER_TYPE, ServiceApplication, speed_of_gpuaas
from dlsched.workload.prices.price_list import price_notes, to_vm_types
from dlsched.workload.rules import usd_text

PROTOTYPE = GpuaasSpec(
    nodes=2,
    jobs=6,
    rate="even",
    gap_s=300.0,
    in_turn=True,
    most_gpus=4,
    applications=tuple(
        ServiceApplication(name=name, parallel=parallel, m60_ratio=ratio, k80_hours=(hours, hours))
        for name, parallel, ratio, hours in (
            ("DeepSpeech (TensorFlow)", 0.88, 0.85, 1.6),
            ("VGG19 (PyTorch)", 0.82, 0.80, 2.0),
            ("VGG19 (TensorFlow)", 0.80, 0.93, 2.2),
            ("AlexNet (PyTorch)", 0.72, 1.02, 1.8),
            ("ResNet50 (PyTorch)", 0.95, 0.88, 3.0),
            ("ResNet50 (TensorFlow)", 0.93, 0.95, 3.2),
        )
    ),
)
"""Section 4.6, Table 3: six applications, one every 300 s, two nodes. The run times are this project's."""


def study_types() -> tuple[VmType, ...]:
    """Return the eight machine types of the study (Table 2); the last two are made up there."""
    return to_vm_types(price_list(PAPER))


def gpuaas_scenario(
    spec: GpuaasSpec,
    seed: int = 0,
    catalogue: Sequence[VmType] | None = None,
    name: str = "GPU as a service",
) -> Scenario:
    """Return the jobs of a specification on ``spec.nodes`` free slots, with their time table.

    Without a catalogue the slots hold the machine types of the study (Table 2).
    """
    plain_spec = plain(spec)
    rented = study_types() if catalogue is None else tuple(catalogue)
    return Scenario(
        workload=draw(plain_spec, seed),
        cluster=Cluster(slots=spec.nodes, catalogue=rented),
        options=SimulationRules(placement="best-fit"),
        speed=speed_of_gpuaas(spec),
        seed=seed,
        name=name,
        data_kind="generated",
        generator=plain_spec,
        assumptions=(*assumptions_of(spec), *price_notes(rented, price_list(PAPER), len(rented))),
    )


def prototype_scenario(seed: int = 0) -> Scenario:
    """Return the six applications of the study's cloud experiment on the six machine types it used."""
    return gpuaas_scenario(PROTOTYPE, seed, study_types()[:6], "Six applications, two nodes")


def sample_scenario() -> Scenario:
    """Return the bundled sample: 100 jobs of the study's applications on ten free slots."""
    spec = GpuaasSpec(nodes=10)
    return gpuaas_scenario(spec, 1, name=f"GPU as a service, {spec.nodes} nodes").replace(data_kind="example")


def assumptions_of(spec: GpuaasSpec) -> tuple[str, ...]:
    """Return what a drawn workload takes for granted, in words."""
    low = min(one.k80_hours[0] for one in spec.applications)
    high = max(one.k80_hours[1] for one in spec.applications)
    (due_low, due_high), (late_low, late_high) = spec.due, spec.late_usd_per_s
    fitted = {"low", "high", "high450", "mixed"}
    return (
        f"run time on one {BASE_TYPE}: {low:g}–{high:g} h (assumed, the study does not say)",
        f"{BASE_TYPE}, {OTHER_TYPE} and 1–{spec.most_gpus} GPUs: speed laws of the applications (assumed)",
        *([f"rate {spec.rate}: fitted to the study's numbers of jobs at once"] if spec.rate in fitted else []),
        f"due = submit + {due_low:g}–{due_high:g} x fastest time",
        f"a second late costs {usd_text(late_low)}–{usd_text(late_high)}",
    )
