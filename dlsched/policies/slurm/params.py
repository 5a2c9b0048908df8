"""Parameters of the policy slurm: Slurm's own settings, and what is learned where they are not given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, field_validator

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.slurm import DEFAULTS, SlurmOptions
from dlsched.domain.slurm_notation import YEAR_S, seconds, yes
from dlsched.domain.units import MINUTE_S
from dlsched.policies.slurm.hours import closed_hours

CONFIGURED: dict[str, Any] = {"placeholder": "as configured"}


def _setting(name: str, text: str, unit: str = "", **bounds: Any) -> Any:
    """Return a field that is titled by Slurm's name; None = as the scenario's Slurm says, else Slurm's default."""
    extra = CONFIGURED | ({"unit": unit} if unit else {})
    return Field(None, title=name, description=text, json_schema_extra=extra, **bounds)


class SlurmParams(FrozenModel):
    """Settings that go before those of the scenario's Slurm; empty = as configured there, else Slurm's default."""

    PriorityType: Literal["priority/multifactor", "priority/basic"] | None = _setting(
        "PriorityType", "multifactor: by the weights below; basic: in order of submission."
    )
    PriorityWeightAge: float | None = _setting(
        "PriorityWeightAge", "Weight of the time that a job has waited. Default 0.", ge=0
    )
    PriorityWeightFairshare: float | None = _setting(
        "PriorityWeightFairshare", "Weight of fair share: users who have used little go first. Default 0.",
        ge=0,
    )  # fmt: skip
    PriorityWeightJobSize: float | None = _setting(
        "PriorityWeightJobSize", "Weight of the size of a job. Default 0.", ge=0
    )
    PriorityWeightPartition: float | None = _setting(
        "PriorityWeightPartition", "Weight of the PriorityJobFactor of its partition. Default 0.", ge=0
    )
    PriorityWeightQOS: float | None = _setting(
        "PriorityWeightQOS", "Weight of the priority of its QOS. Default 0.", ge=0
    )
    PriorityMaxAge_s: float | None = _setting(
        "PriorityMaxAge", "Time after which waiting adds no more priority. Default 7 days. Also PriorityMaxAge=7-0.",
        "s", gt=0,
    )  # fmt: skip
    PriorityDecayHalfLife_s: float | None = _setting(
        "PriorityDecayHalfLife", "Time in which past use counts half; 0 = it never fades. Default 7 days. Also "
        "PriorityDecayHalfLife=7-0.",
        "s", ge=0,
    )  # fmt: skip
    PriorityCalcPeriod_s: float | None = _setting(
        "PriorityCalcPeriod", "Time between two updates of past use and priorities. Default 5 min. Also "
        "PriorityCalcPeriod=5.", "s", ge=1,
    )  # fmt: skip
    PriorityFavorSmall: Literal["YES", "NO"] | None = _setting(
        "PriorityFavorSmall", "YES: the size of a job counts for small jobs instead of large ones. Default NO."
    )
    PriorityFlags: str | None = _setting(
        "PriorityFlags", "Flags joined by commas: NO_FAIR_TREE (classic fair share), SMALL_RELATIVE_TO_TIME.",
        max_length=200,
    )  # fmt: skip
    FairShareDampeningFactor: float | None = _setting(
        "FairShareDampeningFactor", "Classic fair share: higher values weaken it. Default 1.", gt=0, le=1e6
    )
    SchedulerType: Literal["sched/backfill", "sched/builtin"] | None = _setting(
        "SchedulerType", "backfill: with a backfill pass; builtin: without. Default backfill."
    )
    bf_interval: float | None = _setting("bf_interval", "Time between two backfill passes. Default 30 s.", "s", ge=1)
    bf_window_s: float | None = _setting(
        "bf_window", "How far ahead the backfill pass books nodes. Default 1 day. Also bf_window=1440.", "s", ge=60
    )
    bf_window_linear: float | None = _setting(
        "bf_window_linear", "Time by which a backfill pass looks further ahead at each step; 0 = doubling. Default 0.",
        "s", ge=0,
    )  # fmt: skip
    bf_resolution: float | None = _setting(
        "bf_resolution", "Bookings are rounded down to multiples of this time. Default 1 min.", "s", ge=1
    )
    bf_max_job_test: int | None = _setting(
        "bf_max_job_test", "Jobs that a backfill pass looks at. Default 500.", ge=1, le=1_000_000
    )
    bf_max_job_user: int | None = _setting(
        "bf_max_job_user", "Jobs of one user that a backfill pass looks at; 0 = all. Default 0.", ge=0, le=1_000_000
    )
    bf_max_job_part: int | None = _setting(
        "bf_max_job_part", "Jobs of one partition that a backfill pass looks at; 0 = all. Default 0.",
        ge=0, le=1_000_000,
    )  # fmt: skip
    bf_max_job_user_part: int | None = _setting(
        "bf_max_job_user_part", "Jobs of one user in one partition that a backfill pass looks at; 0 = all. Default 0.",
        ge=0, le=1_000_000,
    )  # fmt: skip
    bf_max_job_start: int | None = _setting(
        "bf_max_job_start", "Jobs that a backfill pass starts at most; 0 = no limit. Default 0.", ge=0, le=1_000_000
    )
    batch_sched_delay: float | None = _setting(
        "batch_sched_delay", "Time between two main passes, at least. Default 3 s.", "s", ge=0, le=1e6
    )
    sched_interval: float | None = _setting(
        "sched_interval", "Time between two main passes through the whole queue. Default 60 s.", "s", ge=1
    )
    default_queue_depth: int | None = _setting(
        "default_queue_depth", "Jobs that the other main passes look at. Default 100.", ge=1, le=1_000_000
    )
    partition_job_depth: int | None = _setting(
        "partition_job_depth", "Jobs of one partition that a main pass looks at; 0 = all. Default 0.",
        ge=0, le=1_000_000,
    )  # fmt: skip
    defer: Literal["YES", "NO"] | None = _setting(
        "defer", "YES: a job is not tried alone at its submission. Default NO."
    )
    MaxJobsPerUser: int | None = Field(
        None, ge=1, le=1_000_000, title="MaxJobsPerUser", description="Running jobs of one user; empty = no limit."
    )
    MaxCPUsPerUser: float | None = Field(
        None, gt=0, title="MaxCPUsPerUser",
        description="CPU cores of the running jobs of one user; empty = no limit. A job that is larger runs while its "
        "user runs no other job.",
    )  # fmt: skip
    MaxGPUsPerUser: float | None = Field(
        None, gt=0, title="MaxGPUsPerUser",
        description="GPUs of the running jobs of one user; empty = no limit. A job that is larger runs while its user "
        "runs no other job.",
    )  # fmt: skip
    phase: float = Field(
        0.0, ge=0, title="Phase of the backfill timer", json_schema_extra={"unit": "s"},
        description="Backfill passes take place at this time and every bf_interval after it, from time 0 of the trace.",
    )  # fmt: skip
    controller_start: float = Field(
        0.0, title="Start of the controller",
        description="Seconds after time 0 of the trace (below 0 = before) from which periods of priorities and full "
        "main passes are counted.",
    )  # fmt: skip
    minute_start: float = Field(
        0.0, title="Start of a minute",
        description="A time at which a minute of the clock starts, in seconds after time 0 of the trace: bookings are "
        "rounded down to whole minutes of the clock.",
    )  # fmt: skip
    closed_hours: str = Field(
        "", max_length=2000, title="Closed hours",
        description="When jobs with long time limits do not start: limits in hours, then hours of weekdays (wd), of "
        "weekends (we) or of all days (all), as in '4-15 wd 8-18; 15- all 7-20'. Empty = jobs start at any hour.",
    )  # fmt: skip
    monday: float = Field(
        0.0, title="Start of a Monday",
        description="When a Monday starts in local time, in seconds after time 0 of the trace; for closed hours.",
    )  # fmt: skip

    @field_validator("closed_hours")
    @classmethod
    def _readable(cls, given: str) -> str:
        closed_hours(given)
        return given

    def over(self, options: SlurmOptions) -> Settings:
        """Return the settings in force: these, else those of the scenario's Slurm, else Slurm's defaults."""
        return Settings.of(self, options)


_TIMES = {name.removesuffix("_s"): name for name in SlurmParams.model_fields if name.endswith("_s")}
"""Slurm's name of a time that it counts in minutes -> the parameter in seconds."""
_YES_OR_NO = ("PriorityFavorSmall", "defer")


def by_field(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of the policy from those in Slurm's notation: bf_window=1440 is bf_window_s=86400.

    Raises
    ------
    InputError
        A time or a choice that Slurm would not read, or one that is given under both names.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        what = f"policy slurm, {name}"
        if (field := _TIMES.get(name)) is not None:
            if field in given:
                raise InputError(what, f"is the same as {field}, which is given too", "Give one of them")
            is_number = isinstance(value, int | float)
            read_s = None if value is None else value * MINUTE_S if is_number else seconds(str(value))
            if value is not None and read_s is None:
                do = f"Write it in minutes or as H:M:S or D-H:M:S, as in slurm.conf; {field} is in seconds"
                raise InputError(what, f"must be a time, got {value!r:.80}", do)
            value = None if read_s is None else min(read_s, YEAR_S)
            found |= validated(SlurmParams, {field: value}, what).model_dump(include={field})
        elif name in _YES_OR_NO and value is not None:
            if (answer := yes(f"{value:g}" if isinstance(value, float) else str(value))) is None:
                raise InputError(what, f"must be yes or no, got {value!r:.80}", "Write yes or no")
            found[name] = "YES" if answer else "NO"
        else:
            found[name] = value
    return found


_AS_THEY_ARE = (
    "bf_interval", "bf_window_s", "bf_window_linear", "bf_resolution", "bf_max_job_test", "bf_max_job_user",
    "bf_max_job_part", "bf_max_job_user_part", "bf_max_job_start", "batch_sched_delay", "sched_interval",
    "default_queue_depth", "partition_job_depth", "PreemptType", "PreemptMode",
)  # fmt: skip


class Settings(FrozenModel):
    """All settings with a value."""

    in_order: bool
    weight_age: float
    weight_fairshare: float
    weight_size: float
    weight_partition: float
    weight_qos: float
    weight_tres: dict[str, float]
    max_age_s: float
    half_life_s: float
    period_s: float
    favors_small: bool
    flags: frozenset[str]
    damping: float
    backfills: bool
    defer: bool
    bf_interval: float
    bf_window_s: float
    bf_window_linear: float
    bf_resolution: float
    bf_max_job_test: int
    bf_max_job_user: int
    bf_max_job_part: int
    bf_max_job_user_part: int
    bf_max_job_start: int
    batch_sched_delay: float
    sched_interval: float
    default_queue_depth: int
    partition_job_depth: int
    PreemptType: str
    PreemptMode: str

    @classmethod
    def of(cls, params: SlurmParams, options: SlurmOptions) -> Self:
        """Return what holds, the first of the two that says something, else Slurm's default."""

        def get(name: str) -> Any:
            found = (getattr(source, name, None) for source in (params, options, DEFAULTS))
            return next((value for value in found if value is not None), None)

        flags = get("PriorityFlags") or ()
        words = flags.split(",") if isinstance(flags, str) else flags
        weights = {
            "weight_age": get("PriorityWeightAge"),
            "weight_fairshare": get("PriorityWeightFairshare"),
            "weight_size": get("PriorityWeightJobSize"),
            "weight_partition": get("PriorityWeightPartition"),
            "weight_qos": get("PriorityWeightQOS"),
        }
        weight_tres = get("PriorityWeightTRES") or {}
        basic = get("PriorityType") == "priority/basic"
        return cls(
            in_order=basic or not (any(weights.values()) or any(weight_tres.values())),
            **weights,
            weight_tres=weight_tres,
            max_age_s=get("PriorityMaxAge_s"),
            half_life_s=get("PriorityDecayHalfLife_s"),
            period_s=get("PriorityCalcPeriod_s"),
            favors_small=get("PriorityFavorSmall") in (True, "YES"),
            flags=frozenset(word.strip().upper() for word in words if word.strip()),
            damping=get("FairShareDampeningFactor"),
            backfills=get("SchedulerType") == "sched/backfill",
            defer=get("defer") in (True, "YES"),
            **{name: get(name) for name in _AS_THEY_ARE},
        )
