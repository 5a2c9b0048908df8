"""Choices to compare: the scenario with changes under a policy, each over the same random draws."""

from dlsched.studies.design.factors import FACTORS, Factor, changed, factor_of
from dlsched.studies.design.run import BatchResult, RunResult, VariantTask, check_variant, plan_of, run_variants
from dlsched.studies.design.variants import Replications, Variant

__all__ = [
    "FACTORS",
    "BatchResult",
    "Factor",
    "Replications",
    "RunResult",
    "Variant",
    "VariantTask",
    "changed",
    "check_variant",
    "factor_of",
    "plan_of",
    "run_variants",
]
