"""The tables of a run from what it was and what its log says."""

from __future__ import annotations

import pandas as pd

from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.tables import jobs_of, nodes_of
from dlsched.sim.log import RunLog


def jobs_table(scenario: Scenario, truth: Truth, log: RunLog) -> pd.DataFrame:
    """Return one row a job."""
    return jobs_of(RunFacts(scenario, truth, log))


def nodes_table(scenario: Scenario, truth: Truth, log: RunLog) -> pd.DataFrame:
    """Return one row for each billed stay."""
    return nodes_of(RunFacts(scenario, truth, log))
