"""Winners and losers in words and rows: which groups gain, how sure that is, which jobs are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dlsched.metrics.job_classes import NAMED, NOUNS, letters
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import delta_words
from dlsched.metrics.winners import QUANTITIES, Group, Winners
from dlsched.wording.certainty import certainty
from dlsched.wording.formats import MISSING, amount, capital, count, listed, show, show_delta, show_size

MOST_FOLDED_NAMED = 8
ALIKE = {
    "wait_s": ("wait less", "wait longer"),
    "jct_s": ("are done sooner", "are done later"),
    "slowdown": ("are slowed down less", "are slowed down more"),
    "tardiness_s": ("are less late", "are later"),
    "utility": ("gain utility", "lose utility"),
}
"""What is said where all groups gain, and where all lose."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Groups that gain and that lose more than noticed, and those ``unsure``, of the ``groups`` that stand alone."""

    gain: int
    lose: int
    unsure: int
    groups: int


def tally(answer: Winners) -> Tally:
    """Count winners and losers among the groups that stand alone; in one random future by the change found."""
    alone = [group for group in answer.groups if not group.folded]
    sign = -1.0 if QUANTITIES[answer.quantity].kpi.better == "lower" else 1.0
    gains = [
        sign * group.change
        for group in alone
        if group.change is not None and group.verdict in ("better", "worse", "rough")
    ]
    return Tally(
        gain=sum(gain > answer.noticed for gain in gains),
        lose=sum(gain < -answer.noticed for gain in gains),
        unsure=sum(group.verdict == "not clear" for group in alone),
        groups=len(alone),
    )


def ordered(answer: Winners) -> list[Group]:
    """Return the groups as they are listed: names with the largest gain first, classes from small to large.

    Names without a compared job come last.
    """
    if answer.by not in NAMED:
        return list(answer.groups)
    sign = 1.0 if QUANTITIES[answer.quantity].kpi.better == "lower" else -1.0
    return sorted(answer.groups, key=lambda group: math.inf if group.change is None else sign * group.change)


def noticed_words(quantity: str, noticed: float) -> str:
    """Return from which size on a change counts: "more than 10 min", "at all"."""
    kind = QUANTITIES[quantity].kpi.kind
    return f"more than {show(kind, noticed)}" if noticed > 0 else "at all"


def counted_words(answer: Winners) -> str:
    """Return which changes count: "more than 10 min of mean wait", "at all in mean utility"."""
    of = "of mean" if answer.noticed > 0 else "in mean"
    return f"{noticed_words(answer.quantity, answer.noticed)} {of} {QUANTITIES[answer.quantity].noun}"


def sentence(answer: Winners) -> str:
    """Return which groups gain and which lose: "12 users gain, 3 lose more than 10 min of mean wait; 5 of 20 ...".

    Names that users gave may be in it.
    """
    found = tally(answer)
    if answer.total.change is None:
        return f"No job {QUANTITIES[answer.quantity].has_it} under both {answer.baseline} and {answer.other}."
    one, many = NOUNS[answer.by]
    gain = (
        f"no {one} gains"
        if found.gain == 0
        else f"{amount(found.gain, one, many)} {'gains' if found.gain == 1 else 'gain'}"
    )
    lose = "none loses" if found.lose == 0 else f"{count(found.lose)} {'loses' if found.lose == 1 else 'lose'}"
    first = f"{capital(gain)} and {lose} {counted_words(answer)}"
    rest = found.groups - found.gain - found.lose - found.unsure
    others = [f"{count(rest)} {'changes' if rest == 1 else 'change'} less"] if rest else []
    if found.unsure:
        others.append(f"{count(found.unsure)} {'is' if found.unsure == 1 else 'are'} not clear")
    tail = f"; {listed(others)}" if others else ""
    sure = certainty(EXACT_BASIS if answer.exact else Basis(kind="drawn", futures=answer.draws - 1), answer.draws)
    instead = f"with {answer.other} in place of {answer.baseline}"
    if found.groups > 1 and found.groups in (found.gain, found.lose) and not answer.folded:
        by = show_size(QUANTITIES[answer.quantity].kpi.kind, answer.total.change)
        return f"All {many} {ALIKE[answer.quantity][found.gain == 0]} {instead} (by {by} on average; {sure})."
    return f"{first} {instead}{tail} ({sure})."


def jobs_sentence(answer: Winners) -> str:
    """Return how many jobs gain and lose: means of groups hide jobs that fare differently. "" without a job."""
    whole = answer.total
    if whole.change is None:
        return ""
    by = f" by {noticed_words(answer.quantity, answer.noticed)}" if answer.noticed > 0 else ""
    better, worse = (show("share", share) for share in (whole.better_share, whole.worse_share))
    return f"Of the {_jobs(whole.compared)} compared {better} are better off and {worse} worse off{by}."


def notes(answer: Winners) -> list[str]:
    """Return what must be known to read the numbers: what intervals cover, what is left out, what is folded."""
    kind = QUANTITIES[answer.quantity]
    said = []
    if answer.draws > 1 and not answer.exact:
        text = f"Each range is a 95% interval for its group alone, over {count(answer.draws)} simulated versions"
        if len(answer.groups) >= 10:
            text += f": about 1 in 20 of the {count(len(answer.groups))} groups may be off by chance"
        said.append(f"{text}.")
    elif answer.exact:
        said.append(
            "Nothing is random here, so the changes have no error for this trace; other days may differ. The middle "
            "half of a group's jobs shows how much they differ; the mean lies outside it where a few jobs change a lot."
        )
    else:
        said.append("Rough preview of one simulation: run more to see which changes are chance.")
    whole = answer.total
    apart = [
        f"{_jobs(many)} {kind.has_it} {where}"
        for many, where in (
            (whole.only_baseline, f"only under {answer.baseline}"),
            (whole.only_other, f"only under {answer.other}"),
            (whole.neither, "under neither"),
        )
        if many > 0
    ]
    if apart:
        said.append(f"Means are over the {_jobs(whole.compared)} {kind.has_it} under both; {listed(apart)}.")
    if answer.folded:
        named = [*answer.folded[:MOST_FOLDED_NAMED]]
        more = len(answer.folded) - len(named)
        said.append(f"Small groups: {listed([*named, *([f'{count(more)} more'] if more else [])])}.")
    if answer.draws > 1:
        said.append("Numbers of jobs are per simulation, on average.")
    return said


def _jobs(many: float) -> str:
    """Return a mean number of jobs, with a decimal where it is no whole number."""
    return f"{many_words(many)} job" + ("" if many == 1 else "s")


def many_words(many: float) -> str:
    """Return a mean number of jobs per future: 1,234; 3.4; "under 0.1"."""
    if many == round(many) or many >= 100:
        return count(many)
    return f"{many:.1f}" if many >= 0.05 else "under 0.1"


def change_words(group: Group, quantity: str) -> str:
    """Return the change with interval and verdict: "−41 min (−56 min to −26 min), better"; a dash without jobs."""
    interval = group.interval
    return MISSING if interval is None else delta_words(QUANTITIES[quantity].kpi, interval, group.verdict)


def quartiles_words(group: Group, quantity: str) -> str:
    """Return between which changes the middle half of the jobs lies."""
    if group.quartiles is None:
        return MISSING
    kind = QUANTITIES[quantity].kpi.kind
    low, _, high = (show_delta(kind, value) for value in group.quartiles)
    return low if low == high else f"{low} to {high}"


def shown_rows(answer: Winners) -> list[dict[str, str]]:
    """Return a row a group in words, the whole first: counts, means, change, shares of its jobs, middle half."""
    kind, one = QUANTITIES[answer.quantity], NOUNS[answer.by][0]
    by_more = "" if answer.noticed == 0 else f" by > {show_size(kind.kpi.kind, answer.noticed)}"
    rows = []
    for group in (answer.total, *ordered(answer)):
        means = [show(kind.kpi.kind, mean) for mean in (group.baseline, group.other)]
        shares = [show("share", share) for share in (group.better_share, group.worse_share)]
        rows.append(
            {
                one.capitalize(): group.name,
                "Jobs compared": many_words(group.compared),
                "Left out": many_words(group.jobs - group.compared) if group.jobs > group.compared else "0",
                "Mean, baseline": means[0],
                "Mean, other run": means[1],
                "Change": change_words(group, answer.quantity),
                f"Jobs better{by_more}": shares[0],
                f"Jobs worse{by_more}": shares[1],
                "Middle half of jobs": quartiles_words(group, answer.quantity),
            }
        )
    return rows


def rows_of(answer: Winners) -> list[dict[str, Any]]:
    """Return a row a group as numbers, the whole first: seconds, factors or units of the quantity; None = unknown."""
    return [
        {
            "group": group.name, "jobs": group.jobs, "compared": group.compared,
            "only under baseline": group.only_baseline, "only under other": group.only_other,
            "under neither": group.neither, "mean, baseline": group.baseline, "mean, other": group.other,
            "change": group.change, "change ±": group.half_width, "draws": group.draws,
            "share better": group.better_share, "share worse": group.worse_share,
            "change, 25%": group.quartiles and group.quartiles[0],
            "change, median": group.quartiles and group.quartiles[1],
            "change, 75%": group.quartiles and group.quartiles[2], "verdict": group.verdict,
        }
        for group in (answer.total, *ordered(answer))
    ]  # fmt: skip


def with_letters(answer: Winners) -> Winners:
    """Return the answer with A, B, C in place of names that people gave; classes by size and length keep theirs."""
    if answer.by not in NAMED:
        return answer
    groups = [
        group if group.folded else group.model_copy(update={"name": letters(place)})
        for place, group in enumerate(answer.groups)
    ]
    return answer.model_copy(update={"groups": tuple(groups), "folded": ()})
