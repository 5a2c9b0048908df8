"""Random runs of every policy: each ends in a clean result or a clear refusal, in seconds.

``python -m benchmarks.random_runs 0 3000`` runs the questions with these numbers of
:mod:`benchmarks.random_scenarios` in one process and prints each that does not hold; with ``--only``, the numbers are
those of single questions.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import numpy as np

from benchmarks.measure import Line
from benchmarks.random_scenarios import Question, question
from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need
from dlsched.placement import can_ever_fit
from dlsched.policies import registry
from dlsched.sim import kernels
from dlsched.sim.log import JobStatus
from dlsched.sim.simulate import run_policy
from dlsched.studies.simulation import Run, resolve_policy, simulate
from dlsched.testing.bounds import beyond
from dlsched.testing.logs import first_difference

RUNS = 3_000
MOST_S = 20.0
"""CPU seconds that a run of at most 60 jobs may take."""
CHECKED_S = 150.0
"""CPU seconds after which it and its checks are stopped: the loop may have to be compiled, the engine is slow."""


class TooLong(BaseException):
    """A run and its checks take more than :data:`CHECKED_S`."""


def lines(folder: Path, runs: int = RUNS) -> Iterator[Line]:
    """Yield the promise for so many runs; nothing is read or written, so ``folder`` stays empty."""
    kinds = Counter(kind(verdict(question(number))) for number in range(runs))
    yield Line(f"{runs:,} random runs of all policies: findings", "", 0, runs - kinds["holds"] - kinds["refused"])
    yield Line("  of these refused before they start", "", runs / 3, kinds["refused"])


def findings(asked: Question) -> str:
    """Return what does not hold of a run, "" = all does; InputError where it is refused before it starts."""
    resolved = resolve_policy(asked.scenario, asked.policy, asked.params)
    before_s = time.process_time()
    run = simulate(asked.scenario, asked.policy, asked.params, asked.number)
    if (spent_s := time.process_time() - before_s) > MOST_S:
        return f"too long: {spent_s:.0f} CPU s"
    if (found := run.audit()) and not (len(found) == 1 and run.log.stalled and _some_job_has_no_node(run)):
        return f"audit: {found[0]}"
    if found := beyond(run.metrics):
        return f"bound: {found[0]}"
    run.record()
    if _is_below_the_clock(run):
        return ""
    built = resolved.build(run.prepared.scenario.workload)
    if built.kernel_rule is None or not kernels.eligible(run.prepared, built):
        return ""
    by_engine = run_policy(run.prepared, built, asked.number, use_kernel=False)
    difference = first_difference(by_engine, run.log)
    return f"compiled loop: {difference}" if difference else ""


def _some_job_has_no_node(run: Run) -> bool:
    """Whether the nodes that are left at the end never hold some job that is unfinished: others may wait behind it."""
    scenario, unfinished = run.prepared.scenario, run.log.job_status == JobStatus.UNFINISHED
    cluster, gone = scenario.cluster, {absence.node for absence in scenario.cluster.absences if absence.end_s is None}
    if cluster.free_slots or len(gone) == cluster.num_nodes:
        return bool(gone)
    of_node = [pool for pool in cluster.pools for _ in range(pool.count)]
    left = [pool.model_copy(update={"count": 1}) for node, pool in enumerate(of_node) if node not in gone]
    on_one_node = Need.ONE_NODE in registry.find(run.policy).needs
    homes = [Cluster(pools=(pool,)) for pool in left] if on_one_node else [Cluster(pools=tuple(left))]
    fits = np.any([can_ever_fit(scenario.workload, home, scenario.options.placement) for home in homes], axis=0)
    return bool((unfinished & ~fits).any())


def _is_below_the_clock(run: Run) -> bool:
    """Whether times are too close for a clock to order: a step since 1970 is 2.4e-7 s, policies compare by 1e-6 s."""
    shortest_s = float(np.min(run.log.piece_end_s - run.log.piece_start_s, initial=np.inf))
    return shortest_s < 1e4 * float(np.spacing(run.log.end_s))


def verdict(asked: Question) -> str:
    """Return what does not hold of a run, uncaught errors and numeric warnings included.

    "" = all does, "refused: ..." = a clear refusal.
    """
    found = _verdict(asked)
    return _verdict(asked) if kind(found) == "too long" else found  # the first time its loop may have been compiled


def _verdict(asked: Question) -> str:
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, CHECKED_S)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # such as division by zero
            return findings(asked)
    except InputError as error:
        return f"refused: {error}"
    except TooLong as error:
        return f"too long: {_where(error)}"
    except Exception as error:
        return f"{type(error).__name__}: {error} {_where(error)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def kind(found: str) -> str:
    """Return the kind of a verdict."""
    return found.split(":")[0] if found else "holds"


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLong


def _where(error: BaseException) -> str:
    """Return the innermost frames of the program."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "dlsched" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))


def main(arguments: Sequence[str]) -> int:
    """Run and print; status 1 if something does not hold."""
    only = "--only" in arguments
    numbers = [int(text) for text in arguments if not text.startswith("--")]
    counts: Counter[str] = Counter()
    for number in numbers if only else range(*numbers):
        asked = question(number)
        before_s = time.process_time()
        found = verdict(asked)
        spent_s = time.process_time() - before_s
        counts[kind(found)] += 1
        if "--all" in arguments or kind(found) not in ("holds", "refused") or spent_s > MOST_S / 4:
            print(f"{number} {asked.policy} {len(asked.scenario.workload)} jobs {spent_s:.1f} s: {found}", flush=True)
    print(", ".join(f"{many:,} {kind}" for kind, many in counts.most_common()))
    return int(set(counts) - {"holds", "refused"} != set())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
