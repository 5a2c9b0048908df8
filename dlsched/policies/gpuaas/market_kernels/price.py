"""The price per GPU and time unit, on top of the bill, at which the jobs ask for no more GPUs than there are."""

from __future__ import annotations

from numba import njit

from dlsched.policies.gpuaas.market_kernels.mix import cheapest
from dlsched.policies.gpuaas.market_kernels.tables import Market, Rules

compiled = njit(nogil=True, error_model="numpy")
ENOUGH = 1e-4
"""Relative width of the bracket at which the search for the price ends."""
SWEEPS = 2
_SLIP = 1e-9


@compiled
def clear_market(m: Market, rules: Rules) -> None:
    """Find the extra prices and let every job choose at them.

    Free nodes can take any GPU type, so there is one price per node, shared by its GPUs; nodes that stay are a
    market for each GPU type.
    """
    m.extra[:] = 0.0
    choose(m, rules)
    if (m.room == 0).any():
        if _excess(m, -1) > _SLIP:
            _raise_price(m, rules, -1)
        return
    for _ in range(SWEEPS if len(m.price) > 1 else 1):
        for family in range(len(m.price)):
            m.extra[family] = 0.0
            choose(m, rules)
            if _excess(m, family) > _SLIP:
                _raise_price(m, rules, family)


@compiled
def choose(m: Market, rules: Rules) -> None:
    """Let every job choose between running and waiting, and how to run; add up the GPUs they ask for."""
    m.demand[:] = 0.0
    is_dear = m.extra.max() > 0
    for job in range(len(m.slack)):
        m.runs[job] = m.count[job] > 0
        if not m.runs[job]:
            continue
        m.quote[:] = m.price + m.extra
        cost, now, later, span = cheapest(m, job, m.quote, m.slack[job], rules.mixing)
        m.run_cost[job], m.now[job], m.later[job], m.span[job] = cost, now, later, span
        m.wait_cost[job] = cost
        if is_dear:
            m.quote[:] = m.price + rules.later_price * m.extra
            m.wait_cost[job] = cheapest(m, job, m.quote, m.slack[job] - rules.wait, rules.mixing)[0]
            m.runs[job] = cost <= m.wait_cost[job]
        if m.runs[job]:
            m.demand[m.family[job, now]] += m.gpus[job, now]


@compiled
def _excess(m: Market, family: int) -> float:
    """Return the GPUs of a type asked for beyond those there are; family -1 = nodes beyond the free ones."""
    if family >= 0:
        return m.demand[family] - m.fixed[family]
    beyond = -1.0 * (m.room == 0).sum()
    for each in range(len(m.price)):
        if m.demand[each] > m.fixed[each]:
            beyond += (m.demand[each] - m.fixed[each]) / m.most[each]
    return beyond


@compiled
def _set(m: Market, rules: Rules, family: int, price: float) -> float:
    if family >= 0:
        m.extra[family] = price
    else:
        for each in range(len(m.price)):
            m.extra[each] = price / m.most[each] if m.most[each] > 0 else 0.0
    choose(m, rules)
    return _excess(m, family)


@compiled
def _raise_price(m: Market, rules: Rules, family: int) -> None:
    """Bisect for the lowest price that is high enough; jobs that nothing but waiting could stop stay in demand."""
    low, high, doublings = 0.0, max(m.price.max(), 1e-9), 0
    while _set(m, rules, family, high) > _SLIP and doublings < 60:
        low, high, doublings = high, 4.0 * high, doublings + 1
    for _ in range(rules.steps):
        if high - low <= ENOUGH * high:
            break
        middle = 0.5 * (low + high)
        if _set(m, rules, family, middle) > _SLIP:
            low = middle
        else:
            high = middle
    _set(m, rules, family, high)
