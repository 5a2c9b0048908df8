"""The knee of a frontier: where a further dollar begins to buy little."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dlsched.metrics.stats.knee import knee_of


def test_the_knee_is_furthest_below_the_chord() -> None:
    """Costs 0 1 2 3 4, service 10 4 2 1 0: scaled, 1 - x - y is 0, .35, .3, .15, 0."""
    assert knee_of([0, 1, 2, 3, 4], [10, 4, 2, 1, 0]) == 1
    assert knee_of([0, 1, 2], [2, 1, 0]) is None  # on the chord
    assert knee_of([0, 1, 2], [2, 1.9, 0]) is None  # above it
    assert knee_of([0, 1], [1, 0]) is None
    assert knee_of([1, 1, 1], [3, 2, 1]) is None


@given(
    points=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=3, max_size=9),
    by=st.sampled_from([0.25, 2.0, 1024.0]),
    plus=st.sampled_from([0.0, 64.0]),
)
def test_units_do_not_move_the_knee_and_it_is_below_the_chord(
    points: list[tuple[int, int]], by: float, plus: float
) -> None:
    costs = [float(cost) for cost in sorted(cost for cost, _ in points)]
    services = [float(service) for service in sorted((service for _, service in points), reverse=True)]
    found = knee_of(costs, services)
    assert knee_of([by * cost + plus for cost in costs], [2 * by * service for service in services]) == found
    if found is not None:
        part = (costs[found] - costs[0]) / (costs[-1] - costs[0])
        assert services[found] < services[0] + part * (services[-1] - services[0])
