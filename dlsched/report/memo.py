"""The decision memo as plain values: one page and its appendix, from which HTML, PPTX and XLSX are written.

Everything is decided here: what is recommended, which numbers the page shows, what must be said first, what may not
enter a report at all. Writers only lay it out. Text that users gave is as they gave it; writers escape it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dlsched.domain.errors import InputError
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.limits import LIMITS, Limited, all_limited
from dlsched.metrics.money import COSTS, cost_key, cost_keys
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import COMPARED, Cell, Comparison, Row, check_same_workload, compare
from dlsched.metrics.stats.intervals import SAME_NUMBER
from dlsched.metrics.stats.statements import Estimate
from dlsched.metrics.winner_words import sentence
from dlsched.metrics.winners import Winners
from dlsched.report.advice_words import advice_words, cost_words, headline, is_plain_cost, service_finding
from dlsched.report.alternatives import NOTHING, TODAY, Alternative, Condition, Origin
from dlsched.report.choice import Advice, Choice, Point, service_key
from dlsched.report.claims import claims_of, contradictions
from dlsched.report.evidence import Frontier, Sensitivity
from dlsched.report.happened import Happened
from dlsched.report.rerun import commands
from dlsched.report.units import UNITS, Bars, Dot, Unit, titled
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.caveats import Caveat
from dlsched.wording.certainty import range_note, range_words
from dlsched.wording.counted import GPUS, Counted
from dlsched.wording.formats import MISSING, amount, capital, count, listed
from dlsched.wording.settings import within_sentence

MOST_OPTIONS = 6
MOST_ROWS = 3
"""Numbers of the first page: service, cost, and what else decides; the appendix has all."""
SAYS_NOTHING = 0.95
"""A proven bound so far below a number says nothing, and is left out."""
FEW_OPTIONS = 4
"""With more options cells are narrow and high."""
LONGEST = {"question": 200, "recommendation": 700, "note": 300}
DRAWN = Basis(kind="drawn")
ROUGH = "rough preview: 1 simulation, another may differ"
REST = ("completed", "allocation_ratio")
"""What else the first page shows, in this order."""
FOLDED = ("completed", "rejected", "unfinished", "late_share", "wait_p95")
"""What is named below it where it is the same under all options."""


@dataclass(frozen=True, eq=False)
class Memo:
    """A memo: options under one ``condition``. ``caveats`` are what a reader must know beside the recommendation.

    ``advice`` is what the numbers say, ``recommendation`` the same in words, or what a reader typed in its place.
    ``rows`` are the numbers of the first page, ``same`` those that are equal under all options, in words; the
    comparison has all. ``service`` and ``cost`` are the metrics that decide, in every part. ``limited`` says by option
    how far its numbers are from proven bounds. ``made_by`` is who wrote it, "" without a login. ``commands`` compute it
    again. ``happened`` is what the log behind the
    jobs says, None without one. ``sizes`` are those a search tried, None
    without one.

    Raises
    ------
    InputError
        Naming two claims of the memo that cannot both be true (:mod:`dlsched.report.claims`).
    """

    question: str
    advice: Advice
    recommendation: str
    note: str
    caveats: tuple[Caveat, ...]
    options: tuple[Alternative, ...]
    comparison: Comparison
    rows: tuple[Row, ...]
    same: str
    cost: str
    service: str
    points: tuple[Point, ...]
    limited: Mapping[str, Sequence[Limited]]
    winners: tuple[Winners, ...]
    sensitivity: Sensitivity | None
    assumptions: tuple[Premise, ...]
    cautions: tuple[Caution, ...]
    commands: tuple[str, ...]
    made_on: date
    sizes: Frontier | None = None
    happened: Happened | None = None
    counted: Counted = GPUS
    made_by: str = ""

    def __post_init__(self) -> None:
        found = contradictions(claims_of(self))
        if found:
            do = "Leave out what does not fit, or compute the options again"
            raise InputError("memo", f"would contradict itself: {found[0]}", do)

    @property
    def labels(self) -> tuple[str, ...]:
        """What a reader must know beside the recommendation, in a few words each: a rough answer first."""
        rough = (ROUGH,) if self.is_rough else ()
        return rough + tuple(caveat.label for caveat in self.caveats)

    @property
    def is_rough(self) -> bool:
        """Whether another future may say otherwise."""
        return self.comparison.is_rough

    @property
    def origin(self) -> Origin:
        """The scenario of the baseline."""
        return self.options[0].origin

    @property
    def baseline(self) -> str:
        """Name of the option the others are compared with."""
        return self.comparison.baseline

    @property
    def best(self) -> str:
        """The option to choose, the baseline where none is."""
        return self.advice.option

    @property
    def condition(self) -> Condition:
        """What happens whatever one chooses."""
        return self.options[0].condition

    @property
    def headline(self) -> str:
        """The advice in a few words."""
        return headline(self.advice, self.options)

    def finding(self, metric: str) -> str:
        """Return what the advised option does to a metric, as a title."""
        return service_finding(self.advice, self.comparison, self.options, metric)

    @property
    def ours(self) -> str:
        """What the numbers say, where a reader typed something else in its place; else ""."""
        said = advice_words(self.advice, self.comparison, self.options)
        return said if said != self.recommendation else ""

    @property
    def bounds(self) -> dict[str, str]:
        """How far numbers are from proven bounds, by option."""
        return {name: "; ".join(map(bound_words, found)) for name, found in self.limited.items()}

    def who_gains(self, found: Winners) -> str:
        """Return which groups gain and lose under an option, with options called as in a sentence."""
        spoken = {option.name: option.spoken for option in self.options}
        names = {side: spoken.get(name, name) for side, name in (("baseline", found.baseline), ("other", found.other))}
        return sentence(found.model_copy(update=names))

    @property
    def care(self) -> list[str]:
        """What must be known to read the numbers, worst first."""
        return [f"{caution.text} {caution.action}." for caution in self.cautions if caution.level != "info"]

    @property
    def cost_title(self) -> str:
        """Title of the cost axis, with its unit."""
        return titled(KPIS[self.cost].label, KPIS[self.cost].kind)

    @property
    def service_title(self) -> str:
        """Title of the service axis, with its unit."""
        return titled(KPIS[self.service].label, KPIS[self.service].kind)

    def at(self, point: Point) -> Dot:
        """Return cost and service with their ranges in the units of the axes."""
        paid, served = UNITS[KPIS[self.cost].kind], UNITS[KPIS[self.service].kind]
        x_bars, y_bars = (_bars(of, unit) for of, unit in ((point.cost, paid), (point.service, served)))
        return paid.of(point.cost.value), served.of(point.service.value), x_bars, y_bars

    @property
    def certainty(self) -> str:
        """How sure the numbers are, in words."""
        return self.comparison.certainty

    @property
    def code_version(self) -> str:
        """Version of the code behind the baseline."""
        return self.options[0].code_version


def build(
    options: Sequence[Alternative],
    *,
    made_on: date,
    question: str = "",
    recommended: str = "",
    note: str = "",
    basis: Basis = DRAWN,
    rents: bool = False,
    winners: Sequence[Winners] = (),
    sensitivity: Sensitivity | None = None,
    caveats: Sequence[Caveat] = (),
    assumptions: Sequence[Premise] = (),
    cautions: Sequence[Caution] = (),
    sizes: Frontier | None = None,
    happened: Happened | None = None,
    counted: Counted = GPUS,
    made_by: str = "",
) -> Memo:
    """Return the memo of options, the first of which is the baseline.

    Parameters
    ----------
    question, recommended, note
        What a reader typed; an empty question or recommendation is replaced by ours.
    basis
        What the futures of the options are of.
    rents
        Whether policies rent the machines.
    caveats
        What must stand beside the recommendation: :func:`dlsched.report.alternatives.memo_caveats` of the options.
    assumptions
        The other assumptions behind the options.
    cautions
        What a reader must know of the numbers; red ones are no reason to refuse here, a failed audit is.
    sizes
        A search for a size of the baseline's scenario.
    happened
        What the recorded log of the scenario says.
    counted
        The resource that counts for the scenario of the baseline.
    made_by
        Name of the user who writes it, where there is a login.

    Raises
    ------
    InputError
        If a run failed its audit, the options are of different jobs, futures or conditions, one of them is a condition,
        there are too few or too many of them, a text is too long for the page, or two claims contradict each other.
    """
    _check(options)
    texts = {"question": question, "recommendation": recommended, "note": note}
    for name, text in texts.items():
        if len(text) > LONGEST[name]:
            why = f"has {count(len(text))} characters; the page holds {LONGEST[name]}"
            raise InputError(name, why, "Shorten it; the appendix has all numbers")
    target = "" if sizes is None or not sizes.option or sizes.service.key in COSTS else sizes.service.key
    drawn = [(option.name, option.draws) for option in options]
    keys = COMPARED if target in ("", *COMPARED) else (*COMPARED, target)
    comparison = compare(drawn, options[0].name, basis=basis, rents=rents, keys=keys, counted=counted)
    cost = cost_key(comparison) or cost_keys(rents=rents)[0]
    service = target if target and comparison.row(target) else service_key(comparison)
    choice = Choice(comparison, tuple(options), service, cost)
    advice = choice.advice()
    rows, same = _rows(comparison, advice, service, cost)
    keys_of_bounds = [key for limit in LIMITS for key in (limit.key, limit.bound_key)]
    limited = {one.name: all_limited({key: one.headline(key, basis) for key in keys_of_bounds}) for one in options}
    compared = {row.kpi.key for row in comparison.rows if row.kpi.key not in COSTS or row in rows}
    limited = {
        name: [one for one in found if one.limit.key in compared and one.left < SAYS_NOTHING]
        for name, found in limited.items()
    }
    return Memo(
        question.strip() or _question(options),
        advice,
        recommended.strip() or advice_words(advice, comparison, options),
        note.strip(),
        tuple(caveats),
        tuple(options),
        comparison,
        rows,
        same,
        cost,
        service,
        choice.points(),
        {name: found for name, found in limited.items() if found},
        tuple(winners),
        sensitivity,
        tuple(assumptions),
        tuple(cautions),
        commands(options, None if sizes is None else sizes.sizing),
        made_on,
        sizes,
        happened,
        counted,
        made_by,
    )


def _bars(of: Estimate, unit: Unit) -> Bars:
    """Return how far a range reaches, in a unit; rounding of what is the same in every future is no range."""
    below, above = (0.0 if bar <= SAME_NUMBER * abs(of.value) else unit.of(bar) for bar in of.bars)
    return below, above


def bound_words(found: Limited) -> str:
    """Return how far a number is from its bound: "total cost could be up to 9% lower (proven lower bound $91.00)"."""
    kpi, end = found.limit.kpi, "upper" if found.limit.most else "lower"
    return f"{within_sentence(kpi.label)} {found.room} (proven {end} bound {kpi.show(found.bound)})"


def cell_lines(row: Row, cell: Cell, comparison: Comparison) -> list[str]:
    """Return the value of a cell, its range, and how it differs from the baseline, a line each."""
    if cell.value is None:
        return [MISSING]
    around = range_words(row.kpi.kind, cell.value.low, cell.value.high)
    note = range_note(comparison.basis, comparison.futures)
    ranges = "" if not around else f"{around} {note}" if note.startswith("in ") else f"{note} {around}"
    delta = cell.delta_text
    if cell.delta is not None and cell.delta.value and is_plain_cost(row.kpi.key, cell):
        delta = cost_words(row.kpi.key, cell.delta.value)
    return [row.kpi.show(cell.value.value), *filter(None, (ranges, delta))]


def _question(options: Sequence[Alternative]) -> str:
    """Return "With 30% more jobs, which should we choose: do nothing, two more nodes or SJF instead of FIFO?"."""
    first, *rest = (option.spoken for option in options)
    base = {TODAY: "stay as today", NOTHING: "do nothing"}.get(options[0].name, first)
    names = [base, *rest]
    asked = f"which should we choose: {', '.join(names[:-1])} or {names[-1]}?"
    words = options[0].condition.words
    return f"With {words}, {asked}" if words else capital(asked)


def _check(options: Sequence[Alternative]) -> None:
    if not 2 <= len(options) <= MOST_OPTIONS:
        why = f"compares 2 to {MOST_OPTIONS} options, got {count(len(options))}"
        raise InputError("memo", why, "Choose a baseline and what it is compared with")
    condition = options[0].condition
    for option in options:
        if option.condition != condition:
            asked, ours = option.condition.words or "things as they are", condition.words or "things as they are"
            why = f"is under {asked}, the others are under {ours}"
            raise InputError(f"option {option.name}", why, "Compare all options under one condition")
        if option.happens:
            why = f"changes {listed(option.happens)}, which is a condition and not an option"
            raise InputError(f"option {option.name}", why, "Make it the condition of all options")
        if option.audit:
            why = f"failed its audit ({amount(len(option.audit), 'violation')}, the first: {option.audit[0]:.300})"
            raise InputError(f"run {option.name}", why, "Leave it out, or run it again with the current version")
    check_same_workload([(option.name, option.origin.workload_hash, option.origin.jobs) for option in options])


def _rows(comparison: Comparison, advice: Advice, service: str, cost: str) -> tuple[tuple[Row, ...], str]:
    """Return the rows of the first page, and what is the same under all options in words.

    Service and cost, then completed jobs where they differ, what else the advice speaks of, and what fills the page.
    """
    told = [reason.metric for reason in advice.reasons]
    equal = [row for row in comparison.rows if all(cell.verdict in ("same", "baseline") for cell in row.cells)]
    differs = [key for key in REST[:1] if comparison.row(key) not in equal]
    keys = dict.fromkeys((service, cost, *differs, *told, *REST))
    named = [row for key in keys if (row := comparison.row(key)) is not None]
    rows = tuple(named[:MOST_ROWS])
    folded = [f"{row.kpi.label} {row.cells[0].text}" for row in equal if row not in rows and row.kpi.key in FOLDED]
    return rows, " · ".join(folded)
