"""Settings and changes in words: values with their units, and what differs between futures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dlsched.domain.units import HOUR_S
from dlsched.wording.formats import MINUS, amount, count, duration, listed, money, number, share

Value = float | str
LARGE_FACTOR = 2.0
"""From here on a factor is written as one: 2.5x; below it as a change: +20%."""
SHARES = ("estimate_error", "bug_share", "cancel_share")
NODES_OF = "nodes."
ALL_QUEUES = "*"
"""Stands for all queues in the keys of their rules: "reclaim.*"."""
QUEUE_VALUES: Mapping[str, Mapping[str, str]] = {
    "borrowing": {"allowed": "allowed", "off": "not allowed"},
    "fair_sharing": {},
    "reclaim": {"lower": "from jobs of lower priority", "any": "from any job"},
    "within": {"lower": "jobs of lower priority", "lower-or-newer-equal": "jobs of lower priority, or equal and newer"},
    "strategy": {"strict": "strict, the first job blocks the others", "best-effort": "best effort, others may pass"},
    "parent": {"none": "no cohort"},
    "borrow": {"none": "no limit"},
    "lend": {"none": "no limit"},
    "quota": {},
    "weight": {},
    "limit": {"none": "no limit"},
    "qos": {},
    "shares": {"parent": "its account"},
}
"""Changes of queues and of Slurm by the first part of their key: the values that are typed -> how they are read."""
DAYS_WHY = (
    "A month reshuffled from your days has as many days as yours, each a whole day of it, drawn with replacement. The "
    "range holds 8 of 10 such months. Months to come can differ more. A longer trace makes a verdict surer; more "
    "months reshuffled from the same days do not."
)
"""What futures from resampled days are of (decision 029)."""
VARY_LABELS = {
    "days": "whole days of the trace", "run_time_spread": "run times", "failures": "failures of nodes",
    "shaking": "a second of each run",
}  # fmt: skip
"""What a reader can let vary between futures."""
VARY_WHY = {
    "days": DAYS_WHY,
    "run_time_spread": "The run time of every job times a random factor with mean 1 (log-normal): our assumption.",
    "failures": "Each node fails at random (exponential) and is back after 1 h: our assumptions.",
    "shaking": "Run times are up to a second longer and, under Slurm, its passes a little later: which job meets which "
    "pass is chance. Alone, values are means of replays of this log, and nothing is said about other months.",
}
"""How it varies."""
MISHAP_WORDS = {
    "own": "as in the scenario",
    "baseline": "nothing goes wrong",
    "estimates": "estimates off by up to 10%",
    "mishaps": "estimates off, 15% of jobs crash, 10% are cancelled",
    "delay": "15 s to start or add GPUs",
}
"""What goes wrong, by the value of the change "mishaps"."""
_AFTER_HEAD = re.compile(r",| (?:of|on|in|within|by|from|with|at|under|instead|for|[+±−(\d])")
_PLURALS = (
    "nodes", "jobs", "arrivals", "times", "prices", "weights", "failures", "estimates", "gpus", "types", "changes",
)  # fmt: skip
"""What follows the noun of an option's name, and the nouns that are plurals."""
_FAILURE = re.compile(r"(\d+)@([\d.]+)for([\d.]+)")


def factor_words(factor: float) -> str:
    """Return a factor as a change: +20%, −10%, unchanged; from LARGE_FACTOR on 2.5x."""
    if factor >= LARGE_FACTOR:
        return f"{number(factor)}x"
    percent = 100 * (factor - 1)
    if abs(percent) < 1e-9:
        return "unchanged"
    return f"{'+' if percent > 0 else MINUS}{number(abs(percent))}%"


def value_words(key: str, unit: str, value: Value | None) -> str:
    """Return a value of a setting with its unit, nodes without: 8, +20%, 5 min, ± 50%, $4, none."""
    if value is None:
        return "none"
    if isinstance(value, str):
        if (words := QUEUE_VALUES.get(key.partition(".")[0])) is not None:
            return words.get(value, value)
        if key == "failure_at":
            return failures_words(value)
        return MISHAP_WORDS.get(value, value) if key == "mishaps" else ", ".join(value.split("+"))
    if unit == "x":
        return factor_words(value)
    if unit in ("s", "h"):
        return duration(value * (HOUR_S if unit == "h" else 1.0))
    if unit == "$":
        return money(value)
    if unit == "nodes":
        return count(value)
    if key == "run_time_spread":
        return f"± {share(value)}"
    return share(value) if key in SHARES else f"{number(value, exact=True)}{f' {unit}' if unit else ''}"


def setting_words(key: str, label: str, unit: str, value: Value | None) -> str:
    """Return a setting with its value: 8 nodes, 2 nodes of A100, demand +20%, run times ± 30%, days resampled."""
    if unit == "nodes" and value is not None:
        nodes = amount(int(float(value)), "node")
        return f"{nodes} of {key.removeprefix(NODES_OF)}" if key.startswith(NODES_OF) else nodes
    if key in ("days", "shaking"):
        return "days resampled" if key == "days" else "run times up to a second longer"
    if key == "demand" and value is not None:
        return _jobs_words(float(value))
    if key == "failures" and value is not None:
        return f"failures (each node every {duration(HOUR_S * float(value))})"
    if key in ("failure_at", "mishaps"):
        return value_words(key, unit, value)
    if value is not None and key.partition(".")[0] in QUEUE_VALUES:
        return _queue_words(key, label, unit, value)
    if key.startswith("terms."):
        return f"{key.partition('.')[2]} as {value}"
    if key == "vm_types":
        return f"only the VM types {listed(str(value).split('+'))}"
    if key.startswith("param."):  # it begins with the name of the policy, as it is within a sentence
        return f"{label.partition(' (')[0]} {value_words(key, unit, value)}"
    name = "run times" if key == "run_time_spread" else within_sentence(label.partition(" (")[0])
    return f"{name} {value_words(key, unit, value)}"


def _queue_words(key: str, label: str, unit: str, value: Value) -> str:
    """Return a change of queues: "no borrowing", "reclaim by vision from any job", "a quota of 40 GPUs for vision".

    Those of Slurm are read as quotas are: "a limit GrpTRES gres/gpu of 16 GPUs for account vision".
    """
    family, _, name = key.partition(".")
    read = value_words(key, unit, value)
    if family == "borrowing":
        return "no borrowing" if value == "off" else "borrowing allowed"
    if family == "fair_sharing":
        return "no fair sharing" if value == "off" else "fair sharing"
    if family == "reclaim":
        by = "" if name == ALL_QUEUES else f" by {name}"
        return f"no reclaim{by}" if value == "never" else f"reclaim{by} {read}"
    each = "each queue" if name == ALL_QUEUES else name
    if family == "within":
        return f"no preemption within {each}" if value == "never" else f"preemption of {read} within {each}"
    if family == "strategy":
        order = "strict" if value == "strict" else "best-effort"
        return f"{order} order in {'all queues' if name == ALL_QUEUES else name}"
    if family == "parent":
        return f"{name} in {'no cohort' if value == 'none' else f'the cohort {value}'}"
    what, _, of = label.partition(" of ")
    if value == "none":
        return f"no {within_sentence(what)} for {of}"
    return f"a {within_sentence(what)} of {read} for {of}"


def _jobs_words(factor: float) -> str:
    """Return a change of the number of jobs: "30% more jobs", "10% fewer jobs", "2.5x as many jobs"."""
    if factor >= LARGE_FACTOR or factor == 1:
        return f"{number(factor)}x as many jobs"
    return f"{number(abs(100 * (factor - 1)))}% {'more' if factor > 1 else 'fewer'} jobs"


def within_sentence(label: str) -> str:
    """Return a label as it is written within a sentence: "arrivals", but "GPU speed"."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def is_plural(name: str) -> bool:
    """Whether an option's name takes a plural verb: "Two more nodes", "Arrivals +30%", "10 nodes and SJF"."""
    head = _AFTER_HEAD.split(name)[0].strip()
    return " and " in head or head.rpartition(" ")[2].lower() in _PLURALS


def failures_words(value: str) -> str:
    """Return failures at given times: "a failure of node 3 after 48 h for 6 h"; several are counted."""
    found = [_FAILURE.fullmatch(text) for text in value.split("+")]
    if len(found) != 1 or found[0] is None:
        return amount(len(found), "failure")
    node, start, length = found[0].groups()
    return f"a failure of node {node} after {duration(HOUR_S * float(start))} for {duration(HOUR_S * float(length))}"


# ---- futures -----------------------------------------------------------------------------------------


def vary_words(vary: Mapping[str, Value]) -> list[str]:
    """Return what varies beside what is random in the scenario: "days resampled", "run times ± 30%"."""
    return [setting_words(key, key.replace("_", " "), "", value) for key, value in vary.items()]


def vary_help() -> str:
    """Return how each thing that can vary does so, as paragraphs of Markdown."""
    return "  \n".join(f"**{label[:1].upper()}{label[1:]}**: {VARY_WHY[key]}" for key, label in VARY_LABELS.items())
