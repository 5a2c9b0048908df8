"""PD-ORS and the policies it is compared with (decision 020)."""

from __future__ import annotations

from typing import Any

from dlsched.domain.policy import Need, PolicySpec
from dlsched.domain.scenario import Scenario
from dlsched.policies.primal_dual.params import DormParams, OasisParams, PdOrsParams
from dlsched.policies.primal_dual.policy import dorm_policy, drf_policy, fifo_policy, oasis_policy, pd_ors

FAMILY = "PD-ORS"
PAPER = "Yu et al., Toward efficient online scheduling for distributed machine learning systems (PD-ORS), 2021"
SLOTTED = frozenset({Need.SERVERS, Need.FIXED_NODES, Need.OWN_STEPS})
PRICED = SLOTTED | {Need.UTILITY, Need.SHORT_RESTARTS}
"""A slot booked anew brings nothing where a restart takes all of it: a job would book such slots for ever."""


def _on_dice(params: Any, scenario: Scenario) -> str:
    """Return what a reader of a result with dice should know; "" for the others."""
    return "" if params.slot_method != "rounded" else "Rounding throws dice: another seed gives another result."


PRIMAL_DUAL: tuple[PolicySpec, ...] = (
    PolicySpec(
        "pd-ors",
        "PD-ORS",
        FAMILY,
        "Decides when a job arrives whether it is worth its price, and books machines slot by slot, workers and "
        "servers together where that pays.",
        pd_ors,
        PdOrsParams,
        PRICED,
        knows="times of a training step, samples, utility functions",
        paper=PAPER,
        group="who gets in",
        uses_run_times=True,
        remark=_on_dice,
    ),
    PolicySpec(
        "oasis",
        "OASiS",
        FAMILY,
        "Prices and bookings as PD-ORS, but half of the machines hold workers and the other half servers.",
        oasis_policy,
        OasisParams,
        PRICED,
        knows="times of a training step, samples, utility functions",
        paper="Bao et al., Online job scheduling in distributed machine learning clusters, 2018",
        group="who gets in",
        uses_run_times=True,
    ),
    PolicySpec(
        "dorm",
        "Dorm",
        FAMILY,
        "Every slot, gives out workers so that most of the machines is in use, within limits on fairness and changes.",
        dorm_policy,
        DormParams,
        SLOTTED,
        knows="times of a training step, samples",
        paper="Sun et al., Towards distributed machine learning in shared clusters (Dorm), 2017",
        group="who gets in",
        uses_run_times=True,
    ),
    PolicySpec(
        "pd-ors-fifo",
        "FIFO by slots",
        FAMILY,
        "In order of arrival, each job with the workers it asks for; nobody starts before the one ahead.",
        fifo_policy,
        needs=SLOTTED,
        group="who gets in",
    ),
    PolicySpec(
        "pd-ors-drf",
        "DRF by slots",
        FAMILY,
        "Every slot, one worker at a time to the job with the least dominant share.",
        drf_policy,
        needs=SLOTTED,
        knows="times of a training step, samples",
        group="who gets in",
        uses_run_times=True,
    ),
)
