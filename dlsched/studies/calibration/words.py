"""How far to trust a what-if, in words: verdicts by group, the sentence, the chip, and the rows of tables.

The thresholds are ours: a group's mean wait within 1.25x is close, within 2x roughly right, beyond that off; of fewer
than 20 jobs nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dlsched.policies.registry import spoken
from dlsched.studies.calibration.answer import (
    GROUPING_WORDS,
    Calibration,
    ComparedGroup,
    ComparedTimes,
    Moments,
    PolicyFit,
    explained_of_groups,
)
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.caveats import Caveat
from dlsched.wording.formats import MISSING, amount, capital, decimal, duration, factor, listed, share, show_interval

CLOSE, ROUGH = 1.25, 2.0
FEWEST_JOBS = 20
MOSTLY = 0.5
"""A replay that explains at least this share of the waits is a mild caveat; ours."""

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
    f"{FEWEST_JOBS} jobs = “{VERDICTS['few']}”. These thresholds are ours."
)
ASSUMPTIONS = (
    Premise(
        "the recorded scheduling policy is unknown",
        "The nearest policy is only the nearest of those replayed; quotas, holds and priorities are missing from the "
        "trace.",
        "Jobs",
    ),
    Premise(
        "the cluster starts empty",
        "Jobs already running when the recording began are missing: early waits come out too short.",
        "Jobs",
    ),
    Premise(
        "jobs run as long as recorded",
        "Jobs that failed or were cancelled take their recorded time; those without a recorded start may run.",
        "Jobs",
    ),
    Premise(
        "days are independent",
        "The interval of the bias treats each day as one observation; a queue that lasts for days makes it too narrow.",
        "Jobs",
    ),
)


def off_by(ratio: float) -> float:
    """Return how far off a ratio is in either direction, at least 1."""
    return max(ratio, 1 / ratio)


def verdict_of(group: ComparedGroup) -> Verdict:
    """Return how far to trust what-ifs about a group's waits."""
    if group.wait.jobs < FEWEST_JOBS:
        return "few"
    off = off_by(group.wait.ratio)
    return "close" if off <= CLOSE else "rough" if off <= ROUGH else "off"


def explained_words(explained: float | None) -> str:
    """Return the explained share as a card shows it: 82%, none, –."""
    if explained is None:
        return MISSING
    return share(explained) if explained > 0 else "none"


def replay_explains(explained: float | None, waits: str = "waits") -> str:
    """Return "replay explains 82% of waits"."""
    if explained is None:
        return "recorded waits do not vary: replay explains nothing"
    return f"replay explains {explained_words(explained)} of {'' if explained > 0 else 'the '}{waits}"


def worst_groups(replay: PolicyFit, by: str) -> list[ComparedGroup]:
    """Return the groups that are off by more than the threshold, worst first."""
    bad = [group for group in replay.groups[by] if verdict_of(group) == "off"]
    return sorted(bad, key=lambda group: -off_by(group.wait.ratio))


def sentence(answer: Calibration, policy: str = "", by: str = "") -> str:
    """Return "Replay explains 82% of waits under FIFO, the nearest of 4 policies; group vc7 is off by 3x: …"."""
    replay, by = answer.of(policy or answer.nearest), by or answer.default_by
    where = f"under {spoken(replay.label)}{_rank_words(answer, replay)}"
    return f"{capital(replay_explains(replay.explained))} {where}; {group_words(replay, by)}."


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
    first = f"{word} {bad[0].name:.40}" if by != "gpus" else f"jobs of {bad[0].name}"
    off = f"{'are' if by == 'gpus' else 'is'} off by {factor(off_by(bad[0].wait.ratio))}"
    more = f", {len(bad) - 1} more of {len(large)} by over {ROUGH:g}x" if len(bad) > 1 else ""
    return f"{first} {off}{more}: trust {'their' if len(bad) > 1 or by == 'gpus' else 'its'} what-ifs less"


def trust_caveat(answer: Calibration, *, stale: bool = False, of: str = "") -> Caveat:
    """Return what stands beside every headline about the scenario; ``of``: an earlier version that was replayed."""
    replay = answer.best
    nearest = f"{spoken(replay.label)} comes closest to {amount(answer.compared, 'recorded start')}"
    off = f"typically off by {factor(replay.typical_factor)}; {group_words(replay, answer.default_by)}"
    why = f"{nearest}: {off}."
    why += f" Replayed on {of}, which has the same jobs." if of else ""
    explained = replay.explained
    short = "recorded waits do not vary: not calibrated"
    return Caveat(
        short if explained is None else replay_explains(explained, "recorded waits"),
        why + (" Computed with an earlier version." if stale else ""),
        "Jobs",
        kind="calibration",
        is_bad=explained is not None and explained <= 0,
        is_mild=explained is not None and explained >= MOSTLY,
    )


def counted(answer: Calibration) -> str:
    """Return which jobs are compared and which are not."""
    parts = [f"{answer.compared:,} of {amount(answer.jobs, 'job')} compared"]
    if without := answer.jobs - answer.recorded:
        parts.append(f"{without:,} without a recorded start")
    if lost := answer.recorded - answer.compared:
        stuck = [f"{one.not_started:,} under {spoken(one.label)}" for one in answer.replays if one.not_started]
        parts.append(f"{lost:,} did not start in every replay ({listed(stuck)})")
    if answer.unlike_end:
        parts.append("of those compared " + listed([f"{n:,} {name:.20}" for name, n in answer.unlike_end.items()]))
    return "; ".join(parts) + "."


def bias_words(replay: PolicyFit) -> str:
    """Return the bias of the mean wait with its interval, or with the number of jobs where there is none."""
    bias = replay.bias_s
    text = show_interval("duration", bias.mean, bias.half_width, signed=True)
    return text if bias.half_width is not None else f"{text} ({amount(replay.wait.jobs, 'job')} of 1 day)"


def rows_of(answer: Calibration) -> list[dict[str, Any]]:
    """Return every policy, grouping and group as rows of a table, seconds; each policy first over all jobs."""
    rows = []
    for replay in answer.replays:
        rows.append(_row(replay, "all", "all jobs", replay.wait, replay.jct, ""))
        for by, groups in replay.groups.items():
            for group in groups:
                words = VERDICTS[verdict_of(group)]
                rows.append(_row(replay, by, group.name, group.wait, group.jct, words))
    return rows


def _row(
    replay: PolicyFit, by: str, name: str, wait: ComparedTimes, jct: ComparedTimes | None, verdict: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": replay.label, "by": by, "group": name, "jobs": wait.jobs}
    row |= _columns("wait", wait.recorded, wait.replayed) | {"wait ratio": wait.ratio}
    row["jobs with end"] = 0 if jct is None else jct.jobs
    row |= _columns("JCT", None, None) if jct is None else _columns("JCT", jct.recorded, jct.replayed)
    return row | {"JCT ratio": None if jct is None else jct.ratio, "verdict": verdict}


def _columns(what: str, recorded: Moments | None, replayed: Moments | None) -> dict[str, float | None]:
    columns: dict[str, float | None] = {}
    for side, moments in (("recorded", recorded), ("replayed", replayed)):
        for name in ("mean", "median", "p95"):
            columns[f"{what} {name} {side}, s"] = None if moments is None else getattr(moments, f"{name}_s")
    return columns


def policy_rows(answer: Calibration) -> list[tuple[str, ...]]:
    """Return one line a policy for people, the nearest first."""
    ordered: Sequence[PolicyFit] = sorted(answer.replays, key=lambda replay: replay.typical_factor)
    return [
        (
            replay.label,
            factor(replay.typical_factor),
            explained_words(replay.explained),
            MISSING if replay.rank_correlation is None else decimal(replay.rank_correlation, 2),
            bias_words(replay),
            duration(replay.wait.replayed.mean_s),
            duration(replay.wait.recorded.mean_s),
        )
        for replay in ordered
    ]


POLICY_HEADER = (
    "policy", "typical factor", "waits explained", "rank correlation", "bias of the wait", "wait, replayed",
    "wait, recorded",
)  # fmt: skip


def cautions_of(answer: Calibration, *, default_cluster: bool, stale: bool) -> list[Caution]:
    """Return the banners of an answer; ``default_cluster``: the cluster it was replayed on is our default."""
    cautions = violation_cautions([(one.label, one.audit[0]) for one in answer.replays if one.audit], "replay")
    if default_cluster:
        why = "The cluster is our default, not the recorded one: waits may differ for that reason alone."
        cautions.append(Caution("orange", why, "Describe yours on the page Cluster, then replay"))
    return [*cautions, *origin_cautions("", stale=stale, elsewhere=False)]


def cards_of(replay: PolicyFit, by: str) -> list[tuple[str, str, str]]:
    """Return four cards of a replay: label, value, help."""
    word = GROUPING_WORDS[by]
    return [
        ("Waits explained", explained_words(replay.explained),
         "Share of the variance of recorded waits over jobs that the replayed waits explain (R², nothing fitted). "
         "None: the mean wait would predict them as well."),
        ("Explained across groups", explained_words(explained_of_groups(replay.groups[by])),
         f"The same for the mean waits by {word}, weighted by jobs."),
        ("Typical job off by", factor(replay.typical_factor),
         "Geometric mean over jobs of replayed over recorded wait, or the inverse if larger; a minute is added to "
         "both."),
        ("Bias, mean wait", bias_words(replay),
         "Replayed minus recorded mean wait over jobs, with a 95% interval that treats days as independent."),
    ]  # fmt: skip


GROUP_HEADER = ("jobs", "what-ifs", "ratio", "recorded", "replayed", "JCT ratio")
"""Columns of `group_rows` after that with the group's name."""


def group_rows(replay: PolicyFit, by: str) -> list[tuple[object, ...]]:
    """Return a line for each group: name, jobs, verdict, ratio of mean waits, both of them, ratio of mean JCTs."""
    return [
        (
            group.name,
            group.wait.jobs,
            VERDICTS[verdict_of(group)],
            factor(group.wait.ratio),
            duration(group.wait.recorded.mean_s),
            duration(group.wait.replayed.mean_s),
            MISSING if group.jct is None else factor(group.jct.ratio),
        )
        for group in replay.groups[by]
    ]
