"""What a replay rests on, as a table."""

from __future__ import annotations

import numpy as np

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Absence
from dlsched.studies.calibration.tables import inputs_of
from tests.support.recorded_jobs import recorded_scenario


def used(**changes: object) -> dict[str, str]:
    return {name: text for name, text, _ in inputs_of(recorded_scenario("fifo").replace(**changes))}


def test_what_was_used_where_nothing_but_the_jobs_is_known() -> None:
    plain = used()
    assert plain["Nodes"] == "2 nodes, as described"
    assert (plain["Absent nodes"], plain["Time limits"]) == ("none", "none")
    assert plain["Holds and dependencies"] == "0 jobs held before arrival"


def test_what_was_used_of_a_log_that_tells_more() -> None:
    scenario = recorded_scenario("fifo")
    limit_s = np.full(150, 3600.0)
    limit_s[:30] = np.nan
    told = used(
        workload=scenario.workload.with_columns(limit_s=limit_s, held_s=np.arange(150.0)),
        cluster=scenario.cluster.model_copy(update={"absences": (Absence(node=1, end_s=9.0),)}),
        options=scenario.options.model_copy(update={"limits": "kill"}),
        assumptions=(Assumption(kind="found-cluster", text="from the log"),),
    )
    assert told["Nodes"] == "Cluster: from the log"
    assert told["Absent nodes"] == "1 absence"
    assert told["Time limits"] == "120 of 150 jobs have one; believed by policies and enforced"
    assert told["Holds and dependencies"] == "149 jobs held before arrival"
