"""The price per GPU and time unit, on top of the bill, at which the jobs ask for no more GPUs than there are."""

from __future__ import annotations

from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.market_kernels.mix import cheapest
from dlsched.policies.gpuaas.market_kernels.tables import Market, Rules

ENOUGH = 1e-4
"""Relative width of the bracket at which the search for the price ends."""
SWEEPS = 2
RAISE, NUDGE, MOST_RAISES = 8.0, 1.01, 40
SLIP = 1e-9


@compiled
def clear_market(m: Market, rules: Rules) -> None:
    """Find the extra prices and let every job choose at them.

    Free nodes can take any GPU type, so there is one price per node, shared by its GPUs; nodes that stay are a
    market for each GPU type.
    """
    _set_price(m, rules, -1, 0.0)
    _choose_all(m, rules)
    if _num_free(m) > 0:
        _raise_price(m, rules, -1)
        return
    for _ in range(SWEEPS if len(m.price) > 1 else 1):
        for family in range(len(m.price)):
            _set_price(m, rules, family, 0.0)
            _choose_all(m, rules)
            _raise_price(m, rules, family)


@compiled
def _num_free(m: Market) -> int:
    count = 0
    for node in range(len(m.room)):
        if m.room[node] == 0:
            count += 1
    return count


@compiled
def _raise_price(m: Market, rules: Rules, family: int) -> None:
    """Bisect for the lowest price at which no GPUs are missing.

    A job that chooses the same at both ends of the bracket is taken to choose it in between as well, so that only
    few have to be asked again. Where one does not after all, small steps upwards make up for it.
    """
    if _missing(m, family) <= SLIP:
        return
    low, high = 0.0, SLIP
    for each in range(len(m.price)):
        high = max(high, m.price[each])
    for _ in range(MOST_RAISES):
        for job in range(len(m.choice)):
            m.at_low[job] = m.choice[job]
        _set_price(m, rules, family, high)
        _choose_all(m, rules)
        if _missing(m, family) <= SLIP:
            break
        low, high = high, RAISE * high
    num_unsure = _list_unsure(m)
    for _ in range(rules.steps):
        if high - low <= ENOUGH * high or num_unsure == 0:
            break
        middle = 0.5 * (low + high)
        _set_price(m, rules, family, middle)
        for k in range(num_unsure):
            _choose(m, rules, m.unsure[k])
        is_low = _missing(m, family) > SLIP
        low, high = (middle, high) if is_low else (low, middle)
        num_unsure = _narrow_unsure(m, num_unsure, is_low)
    for _ in range(MOST_RAISES):
        _set_price(m, rules, family, high)
        _choose_all(m, rules)
        if _missing(m, family) <= SLIP:
            return
        high *= NUDGE


@compiled
def _list_unsure(m: Market) -> int:
    """List the jobs that do not choose the same at both ends of the bracket; the high end is at hand."""
    for job in range(len(m.choice)):
        m.unsure[job] = job
    return _narrow_unsure(m, len(m.choice), False)


@compiled
def _narrow_unsure(m: Market, num_unsure: int, is_low: bool) -> int:
    """Take what the unsure jobs chose last as the choice at one end; keep those that still differ."""
    size = 0
    for k in range(num_unsure):
        job = m.unsure[k]
        if is_low:
            m.at_low[job] = m.choice[job]
        else:
            m.at_high[job] = m.choice[job]
        if m.at_low[job] != m.at_high[job]:
            m.unsure[size] = job
            size += 1
    return size


@compiled
def _set_price(m: Market, rules: Rules, family: int, price: float) -> None:
    """Set the extra price per GPU of a type, or per node of any type (family -1)."""
    m.is_short[0] = 0
    for each in range(len(m.price)):
        if family < 0:
            m.extra[each] = price / m.most[each] if m.most[each] > 0 else 0.0
        elif each == family:
            m.extra[each] = price
        if m.extra[each] > 0:
            m.is_short[0] = 1
        m.quote[each] = m.price[each] + m.extra[each]
        m.later_quote[each] = m.price[each] + rules.later_price * m.extra[each]


@compiled
def _choose_all(m: Market, rules: Rules) -> None:
    for job in range(len(m.slack)):
        _choose(m, rules, job)


@compiled
def _choose(m: Market, rules: Rules, job: int) -> None:
    """Let a job choose between running and waiting, and how to run; keep ``demand`` up to date."""
    if m.num_configs[job] == 0:
        return
    if m.choice[job] >= 0:
        m.demand[m.family[job, m.choice[job]]] -= m.gpus[job, m.choice[job]]
    cost, now, later, span = cheapest(m, job, m.quote, m.slack[job], rules.mixing)
    m.run_cost[job], m.now[job], m.later[job], m.span[job] = cost, now, later, span
    m.wait_cost[job] = cost
    if m.is_short[0]:
        m.wait_cost[job] = cheapest(m, job, m.later_quote, m.slack[job] - rules.wait, rules.mixing)[0]
    m.choice[job] = now if cost <= m.wait_cost[job] else -1
    if m.choice[job] >= 0:
        m.demand[m.family[job, now]] += m.gpus[job, now]


@compiled
def _missing(m: Market, family: int) -> float:
    """Return the GPUs of a type asked for beyond those there are; family -1 = nodes beyond the free ones."""
    if family >= 0:
        return 1.0 * (m.demand[family] - m.fixed[family])
    beyond = -1.0 * _num_free(m)
    for each in range(len(m.price)):
        if m.demand[each] > m.fixed[each]:
            beyond += (m.demand[each] - m.fixed[each]) / m.most[each]
    return beyond
