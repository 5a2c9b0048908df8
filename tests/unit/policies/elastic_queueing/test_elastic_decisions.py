"""The compiled decisions against the rules written down plainly, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.policy import ElasticRule
from dlsched.policies.elastic_queueing.curves import CurveBook
from dlsched.policies.elastic_queueing.kernels.allot import decide
from dlsched.policies.elastic_queueing.kernels.tables import Jobs, answer_for, queues_for
from dlsched.policies.elastic_queueing.rules import kernel_rule, weights_of, widths_of
from tests.support import elastic_plain as plain
from tests.support.elastic_plain import PlainJob

ALPHA = 0.1
CHOICES: dict[str, tuple[plain.Choice, Callable[[PlainJob, int], float]]] = {
    "hell": (plain.hell, plain.by_inefficiency),
    "knee": (plain.knee_at(ALPHA), plain.by_time),
    "fastest": (plain.fastest, plain.by_time),
    "smallest": (plain.smallest, plain.by_source),
}


def rule(width: str, **changes: bool | float | int) -> ElasticRule:
    return ElasticRule(width, alpha=ALPHA, **changes)  # type: ignore[arg-type]


def decided(
    asked: ElasticRule, jobs: list[PlainJob], capacity: float, chunk: list[int] | None = None
) -> tuple[list[int], list[int]]:
    """Return the workers of each job and the chunks, from the compiled decision."""
    book = CurveBook(widths_of(asked), weights_of(asked))
    rates = np.zeros((len(jobs), max(len(job.rates) for job in jobs)))
    for row, job in enumerate(jobs):
        rates[row, : len(job.rates)] = job.rates
    last = np.full(len(jobs), rates.shape[1] - 1)
    book.add(np.arange(len(jobs)), lambda rows, workers: rates[rows, workers], np.ones_like(last), last)
    sizes = np.array([job.size for job in jobs])
    columns = Jobs(
        book.of(np.arange(len(jobs))),
        sizes,
        sizes,
        np.array([job.cost for job in jobs]),
        np.array([job.most for job in jobs]),
        np.array([job.fixed for job in jobs]),
        np.array([job.held for job in jobs]),
    )
    numbers = kernel_rule(asked, capacity)
    chunks = max(1, int(capacity // numbers.chunk)) if numbers.chunk else 1
    queues = queues_for(np.array(chunk or [-1] * len(jobs)), chunks)
    answer = answer_for(len(jobs))
    served = decide(numbers, book.curves, columns, queues, capacity, answer)
    assert set(answer.order[:served].tolist()) == set(np.flatnonzero(answer.given).tolist())
    return answer.given.tolist(), queues.chunk.tolist()


@st.composite
def instances(draw: st.DrawFn) -> tuple[list[PlainJob], float]:
    """Few powers of two, so that ties are the rule and reciprocals exact; some widths are not legal."""
    count = draw(st.integers(1, 7))
    rate = st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
    jobs = []
    for _ in range(count):
        widths = draw(st.lists(rate, min_size=0, max_size=9))
        jobs.append(
            PlainJob(
                [0.0, *widths],
                draw(st.sampled_from([1.0, 2.0, 4.0, 16.0])),
                draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])),
                draw(st.sampled_from([99, 99, 2, 0])),
            )
        )
    return jobs, float(draw(st.integers(0, 14)))


def smooth(dice: np.random.Generator) -> tuple[list[PlainJob], float]:
    """Return jobs with rising or bumpy curves and no ties; half of them have the dedicated server's flat start."""
    jobs = []
    for _ in range(int(dice.integers(1, 9))):
        rates = np.cumsum(dice.exponential(1, int(dice.integers(1, 16))))
        rates /= np.arange(1, len(rates) + 1) ** dice.uniform(0, 1.1)
        if dice.random() < 0.5:
            rates = np.concatenate([rates[:1], rates])
        jobs.append(PlainJob([0.0, *rates.tolist()], float(dice.uniform(0.1, 50))))
    return jobs, float(dice.integers(1, 30))


def check_malleable(width: str, fills: bool, jobs: list[PlainJob], capacity: float) -> None:
    expected = deepcopy(jobs)
    choice, key = CHOICES[width]
    left = plain.malleable(expected, capacity, choice, key)
    if fills:
        plain.fill(expected, left)
    assert decided(rule(width, fills=fills), jobs, capacity)[0] == [job.given for job in expected]


@pytest.mark.parametrize("fills", [False, True])
@pytest.mark.parametrize("width", CHOICES)
@settings(max_examples=300)
@given(drawn=instances())
def test_malleable_with_ties(width: str, fills: bool, drawn: tuple[list[PlainJob], float]):
    check_malleable(width, fills, *drawn)


@pytest.mark.parametrize("fills", [False, True])
@pytest.mark.parametrize("width", CHOICES)
def test_malleable_on_smooth_curves(width: str, fills: bool):
    dice = np.random.default_rng(7)
    for _ in range(500):
        check_malleable(width, fills, *smooth(dice))


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("width", ["hell", "knee"])
@settings(max_examples=300)
@given(drawn=instances(), data=st.data())
def test_moldable(width: str, blocking: bool, drawn: tuple[list[PlainJob], float], data: st.DataObject):
    jobs, capacity = drawn
    for job in jobs:
        job.fixed = data.draw(st.sampled_from([0, *job.legal(100.0)]))
    expected = deepcopy(jobs)
    plain.moldable(expected, capacity, *CHOICES[width], blocking=blocking)
    found = decided(rule(width, moldable=True, blocking=blocking), jobs, capacity)[0]
    assert found == [job.given for job in expected]


# ---- chunks ------------------------------------------------------------------------------------------------


def plain_queues(jobs: list[PlainJob], capacity: float, asked: int, chunk: list[int]) -> tuple[list[int], list[int]]:
    """JSQ-Chunk: join the shortest queue in source order; each chunk runs whom it runs, else its first that can."""
    size = min(float(asked), capacity)
    for job in jobs:
        needs = plain.smallest(job, capacity) * job.cost
        size = max(size, needs)
    count = max(1, int(capacity / size + 1e-9)) if size else 1
    queue: list[list[int]] = [[] for _ in range(count)]
    for i, number in enumerate(chunk):
        if 0 <= number < count:
            queue[number].append(i)
    for i, number in enumerate(chunk):
        if not 0 <= number < count:
            min(queue, key=len).append(i)
    given, joined = [0] * len(jobs), [0] * len(jobs)
    for number, members in enumerate(queue):
        for i in members:
            joined[i] = number
        able = sorted(i for i in members if plain.fastest(jobs[i], size) > 0)
        runs = [i for i in able if jobs[i].held > 0]
        if able:
            first = (runs or able)[0]
            room = int(size / jobs[first].cost + 1e-9)
            keeps = 0 < jobs[first].held <= min(room, jobs[first].most)
            given[first] = jobs[first].held if keeps else plain.fastest(jobs[first], size)
    return given, joined


@settings(max_examples=400)
@given(drawn=instances(), asked=st.integers(1, 6), data=st.data())
def test_join_the_shortest_queue(drawn: tuple[list[PlainJob], float], asked: int, data: st.DataObject):
    jobs, capacity = drawn
    chunk = [data.draw(st.integers(-1, 3)) for _ in jobs]
    for job in jobs:
        legal = job.legal(capacity)
        job.held = data.draw(st.sampled_from([0, 0, *legal]))
    assert decided(rule("fastest", chunk=asked), jobs, capacity, chunk) == plain_queues(jobs, capacity, asked, chunk)


def linear(size: float, widest: int = 20, held: int = 0) -> PlainJob:
    return PlainJob([float(w) for w in range(widest + 1)], size, held=held)


def test_what_no_chunk_gets_stays_idle():
    given, chunk = decided(rule("fastest", chunk=4), [linear(1.0) for _ in range(5)], 14.0)
    assert given == [4, 4, 4, 0, 0]  # 14 mod 4 = 2 nodes run nothing
    assert chunk == [0, 1, 2, 0, 1]


def test_a_chunk_is_as_large_as_the_widest_job_needs_and_no_larger_than_the_cluster():
    rigid = PlainJob([0.0] * 6 + [1.0], 1.0)
    assert decided(rule("fastest", chunk=2), [linear(1.0), rigid, linear(1.0)], 14.0) == ([6, 6, 0], [0, 1, 0])
    assert decided(rule("fastest", chunk=99), [linear(1.0), linear(1.0)], 14.0)[0] == [14, 0]


def test_a_job_whose_chunk_is_gone_joins_another():
    jobs = [linear(1.0, held=4), linear(1.0, held=4)]
    assert decided(rule("fastest", chunk=4), jobs, 8.0, [1, 0]) == ([4, 4], [1, 0])
    assert decided(rule("fastest", chunk=4), jobs, 7.0, [1, 0]) == ([4, 0], [0, 0])


# ---- by hand -----------------------------------------------------------------------------------------------


def test_the_shortest_first_and_the_rest_fills():
    # w / X**2: 1, .69, .75 -> two nodes each; S: 10/1.7, 6/1.7; six nodes: 2 + 2, and 2 are left
    curve = [0.0, 1.0, 1.7, 2.0]
    jobs = [PlainJob(curve, 10.0), PlainJob(curve, 6.0)]
    assert decided(rule("hell"), jobs, 6.0)[0] == [2, 2]
    # the short one takes one and is at its end; the long one at 5 s is not the shortest: 1 node stays idle
    assert decided(rule("hell", fills=True), jobs, 6.0)[0] == [2, 3]
    assert decided(rule("hell", fills=True), jobs, 3.0)[0] == [1, 2]


def test_filling_makes_another_job_the_shortest_when_that_takes_the_fewest_nodes():
    jobs = [PlainJob([0.0, 1.0, 1.0, 1.5], 4.0), PlainJob([0.0, 1.0, 3.0], 5.0)]
    # one more: job 0 stays at 4 s, job 1 gets to 5/3 s
    assert decided(rule("smallest", fills=True), jobs, 3.0)[0] == [1, 2]


def test_ties_go_to_the_first_job():
    jobs = [linear(3.0, 4), linear(3.0, 4), linear(3.0, 4)]
    assert decided(rule("fastest"), jobs, 6.0)[0] == [4, 2, 0]
    assert decided(rule("knee", moldable=True), jobs, 6.0)[0] == [4, 0, 0]


def test_an_order_by_gamma_puts_new_jobs_first():
    assert decided(rule("fastest", gamma=1.05), [linear(3.0), linear(4.0)], 1.0)[0] == [1, 0]  # neither has begun
    assert sizes_with_progress(gamma=1.05) == pytest.approx([3.0 * 4**1.05, 4.0])
    assert sizes_with_progress(gamma=0.0) == [3.0, 4.0]


def sizes_with_progress(gamma: float) -> list[float]:
    """Return the sizes of a job with 3 of 12 left and of a new one of 4."""
    asked = rule("fastest", gamma=gamma)
    book = CurveBook(widths_of(asked), weights_of(asked), 1)
    book.add(np.arange(2), lambda rows, workers: np.ones(len(rows)))
    none = np.zeros(2, dtype=np.int64)
    columns = Jobs(none, np.array([3.0, 4.0]), np.array([12.0, 4.0]), np.ones(2), none + 1, none, none)
    answer = answer_for(2)
    decide(kernel_rule(asked, 1.0), book.curves, columns, queues_for(none - 1, 1), 1.0, answer)
    assert answer.given.tolist() == ([0, 1] if gamma else [1, 0])
    return answer.size.tolist()


def test_a_job_that_outlives_its_estimate_comes_first_and_still_gets_nodes():
    jobs = [linear(5.0, 2), linear(0.0, 2)]
    asked = rule("knee", fills=True)
    book = CurveBook(widths_of(asked), weights_of(asked), 2)
    book.add(np.arange(2), lambda rows, workers: workers.astype(float))
    none = np.zeros(2, dtype=np.int64)
    columns = Jobs(none, np.array([job.size for job in jobs]), np.full(2, 5.0), np.ones(2), none + 2, none, none)
    answer = answer_for(2)
    decide(kernel_rule(asked, 3.0), book.curves, columns, queues_for(none - 1, 1), 3.0, answer)
    assert answer.given.tolist() == [1, 2]


def test_a_moldable_job_is_molded_anew_where_the_cluster_has_shrunk_below_its_width():
    job = linear(1.0, 8)
    job.fixed = 6
    assert decided(rule("hell", moldable=True), [job], 8.0)[0] == [6]
    assert decided(rule("hell", moldable=True), [job], 4.0)[0] == [4]


def test_workers_of_several_gpus_and_jobs_without_room():
    wide = PlainJob([0.0, 1.0, 2.0, 3.0, 4.0], 8.0, cost=2.0)
    # S/E: 2.67 with the three workers that 7 GPUs hold, 2.25 with four of one GPU; then 3 GPUs are left
    assert decided(rule("hell"), [wide, linear(9.0, 4)], 7.0)[0] == [1, 4]
    assert decided(rule("hell"), [PlainJob([0.0, 1.0], 8.0, cost=9.0)], 7.0)[0] == [0]
