"""The cheapest cluster that meets targets: question, search, answer."""

from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.sizing.run import check, estimate_s, run_size
from dlsched.studies.sizing.sizes import default_types, sizes_of
from dlsched.studies.sizing.spec import SizeSpec, TypeRange
from dlsched.studies.sizing.trials import usual_runs
from dlsched.studies.sizing.words import sentence
from dlsched.studies.study import Study

__all__ = [
    "STUDY",
    "SizeSpec",
    "TypeRange",
    "check",
    "default_types",
    "read_spec",
    "run_size",
    "sizes_of",
    "usual_runs",
]

STUDY = Study(
    kind="size",
    label="Size",
    page="Capacity",
    spec=SizeSpec,
    answer=Sizing,
    check=check,
    run=run_size,
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/sizing", "studies/design", "workload"),
    by_future=True,
)
read_spec = STUDY.read_spec
