"""Months ahead with more jobs each, with what is delivered and retired: when a target breaks, when to order."""

from dlsched.studies.growth.answer import Growth
from dlsched.studies.growth.run import check, estimate_s, run_growth, usual_runs
from dlsched.studies.growth.spec import GrowthSpec
from dlsched.studies.growth.words import sentence
from dlsched.studies.study import Study

__all__ = ["STUDY", "GrowthSpec", "check", "read_spec", "run_growth", "usual_runs"]

STUDY = Study(
    kind="growth",
    label="Growth",
    page="Capacity",
    spec=GrowthSpec,
    answer=Growth,
    check=check,
    run=run_growth,
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/growth", "studies/sizing", "studies/design", "workload"),
    by_future=True,
)
read_spec = STUDY.read_spec
