"""The everyday policies: each is an order and a discipline."""

from __future__ import annotations

from functools import partial

from dlsched.domain.policy import ListRule, Need, PolicySpec
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines import orders
from dlsched.policies.baselines.disciplines import fair_shares, head_of_line, preemptive, with_skip
from dlsched.policies.baselines.easy import easy_backfill
from dlsched.policies.baselines.params import DlasParams, LasParams, ListParams
from dlsched.policies.baselines.policy import ListPolicy

FAMILY = "everyday"
RUN_TIMES = "run times"


def _fifo(params: ListParams) -> ListPolicy:
    rule = ListRule("submit", blocking=True)
    return ListPolicy(orders.by_submission, head_of_line, rule, vm_type=params.vm_type)


def _fifo_skip(params: ListParams) -> ListPolicy:
    rule = ListRule("submit", blocking=False)
    return ListPolicy(orders.by_submission, with_skip, rule, vm_type=params.vm_type)


def _sjf(params: ListParams) -> ListPolicy:
    rule = ListRule("work", blocking=False)
    return ListPolicy(orders.by_remaining, with_skip, rule, vm_type=params.vm_type)


def _srtf(params: ListParams) -> ListPolicy:
    rule = ListRule("remaining", blocking=False, preemptive=True)
    return ListPolicy(orders.by_remaining, preemptive, rule, vm_type=params.vm_type)


def _las(params: LasParams) -> ListPolicy:
    rule = ListRule("attained", blocking=False, preemptive=True, quantum_s=params.quantum_s)

    def alarm(state: State, running: Ints) -> float | None:
        return orders.next_multiple_s(state.now_s, params.quantum_s)

    return ListPolicy(orders.by_attained, preemptive, rule, alarm, params.vm_type)


def _dlas(params: DlasParams) -> ListPolicy:
    thresholds = params.thresholds_gpu_s
    rule = ListRule("attained", blocking=False, preemptive=True, thresholds_gpu_s=thresholds)

    def order(state: State, rows: Ints) -> Floats:
        return orders.queue_number(state, rows, thresholds)

    alarm = partial(orders.next_crossing_s, thresholds_gpu_s=thresholds)
    return ListPolicy(order, preemptive, rule, alarm, params.vm_type)


def _edf(params: ListParams) -> ListPolicy:
    rule = ListRule("due", blocking=True)
    return ListPolicy(orders.by_due, head_of_line, rule, vm_type=params.vm_type)


def _priority(params: ListParams) -> ListPolicy:
    rule = ListRule("priority", blocking=True)
    return ListPolicy(orders.by_priority, head_of_line, rule, vm_type=params.vm_type)


def _easy(params: ListParams) -> ListPolicy:
    rule = ListRule("submit", blocking=True, backfill=True)
    return ListPolicy(orders.by_submission, easy_backfill, rule, vm_type=params.vm_type)


def _drf(params: ListParams) -> ListPolicy:
    return ListPolicy(orders.by_submission, fair_shares, None, vm_type=params.vm_type)


BASELINES: tuple[PolicySpec, ...] = (
    PolicySpec(
        "fifo",
        "FIFO",
        FAMILY,
        "First come, first served; the first job that does not fit holds up all behind it.",
        _fifo,
        ListParams,
    ),
    PolicySpec(
        "fifo-skip",
        "FIFO with skip",
        FAMILY,
        "First come, first served, but goes past those that do not fit; wide jobs may wait long.",
        _fifo_skip,
        ListParams,
    ),
    PolicySpec(
        "sjf",
        "SJF",
        FAMILY,
        "Shortest job first: starts the job with the shortest believed run time that fits; never stops a job.",
        _sjf,
        ListParams,
        knows=RUN_TIMES,
        uses_run_times=True,
    ),
    PolicySpec(
        "srtf",
        "SRTF",
        FAMILY,
        "Shortest remaining time first: runs the jobs believed to end soonest and stops the others at every event.",
        _srtf,
        ListParams,
        knows=RUN_TIMES,
        uses_run_times=True,
    ),
    PolicySpec(
        "las",
        "LAS",
        FAMILY,
        "Least attained service: runs the jobs that have held the fewest GPU-seconds, decided anew every quantum.",
        _las,
        LasParams,
        paper="Gu et al., Tiresias, NSDI 2019",
    ),
    PolicySpec(
        "dlas",
        "LAS in queues",
        FAMILY,
        "Queues by thresholds of GPU-seconds held, first come first served inside; a job moves down as it holds more.",
        _dlas,
        DlasParams,
        paper="Gu et al., Tiresias, NSDI 2019",
    ),
    PolicySpec(
        "edf",
        "EDF",
        FAMILY,
        "Earliest due date first: jobs without one last; the first that does not fit holds up all behind it.",
        _edf,
        ListParams,
        frozenset({Need.DUE}),
    ),
    PolicySpec(
        "priority",
        "Priority",
        FAMILY,
        "Starts jobs by priority, highest number first; the first that does not fit holds up all behind it.",
        _priority,
        ListParams,
        frozenset({Need.PRIORITY}),
    ),
    PolicySpec(
        "easy-backfill",
        "EASY backfill",
        FAMILY,
        "Promises the first waiting job its start; later jobs go ahead only where they do not delay that.",
        _easy,
        ListParams,
        knows=RUN_TIMES,
        uses_run_times=True,
        paper="Lifka, The ANL/IBM SP scheduling system, JSSPP 1995",
    ),
    PolicySpec(
        "drf",
        "DRF",
        FAMILY,
        "Dominant resource fairness: serves the user (else group) with the lowest share of the scarcest resource next.",
        _drf,
        ListParams,
        paper="Ghodsi et al., Dominant resource fairness, NSDI 2011",
    ),
)
