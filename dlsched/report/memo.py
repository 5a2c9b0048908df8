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
from dlsched.metrics.limits import LIMITS, all_limited
from dlsched.metrics.money import COSTS, cost_key, cost_keys
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.compare import Comparison, Row, check_same_workload, compare
from dlsched.metrics.winners import Winners
from dlsched.report.alternatives import Alternative, Origin
from dlsched.report.choice import Point, best_of, is_rough, points, recommendation, service_key
from dlsched.report.evidence import Frontier, Sensitivity
from dlsched.report.rerun import commands
from dlsched.report.units import UNITS, Dot, titled
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.caveats import Caveat
from dlsched.wording.formats import amount, count, listed

MOST_OPTIONS = 6
MOST_ROWS = 8
FEW_OPTIONS = 4
"""With more options cells are narrow and high, and the page holds fewer rows."""
ROWS_OF_MANY = 6
LONGEST = {"question": 200, "recommendation": 700, "note": 300}
DRAWN = Basis(kind="drawn")
ROUGH = "rough preview: 1 simulation, another may say otherwise"
ALWAYS = ("completed",)
FIRST_ROWS = (
    "completed", "rejected", "unfinished", "late_share", "utility_total", *COSTS, "wait_p95", "jct_mean",
    "tardiness_cost", "not_running_p95", "slowdown_mean", "wait_p50", "allocation_ratio",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Memo:
    """A memo. ``caveats`` are what a reader must know beside the recommendation.

    ``rows`` are the numbers of the first page, ``same`` those that are equal under all options, in words; the
    comparison has all. ``bounds`` say by option what is left to gain at most. ``commands`` compute it anew. ``sizes``
    are those a search for a size tried, None without one.

    Raises
    ------
    InputError
        If a caveat of an option is not there.
    """

    question: str
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
    bounds: Mapping[str, str]
    winners: tuple[Winners, ...]
    sensitivity: Sensitivity | None
    assumptions: tuple[Premise, ...]
    cautions: tuple[Caution, ...]
    commands: tuple[str, ...]
    made_on: date
    sizes: Frontier | None = None

    def __post_init__(self) -> None:
        told = {caveat.kind for caveat in self.caveats}
        if missing := sorted({kind for option in self.options for kind in option.mind} - told):
            raise InputError("memo", f"must say its caveats, {listed(missing)} not told", "Give all of memo_caveats")

    @property
    def labels(self) -> tuple[str, ...]:
        """What a reader must know beside the recommendation, in a few words each: a rough answer first."""
        rough = (ROUGH,) if self.is_rough else ()
        return rough + tuple(caveat.label for caveat in self.caveats)

    @property
    def is_rough(self) -> bool:
        """Whether another draw may say otherwise."""
        return is_rough(self.comparison)

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
        """The option that is plainly better than the baseline, else the baseline."""
        return best_of(self.comparison, self.options)

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
        (less, more), (sooner, later) = point.cost.bars, point.service.bars
        bars = (paid.of(less), paid.of(more)), (served.of(sooner), served.of(later))
        return paid.of(point.cost.value), served.of(point.service.value), *bars

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

    Raises
    ------
    InputError
        If a run failed its audit, a caveat is not told, the options are of different jobs or of unlike draws, there are
        too few or too many of them, or a text is too long for the page.
    """
    _check(options)
    texts = {"question": question, "recommendation": recommended, "note": note}
    for name, text in texts.items():
        if len(text) > LONGEST[name]:
            why = f"has {count(len(text))} letters; the page holds {LONGEST[name]}"
            raise InputError(name, why, "Shorten it; the appendix has all numbers")
    drawn = [(option.name, option.draws) for option in options]
    comparison = compare(drawn, options[0].name, basis=basis, rents=rents)
    cost, service = cost_key(comparison) or cost_keys(rents=rents)[0], service_key(comparison)
    rows, same = _rows(comparison, cost)
    names = [option.name for option in options]
    bounds = {option.name: _bound_words(option) for option in options}
    return Memo(
        question.strip() or f"Which should we use: {', '.join(names[:-1])} or {names[-1]}?",
        recommended.strip() or recommendation(comparison, options),
        note.strip(),
        tuple(caveats),
        tuple(options),
        comparison,
        rows,
        same,
        cost,
        service,
        points(comparison, cost, service),
        {name: words for name, words in bounds.items() if words},
        tuple(winners),
        sensitivity,
        tuple(assumptions),
        tuple(cautions),
        commands(options, None if sizes is None else sizes.sizing),
        made_on,
        sizes,
    )


def _bound_words(option: Alternative) -> str:
    """Return what proven bounds leave to gain at most, by the means over draws; "" without a bound."""
    keys = [key for limit in LIMITS for key in (limit.key, limit.bound_key)]
    return "; ".join(f"{each.limit.kpi.label}: {each.words}" for each in all_limited({k: option.mean(k) for k in keys}))


def _check(options: Sequence[Alternative]) -> None:
    if not 2 <= len(options) <= MOST_OPTIONS:
        why = f"compares 2 to {MOST_OPTIONS} options, got {count(len(options))}"
        raise InputError("memo", why, "Choose a baseline and what it is compared with")
    for option in options:
        if option.audit:
            why = f"failed its audit ({amount(len(option.audit), 'violation')}, the first: {option.audit[0]:.300})"
            raise InputError(f"run {option.name}", why, "Leave it out, or run it again with the newest version")
    check_same_workload([(option.name, option.origin.workload_hash, option.origin.jobs) for option in options])


def _rows(comparison: Comparison, cost: str) -> tuple[tuple[Row, ...], str]:
    """Return the rows of the first page, and what is the same under all options in words.

    Completed jobs are always there, then what differs, in the order of ``FIRST_ROWS``; of the costs the one that
    decides, and the total where machines are rented for the same jobs.
    """
    shown = (cost, "total_cost") if comparison.rents else (cost,)
    keys = [key for key in FIRST_ROWS if key not in COSTS or key in shown]
    named = [row for key in keys if (row := comparison.row(key)) is not None]
    equal = [row for row in named if all(cell.verdict in ("same", "baseline") for cell in row.cells)]
    kept = [row for row in named if row.kpi.key in ALWAYS or row not in equal]
    folded = [f"{row.kpi.label} {row.cells[0].text}" for row in equal if row not in kept]
    most = MOST_ROWS if len(comparison.names) <= FEW_OPTIONS else ROWS_OF_MANY
    return tuple(kept[:most]), " · ".join(folded)
