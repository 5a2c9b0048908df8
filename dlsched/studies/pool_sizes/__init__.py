"""The size of the pool swept: policies on the same jobs, on fewer and on more nodes, with and without mishaps."""

from dlsched.studies.pool_sizes.answer import PoolSizes
from dlsched.studies.pool_sizes.run import check, estimate_s, guess_s, num_rounds, run_pool_sizes
from dlsched.studies.pool_sizes.sizing import (
    OWN,
    VARIANT_KEYS,
    default_nodes,
    default_policies,
    is_exact,
    pool_of,
    scenario_at,
)
from dlsched.studies.pool_sizes.spec import PoolSizesSpec
from dlsched.studies.pool_sizes.words import finding
from dlsched.studies.study import Study

__all__ = [
    "OWN",
    "STUDY",
    "VARIANT_KEYS",
    "PoolSizesSpec",
    "check",
    "default_nodes",
    "default_policies",
    "guess_s",
    "is_exact",
    "num_rounds",
    "pool_of",
    "read_spec",
    "run_pool_sizes",
    "scenario_at",
]

STUDY = Study(
    kind="pool-sizes",
    label="Pool size",
    page="Pool size",
    spec=PoolSizesSpec,
    answer=PoolSizes,
    check=check,
    run=run_pool_sizes,
    estimate_s=estimate_s,
    words=lambda answer: finding(answer, answer.variants[0]),
    sources=("studies/pool_sizes", "workload"),
)
read_spec = STUDY.read_spec
