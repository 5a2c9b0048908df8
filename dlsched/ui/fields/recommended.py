"""The policies recommended for a scenario, by what its jobs and its cluster have; each with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find, unmet_needs
from dlsched.wording.caveats import believes_limits
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import number

MOST = 5


@dataclass(frozen=True, slots=True)
class Recommended:
    """The key of a policy, and in one sentence why it is worth a run on this scenario."""

    key: str
    why: str


def recommended(scenario: Scenario) -> tuple[Recommended, ...]:
    """Return at most five policies that can run on a scenario; the first is the baseline."""
    if has_servers(scenario):
        found = _booking() if books_slots(scenario) else _admitting()
    elif is_rented(scenario) and not unmet_needs(find("gpuaas-fifo"), scenario):
        found = _renting()
    else:
        found = _by_curves() if has_curves(scenario) else _everyday(scenario)
    if scenario.queues is not None:
        found = [Recommended("queue-tree", "Jobs are admitted by the quotas of their queues: the baseline."), *found]
    return tuple(one for one in found if not unmet_needs(find(one.key), scenario))[:MOST]


# ---- what a scenario has -----------------------------------------------------------------------------


def is_rented(scenario: Scenario) -> bool:
    """Whether machines are rented for jobs whose run time depends on them: what the renting policies are made for."""
    return scenario.cluster.free_slots and scenario.speed.kind == "table"


def has_curves(scenario: Scenario) -> bool:
    """Whether jobs on owned nodes come with speed curves: what the elastic policies are made for."""
    return not scenario.cluster.free_slots and scenario.speed.kind == "table"


def has_servers(scenario: Scenario) -> bool:
    """Whether jobs run with parameter servers: what the policies of admission control are made for."""
    return scenario.speed.kind == "parameter-server" and scenario.workload.has_servers


def books_slots(scenario: Scenario) -> bool:
    """Whether policies that book machines by the slot have all they need, and those that pool the nodes do not."""
    return not unmet_needs(find("pd-ors"), scenario) and bool(unmet_needs(find("smd"), scenario))


# ---- why a policy is worth a run ---------------------------------------------------------------------


def _everyday(scenario: Scenario) -> list[Recommended]:
    """Return what suits jobs of a fixed size, or with a scaling law, on any machines."""
    asked, counted = scenario.workload.requested[:, scenario.counted], counted_of(scenario)
    asked = asked[asked > 0]  # without the CPU jobs of a cluster of GPUs
    least, most = (float(asked.min()), float(asked.max())) if len(asked) else (1.0, 1.0)
    found = [Recommended("fifo", "First come, first served: the baseline that the others are compared with.")]
    if least < most:
        sizes = f"{number(least)} to {counted.amount(most)}"
        found.append(
            Recommended("easy-backfill", f"Jobs ask for {sizes}: small ones fill gaps while a large one waits.")
        )
    gittins = Recommended(
        "gittins", "Needs no run times: starts what past jobs say ends soonest; usually pauses fewer jobs than LAS."
    )
    if scenario.speed.kind == "scaling" and not scenario.cluster.free_slots:
        return [
            *found,
            gittins,
            Recommended(
                "knee-malleable", "Jobs speed up with more GPUs: each gets as many as pay off, and they change."
            ),
            Recommended("modelarts-greedy", "Keeps all nodes busy by resizing jobs, and needs no run times for it."),
        ]
    sjf = (
        "Jobs with short time limits start first."
        if believes_limits(scenario)
        else ("Shows what knowing run times is worth: short jobs start first.")
    )
    found += [Recommended("sjf", sjf), gittins]
    found += [
        Recommended("edf", "Jobs have due dates: the earliest starts first."),
        Recommended("priority", "Jobs have priorities: the highest starts first."),
        Recommended("fifo-skip", "The simplest change to FIFO: a job that does not fit holds up no other."),
        Recommended("srtf", "Pauses a job when one that ends sooner arrives: shows what pausing is worth."),
    ]
    if least == most:
        found = [one for one in found if one.key != "fifo-skip"]  # nothing to skip: it would be FIFO again
    return found


def _by_curves() -> list[Recommended]:
    return [
        Recommended("fifo-skip", "Every job runs on the nodes it requests: the baseline."),
        Recommended(
            "hell-malleable", "Each job runs where GPUs are used most economically; its GPUs change as jobs come."
        ),
        Recommended("knee-malleable", "Each job grows until one more node hardly helps; its GPUs change as jobs come."),
        Recommended("knee-moldable", "As KNEE, for jobs that cannot change while they run: GPUs are set at the start."),
        Recommended("jsq-chunk", "Cuts the cluster into equal parts with a queue each: simple to operate."),
    ]


def _renting() -> list[Recommended]:
    return [
        Recommended("gpuaas-fifo", "One machine a job, in order of submission: the baseline."),
        Recommended(
            "gpuaas-market", "Nearly always the cheapest: weighs prices, due dates and changes midway, and looks ahead."
        ),
        Recommended("gpuaas-edf", "Jobs have due dates: the earliest gets a machine first."),
        Recommended("gpuaas-greedy", "Weighs prices against due dates: the cheapest machine that is in time."),
        Recommended("gpuaas-path-relinking", "Searches longer than Greedy for a cheaper schedule."),
    ]


def _admitting() -> list[Recommended]:
    return [
        Recommended("fifo", "First come, first served with the workers requested: the baseline."),
        Recommended("smd", "Not all jobs fit: admits those that are worth most together, each at its best size."),
        Recommended("optimus", "Gives each job workers and servers as long as they save time; admits in order."),
        Recommended("esw", "The simplest sizes: as many servers as workers; admits in order."),
        Recommended("fifo-skip", "As FIFO, but a job that does not fit holds up no other."),
        Recommended("srtf", "Pauses a job when one that ends sooner arrives: shows what pausing is worth."),
    ]


def _booking() -> list[Recommended]:
    """Return what books machines; not Dorm, whose program of every slot takes most of a minute on the sample."""
    return [
        Recommended("pd-ors-fifo", "In order of arrival with the workers requested: the baseline."),
        Recommended("pd-ors", "Admits a job only if it is worth its price, and books machines for it hour by hour."),
        Recommended("oasis", "The same prices, but workers and servers on machines of their own."),
        Recommended("pd-ors-drf", "Shares the machines evenly among the jobs, hour by hour."),
        Recommended("fifo-skip", "Starts whatever fits, in order of submission; books nothing."),
    ]
