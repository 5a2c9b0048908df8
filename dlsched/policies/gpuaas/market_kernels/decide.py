"""One decision of Market, compiled. Only :func:`decide` is kept in the cache of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit, types

from dlsched.domain.fingerprint import fingerprint
from dlsched.policies.gpuaas.market_kernels.hold import hold_back
from dlsched.policies.gpuaas.market_kernels.mix import list_configs
from dlsched.policies.gpuaas.market_kernels.packing import grow, next_switch, pack
from dlsched.policies.gpuaas.market_kernels.price import clear_market
from dlsched.policies.gpuaas.market_kernels.spread import spread
from dlsched.policies.gpuaas.market_kernels.tables import Market, Rules


def _market_type() -> Any:
    floats = {"times", "slack", "weight", "price", "bill", "time", "extra", "span", "run_cost", "wait_cost"}
    floats |= {"cost", "quote", "later_quote"}
    dims = {"times": 3, "vm_gpus": 2, "bill": 2, "time": 2, "gpus": 2, "family": 2}
    kinds = [
        types.Array(types.float64 if name in floats else types.int64, dims.get(name, 1), "C") for name in Market._fields
    ]
    return types.NamedTuple(kinds, Market)


def _compile(sources: int) -> Callable[[Market, Rules], float]:
    rules = types.NamedTuple([types.boolean, types.float64, types.float64, types.int64, types.float64], Rules)

    @njit(types.float64(_market_type(), rules), cache=True, nogil=True, error_model="numpy")
    def decide(m: Market, rules: Rules) -> float:
        if sources < 0:
            return 0.0
        list_configs(m)
        clear_market(m, rules)
        pack(m)
        spread(m)
        hold_back(m, rules)
        grow(m)
        return next_switch(m)

    return decide


_HERE = Path(__file__).parent
_OPTIONS = _HERE.parent / "kernels" / "compiled.py"
decide = _compile(fingerprint([*_HERE.glob("*.py"), _OPTIONS]))
"""``decide(market, rules)``: fill in prices and schedule; return the time until the first planned switch."""
