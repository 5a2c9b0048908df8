"""Measure every promise and print target, measured, ok; status 1 when one is broken.

Options: absences, backfill, commands, elastic, experiment, kills, million, mutated, pd-ors, preemptive, queue-tree,
random-runs, renting, sessions, sharing, size, slurm, slurm-passes, smd, steady, store, sweep, what-if, widths.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks import (
    absences,
    admission,
    backfill,
    commands,
    kills,
    million,
    mutated,
    preemptive,
    primal_dual,
    queue_tree,
    random_runs,
    renting,
    rolling_horizon,
    sessions,
    sharing,
    sizing,
    slurm_log,
    slurm_passes,
    steady_experiment,
    steady_state,
    storing,
    sweeping,
    what_if,
    widths,
)

PARTS = {
    "absences": absences.lines,
    "backfill": backfill.lines,
    "commands": commands.lines,
    "elastic": rolling_horizon.lines,
    "kills": kills.lines,
    "million": million.lines,
    "mutated": mutated.lines,
    "pd-ors": primal_dual.lines,
    "preemptive": preemptive.lines,
    "queue-tree": queue_tree.lines,
    "random-runs": random_runs.lines,
    "renting": renting.lines,
    "sharing": sharing.lines,
    "sessions": sessions.lines,
    "size": sizing.lines,
    "slurm": slurm_log.lines,
    "slurm-passes": slurm_passes.lines,
    "smd": admission.lines,
    "steady": steady_state.lines,
    "experiment": steady_experiment.lines,
    "store": storing.lines,
    "sweep": sweeping.lines,
    "what-if": what_if.lines,
    "widths": widths.lines,
}


def main(chosen: list[str]) -> int:
    """Run the parts that were named, all without a name."""
    unknown = set(chosen) - set(PARTS)
    if unknown:
        print(f"unknown part {sorted(unknown)[0]!r}; known: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    print(f"{'what':<48} {'unit':<6} {'target':>8} {'measured':>9}")
    broken = 0
    with tempfile.TemporaryDirectory(prefix="dlsched-bench-") as folder:
        for name in chosen or PARTS:
            for line in PARTS[name](Path(folder)):
                broken += not line.ok
                verdict = "ok" if line.ok else "TOO MUCH"
                print(f"{line.what:<48} {line.unit:<6} {line.target:>8g} {line.measured:>9.2f}  {verdict}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
