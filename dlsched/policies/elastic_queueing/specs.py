"""HELL, KNEE and what they are compared with (METHODS, section 1)."""

from __future__ import annotations

from dlsched.domain.policy import ElasticRule, PolicySpec
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

FAMILY = "elastic"
PAPER = "Lin et al., A model-based approach to streamlining distributed training for asynchronous SGD, MASCOTS 2018"
KNOWS = "work left and speed-up"


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


def _spec(key: str, label: str, summary: str, build: object, params: object) -> PolicySpec:
    return PolicySpec(
        key,
        label,
        FAMILY,
        summary,
        build,  # type: ignore[arg-type]
        params,  # type: ignore[arg-type]
        knows=KNOWS,
        paper=PAPER,
        group="elastic",
        uses_run_times=True,
        compiled=True,
    )


ELASTIC: tuple[PolicySpec, ...] = (
    _spec(
        "hell-malleable",
        "HELL, malleable",
        "Each job at its width with the best product of speed and economy, best such jobs first; widths change at "
        "every submission and completion, and nodes that are left shorten the shortest job.",
        _hell_malleable,
        FillParams,
    ),
    _spec(
        "knee-malleable",
        "KNEE, malleable",
        "Each job at the width beyond which a node brings less than alpha, shortest remaining time first; widths "
        "change at every submission and completion.",
        _knee_malleable,
        KneeParams,
    ),
    _spec(
        "hell-moldable",
        "HELL, moldable",
        "A job starts at its HELL width of the whole cluster, waits until so many nodes are free and keeps that width; "
        "it may be stopped for a better one.",
        _hell_moldable,
        MoldableParams,
    ),
    _spec(
        "knee-moldable",
        "KNEE, moldable",
        "A job starts at its knee, which is smaller where the expected load is higher, and keeps that width; it may be "
        "stopped for a shorter one.",
        _knee_moldable,
        MoldableKneeParams,
    ),
    _spec(
        "srpt-all-nodes",
        "SRPT, all nodes",
        "The job that can end first gets every node that makes it faster; wasteful where speed-up flattens.",
        _srpt,
        OrderedParams,
    ),
    _spec(
        "waterfill",
        "Waterfill",
        "One node for every job in order of submission; nodes that are left shorten the shortest job.",
        _waterfill,
        ElasticParams,
    ),
    _spec(
        "jsq-chunk",
        "JSQ-Chunk",
        "Cuts the cluster into equal chunks; a job joins the shortest queue and runs on its chunk, first come first "
        "served.",
        _jsq,
        JsqParams,
    ),
)
