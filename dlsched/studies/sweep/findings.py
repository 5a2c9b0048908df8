"""What a sweep says in words: sentence, cards, banners, assumptions; from numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.intervals import Interval
from dlsched.metrics.stats.knee import knee_of
from dlsched.studies.sweep.answer import (
    Choice,
    Regret,
    Sweep,
    against_point,
    against_policy,
    choice_points,
    failed,
    frontier,
    kpi_of,
    mean_at,
    regrets,
    unequal_points,
    with_violations,
)
from dlsched.studies.sweep.words import AS_IT_IS, draw_words, point_words, situation_words
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import MISSING, PLUS_MINUS, amount, listed, number, show_interval, show_size
from dlsched.wording.settings import DAYS_WHY, of_these_days

COSTS = ("cost_month", "total_cost", "vm_cost")
MOVES_WINDOW = ("arrivals", "days", "horizon_s")
"""Changes after which jobs arrive over another time: only costs per month compare then."""
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


# ---- which numbers -----------------------------------------------------------------------------------


def metrics_of(sweep: Sweep) -> list[str]:
    """Return the metrics that can be better or worse and have a number somewhere, in the order asked for."""
    there = {key for cell in sweep.cells for key, value in cell.values.items() if value is not None}
    return [key for key in sweep.metrics if key in there and KPIS[key].better != "neutral"]


def costs_of(sweep: Sweep) -> list[str]:
    """Return the costs to show: per month alone where jobs arrive over different times."""
    costs = [key for key in COSTS if key in metrics_of(sweep)]
    moved = {axis.key for axis in sweep.axes} | set(sweep.vary)
    return [key for key in costs if key == "cost_month"] if moved & set(MOVES_WINDOW) else costs


def certainty(sweep: Sweep) -> str:
    """Return how sure the numbers are, in words."""
    if sweep.exact:
        return "exact for this trace, not a forecast"
    if len(sweep.seeds) == 1:
        return "rough, 1 draw"
    return f"95%, {len(sweep.seeds)} paired draws{of_these_days(sweep.vary)}"


# ---- the sentence ------------------------------------------------------------------------------------


def finding(sweep: Sweep, metric: str) -> str:
    """Return the answer in a sentence.

    Of several policies which one is the safe choice and how much another can lose; of one policy what moves it.
    """
    text = _of_policies(sweep, metric) if len(sweep.policies) > 1 else _of_one(sweep, metric)
    safe = [one for one in regrets(sweep, metric) if one.safest] if len(sweep.policies) > 1 else []
    fewer = next((words for one in safe if (words := fewer_words(sweep, one))), "")
    return f"{KPIS[metric].label}: {text}{fewer and f'. But {fewer}'} ({certainty(sweep)})."


def sentence(sweep: Sweep) -> str:
    """Return the finding about the first metric that can be better or worse."""
    metrics = metrics_of(sweep)
    return finding(sweep, metrics[0]) if metrics else "No metric can be compared."


def fewer_words(sweep: Sweep, regret: Regret) -> str:
    """Return how many jobs a policy completes where it falls most behind another, "" where it never does.

    Who turns jobs away can have the best mean over those that are left.
    """
    found = []
    for point in unequal_points(sweep):
        done = {
            policy: mean for policy in sweep.policies if (mean := _mean_completed(sweep, point, policy)) is not None
        }
        most = max(done, key=done.__getitem__, default="")
        if regret.policy in done and done[most] > done[regret.policy]:
            found.append((done[most] - done[regret.policy], done[regret.policy], done[most], most, point))
    if not found:
        return ""
    _, ours, theirs, other, point = max(found, key=lambda one: one[0])
    names = [sweep.labels[policy].replace(", ", " ") for policy in (regret.policy, other)]
    when = point_words(sweep, point)
    where = "with the scenario as it is" if when == AS_IT_IS else f"at {when}"
    return f"{names[0]} completes {number(ours)} jobs where {names[1]} completes {number(theirs)}, {where}"


def _mean_completed(sweep: Sweep, point: int, policy: str) -> float | None:
    counts = [cell.completed for cell in sweep.at(point, policy)]
    known = [one for one in counts if one is not None]
    return sum(known) / len(known) if known and len(known) == len(counts) else None


def _of_policies(sweep: Sweep, metric: str) -> str:
    found = regrets(sweep, metric)
    safe = [one for one in found if one.safest]
    if not safe:
        return "no policy has a number in every situation, so none can be called safe"
    others = [one for one in found if not one.safest and one.worst]
    names = listed([sweep.labels[one.policy].replace(", ", " ") for one in safe])
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
    more = "worse" if KPIS[metric].kind != "share" or worst.percents[at] is not None else "more"
    when = point_words(sweep, at)
    condition = "with the scenario as it is" if when == AS_IT_IS else f"at {when}"
    label = sweep.labels[worst.policy].replace(", ", " ")
    return f"{first}; {label} can be {_loss_words(sweep, worst, metric)} {more}, {condition}"


def _all_situations(sweep: Sweep) -> str:
    points = len(sweep.points)
    if points == 1:
        return f"at {point_words(sweep, 0)}"
    return "in both situations" if points == 2 else f"in all {points} situations"


def worst_point(regret: Regret) -> int:
    """Return the point at which a policy loses most; ValueError where it lacks a number."""
    return max(range(len(regret.losses)), key=lambda point: _known(regret.losses[point]))


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("there is no number here")
    return value


def _loss_words(sweep: Sweep, regret: Regret, metric: str) -> str:
    """Return the worst loss with its interval: 38% ± 5; in the unit of the metric where the best is next to 0."""
    at = worst_point(regret)
    loss = loss_at(sweep, at, regret.policy, metric)
    percent, size = regret.percents[at], _known(regret.losses[at])
    if percent is None or loss is None or percent > MOST_PERCENT:
        half = None if loss is None else loss.half_width
        return show_size(KPIS[metric].kind, size) + (
            f" {PLUS_MINUS} {show_size(KPIS[metric].kind, half)}" if half else ""
        )
    half = None if loss.half_width is None or not size else loss.half_width * percent / size
    return percent_words(percent, half)


def percent_words(percent: float, half: float | None) -> str:
    """Return a percent with its half width: 38% ± 5."""
    shown = number(percent) if percent < 100 else f"{percent:,.0f}"
    return f"{shown}%" + (f" {PLUS_MINUS} {number(float(f'{half:.2g}'))}" if half else "")


def loss_at(sweep: Sweep, point: int, policy: str, metric: str) -> Interval | None:
    """Return how much worse a policy is than the best one at a point, paired by draw; None without numbers."""
    best = best_at(sweep, point, metric)
    if best is None:
        return None
    found = against_policy(sweep, point, policy, metric, reference=best)
    if found is None:
        return None
    sign = 1.0 if KPIS[metric].better == "lower" else -1.0
    return Interval(sign * found.mean, found.half_width, found.n, found.level)


def best_at(sweep: Sweep, point: int, metric: str) -> str | None:
    """Return the policy with the best mean at a point, the first of equals; None where none has a number."""
    sign = 1.0 if kpi_of(metric).better == "lower" else -1.0
    means = {policy: of.mean for policy in sweep.policies if (of := mean_at(sweep, point, policy, metric)) is not None}
    return min(means, key=lambda policy: sign * means[policy]) if means else None


def _of_one(sweep: Sweep, metric: str) -> str:
    """Return what moves the only policy: over a range its ends, one at a time what moves it most."""
    policy, kpi = sweep.policies[0], KPIS[metric]
    label = sweep.labels[policy].replace(", ", " ")
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


# ---- one at a time -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Swing:
    """What one thing does by itself: point and change against the baseline of its lowest and its highest value."""

    axis: int
    ends: tuple[tuple[int, Interval], ...]

    @property
    def size(self) -> float:
        """The largest change, whichever way."""
        return max(abs(change.mean) for _, change in self.ends)


def swings(sweep: Sweep, policy: str, metric: str) -> list[Swing]:
    """Return what each thing does by itself, the largest first; those without a number are left out."""
    found = []
    for number_of, _ in enumerate(sweep.axes):
        points = _ascending(sweep, number_of)
        changes = [(at, of) for at in points if (of := against_point(sweep, at, policy, metric)) is not None]
        if changes:
            ends = (changes[0],) if len(changes) == 1 else (changes[0], changes[-1])
            found.append(Swing(number_of, ends))
    return sorted(found, key=lambda swing: -swing.size)


def _ascending(sweep: Sweep, axis: int) -> list[int]:
    """Return the points at which one thing is changed, its lowest value first; names as they were given."""
    values = {at: value for at, point in enumerate(sweep.points) if (value := point[axis]) is not None}
    numbers = {at: value for at, value in values.items() if not isinstance(value, str)}
    return sorted(numbers, key=numbers.__getitem__) if len(numbers) == len(values) else list(values)


# ---- cost against service ----------------------------------------------------------------------------


def knee(sweep: Sweep, cost: str, service: str, among: Sequence[int] | None = None) -> Choice | None:
    """Return the knee of the frontier ``among`` points, by :func:`metrics.stats.knee.knee_of`; None without one."""
    signs = [1.0 if kpi_of(key).better == "lower" else -1.0 for key in (cost, service)]
    kept = [choice for choice in frontier(sweep, cost, service, among) if not choice.dominated]
    at = knee_of([signs[0] * one.cost for one in kept], [signs[1] * one.service for one in kept])
    return None if at is None else kept[at]


# ---- cards, banners, assumptions ---------------------------------------------------------------------


def cards_of(sweep: Sweep, metric: str) -> list[tuple[str, str, str]]:
    """Return up to four cards: safe choice, its worst loss, knee of cost against service, completed jobs."""
    found = []
    safe = [one for one in regrets(sweep, metric) if one.safest] if len(sweep.policies) > 1 else []
    if safe:
        label = sweep.labels[safe[0].policy].replace(", ", " ")
        value = label if len(safe) == 1 else f"{label} + {len(safe) - 1}"
        fewer = next((words for one in safe if (words := fewer_words(sweep, one))), "")
        title = "Best of jobs it completed" if fewer else "Safe choice"
        found.append((title, value, f"{f'{fewer}. ' if fewer else ''}{KPIS[metric].label}. {REGRET}"))
        at = point_words(sweep, worst_point(safe[0]))
        worst = "none" if safe[0].worst == 0 else _loss_words(sweep, safe[0], metric)
        found.append(("Its worst loss", worst, f"To the best policy, where it loses most: {at}. {certainty(sweep)}."))
    cost = next((key for key in costs_of(sweep) if key != metric), None)
    bend = None if cost is None else knee(sweep, cost, metric, choice_points(sweep, 0))
    if cost is not None and bend is not None:
        label = sweep.labels[bend.policy].replace(", ", " ")
        text = f"{label} at {point_words(sweep, bend.point)}: {KPIS[metric].show(bend.service)}. {KNEE}"
        found.append(("Knee", KPIS[cost].show(bend.cost), text))
    found.append(
        ("Completed jobs", _completed(sweep), "Least and most over all runs; rejected and unfinished are not.")
    )
    return found


def _completed(sweep: Sweep) -> str:
    counts = [cell.completed for cell in sweep.cells if cell.completed is not None]
    if not counts:
        return MISSING
    return f"{counts[0]:,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"


def guards_of(sweep: Sweep, *, stale: bool = False, elsewhere: bool = False) -> list[Caution]:
    """Return the banners: violations, failed and missing runs, unlike jobs; old answers and foreign scenarios."""
    found = []
    if bad := with_violations(sweep):
        first = f"{sweep.labels[bad[0].policy]}, {point_words(sweep, bad[0].point)}: {bad[0].audit[0]}"
        text = f"The auditor found violations in {amount(len(bad), 'run')}. First, {first}"
        found.append(Caution("red", text, "Do not use this answer"))
    if ended := failed(sweep):
        first = f"{sweep.labels[ended[0].policy]}, {point_words(sweep, ended[0].point)}: {ended[0].error}"
        text = f"{amount(len(ended), 'run')} of {len(sweep.cells):,} failed and count nowhere. First, {first}"
        found.append(Caution("orange", text))
    if missing := sweep.num_missing:
        text = f"{missing:,} of {len(sweep.cells):,} runs are missing: means are of complete points only."
        found.append(Caution("orange", text))
    if unequal := list(unequal_points(sweep)):
        first, points = point_words(sweep, unequal[0]), amount(len(unequal), "situation")
        text = f"Policies completed different numbers of jobs in {points}, first {first}: means are of unlike jobs."
        found.append(Caution("orange", text))
    if elsewhere:
        text = f"This answer is about the scenario {sweep.scenario_name}, which is not in this store."
        found.append(Caution("info", text))
    if stale:
        found.append(Caution("info", "Computed by another version of this program.", "Run it again to be sure."))
    if len(sweep.seeds) == 1 and not sweep.exact:
        found.append(Caution("info", "1 draw: rough, without intervals.", "Run 3 draws or more"))
    return found


def chips_of(sweep: Sweep, helps: Sequence[tuple[str, str]] = ()) -> list[Premise]:
    """Return what the answer takes for granted beyond its scenario; ``helps``: labels and words of what varies."""
    found = [Premise("default parameters", DEFAULTS)]
    if sweep.exact:
        why = "Nothing is random where given jobs run as they are: one draw says all of them, and nothing of others."
        found.append(Premise("exact for this trace", why))
    else:
        found.append(Premise(amount(len(sweep.seeds), "paired draw"), PAIRED))
    if words := draw_words(sweep):
        why = "Drawn anew for each draw, the same for all points and policies."
        found.append(Premise(f"draws: {words}", f"{why} {DAYS_WHY}" if "days" in sweep.vary else why))
    return found + [Premise(label, why, "") for label, why in helps]


def question_words(sweep: Sweep) -> str:
    """Return what was asked in one line: Nodes (6), Arrivals (3); 5 policies, 10 draws."""
    axes = ", ".join(
        f"{axis.label} ({len(axis.values)})" if len(axis.values) > 1 else situation_words(axis, axis.values[0])
        for axis in sweep.axes
    )
    return f"{axes}; {amount(len(sweep.policies), 'policy', 'policies')}, {amount(len(sweep.seeds), 'draw')}"
