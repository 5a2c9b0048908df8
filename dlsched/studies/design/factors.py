"""What of a scenario can be varied: named changes, each a pure function of scenario, value and draw.

A factor multiplies what the scenario has, so 1 changes nothing. Jobs of a generator are drawn first and changed
then, so that all values of a change are about the same draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import numpy as np
from pydantic import ValidationError
from scipy.special import ndtri

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.columns import RECORDED
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.names import names_hint
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import Floats, Workload
from dlsched.studies.design.factor import Edit, Factor, Role, Turn, Value, names_of
from dlsched.studies.design.failures import REPAIR_S, failures_at, with_failures
from dlsched.studies.design.queue_factors import queue_factor, queue_factors
from dlsched.studies.design.rental_factors import CONDITIONS, rental_factor, rental_factors
from dlsched.studies.design.shaking import SHAKING, shaken_scenario
from dlsched.studies.design.slurm_factors import slurm_factor, slurm_factors
from dlsched.wording.settings import setting_words
from dlsched.workload.studies.modelarts import VARIANTS

NODES_OF = "nodes."
OWN = "own"
MISHAPS = (OWN, *VARIANTS)
"""What goes wrong: as in the scenario, or as in one of the simulations of the ModelArts study."""
OPTIONS_OF_RULES = ("checkpoint_s", "slot_s")
"""Rules of the simulation that the planner chooses: how often jobs save their work, and the grid of reservations.

All others are conditions: how well run times are estimated, what jobs die or are cancelled, how long a restart takes
and the cost of rejecting a job or finishing it late are facts of jobs and users; the horizon is what is looked at.
"""
_WRONG = ("estimate_error", "bug_share", "bug_within_s", "cancel_share", "restart_s", "restart_mode")
"""The rules that say what goes wrong; the others stay as they are."""
_FACTOR_LOW, _FACTOR_HIGH = 0.01, 100.0
_MOST = 1e12


def changed(scenario: Scenario, values: Mapping[str, Value], seed: int = 0) -> Scenario:
    """Return the scenario with changes by key for the draw of a seed; run it with the same seed.

    Raises
    ------
    InputError
        Naming the change and its value where there is none of this key, the value is out of range, or the scenario
        lacks what it changes.
    """
    named = [(factor_of(scenario, key), value) for key, value in values.items()]
    single = next((key for key in values if key.startswith(NODES_OF)), None)
    if "nodes" in values and single is not None:
        why = f"is the whole cluster, and {single} a part of it"
        raise InputError("change nodes", why, f"Change nodes or {single}, not both")
    turns = get_args(Turn)
    edits = [(factor, factor.read(value)) for factor, value in sorted(named, key=lambda one: turns.index(one[0].turn))]
    if scenario.generator is not None and any(factor.is_of_draw for factor, _ in edits):
        scenario = _drawn(scenario, seed)
    for factor, value in edits:
        try:
            scenario = factor.edit(scenario, value, seed)
        except ValidationError as error:
            raise from_validation(f"change {factor.key}={value}", error) from error
        except InputError as error:
            raise InputError(f"change {factor.key}={value}", f"{error.what}: {error.why}", error.do) from error
    if not edits:
        return scenario
    words = [setting_words(factor.key, factor.label, factor.unit, value) for factor, value in edits]
    return scenario.replace(
        name=", ".join((scenario.name, *words)),
        assumptions=(*scenario.assumptions, *(Assumption(kind="varied", text=one) for one in words)),
    )


def factor_of(scenario: Scenario, key: str) -> Factor:
    """Return the factor of a key, also ``nodes.<VM type>``, of queues, terms, Slurm; InputError lists the known."""
    found = queue_factor(scenario, key) or rental_factor(scenario, key) or slurm_factor(scenario, key)
    if found is not None:
        return found
    known = {factor.key: factor for factor in factors_for(scenario)}
    if key not in known:
        raise InputError(f"change {key!r:.80}", "there is none of this name", names_hint(key, known))
    return known[key]


def factors_for(scenario: Scenario) -> tuple[Factor, ...]:
    """Return the factors of a scenario that are offered: also those of its VM types, of queues, terms and Slurm.

    Of many queues or accounts only the most asked ones are offered; :func:`factor_of` knows all.
    """
    names = {} if scenario.cluster.free_slots else dict.fromkeys(pool.vm.name for pool in scenario.cluster.pools)
    of_types = (_nodes_of(scenario, name) for name in names)
    return (*FACTORS, *of_types, *rental_factors(scenario), *queue_factors(scenario), *slurm_factors(scenario))


def role_of(key: str) -> Role:
    """Return whether what a change or a policy's parameter ("policy.parameter") edits happens or is chosen."""
    family, _, name = key.partition(".")
    if name and family in CONDITIONS:
        return "condition"
    return next((factor.role for factor in FACTORS if factor.key == key), "option")


def conditions_of(scenario: Scenario, changes: Mapping[str, Value]) -> dict[str, Value]:
    """Return the changes that are conditions, by key: demand, run times, prices, failures; InputError if unknown.

    Options are compared under the same conditions.
    """
    return {key: value for key, value in changes.items() if factor_of(scenario, key).role == "condition"}


def options_of(scenario: Scenario, changes: Mapping[str, Value]) -> dict[str, Value]:
    """Return the changes that are options, by key: nodes, VM types, rules; InputError if unknown."""
    return {key: value for key, value in changes.items() if factor_of(scenario, key).role == "option"}


def without_neutral(scenario: Scenario, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the changes that change something, by key; InputError for an unknown key or a bad value."""
    read = {key: (factor := factor_of(scenario, key), factor.read(value)) for key, value in values.items()}
    return {key: value for key, (factor, value) in read.items() if value != factor.own(scenario)}


def is_drawn(scenario: Scenario, keys: Iterable[str]) -> bool:
    """Whether one of the changes draws something of its own."""
    return any(factor_of(scenario, key).per_draw for key in keys)


def differs_by_seed(scenario: Scenario, keys: Iterable[str]) -> bool:
    """Whether :func:`changed` gives another scenario for another seed; the run may still draw something of its own."""
    factors = [factor_of(scenario, key) for key in keys]
    is_generated = scenario.generator is not None
    return any(factor.per_draw or (is_generated and factor.is_of_draw) for factor in factors)


def draws_differ(scenario: Scenario, keys: Iterable[str]) -> bool:
    """Whether what these changes draw can differ from seed to seed: of one day's jobs every drawn day is the same."""
    submit_s = scenario.workload.submit_s
    one_day = not len(submit_s) or submit_s[0] // DAY_S == submit_s[-1] // DAY_S
    return is_drawn(scenario, (key for key in keys if not (key == "days" and one_day)))


def _drawn(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with the jobs of a draw as given jobs: a run would draw them again, without the change."""
    if seed == 0:
        return scenario.replace(generator=None)
    from dlsched.workload.studies.registry import draw  # generators are not needed for traces

    return scenario.replace(workload=draw(dict(scenario.generator or {}), scenario.seed + seed), generator=None)


# ---- the cluster -------------------------------------------------------------------------------------


def _nodes(scenario: Scenario, value: int, _: int) -> Scenario:
    cluster = scenario.cluster
    if cluster.free_slots:
        return scenario.replace(cluster=Cluster(slots=value, catalogue=cluster.catalogue, absences=cluster.absences))
    pool = pool_of(scenario)
    beyond = [absence.node for absence in cluster.absences if absence.node >= value]
    if beyond:
        why = f"{value:,} is too few: an absence is planned or a failure set for node {max(beyond):,}"
        raise InputError("nodes", why, f"Take {max(beyond) + 1:,} nodes or more, or remove the absences")
    if value == cluster.num_nodes:
        return scenario
    return scenario.replace(
        cluster=Cluster(
            pools=(pool.model_copy(update={"count": value}),), absences=cluster.absences, scaling=cluster.scaling
        )
    )


def pool_of(scenario: Scenario) -> Pool:
    """Return the one node type that can have another size.

    Pools of the same type count as one. InputError where nodes differ, or policies choose the machines.
    """
    cluster = scenario.cluster
    if cluster.free_slots:
        raise InputError(
            "cluster",
            f"rents up to {cluster.slots:,} machines, which policies choose; only owned nodes have a size",
            "Switch to owned nodes on the page Cluster",
        )
    kinds = {pool.model_dump_json(exclude={"count"}) for pool in cluster.pools if pool.count}
    if len(kinds) > 1:
        why = f"has {len(kinds)} different node types; which of them should grow is not stated"
        raise InputError("cluster", why, "Keep one node type on the page Cluster")
    count = sum(pool.count for pool in cluster.pools)
    return next(pool for pool in cluster.pools if pool.count).model_copy(update={"count": count})


def _nodes_of(scenario: Scenario, name: str) -> Factor:
    def edit(scenario: Scenario, value: int, _: int) -> Scenario:
        return scenario.replace(cluster=with_count(scenario.cluster, name, value))

    def own(scenario: Scenario) -> int:
        return sum(pool.count for pool in scenario.cluster.pools if pool.vm.name == name)

    text = (
        f"Number of nodes of the type {name}; where they are rented, the most at once. Typed with a sign (+4, -2) it "
        "is a change of today's. Nodes are added and removed at the end of their list."
    )
    label = f"Nodes of {name}"
    return Factor(
        f"{NODES_OF}{name}", label, "nodes", "whole", 0, 100_000, text, edit, "option", base=own(scenario), own=own
    )


def with_count(cluster: Cluster, name: str, count: int) -> Cluster:
    """Return the cluster with this many nodes in the one pool of a VM type; absences stay with their nodes.

    Raises
    ------
    InputError
        If several pools have this type, or an absence is of a node that goes.
    """
    at = [number for number, pool in enumerate(cluster.pools) if pool.vm.name == name]
    if len(at) != 1:
        raise InputError("cluster", f"has {len(at)} rows of {name}", "Keep one row of it")
    first = sum(pool.count for pool in cluster.pools[: at[0]])
    end, more = first + cluster.pools[at[0]].count, count - cluster.pools[at[0]].count
    gone = [absence.node for absence in cluster.absences if first + count <= absence.node < end]
    if gone:
        why = f"an absence is planned or a failure set for node {gone[0]:,}, which would go"
        raise InputError("cluster", why, f"Keep {gone[0] - first + 1:,} nodes of it, or remove the absences")
    absences = (
        absence.model_copy(update={"node": absence.node + more}) if absence.node >= end else absence
        for absence in cluster.absences
    )
    pools = (
        pool.model_copy(update={"count": count}) if number == at[0] else pool
        for number, pool in enumerate(cluster.pools)
    )
    return Cluster(pools=tuple(pools), absences=tuple(absences), scaling=cluster.scaling)


def _prices(scenario: Scenario, factor: float, _: int) -> Scenario:
    cluster = scenario.cluster
    if all(vm.usd_per_h is None for vm in cluster.vm_types):
        raise InputError("cluster", "no price is set", "Set prices on the page Cluster")
    pools = (pool.model_copy(update={"vm": _priced(pool.vm, factor)}) for pool in cluster.pools)
    catalogue = (_priced(vm, factor) for vm in cluster.catalogue)
    return scenario.replace(cluster=cluster.model_copy(update={"pools": tuple(pools), "catalogue": tuple(catalogue)}))


def _priced(vm: VmType, factor: float) -> VmType:
    return vm if vm.usd_per_h is None else vm.model_copy(update={"usd_per_h": vm.usd_per_h * factor})


def _vm_types(scenario: Scenario, value: str, _: int) -> Scenario:
    cluster, wanted = scenario.cluster, names_of(value)
    if not cluster.free_slots:
        raise InputError("cluster", "has owned nodes: policies choose no machines", "Vary nodes.<VM type> instead")
    there = [vm.name for vm in cluster.catalogue]
    for name in wanted:
        if name not in there:
            raise InputError("catalogue", f"there is no VM type {name!r:.80}", names_hint(name, there))
    kept = tuple(vm for vm in cluster.catalogue if vm.name in wanted)
    return scenario.replace(cluster=cluster.model_copy(update={"catalogue": kept}))


def _num_nodes(scenario: Scenario) -> int:
    cluster = scenario.cluster
    return cluster.slots if cluster.free_slots else cluster.num_nodes


def _failures(scenario: Scenario, hours: float, seed: int) -> Scenario:
    return with_failures(scenario, HOUR_S * hours, seed)


def _failure_at(scenario: Scenario, value: str, _: int) -> Scenario:
    return failures_at(scenario, names_of(value))


def _mishaps(scenario: Scenario, value: str, _: int) -> Scenario:
    if value not in MISHAPS:
        raise InputError("mishaps", f"there is no variant {value!r:.80}", names_hint(value, MISHAPS))
    rules = {} if value == OWN else {name: getattr(VARIANTS[value], name) for name in _WRONG}
    return scenario.replace(options=scenario.options.model_copy(update=rules))


# ---- the jobs ----------------------------------------------------------------------------------------


def _demand(scenario: Scenario, factor: float, seed: int) -> Scenario:
    from dlsched.workload.generators.demand import scale_demand  # generators are not needed for traces

    return scenario.replace(workload=scale_demand(scenario.workload, factor, scenario.seed + seed))


def _arrivals(scenario: Scenario, factor: float, _: int) -> Scenario:
    jobs = scenario.workload
    if jobs.all_at_once and factor != 1:
        why = "all jobs arrive at once, so they cannot arrive faster or slower"
        raise InputError("workload", why, "Change the demand instead: more or fewer jobs")
    first_s = jobs.submit_s[0] if len(jobs) else 0.0
    submit_s = first_s + (jobs.submit_s - first_s) / factor
    moved: dict[str, Any] = {"submit_s": submit_s}
    if jobs.due_s is not None:
        moved["due_s"] = jobs.due_s + (submit_s - jobs.submit_s)
    return scenario.replace(workload=_edited(jobs, **moved))


def _durations(scenario: Scenario, factor: float, _: int) -> Scenario:
    jobs = scenario.workload
    longer = {name: values * factor for name in ("work", "limit_s") if (values := getattr(jobs, name)) is not None}
    return scenario.replace(workload=_edited(jobs, **longer))


def _limits(scenario: Scenario, factor: float, _: int) -> Scenario:
    limit_s = _needed(scenario.workload.limit_s, "time limits")
    return scenario.replace(workload=_edited(scenario.workload, limit_s=factor * limit_s))


def _limits_rule(scenario: Scenario, value: str, _: int) -> Scenario:
    rules = get_args(SimulationRules.model_fields["limits"].annotation)
    if value not in rules:
        raise InputError("limits", f"there is no rule {value!r:.80}", names_hint(value, rules))
    return scenario.replace(options=scenario.options.model_copy(update={"limits": value}))


def _days(scenario: Scenario, _: float, seed: int) -> Scenario:
    from dlsched.workload.generators.resample import resample_days  # generators are not needed for traces

    return scenario.replace(workload=resample_days(scenario.workload, scenario.seed + seed))


def _run_time_spread(scenario: Scenario, spread: float, seed: int) -> Scenario:
    """Multiply the work of each job by a log-normal factor with mean 1 and this coefficient of variation."""
    jobs = scenario.workload
    sigma = math.sqrt(math.log1p(spread**2))
    uniform = job_uniforms(scenario.seed + seed, "workload", [f"spread/{name}" for name in jobs.job_id])[:, 0]
    factor = np.exp(sigma * ndtri(uniform) - sigma**2 / 2)
    return scenario.replace(workload=_edited(jobs, work=jobs.work * factor))


def _shaking(scenario: Scenario, _: int, seed: int) -> Scenario:
    return shaken_scenario(scenario, seed)


def _due_slack(scenario: Scenario, factor: float, _: int) -> Scenario:
    jobs = scenario.workload
    due_s = _needed(jobs.due_s, "due dates")
    return scenario.replace(workload=_edited(jobs, due_s=jobs.submit_s + factor * (due_s - jobs.submit_s)))


def _weights(scenario: Scenario, factor: float, _: int) -> Scenario:
    weight = _needed(scenario.workload.weight_usd_per_s, "costs of being late")
    return scenario.replace(workload=_edited(scenario.workload, weight_usd_per_s=factor * weight))


def _needed(column: Floats | None, name: str) -> Floats:
    if column is None or np.isnan(column).all():
        raise InputError("jobs", f"have no {name}", "Add them on the page Jobs")
    return column


def _edited(jobs: Workload, **columns: Any) -> Workload:
    """Return the jobs with these columns; what was recorded of them is of other jobs now."""
    return jobs.with_columns(**columns, **dict.fromkeys(RECORDED))


# ---- the table ---------------------------------------------------------------------------------------


def _factor(key: str, label: str, text: str, edit: Edit, *, of_jobs: bool = True, low: float = _FACTOR_LOW) -> Factor:
    return Factor(key, label, "x", "number", low, _FACTOR_HIGH, text, edit, of_jobs=of_jobs, own=lambda _: 1.0)


def _option(name: str) -> Factor:
    """Return the change of a rule of the simulation, with the bounds and the words of its field."""
    field = SimulationRules.model_fields[name]
    bounds = {kind: float(value) for one in field.metadata for kind, value in vars_of(one).items()}
    low, high = bounds.get("ge", bounds.get("gt", 0.0)), bounds.get("le", bounds.get("lt", _MOST))

    def edit(scenario: Scenario, value: float, _: int) -> Scenario:
        options = SimulationRules.model_validate(scenario.options.model_dump() | {name: value})
        return scenario.replace(options=options)

    unit = "s" if name.endswith("_s") else "$" if name.endswith("_usd") else ""
    label = name.removesuffix("_s").removesuffix("_usd").replace("_", " ").capitalize()

    def own(scenario: Scenario) -> float | None:
        held = getattr(scenario.options, name)
        return None if held is None else float(held)

    role: Role = "option" if name in OPTIONS_OF_RULES else "condition"
    text = str(field.description)
    return Factor(name, label, unit, "number", low, high, text, edit, role, above="gt" in bounds, own=own)


def vars_of(bound: object) -> dict[str, Any]:
    """Return the limits that a mark of a field holds: ge, gt, le, lt."""
    return {kind: getattr(bound, kind) for kind in ("ge", "gt", "le", "lt") if hasattr(bound, kind)}


def _is_number(annotation: Any) -> bool:
    return annotation is float or float in get_args(annotation)


FACTORS: tuple[Factor, ...] = (
    Factor(
        "nodes", "Nodes", "nodes", "whole", 1, 100_000, "Number of owned nodes, or of machines to rent.", _nodes,
        "option", own=_num_nodes,
    ),
    _factor("prices", "Prices", "All machine prices, times this factor.", _prices, of_jobs=False, low=0.0),
    Factor(
        "demand", "Demand", "x", "number", _FACTOR_LOW, _FACTOR_HIGH,
        "More or fewer jobs over the same time: +30% turns 10,000 jobs into 13,000. Added jobs are copies of existing "
        "jobs at the same time of another day; below 1, jobs are left out. Which ones is drawn for each future.",
        _demand, of_jobs=True, per_draw=True, turn="demand", own=lambda _: 1.0,
    ),
    _factor(
        "arrivals",
        "Arrival speed (same jobs, compressed)",
        "The same jobs in less time: times since the first job are divided by this; due dates move with their jobs. "
        "Compare rates and waits only: totals cover another length of time. For more jobs over the same time use "
        "demand.",
        _arrivals,
    ),
    _factor(
        "durations", "Run times",
        "The run time and the time limit of every job, times this factor; due dates stay.", _durations,
    ),
    _factor(
        "limit_length", "Length of time limits",
        "The time limit of every job, times this factor; 1 = as requested. Run times stay.", _limits,
    ),
    Factor(
        "limits", "Time limits of jobs", "", "names", 0, 0, str(SimulationRules.model_fields["limits"].description),
        _limits_rule, "option", own=lambda scenario: scenario.options.limits,
    ),
    _factor("due_slack", "Due slack", "The time from submission to due date, times this factor.", _due_slack, low=0.0),
    _factor("weights", "Costs of being late", "What an hour late costs each job, times this.", _weights, low=0.0),
    Factor(
        "failures", "Failures: each node fails every", "h", "number", 0.1, 1e6,
        "Mean time between failures of each node, in hours, on top of the scenario's own; drawn for each future. "
        f"Exponential, and a node is back after {REPAIR_S / HOUR_S:g} h: our assumptions.",
        _failures, per_draw=True, turn="failures",
    ),
    Factor(
        "failure_at", "Failures at given times", "", "names", 0, 0,
        "Which node fails when and for how long, as NODE@STARTforLENGTH in hours: 3@48for6 = node 3 fails 48 h after "
        "the first submission and is down, and not paid for, for 6 h; join several with +. Nodes are numbered from 0 "
        "across all node types. Policies do not know beforehand.",
        _failure_at, turn="failures",
    ),
    Factor(
        "days", "Days resampled", "", "whole", 1, 1,
        "1: each future has as many days as the trace, each a whole day of it, drawn with replacement. What lasts "
        "longer than a day, such as a busy week, is broken up. Days unlike any in the trace do not occur.",
        _days, of_jobs=True, per_draw=True, turn="days",
    ),
    Factor(
        "run_time_spread", "Spread of run times", "", "number", 0, 5,
        "The work of every job times a random factor with mean 1 and this coefficient of variation (0.3: most within "
        "0.6x and 1.5x), drawn for each job and future. Log-normal: our assumption.",
        _run_time_spread, of_jobs=True, per_draw=True,
    ),
    Factor(
        SHAKING, "Replays shaken", "", "whole", 1, 1,
        "1: each future is the trace with run times up to a second longer and, under slurm, backfill passes up to "
        "0.4 s further apart that begin up to a second later. A second decides which job meets which pass.",
        _shaking, of_jobs=True, per_draw=True,
    ),
    Factor(
        "mishaps", "What goes wrong", "", "names", 0, 0,
        "Replaces the scenario's own estimate errors, crashes, cancellations and restarts: own (as in the scenario), "
        "baseline (nothing), estimates (off by up to 10%), mishaps (those estimates, 15% of jobs crash and 10% are "
        "cancelled, each job independently), delay (15 s before a start or added GPUs take effect). As in the "
        "ModelArts study (Figs 9 to 15), where the shares of jobs add up to 100%.",
        _mishaps, own=lambda _: OWN,
    ),
    Factor(
        "vm_types", "VM types", "", "names", 0, 0,
        "VM types that policies may rent; join names with +.", _vm_types, "option",
    ),
    *(_option(name) for name, field in SimulationRules.model_fields.items() if _is_number(field.annotation)),
)  # fmt: skip
"""Every change that needs no name of a VM type."""
