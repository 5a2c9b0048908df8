"""PD-ORS and the policies it is compared with (decision 020)."""

from __future__ import annotations

from typing import Any

from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.primal_dual.params import DormParams, OasisParams, PdOrsParams
from dlsched.policies.shared.built_later import BuiltLater

FAMILY = "PD-ORS"
CODE = "dlsched.policies.primal_dual.policy"
PAPER = "Yu et al., Toward efficient online scheduling for distributed machine learning systems (PD-ORS), 2021"
SLOTTED = frozenset({Need.SERVERS, Need.FIXED_NODES, Need.ALWAYS_THERE, Need.OWN_STEPS})
PRICED = SLOTTED | {Need.UTILITY, Need.SHORT_RESTARTS}
"""A slot booked anew brings nothing where a restart takes all of it: a job would book such slots for ever."""


def _on_dice(params: Any, scenario: Scenario) -> str:
    """Return what a reader of a randomised result should know; "" for the others."""
    return "" if params.slot_method != "rounded" else "The rounding is random: another seed gives another result."


PRIMAL_DUAL: tuple[PolicySpec, ...] = (
    PolicySpec(
        "pd-ors",
        "PD-ORS",
        FAMILY,
        "Decides on arrival whether a job is worth its price and books machines slot by slot, with workers and "
        "servers on the same machine where that pays off.",
        BuiltLater(CODE, "pd_ors"),
        PdOrsParams,
        PRICED,
        knows="training-step times, samples and utility functions",
        paper=PAPER,
        group="admission",
        uses_run_times=True,
        remark=_on_dice,
    ),
    PolicySpec(
        "oasis",
        "OASiS",
        FAMILY,
        "As PD-ORS, but half of the machines run workers and the other half servers.",
        BuiltLater(CODE, "oasis_policy"),
        OasisParams,
        PRICED,
        knows="training-step times, samples and utility functions",
        paper="Bao et al., Online job scheduling in distributed machine learning clusters, 2018",
        group="admission",
        uses_run_times=True,
    ),
    PolicySpec(
        "dorm",
        "Dorm",
        FAMILY,
        "In every slot, assigns workers to use as much of the machines as possible, within limits on fairness and "
        "changes.",
        BuiltLater(CODE, "dorm_policy"),
        DormParams,
        SLOTTED,
        knows="training-step times and samples",
        paper="Sun et al., Towards distributed machine learning in shared clusters (Dorm), 2017",
        group="admission",
        uses_run_times=True,
    ),
    PolicySpec(
        "pd-ors-fifo",
        "FIFO by slots",
        FAMILY,
        "First come, first served by slot, each job with the workers it requests; no job starts before the one ahead "
        "of it.",
        BuiltLater(CODE, "fifo_policy"),
        needs=SLOTTED,
        group="admission",
    ),
    PolicySpec(
        "pd-ors-drf",
        "DRF by slots",
        FAMILY,
        "In every slot, gives one worker at a time to the job with the lowest dominant share.",
        BuiltLater(CODE, "drf_policy"),
        needs=SLOTTED,
        knows="training-step times and samples",
        group="admission",
        uses_run_times=True,
    ),
)
