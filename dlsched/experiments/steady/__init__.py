"""Steady-state experiments: how long jobs are in the system at which load, under which policy, and how sure that is."""

from dlsched.experiments.steady.answer import ChunkTried, Curve, Pair, SteadyAnswer, SteadyPoint
from dlsched.experiments.steady.run import run_steady
from dlsched.experiments.steady.spec import SteadyPolicy, SteadySpec, read_spec

__all__ = [
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
