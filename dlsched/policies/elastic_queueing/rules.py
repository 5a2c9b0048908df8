"""From a rule in words to tables of widths and to the numbers of the compiled decision."""

from __future__ import annotations

from functools import partial

from dlsched.domain.policy import ElasticRule
from dlsched.policies.elastic_queueing.curves import Weights, Widths, by_hell, by_submission, by_time
from dlsched.policies.elastic_queueing.kernels.tables import MALLEABLE, MOLDABLE, QUEUES, Rule
from dlsched.speed.widths import fastest_widths, hell_widths, knee_widths, smallest_widths


def widths_of(rule: ElasticRule) -> Widths:
    """Return which width the rule wants of a speed curve."""
    if rule.width == "knee":
        return partial(knee_widths, alpha=rule.alpha)
    return {"hell": hell_widths, "fastest": fastest_widths, "smallest": smallest_widths}[rule.width]


def weights_of(rule: ElasticRule) -> Weights:
    """Return how the rule orders jobs: HELL by S/E, those that start with the smallest width by submission."""
    return {"hell": by_hell, "smallest": by_submission}.get(rule.width, by_time)


def kernel_rule(rule: ElasticRule, capacity: float) -> Rule:
    """Return the numbers of the compiled decision for this capacity: a chunk is never larger than the cluster."""
    kind = QUEUES if rule.chunk else MOLDABLE if rule.moldable else MALLEABLE
    return Rule(kind, rule.fills, rule.blocking, rule.gamma, float(min(rule.chunk, capacity)))
