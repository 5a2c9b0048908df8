"""Choices to compare: the scenario with changes under a policy, each over the same random draws."""

from dlsched.studies.design.factors import FACTORS, Factor, changed, factor_of
from dlsched.studies.design.run import (
    BatchResult,
    EditedScenarios,
    ResolvedVariant,
    RunResult,
    VariantTask,
    check_variant,
    plan_of,
    resolve_variant,
    run_variants,
)
from dlsched.studies.design.variants import Replications, Variant

__all__ = [
    "FACTORS",
    "BatchResult",
    "EditedScenarios",
    "Factor",
    "Replications",
    "ResolvedVariant",
    "RunResult",
    "Variant",
    "VariantTask",
    "changed",
    "check_variant",
    "factor_of",
    "plan_of",
    "resolve_variant",
    "run_variants",
]
