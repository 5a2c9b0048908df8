"""Whole scenarios of GPU as a service: drawn jobs, free slots, the study's machine types and the time table."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import Options, Scenario
from dlsched.workload.generators import GpuaasSpec, draw, plain
from dlsched.workload.generators.gpuaas import BASE_TYPE, OTHER_TYPE, ServiceApplication, speed_of_gpuaas
from dlsched.workload.rules import usd_text

STUDY_TYPES = tuple(
    VmType(name=name, gpu_type=gpu_type, gpus=gpus, usd_per_h=usd_per_h)
    for name, gpu_type, gpus, usd_per_h in (
        ("NC6", BASE_TYPE, 1, 0.56),
        ("NC12", BASE_TYPE, 2, 1.13),
        ("NC24", BASE_TYPE, 4, 2.25),
        ("NV6", OTHER_TYPE, 1, 0.62),
        ("NV12", OTHER_TYPE, 2, 1.24),
        ("NV24", OTHER_TYPE, 4, 2.48),
        ("NC48*", BASE_TYPE, 8, 4.48),
        ("NV48*", OTHER_TYPE, 8, 4.96),
    )
)
"""Table 2 of the study; the last two are made up there, twice the 4-GPU types."""

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


def gpuaas_scenario(
    spec: GpuaasSpec,
    seed: int = 0,
    catalogue: Sequence[VmType] = STUDY_TYPES,
    name: str = "GPU as a service",
) -> Scenario:
    """Return the jobs of a specification on ``spec.nodes`` free slots, with their time table.

    Raises
    ------
    InputError
        If a machine type of the catalogue cannot be used as it is.
    """
    plain_spec = plain(spec)
    return Scenario(
        workload=draw(plain_spec, seed),
        cluster=Cluster(slots=spec.nodes, catalogue=tuple(catalogue)),
        options=Options(placement="best-fit"),
        speed=speed_of_gpuaas(spec),
        seed=seed,
        name=name,
        data_kind="generated",
        generator=plain_spec,
        assumptions=assumptions_of(spec),
    )


def prototype_scenario(seed: int = 0) -> Scenario:
    """Return the six applications of the study's cloud experiment on the six machine types it used."""
    return gpuaas_scenario(PROTOTYPE, seed, STUDY_TYPES[:6], "Six applications, two nodes")


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
