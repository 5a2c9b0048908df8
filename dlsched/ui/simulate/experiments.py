"""Runs as a reader thinks of them: an experiment is what was run together on one version of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dlsched.metrics.kpi import KPIS
from dlsched.policies.registry import policies, policy_label
from dlsched.wording.formats import amount

TOGETHER_S = 600.0
"""A run that starts within so many seconds of the end of the one before belongs to the same experiment."""
MOST_NAMED = 4


@dataclass(frozen=True, eq=False)
class Experiment:
    """Runs of one version of a scenario that were made together: rows of Store.list_runs, the baseline's first."""

    runs: pd.DataFrame

    @property
    def scenario(self) -> str:
        """Name and version of the scenario."""
        row = self.runs.iloc[0]
        name = "" if pd.isna(row["scenario_name"]) else str(row["scenario_name"])
        return name if pd.isna(row["version"]) else f"{name} v{int(row['version'])}"

    @property
    def policies(self) -> list[str]:
        """Labels of the policies, each once."""
        return list(dict.fromkeys(policy_label(str(key)) for key in self.runs["policy"]))

    @property
    def name(self) -> str:
        """What the experiment was called, "" if nothing: a run of its own is named after its policy."""
        given = set(self.runs["name"].fillna(""))
        return str(given.pop()) if len(given) == 1 and not given & {*self.policies} else ""

    @property
    def note(self) -> str:
        """The first note of its runs."""
        return next((str(note) for note in self.runs["note"] if not pd.isna(note) and note), "")

    @property
    def users(self) -> list[str]:
        """Who made its runs, each once; none without a login."""
        return sorted({str(user) for user in self.runs["made_by"].fillna("")} - {""})

    @property
    def of_policies(self) -> list[str]:
        """The run of the first future of each policy with its parameters, the baseline first."""
        stored = self.runs[self.runs["state"] == "stored"]
        return [str(run) for run in stored.drop_duplicates(["policy", "params"])["run_id"]]


def experiments_of(runs: pd.DataFrame) -> list[Experiment]:
    """Return the runs of a frame of Store.list_runs as experiments, newest first.

    Runs of one version of a scenario and of the same version of the code belong together while each starts before, or
    soon after, the one before has ended.
    """
    ended = pd.to_datetime(runs["created_at"])
    started = ended - pd.to_timedelta(runs["wall_s"].fillna(0.0).astype(float), unit="s")
    place = runs["policy"].map({spec.key: number for number, spec in enumerate(policies())})
    runs = runs.assign(started=started, ended=ended, place=place, stale=runs["stale"].fillna(False).astype(bool))
    found = []
    for _, of_version in runs.groupby(["scenario_hash", "stale"], sort=False):
        in_order = of_version.sort_values(["started", "key"], kind="stable")
        latest_end = in_order["ended"].cummax().shift()
        is_new = (in_order["started"] - latest_end).dt.total_seconds().to_numpy() > TOGETHER_S
        for _, together in in_order.groupby(np.cumsum(is_new), sort=False):
            found.append(together)
    found.sort(key=lambda together: together["ended"].max(), reverse=True)
    return [Experiment(together.sort_values(["seed", "place"], kind="stable")) for together in found]


# ---- tables ------------------------------------------------------------------------------------------


def experiments_table(experiments: Sequence[Experiment]) -> pd.DataFrame:
    """Return a line for each experiment, in the words of the page; with its users where there is a login."""
    table = pd.DataFrame(
        [
            {
                "Scenario": one.scenario,
                "Policies": _named(one.policies),
                "Futures": futures_words(one.runs["seed"]),
                "Runs": len(one.runs),
                "State": state_words(one.runs),
                "When (UTC)": f"{one.runs['ended'].max():%Y-%m-%d %H:%M}",
                "User": ", ".join(one.users),
                "Name": one.name,
                "Note": one.note,
            }
            for one in experiments
        ],
        columns=["Scenario", "Policies", "Futures", "Runs", "State", "When (UTC)", "User", "Name", "Note"],
    )
    return table if (table["User"] != "").any() else table.drop(columns="User")


def _named(policies: Sequence[str]) -> str:
    more = len(policies) - MOST_NAMED
    return ", ".join(policies[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def futures_words(seeds: Sequence[int] | pd.Series[int]) -> str:
    """Return which futures runs are of: "0", "0 to 4", "0, 2"."""
    known = sorted({int(seed) for seed in seeds})
    if len(known) > 1 and known == list(range(known[0], known[-1] + 1)):
        return f"{known[0]} to {known[-1]}"
    return ", ".join(str(seed) for seed in known)


def state_words(runs: pd.DataFrame) -> str:
    """Return what is wrong with some runs, or that nothing is: "ok", "2 interrupted", "older version: run again"."""
    failed = int((runs["violations"].fillna(0) > 0).sum()) if "violations" in runs else 0
    parts = [f"{amount(failed, 'audit')} failed"] * bool(failed)
    for state in ("running", "interrupted"):
        count = int((runs["state"] == state).sum())
        parts += [f"{count} {state}"] * bool(count)
    if bool(runs["stale"].fillna(False).astype(bool).any()):
        parts.append("older version: run again")
    return ", ".join(parts) or "ok"


def runs_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each run of some experiments, in the words of the page; with its scenario where they differ."""

    def metric(key: str) -> list[str]:
        values = runs[key] if key in runs else [None] * len(runs)
        return [KPIS[key].show(None if pd.isna(value) else value) for value in values]

    table = pd.DataFrame(
        {
            "Scenario": [Experiment(runs.iloc[[place]]).scenario for place in range(len(runs))],
            "Policy": [policy_label(str(key)) for key in runs["policy"]],
            "Future": runs["seed"].astype(int).tolist(),
            "p95 wait": metric("wait_p95"),
            "Late": metric("late_share"),
            "Cost/month": metric("cost_month"),
            "Completed": metric("completed"),
            "State": [state_words(runs.iloc[[place]]) for place in range(len(runs))],
            "User": runs["made_by"].fillna("").tolist(),
            "Note": runs["note"].fillna("").tolist(),
            "MB": (runs["size_bytes"].astype(float) / 1e6).round(1).tolist(),
        }
    )
    same = [] if len(set(table["Scenario"])) > 1 else ["Scenario"]
    return table.drop(columns=[*same, *([] if (table["User"] != "").any() else ["User"])])
