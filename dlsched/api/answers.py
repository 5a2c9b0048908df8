"""Answers of studies as Python callers get them: the study's own answer, with frames and words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import pandas as pd

from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.compare import Comparison, comparison_table
from dlsched.policies.registry import find
from dlsched.report.compared import table_of
from dlsched.report.shown import Shown
from dlsched.studies.sizing import words as size_words
from dlsched.studies.sizing.answer import Sizing, check_at, cost_at
from dlsched.studies.sweep import words as sweep_words
from dlsched.studies.sweep.answer import Sweep, rows_of, value_at
from dlsched.studies.what_if import WhatIfPlan
from dlsched.studies.what_if import words as what_if_words
from dlsched.studies.what_if.answer import WhatIf, comparison_of
from dlsched.wording.assumptions import Premise, assumptions
from dlsched.wording.caveats import Caveat, caveats_of


@dataclass(frozen=True, eq=False, repr=False)
class WhatIfAnswer(Shown):
    """What a change does; ``answer`` is the study's own, with both sides in every future."""

    scenario: Scenario
    plan: WhatIfPlan
    answer: WhatIf

    @cached_property
    def comparison(self) -> Comparison:
        """All metrics of both sides with their differences, paired by future."""
        return comparison_of(self.answer)

    @property
    def sentence(self) -> str:
        """What the change does, what it costs and how sure that is."""
        return what_if_words.sentence(self.answer, self.comparison)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must be known together with the sentence, worst first."""
        policies = [find(side.policy) for side in (self.answer.before, self.answer.changed)]
        return caveats_of(self.plan.made, policies, resampled=self.answer.basis.days > 0)

    @property
    def assumptions(self) -> tuple[Premise, ...]:
        """All that the answer rests on: its caveats, then the rest."""
        return *self.caveats, *what_if_words.premises_of(self.answer, self.plan, date.today())

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each metric and side, see :func:`dlsched.metrics.stats.compare.comparison_table`."""
        return comparison_table(self.comparison)

    @property
    def table(self) -> pd.DataFrame:
        """Metrics by side as texts: the value, its range and the verdict; * marks the best."""
        return table_of(self.comparison)

    @property
    def settings(self) -> pd.DataFrame:
        """What differs: setting, value today, value with the change."""
        return pd.DataFrame(what_if_words.settings(self.answer))


@dataclass(frozen=True, eq=False, repr=False)
class SweepAnswer(Shown):
    """Policies over a range of one or two settings; ``answer`` is the study's own."""

    scenario: Scenario
    answer: Sweep

    @property
    def sentence(self) -> str:
        """What the first metric says, and how sure that is."""
        return sweep_words.sentence(self.answer)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must be known together with the sentence, worst first."""
        return caveats_of(self.scenario, map(find, self.answer.policies), resampled="days" in self.answer.futures.vary)

    @property
    def assumptions(self) -> tuple[Premise, ...]:
        """All that the answer rests on: its caveats, then the rest."""
        rest = assumptions(self.scenario, today=date.today())
        return *self.caveats, *sweep_words.premises_of(self.answer), *rest

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each run: a column for each setting, ``policy``, ``seed``, metrics, ``audit``, ``error``.

        Settings are numbers or names, missing where the scenario stays as it is; metrics are in seconds and dollars.
        """
        frame = pd.DataFrame(rows_of(self.answer))
        for place, axis in enumerate(self.answer.axes):
            frame[axis.key] = [self.answer.points[cell.point][place] for cell in self.answer.cells]
        return frame

    @cached_property
    def values(self) -> pd.DataFrame:
        """One row for each point, policy and metric, over all futures: ``value``, and its range ``low`` to ``high``."""
        rows: list[dict[str, Any]] = []
        for number, point in enumerate(self.answer.points):
            at = {axis.key: value for axis, value in zip(self.answer.axes, point, strict=True)}
            for policy in self.answer.policies:
                for metric in self.answer.metrics:
                    of = value_at(self.answer, number, policy, metric)
                    numbers = (None, None, None) if of is None else (of.value, of.low, of.high)
                    row = {**at, "policy": policy, "metric": metric}
                    rows.append(row | dict(zip(("value", "low", "high"), numbers, strict=True)))
        frame = pd.DataFrame(rows)
        return frame.astype(dict.fromkeys(("value", "low", "high"), float))

    @property
    def table(self) -> pd.DataFrame:
        """Settings and policies by metric: the value over all futures."""
        axes = [axis.key for axis in self.answer.axes]
        rows = self.values[[*axes, "policy"]].iloc[:: len(self.answer.metrics)].reset_index(drop=True)
        values = self.values["value"].to_numpy().reshape(len(rows), -1)
        return rows.assign(**{metric: values[:, place] for place, metric in enumerate(self.answer.metrics)})


@dataclass(frozen=True, eq=False, repr=False)
class SizeAnswer(Shown):
    """The cheapest size that meets targets; ``answer`` is the study's own, with all sizes that were tried."""

    scenario: Scenario
    answer: Sizing

    @property
    def nodes(self) -> int | None:
        """Nodes of the cheapest size that meets the targets, all types together; None if there is none."""
        return None if self.answer.answer is None else sum(self.answer.answer)

    @property
    def counts(self) -> dict[str, int] | None:
        """The same by what varies, as in ``{"nodes": 12}``; None if no size meets the targets."""
        return None if self.answer.answer is None else self._by_type(self.answer.answer)

    @property
    def sentence(self) -> str:
        """The answer in one or two sentences."""
        return size_words.sentence(self.answer)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must be known together with the sentence, worst first."""
        answer = self.answer
        return size_words.caveats_of_goal(self.scenario, answer.policy, answer.rule, answer.futures.vary)

    @property
    def assumptions(self) -> tuple[Premise, ...]:
        """All that the answer rests on: its caveats, then the rest."""
        rest = assumptions(self.scenario, today=date.today())
        return *self.caveats, *size_words.premises_of(self.answer), *rest

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each size that was tried, smallest first.

        Columns: nodes of each type that varies; ``gpus``; ``usd_month``; ``is_today``, ``is_answer``; ``verdict``
        (meets, fails, unsure); ``futures_met`` of ``futures``; then for each target its metric, with ``low`` and
        ``high`` behind it, in seconds, dollars or shares. Missing where the search left a size early.
        """
        return pd.DataFrame([self._row(size.counts) for size in self.answer.sizes])

    @property
    def table(self) -> pd.DataFrame:
        """The sizes as texts: today's first, then the others by size."""
        return pd.DataFrame(size_words.rows_of(self.answer))

    def _by_type(self, counts: tuple[int, ...]) -> dict[str, int]:
        return {vm.key: count for vm, count in zip(self.answer.types, counts, strict=True)}

    def _row(self, counts: tuple[int, ...]) -> dict[str, Any]:
        check, cost = check_at(self.answer, counts), cost_at(self.answer, counts)
        row: dict[str, Any] = {
            **self._by_type(counts),
            "gpus": self.answer.size(counts).gpus,
            "usd_month": None if cost is None else cost.value,
            "is_today": counts == self.answer.today,
            "is_answer": counts == self.answer.answer,
            "verdict": check.verdict,
            "futures_met": check.hits,
            "futures": check.n,
        }
        for one in check.targets:
            of = one.value
            numbers = (None, None, None) if of is None else (of.value, of.low, of.high)
            names = (f"{one.target.metric}{end}" for end in ("", "_low", "_high"))
            row |= dict(zip(names, numbers, strict=True))
        return row
