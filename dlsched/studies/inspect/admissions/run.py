"""A simulation again up to some of its intervals, with what all rules would do with both admissions in each of them.

Earlier intervals are decided again and not taken from what is stored: with the choices by random rounding (Algorithm 2
of the study) every later one depends on the numbers drawn before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dlsched.domain.model import FrozenModel
from dlsched.domain.plan import Plan, WaitReason
from dlsched.domain.scenario import Scenario
from dlsched.domain.state import State
from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.policies.smd import knapsack
from dlsched.policies.smd.admission import SLACK
from dlsched.policies.smd.choices import Gang
from dlsched.policies.smd.params import RivalParams, SmdParams
from dlsched.policies.smd.policy import Decided, IntervalPolicy, admission, esw, optimus_policy, smd
from dlsched.policies.smd.specs import NOTHING
from dlsched.studies.inspect.admissions.answer import ADMISSION_WORDS, Admission, Admissions, Fate, RuleOutcome
from dlsched.studies.inspect.admissions.spec import AdmissionsSpec
from dlsched.studies.inspect.re_execute import DecisionWatcher, re_execute
from dlsched.studies.simulation import Progress
from dlsched.wording.formats import listed, share
from dlsched.wording.resources import RESOURCE_WORDS


def run_admissions(spec: AdmissionsSpec, scenario: Scenario, progress: Progress | None = None) -> Admissions:
    """Return the intervals asked for, of those in which jobs waited, as many as the run has.

    Raises
    ------
    InputError
        If this is another scenario than the question names, or the policy cannot run it.
    """
    watcher = re_execute(spec, scenario, lambda params, _: _Watcher(spec, params, progress))
    return Admissions(decisions=tuple(watcher.decisions))


class _Line(NamedTuple):
    """What is shown of a job: its fate and gang, seconds it takes with it, its worth, what it blocks (R,), and why."""

    fate: Fate
    gang: Gang | None
    length_s: float
    worth: float
    blocks: Floats
    reason: str


class _Watcher(DecisionWatcher[Admission]):
    """Asks all rules with both admissions in each interval, and plans as the one of the run.

    The other rules have the run's interval and knapsack. Only SMD with random rounding draws, and then it is the run's
    own: the others leave its random numbers alone.
    """

    def __init__(self, spec: AdmissionsSpec, params: FrozenModel, progress: Progress | None) -> None:
        assert isinstance(params, SmdParams | RivalParams)
        shared = params.model_dump(include={"interval_s", "keep_share", "knapsack", "size"})
        rivals = params if isinstance(params, RivalParams) else RivalParams(**shared)
        self._policies: dict[str, IntervalPolicy] = {
            "smd": smd(params if isinstance(params, SmdParams) else SmdParams(**shared)),
            "esw": esw(rivals),
            "optimus": optimus_policy(rivals),
        }
        self._admits = {name: admission(rivals.model_copy(update={"admission": name})) for name in ADMISSION_WORDS}
        self._own, self._params = self._policies[spec.policy], params
        self._number = 0
        self._running: dict[int, _Line] = {}
        super().__init__(spec, self._own.review, progress)

    def plan(self, state: State) -> Plan:
        """Return the plan of the watched policy; raise EnoughDecisions after the last interval wanted."""
        if not len(state.waiting):
            return Plan()
        self._number += 1
        own = self._own.decide(state)
        started = _started(state, own)
        self.keep(self._number, lambda: self._admission(state, own, started))
        why = "admitted before, runs to its end"
        self._running |= {row: line._replace(fate="running", reason=why) for row, line in started.items()}
        return self._own.plan_of(state, own)

    def _admission(self, state: State, own: Decided, started: Mapping[int, _Line]) -> Admission:
        """Return the interval as it is shown."""
        up = state.nodes.up
        capacity, free = state.nodes.capacity[up].sum(axis=0), state.nodes.free[up].sum(axis=0)
        pool_free = state.placer().pool_free
        stated = np.flatnonzero(np.isfinite(capacity) & (capacity > 0))
        total = capacity[stated]
        value = np.nan_to_num(own.offers.value, nan=0.0)
        price, _ = knapsack.shadow_prices(value, own.offers.weight, np.maximum(pool_free, 0.0))

        left = pool_free - sum((line.blocks for line in started.values()), start=np.zeros(len(RESOURCES)))
        keep_share = self._params.keep_share
        lines = {
            row: started[row] if row in started else _stays_out(row, state, own, keep_share, (pool_free, left))
            for row in state.waiting.tolist()
        }
        lines |= {row: self._running[row] for row in state.running.tolist() if row in self._running}
        rows = np.array(list(lines), dtype=np.int64)
        gangs = [(line.gang.workers, line.gang.servers) if line.gang else (0, 0) for line in lines.values()]
        workers, servers = np.array(gangs, dtype=float).reshape(-1, 2).T[:, :, None]
        holds = workers * state.jobs.demand[rows] + servers * state.jobs.server_demand[rows]
        blocks = np.array([line.blocks for line in lines.values()]).reshape(len(rows), len(RESOURCES))
        besides = self._besides(state, own)
        best = next(one for one in besides if (one.rule, one.admission) == (self.spec.policy, "knapsack"))
        bound = None if best.bound is None or own.value is None else max(best.bound, own.value)
        return Admission(
            number=self._number,
            time_s=float(state.now_s),
            rule=self.spec.policy,
            admission=self._params.admission,
            resources=tuple(RESOURCES[place] for place in stated.tolist()),
            capacity=tuple(total.tolist()),
            used=tuple((total - free[stated]).tolist()),
            reserved=tuple((total - pool_free[stated]).tolist()),
            price=tuple(price[stated].tolist()),
            jobs=tuple(str(state.jobs.job_id[row]) for row in lines),
            row=tuple(lines),
            fate=tuple(line.fate for line in lines.values()),
            workers=tuple(workers_of for workers_of, _ in gangs),
            servers=tuple(servers_of for _, servers_of in gangs),
            time_s_of=tuple(_none_if_nan(line.length_s) for line in lines.values()),
            worth=tuple(_none_if_nan(line.worth) for line in lines.values()),
            blocks=tuple(tuple(of_job) for of_job in blocks[:, stated].tolist()),
            holds=tuple(tuple(of_job) for of_job in holds[:, stated].tolist()),
            reason=tuple(line.reason for line in lines.values()),
            value=own.value,
            bound=bound,
            status=own.verdict.status or ("optimal" if bound is not None and own.value == bound else ""),
            besides=besides,
            worthless=_is_worthless(state, own),
        )

    def _besides(self, state: State, own: Decided) -> tuple[RuleOutcome, ...]:
        """Return what each rule does with each admission; the run's own is not asked again."""
        besides = []
        for rule, policy in self._policies.items():
            for name, admit in self._admits.items():
                is_own = (rule, name) == (self.spec.policy, self._params.admission)
                decided = own if is_own else policy.decide(state, admit)
                rows = tuple(decided.offers.rows[decided.started].tolist())
                verdict = decided.verdict
                besides.append(
                    RuleOutcome(rule=rule, admission=name, rows=rows, worth=decided.value, status=verdict.status,
                           bound=verdict.bound)
                )  # fmt: skip
        return tuple(besides)


def _started(state: State, decided: Decided) -> dict[int, _Line]:
    """Return what a decision starts, by row."""
    offers, started = decided.offers, decided.started
    lengths = _lengths_s(state, offers.rows[started], decided.gangs)
    lines = {}
    for place, gang, length_s, worth in zip(started.tolist(), decided.gangs, lengths, decided.worth, strict=True):
        why = "admitted" if offers.gangs[place] == gang else "admitted, with a smaller gang, because no job runs"
        lines[int(offers.rows[place])] = _Line("in", gang, float(length_s), float(worth), offers.weight[place], why)
    return lines


def _stays_out(row: int, state: State, own: Decided, keep_share: float, free: tuple[Floats, Floats]) -> _Line:
    """Return what is shown of a row that does not get in; ``free``: in the pool before and after the admissions."""
    nothing = np.zeros(len(RESOURCES))
    place = int(np.searchsorted(own.offers.rows, row))
    if place == len(own.offers.rows) or own.offers.rows[place] != row:
        if row in own.never:
            return _Line("rejected", None, np.nan, np.nan, nothing, "its smallest gang exceeds its limit or all nodes")
        return _Line("carried over", None, np.nan, np.nan, nothing, "the nodes that are up cannot hold it")
    gang, worth, weight = own.offers.gangs[place], float(own.offers.value[place]), own.offers.weight[place]
    length_s = float(_lengths_s(state, np.array([row]), [gang])[0])
    if row in own.rejected:
        why = _why_rejected(worth, float(own.at_once[place]), keep_share)
        return _Line("rejected", gang, length_s, worth, weight, why)
    why = _why_it_waits(WaitReason(int(own.verdict.codes[place])), weight, *free)
    return _Line("carried over", gang, length_s, worth, weight, why)


def _lengths_s(state: State, rows: Ints, gangs: Sequence[Gang]) -> Floats:
    step_s = np.array([gang.step_s for gang in gangs], dtype=float)
    return np.asarray(state.restart_ahead_s(rows) + state.remaining(rows) * step_s)


def _why_rejected(worth: float, at_once: float, keep_share: float) -> str:
    if worth <= 0:
        return "worth 0 by now"
    kept, least = share(worth / at_once), share(keep_share)
    return f"would keep {kept} of its worth, less than {least}" if kept != least else f"would keep just under {least}"


def _why_it_waits(code: WaitReason, weight: Floats, before: Floats, after: Floats) -> str:
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


def _is_worthless(state: State, own: Decided) -> bool:
    most = state.jobs.utility_1
    if most is None or not len(own.offers.rows) or np.isnan(own.at_once).all():
        return False
    return bool(np.nanmax(own.at_once / most[own.offers.rows]) <= NOTHING)


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
