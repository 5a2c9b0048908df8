"""What the page Paper checks says: counts, verdicts, times, where an outcome comes from; no page library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dlsched.studies.reproductions.registry import REPRODUCTIONS
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Reproduction
from dlsched.wording.formats import amount, duration, listed

State = Literal["same", "partly", "different", "not checked"]
STATES: tuple[State, ...] = ("same", "partly", "different", "not checked")
MARKS: Mapping[State, str] = {
    "same": "✓ same",
    "partly": "◐ partly",
    "different": "✗ different",
    "not checked": "– not checked yet",
}
COLOURS: Mapping[State, Literal["blue", "violet", "red", "gray"]] = {
    "same": "blue", "partly": "violet", "different": "red", "not checked": "gray",
}  # fmt: skip
HINTS: Mapping[State, str] = {
    "same": "Our numbers confirm every part of the claim",
    "partly": "Our numbers confirm some parts of the claim; others differ, are too uncertain, or cannot be compared",
    "different": "Our numbers say otherwise; the figure's page starts with the reason",
    "not checked": "Not run with this store yet, and no outcome is bundled",
}
PAPERS = tuple(dict.fromkeys(one.paper.name for one in REPRODUCTIONS))
"""Short names of the papers."""
SHORT = 150
HOW = (
    "Each figure is computed again by the code behind the other pages: a quick run with small sizes or few draws, a "
    "full run with those of the paper as far as they are printed. What a paper does not print is assumed, and listed. "
    "The verdict follows from the numbers by fixed rules: a part of a claim counts as confirmed only where its whole "
    "95% interval agrees. Nothing is tuned until it agrees. Charts show only numbers that a paper prints; none are "
    "read off its pictures. You can cancel a run; nothing of it is kept. Times are CPU times on a machine of 2026."
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """An outcome on the page: by a quick run or not, by which code and when (ISO, UTC); ``stale``: by other code than
    today's; ``bundled``: it came with the program.
    """

    outcome: Outcome
    quick: bool
    version: str
    on: str
    stale: bool
    bundled: bool

    @property
    def rank(self) -> tuple[bool, bool, bool, str]:
        """The higher, the rather it is shown: by today's code, full, computed here, late."""
        return not self.stale, not self.quick, not self.bundled, self.on


def title_of(one: Reproduction) -> str:
    """Return what a figure is called: SMD, Fig. 9."""
    return f"{one.paper.name}, {one.figure}"


def state_of(checked: Checked | None) -> State:
    """Return the verdict of the outcome that is shown, or that there is none."""
    return "not checked" if checked is None else checked.outcome.verdict


def counts(checked: Mapping[str, Checked]) -> dict[State, int]:
    """Return how many figures are in each state, all states in their order."""
    states = [state_of(checked.get(one.key)) for one in REPRODUCTIONS]
    return {state: states.count(state) for state in STATES}


def finding(checked: Mapping[str, Checked]) -> str:
    """Return all counts in a sentence; the different ones are in it also where there are none."""
    states = listed([f"{number} {state}" for state, number in counts(checked).items()])
    return f"{len(REPRODUCTIONS)} figures and tables of {len(PAPERS)} papers: {states}."


def cell_of(one: Reproduction, checked: Checked | None) -> str:
    """Return a figure as a cell of the strip: the mark of its verdict and its number: ✓ 9, ◐ Tab. 4."""
    number = one.figure.replace("Fig. ", "").replace("Table", "Tab.")
    return f"{MARKS[state_of(checked)][0]} {number}"


def by_what(checked: Mapping[str, Checked]) -> str:
    """Return by what runs, and which code, the verdicts on the page came about."""
    if not checked:
        return "No figure has been checked with this store."
    full = sum(not one.quick for one in checked.values())
    stale = sum(one.stale for one in checked.values())
    runs = f"{full} by full runs, {len(checked) - full} by quick runs" if full else "all by quick runs"
    code = f"{stale} checked with an earlier version" if stale else "all checked with this version"
    seen, parts = seen_of(checked.values())
    verb = "is" if seen == 1 else "are"
    claims = f" {seen:,} of {amount(parts, 'part')} of claims {verb} confirmed." if parts else ""
    return f"{amount(len(checked), 'verdict')}: {runs}; {code}.{claims}"


def origin(checked: Checked) -> str:
    """Return where an outcome comes from: Quick run, checked with version 0.1.0+3f2a9c1d04e7 on 2026-11-22, bundled."""
    run = "Quick run" if checked.quick else "Full run"
    where = ", bundled with the program" if checked.bundled else ", in this store"
    return f"{run}, checked with version {checked.version} on {checked.on}{where}"


def seen_of(checked: Iterable[Checked]) -> tuple[int, int]:
    """Return how many parts of the claims are seen, and how many were looked at."""
    holds = [seen for one in checked for _, seen in one.outcome.checks]
    return sum(holds), len(holds)


def headline(one: Reproduction, checked: Checked | None) -> str:
    """Return what is found of one figure."""
    if checked is None:
        return f"{title_of(one)}: not checked yet."
    seen, parts = seen_of([checked])
    claim = (
        f" {seen} of {amount(parts, 'part')} of the claim {'is' if seen == 1 else 'are'} confirmed." if parts else ""
    )
    return f"{title_of(one)}: {checked.outcome.verdict}.{claim}"


def time_words(time: CpuTime, *, quick: bool) -> str:
    """Return how long a run takes: 42 s; about 9 min where that is not measured."""
    seconds = time.of(quick=quick)
    if seconds < 1:
        return "under 1 s"
    rounded = duration(60 * round(seconds / 60) if seconds >= 90 else round(seconds))
    return rounded if quick or time.full_is_measured else f"about {rounded}"


def command(key: str, *, quick: bool) -> str:
    """Return the command line that computes the same."""
    return f"dlsched reproduce {key}{' --quick' if quick else ''}"


def short(text: str, longest: int = SHORT) -> str:
    """Return the beginning of a long text, cut between words."""
    if len(text) <= longest:
        return text
    return f"{text[:longest].rsplit(' ', 1)[0].rstrip(',;:.')} …"


def row_of(one: Reproduction, checked: Checked | None) -> dict[str, str]:
    """Return a figure as a row of the list."""
    seen, parts = seen_of([] if checked is None else [checked])
    return {
        "Figure": one.figure,
        "Claim": one.claim,
        "Paper's number": one.printed.words,
        "Ours": "–" if checked is None else short(checked.outcome.ours),
        "Verdict": MARKS[state_of(checked)] + (f", {seen} of {parts} parts" if parts else ""),
        "By": "" if checked is None else f"{'quick' if checked.quick else 'full'}, {checked.on}",
        "Takes": f"quick {time_words(one.time, quick=True)}, full {time_words(one.time, quick=False)}",
    }


def chosen(checked: Mapping[str, Checked], states: Sequence[str]) -> list[Reproduction]:
    """Return the figures in one of the states; all without one."""
    return [one for one in REPRODUCTIONS if not states or state_of(checked.get(one.key)) in states]
