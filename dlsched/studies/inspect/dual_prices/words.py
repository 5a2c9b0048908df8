"""What is said of prices and admissions: sentence, cards, banners, a job's reckoning, the list of jobs."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from dlsched.domain.assumptions import Assumption
from dlsched.policies.primal_dual.online import NO_ROOM, NOT_WORTH
from dlsched.policies.primal_dual.reach import CANNOT_FINISH
from dlsched.studies.inspect.dual_prices.answer import EndingThen, Hindsight, JobDecision, PricedRun
from dlsched.studies.inspect.words import stale_cautions
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import MINUS, amount, count, cut, number, share, small
from dlsched.wording.resources import RESOURCE_WORDS, resource_verb

NEXT_TO_NOTHING = 1e-3
"""A price below this part of the worth rejects no job."""
REASONS: Mapping[str, tuple[str, str]] = {
    NOT_WORTH: ("was not worth its price", "were not worth their price"),
    NO_ROOM: ("found no room in time", "found no room in time"),
    CANNOT_FINISH: ("could not finish in time", "could not finish in time"),
}
"""Why -> in words of one job and of several."""


def sentence_of(run: PricedRun, one: JobDecision) -> str:
    """Return the run in a sentence: how many got in, why the others did not, and what was dearest at a decision."""
    return f"{admitted_words(run)} {_dearest(run, one)}".strip()


def admitted_words(run: PricedRun) -> str:
    """Return how many jobs got in, and why the others did not."""
    jobs = len(run.first_decisions)
    if run.admitted == jobs:
        return "The one job is admitted." if jobs == 1 else f"All {jobs:,} jobs are admitted."
    away = [
        f"{times:,} {REASONS.get(why, (f'rejected: {why}',) * 2)[times > 1]}"
        for why, times in sorted(run.turned_away().items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    return f"{run.admitted:,} of {amount(jobs, 'job')} admitted; {', '.join(away)}."


def _dearest(run: PricedRun, one: JobDecision) -> str:
    dearest = run.dearest(one)
    if dearest is None:
        return ""
    resource = run.resources[dearest.resource]
    others = f" and {amount(dearest.machines - 1, 'other')}" if dearest.machines > 1 else ""
    first, last = dearest.first, dearest.last
    slots = f"slot {first:,}" if first == last else f"slots {first:,} to {last:,}"
    where = f"{RESOURCE_WORDS[resource]} on machine n{dearest.machine}{others}"
    return f"When {cut(one.job)} came, {where} {resource_verb(resource, 'was', 'were')} most expensive, {slots}."


def cards_of(run: PricedRun, utility: float | None) -> list[tuple[str, str, str]]:
    """Return the four cards: admitted, rejected by price, utility as the run has it, share of work booked together."""
    jobs, turned_away = len(run.first_decisions), run.turned_away()
    others = jobs - run.admitted - turned_away[NOT_WORTH]
    return [
        (
            "Admitted",
            f"{run.admitted:,} of {jobs:,}",
            "Decided when a job arrives, for good: an admitted job is booked.",
        ),
        (
            "Rejected by price",
            count(turned_away[NOT_WORTH]),
            f"Their cheapest schedule cost at least what they were worth. {amount(others, 'other job')} had no "
            "schedule that ends within the horizon.",
        ),
        (
            "Utility",
            number(utility),
            f"Of completed jobs, by the run's own log: {number(utility, exact=True)}. As booked: "
            f"{number(run.promised, exact=True)}.",
        ),
        (
            "On a single machine",
            share(run.together_share()),
            "Share of booked worker-slots in which all workers and servers of the job are on one machine; the others "
            "are spread and use the slower links between machines.",
        ),
    ]


def cautions_of(run: PricedRun, rejected: set[int], *, stale: bool) -> list[Caution]:
    """Return the banners: other code, another outcome than stored (``rejected`` rows there), prices near 0."""
    found = stale_cautions("decision", stale=stale)
    ours = {one.row for one in run.first_decisions if not one.admitted}
    if differ := len(ours ^ rejected):
        have = "has" if differ == 1 else "have"
        text = f"Worked out again, {amount(differ, 'job')} {have} another outcome than in the run."
        found.append(Caution("orange", text, "Run it again"))
    paid = [one.best for one in run.first_decisions if one.admitted and one.best]
    free = sum(best.price < NEXT_TO_NOTHING * best.worth for best in paid)
    if free > len(paid) / 2:
        found.append(Caution("info", f"{free:,} of {amount(len(paid), 'admitted job')} paid under 0.1% of their worth: "
                           "the lowest price is next to nothing here. Until machines are nearly full, no job is "
                           "rejected for it."))  # fmt: skip
    return found


OURS = (
    Premise(
        "price bounds from the jobs seen so far",
        "The study takes all jobs, also those yet to come. Here the highest "
        "and the lowest price follow from the jobs submitted so far, as the others are not known yet.",
        "",
    ),
    Premise(
        "lowest price: a floor of ours",
        "What a job is worth at the horizon counts at least as a small part of what "
        "it would be worth done in its first slot (a parameter of the policy): one urgent job would otherwise make "
        "every price near 0.",
        "",
    ),
)


def premises_of(assumptions: tuple[Assumption, ...]) -> list[Premise]:
    """Return what the page assumes; ``assumptions`` of the scenario, of which bandwidths matter here."""
    ours = [Premise("bandwidths are ours", one.words, "Jobs") for one in assumptions if one.kind == "bandwidth"]
    return [*ours, *OURS]


def reckoning_of(one: JobDecision) -> str:
    """Return a job's decision in a line: worth − price = payoff → admitted, or why not."""
    name = cut(one.job)
    if one.best is None:
        alone = {CANNOT_FINISH: "it could not finish in time even alone", NO_ROOM: "no room was left for it in time"}
        return f"{name}: rejected, {alone.get(one.why, one.why)}."
    end = "admitted" if one.admitted else "rejected, not worth its price"
    return f"{name}: {_sum(one.best)} → {end}."


def _sum(best: EndingThen) -> str:
    return f"worth {small(best.worth)} {MINUS} price {small(best.price)} = {signed_small(best.payoff)}"


def signed_small(value: float) -> str:
    """Return +5.1, −0.3 or 0; next to nothing with its power of ten."""
    sign = "+" if value > 0 else MINUS if value < 0 else ""
    return f"{sign}{small(abs(value))}"


def more_of(one: JobDecision) -> str:
    """Return when the job would end, on how much, and the best alternative."""
    if one.best is None:
        return ""
    parts = [f"Its cheapest schedule with the best payoff ends in slot {one.best.last:,}."]
    if one.bookings:
        slots, machines = len(one.machines_at), len({booked.machine for booked in one.bookings})
        alone = sum(number_of == 1 for number_of in one.machines_at.values())
        kind = "on a single machine throughout" if alone == slots else "spread"
        kind = f"on a single one in {alone:,} of them" if 0 < alone < slots else kind
        parts.append(f"Booked in {amount(slots, 'slot')} on {amount(machines, 'machine')}, {kind}.")
    if one.other is None:
        parts.append("No schedule ends in another slot.")
    else:
        parts.append(f"Best alternative, ending in slot {one.other.last:,}: {_sum(one.other)}.")
    return " ".join(parts)


def jobs_frame(run: PricedRun) -> pd.DataFrame:
    """Return the decisions about all jobs, in order of arrival, one row a job."""
    rows = [
        {
            "Job": one.job,
            "First slot": one.first,
            "Outcome": "admitted" if one.admitted else "rejected",
            "Why": one.why,
            "Worth": one.best.worth if one.best else None,
            "Price": one.best.price if one.best else None,
            "Payoff": one.best.payoff if one.best else None,
            "Last slot": one.best.last if one.best else None,
            "Payoff of the alternative": one.other.payoff if one.other else None,
            "Slots booked": len(one.machines_at) or None,
            "Machines": len({booked.machine for booked in one.bookings}) or None,
            "On a single machine": f"{sum(n == 1 for n in one.machines_at.values()):,} of {len(one.machines_at):,}"
            if one.bookings
            else None,
        }
        for one in run.first_decisions
    ]
    frame = pd.DataFrame(rows)
    whole = ["Last slot", "Slots booked", "Machines"]
    return frame.astype(dict.fromkeys(whole, "Int64")).astype(
        dict.fromkeys(["Worth", "Price", "Payoff", "Payoff of the alternative"], float)
    )


def hindsight_words(best: Hindsight) -> str:
    """Return the competitive ratio in words, with its bounds where the search did not prove the best."""
    ratios, is_proven = best.ratios(), best.status == "optimal"
    span = number(best.utility) if is_proven else f"{number(best.utility)} to {number(best.bound)}"
    worth = f"the best possible plan is worth {span}"
    if ratios is None:
        return f"This run is worth nothing; {worth}, known only in hindsight."
    low, high = (f"{number(ratio)}x" for ratio in ratios)
    factor = low if is_proven or low == high else f"{low} to {high}"
    sure = "proven" if is_proven else "not proven: the search stopped at its limit"
    return f"{factor}: {worth} ({sure}), this run {number(best.ours)}. The best is known only in hindsight."
