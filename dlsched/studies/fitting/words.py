"""What a fit says: the headline, what was learned and given, what stays unexplained and which file would explain it."""

from __future__ import annotations

import json
import math
import shlex

from dlsched.policies.registry import find
from dlsched.studies.calibration.answer import PolicyFit
from dlsched.studies.calibration.measures import LARGEST_FACTOR, LEAST_EXPLAINED, LEAST_RANKS, Grade
from dlsched.studies.calibration.words import (
    CLOSE,
    correlation_words,
    explained_words,
    grade_words,
    group_words,
    is_withheld,
    reaction_words,
    times_words,
    withheld_words,
)
from dlsched.studies.fitting.answer import EASY, FIFO, Band, Fit
from dlsched.studies.fitting.families import PART_WORDS, Setting
from dlsched.studies.fitting.hours import spans_of
from dlsched.studies.fitting.search import MUST_WIN
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.caveats import Caveat
from dlsched.wording.formats import amount, capital, decimal, duration, listed, share, show_delta

MEANS: dict[Grade, str] = {
    "replays": "What-ifs may carry numbers about waits.",
    "ranks": "Use the direction of a change and the order of groups, not its size.",
    "fails": "Numbers about waits cannot be used.",
    "no-waits": "The log neither confirms nor contradicts the simulation.",
    "few": "A longer log says more.",
}
GRADES = (
    f"On the second half, a policy *replays the log* with R² of at least {LEAST_EXPLAINED:g} and a typical factor of "
    f"at most {LARGEST_FACTOR:g}, and *ranks only* with a rank correlation of at least {LEAST_RANKS:g}; otherwise it "
    "*does not replay the log*."
)


def sentence(answer: Fit) -> str:
    """Return "Replays the log: typical factor 1.14x, … (n = 2,760, fitted Slurm); FIFO 4.05x, EASY … 2.05x."."""
    others = [f"{one.label} {times_words(one.second.typical_factor)}" for one in map(answer.judged.of, (FIFO, EASY))]
    return f"{capital(grade_words(answer.judged, answer.fitted))}; {', '.join(others)}."


def nearer_words(answer: Fit) -> str:
    """Return that FIFO or EASY backfill as it is comes nearer on the second half than what was fitted; "" if not.

    Nearer is a mean |log ratio| lower by as much as a part must win to be kept. A policy of another grade is none: a
    better one is what :func:`unexplained` tells.
    """
    own, plain = answer.measures, min(map(answer.judged.of, (FIFO, EASY)), key=lambda one: one.second.mean_factor)
    is_nearer = math.log(plain.second.mean_factor) < (1 - MUST_WIN) * math.log(own.mean_factor)
    if own.grade not in ("replays", "ranks", "fails") or plain.second.grade != own.grade or not is_nearer:
        return ""
    factors = (f"{name} factor {times_words(getattr(plain.second, f'{name}_factor'))} instead of "
               f"{times_words(getattr(own, f'{name}_factor'))}" for name in ("mean", "typical"))  # fmt: skip
    return (
        f"{plain.label} as it is comes nearer to the second half than what was fitted: {', '.join(factors)}. It is the "
        "simpler baseline."
    )


def counted(answer: Fit) -> str:
    """Return what the numbers rest on: the jobs of both halves, and the replays."""
    parts = [
        f"Learned from {amount(answer.first_jobs, 'job')} submitted and started in the first half of the log",
        f"judged once on {amount(answer.measures.jobs, 'job')} of the second half",
        f"every wait is the mean of {answer.replays} replays with run times up to a second longer",
    ]
    if lost := answer.measures.never_start:
        parts.append(f"{amount(lost, 'more job')} of the second half never {'starts' if lost == 1 else 'start'}")
    if answer.left:
        is_one, started = answer.left == 1, answer.left_started
        many = decimal(started, 0 if started == round(started) else 1) if started else "none"
        waits, it = ("waits along and is", "it") if is_one else ("wait along and are", "they")
        parts.append(
            f"{amount(answer.left, 'job')} that left without a start {waits} not compared: the fitted policy starts "
            f"{many} before {it} left"
        )
    return "; ".join(parts) + "."


def band_words(answer: Fit) -> str:
    """Return how much single replays differ, and how near one comes to another."""
    bands, ceiling = answer.bands["fitted"], answer.ceiling
    ranks = "" if bands.rank_correlation is None else f", rank correlation {_range(bands.rank_correlation)}"
    return (
        f"Single replays: typical factor {_range(bands.typical_factor, 'x')}{ranks} (80% of {answer.replays}). One "
        f"replay agrees with another within a typical factor of {times_words(ceiling.typical_factor)} and a rank "
        f"correlation of {correlation_words(ceiling.rank_correlation)}: a single replay is not expected to come nearer "
        "to the log than that."
    )


def _range(band: Band, unit: str = "") -> str:
    low, high = (times_words(value) if unit == "x" else decimal(value, 2) for value in (band.low, band.high))
    return low if low == high else f"{low} to {high}"


# ---- what was learned ------------------------------------------------------------------------------


def setting_words(setting: Setting, counted_word: str) -> str:
    """Return a setting in words: "67% of the nodes; at most 48 GPUs of a user; fair share with half-life 1 d"."""
    parts = []
    if setting.capacity < 1:
        parts.append(f"{share(setting.capacity)} of the nodes")
    if setting.user_width is not None:
        parts.append(f"at most {setting.user_width:,g} {counted_word} per user")
    if setting.user_jobs is not None:
        parts.append(f"at most {amount(setting.user_jobs, 'running job')} per user")
    parts += order_words(setting)
    if setting.closed:
        parts.append(closed_words(setting))
    return "; ".join(parts) or "nothing added"


def order_words(setting: Setting) -> list[str]:
    """Return what orders the queue, relative to fair share."""
    parts = []
    if setting.fair_share:
        parts.append(f"fair share with a half-life of {duration(setting.half_life_s)}")
    if setting.age:
        parts.append(
            f"age at {setting.age:g} of its weight" if setting.fair_share else f"age at weight {setting.age:g}"
        )
    if setting.size:
        parts.append(f"{'large' if setting.size > 0 else 'small'} jobs first at weight {abs(setting.size):g}")
    return parts


def closed_words(setting: Setting) -> str:
    """Return which hours are closed to which requested times."""
    told = []
    for over_s, cells in setting.closed:
        which = f"over {duration(over_s)}" if over_s else "of any length"
        for name, first in (("weekdays", 0), ("weekends", 24)):
            hours = [cell - first for cell in cells if first <= cell < first + 24]
            if hours:
                spans = [f"{low}:00 to {high}:00" for low, high in spans_of(hours)]
                told.append(f"{which} on {name} {listed(spans)}")
    return f"no start of jobs {'; '.join(told)}"


LEARNED_HEADER = ("Input", "Used", "From", "Give this to improve it")


def learned_rows(answer: Fit) -> list[tuple[str, str, str, str]]:
    """Return what the replays rest on, where it comes from, and what would improve it."""
    learned, setting = answer.learned, answer.learned.setting
    first = "learned from the first half"
    given = set(learned.given)
    period = (
        f"every {decimal(learned.period_s, 0 if learned.period_s >= 100 else 1)} s" if learned.period_s else "not seen"
    )
    limits = setting_words(Setting(user_width=setting.user_width, user_jobs=setting.user_jobs), learned.counted)
    nodes = amount(learned.nodes, "node")
    if learned.num_later:
        nodes += f"; {amount(learned.num_later, 'node')} first seen in the second half not among them"
    return [
        ("Nodes and partitions", nodes, first if learned.nodes_from_log else "given or as described",
         "scontrol show nodes -o, slurm.conf or sinfo"),
        ("Absent nodes", amount(learned.absences, "time") if learned.absences else "none seen", first,
         "times of maintenance and failures"),
        ("Effective capacity", f"{learned.usable_nodes:,} of {amount(learned.nodes, 'node')}",
         first if setting.capacity < 1 else "all nodes", "drained and reserved nodes"),
        ("Backfill passes", "as given" if "period" in given else period,
         _origin("period", given, learned.period_s is not None),
         "bf_interval in SchedulerParameters" if "order" in given else "slurm.conf (SchedulerParameters)"),
        ("Limits per user", "as given" if "limits" in given else "none" if limits == "nothing added" else limits,
         _origin("limits", given, limits != "nothing added"), "sacctmgr -P show qos, sacctmgr -P show assoc"),
        ("Order of the queue", "as given" if "order" in given else "; ".join(order_words(setting)) or "submission",
         _origin("order", given, bool(order_words(setting))), "slurm.conf (Priority*), sshare -a -l -P"),
        ("Jobs that never started", f"{answer.left:,}, in the queue until they left" if answer.left else "none",
         "the log" if answer.left else "none in the log, or left out", "the log, read with never_started=keep"),
        ("Closed hours", closed_words(setting) if setting.closed else "none",
         _origin("hours", given, bool(setting.closed)), "hours in which long jobs may not start"),
    ]  # fmt: skip


def _origin(what: str, given: set[str], is_learned: bool) -> str:
    return "given" if what in given else "learned from the first half" if is_learned else "nothing learned"


FAMILY_HEADER = ("Family", "Best setting on the first quarter", "First quarter", "Second quarter", "Tried", "Kept")


def family_rows(answer: Fit) -> list[tuple[str, ...]]:
    """Return the families that were tried: mean factors on the quarter that fits and on the one that chooses."""
    return [
        (
            find(answer.learned.base).label if one.part is None else f"+ {PART_WORDS[one.part]}",
            "as it is" if one.part is None else setting_words(one.setting, answer.learned.counted),
            times_words(one.fit_factor),
            times_words(one.choice_factor),
            f"{one.tried:,}",
            "yes" if one.kept else "no",
        )
        for one in answer.families
    ]


JUDGED_HEADER = (
    "policy", "jobs", "typical factor", "mean factor", "within 2x", "rank correlation", "bias", "R²", "p95 recorded",
    "p95 replayed", "never start",
)  # fmt: skip


def judged_rows(answer: Fit) -> list[tuple[str, ...]]:
    """Return the policies on the second half, the fitted one first."""
    return [_judged(one) for one in answer.judged.replays]


def _judged(fit: PolicyFit) -> tuple[str, ...]:
    second = fit.second
    return (
        capital(fit.label),
        f"{second.jobs:,}",
        times_words(second.typical_factor),
        times_words(second.mean_factor),
        share(second.within_2x),
        correlation_words(second.rank_correlation),
        show_delta("duration", fit.bias_s.mean),
        explained_words(second.explained),
        duration(second.recorded_p95_s),
        duration(second.replayed_p95_s),
        f"{second.never_start:,}",
    )


# ---- what stays unexplained ------------------------------------------------------------------------


def before_any_policy(answer: Fit) -> list[str]:
    """Return what the log shows whatever policy is replayed: what stood idle beside jobs, and that users react."""
    return [
        text for text in (withheld_words(answer.judged, answer.judged.of(EASY)), reaction_words(answer.judged)) if text
    ]


def unexplained(answer: Fit) -> list[str]:
    """Return why the fitted policy does not come nearer, as far as the log says, likeliest first; [] where it replays.

    Each with the file that would tell. Where FIFO or EASY backfill replays the log as it is, that is all there is to
    say. [] also where there is nothing to explain: no waits, or too few jobs.
    """
    if answer.measures.grade not in ("ranks", "fails"):
        return []
    plain = [one for one in map(answer.judged.of, (FIFO, EASY)) if one.second.grade == "replays"]
    if plain:
        nearest = min(plain, key=lambda one: one.second.mean_factor)
        return [f"{nearest.label} as it is {grade_words(answer.judged, nearest)}. Compare with it as the baseline."]
    given, learned = set(answer.learned.given), answer.learned
    withheld = is_withheld(answer.judged, answer.judged.of(EASY))
    causes = []
    if answer.measures.mean_ratio > CLOSE and not withheld:
        causes.append("nodes that the description lacks: give scontrol show nodes -o or sinfo")
    if "limits" not in given:
        causes.append("limits per user, group or QOS: give sacctmgr -P show qos and sacctmgr -P show assoc")
    if "order" not in given:
        causes.append("priorities: give slurm.conf and sshare -a -l -P")
    if not learned.setting.closed:
        causes.append("hours or days in which jobs are held: say when")
    causes.append("outages and reservations: give the times at which nodes were drained")
    causes.append("jobs that are missing from the file: export all users and partitions, sacct -a")
    what = "What holds jobs back may be" if withheld else "What differs may be"
    return [f"{what} {text}." if place == 0 else f"Or {text}." for place, text in enumerate(causes)]


# ---- caveats ---------------------------------------------------------------------------------------


def trust_caveat(answer: Fit, policy: str = "", *, stale: bool = False, of: str = "") -> Caveat:
    """Return what stands beside every headline about the scenario, as a calibration's; ``policy``: that of today.

    FIFO and EASY backfill speak for themselves where they are the baseline, else the fitted policy does.
    """
    name = policy if policy in (FIFO, EASY) and policy != answer.learned.policy else "fitted"
    fit = answer.judged.of(name)
    grade = fit.second.grade
    why = f"{MEANS[grade]} Learned from the first half of the log, judged on the second: "
    why += f"{group_words(fit, answer.judged.default_by)}."
    if name == "fitted":
        why += " It holds for the parameters that were fitted."
    if name == "fitted" and policy not in ("", answer.learned.policy):
        why += f" It speaks of {fit.label}, not of {find(policy).spoken}."
    easy = answer.judged.of(EASY)
    why += f" {withheld_words(answer.judged, easy)}" if is_withheld(answer.judged, easy) else ""
    why += f" Fitted on {of}, which has the same jobs." if of else ""
    return Caveat(
        grade_words(answer.judged, fit),
        why + (" Computed with an earlier version." if stale else ""),
        "Jobs, Trust",
        kind="calibration",
        is_bad=grade == "fails",
        is_mild=grade == "replays",
    )


def assumptions_of(answer: Fit) -> tuple[Premise, ...]:
    """Return what a fit assumes."""
    reacts = reaction_words(answer.judged)
    return (
        Premise(
            "the scheduler stays as it was",
            "What was learned from the first half is taken to hold in the second half and in what-ifs.",
            "Jobs",
        ),
        Premise(
            "jobs run as long as recorded",
            "Jobs that failed or were cancelled take their recorded time, plus up to a second.",
            "Jobs",
        ),
        Premise(
            "users do not react",
            f"A replay submits every job when it was submitted, even if the one before it ends later. {reacts}".strip(),
            "Jobs",
        ),
    )


def cautions_of(answer: Fit, *, default_cluster: bool, stale: bool) -> list[Caution]:
    """Return the banners of an answer; ``default_cluster``: the cluster it was replayed on is our default."""
    audits = [(one.label, one.audit[0]) for one in answer.judged.replays if one.audit]
    cautions = violation_cautions(audits, "replay")
    if default_cluster:
        why = "The cluster is our default, not the recorded one: waits may differ for that reason alone."
        cautions.append(Caution("orange", why, "Describe yours on the page Cluster, then fit"))
    return [*cautions, *origin_cautions("", stale=stale, elsewhere=False)]


def cards_of(answer: Fit) -> list[tuple[str, str, str]]:
    """Return four cards of the fitted policy on the second half: label, value, help."""
    second = answer.measures
    return [
        ("Typical factor", times_words(second.typical_factor),
         "Median over jobs of replayed over recorded wait, or the inverse if larger; a minute is added to both."),
        ("Rank correlation", correlation_words(second.rank_correlation),
         "Spearman's correlation of recorded and replayed waits: 1 = the same order, 0 = none."),
        ("Waits within 2x", share(second.within_2x),
         "Share of jobs with a replayed wait of half to twice the recorded one; a minute is added to both."),
        ("Bias of the mean wait", show_delta("duration", answer.fitted.bias_s.mean),
         f"Replayed minus recorded mean wait. p95 wait: recorded {duration(second.recorded_p95_s)}, replayed "
         f"{duration(second.replayed_p95_s)}."),
    ]  # fmt: skip


def flags(answer: Fit) -> str:
    """Return the flags that name the fitted policy on a command line: --policy slurm --param bf_interval=120."""
    params = [f"--param {shlex.quote(f'{name}={_value(value)}')}" for name, value in answer.learned.params.items()]
    return " ".join([f"--policy {answer.learned.policy}", *params])


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
