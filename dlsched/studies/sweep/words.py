"""What a sweep says in words: situations, sentence, cards, banners, assumptions; from numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.domain.units import HOUR_S
from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.compare import told
from dlsched.metrics.stats.statements import Estimate
from dlsched.policies.registry import spoken
from dlsched.studies.design.factors import role_of
from dlsched.studies.design.measures import MEASURES, is_paired
from dlsched.studies.sweep.answer import (
    Axis,
    Regret,
    Sweep,
    Value,
    failed,
    jobs_completed,
    loss_at,
    metrics_of,
    oversize_points,
    regrets,
    swings,
    unequal_points,
    value_at,
    with_violations,
    worst_point,
)
from dlsched.wording import settings
from dlsched.wording.assumptions import Premise, draw_premises, exact_premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.certainty import certainty as certainty_of
from dlsched.wording.certainty import value_words as certain_words
from dlsched.wording.formats import MISSING, amount, capital, listed, number, show_size

AS_IT_IS = "as it is"
MOST_PERCENT = 500.0
"""A loss of more percent than this is told in the unit of the metric: the best is next to nothing."""
PAIRED = "All situations and policies meet the same jobs, run times and failures in a future."
DEFAULTS = "Every policy runs with its default parameters, but for what varies here."
ONE_FUTURE = "One simulated version of the workload: a rough preview."
SAFE = "It has the best worst case: choose it where you do not know which situation comes."
UNCLEAR = ("not clear", "rough", "mixed")
BEHIND_WHY = (
    "How far each policy is behind the best policy of each situation. ★ is never further behind than the others: the "
    "safe choice where you do not know which situation comes."
)
REGRET = f"{BEHIND_WHY} This is the rule of minimax regret; regret is how far a policy is behind the best."
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


def where_words(sweep: Sweep, point: int) -> str:
    """Return a point as a condition: "at 8 nodes", "with 30% more jobs", "with the scenario as it is"."""
    moved = [axis.key for axis, value in zip(sweep.axes, sweep.points[point], strict=True) if value is not None]
    if not moved:
        return "with the scenario as it is"
    happens = all(role_of(key) == "condition" for key in moved)
    return f"{'with' if happens else 'at'} {point_words(sweep, point)}"


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
    return certainty_of(sweep.basis, len(sweep.futures.seeds))


def sentence(sweep: Sweep) -> str:
    """Return the finding about the first metric that can be better or worse."""
    metrics = metrics_of(sweep)
    return finding(sweep, metrics[0]) if metrics else "No metric can be compared."


def finding(sweep: Sweep, metric: str) -> str:
    """Return the answer in a sentence.

    Of several policies which one is the safe choice and how much another can lose; of one policy what moves it. What
    happens is never compared with what else could happen: no condition is called better or cheaper.
    """
    if sweep.mode == "one-at-a-time" and len(sweep.policies) == 1:
        return f"{_moved_most(sweep, metric)} ({certainty(sweep)})."
    text = _of_policies(sweep, metric) if len(sweep.policies) > 1 else _of_one(sweep, metric)
    safe = [one for one in regrets(sweep, metric) if one.safest] if len(sweep.policies) > 1 else []
    fewer = next((words for one in safe if (words := fewer_words(sweep, one))), "")
    return f"{MEASURES[metric].label}: {text}{fewer and f'. But {fewer}'} ({certainty(sweep)})."


def spoken_of(sweep: Sweep, metric: str) -> str:
    """Return the policy the sentence is about first, by key: the safe choice, else the first."""
    safe = [one.policy for one in regrets(sweep, metric) if one.safest] if len(sweep.policies) > 1 else []
    return [*safe, *sweep.policies][0]


def fewer_words(sweep: Sweep, regret: Regret) -> str:
    """Return how many jobs a policy completes where it falls most behind another, "" where it never does.

    Who turns jobs away can have the best mean over those that are left.
    """
    found = []
    for point in unequal_points(sweep):
        done = {policy: mean for policy in sweep.policies if (mean := jobs_completed(sweep, point, policy)) is not None}
        most = max(done, key=done.__getitem__, default="")
        if regret.policy in done and done[most] > done[regret.policy]:
            found.append((done[most] - done[regret.policy], done[regret.policy], done[most], most, point))
    if not found:
        return ""
    _, ours, theirs, other, point = max(found, key=lambda one: one[0])
    most, fewer = f"{_name(sweep, other)} completes {number(theirs)}", f"{_name(sweep, regret.policy)} completes"
    return f"{fewer} {number(ours)} jobs where {most}, {where_words(sweep, point)}"


def _of_policies(sweep: Sweep, metric: str) -> str:
    found = regrets(sweep, metric)
    safe = [one for one in found if one.safest]
    if not safe:
        return "no policy has a number in every situation, so none can be called safe"
    others = [one for one in found if not one.safest and one.worst]
    names = listed([_name(sweep, one.policy) for one in safe])
    where, is_are = _all_situations(sweep), "is" if len(safe) == 1 else "are"
    if safe[0].worst == 0:
        first = f"{names} {is_are} best {where}"
    else:
        first = f"{names} {is_are} best, or at most {loss_words(sweep, safe[0], metric)} behind the best, {where}"
    if not others:
        return first
    worst = max(others, key=lambda one: one.worst or 0.0)
    at = worst_point(worst)
    more = "worse" if MEASURES[metric].kind != "share" or worst.percents[at] is not None else "more"
    change = loss_at(sweep, at, worst.policy, metric)
    sure = "" if change is None else told(MEASURES[metric], change).verdict
    sure = "" if sure in ("worse", "changed") else sure  # it says so already
    other = f"{_name(sweep, worst.policy)} can be {loss_words(sweep, worst, metric)} {more}, {where_words(sweep, at)}"
    return f"{first}; {other}{f', {sure}' if sure else ''}"


def _all_situations(sweep: Sweep) -> str:
    points = len(sweep.points)
    if points == 1:
        return f"at {point_words(sweep, 0)}"
    return "in both situations" if points == 2 else f"in all {points} situations"


def loss_words(sweep: Sweep, regret: Regret, metric: str, at: int | None = None) -> str:
    """Return a loss in percent, in the unit of the metric where the best is next to 0; the worst without ``at``."""
    at = worst_point(regret) if at is None else at
    percent, size = regret.percents[at], regret.losses[at] or 0.0
    if percent is None or percent > MOST_PERCENT:
        return show_size(MEASURES[metric].kind, size)
    return f"{number(percent) if percent < 100 else f'{percent:,.0f}'}%"


def _of_one(sweep: Sweep, metric: str) -> str:
    """Return between what the only policy moves over a range."""
    policy, kpi = sweep.policies[0], MEASURES[metric]
    label = _name(sweep, policy)
    known = [(point, of) for point in range(len(sweep.points)) if (of := value_at(sweep, point, policy, metric))]
    if not known:
        return f"{label} has no number"
    ends = [known[0], known[-1]]
    if any(role_of(axis.key) == "option" for axis in sweep.axes):  # what is chosen may be better or worse
        sign = 1.0 if kpi.better == "lower" else -1.0
        ends = [min(known, key=lambda one: sign * one[1].value), max(known, key=lambda one: sign * one[1].value)]
    words = [f"{value_text(kpi, of)} {where_words(sweep, point)}" for point, of in ends]
    return f"from {words[0]} to {words[1]} under {label}" if ends[0][0] != ends[1][0] else f"{words[0]} under {label}"


def _moved_most(sweep: Sweep, metric: str) -> str:
    """Return what changes the only policy most, of things that are varied one at a time."""
    policy, kpi = sweep.policies[0], MEASURES[metric]
    under, name, base = (
        f"Under {_name(sweep, policy)},",
        settings.within_sentence(kpi.label),
        value_at(sweep, 0, policy, metric),
    )
    moves = swings(sweep, policy, metric)
    if not moves or base is None:
        return f"{under} {name} has no numbers to compare"
    point, change = max(moves[0].ends, key=lambda end: abs(end[1].value))
    if not change.value:
        return f"{under} nothing varied here changes {name}"
    said = told(kpi, change)
    size = f"{said.size} on {kpi.show(base.value)}"
    if change.verdict in UNCLEAR:
        return f"{under} no change of {name} is clear; the largest is {said.size}, {where_words(sweep, point)}"
    sure = f", {said.verdict}" if said.verdict and not sweep.exact else ""
    return f"{under} {name} changes most {where_words(sweep, point)}: {size}{sure}"


def value_text(kpi: KPI, of: Estimate | None) -> str:
    """Return a value with its range: "7 h 10 min (2 h to 35 h)"; a dash for none."""
    return MISSING if of is None else certain_words(kpi.kind, of.value, of.low, of.high)


# ---- cards, banners, assumptions ---------------------------------------------------------------------


def cards_of(sweep: Sweep, metric: str) -> list[tuple[str, str, str]]:
    """Return up to three cards: safe choice, how far behind the best it can be, completed jobs.

    Of one policy, one thing at a time: its value as it is, and the largest change each way.
    """
    found = [] if sweep.mode == "grid" or len(sweep.policies) > 1 else _cards_of_one(sweep, metric)
    safe = [one for one in regrets(sweep, metric) if one.safest] if len(sweep.policies) > 1 else []
    if safe:
        label = _name(sweep, safe[0].policy)
        value = label if len(safe) == 1 else f"{label} + {len(safe) - 1}"
        fewer = next((words for one in safe if (words := fewer_words(sweep, one))), "")
        title = "Best of jobs it completed" if fewer else "Safe choice"
        found.append((title, value, f"{f'{fewer}. ' if fewer else ''}{MEASURES[metric].label}. {SAFE}"))
        at = point_words(sweep, worst_point(safe[0]))
        worst = "nothing" if safe[0].worst == 0 else loss_words(sweep, safe[0], metric)
        found.append(("Behind the best by at most", worst, f"Where it is furthest behind: {at}. {certainty(sweep)}."))
    found.append(
        ("Completed jobs", _completed(sweep), "Least and most over all runs; rejected and unfinished are not.")
    )
    return found


def _cards_of_one(sweep: Sweep, metric: str) -> list[tuple[str, str, str]]:
    policy, kpi = sweep.policies[0], MEASURES[metric]
    base = value_at(sweep, 0, policy, metric)
    if base is None:
        return []
    found = [(f"{kpi.label}, as it is", kpi.show(base.value), f"Under {_name(sweep, policy)}. {kpi.tooltip}")]
    ends = [end for move in swings(sweep, policy, metric) for end in move.ends]
    for side, sign in (("rise", 1.0), ("fall", -1.0)):
        point, change = max(ends, key=lambda end: sign * end[1].value, default=(0, None))
        if change is not None and sign * change.value > 0:
            said = told(kpi, change)
            found.append((f"Largest {side}", said.size, f"{capital(where_words(sweep, point))}: {said.text}."))
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
        text = f"{missing:,} of {len(sweep.cells):,} runs are missing: numbers are of complete situations only."
        found.append(Caution("orange", text))
    if words := unequal_words(sweep):
        found.append(Caution("orange", words))
    if cut := oversize_points(sweep):
        points = f"{amount(len(cut), 'situation')}, first {point_words(sweep, cut[0])}"
        text = f"Jobs are too large in {points}: they were dropped or cut in width."
        found.append(Caution("orange", text, "Take larger sizes"))
    found += origin_cautions(sweep.scenario_name, stale=stale, elsewhere=elsewhere)
    rough = sweep.basis.kind == "drawn" and not sweep.futures.count
    return [*found, *([Caution("info", ONE_FUTURE, "Choose more futures in the scenario bar")] if rough else [])]


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
    return f"Policies completed different numbers of jobs in {points}: numbers are of unlike jobs."


def premises_of(sweep: Sweep, helps: Sequence[tuple[str, str]] = ()) -> list[Premise]:
    """Return the assumptions of the answer beyond those of its scenario; ``helps``: labels and words of what varies."""
    same = exact_premise() if sweep.exact else Premise("the same futures for all", PAIRED)
    own = [Premise("default parameters", DEFAULTS), same, *draw_premises(sweep.futures.vary)]
    if is_paired(sweep.metrics):
        own.append(Premise(f"gain over {_name(sweep, sweep.reference)}", MEASURES["gain"].tooltip))
    return own + [Premise(label, why) for label, why in helps]


def question_words(mode: str, axes: Sequence[Axis], labels: Sequence[str]) -> str:
    """Return what is asked: "How do 5 policies compare from 4 nodes to 12 nodes?"; ``labels``: of the policies."""
    name = spoken(labels[0]) if len(labels) == 1 else ""
    policies = amount(len(labels), "policy", "policies")
    if mode == "grid":
        over = " and ".join(_range_words(axis) for axis in axes)
        return f"How does {name} perform {over}?" if name else f"How do {policies} compare {over}?"
    things = " or ".join(filter(None, (", ".join(map(_thing_words, axes[:-1])), _thing_words(axes[-1]))))
    if name:
        return f"What changes the result under {name} most: {things}?"
    return f"Which of {policies} is the safe choice, whichever comes: {things}?"


def _range_words(axis: Axis) -> str:
    words = [situation_words(axis, value) for value in axis.values]
    if len(words) > 1 and not isinstance(axis.values[0], str):
        return f"from {words[0]} to {words[-1]}"
    return f"with {' or '.join(words)}"


def _thing_words(axis: Axis) -> str:
    """Return what varies by itself: its value where there is one, else its name within a sentence."""
    if len(axis.values) == 1:
        return situation_words(axis, axis.values[0])
    name, comma, kind = settings.within_sentence(axis.label).partition(", ")
    return f"{name} ({kind})" if comma else name
