"""One or two things changed over a range, under several policies, in the same futures."""

from dlsched.studies.study import Study
from dlsched.studies.sweep.answer import Sweep
from dlsched.studies.sweep.run import Swept, answer_of, check, estimate_s, planned, run_sweep
from dlsched.studies.sweep.spec import AxisSpec, SweepSpec
from dlsched.studies.sweep.words import sentence

__all__ = ["STUDY", "AxisSpec", "SweepSpec", "Swept", "answer_of", "check", "planned", "read_spec", "run_sweep"]

STUDY = Study(
    kind="sweep",
    label="Sweep",
    page="Capacity",
    spec=SweepSpec,
    answer=Sweep,
    check=check,
    run=lambda *asked, **where: run_sweep(*asked, **where).answer,
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/sweep", "studies/design", "workload"),
)
read_spec = STUDY.read_spec
