"""What is said of an interval of admissions: sentence, cards, banners, tables; no page library."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.studies.inspect.admissions.answer import ADMISSION_WORDS, Admission
from dlsched.studies.inspect.words import objective_cautions, stale_cautions
from dlsched.studies.speed_models.server_split import UNITS_S
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import MISSING, amount, capital, duration, number, share, small
from dlsched.wording.resources import ONE_UNIT, RESOURCE_WORDS, gang_words, resource_verb

FIXED = "With the same admission rule Optimus is within 0.5% of SMD."
WHERE_FIXED = "That is over whole runs of the study's kind of jobs (60 batches of 50 jobs: 0.1% at most)."
OUTCOMES = {"in": "admitted", "carried over": "waiting"}
LEAST = 0.001
"""Worth below this is next to nothing."""


def sentence_of(one: Admission) -> str:
    """Return the interval in a sentence: how many jobs are admitted, their worth, how sure, and what decides."""
    return f"{_who(one)}{_worth(one)}. {_decides(one)}".strip()


def _who(one: Admission) -> str:
    admitted, asked = one.count("in"), one.asked
    if asked == 1:
        return "The only waiting job is admitted" if admitted else "The only waiting job is not admitted"
    if not admitted:
        return f"None of {asked:,} jobs is admitted"
    if admitted == asked:
        return f"All {asked:,} jobs are admitted"
    return f"{admitted:,} of {asked:,} jobs {'is' if admitted == 1 else 'are'} admitted"


def _worth(one: Admission) -> str:
    if one.value is None:
        return ", in order of submission: no job says what it is worth"
    if not one.count("in") and (one.bound or 0.0) < LEAST:
        return ""
    if one.bound is None or one.bound < LEAST:
        return f": worth {worth(one.value)}"
    if is_best(one):
        return f": worth {worth(one.value)}, proven to be the most"
    return f": worth {worth(one.value)} of at most {worth(one.bound)}"


def is_best(one: Admission) -> bool:
    """Whether it is proven that no other choice is worth more."""
    return one.status == "optimal" or (one.value is not None and one.value == one.bound)


def worth(value: float | None) -> str:
    """Return what something is worth; next to nothing is told without its zeros."""
    return small(value)


def _decides(one: Admission) -> str:
    place = one.scarcest()
    if place is not None:
        resource = one.resources[place]
        verbs = ("decides", "decide") if one.admission == "knapsack" else ("is scarcest", "are scarcest")
        decides = f"{capital(RESOURCE_WORDS[resource])} {resource_verb(resource, *verbs)}"
        one_more = f"one more {ONE_UNIT[resource]} would be worth {worth(one.price[place])} (linear relaxation)"
        return f"{decides}: {one_more}."
    waits = Counter(reason for reason, fate in zip(one.reason, one.fate, strict=True) if fate == "carried over")
    if not waits:
        return ""
    reason, count = waits.most_common(1)[0]
    return f"{amount(count, 'job')} {'waits' if count == 1 else 'wait'}: {reason}."


def cards_of(one: Admission) -> list[tuple[str, str, str]]:
    """Return the four cards: admitted, worth, used of reserved, carried over and rejected."""
    used = one.used_of_reserved()
    return [
        (
            "Admitted",
            f"{one.count('in'):,} of {one.asked:,}",
            f"Of the jobs that waited at this interval. {amount(one.count('running'), 'job')} admitted before "
            "still run; they are never stopped.",
        ),
        (
            "Worth",
            f"{worth(one.value)}{_sure(one)}",
            f"Sum of what the admitted jobs are worth when they complete: {number(one.value, exact=True)}. No other "
            f"choice of jobs is worth more than {number(one.bound, exact=True)} with the workers and servers that this "
            "policy chooses: the bound of the knapsack.",
        ),
        (
            "Used share of reservations",
            share(used),
            "What jobs hold after this interval, of what they block: a job blocks its user's limit. Resources are "
            "added as shares of what there is.",
        ),
        (
            "Not admitted",
            f"{one.count('carried over'):,} waiting, {one.count('rejected'):,} rejected",
            "Waiting: asks again at the next interval. Rejected: has lost nearly all of its worth, or no gang "
            "of it can ever run.",
        ),
    ]  # fmt: skip


def _sure(one: Admission) -> str:
    if one.value is None or one.bound is None or one.bound < LEAST:
        return ""
    return ", proven" if is_best(one) else f" of {worth(one.bound)}"


def cautions_of(one: Admission, objective: float | None, scenario: Scenario, *, stale: bool) -> list[Caution]:
    """Return the banners: worth 0 throughout, another code, another worth than stored, or a choice not proven.

    ``objective`` is what the run has stored.
    """
    found = []
    if one.worthless:
        unit = useful_unit(scenario)
        way = f": use {unit}." if unit else ", and longer ones do not help: jobs end long after their worth is gone."
        text = f"Every job is worth 0 in this time unit ({unit_words(scenario.options.utility_unit_s)}){way}"
        found.append(
            Caution("red", text, "Until then the choice of jobs means nothing." if unit else "Change the utilities.")
        )
    found += stale_cautions("interval", stale=stale)
    found += objective_cautions("the choice", one.value, objective)
    if one.status == "feasible" and one.value is not None and one.bound is not None and not is_best(one):
        gap = share((one.bound - one.value) / one.bound)
        found.append(
            Caution(
                "info",
                f"Not proven to be the best choice: another choice could be worth up to {gap} more (proven limit).",
            )
        )
    return found


def unit_words(unit_s: float) -> str:
    """Return a unit of time: seconds, hours, or how long it is."""
    return next((name for name, size_s in UNITS_S.items() if size_s == unit_s), f"units of {duration(unit_s)}")


def useful_unit(scenario: Scenario) -> str | None:
    """Return the longer unit of time in which some job is worth something, hours if they do; None: none does."""
    for name in ("hours", "days"):
        if UNITS_S[name] > scenario.options.utility_unit_s and not find("smd").remark_on({}, in_unit(scenario, name)):
            return name
    return None


def in_unit(scenario: Scenario, unit: str) -> Scenario:
    """Return the scenario with utilities that count hours or days."""
    return scenario.replace(options=scenario.options.model_copy(update={"utility_unit_s": UNITS_S[unit]}))


def jobs_frame(one: Admission, beside: tuple[str, str] | None = None) -> pd.DataFrame:
    """Return the jobs by worth for one percent of what they block most of; those that run are last.

    ``beside``: a rule and its admission, whose choice makes a column of its own.
    """
    shares, of = one.largest_share()
    frame = pd.DataFrame(
        {
            "Job": one.jobs,
            "Outcome": [OUTCOMES.get(fate, fate) for fate in one.fate],
            "Worth per 1%": one.worth_per_percent(),
            "Worth": one.worth,
            "Workers and servers": [
                gang_words(*pair) or MISSING for pair in zip(one.workers, one.servers, strict=True)
            ],
            "Run time": list(one.time_s_of),
            "Why": one.reason,
            "Reserves most of": [
                f"{RESOURCE_WORDS[one.resources[place]]}, {share(part)}" if part > 0 else MISSING
                for part, place in zip(shares, of, strict=True)
            ],
            "Opportunity cost": one.room_prices(),
        }
    )
    if beside is not None:
        rows = set(one.beside(*beside).rows)
        waited = np.array([fate != "running" for fate in one.fate])
        chosen = ["admitted" if row in rows else "not admitted" for row in one.row]
        frame.insert(2, named(beside), np.where(waited, chosen, MISSING))
    runs = frame["Outcome"] == "running"
    frame = frame.assign(_runs=runs).sort_values(
        ["_runs", "Worth per 1%"], ascending=[True, False], kind="stable", na_position="last"
    )
    return frame.drop(columns="_runs").reset_index(drop=True)


def named(rule: tuple[str, str]) -> str:
    """Return a rule with its admission in words: ESW, first come."""
    return f"{find(rule[0]).label}, {ADMISSION_WORDS[rule[1]]}"


def besides_frame(one: Admission) -> pd.DataFrame:
    """Return how many jobs each rule lets in with each admission in this state, and what they are worth."""
    rules = list(dict.fromkeys(beside.rule for beside in one.besides))
    columns: dict[str, list[object]] = {"Workers and servers by": [find(rule).label for rule in rules]}
    for admission, words in ADMISSION_WORDS.items():
        found = [one.beside(rule, admission) for rule in rules]
        columns[f"Admitted, {words}"] = [len(beside.rows) for beside in found]
        columns[f"Worth, {words}"] = [beside.worth for beside in found]
    return pd.DataFrame(columns)


def optimus_words(one: Admission) -> str:
    """Return the fixed sentence of Optimus and SMD, and how far apart they are in this interval."""
    parts = []
    for admission, words in ADMISSION_WORDS.items():
        ours, theirs = one.beside("smd", admission).worth, one.beside("optimus", admission).worth
        if ours is None or theirs is None or ours <= LEAST:
            continue
        apart = theirs / ours - 1
        size = "the same" if abs(apart) < 5e-6 else f"{share(abs(apart))} {'less' if apart < 0 else 'more'}"
        parts.append(f"{size} with {words}")
    here = f" In this interval its choice is worth {' and '.join(parts)}." if parts else ""
    return f"{FIXED} {WHERE_FIXED}{here}"
