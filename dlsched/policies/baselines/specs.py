"""The everyday policies: each is an order and a discipline."""

from __future__ import annotations

from functools import partial

import numpy as np

from dlsched.domain.policy import ListRule, Need, PolicySpec
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines import orders
from dlsched.policies.baselines.conservative import conservative
from dlsched.policies.baselines.disciplines import fair_shares, head_of_line, preemptive, with_skip
from dlsched.policies.baselines.easy import easy_backfill
from dlsched.policies.baselines.gittins import GittinsPolicy
from dlsched.policies.baselines.params import (
    BackfillParams,
    DlasParams,
    GittinsParams,
    LasParams,
    ListParams,
    ThemisParams,
)
from dlsched.policies.baselines.policy import ListPolicy
from dlsched.policies.baselines.themis import by_fairness

FAMILY = "everyday"
RUN_TIMES = "run-time estimates"


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

    ranks = np.arange(len(thresholds) + 1)[None, :]
    alarm = partial(orders.next_setback_s, order=order, ranks=ranks, thresholds_gpu_s=thresholds)
    return ListPolicy(order, preemptive, rule, alarm, params.vm_type)


def _themis(params: ThemisParams) -> ListPolicy:
    def order(state: State, rows: Ints) -> Floats:
        return by_fairness(state, rows, params.lease_s, params.filter_share)

    def alarm(state: State, running: Ints) -> float | None:
        return orders.next_multiple_s(state.now_s, params.lease_s)

    return ListPolicy(order, preemptive, None, alarm, params.vm_type)


def _edf(params: ListParams) -> ListPolicy:
    rule = ListRule("due", blocking=True)
    return ListPolicy(orders.by_due, head_of_line, rule, vm_type=params.vm_type)


def _priority(params: ListParams) -> ListPolicy:
    rule = ListRule("priority", blocking=True)
    return ListPolicy(orders.by_priority, head_of_line, rule, vm_type=params.vm_type)


def _easy(params: BackfillParams) -> ListPolicy:
    one_by_one = params.events == "single"
    rule = ListRule("submit", blocking=True, backfill="easy", one_by_one=one_by_one)
    return ListPolicy(orders.by_submission, easy_backfill, rule, vm_type=params.vm_type, one_by_one=one_by_one)


def _conservative(params: BackfillParams) -> ListPolicy:
    one_by_one = params.events == "single"
    rule = ListRule("submit", blocking=True, backfill="conservative", one_by_one=one_by_one)
    return ListPolicy(orders.by_submission, conservative, rule, vm_type=params.vm_type, one_by_one=one_by_one)


def _drf(params: ListParams) -> ListPolicy:
    rule = ListRule("submit", blocking=False, fair=True)
    return ListPolicy(orders.by_submission, fair_shares, rule, vm_type=params.vm_type)


BASELINES: tuple[PolicySpec, ...] = (
    PolicySpec(
        "fifo",
        "FIFO",
        FAMILY,
        "First come, first served; the first job that does not fit blocks all jobs behind it.",
        _fifo,
        ListParams,
    ),
    PolicySpec(
        "easy-backfill",
        "EASY backfill",
        FAMILY,
        "Reserves a start for the first waiting job; later jobs go ahead only if they do not delay it.",
        _easy,
        BackfillParams,
        knows=RUN_TIMES,
        uses_run_times=True,
        paper="Lifka, The ANL/IBM SP scheduling system, JSSPP 1995",
    ),
    PolicySpec(
        "conservative",
        "Conservative backfill",
        FAMILY,
        "Reserves a start for every waiting job; a later job goes ahead only if it delays none of them.",
        _conservative,
        BackfillParams,
        frozenset({Need.FIXED_NODES}),
        knows=RUN_TIMES,
        uses_run_times=True,
        paper="Mu'alem, Feitelson, Utilization, predictability, workloads, and user runtime estimates, IEEE TPDS 2001",
    ),
    PolicySpec(
        "sjf",
        "SJF",
        FAMILY,
        "Shortest job first: starts the job with the shortest estimated run time that fits; never stops a job.",
        _sjf,
        ListParams,
        knows=RUN_TIMES,
        uses_run_times=True,
    ),
    PolicySpec(
        "las",
        "LAS",
        FAMILY,
        "Least attained service: runs the jobs that have used the fewest GPU-seconds so far; reviewed every quantum.",
        _las,
        LasParams,
        paper="Gu et al., Tiresias, NSDI 2019",
    ),
    PolicySpec(
        "fifo-skip",
        "FIFO with skip",
        FAMILY,
        "First come, first served, but skips jobs that do not fit; large jobs may wait long.",
        _fifo_skip,
        ListParams,
    ),
    PolicySpec(
        "srtf",
        "SRTF",
        FAMILY,
        "Shortest remaining time first: at every event, runs the jobs expected to end soonest and stops the others.",
        _srtf,
        ListParams,
        knows=RUN_TIMES,
        uses_run_times=True,
    ),
    PolicySpec(
        "dlas",
        "LAS in queues",
        FAMILY,
        "LAS with a few queues: a job moves to a lower queue as it uses more GPU-seconds; first come, first served "
        "within a queue.",
        _dlas,
        DlasParams,
        paper="Gu et al., Tiresias, NSDI 2019",
    ),
    PolicySpec(
        "gittins",
        "Gittins",
        FAMILY,
        "Runs the jobs that promise most for the GPU time they still need, judged by what earlier jobs needed.",
        GittinsPolicy,
        GittinsParams,
        paper="Gittins, Bandit processes and dynamic allocation indices, JRSS B 1979; Gu et al., Tiresias, NSDI 2019",
    ),
    PolicySpec(
        "edf",
        "EDF",
        FAMILY,
        "Earliest due date first, jobs without one last; the first job that does not fit blocks all jobs behind it.",
        _edf,
        ListParams,
        frozenset({Need.DUE}),
    ),
    PolicySpec(
        "priority",
        "Priority",
        FAMILY,
        "Starts jobs by priority, highest number first; the first job that does not fit blocks all jobs behind it.",
        _priority,
        ListParams,
        frozenset({Need.PRIORITY}),
    ),
    PolicySpec(
        "drf",
        "DRF",
        FAMILY,
        "Dominant resource fairness: next serves the user (or group) with the lowest share of the resource it uses "
        "most.",
        _drf,
        ListParams,
        paper="Ghodsi et al., Dominant resource fairness, NSDI 2011",
    ),
    PolicySpec(
        "themis",
        "Themis",
        FAMILY,
        "Finish-time fairness: every lease, GPUs go to the jobs that end latest against a fair part of the cluster.",
        _themis,
        ThemisParams,
        knows=RUN_TIMES,
        uses_run_times=True,
        paper="Mahajan et al., Themis: Fair and efficient GPU cluster scheduling, NSDI 2020",
    ),
)
