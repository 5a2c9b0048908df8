"""Steady-state experiments: how long jobs are in the system at which load, under which policy, and how sure that is."""

from dlsched.studies.steady.answer import ChunkTried, Curve, Pair, SteadyAnswer, SteadyPoint
from dlsched.studies.steady.run import check, estimate_s, run_steady
from dlsched.studies.steady.spec import SteadyPolicy, SteadySpec
from dlsched.studies.steady.words import steady_sentence
from dlsched.studies.study import Study

__all__ = [
    "STUDY",
    "ChunkTried",
    "Curve",
    "Pair",
    "SteadyAnswer",
    "SteadyPoint",
    "SteadyPolicy",
    "SteadySpec",
    "read_spec",
    "run_steady",
]

STUDY = Study(
    kind="steady",
    label="Load test",
    spec=SteadySpec,
    answer=SteadyAnswer,
    check=check,
    run=run_steady,
    estimate_s=estimate_s,
    words=steady_sentence,
    sources=("studies/steady", "workload"),
    about=None,
)
read_spec = STUDY.read_spec
