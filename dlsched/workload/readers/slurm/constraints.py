"""Constraints of a job (sbatch -C) as the features that its nodes must have."""

from __future__ import annotations

import re

import numpy as np

from dlsched.domain.workload import Texts
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.slurm.tables import distinct

LONGEST = 500
_NAME = r"[\w.:=+@/-]{1,120}"
_ALL = re.compile(rf"{_NAME}(?:[&,]{_NAME})*")
_ANY = re.compile(rf"{_NAME}(?:\|{_NAME})*")
_NONE = frozenset({"", "(null)", "none", "na", "n/a"})


def features_of(ledger: Ledger, column: object) -> Texts:
    """Return the column ``features``: "A&B" for all of them, "A|B" for one of them.

    Counts of nodes ("[a*2&b*4]"), exclusive alternatives ("[a|b]") and mixtures with parentheses are counted: such a
    job may run on any node.
    """
    values, which = distinct(column)
    read = [features_text(value) for value in values]
    unread = np.array([text is None for text in read], dtype=bool)
    rule = "Its node features are not followed: the job may run on any node"
    if len(which):
        ledger.not_modelled(unread[which], "job with a constraint beyond A&B or A|B", rule, column)
    return np.array([text or "" for text in read], dtype=object)[which]


def features_text(constraint: str) -> str | None:
    """Return the entry of one constraint; None if it is beyond what is modelled."""
    text = re.sub(r"\s", "", constraint[: LONGEST + 1])
    if text.lower() in _NONE:
        return ""
    text = text[1:-1] if re.fullmatch(r"\([^()]*\)", text) else text
    if len(text) > LONGEST:
        return None
    if _ALL.fullmatch(text):
        return "&".join(sorted(set(re.split("[&,]", text))))
    return "|".join(sorted(set(text.split("|")))) if _ANY.fullmatch(text) else None
