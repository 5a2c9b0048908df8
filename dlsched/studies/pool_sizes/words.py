"""What the page Pool size says of an answer: sentence, cards, banners, assumptions; no page library."""

from __future__ import annotations

from dlsched.domain.units import HOUR_S, MINUTE_S
from dlsched.metrics.stats.intervals import Interval
from dlsched.policies.registry import spoken
from dlsched.studies.pool_sizes.answer import (
    MEASURES,
    Cell,
    PoolSizes,
    best_gain,
    gain_change,
    gain_of,
    mean_of,
    sizes_cut,
    with_violations,
)
from dlsched.studies.pool_sizes.sizing import OWN
from dlsched.studies.pool_sizes.spec import PoolSizesSpec
from dlsched.wording.assumptions import Premise, exact_premise
from dlsched.wording.cautions import Caution, one_draw_cautions, origin_cautions, violation_cautions
from dlsched.wording.certainty import EXACT, ROUGH, with_half
from dlsched.wording.formats import MISSING, amount, listed, share, short_time, show_interval

VARIANT_WORDS = {
    OWN: "as in the scenario",
    "baseline": "nothing",
    "estimates": "estimates off by up to 10%",
    "mishaps": "estimates, 15% bug jobs, 10% cancelled",
    "delay": "starts and scale-ups take 15 s",
}
SIZES = (
    "The pool has so many nodes; jobs, their arrivals and all other rules stay. Users might send other jobs to a "
    "larger cluster."
)
DEFAULTS = "Every policy runs with its default parameters."
PAIRED = (
    "Every size and policy meets the same jobs, errors and mishaps. Intervals are 95% ones over draws, each by itself."
)
MISHAPS = (
    "Each job is a bug job with 15% and taken back by its user with 10%, independently; the study has shares of jobs "
    "that add up to 100%."
)
LONG_S = 2 * HOUR_S
BEFORE_ALL = "The jobs of this scenario on fewer and on more nodes: who waits how long, and under which policy?"


def variant_words(variant: str) -> str:
    """Return what goes wrong in a variant."""
    return VARIANT_WORDS.get(variant, variant)


def question_words(spec: PoolSizesSpec) -> str:
    """Return the question in one line."""
    sizes = f"{spec.nodes[0]:,} to {spec.nodes[-1]:,} nodes" if len(spec.nodes) > 1 else amount(spec.nodes[0], "node")
    return f"{sizes}, {amount(len(spec.policies), 'policy', 'policies')}"


def focus(answer: PoolSizes, variant: str) -> str:
    """Return the policy the sentence speaks of: the one with the largest gain, else the reference."""
    best = best_gain(answer, variant)
    return answer.reference if best is None else best[0].policy


def finding(answer: PoolSizes, variant: str) -> str:
    """Return the answer in one or two sentences: what more nodes bring, the largest gain, and how sure it is."""
    best = best_gain(answer, variant)
    return f"{_nodes_words(answer, variant)}{'' if best is None else ' ' + _gain_sentence(answer, *best)}"


def _gain_sentence(answer: PoolSizes, cell: Cell, gain: Interval) -> str:
    ours, theirs = spoken(answer.labels[cell.policy]), spoken(answer.labels[answer.reference])
    exact = cell.variant in answer.exact
    sure = EXACT if exact else ROUGH if gain.half_width is None else f"{gain.n} draws"
    gains = [one for nodes in answer.nodes if (one := gain_of(answer.at(nodes, cell.variant, cell.policy))) is not None]
    is_most = len(gains) > 1 and gain.mean >= max(one.mean for one in gains)
    where = f", the most of {len(answer.nodes)} sizes" if is_most else ""
    if gain.mean <= 0:
        return f"On no size are jobs done sooner under {ours} than under {theirs} ({sure})."
    if not exact and gain.half_width is not None and not gain.tells_apart():
        return f"{ours} and {theirs} are not distinguishable ({sure}; at best {gain_words(gain)})."
    return (
        f"On {cell.nodes:,} they take {gain_words(gain).lstrip('+')} longer under {theirs} than under {ours}{where} "
        f"({sure})."
    )


def _nodes_words(answer: PoolSizes, variant: str) -> str:
    """Return what more nodes bring under the policy in focus."""
    policy, measure = focus(answer, variant), MEASURES["total"]
    ends = [(nodes, mean_of(answer.at(nodes, variant, policy), measure)) for nodes in answer.nodes]
    known = [(nodes, of) for nodes, of in ends if of is not None]
    label = spoken(answer.labels[policy])
    if not known:
        return "No job completed on any size."
    (least, first), (most, last) = known[0], known[-1]
    if least == most:
        return f"On {amount(least, 'node')} jobs take {_time(first)} under {label}."
    return (
        f"From {least:,} to {most:,} nodes the mean total time goes from {_time(first)} to {_time(last)} under {label}."
    )


def _time(of: Interval) -> str:
    return show_interval("duration", of.mean, None)


def cards_of(answer: PoolSizes, variant: str) -> list[tuple[str, str, str]]:
    """Return the four cards: gain, total time and queueing time on the present size, decisions proven."""
    policy = focus(answer, variant)
    here = min(answer.nodes, key=lambda nodes: (abs(nodes - answer.present), nodes))
    cell, label = answer.at(here, variant, policy), spoken(answer.labels[policy])
    about = f"{label} on {amount(here, 'node')}: "
    found = []
    if (best := best_gain(answer, variant)) is not None:
        of_gain = (
            f"On {amount(best[0].nodes, 'node')}, {label} against {spoken(answer.labels[answer.reference])}. {GAIN}"
        )
        found.append(("Gain", gain_words(best[1]), of_gain))
    for key in ("total", "wait"):
        of = mean_of(cell, MEASURES[key])
        value = MISSING if of is None else compact(of)
        found.append((f"{MEASURES[key].label}, {amount(here, 'node')}", value, about + MEASURES[key].hint))
    solved = [one.decisions for one in answer.cells if one.variant == variant and one.decisions is not None]
    if solved:
        many, proven = sum(one.solved for one in solved), sum(one.proven for one in solved)
        longest_s = max(one.longest_s for one in solved)
        words = "all" if many == proven else share(proven / many)
        hint = (
            "Plans of the solver with a proof that no other plan is better, over all sizes and draws. The longest took "
            f"{short_time(longest_s)} of CPU."
        )
        found.append(("Decisions proven", f"{words} of {many:,}", hint))
    return found


def compact(of: Interval) -> str:
    """Return a time with its half width in one unit, short enough for a card: 116 min ± 59."""
    unit_s, unit = (HOUR_S, "h") if of.mean >= LONG_S else (MINUTE_S, "min")
    half = None if of.half_width is None else of.half_width / unit_s
    mean, width = with_half(Interval(of.mean / unit_s, half, of.n, of.level))
    return f"{mean} {unit}{f' ± {width}' if width else ''}"


GAIN = (
    "Gain: by how much longer the mean total time is under the reference, over jobs completed under both. In the "
    "ModelArts study these are the additional jobs for each 100 of the greedy allocator, as we read its Fig. 11."
)


def cautions_of(answer: PoolSizes, *, stale: bool, elsewhere: bool = False) -> list[Caution]:
    """Return the banners; ``elsewhere``: the answer is about a scenario that is not in this store."""
    found = violation_cautions(
        [(f"{spoken(answer.labels[cell.policy])} on {amount(cell.nodes, 'node')}", draw.audit[0])
         for cell, draw in with_violations(answer)]
    )  # fmt: skip
    if cut := sizes_cut(answer):
        where = listed([f"{nodes:,}" for nodes in cut])
        text = f"On {where} nodes jobs are too large: they were dropped or cut in width, so that sizes differ in jobs."
        found.append(Caution("orange", text, "Take larger sizes"))
    is_exact = len(answer.exact) == len(answer.variants)
    found += origin_cautions(answer.scenario_name, stale=stale, elsewhere=elsewhere)
    return [*found, *one_draw_cautions(answer.draws, exact=is_exact)]


def premises_of(answer: PoolSizes) -> list[Premise]:
    """Return what the answer takes for granted beyond its scenario."""
    found = [Premise("sizes of one pool", SIZES), Premise("default parameters", DEFAULTS, "")]
    if answer.others:
        found.append(Premise("gain = our reading", GAIN))
    if len(answer.exact) < len(answer.variants):
        found.append(Premise("paired draws", f"Draws 0 to {answer.draws - 1}. {PAIRED}"))
    if answer.exact:
        found.append(exact_premise())
    if "mishaps" in answer.variants:
        found.append(Premise("mishaps are independent", MISHAPS))
    return found


def changes_of(answer: PoolSizes, policy: str) -> str:
    """Return how much a policy's gain changes with what goes wrong, against the first variant; "" without gains."""
    first, *others = answer.variants
    parts = []
    for variant in others:
        changes = [
            (nodes, change)
            for nodes in answer.nodes
            if (change := gain_change(answer.at(nodes, variant, policy), answer.at(nodes, first, policy))) is not None
        ]
        if changes:
            told = ", ".join(f"{_points(change)} on {nodes:,}" for nodes, change in changes)
            parts.append(f"{variant_words(variant)}: {told}")
    if not parts:
        return ""
    return f"Change of the gain against “{variant_words(first)}”, in points, on the same draws. {'. '.join(parts)}."


def _points(change: Interval) -> str:
    return show_interval("number", change.mean, change.half_width, signed=True)


def has_gains(answer: PoolSizes, variant: str) -> bool:
    """Whether some policy is compared with the reference."""
    return any(gain_of(cell) is not None for cell in answer.cells if cell.variant == variant)


def gain_words(of: Interval) -> str:
    """Return a gain in percent with its half width, decimals alike: +24.3% ± 3.1."""
    mean, half = with_half(of)
    sign = "+" if of.mean > 0 and not set(mean) <= set("0.,") else ""
    return f"{sign}{mean}%{f' ± {half}' if half else ''}"
