"""Choices to compare: the scenario with changes under a policy, each in the same futures."""

from dlsched.studies.design.factor import Factor
from dlsched.studies.design.factors import FACTORS, changed, factor_of
from dlsched.studies.design.futures import basis_of, in_full, usual_futures
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
from dlsched.studies.design.variants import Futures, Variant

__all__ = [
    "FACTORS",
    "BatchResult",
    "EditedScenarios",
    "Factor",
    "Futures",
    "ResolvedVariant",
    "RunResult",
    "Variant",
    "VariantTask",
    "basis_of",
    "changed",
    "check_variant",
    "factor_of",
    "in_full",
    "plan_of",
    "resolve_variant",
    "run_variants",
    "usual_futures",
]
