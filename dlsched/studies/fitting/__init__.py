"""A policy fitted to the first half of a log and judged on the half it has not seen."""

from dlsched.studies.fitting.answer import Fit
from dlsched.studies.fitting.run import check, estimate_s, run_fit
from dlsched.studies.fitting.spec import FitSpec
from dlsched.studies.fitting.words import sentence
from dlsched.studies.study import Study

__all__ = ["STUDY", "Fit", "FitSpec", "check", "read_spec", "run_fit"]

STUDY = Study(
    kind="fitting",
    label="Fit",
    page="Jobs",
    spec=FitSpec,
    answer=Fit,
    check=check,
    run=run_fit,
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/fitting", "studies/calibration", "workload/cluster_from_log"),
    shared_out=True,
)
read_spec = STUDY.read_spec
