"""How the run went over time: use, queue, money, as columns over time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.step_functions import accrued, count_after, sum_after, thin
from dlsched.sim.log import RunLog

MOST_POINTS = 2_000


def series_table(scenario: Scenario, truth: Truth, log: RunLog, most_points: int = MOST_POINTS) -> pd.DataFrame:
    """Return the state after each event; see :func:`series_of`."""
    return series_of(RunFacts(scenario, truth, log), most_points)


def series_of(books: RunFacts, most_points: int = MOST_POINTS) -> pd.DataFrame:
    """Return the state after each event, thinned to ``most_points`` rows.

    Columns: time_s, gpus_held, gpus_up, waiting, running (each holds until the next row), and, growing to their totals,
    cost_usd, tardiness_usd, utility (NaN where undefined). Thinning keeps, for each of the four states, the least
    and the greatest value of every time bin. A job's tardiness cost counts from when it left, at the latest from the
    end of the run.
    """
    log, jobs = books.log, books.jobs
    event_s = [jobs.submit_s, log.piece_start_s, log.piece_end_s, books.left_s, books.up.start_s, books.up.end_s]
    at_s = np.unique(np.concatenate([*event_s, [log.start_s, log.end_s]]))
    at_s = at_s[(at_s >= log.start_s) & (at_s <= log.end_s)]
    vm_gpus = np.array([vm.gpus for vm in books.scenario.cluster.vm_types], dtype=float)[books.up.vm]
    held = sum_after(log.piece_start_s, books.piece_gpus, at_s) - sum_after(log.piece_end_s, books.piece_gpus, at_s)
    up = sum_after(books.up.start_s, vm_gpus, at_s) - sum_after(books.up.end_s, vm_gpus, at_s)
    running = count_after(log.piece_start_s, at_s) - count_after(log.piece_end_s, at_s)
    waiting = count_after(jobs.submit_s, at_s) - count_after(log.job_end_s, at_s) - running
    states = {"gpus_held": np.round(held, 9), "gpus_up": up, "waiting": waiting, "running": running}
    # The last instant shows the state just before the run ended, not machines that are given back.
    states = {name: _hold_last(values) for name, values in states.items()}
    keep = thin(at_s, list(states.values()), most_points)
    at_s = at_s[keep]
    return pd.DataFrame(
        {
            "time_s": at_s,
            **{name: values[keep] for name, values in states.items()},
            "cost_usd": _cost_usd(books, at_s),
            "tardiness_usd": _at_leaving(books, books.tardiness_usd, at_s),
            "utility": _at_leaving(books, books.utility, at_s),
        }
    )


def _hold_last(values: np.ndarray) -> np.ndarray:
    return np.append(values[:-1], values[-2:-1]) if len(values) > 1 else values


def _cost_usd(books: RunFacts, at_s: np.ndarray) -> np.ndarray:
    if books.bill is None:
        return np.full(len(at_s), np.nan)
    return accrued(books.stays.start_s, books.stays.end_s, books.bill.stay_usd, at_s)


def _at_leaving(books: RunFacts, amount: np.ndarray | None, at_s: np.ndarray) -> np.ndarray:
    if amount is None:
        return np.full(len(at_s), np.nan)
    return sum_after(books.left_s, np.nan_to_num(amount), at_s)
