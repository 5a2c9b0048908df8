"""The advice of a memo in words: values first, then how many futures agree; never surer than its verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dlsched.metrics.findings import HEADLINES
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.money import COSTS
from dlsched.metrics.stats.compare import Cell, Comparison
from dlsched.metrics.stats.intervals import SAME_NUMBER
from dlsched.report.alternatives import NOTHING, SPOKEN, TODAY, Alternative
from dlsched.report.choice import BAD, GOOD, Advice, Reason
from dlsched.wording.certainty import count_words
from dlsched.wording.formats import amount, capital, listed, money
from dlsched.wording.settings import within_sentence

ENOUGH_FUTURES = 10
MOST_TOLD = 2
"""Of more options the sentence tells these, the table has the others."""
PLURAL = ("late_share", "completed")
"""Metrics whose name in a sentence is a plural."""
PER = {"cost_month": " a month", "usd_per_job": " a job"}


def metric_words(key: str) -> str:
    """Return a metric as a sentence calls it: "the p95 wait", "late jobs", "machine cost"."""
    return HEADLINES.get(key, within_sentence(KPIS[key].label))


def stay_words(baseline: str) -> str:
    """Return the advice to change nothing: "Stay with FIFO", "Do nothing"."""
    return NOTHING if baseline == NOTHING else f"Stay with {'today' if baseline == TODAY else baseline}"


def advice_words(advice: Advice, comparison: Comparison, options: Sequence[Alternative]) -> str:
    """Return what to do and why, in words for the person who decides: the sentence a memo opens with."""
    named = {one.name: one for one in options}
    told = f"{_advised(advice, comparison, named)}."
    best = named[advice.option]
    if advice.is_change:
        told += f" Note that {best.caveat}." if best.caveat else ""
        told += _ties(advice, comparison, named)
    told += f" How sure: {comparison.certainty}."
    if words := best.condition.words:
        return f"With {words}{':' if advice.kind == 'rough' else ','} {within_sentence(told)}"
    return told


def headline(advice: Advice, options: Sequence[Alternative]) -> str:
    """Return the advice as the title of a slide: "Choose SJF: late jobs fall from 50% to 30%"."""
    named = {one.name: one for one in options}
    reasons = advice.of(advice.option)
    if advice.kind == "choose":
        first = next((one for one in reasons if one.verdict in GOOD), reasons[0])
        return f"{_choose(reasons, named[advice.option])}: {moves(first)}"
    if advice.kind == "size":
        return f"Choose {named[advice.option].spoken}: the targets are met"
    if advice.kind == "trade-off":
        return _no_winner(advice)
    if advice.kind == "unranked":
        beaten = "each of them is" if len(_told(advice)) > 1 else "it is"
        names = capital(_names(_told(advice), named))
        return f"{names} before {named[advice.option].spoken}, but {beaten} beaten by another option"
    if advice.kind == "rough":
        return f"Rough preview: confirm with {amount(ENOUGH_FUTURES, 'simulation')}"
    return f"{stay_words(advice.option)}: no option is clearly better"


def service_finding(advice: Advice, comparison: Comparison, options: Sequence[Alternative], metric: str) -> str:
    """Return what an option does to a metric, as a title: "With two more nodes the p95 wait falls from 20 h to 6 h".

    Of the option that is advised, else of the first that is mentioned.
    """
    named = {one.name: one for one in options}
    told = [advice.option] if advice.is_change else _told(advice)
    found = next((one for name in told for one in advice.of(name) if one.metric == metric), None)
    if found is None:
        return f"{capital(metric_words(metric))} by option"
    name, who = metric_words(metric), named[found.option].spoken
    if found.verdict in (*GOOD, *BAD, "changed"):
        return f"With {who} {moves(found)}"
    if found.verdict == "same":
        return f"With {who} {name} {_are(metric)} the same"
    return f"With {who}, the effect on {name} is not clear"


def count_finding(comparison: Comparison, service: str) -> str:
    """Return how many options serve better, as a title: "2 of 3 options serve jobs better than today"."""
    row = comparison.row(service)
    others = [] if row is None else [cell for cell in row.cells if cell.name != comparison.baseline]
    better = sum(cell.verdict in GOOD for cell in others)
    base = SPOKEN.get(comparison.baseline, comparison.baseline)
    if not better:
        return f"No option is certain to serve jobs better than {base}"
    return f"{better} of {amount(len(others), 'option')} {'serves' if better == 1 else 'serve'} jobs better than {base}"


def _advised(advice: Advice, comparison: Comparison, named: Mapping[str, Alternative]) -> str:
    """Return the advice and its numbers, without caveats."""
    option, told = named[advice.option], _told(advice)
    reasons = advice.of(advice.option)
    if advice.kind == "choose":
        return f"{_choose(reasons, option)}: {_all(reasons, comparison)}"
    if advice.kind == "size":
        unpriced = [one for one in reasons if one.metric not in COSTS]  # the claim has its price
        return f"Choose {option.spoken}: {option.claim} {capital(_all(unpriced, comparison))}"
    stay = stay_words(advice.option)
    opening = headline(advice, list(named.values()))
    opening += {
        "rough": " before deciding",
        "trade-off": f": {within_sentence(stay)} unless the gain is worth the loss",
    }.get(advice.kind, "")
    if not told:
        return f"{stay}: none of the other options can be chosen" if advice.kind == "stay" else opening
    is_rough = advice.kind == "rough"
    others = [
        f"{named[name].spoken}: "
        + (_seen(advice.of(name), option.spoken) if is_rough else _all(advice.of(name), comparison))
        for name in told[:MOST_TOLD]
    ]
    more = f"; {len(told) - MOST_TOLD} more in the table" if len(told) > MOST_TOLD else ""
    return f"{opening}. {capital('; '.join(others))}{more}"


def _choose(reasons: Sequence[Reason], best: Alternative) -> str:
    """Return "Choose SJF", as sure as what is better: "The better choice is likely SJF"."""
    sure = any(one.verdict == "better" for one in reasons)
    return f"Choose {best.spoken}" if sure else f"The better choice is likely {best.spoken}"


def _no_winner(advice: Advice) -> str:
    """Return "No option wins on both cost and wait", of what the first option makes better and worse."""
    first = advice.of(_told(advice)[0])
    gain = next(one.metric for one in first if one.verdict in GOOD)
    loss = next(one.metric for one in first if one.verdict in BAD)
    names = sorted((gain, loss), key=lambda key: key not in COSTS)
    return f"No option wins on both {listed([_short(key) for key in names])}"


def _short(key: str) -> str:
    """Return what a metric is about in a word or two: "cost", "wait", "late jobs"."""
    return (
        "cost"
        if key in COSTS
        else "wait"
        if key.startswith(("wait_", "not_running_"))
        else metric_words(key).removeprefix("the ")
    )


def _told(advice: Advice) -> list[str]:
    return list(dict.fromkeys(reason.option for reason in advice.reasons))


def _names(names: Sequence[str], named: Mapping[str, Alternative]) -> str:
    return listed([named[name].spoken for name in names])


def _all(reasons: Sequence[Reason], comparison: Comparison) -> str:
    """Return the numbers of one option as clauses; the cost, where it does not change, as their end."""
    ends = [one for one in reasons if one.metric in COSTS and one.verdict in ("same", "not clear")]
    rest = [_clause(one, _cell(comparison, one)) for one in reasons if one not in ends]
    about = {"same": "at the same", "not clear": "at about the same"}
    end = "".join(f", {about[one.verdict]} {metric_words(one.metric)}" for one in ends)
    if not rest:
        return (
            f"{metric_words(ends[0].metric)} {_are(ends[0].metric)} about the same" if ends else "no number in common"
        )
    return f"{listed(rest)}{end}"


def _cell(comparison: Comparison, reason: Reason) -> Cell:
    row = comparison.row(reason.metric)
    assert row is not None
    return row.of(reason.option)


def _clause(reason: Reason, cell: Cell) -> str:
    """Return one number: "the p95 wait falls from 20 h to 6 h (better in 40 of 40)", as sure as its verdict."""
    name, change = metric_words(reason.metric), cell.delta
    if reason.verdict == "same":
        return f"{name} {_are(reason.metric)} the same"
    if reason.verdict == "missing" or change is None:
        return f"{name} {_are(reason.metric)} not known"
    if reason.verdict == "not clear":
        is_recorded = change.kind == "recorded"
        seen = count_words("better", change.better, change.worse, change.n) if is_recorded else cell.told.around
        return f"the effect on {name} is not clear" + (f" ({seen})" if seen else "")
    if reason.verdict == "mixed":
        return f"{moves(reason)} in the recorded month, {count_words('mixed', change.better, change.worse, change.n)}"
    behind = "" if is_plain_cost(reason.metric, cell) or not cell.told.brackets else f" ({cell.told.brackets})"
    return f"{moves(reason)}{behind}"


def is_plain_cost(metric: str, cell: Cell) -> bool:
    """Whether a cost differs by the same sum in every future, so that nothing has to be said of how sure that is."""
    change = cell.delta
    if metric not in COSTS or change is None or change.low is None or change.high is None:
        return metric in COSTS and change is not None and change.kind == "exact"
    return change.high - change.low <= SAME_NUMBER * abs(change.value)


def cost_words(metric: str, usd: float) -> str:
    """Return a difference in cost: "$87,600 more a month"."""
    return f"{money(abs(usd))} {'more' if usd > 0 else 'less'}{PER.get(metric, '')}"


def moves(reason: Reason) -> str:
    """Return how a number moves: "late jobs fall from 50% to 30%", "machine cost rises by $87,600 a month"."""
    likely = "likely " if reason.verdict.startswith("likely") else ""
    many, falls = reason.metric in PLURAL, reason.after < reason.before
    verb = f"{'fall' if falls else 'rise'}{'' if many else 's'}"
    name, kpi = metric_words(reason.metric), KPIS[reason.metric]
    if reason.metric in COSTS:
        by = f"by {money(abs(reason.after - reason.before))}{PER.get(reason.metric, '')}"
        return f"{name.removesuffix(' per job')} {likely}{verb} {by}"
    return f"{name} {likely}{verb} from {kpi.show(reason.before)} to {kpi.show(reason.after)}"


def _are(key: str) -> str:
    return "are" if key in PLURAL else "is"


def _seen(reasons: Sequence[Reason], base: str) -> str:
    """Return values side by side, without any verdict: of one future."""
    kpis = [(one, KPIS[one.metric]) for one in reasons]
    pairs = [f"{metric_words(one.metric)} {kpi.show(one.after)} ({base}: {kpi.show(one.before)})" for one, kpi in kpis]
    return listed(pairs) if pairs else "no number in common"


def _ties(advice: Advice, comparison: Comparison, named: Mapping[str, Alternative]) -> str:
    """Return which other options do about as well; beside one with a caveat, those without it."""
    best = named[advice.option]
    tied = [name for name in advice.ties if not (best.caveat and named[name].caveat)]
    if not tied:
        return ""
    word = metric_words(advice.reasons[0].metric)
    needs = ", without that caveat" if best.caveat else ""
    return f" {capital(_names(tied, named))} {'does' if len(tied) == 1 else 'do'} about as well on {word}{needs}."
