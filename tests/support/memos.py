"""Options with numbers that can be checked by hand, and memos made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pandas as pd

from dlsched.report.alternatives import Alternative, Origin
from dlsched.report.evidence import winners_of
from dlsched.report.memo import Memo, build
from dlsched.studies.design import Futures
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution

DAY = date(2026, 11, 22)
NASTY = ('<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "=1+1", "+1", "-1", "@x",
         "\t=1+1", "\r=1", "\x07bell \ud800 \u202e", "&lt;b&gt;")  # fmt: skip
"""Texts that would be a script, a formula or no letter at all if they were taken at their word."""
ORIGIN = Origin("Night shift", 3, "91c0ffee" * 4, "beef" * 8, 12, "trace")


def numbers(late: float, cost: float, **more: float) -> dict[str, float]:
    """Metrics of one draw: waits of hours, a run of 100 h."""
    plain = {"completed": 12, "rejected": 0, "unfinished": 0, "late_share": late, "wait_p95": 7200.0,
             "vm_cost": 2 * cost, "cost_month": cost, "makespan": 360_000.0, "slowdown_mean": 2.0}  # fmt: skip
    return {**plain, **more}


def option(name: str, draws: Sequence[Mapping[str, Any]], policy: str = "fifo", **more: Any) -> Alternative:
    """An option whose seeds count from 0."""
    given: dict[str, Any] = {"origin": ORIGIN, "policy": policy, "futures": Futures.first(len(draws) - 1)}
    return Alternative(name, tuple(draws), **(given | {"code_version": "1+a"} | more))


def two() -> list[Alternative]:
    """FIFO and SJF over three draws: late jobs 40, 50, 60% against 20, 30, 40%, cost $100 in all."""
    fifo = [numbers(late, 100.0) for late in (0.4, 0.5, 0.6)]
    sjf = [numbers(late, 100.0) for late in (0.2, 0.3, 0.4)]
    return [option("FIFO", fifo), option("SJF", sjf, "sjf", params={"vm_type": "two"})]


def storable(text: str) -> str:
    """Return a text as a table of jobs can hold it: letters that are none become question marks."""
    return text.encode(errors="replace").decode()


def jobs(waits_s: Sequence[float], user: str = "ann") -> pd.DataFrame:
    """A jobs table: six jobs of ``user`` and six of bob, each with a wait."""
    many = len(waits_s)
    return pd.DataFrame(
        {"job_id": [f"j{place}" for place in range(many)], "user": [user] * (many // 2) + ["bob"] * (many - many // 2),
         "wait_s": waits_s, "gpus": 1.0, "status": "completed", "jct_s": 100.0, "slowdown": 1.0}
    )  # fmt: skip


def full_memo(options: Sequence[Alternative] | None = None, user: str = "ann", **texts: Any) -> Memo:
    """A memo with every part: ``user`` gains an hour, bob loses half an hour under all other options."""
    chosen = two() if options is None else list(options)
    before = [jobs([7200.0] * 12, user)] * 3
    after = [jobs([3600.0] * 6 + [9000.0] * 6, user)] * 3
    others = {each.name: after for each in chosen[1:]}
    given: dict[str, Any] = {
        "winners": winners_of(chosen[0].name, before, others, exact=True),
        "assumptions": [Premise("list prices", "Prices as typed in.", "Cluster")],
        "cautions": [Caution("orange", "Jobs ask for 118% of what 4 GPUs can do", "Add nodes")],
    }
    return build(chosen, made_on=DAY, **(given | texts))
