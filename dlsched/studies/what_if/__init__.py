"""What if: today's scenario against the scenario with changes, in the same futures."""

from dlsched.studies.study import Study
from dlsched.studies.what_if.answer import WhatIf, comparison_of
from dlsched.studies.what_if.estimate import estimate_s, guess_s, plan_s, run_s
from dlsched.studies.what_if.link import LINK_PARAMS, read_link, written_link
from dlsched.studies.what_if.run import run_what_if, runs_of_numbers
from dlsched.studies.what_if.spec import (
    WhatIfPlan,
    WhatIfSpec,
    check,
    conditions,
    is_exact,
    moved,
    planned,
    unchanged,
)
from dlsched.studies.what_if.words import sentence

__all__ = [
    "LINK_PARAMS",
    "STUDY",
    "WhatIfPlan",
    "WhatIfSpec",
    "check",
    "conditions",
    "guess_s",
    "is_exact",
    "moved",
    "plan_s",
    "planned",
    "read_link",
    "read_spec",
    "run_s",
    "run_what_if",
    "runs_of_numbers",
    "unchanged",
    "written_link",
]

STUDY = Study(
    kind="what-if",
    label="What if",
    spec=WhatIfSpec,
    answer=WhatIf,
    check=check,
    run=run_what_if,
    estimate_s=estimate_s,
    words=lambda answer: sentence(answer, comparison_of(answer)),
    sources=("studies/what_if", "studies/design", "workload"),
    by_future=True,
)
read_spec = STUDY.read_spec
