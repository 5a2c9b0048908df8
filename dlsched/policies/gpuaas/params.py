"""Parameters of the GPU-as-a-service policies."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from dlsched.domain.model import FrozenModel


def _none_word(given: Any) -> Any:
    """Accept the word none, as it is typed on the command line."""
    return None if isinstance(given, str) and given.strip().lower() in {"none", ""} else given


OptionalSeconds = Annotated[float | None, BeforeValidator(_none_word)]


class PeriodParams(FrozenModel):
    """What every policy of the family can be told."""

    period_s: OptionalSeconds = Field(
        3600.0,
        ge=1,
        le=604_800,
        description="Decide again this long after the last decision if nothing has happened; none = only at "
        "submissions and completions. This is also H of the local problem (one hour if none).",
        json_schema_extra={"unit": "s"},
    )

    @property
    def horizon_s(self) -> float:
        """H of (P1): the period, by default that of the policy."""
        default: float = type(self).model_fields["period_s"].default
        return default if self.period_s is None else self.period_s


class LocalParams(PeriodParams):
    """Parameters of the local problem (P1)."""

    postpone_factor: float = Field(
        100.0, ge=1, le=1e6, description="How many times as much a job left in the queue counts as a late one."
    )
    idle_penalty_usd: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description="Penalty of the local problem for an idle GPU.",
        json_schema_extra={"unit": "$"},
    )


class SearchParams(LocalParams):
    """Parameters of the randomised searches."""

    iterations: int = Field(1000, ge=1, le=100_000, description="Schedules constructed at random for each decision.")


class RandomizedParams(SearchParams):
    """Parameters of randomised greedy."""

    guide: Literal["objective", "proxy"] = Field(
        "objective", description="How schedules are ranked: by objective (P1a) or by the proxy of Eq. (1)."
    )


class RelinkingParams(SearchParams):
    """Parameters of path relinking."""

    elite: int = Field(10, ge=2, le=100, description="Number of good schedules kept; the search walks between them.")


class MarketParams(PeriodParams):
    """Parameters of Market."""

    mixing: bool = Field(
        True,
        description="Let a job run on a faster configuration first and a cheaper one later, if that is cheaper "
        "overall; off where a change costs a restart.",
    )
    wait_h: float = Field(
        10.0,
        gt=0,
        le=1000,
        description="Longest wait assumed for a job that is not started now; shorter when the backlog is short.",
        json_schema_extra={"unit": "h"},
    )
    later_price: float = Field(
        0.99, ge=0, lt=1, description="Price of a GPU after that wait, as a share of today's price for scarce GPUs."
    )
    look_ahead: int = Field(
        40,
        ge=0,
        le=100,
        description="When a job comes or ends, while at most so many jobs are known, play all rules out to the end "
        "of these jobs and change to the cheapest if it saves 2% of what is left to pay; 0 = always Market's own rule. "
        "Where hours are billed, only with at most 20 nodes; there, and where restarts cost, only while the jobs hold "
        "at most 100 hours (or periods) of work per node.",
        json_schema_extra={"unit": "jobs"},
    )


class ExactParams(LocalParams):
    """Parameters of the exact local problem."""

    open_nodes: Literal["at most", "exactly"] = Field(
        "at most", description="Open at most N nodes, or exactly min(N, jobs) as printed in the paper."
    )
    gap: float = Field(0.0, ge=0, le=1, description="Relative gap at which the solver may stop; 0 = proven optimal.")
    node_limit: int = Field(20_000, ge=1, le=10_000_000, description="Limit on nodes in the solver's search tree.")


class HierarchicalParams(ExactParams):
    """Parameters of the Hierarchical method."""

    gap: float = Field(0.05, ge=0, le=1, description="Relative gap at which each controller's solver may stop.")
    node_limit: int = Field(2_000, ge=1, le=10_000_000, description="Limit on nodes in each controller's search tree.")
    controller_nodes: int = Field(5, ge=1, le=100, description="Nodes per local controller.")


class DpParams(LocalParams):
    """Parameters of the dynamic-programming rivals."""

    period_s: OptionalSeconds = Field(
        900.0,
        ge=1,
        le=604_800,
        description="Time between two decisions (Delta t), in addition to decisions at submissions and completions.",
        json_schema_extra={"unit": "s"},
    )
    postpone_factor: float = Field(
        1.0, ge=0, le=1e6, description="How many times as much a job left in the queue counts as a late one."
    )
    postponed_usd: float = Field(
        1e6,
        ge=0,
        le=1e12,
        description="Cost of leaving a job in the queue, where it is a constant.",
        json_schema_extra={"unit": "$"},
    )
