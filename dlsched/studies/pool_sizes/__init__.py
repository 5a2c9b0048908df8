"""The size of the pool swept: policies on the same jobs, on fewer and on more nodes, with and without mishaps."""

from dlsched.studies.pool_sizes.run import check, guess_s, num_rounds, run_pool_sizes
from dlsched.studies.pool_sizes.sizing import (
    OWN,
    VARIANT_KEYS,
    default_nodes,
    default_policies,
    is_exact,
    pool_of,
    scenario_at,
)
from dlsched.studies.pool_sizes.spec import PoolSizesSpec, read_spec

__all__ = [
    "OWN",
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
