"""HELL, KNEE and what they are compared with, see docs/papers/hell-knee.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlsched.domain.model import FrozenModel
from dlsched.domain.policy import ElasticRule, Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.elastic_queueing.params import (
    ElasticParams,
    FillParams,
    JsqParams,
    KneeParams,
    MoldableKneeParams,
    MoldableParams,
    OrderedParams,
)
from dlsched.policies.elastic_queueing.policy import ElasticPolicy
from dlsched.policies.shared.remarks import Remark, where_widths_are_fixed
from dlsched.speed import build_speed

FAMILY = "elastic"
PAPER = "Lin et al., A model-based approach to streamlining distributed training for asynchronous SGD, MASCOTS 2018"
KNOWS = "remaining work and speed-up"
SPOKEN = {
    "hell-malleable": "malleable HELL",
    "knee-malleable": "malleable KNEE",
    "hell-moldable": "moldable HELL",
    "knee-moldable": "moldable KNEE",
    "srpt-all-nodes": "SRPT on all nodes",
}


def _hell_malleable(params: FillParams) -> ElasticPolicy:
    return ElasticPolicy(ElasticRule("hell", fills=params.filling, gamma=params.gamma), params.vm_type)


def _knee_malleable(params: KneeParams) -> ElasticPolicy:
    rule = ElasticRule("knee", alpha=params.alpha, fills=params.filling, gamma=params.gamma)
    return ElasticPolicy(rule, params.vm_type)


def _hell_moldable(params: MoldableParams) -> ElasticPolicy:
    rule = ElasticRule("hell", moldable=True, blocking=params.blocking, gamma=params.gamma)
    return ElasticPolicy(rule, params.vm_type)


def _knee_moldable(params: MoldableKneeParams) -> ElasticPolicy:
    rule = ElasticRule("knee", alpha=params.alpha, moldable=True, blocking=params.blocking, gamma=params.gamma)
    return ElasticPolicy(rule, params.vm_type)


def _srpt(params: OrderedParams) -> ElasticPolicy:
    return ElasticPolicy(ElasticRule("fastest", gamma=params.gamma), params.vm_type)


def _waterfill(params: ElasticParams) -> ElasticPolicy:
    return ElasticPolicy(ElasticRule("smallest", fills=True), params.vm_type)


def _jsq(params: JsqParams) -> ElasticPolicy:
    return ElasticPolicy(ElasticRule("fastest", chunk=params.chunk), params.vm_type)


_only_orders = where_widths_are_fixed("choose the order")


def _beside_chunks(params: JsqParams, scenario: Scenario) -> str:
    """Name the nodes in no chunk, and jobs that no chunk of this size holds."""
    cluster, jobs = scenario.cluster, scenario.workload
    if cluster.free_slots:
        return _only_orders(params, scenario)
    gpus = cluster.num_gpus
    chunk = min(params.chunk, gpus)
    parts = [f"Chunks of {chunk:,} leave {gpus % chunk:,} of {gpus:,} GPUs unused."] if gpus % chunk else []
    smallest = build_speed(scenario.speed, jobs, cluster.vm_types).limits()[0] * jobs.gpus_per_worker
    widest = float(smallest.max(initial=0.0))
    if widest > chunk:
        parts.append(f"While a job that needs {widest:g} GPUs or more is in the system, chunks grow to that size.")
    return " ".join([*parts, _only_orders(params, scenario)]).strip()


def _spec(
    key: str,
    label: str,
    summary: str,
    build: Callable[[Any], ElasticPolicy],
    params: type[FrozenModel],
    remark: Remark = _only_orders,
) -> PolicySpec:
    return PolicySpec(
        key,
        label,
        FAMILY,
        summary,
        build,
        params,
        frozenset({Need.ALWAYS_THERE}),
        knows=KNOWS,
        paper=PAPER,
        group="elastic",
        uses_run_times=True,
        compiled=True,
        remark=remark,
        spoken=SPOKEN.get(key, ""),
    )


ELASTIC: tuple[PolicySpec, ...] = (
    _spec(
        "hell-malleable",
        "HELL, malleable",
        "Gives each job the GPU count with the best product of speed and efficiency, best jobs first; GPU counts "
        "change at every submission and completion, and leftover nodes go to the shortest job.",
        _hell_malleable,
        FillParams,
    ),
    _spec(
        "knee-malleable",
        "KNEE, malleable",
        "Gives each job GPUs until one more node would save less than alpha, shortest remaining time first; GPU "
        "counts change at every submission and completion.",
        _knee_malleable,
        KneeParams,
    ),
    _spec(
        "hell-moldable",
        "HELL, moldable",
        "A job waits for the GPU count that HELL would give it on an empty cluster and keeps it; it may be stopped "
        "for a better job.",
        _hell_moldable,
        MoldableParams,
    ),
    _spec(
        "knee-moldable",
        "KNEE, moldable",
        "A job waits for the GPU count at its knee, which is smaller at a higher expected load, and keeps it; it may "
        "be stopped for a shorter job.",
        _knee_moldable,
        MoldableKneeParams,
    ),
    _spec(
        "srpt-all-nodes",
        "SRPT, all nodes",
        "The job that can finish first gets every node that makes it faster; wasteful where the speed-up curve "
        "flattens.",
        _srpt,
        OrderedParams,
    ),
    _spec(
        "waterfill",
        "Waterfill",
        "One node for each job in order of submission; leftover nodes go to the shortest job.",
        _waterfill,
        ElasticParams,
    ),
    _spec(
        "jsq-chunk",
        "JSQ-Chunk",
        "Divides the cluster into equal chunks; a job joins the shortest queue and runs on that chunk, first come, "
        "first served.",
        _jsq,
        JsqParams,
        _beside_chunks,
    ),
)
