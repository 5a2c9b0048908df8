"""How far to trust a what-if, in words: the grade, verdicts by group, the sentence, the caveat and what was used.

The thresholds of groups are ours: a group's mean wait within 1.25x is close, within 2x roughly right, beyond that off;
of fewer than 20 jobs nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from dlsched.policies.registry import spoken
from dlsched.studies.calibration.answer import Calibration, ComparedGroup, PolicyFit
from dlsched.studies.calibration.measures import (
    FEWEST_JOBS,
    LARGEST_FACTOR,
    LEAST_EXPLAINED,
    LEAST_RANKS,
    LONG_WAIT_S,
    Grade,
)
from dlsched.studies.calibration.record import GROUPING_WORDS
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.caveats import Caveat
from dlsched.wording.formats import MISSING, amount, capital, decimal, duration, factor, listed, share

CLOSE, ROUGH = 1.25, 2.0
LEAST_REACTION = 0.05
"""Share of submissions, beyond what chance explains, from which on users react to ends of their jobs; ours."""
LEAST_WITHHELD = 0.05
"""From this difference on, capacity that the record left idle explains why a replay is off; ours."""

Verdict = Literal["close", "rough", "off", "few"]
VERDICTS: Mapping[Verdict, str] = {
    "close": "trust",
    "rough": "trust the direction only",
    "off": "trust less",
    "few": "too few jobs",
}
THRESHOLDS = (
    f"Mean wait of a group, replayed over recorded with a minute added to both: within {CLOSE:g}x = "
    f"“{VERDICTS['close']}”, within {ROUGH:g}x = “{VERDICTS['rough']}”, beyond = “{VERDICTS['off']}”; under "
    f"{FEWEST_JOBS} jobs = “{VERDICTS['few']}”. A group that does not even rank its jobs in the second half is "
    f"at most “{VERDICTS['rough']}”. These thresholds are ours."
)
GRADES = (
    f"A policy *replays the log* with R² of at least {LEAST_EXPLAINED:g} and a typical factor of at most "
    f"{LARGEST_FACTOR:g} on the second half, and *ranks only* with a rank correlation of at least {LEAST_RANKS:g}; "
    "otherwise it *does not replay the log*. Nothing is fitted: each policy runs as it is."
)
MEANS: Mapping[Grade, str] = {
    "replays": "Numbers about waits can be used.",
    "ranks": "Use the direction of a change and the order of groups, not its size.",
    "fails": "Numbers about waits cannot be used. Likely causes: limits per user or group, hours in which jobs may not "
    "start, outages, or jobs that are missing from the log.",
    "no-waits": "The log neither confirms nor contradicts the simulation.",
    "few": "A longer log says more.",
}


def off_by(ratio: float) -> float:
    """Return how far off a ratio is in either direction, at least 1."""
    return max(ratio, 1 / ratio)


def verdict_of(group: ComparedGroup) -> Verdict:
    """Return how far to trust what-ifs about a group's waits.

    A mean that agrees where no single wait does may agree by chance.
    """
    if group.wait.jobs < FEWEST_JOBS:
        return "few"
    off = off_by(group.wait.ratio)
    by_chance = group.second is not None and group.second.grade == "fails"
    return "close" if off <= CLOSE and not by_chance else "rough" if off <= ROUGH else "off"


def explained_words(explained: float | None) -> str:
    """Return R² as a table shows it: 0.82; "below 0" where the mean explains more; – where all waits are equal."""
    if explained is None:
        return MISSING
    return decimal(explained, 2) if explained >= 0 else "below 0"


def correlation_words(value: float | None) -> str:
    """Return a rank correlation: 0.89, –."""
    return MISSING if value is None else decimal(value, 2)


def times_words(value: float) -> str:
    """Return a factor to two decimals, as differences near 1 matter: 1.14x, 12.3x."""
    return f"{decimal(value, 2)}x" if value < 10 else factor(value)


def grade_words(answer: Calibration, replay: PolicyFit) -> str:
    """Return "replays the log: typical factor 1.14x, rank correlation 0.89 on the second half (n = 5,519, FIFO)"."""
    second, name = replay.second, spoken(replay.label)
    lost = f", {second.never_start:,} more never start" if second.loses_jobs else ""
    on = f"on the second half (n = {second.jobs:,}{lost}, {name})"
    factor_text = f"typical factor {times_words(second.typical_factor)}"
    ranks_text = f"rank correlation {correlation_words(second.rank_correlation)}"
    match second.grade:
        case "replays":
            return f"replays the log: {factor_text}, {ranks_text} {on}"
        case "ranks":
            return f"ranks only: {ranks_text}, {factor_text} {on}"
        case "few":
            return f"too few jobs to compare with the log {on}"
        case "no-waits" if second.recorded_long_waits:
            return f"all recorded waits are equal: nothing to compare {on}"
        case "no-waits":
            return f"no waits to compare: none over {duration(LONG_WAIT_S)} in the log {on}"
        case "fails" if not second.recorded_long_waits:
            long = f"{share(second.long_waits / second.jobs)} of jobs wait over {duration(LONG_WAIT_S)} in the replay"
            return f"does not replay the log: {long}, none in the log {on}"
    if is_withheld(answer, replay):
        idle, left = share(answer.idle_wanted), share(replay.idle_wanted or 0.0)
        under = f"{left} under {name} (n = {second.jobs:,})"
        return f"does not replay the log: {idle} of the cluster idle while jobs that fit waited, {under}"
    return f"does not replay the log: {factor_text}, {ranks_text} {on}"


def is_withheld(answer: Calibration, replay: PolicyFit) -> bool:
    """Whether the record left more of the cluster idle while jobs that fit waited than the policy would."""
    recorded, replayed = answer.idle_wanted, replay.idle_wanted
    return recorded is not None and recorded - (replayed or 0.0) >= LEAST_WITHHELD


def worst_groups(replay: PolicyFit, by: str) -> list[ComparedGroup]:
    """Return the groups that are off by more than the threshold, worst first."""
    bad = [group for group in replay.groups[by] if verdict_of(group) == "off"]
    return sorted(bad, key=lambda group: -off_by(group.wait.ratio))


def sentence(answer: Calibration, policy: str = "", by: str = "") -> str:
    """Return "Replays the log: typical factor 1.14x, … (n = 5,519, FIFO), the nearest of 4 policies; group vc7 …"."""
    replay, by = answer.of(policy or answer.nearest), by or answer.default_by
    return f"{capital(grade_words(answer, replay))}{_rank_words(answer, replay)}; {group_words(replay, by)}."


def _rank_words(answer: Calibration, replay: PolicyFit) -> str:
    count = len(answer.replays)
    if count < 2 or replay.policy != answer.nearest:
        return ""
    if answer.lead is not None and answer.lead.tells_apart():
        return f", the nearest of {count} policies"
    return f", the nearest of {count} policies but not clearly nearer than the next"


def group_words(replay: PolicyFit, by: str) -> str:
    """Return which groups a reader must not rely on, or how close all are."""
    groups, bad = replay.groups[by], worst_groups(replay, by)
    large = [group for group in groups if verdict_of(group) != "few"]
    word = GROUPING_WORDS[by]
    if not large:
        return f"no group by {word} has {FEWEST_JOBS} jobs to compare"
    if not bad:
        worst = math.ceil(10 * max(off_by(group.wait.ratio) for group in large) - 1e-6) / 10  # never within less
        which = "the only one" if len(large) == 1 else f"all {len(large)} groups"
        return f"by {word}, {which} of {FEWEST_JOBS} jobs or more within {factor(worst)}"
    name = f"{bad[0].name:.40}"
    named = name if name.lower().startswith(word) else f"{word} {name}"
    first = named if by != "gpus" else f"jobs of {name}"
    off = f"{'are' if by == 'gpus' else 'is'} off by {factor(off_by(bad[0].wait.ratio))}"
    more = f", {len(bad) - 1} more of {len(large)} by over {ROUGH:g}x" if len(bad) > 1 else ""
    return f"{first} {off}{more}: trust {'their' if len(bad) > 1 or by == 'gpus' else 'its'} what-ifs less"


def trust_caveat(answer: Calibration, policy: str = "", *, stale: bool = False, of: str = "") -> Caveat:
    """Return what stands beside every headline about the scenario.

    ``policy``: that of today, or the baseline of a comparison; the nearest speaks where that one was not replayed.
    ``of``: an earlier version that was replayed.
    """
    replay = answer.chosen(policy)
    grade = replay.second.grade
    why = f"{MEANS[grade]} {capital(spoken(replay.label))} as it is, nothing fitted: "
    why += f"{group_words(replay, answer.default_by)}."
    why += f" {withheld_words(answer, replay)}" if is_withheld(answer, replay) else ""
    why += f" Replayed on {of}, which has the same jobs." if of else ""
    return Caveat(
        grade_words(answer, replay),
        why + (" Computed with an earlier version." if stale else ""),
        "Jobs, Trust",
        kind="calibration",
        is_bad=grade == "fails",
        is_mild=grade == "replays",
    )


def withheld_words(answer: Calibration, replay: PolicyFit) -> str:
    """Return what stood idle in the record and what the policy would leave idle; "" without a queue in the record."""
    if answer.idle_wanted is None:
        return ""
    text = f"While jobs that fit waited, {share(answer.idle_wanted)} of the cluster was idle in the log"
    text += f"; {spoken(replay.label)} would leave {share(replay.idle_wanted or 0.0)} idle"
    cause = " Either the cluster was smaller, or something that is not in the log holds jobs back."
    return f"{text}.{cause if is_withheld(answer, replay) else ''}"


def reaction_words(answer: Calibration) -> str:
    """Return how users react to ends of their jobs, which replays leave out; "" where they do not, as far as is known.

    A replay submits every job when it was submitted.
    """
    loop = answer.closed_loop
    if loop is None or loop.share < loop.expected + LEAST_REACTION:
        return ""
    return (
        f"{share(loop.share)} of submissions come within 10 s of an end of the same user ({share(loop.expected)} "
        f"expected by chance): users wait for their jobs, replays do not. 90% of submissions find at most "
        f"{loop.most_at_once:,.0f} jobs of the user in the system."
    )


def assumptions_of(answer: Calibration) -> tuple[Premise, ...]:
    """Return what a comparison of replays with a record assumes."""
    reacts = reaction_words(answer)
    return (
        Premise(
            "the recorded scheduling policy is unknown",
            "The nearest policy is only the nearest of those replayed; quotas, holds and priorities are missing from "
            "the trace.",
            "Jobs",
        ),
        Premise(
            "early jobs are not judged",
            "Jobs submitted before the first recorded end, and the first 5% after it, are replayed but not compared: "
            "jobs already running when the recording began may be missing.",
            "Jobs",
        ),
        Premise(
            "jobs run as long as recorded",
            "Jobs that failed or were cancelled take their recorded time; those without a recorded start may run.",
            "Jobs",
        ),
        Premise(
            "users do not react",
            f"A replay submits every job when it was submitted, even if the one before it ends later. {reacts}".strip(),
            "Jobs",
        ),
        Premise(
            "days are independent",
            "The interval of the bias treats each day as one observation; a queue that lasts for days makes it too "
            "narrow.",
            "Jobs",
        ),
    )


def counted(answer: Calibration) -> str:
    """Return which jobs are compared and which are not."""
    parts = [f"{answer.compared:,} of {amount(answer.jobs, 'job')} compared"]
    if without := answer.jobs - answer.recorded:
        parts.append(f"{without:,} without a recorded start")
    if early := answer.recorded - answer.judged:
        parts.append(f"{early:,} too early to judge")
    if lost := answer.judged - answer.compared:
        stuck = [f"{one.never_start:,} under {spoken(one.label)}" for one in answer.replays if one.never_start]
        parts.append(f"{lost:,} did not start in every replay ({listed(stuck)})")
    if answer.unlike_end:
        parts.append("of those compared " + listed([f"{n:,} {name:.20}" for name, n in answer.unlike_end.items()]))
    return "; ".join(parts) + "."


def cautions_of(answer: Calibration, *, default_cluster: bool, stale: bool) -> list[Caution]:
    """Return the banners of an answer; ``default_cluster``: the cluster it was replayed on is our default."""
    cautions = violation_cautions([(one.label, one.audit[0]) for one in answer.replays if one.audit], "replay")
    if default_cluster:
        why = "The cluster is our default, not the recorded one: waits may differ for that reason alone."
        cautions.append(Caution("orange", why, "Describe yours on the page Cluster, then replay"))
    return [*cautions, *origin_cautions("", stale=stale, elsewhere=False)]


def cards_of(replay: PolicyFit) -> list[tuple[str, str, str]]:
    """Return four cards of a replay on the second half: label, value, help."""
    second = replay.second
    long = "none" if second.within_2x_of_long is None else share(second.within_2x_of_long)
    return [
        ("Typical factor", times_words(second.typical_factor),
         "Median over jobs of replayed over recorded wait, or the inverse if larger, on the second half; a minute is "
         "added to both."),
        ("Rank correlation", correlation_words(second.rank_correlation),
         "Spearman's correlation of recorded and replayed waits on the second half: 1 = the same order, 0 = none."),
        ("Waits within 2x", share(second.within_2x),
         f"Share of jobs of the second half; of the {second.long_waits:,} that wait over {duration(LONG_WAIT_S)} in "
         f"the log or in the replay: {long}."),
        ("Mean wait, replayed / recorded", times_words(second.mean_ratio),
         f"Bias of the mean wait on the second half, a minute added to both. p95 wait: recorded "
         f"{duration(second.recorded_p95_s)}, replayed {duration(second.replayed_p95_s)}."),
    ]  # fmt: skip
