"""One decision of Market, compiled. Only :func:`decide` is kept in the cache of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit, types

from dlsched.domain.fingerprint import fingerprint
from dlsched.policies.gpuaas.market_kernels.mix import list_configs
from dlsched.policies.gpuaas.market_kernels.packing import grow, next_switch, pack
from dlsched.policies.gpuaas.market_kernels.price import clear_market
from dlsched.policies.gpuaas.market_kernels.tables import Market, Rules


def _market_type() -> Any:
    integers = {"most", "fixed", "vm_gpus", "room", "gpus", "family", "count", "now", "later", "node", "held", "kind"}
    integers |= {"free", "hull"}
    dims = {"times": 3, "vm_gpus": 2, "bill": 2, "time": 2, "gpus": 2, "family": 2}
    kinds = []
    for name in Market._fields:
        kind = types.int64 if name in integers else types.boolean if name == "runs" else types.float64
        kinds.append(types.Array(kind, dims.get(name, 1), "C"))
    return types.NamedTuple(kinds, Market)


def _compile(sources: int) -> Callable[[Market, Rules], float]:
    rules = types.NamedTuple([types.boolean, types.float64, types.float64, types.int64], Rules)

    @njit(types.float64(_market_type(), rules), cache=True, nogil=True, error_model="numpy")
    def decide(m: Market, rules: Rules) -> float:
        if sources < 0:
            return 0.0
        list_configs(m)
        clear_market(m, rules)
        pack(m)
        grow(m)
        return next_switch(m)

    return decide


decide = _compile(fingerprint(Path(__file__).parent.glob("*.py")))
"""``decide(market, rules)``: fill in prices and schedule; return the time until the first planned switch."""
