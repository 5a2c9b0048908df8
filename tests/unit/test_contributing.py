"""The example policy of the guide runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dlsched
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "add-a-policy.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def test_the_smallest_policy_runs_and_passes_the_audit() -> None:
    code, *_ = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # the document's own code
    jobs = Workload.from_columns(
        {"job_id": ["a", "b", "c"], "submit_s": [0, 0, 1], "work": [10, 10, 10], "workers": [4, 8, 4]}
    )
    scenario = Scenario(jobs, Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=1),)))
    run = dlsched.simulate(scenario, names["Greedy"]())
    assert run.audit() == []
    # a and c share the node at once; b needs all of it and goes last
    assert run.log.job_first_start_s.tolist() == [0.0, 11.0, 1.0]
