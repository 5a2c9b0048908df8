"""From the state of an interval to what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dlsched.domain.plan import WaitReason
from dlsched.domain.state import State
from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.policies.smd import knapsack
from dlsched.policies.smd.admission import SLACK
from dlsched.policies.smd.choices import Gang
from dlsched.policies.smd.policy import Admit, Decided, IntervalPolicy
from dlsched.policies.smd.specs import NOTHING
from dlsched.studies.inspect.admissions.answer import Admission, Beside, Fate
from dlsched.wording.formats import listed, share
from dlsched.wording.gangs import RESOURCE_WORDS


class Started(NamedTuple):
    """A job that was admitted: its gang, seconds it was to take, its worth then, what it blocks (R,), and when."""

    gang: Gang
    length_s: float
    worth: float
    blocks: Floats
    at_s: float


@dataclass(frozen=True, eq=False)
class Asker:
    """The rules that are asked in each interval; ``rule`` is the run's own, which admits by ``admission``."""

    rule: str
    admission: str
    keep_share: float
    rules: Mapping[str, IntervalPolicy]
    admits: Mapping[str, Admit]

    @property
    def own(self) -> IntervalPolicy:
        """The policy of the run."""
        return self.rules[self.rule]

    def started(self, state: State, decided: Decided) -> dict[int, Started]:
        """Return what a decision starts, by row."""
        rows = decided.offers.rows[decided.started]
        lengths = _lengths(state, rows, decided.gangs)
        weights = decided.offers.weight[decided.started]
        return {
            int(row): Started(gang, float(length_s), float(worth), weight, state.now_s)
            for row, gang, length_s, worth, weight in zip(
                rows, decided.gangs, lengths, decided.worth, weights, strict=True
            )
        }

    def besides(self, state: State, own: Decided) -> tuple[Beside, ...]:
        """Return what each rule does with each admission; the run's own is not asked again."""
        found = []
        for rule, policy in self.rules.items():
            for name, admit in self.admits.items():
                is_own = (rule, name) == (self.rule, self.admission)
                decided = own if is_own else policy.decide(state, admit)
                rows = tuple(decided.offers.rows[decided.started].tolist())
                verdict = decided.verdict
                found.append(Beside(rule, name, rows, decided.value, verdict.status, verdict.bound))
        return tuple(found)


def admission_of(number: int, state: State, asker: Asker, own: Decided, running: Mapping[int, Started]) -> Admission:
    """Return the interval as it is shown; ``running`` what was admitted before, by row."""
    up = state.nodes.up
    capacity, free = state.nodes.capacity[up].sum(axis=0), state.nodes.free[up].sum(axis=0)
    pool_free = state.placer().pool_free
    stated = np.flatnonzero(np.isfinite(capacity) & (capacity > 0))
    total = capacity[stated]
    offers = own.offers
    value = np.nan_to_num(offers.value, nan=0.0)
    price, _ = knapsack.shadow_prices(value, offers.weight, np.maximum(pool_free, 0.0))

    started = asker.started(state, own)
    before = [row for row in state.running.tolist() if row in running]
    lines = [_line(row, state, asker, own, started, pool_free) for row in state.waiting.tolist()]
    lines += [_ran(running[row]) for row in before]
    rows = np.array([*state.waiting.tolist(), *before], dtype=np.int64)
    parts = [(line.gang.workers, line.gang.servers) if line.gang else (0, 0) for line in lines]
    workers, servers = np.array(parts, dtype=float).reshape(-1, 2).T[:, :, None]
    holds = workers * state.jobs.demand[rows] + servers * state.jobs.server_demand[rows]
    blocks = np.array([line.blocks for line in lines]).reshape(len(rows), len(RESOURCES))
    besides = asker.besides(state, own)
    best = next(one for one in besides if (one.rule, one.admission) == (asker.rule, "knapsack"))
    bound = None if best.bound is None or own.value is None else max(best.bound, own.value)
    return Admission(
        number=number,
        time_s=float(state.now_s),
        rule=asker.rule,
        admission=asker.admission,
        resources=tuple(RESOURCES[place] for place in stated.tolist()),
        capacity=tuple(total.tolist()),
        used=tuple((total - free[stated]).tolist()),
        reserved=tuple((total - pool_free[stated]).tolist()),
        price=tuple(price[stated].tolist()),
        jobs=tuple(str(state.jobs.job_id[row]) for row in rows.tolist()),
        row=tuple(rows.tolist()),
        fate=tuple(line.fate for line in lines),
        workers=tuple(int(count) for count in workers[:, 0]),
        servers=tuple(int(count) for count in servers[:, 0]),
        time_s_of=tuple(_known(line.length_s) for line in lines),
        worth=tuple(_known(line.worth) for line in lines),
        blocks=tuple(tuple(line) for line in blocks[:, stated].tolist()),
        holds=tuple(tuple(line) for line in holds[:, stated].tolist()),
        reason=tuple(line.reason for line in lines),
        value=own.value,
        bound=bound,
        status=own.verdict.status or ("optimal" if bound is not None and own.value == bound else ""),
        besides=besides,
        worthless=_worthless(state, own),
    )


class _Line(NamedTuple):
    fate: Fate
    gang: Gang | None
    length_s: float
    worth: float
    blocks: Floats
    reason: str


def _ran(old: Started) -> _Line:
    return _Line("running", old.gang, old.length_s, old.worth, old.blocks, "admitted before, runs to its end")


def _line(
    row: int,
    state: State,
    asker: Asker,
    own: Decided,
    started: Mapping[int, Started],
    pool_free: Floats,
) -> _Line:
    """Return what is shown of a row that waited."""
    nothing = np.zeros(len(RESOURCES))
    if row in started:
        new = started[row]
        chosen = own.offers.gangs[int(np.searchsorted(own.offers.rows, row))]
        smaller = "" if chosen == new.gang else ", with a smaller gang, because nobody runs"
        return _Line("in", new.gang, new.length_s, new.worth, new.blocks, f"admitted{smaller}")
    place = int(np.searchsorted(own.offers.rows, row))
    if place == len(own.offers.rows) or own.offers.rows[place] != row:
        if row in own.never:
            return _Line("rejected", None, np.nan, np.nan, nothing, "its smallest gang exceeds its limit or all nodes")
        return _Line("carried over", None, np.nan, np.nan, nothing, "the nodes that are up cannot hold it")
    gang, worth, weight = own.offers.gangs[place], float(own.offers.value[place]), own.offers.weight[place]
    length_s = float(_lengths(state, np.array([row]), [gang])[0])
    if row in own.rejected:
        reason = _rejected(worth, float(own.at_once[place]), asker.keep_share)
        return _Line("rejected", gang, length_s, worth, weight, reason)
    taken = sum((one.blocks for one in started.values()), start=nothing)
    reason = _waits(WaitReason(int(own.verdict.codes[place])), weight, pool_free, pool_free - taken)
    return _Line("carried over", gang, length_s, worth, weight, reason)


def _lengths(state: State, rows: Ints, gangs: Sequence[Gang]) -> Floats:
    step_s = np.array([gang.step_s for gang in gangs], dtype=float)
    return np.asarray(state.restart_ahead_s(rows) + state.remaining(rows) * step_s)


def _rejected(worth: float, at_once: float, keep_share: float) -> str:
    if worth <= 0:
        return "worth 0 by now"
    kept, least = share(worth / at_once), share(keep_share)
    return f"would keep {kept} of its worth, less than {least}" if kept != least else f"would keep just under {least}"


def _waits(code: WaitReason, weight: Floats, before: Floats, after: Floats) -> str:
    """Return why a job is carried over; ``before`` and ``after`` the admissions: what the pool has free."""
    if code == WaitReason.NO_ROOM:
        short = np.flatnonzero(weight > before + SLACK)
        short = short if len(short) else np.flatnonzero(weight > after + SLACK)
        names = [RESOURCE_WORDS[RESOURCES[place]] for place in short.tolist()]
        return f"not enough {listed(names)} left" if names else "no room left"
    return WAITS[code]


WAITS = {
    WaitReason.NOT_ADMITTED: "the room goes to jobs worth more together",
    WaitReason.SPLIT: "there is room in all, but split over the nodes",
    WaitReason.BEHIND: "behind the first job that does not fit",
}


def _worthless(state: State, own: Decided) -> bool:
    most = state.jobs.utility_1
    if most is None or not len(own.offers.rows) or np.isnan(own.at_once).all():
        return False
    return bool(np.nanmax(own.at_once / most[own.offers.rows]) <= NOTHING)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
