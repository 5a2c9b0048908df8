"""What an anonymised copy hides and what it still shows, in words."""

from __future__ import annotations

from dlsched.wording.formats import amount, listed
from dlsched.workload.anonymise import Copy

NOUNS = {
    "job_id": "job", "user": "user", "group": "group", "model": "model", "profile": "profile", "job_class": "class",
    "partition": "partition", "node": "node", "features": "feature",
    "queue": "queue",
}  # fmt: skip
PLURALS = {"job_class": "classes"}


def replaced_words(copy: Copy) -> str:
    """Return which names were replaced."""
    parts = [amount(many, NOUNS.get(kind, kind), PLURALS.get(kind, "")) for kind, many in copy.replaced.items() if many]
    moved = "Dates moved by a whole number of weeks." if copy.has_dates else "It has no dates."
    return f"Names were replaced: {listed(parts)}. {moved}"


def visible_words(copy: Copy) -> tuple[str, ...]:
    """Return what the copy still shows, a line each."""
    jobs = copy.scenario.workload
    types = {part for text in ({*jobs.gpu_types} if jobs.gpu_types is not None else ()) for part in text.split("|")}
    types |= {vm.gpu_type for vm in copy.scenario.cluster.vm_types}
    lines = [
        "Still visible: how many jobs there are and how many each (unnamed) user has; when they arrive, start and end "
        "relative to each other; run times and time limits; GPUs, cores and memory requested; priorities; recorded "
        "outcomes; the order, but not the names, of partitions and nodes.",
    ]
    if copy.has_dates:
        lines.append(
            "Weekday and hour are as recorded. A change of the clock (daylight saving) is where the original had it, "
            "not where the new dates have one."
        )
    if named := sorted(types - {"", "GPU"}):
        lines.append(f"Names of GPU types stay, as they decide where jobs run: {', '.join(named)}.")
    lines.append("A rare pattern, such as the only job of 512 GPUs, can still be recognised by people who know it.")
    return tuple(lines)
