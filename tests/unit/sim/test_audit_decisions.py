"""What decisions say of themselves, by hand and clean; the same corrupted in one way each: the message names it."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.plan import STATUSES, Status
from dlsched.domain.policy import EventKind
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import realise
from dlsched.domain.workload import Workload
from dlsched.optimise.milp import PROVEN as PROVEN_BY_MILP
from dlsched.policies.rolling_horizon.problem import PROVEN as PROVEN_BY_MODELARTS
from dlsched.sim.audit import audit
from dlsched.sim.audit.records import PROOF
from dlsched.sim.log import RunLog
from tests.support.logs import Ran, make_log

NAN, INF = np.nan, np.inf
Answer = tuple[Any, float, float]

HONEST: tuple[Answer, ...] = (
    ("", NAN, NAN),  # an everyday policy
    ("", 12.5, NAN),  # a search says what its schedule costs
    ("optimal", 40.0, 40.0),
    ("optimal", 40.0, 39.999),  # least cost, proven from below
    ("optimal", -3.0, -2.9999),  # most progress, proven from above
    ("feasible", 40.0, 1.0),
    ("feasible", 1.0, 40.0),
    ("feasible", -1.0, NAN),  # nothing was proven
    ("feasible", -1.0, INF),
    ("infeasible", NAN, NAN),
    ("infeasible", 0.0, 0.0),  # the sum over groups that all have no plan
)


def scenario() -> Scenario:
    """One job of 100 s, alone on one GPU."""
    jobs = Workload.from_columns({"job_id": ["j"], "submit_s": [0.0], "work": [100.0], "workers": [1]})
    return Scenario(jobs, Cluster(pools=(Pool(vm=VmType(name="one", gpus=1), count=1),)))


def told(*answers: Answer) -> list[str]:
    """Return what the audit finds in a clean run whose decision number d, taken at d seconds, says this of itself."""
    return audit(scenario(), realise(scenario()), log_of(*answers))


def log_of(*answers: Answer) -> RunLog:
    decisions = [(float(d), EventKind.ARRIVAL, 0.0) for d in range(len(answers))]
    log = make_log(scenario(), [Ran(0, 0, 100, {0: 1})], decisions=decisions)
    status, objective, bound = (list(column) for column in zip(*answers, strict=True)) if answers else ([], [], [])
    return dataclasses.replace(
        log,
        decision_status=np.array(status, dtype=object),
        decision_objective=np.array(objective, dtype=float),
        decision_bound=np.array(bound, dtype=float),
    )


def test_what_is_honest_is_clean() -> None:
    assert told(*HONEST) == []
    assert told() == []
    assert {answer[0] for answer in HONEST} == set(STATUSES) == set(get_args(Status))


CORRUPTIONS: dict[str, tuple[int, Answer, tuple[str, ...]]] = {
    "unknown status": (2, ("optimum", 40.0, 40.0), ("status 'optimum'", "known are '', 'optimal'")),
    "status in capitals": (5, ("FEASIBLE", 40.0, 1.0), ("status 'FEASIBLE'",)),
    "no status at all": (0, (None, NAN, NAN), ("status None",)),
    "status is a number": (0, (NAN, NAN, NAN), ("status nan",)),
    "status of a solver that a plan cannot have": (9, ("unknown", NAN, NAN), ("status 'unknown'",)),
    "optimal without an objective": (2, ("optimal", NAN, 40.0), ("optimal", "objective nan", "both must be finite")),
    "optimal without a bound": (2, ("optimal", 40.0, NAN), ("optimal", "bound nan", "both must be finite")),
    "optimal without numbers": (2, ("optimal", NAN, NAN), ("objective nan and bound nan", "both must be finite")),
    "optimal with an infinite bound": (2, ("optimal", 40.0, INF), ("bound inf", "both must be finite")),
    "optimal and infinite": (2, ("optimal", INF, INF), ("objective inf and bound inf", "both must be finite")),
    "feasible without an objective": (5, ("feasible", NAN, 1.0), ("feasible", "the objective must be finite")),
    "feasible without numbers": (7, ("feasible", NAN, NAN), ("feasible", "the objective must be finite")),
    "feasible and infinite": (8, ("feasible", -INF, INF), ("objective -inf", "the objective must be finite")),
    "bound of no objective": (1, ("", NAN, 12.5), ("bound 12.5", "missing")),
    "bound of nothing infeasible": (10, ("infeasible", NAN, 0.0), ("bound 0", "missing")),
    "optimal far above its bound": (3, ("optimal", 44.0, 39.999), ("optimal", "44", "39.999", "4 apart", "0.0001")),
    "optimal far below its bound": (4, ("optimal", -4.0, -2.9999), ("optimal", "-4", "-2.9999", "1 apart")),
    "optimal with the sign turned": (2, ("optimal", -40.0, 40.0), ("80 apart",)),
    "feasible that calls itself optimal": (6, ("optimal", 1.0, 40.0), ("39 apart",)),
}


@pytest.mark.parametrize("what", CORRUPTIONS)
def test_corruption_is_named_once(what: str) -> None:
    decision, answer, words = CORRUPTIONS[what]
    (message,) = told(*HONEST[:decision], answer, *HONEST[decision + 1 :])
    assert message.startswith(f"at {decision} s: decision {decision} "), message
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("bound", "apart", "is_clean"),
    [
        (0.0, 0.9e-4, True),
        (0.0, 1.1e-4, False),
        (-1.0, 0.9e-4, True),
        (-1.0, 1.1e-4, False),
        (1e6, 99.0, True),
        (1e6, 101.0, False),
        (-1e6, 99.0, True),
        (-1e6, 101.0, False),
    ],
)
def test_how_far_an_optimum_may_be_from_its_bound(bound: float, apart: float, is_clean: bool) -> None:
    for objective in (bound + apart, bound - apart):
        assert (told(("optimal", objective, bound)) == []) == is_clean


def test_the_limit_has_room_for_what_the_families_prove() -> None:
    assert 10 * PROVEN_BY_MODELARTS <= PROOF * (1 + 1e-9)  # ten groups of jobs that share machines, each at its limit
    assert 10 * PROVEN_BY_MILP <= PROOF


@example("optimal", 1.7e308, -1.7e308)
@given(
    st.sampled_from([*STATUSES, "other"]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(allow_nan=True, allow_infinity=True),
)
def test_any_numbers_are_judged_without_a_warning_and_at_most_once(status: str, objective: float, bound: float) -> None:
    found = told((status, objective, bound))
    if status in ("", "infeasible"):
        assert bool(found) == (np.isnan(objective) and not np.isnan(bound))
    elif status == "feasible":
        assert bool(found) == (not np.isfinite(objective))
    elif status == "optimal":
        near = abs(objective - bound) <= PROOF * max(1.0, abs(bound))
        assert bool(found) == (not (near and np.isfinite(objective) and np.isfinite(bound)))
    else:
        assert "status 'other'" in found[0]
    assert len(found) <= 1 or status == "other"
