"""What a sweep says in words: situations, sentence, cards, banners, assumptions; from numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.domain.units import HOUR_S
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.policies.registry import spoken
from dlsched.studies.design.measures import MEASURES, is_paired
from dlsched.studies.sweep.answer import (
    Axis,
    Regret,
    Sweep,
    Value,
    choice_points,
    costs_of,
    failed,
    knee,
    loss_at,
    mean_at,
    mean_completed,
    metrics_of,
    oversize_points,
    regrets,
    swings,
    unequal_points,
    with_violations,
    worst_point,
)
from dlsched.wording import settings
from dlsched.wording.assumptions import Premise, draw_premises, exact_premise
from dlsched.wording.cautions import Caution, one_draw_cautions, origin_cautions, violation_cautions
from dlsched.wording.certainty import certainty as certainty_of
from dlsched.wording.formats import MISSING, PLUS_MINUS, amount, listed, number, show_interval, show_size

AS_IT_IS = "as it is"
MOST_PERCENT = 500.0
"""A loss of more percent than this is told in the unit of the metric: the best is next to nothing."""
PAIRED = "All points and policies meet the same random jobs at a draw; intervals are 95% ones over draws."
DEFAULTS = "Every policy runs with its default parameters, but for what varies here."
REGRET = (
    "Regret: what a policy loses to the best policy of each situation, by means over draws. ★ has the smallest worst "
    "loss (minimax regret): the safe choice where nobody knows which situation comes."
)
KNEE = (
    "Knee: both axes are scaled to 0..1, and it is the point furthest below the line from the cheapest to the best. It "
    "depends on what was tried, and is no recommendation."
)


# ---- situations --------------------------------------------------------------------------------------


def value_words(axis: Axis, value: Value) -> str:
    """Return a value as ticks and ends of bars show it: 8, +20%, 5 min, ± 50%."""
    return settings.value_words(axis.key, axis.unit, value)


def situation_words(axis: Axis, value: Value) -> str:
    """Return a value with what it is of: 8 nodes, arrivals +20%, 2 failures."""
    return settings.setting_words(axis.key, axis.label, axis.unit, value)


def point_words(sweep: Sweep, point: int) -> str:
    """Return a point: "8 nodes, arrivals +20%"; "as it is" for the scenario without a change."""
    parts = [
        situation_words(axis, value)
        for axis, value in zip(sweep.axes, sweep.points[point], strict=True)
        if value is not None
    ]
    return ", ".join(parts) or AS_IT_IS


def _where(sweep: Sweep, point: int) -> str:
    """Return a point as a condition: "at 8 nodes", "with the scenario as it is"."""
    words = point_words(sweep, point)
    return "with the scenario as it is" if words == AS_IT_IS else f"at {words}"


def _name(sweep: Sweep, policy: str) -> str:
    """Return a policy's name as sentences can list it."""
    return spoken(sweep.labels[policy])


def axis_title(axis: Axis) -> str:
    """Return the title of an axis of a chart, with the unit of the values on it."""
    if axis.unit == "x":
        return f"{axis.label} (change, %)"
    if axis.key == "run_time_spread" or axis.key in settings.SHARES:
        return f"{axis.label} (%)"
    if axis.unit in ("s", "h"):
        return f"{axis.label} (hours)"
    return f"{axis.label} ({axis.unit})" if axis.unit and axis.unit != "nodes" else axis.label


def position(axis: Axis, value: Value) -> float:
    """Return where a number stands on its axis, in the unit of :func:`axis_title`; TypeError for a name."""
    if isinstance(value, str):
        raise TypeError(f"{axis.key} has names, got {value!r}")
    if axis.unit == "x":
        return 100 * (value - 1)
    if axis.key == "run_time_spread" or axis.key in settings.SHARES:
        return 100 * value
    return value / HOUR_S if axis.unit == "s" else value


# ---- the sentence ------------------------------------------------------------------------------------


def certainty(sweep: Sweep) -> str:
    """Return how sure the numbers are, in words."""
    count = len(sweep.futures.seeds)
    return certainty_of(EXACT_BASIS if sweep.exact else Basis(kind="drawn", futures=count - 1), count)


def sentence(sweep: Sweep) -> str:
    """Return the finding about the first metric that can be better or worse."""
    metrics = metrics_of(sweep)
    return finding(sweep, metrics[0]) if metrics else "No metric can be compared."


def finding(sweep: Sweep, metric: str) -> str:
    """Return the answer in a sentence.

    Of several policies which one is the safe choice and how much another can lose; of one policy what moves it.
    """
    text = _of_policies(sweep, metric) if len(sweep.policies) > 1 else _of_one(sweep, metric)
    safe = [one for one in regrets(sweep, metric) if one.safest] if len(sweep.policies) > 1 else []
    fewer = next((words for one in safe if (words := fewer_words(sweep, one))), "")
    return f"{MEASURES[metric].label}: {text}{fewer and f'. But {fewer}'} ({certainty(sweep)})."


def fewer_words(sweep: Sweep, regret: Regret) -> str:
    """Return how many jobs a policy completes where it falls most behind another, "" where it never does.

    Who turns jobs away can have the best mean over those that are left.
    """
    found = []
    for point in unequal_points(sweep):
        done = {policy: mean for policy in sweep.policies if (mean := mean_completed(sweep, point, policy)) is not None}
        most = max(done, key=done.__getitem__, default="")
        if regret.policy in done and done[most] > done[regret.policy]:
            found.append((done[most] - done[regret.policy], done[regret.policy], done[most], most, point))
    if not found:
        return ""
    _, ours, theirs, other, point = max(found, key=lambda one: one[0])
    most, fewer = f"{_name(sweep, other)} completes {number(theirs)}", f"{_name(sweep, regret.policy)} completes"
    return f"{fewer} {number(ours)} jobs where {most}, {_where(sweep, point)}"


def _of_policies(sweep: Sweep, metric: str) -> str:
    found = regrets(sweep, metric)
    safe = [one for one in found if one.safest]
    if not safe:
        return "no policy has a number in every situation, so none can be called safe"
    others = [one for one in found if not one.safest and one.worst]
    names = listed([_name(sweep, one.policy) for one in safe])
    where = _all_situations(sweep)
    if safe[0].worst == 0:
        first = f"{names} {'is' if len(safe) == 1 else 'are'} best {where}"
    else:
        first = f"{names} {'is' if len(safe) == 1 else 'are'} best or within {_loss_words(sweep, safe[0], metric)} of "
        first += f"the best {where}"
    if not others:
        return first
    worst = max(others, key=lambda one: one.worst or 0.0)
    at = worst_point(worst)
    more = "worse" if MEASURES[metric].kind != "share" or worst.percents[at] is not None else "more"
    return (
        f"{first}; {_name(sweep, worst.policy)} can be {_loss_words(sweep, worst, metric)} {more}, {_where(sweep, at)}"
    )


def _all_situations(sweep: Sweep) -> str:
    points = len(sweep.points)
    if points == 1:
        return f"at {point_words(sweep, 0)}"
    return "in both situations" if points == 2 else f"in all {points} situations"


def _loss_words(sweep: Sweep, regret: Regret, metric: str) -> str:
    """Return the worst loss with its interval: 38% ± 5; in the unit of the metric where the best is next to 0."""
    at = worst_point(regret)
    loss = loss_at(sweep, at, regret.policy, metric)
    percent, size = regret.percents[at], regret.losses[at] or 0.0
    if percent is None or loss is None or percent > MOST_PERCENT:
        half = None if loss is None else loss.half_width
        return show_size(MEASURES[metric].kind, size) + (
            f" {PLUS_MINUS} {show_size(MEASURES[metric].kind, half)}" if half else ""
        )
    half = None if loss.half_width is None or not size else loss.half_width * percent / size
    return percent_words(percent, half)


def percent_words(percent: float, half: float | None) -> str:
    """Return a percent with its half width: 38% ± 5."""
    shown = number(percent) if percent < 100 else f"{percent:,.0f}"
    return f"{shown}%" + (f" {PLUS_MINUS} {number(float(f'{half:.2g}'))}" if half else "")


def _of_one(sweep: Sweep, metric: str) -> str:
    """Return what moves the only policy: over a range its ends, one at a time what moves it most."""
    policy, kpi = sweep.policies[0], MEASURES[metric]
    label = _name(sweep, policy)
    if sweep.mode == "one-at-a-time":
        moves = swings(sweep, policy, metric)
        base = mean_at(sweep, 0, policy, metric)
        if not moves or base is None:
            return f"{label} has no numbers to compare"
        most = moves[0]
        point, change = max(most.ends, key=lambda end: abs(end[1].mean))
        words = show_interval(kpi.kind, change.mean, change.half_width, signed=True)
        if not change.mean:
            return f"nothing varied here moves it under {label}"
        if change.half_width is not None and change.half_width > 0 and not change.tells_apart():
            return f"no change is distinguishable under {label}; the largest is {words}, {point_words(sweep, point)}"
        return (
            f"what moves it most under {label} is {point_words(sweep, point)}: {words} on "
            f"{show_interval(kpi.kind, base.mean, None)}"
        )
    known = [(point, of) for point in range(len(sweep.points)) if (of := mean_at(sweep, point, policy, metric))]
    if not known:
        return f"{label} has no number"
    sign = 1.0 if kpi.better == "lower" else -1.0
    best, worst = min(known, key=lambda one: sign * one[1].mean), max(known, key=lambda one: sign * one[1].mean)
    ends = [
        f"{show_interval(kpi.kind, of.mean, of.half_width)} at {point_words(sweep, point)}"
        for point, of in (best, worst)
    ]
    return f"from {ends[0]} to {ends[1]} under {label}" if best[0] != worst[0] else f"{ends[0]} under {label}"


# ---- cards, banners, assumptions ---------------------------------------------------------------------


def cards_of(sweep: Sweep, metric: str) -> list[tuple[str, str, str]]:
    """Return up to four cards: safe choice, its worst loss, knee of cost against service, completed jobs."""
    found = []
    safe = [one for one in regrets(sweep, metric) if one.safest] if len(sweep.policies) > 1 else []
    if safe:
        label = _name(sweep, safe[0].policy)
        value = label if len(safe) == 1 else f"{label} + {len(safe) - 1}"
        fewer = next((words for one in safe if (words := fewer_words(sweep, one))), "")
        title = "Best of jobs it completed" if fewer else "Safe choice"
        found.append((title, value, f"{f'{fewer}. ' if fewer else ''}{MEASURES[metric].label}. {REGRET}"))
        at = point_words(sweep, worst_point(safe[0]))
        worst = "none" if safe[0].worst == 0 else _loss_words(sweep, safe[0], metric)
        found.append(("Its worst loss", worst, f"To the best policy, where it loses most: {at}. {certainty(sweep)}."))
    cost = next((key for key in costs_of(sweep) if key != metric), None)
    bend = None if cost is None else knee(sweep, cost, metric, choice_points(sweep, 0))
    if cost is not None and bend is not None:
        where = f"{_name(sweep, bend.policy)} at {point_words(sweep, bend.point)}"
        text = f"{where}: {MEASURES[metric].show(bend.service)}. {KNEE}"
        found.append(("Knee", MEASURES[cost].show(bend.cost), text))
    found.append(
        ("Completed jobs", _completed(sweep), "Least and most over all runs; rejected and unfinished are not.")
    )
    return found


def _completed(sweep: Sweep) -> str:
    counts = [cell.completed for cell in sweep.cells if cell.completed is not None]
    if not counts:
        return MISSING
    return f"{counts[0]:,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"


def cautions_of(sweep: Sweep, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, failed and missing runs, unlike jobs; old answers and foreign scenarios."""
    found = violation_cautions(violations(sweep))
    if words := failed_words(sweep):
        found.append(Caution("orange", words))
    if missing := sweep.num_missing:
        text = f"{missing:,} of {len(sweep.cells):,} runs are missing: means are of complete points only."
        found.append(Caution("orange", text))
    if words := unequal_words(sweep):
        found.append(Caution("orange", words))
    if cut := oversize_points(sweep):
        points = f"{amount(len(cut), 'situation')}, first {point_words(sweep, cut[0])}"
        text = f"Jobs are too large in {points}: they were dropped or cut in width."
        found.append(Caution("orange", text, "Take larger sizes"))
    found += origin_cautions(sweep.scenario_name, stale=stale, elsewhere=elsewhere)
    return [*found, *one_draw_cautions(len(sweep.futures.seeds), exact=sweep.exact)]


def violations(sweep: Sweep) -> list[tuple[str, str]]:
    """Return policy and point of each run that the auditor complains of, with its first complaint."""
    return [
        (f"{_name(sweep, cell.policy)}, {point_words(sweep, cell.point)}", cell.audit[0])
        for cell in with_violations(sweep)
    ]


def failed_words(sweep: Sweep) -> str:
    """Return how many runs failed and why the first did; "" where none did."""
    ended = failed(sweep)
    if not ended:
        return ""
    first = f"{_name(sweep, ended[0].policy)}, {point_words(sweep, ended[0].point)}: {ended[0].error}"
    return f"{amount(len(ended), 'run')} of {len(sweep.cells):,} failed and count nowhere. First, {first}."


def unequal_words(sweep: Sweep) -> str:
    """Return at how many points policies completed different numbers of jobs; "" where at none."""
    unequal = list(unequal_points(sweep))
    if not unequal:
        return ""
    points = f"{amount(len(unequal), 'situation')}, first {point_words(sweep, unequal[0])}"
    return f"Policies completed different numbers of jobs in {points}: means are of unlike jobs."


def premises_of(sweep: Sweep, helps: Sequence[tuple[str, str]] = ()) -> list[Premise]:
    """Return what the answer takes for granted beyond its scenario; ``helps``: labels and words of what varies."""
    draws = exact_premise() if sweep.exact else Premise(amount(len(sweep.futures.seeds), "paired draw"), PAIRED)
    own = [Premise("default parameters", DEFAULTS), draws, *draw_premises(sweep.futures.vary)]
    if is_paired(sweep.metrics):
        own.append(Premise(f"gain over {_name(sweep, sweep.reference)}", MEASURES["gain"].tooltip))
    return own + [Premise(label, why) for label, why in helps]


def question_words(sweep: Sweep) -> str:
    """Return what was asked in one line: Nodes (6), Arrivals (3); 5 policies, 10 draws."""
    axes = ", ".join(
        f"{axis.label} ({len(axis.values)})" if len(axis.values) > 1 else situation_words(axis, axis.values[0])
        for axis in sweep.axes
    )
    return f"{axes}; {amount(len(sweep.policies), 'policy', 'policies')}, {amount(len(sweep.futures.seeds), 'draw')}"
