"""What a memo claims, gathered from all its parts as data, and where two claims cannot both be true.

A memo whose claims disagree is not written: a reader of "choose 28 nodes" beside "28 nodes: worse" can decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dlsched.metrics.kpi import KPIS
from dlsched.metrics.limits import LIMITS
from dlsched.metrics.money import COSTS
from dlsched.metrics.stats.compare import Row
from dlsched.metrics.stats.intervals import SAME_NUMBER
from dlsched.report.choice import BAD, GOOD

if TYPE_CHECKING:
    from dlsched.report.memo import Memo

Kind = Literal[
    "value", "future", "verdict", "service", "condition", "choose", "stay", "beaten", "limit", "holds", "bound",
    "needs", "minds",
]  # fmt: skip
"""``value`` of a metric, also in one ``future``; ``verdict`` on it against the baseline; ``service``: the metric that
serves as one; ``condition`` all is under; ``choose`` an option, ``stay`` with the baseline; ``beaten`` by another
choice; ``limit``: cannot be chosen; ``holds`` in this many situations; ``bound`` on a value; a caveat that an option
``needs``, one that the memo ``minds``."""
EQUAL: tuple[Kind, ...] = ("value", "future", "verdict", "service", "condition")
"""Kinds of which all parts must say the same of one option and metric."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a ``part`` of a memo says of an option and a metric ("" where it is of all)."""

    part: str
    kind: Kind
    says: float | str
    option: str = ""
    metric: str = ""
    future: int = 0

    @property
    def words(self) -> str:
        """The claim as an error names it: "recommendation: choose 28 nodes"."""
        label = KPIS[self.metric].label if self.metric in KPIS else self.metric
        if isinstance(self.says, str):
            said = self.says
        else:
            said = KPIS[self.metric].show(self.says) if self.metric in KPIS else f"{self.says:g}"
        if self.kind in ("choose", "stay"):
            return f"{self.part}: {self.kind} {self.option} ({said})"
        about = ", ".join(filter(None, (self.option, label, f"future {self.future}" if self.kind == "future" else "")))
        return f"{self.part}: {about}: {said}" if about else f"{self.part}: {self.kind} {said}"


# ---- gathering ---------------------------------------------------------------------------------------


def claims_of(memo: Memo) -> tuple[Claim, ...]:
    """Return every claim of a memo, part by part."""
    return (
        *_of_options(memo),
        *_of_recommendation(memo),
        *_of_rows("first page", memo.rows),
        *_of_rows("all numbers", memo.comparison.rows),
        *_of_chart(memo),
        *_of_sensitivity(memo),
        *_of_sizes(memo),
        *_of_bounds(memo),
    )


def _of_options(memo: Memo) -> Iterator[Claim]:
    for option in memo.options:
        yield Claim("options", "condition", option.condition.words or "as things are")
        for key in option.happens:
            yield Claim("options", "condition", f"{key} in {option.name}")
        if option.is_limit:
            yield Claim("options", "limit", "cannot be chosen", option.name)
        for kind in sorted(option.mind):
            yield Claim("options", "needs", kind, option.name)
    yield Claim("title", "condition", memo.condition.words or "as things are")
    for caveat in memo.caveats:
        yield Claim("caveats", "minds", caveat.kind)


def _of_recommendation(memo: Memo) -> Iterator[Claim]:
    part, advice = "recommendation", memo.advice
    if advice.is_change:
        yield Claim(part, "choose", advice.kind, advice.option)
    elif advice.kind == "stay":
        yield Claim(part, "stay", advice.kind, advice.option)
    yield Claim(part, "service", memo.service)
    for reason in advice.reasons:
        yield Claim(part, "verdict", reason.verdict, reason.option, reason.metric)
        yield Claim(part, "value", reason.after, reason.option, reason.metric)
        yield Claim(part, "value", reason.before, memo.baseline, reason.metric)


def _of_rows(part: str, rows: Sequence[Row]) -> Iterator[Claim]:
    for row in rows:
        for cell in row.cells:
            if cell.verdict != "baseline":
                yield Claim(part, "verdict", cell.verdict, cell.name, row.kpi.key)
            if cell.value is not None:
                yield Claim(part, "value", cell.value.value, cell.name, row.kpi.key)


def _of_chart(memo: Memo) -> Iterator[Claim]:
    part = "chart"
    if memo.points:
        yield Claim(part, "service", memo.service)
    for point in memo.points:
        yield Claim(part, "value", point.cost.value, point.name, memo.cost)
        yield Claim(part, "value", point.service.value, point.name, memo.service)
        if point.beaten:
            yield Claim(part, "beaten", "another choice is no worse in both", point.name)


def _of_sensitivity(memo: Memo) -> Iterator[Claim]:
    found, part = memo.sensitivity, "what could change this"
    if found is None:
        return
    yield Claim(part, "service", found.situations[0].row.kpi.key)
    yield from _of_rows(part, [found.situations[0].row])
    for name in found.names[1:]:
        yield Claim(part, "holds", float(len(found.where(name, memo.advice))), name)


def _of_sizes(memo: Memo) -> Iterator[Claim]:
    """Return what a search says of its answer and of today's size in each future, beside the options' own numbers."""
    found = memo.sizes
    if found is None or not found.option:
        return
    sizing, metric = found.sizing, found.target.metric
    if metric not in COSTS:
        yield Claim("sizes", "service", metric)
    at = {found.option: sizing.answer, memo.baseline: sizing.today}
    for option in memo.options:
        for point in found.points:
            if point.counts == at.get(option.name):
                yield Claim("sizes", "value", point.service.value, option.name, metric)
        counts = at.get(option.name)
        tried = next((size for size in sizing.sizes if size.counts == counts), None)
        own = dict(zip(option.futures.seeds, option.draws, strict=False))
        for draw in () if tried is None else tried.draws:
            value = draw.values.get(metric)
            mine = own.get(draw.seed, {}).get(metric)
            if value is not None and mine is not None:
                yield Claim("sizes", "future", value, option.name, metric, draw.seed)
                yield Claim("all numbers", "future", float(mine), option.name, metric, draw.seed)


def _of_bounds(memo: Memo) -> Iterator[Claim]:
    for option, found in memo.limited.items():
        for one in found:
            yield Claim("bounds", "bound", one.bound, option, one.limit.key)
            yield Claim("bounds", "value", one.value, option, one.limit.key)


# ---- checking ----------------------------------------------------------------------------------------


def contradictions(claims: Sequence[Claim]) -> list[str]:
    """Return each pair of claims that cannot both be true, in words; none for a memo that may be written."""
    rules: tuple[Callable[[Sequence[Claim]], Iterator[tuple[Claim, Claim]]], ...] = (
        _unequal, _bad_choice, _idle, _untold, _beyond_bounds,
    )  # fmt: skip
    return list(dict.fromkeys(f"{one.words} against {other.words}" for rule in rules for one, other in rule(claims)))


def _unequal(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield two parts that say different things about the same."""
    first: dict[tuple[Kind, str, str, int], Claim] = {}
    for claim in claims:
        if claim.kind in EQUAL:
            known = first.setdefault((claim.kind, claim.option, claim.metric, claim.future), claim)
            if not _same(known.says, claim.says):
                yield known, claim


def _same(ours: float | str, theirs: float | str) -> bool:
    if isinstance(ours, str) or isinstance(theirs, str):
        return ours == theirs
    return abs(ours - theirs) <= SAME_NUMBER * max(abs(ours), abs(theirs))


def _bad_choice(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield a choice beside what speaks against it.

    A size that a search found is chosen for meeting its targets: it may be dearer, or serve worse than today's.
    """
    service = next((claim.says for claim in claims if claim.kind == "service"), "")
    for chosen in _of_kind(claims, "choose"):
        about = [claim for claim in claims if claim.option == chosen.option]
        nowhere = [claim for claim in about if claim.kind == "holds" and not claim.says]
        against = [*nowhere, *(claim for claim in about if claim.kind in ("beaten", "limit"))]
        if chosen.says != "size":
            shown = ("recommendation", "first page")
            told = [claim for claim in about if claim.kind == "verdict" and claim.part in shown]
            against += [claim for claim in told if claim.says in BAD]
            served = [claim for claim in told if claim.metric == service]
            if not any(claim.says in GOOD for claim in told):
                against += [claim for claim in told if claim.says in ("same", "not clear", "mixed")]
            against += [claim for claim in served if claim.says not in (*GOOD, "same")]
        yield from ((chosen, claim) for claim in against)


def _idle(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield the advice to change nothing beside an option that serves better and is worse in nothing."""
    service = next((claim.says for claim in claims if claim.kind == "service"), "")
    limits = {claim.option for claim in _of_kind(claims, "limit")}
    verdicts = [claim for claim in _of_kind(claims, "verdict") if claim.option not in limits]
    bad = {claim.option for claim in verdicts if claim.says not in (*GOOD, "same", "not clear", "changed")}
    for stay in _of_kind(claims, "stay"):
        better = [claim for claim in verdicts if claim.metric == service and claim.says in GOOD]
        yield from ((stay, claim) for claim in better if claim.option not in bad)


def _untold(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield an option whose caveat is missing from the memo."""
    told = {claim.says for claim in _of_kind(claims, "minds")}
    for needs in _of_kind(claims, "needs"):
        if needs.says not in told:
            yield needs, Claim("caveats", "minds", f"nothing of {needs.says}")


def _beyond_bounds(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield a number beside a proven bound that it passes."""
    most = {limit.key: limit.most for limit in LIMITS}
    values = _of_kind(claims, "value")
    for bound in _of_kind(claims, "bound"):
        for value in values:
            if (value.option, value.metric) == (bound.option, bound.metric) and not _same(value.says, bound.says):
                is_above = float(value.says) > float(bound.says)
                if is_above == most[bound.metric]:
                    yield bound, value


def _of_kind(claims: Sequence[Claim], kind: Kind) -> list[Claim]:
    return [claim for claim in claims if claim.kind == kind]
