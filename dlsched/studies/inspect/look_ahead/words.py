"""What the Look-ahead page says of a decision: sentence, cards, banners; no page library."""

from __future__ import annotations

from dlsched.studies.inspect.look_ahead.answer import LookAhead
from dlsched.studies.inspect.words import objective_cautions, stale_cautions
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import MISSING, amount, cut, number, share, short_time

MOST_ROWS = 40


def order_of(one: LookAhead, *, follows_plan: bool) -> tuple[list[int], int]:
    """Return the jobs in the order they are shown, and how many of them always are.

    With more than MOST_ROWS jobs those come first that changed now or that the two allocators treat differently, and
    of these MOST_ROWS at most are shown unasked.
    """
    rows = list(range(len(one.jobs)))
    if len(rows) <= MOST_ROWS:
        return rows, len(rows)
    decided = one.decided(follows_plan=follows_plan)
    differs = {
        row for row in rows if len({one.held[row], one.got[row], decided[row]}) > 1 or one.first[row] != one.greedy[row]
    }
    ordered = sorted(rows, key=lambda row: row not in differs)
    return ordered, min(MOST_ROWS, max(len(differs), 1))


def sentence_of(one: LookAhead, unit: str, *, follows_plan: bool) -> str:
    """Return the decision in a sentence: the job that changes most, how many others, and what greedy would do."""
    changed = sum(now != before for now, before in zip(one.got, one.held, strict=True))
    row = named_of(one)
    who = "Greedy would" if follows_plan else "The optimal allocator would"
    if not changed:
        apart = [place for place in range(len(one.jobs)) if one.first[place] != one.greedy[place]]
        stuck = unlike(one, follows_plan=follows_plan)
        but = f", though {amount(stuck, 'job')} {'was' if stuck == 1 else 'were'} to change" if stuck else ""
        first = f"Every job keeps what it has{but}."
        if not apart:
            return f"{first} {who} {'decide' if stuck else 'do'} the same."
        row = max(apart, key=lambda place: abs(one.first[place] - one.greedy[place]))
    else:
        why, told = _why(one, row, unit)
        others = changed - 1 - told
        change = "changes" if others == 1 else "change"
        more = f" {amount(others, 'other job')} {change} too." if others else ""
        first = f"{_got(one, row, unit, why, follows_plan=follows_plan)}{more}"
    other = one.greedy[row] if follows_plan else one.first[row]
    does = _does(one, row, other, unit, it="it" if changed else f"job {cut(one.jobs[row])}")
    return f"{first} {who} {does}{_idle(one, unit, follows_plan=follows_plan)}."


def named_of(one: LookAhead) -> int:
    """Return the place of the job whose number of workers changes most, the first of equals; -1 without jobs."""
    return max(range(len(one.jobs)), key=lambda place: abs(one.got[place] - one.held[place]), default=-1)


def unlike(one: LookAhead, *, follows_plan: bool) -> int:
    """Return how many jobs got another number of workers than was decided."""
    return sum(a != b for a, b in zip(one.got, one.decided(follows_plan=follows_plan), strict=True))


def _why(one: LookAhead, row: int, unit: str) -> tuple[str, int]:
    """Return what a change makes possible or is made possible by, and how many other jobs that tells of.

    By the numbers of the decision alone: what some give up and others get at the same moment.
    """
    moves = [now - before for now, before in zip(one.got, one.held, strict=True)]
    freed, taken = -sum(move for move in moves if move < 0), sum(move for move in moves if move > 0)
    if moves[row] < 0:
        starts = sum(not before and now > 0 for now, before in zip(one.got, one.held, strict=True))
        grows = sum(move > 0 for move in moves) - starts
        if starts:
            return f", so that {amount(starts, 'job')} can start", starts
        return (f", so that {amount(grows, 'job')} can grow", grows) if grows else ("", 0)
    if not freed:
        return f", as {unit}s were free", 0
    givers = sum(move < 0 for move in moves)
    return (f", on {unit}s that {amount(givers, 'job')} gave up", givers) if freed >= taken else ("", 0)


def _got(one: LookAhead, row: int, unit: str, why: str, *, follows_plan: bool) -> str:
    job, before, now = cut(one.jobs[row]), one.held[row], one.got[row]
    name = job if job.lower().startswith("job") else f"Job {job}"
    wanted = one.decided(follows_plan=follows_plan)[row]
    word = "" if wanted == now else f"; {wanted:,} {'was' if wanted == 1 else 'were'} decided"
    if not before:
        return f"{name} starts on {amount(now, unit)}{why}{word}."
    if not now:
        return f"{name} loses its {amount(before, unit)}{why}{word}."
    return f"{name} gets {amount(now, unit)} instead of {before:,}{why}{word}."


def _does(one: LookAhead, row: int, other: int, unit: str, *, it: str) -> str:
    """Return what the other allocator does with a job (``it``), to which it gives ``other`` workers."""
    if other == one.got[row]:
        return f"do the same with {it}"
    if not other:
        return f"let {it} wait"
    if other == one.held[row]:
        return f"keep {it} at {other:,}"
    return f"give {it} {amount(other, unit)}"


def _idle(one: LookAhead, unit: str, *, follows_plan: bool) -> str:
    if one.idle is None or unlike(one, follows_plan=follows_plan):
        return ""
    mine, others = one.idle if follows_plan else (one.idle[1], one.idle[0])
    if mine == others:
        return ""
    return f" and leave {amount(others, unit)} idle, not {mine:,}"


def waiting_of(one: LookAhead, *, follows_plan: bool) -> tuple[int, int]:
    """Return how many jobs wait after the decision as carried out, and as the other allocator would have it."""
    others = one.decided(follows_plan=not follows_plan)
    return one.rest + sum(not width for width in one.got), one.rest + sum(not width for width in others)


def cards_of(one: LookAhead, cpu_s: float | None, *, follows_plan: bool) -> list[tuple[str, str, str]]:
    """Return the four cards: objective, gap, CPU time, jobs that wait."""
    of_plan = "" if follows_plan else " Of the plan that was not carried out: this run is of the greedy allocator."
    steps = f"at each of {amount(one.steps, 'step')}" if one.steps else ""
    mine, others = waiting_of(one, follows_plan=follows_plan)
    return [
        (
            "Objective",
            number(one.objective),
            f"Sum over jobs and steps of the share of a job's remaining work that is done by then, {steps}: "
            f"{number(one.objective, exact=True)}; {len([w for w in one.first if w]) * one.steps} if all were done in "
            f"step 1.{of_plan}",
        ),
        (
            "Bound, gap",
            f"{number(one.bound)}, {gap_words(one)}" if one.bound is not None else MISSING,
            f"No plan of this problem is worth more than the bound ({number(one.bound, exact=True)}). "
            f"Solver: {one.status or 'not asked'}, found by {one.method or 'nothing'}.{of_plan}",
        ),
        (
            "CPU, whole call",
            MISSING if cpu_s is None else short_time(cpu_s),
            "CPU time of this call of the policy when the run was made: the solver, and finding nodes for the jobs. "
            "Runs do not keep the solver's part.",
        ),
        ("Jobs waiting", f"{mine:,}", f"After the decision; {others:,} with the other allocator."),
    ]


def gap_words(one: LookAhead) -> str:
    """Return what is proven: proven optimal, at most 0.3% from best, or why there is no plan."""
    if one.status == "optimal":
        return "proven"
    if one.gap is None:
        return "no plan"
    return f"at most {share(one.gap)} from best"


def cautions_of(one: LookAhead, objective: float | None, *, stale: bool, follows_plan: bool) -> list[Caution]:
    """Return the banners: another code, another objective than stored, no plan, or a plan not proven.

    ``objective`` is what the run has stored.
    """
    found = stale_cautions("decision", stale=stale)
    if follows_plan:
        found += objective_cautions("the plan", one.objective, objective)
    if one.status == "infeasible":
        found.append(Caution("info", f"No plan: {one.reason}. Jobs keep what they have."))
    elif one.status == "feasible":
        found.append(Caution("info", f"Feasible, {gap_words(one)}: not proven to be the best plan."))
    return found
