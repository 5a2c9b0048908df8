"""What a change does, in words: what was changed + what got better, from a to b + what it costs + how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from dlsched.metrics.findings import HEADLINES
from dlsched.metrics.money import cost_key
from dlsched.metrics.stats.compare import Comparison, Row, compare
from dlsched.policies.registry import find, spoken
from dlsched.studies.what_if.answer import CHANGED, TODAY, Moved, WhatIf, differs, service_rows
from dlsched.studies.what_if.spec import WhatIfPlan
from dlsched.wording.assumptions import Premise, assumptions, draw_premises
from dlsched.wording.cautions import Caution, cautions
from dlsched.wording.certainty import ROUGH
from dlsched.wording.formats import capital, count, is_missing, listed, money
from dlsched.wording.settings import setting_words, value_words, within_sentence
from dlsched.workload.import_report import in_seconds, offered_load

MOST_NAMED = 3
"""More changes than this are counted in a sentence, not named."""
MOST_CLAUSES = 2
SMALL_NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
PLURAL = ("demand", "durations", "prices", "weights", "failures", "failure_at", "vm_types")
"""Changes whose name is a plural."""
PLURAL_METRICS = ("late_share", "completed")
"""Metrics whose headline name is a plural."""
TOLD_WHOLE = (
    "failure_at", "failures", "run_time_spread", "vm_types", "days", "shaking",
    "borrowing", "fair_sharing", "reclaim", "within", "strategy",
)  # fmt: skip
"""Changes that today's value adds nothing to, by the first part of their key."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a sentence; ``many``: its verb is a plural."""

    words: str
    many: bool

    def does(self, verb: str) -> str:
        """Return a regular verb in the number of the subject: cut, cuts."""
        return verb if self.many else f"{verb}s"

    @property
    def is_are(self) -> str:
        """The verb to be."""
        return "are" if self.many else "is"


def sentence(answer: WhatIf, comparison: Comparison) -> str:
    """Return the answer in one sentence; names that users gave may be in it.

    Never "better" without a clear difference; a trade-off where one number of service gets better and another worse.
    """
    if answer.errors:
        return "The comparison is not complete: not every run finished."
    if not answer.is_changed:
        return _as_it_is(answer, comparison)
    service, cost = service_rows(comparison), comparison.row(cost_key(comparison) or "")
    if "demand" in {one.key for one in answer.conditions}:  # other jobs, so more of them done is no gain
        service = [row for row in service if row.kpi.key != "completed"]
    who, before = subject(answer.moved or answer.conditions), answer.before_name
    if comparison.is_rough:
        return _rough(who, service, cost, before)
    better, worse = (_of(service, verdict)[:MOST_CLAUSES] for verdict in ("better", "worse"))
    gains, losses = _changes(who, better), _changes(who, worse)
    likely = [*_of(service, "likely better"), *_of(service, "likely worse")][:MOST_CLAUSES]
    if gains and losses:
        pronoun = "they" if who.many else "it"
        said = f"{who.words} {who.is_are} a trade-off: {pronoun} {gains}, but {losses}"
    elif gains or losses:
        said = f"{who.words} {gains or losses}"
    elif likely:
        said = f"{who.words} probably {_changes(who, likely)}"
    else:
        said = _no_difference(who, service, before)
    paid = _cost(who, cost, gains=bool(gains), losses=bool(losses)) if cost else ""
    if not (answer.moved and answer.conditions):
        return f"{said}{paid} ({comparison.certainty})."
    under = f"With {listed([moved_words(one) for one in answer.conditions])}, {within_sentence(said)}"
    return f"{under}{paid}, against doing nothing ({comparison.certainty}). {_today_words(answer, service)}".rstrip()


def _today_words(answer: WhatIf, rows: Sequence[Row]) -> str:
    """Return how it is today, without the conditions: "Today the p95 wait is 7 h 10 min."; "" without a number."""
    now = compare([(TODAY, answer.today.metrics)], TODAY, basis=answer.basis)
    there = next((row for one in rows if (row := now.row(one.kpi.key)) is not None), None)
    if there is None or (value := there.of(TODAY).value) is None:
        return ""
    name = HEADLINES[there.kpi.key]
    return f"Today {name} {'is' if there.kpi.key not in PLURAL_METRICS else 'are'} {there.kpi.show(value.value)}."


def subject(moved: Sequence[Moved]) -> Subject:
    """Return what was changed as the subject of a sentence: "Two more nodes", "Arrivals +20% and run times −10%"."""
    if len(moved) > MOST_NAMED:
        return Subject(f"These {_spelled(len(moved))} changes", many=True)
    text = listed([moved_words(one) for one in moved])
    many = len(moved) > 1 or _is_plural(moved[0])
    return Subject(capital(text), many)


def moved_words(one: Moved) -> str:
    """Return one change in words: "two more nodes", "arrivals +20%", "EASY backfill instead of FIFO"."""
    if one.unit == "nodes":
        step, name = _step(one), one.key.partition(".")[2]
        nodes = f"{_spelled(abs(step))} {'more' if step > 0 else 'fewer'} {'node' if abs(step) == 1 else 'nodes'}"
        return f"{nodes} of {name}" if name else nodes
    if one.key == "policy":
        return f"{one.after} instead of {one.before}"
    after = setting_words(one.key, one.label, one.unit, one.after)
    if one.unit == "x" or one.key.partition(".")[0] in TOLD_WHOLE:
        return after
    return f"{after} instead of {value_words(one.key, one.unit, one.before)}"


def settings(answer: WhatIf) -> list[dict[str, str]]:
    """Return what differs as rows: setting, value today, value with the change."""
    return [
        {
            "Setting": one.label,
            "Today": value_words(one.key, one.unit, one.before),
            "With the change": value_words(one.key, one.unit, one.after),
        }
        for one in (*answer.conditions, *answer.moved)
    ]


def _is_plural(one: Moved) -> bool:
    if one.unit == "nodes":
        return abs(_step(one)) != 1
    if one.key == "failure_at":
        return "+" in str(one.after)
    return one.key in PLURAL or one.key == "run_time_spread"


def _spelled(number: int) -> str:
    return SMALL_NUMBERS[number] if number < len(SMALL_NUMBERS) else count(number)


def _step(one: Moved) -> int:
    assert isinstance(one.before, float | int)
    assert isinstance(one.after, float | int)
    return round(one.after - one.before)


def _of(rows: Sequence[Row], verdict: str) -> list[Row]:
    return [row for row in rows if row.of(CHANGED).verdict == verdict]


def _changes(who: Subject, rows: Sequence[Row]) -> str:
    """Return changes: "cut late jobs from 14.2% to 6.1% and the p95 wait from ...", empty without rows.

    Without intervals, which the cards show: a sentence of two lines is read, one of four is not.
    """
    said: list[str] = []
    last = ""
    for row in rows:
        cell, before = row.of(CHANGED), row.of(TODAY).value
        assert cell.delta is not None
        assert cell.value is not None
        assert before is not None
        verb = who.does("cut" if cell.delta.value < 0 else "raise")
        start = "" if verb == last else f"{verb} "
        ends = f"from {row.kpi.show(before.value)} to {row.kpi.show(cell.value.value)}"
        said.append(f"{start}{HEADLINES[row.kpi.key]} {ends}")
        last = verb
    return listed(said) if said else ""


def _cost(who: Subject, row: Row, *, gains: bool, losses: bool) -> str:
    """Return what the change costs or saves, as the end of the sentence."""
    cell = row.of(CHANGED)
    if cell.delta is None or is_missing(cell.delta.value):
        return ""
    name = {"total_cost": "in total", "cost_month": "a month", "usd_per_job": "a job"}.get(row.kpi.key, "for machines")
    if cell.verdict == "same":
        return ", at the same cost"
    if cell.verdict == "not clear":
        return ", at about the same cost"
    dear = cell.delta.value > 0
    size = money(abs(cell.delta.value))
    verb = f"{who.does('cost')} {size} more {name}" if dear else f"{who.does('save')} {size} {name}"
    agrees = (dear and losses) or (not dear and gains) or (dear and gains and not losses)
    return f", {'and' if agrees else 'but'} {verb}"


def _no_difference(who: Subject, rows: Sequence[Row], before: str) -> str:
    unsure = [HEADLINES[row.kpi.key] for row in _of(rows, "not clear")]
    if unsure:
        return f"{who.words} {'do' if who.many else 'does'} not clearly change {listed(unsure)}"
    same = [HEADLINES[row.kpi.key] for row in _of(rows, "same")]
    if same:
        return f"{who.words} {who.does('leave')} {listed(same)} as {'they are' if len(same) > 1 else 'it is'}"
    return f"{who.words} and {before} have no number in common"


def _rough(who: Subject, rows: Sequence[Row], cost: Row | None, before: str) -> str:
    """Return the numbers of one future side by side: one alone shows no difference."""
    there = [row for row in (*rows[:MOST_CLAUSES], *([cost] if cost else [])) if row.of(CHANGED).delta]
    if not there:
        return f"{who.words}: no number in common with {before} ({ROUGH})."
    pairs = [f"{_named(row)} {row.of(CHANGED).text} ({row.of(TODAY).text} {before})" for row in there]
    return f"{who.words}: {listed(pairs)}; {ROUGH}."


def _as_it_is(answer: WhatIf, comparison: Comparison) -> str:
    rows = [*service_rows(comparison)[:MOST_CLAUSES], comparison.row(cost_key(comparison) or "")]
    there = [row for row in rows if row is not None and row.of(TODAY).value is not None]
    if not there:
        return f"Today {spoken(answer.baseline.label)} has no number to compare."
    numbers = listed([f"{_named(row)} {row.of(TODAY).text}" for row in there])
    return f"Today, under {spoken(answer.baseline.label)}: {numbers} ({comparison.certainty})."


def _named(row: Row) -> str:
    """Return a metric as it is called where its value follows; a cost per month includes its unit."""
    return HEADLINES[row.kpi.key]


def completed_words(answer: WhatIf, comparison: Comparison) -> str:
    """Return how many jobs completed, with the change where there is one: "Completed 1,000 of 1,000 jobs, as today"."""
    row = comparison.row("completed")
    if row is None or row.of(CHANGED).value is None:
        return ""
    told = answer.changed.metrics[: 1 if answer.basis.is_recorded else None]  # else means over all futures
    jobs = sum(one.get("jobs") or 0.0 for one in told) / len(told)
    cell, each = row.of(CHANGED), " on average" if len(told) > 1 else ""
    assert cell.value is not None
    said = f"Completed {count(cell.value.value)} of {count(jobs)} jobs{each}"
    lost = [
        f"{count(many)} {name}"
        for name in ("rejected", "unfinished")
        if (many := sum(one.get(name) or 0.0 for one in told) / len(told)) >= 0.5
    ]
    if answer.is_changed:
        said += f" ({cell.told.size} against {answer.before_name})" if differs(row) else ", as many as before"
    return said + (f"; {listed(lost)}" if lost else "") + "."


def cautions_of(answer: WhatIf, plan: WhatIfPlan) -> list[Caution]:
    """Return what must be known before the numbers are trusted, of the changed side."""
    variant, made = plan.spec.changed, plan.made
    policy, metrics = find(variant.policy), next((one for one in answer.changed.metrics if one), None)
    return cautions(
        made, metrics, audit=answer.audit, load=offered_load(in_seconds(made), made.cluster),
        remark=policy.remark_on(dict(variant.params), made),
    )  # fmt: skip


def premises_of(answer: WhatIf, plan: WhatIfPlan, today: date) -> list[Premise]:
    """Return what the answer assumes beside its caveats: what is drawn, then the changed scenario's own."""
    runs = [one for side in (answer.before, answer.changed) for one in side.metrics]
    stops_jobs = any(one.get("preemptions") or one.get("resizes") for one in runs)
    own = assumptions(plan.made, stops_jobs=stops_jobs, today=today)
    return [*draw_premises(plan.spec.futures.vary, "What if"), *own]
