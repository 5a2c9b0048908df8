"""How many nodes to own or reserve where the rest is rented: least cost of a year at a service target."""

from dlsched.studies.commitment.answer import Commitment
from dlsched.studies.commitment.run import check, estimate_s, run_commitment, usual_runs
from dlsched.studies.commitment.spec import CommitmentSpec
from dlsched.studies.commitment.words import sentence
from dlsched.studies.study import Study

__all__ = ["STUDY", "CommitmentSpec", "check", "read_spec", "run_commitment", "usual_runs"]

STUDY = Study(
    kind="commitment",
    label="Commitment",
    page="Capacity",
    spec=CommitmentSpec,
    answer=Commitment,
    check=check,
    run=run_commitment,
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/commitment", "studies/sizing", "studies/design", "workload"),
    by_future=True,
)
read_spec = STUDY.read_spec
