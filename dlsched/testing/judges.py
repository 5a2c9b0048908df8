"""What a policy must hold, each as a function of a policy and a scenario: "" = holds, else what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need, Policy, PolicySpec
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.policies.registry import unmet_needs
from dlsched.sim.audit import audit
from dlsched.sim.log import JobStatus, RunLog
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from dlsched.testing.bounds import beyond_of
from dlsched.testing.logs import first_difference
from dlsched.testing.scenarios import fixed_nodes, free_slots, full_workload, scaling_nodes
from dlsched.testing.subject import Overseer, ReasonReader, StateGuard, Subject

UNITS = ("_s", "_h", "_usd", "_gib")
"""Endings of names of parameters that have a unit."""


def ends_well(subject: Subject, scenario: Scenario) -> str:
    """Every job has one outcome, no number is beyond its bound, and the audit finds nothing.

    The audit looks at capacity, gang, work, submission and times.
    """
    prepared, log = subject.run(scenario)
    jobs = prepared.scenario.workload
    left = log.job_status == JobStatus.UNFINISHED
    if log.stalled or (left.any() and scenario.options.horizon_s is None):
        names = ", ".join(jobs.job_id[left][:3])
        return f"{int(left.sum())} of {len(jobs)} jobs never end ({names}): nothing else is due, and they still wait"
    if found := audit(prepared.scenario, prepared.truth, log):
        return f"the audit found: {found[0]}"
    if found := beyond_of(prepared.scenario, prepared.truth, log):
        return f"a number is better than any schedule can be: {found[0]}"
    return ""


def same_seed_same_log(subject: Subject, scenario: Scenario) -> str:
    """Two runs at one seed are equal: whatever is random comes from ``state.rng``."""
    difference = first_difference(subject.run(scenario, 3)[1], subject.run(scenario, 3)[1])
    return f"two runs at one seed differ: {difference}" if difference else ""


def list_order_does_not_matter(subject: Subject, scenario: Scenario) -> str:
    """Jobs in another order of the list, with equal ``order``, give the same run."""
    shuffled = np.random.default_rng(5).permutation(len(scenario.workload))
    columns = {name: values[shuffled] for name, values in scenario.workload.columns().items()}
    again = Workload.from_columns(columns | {"order": scenario.workload.order[shuffled]})
    one, other = subject.run(scenario)[1], subject.run(scenario.replace(workload=again))[1]
    difference = first_difference(one, other)
    return f"the same jobs listed in another order run otherwise: {difference}" if difference else ""


def no_look_ahead(subject: Subject, scenario: Scenario) -> str:
    """Without the jobs submitted later, all is the same up to the first of them."""
    jobs = scenario.workload
    log = subject.run(scenario)[1]
    for cut_s in np.quantile(jobs.submit_s, [0.3, 0.7]):
        first = int(np.searchsorted(jobs.submit_s, cut_s, side="right"))
        if first == len(jobs):
            continue
        until_s = float(jobs.submit_s[first])
        shorter = subject.run(scenario.replace(workload=jobs.select(slice(0, first))))[1]
        if difference := first_difference(log, shorter, until_s):
            return f"what it did before {until_s:g} s depends on jobs submitted from then on: {difference}"
    return ""


def sees_only_beliefs(subject: Subject, scenario: Scenario) -> str:
    """Two truths that look alike to a policy are treated alike until the first job ends otherwise than believed."""
    bugs = scenario.replace(options=scenario.options.model_copy(update={"bug_share": 0.5, "bug_within_s": 5.0}))
    plain, buggy = subject.run(scenario)[1], subject.run(bugs)[1]
    ends_s = buggy.job_end_s[buggy.job_status == JobStatus.FAILED]
    if not len(ends_s):
        return ""
    difference = first_difference(plain, buggy, float(ends_s.min()) * (1 - 1e-9))
    return f"it acts on true run times, not on those believed: {difference}" if difference else ""


def names_do_not_matter(subject: Subject, scenario: Scenario) -> str:
    """Partitions that share no nodes may have several names each: the run is the same."""
    wanted = scenario.workload.partition
    vm = scenario.cluster.pools[0].vm
    assert wanted is not None

    def log(names: dict[str, str]) -> RunLog:
        cluster = Cluster(pools=tuple(Pool(vm=vm, count=2, partition=names.get(name, name)) for name in ("a", "b", "")))
        jobs = scenario.workload.with_columns(partition=[names.get(name, name) for name in wanted])
        return subject.run(scenario.replace(workload=jobs, cluster=cluster))[1]

    difference = first_difference(log({}), log({"a": "a|alpha", "b": "b|beta|better"}))
    return f"other names of the same partitions give another run: {difference}" if difference else ""


def state_stays(subject: Subject, scenario: Scenario) -> str:
    """A policy changes nothing of the state that it is shown."""
    return _overseen(subject, scenario, StateGuard)


def reasons_make_sense(subject: Subject, scenario: Scenario) -> str:
    """Reasons are of jobs that wait, and none waits for room in an idle cluster; everyday policies of ours give all."""
    if found := _overseen(subject, scenario, ReasonReader):
        return found
    if subject.spec.origin or subject.spec.family not in ("everyday", "elastic"):
        return ""
    log = subject.run(scenario)[1]
    return "" if len(log.wait_reason) and 0 not in log.wait_reason else "jobs wait without a reason"


def _overseen(subject: Subject, scenario: Scenario, kind: type[Overseer]) -> str:
    overseers: list[Overseer] = []

    def around(policy: Policy) -> Overseer:
        overseers.append(kind(policy))
        return overseers[0]

    subject.run(scenario, around=around)
    return overseers[0].found


def loop_equals_policy(subject: Subject, scenario: Scenario) -> str:
    """Where ``kernel_rule`` lets a compiled loop stand in for a policy, both give the same run."""
    prepared = prepare(scenario)
    policy = subject.build(prepared)
    if policy.kernel_rule is None:
        return ""
    difference = first_difference(run_policy(prepared, policy), subject.run(scenario)[1])
    return f"the compiled loop of its kernel_rule runs otherwise than plan: {difference}" if difference else ""


def parameters_are_checked(spec: PolicySpec) -> str:
    """Unknown parameters and values out of bounds are refused; each parameter has a default, a description, a unit."""
    if not _refuses(spec, {"no_such_parameter": 1}, "no_such_parameter"):
        return "an unknown parameter is not refused"
    for name, rules in spec.params.model_json_schema().get("properties", {}).items():
        beyond = {"minimum": -1e-9, "exclusiveMinimum": 0.0, "maximum": 1e-9, "exclusiveMaximum": 0.0}
        for rule, step in beyond.items():
            if rule in rules and not _refuses(spec, {name: rules[rule] * (1 + step) + step}, name):
                return f"{name}: a value beyond its {rule} of {rules[rule]:g} is not refused"
    for name, field in spec.params.model_fields.items():
        extra = field.json_schema_extra
        if not field.description:
            return f"{name} has no description"
        if field.is_required():
            return f"{name} has no default"
        if name.endswith(UNITS) and not (isinstance(extra, dict) and "unit" in extra):
            return f"{name} has no unit: add json_schema_extra={{'unit': ...}} to its field"
    return ""


def _refuses(spec: PolicySpec, values: dict[str, Any], name: str) -> bool:
    try:
        spec.parse(values)
    except InputError as error:
        return name in str(error)
    return False


def needs_are_respected(spec: PolicySpec) -> str:
    """Each need that the policy states is one that a scenario without it does not meet."""
    for need in sorted(spec.needs):
        if need not in unmet_needs(spec, lacking(need)):
            return f"a scenario without {need.value} is not refused"
    return ""


def lacking(need: Need) -> Scenario:
    """Return the standard scenario without what meets a need."""
    unpriced = Cluster(pools=(Pool(vm=VmType(name="n"), count=2),))
    jobs = full_workload()
    without: dict[Need, dict[str, Any]] = {
        Need.DUE: {"workload": jobs.with_columns(due_s=None)},
        Need.WEIGHT: {"workload": jobs.with_columns(weight_usd_per_s=None)},
        Need.PRICE: {"cluster": unpriced},
        Need.PRIORITY: {"workload": jobs.with_columns(priority=None)},
        Need.USER: {"workload": jobs.with_columns(user=None)},
        Need.SPEED: {"speed": SpeedSpec()},
        Need.FIXED_NODES: {"cluster": free_slots()},
        Need.ALWAYS_THERE: {"cluster": scaling_nodes()},
        Need.SHORT_RESTARTS: {"options": SimulationRules(restart_s=3600.0)},
        Need.ONE_NODE: {"workload": jobs.with_columns(gpus_per_worker=np.full(len(jobs), 0.5))},
    }
    plain = Scenario(jobs, fixed_nodes(8, 8, 4), speed=SpeedSpec(kind="scaling"))
    return plain.replace(**without.get(need, {}))


def words_are_there(spec: PolicySpec) -> str:
    """The policy has a label and a summary that can be shown; its key is checked when it is registered."""
    if not spec.label or not spec.knows:
        return "label and knows must not be empty"
    if not spec.summary.endswith("."):
        return f"the summary must be a sentence that ends with a full stop, got {spec.summary!r}"
    return ""


def bare(subject: Subject, scenario: Scenario) -> str:
    """The policy runs on jobs that have only what it says it needs."""
    jobs = scenario.workload
    given = scenario
    for name in ("due_s", "weight_usd_per_s", "priority", "user", "utility_1", "utility_2", "utility_3"):
        if getattr(jobs, name) is not None:
            less = given.replace(workload=given.workload.with_columns(**{name: None}))
            given = given if subject.lacks(less) else less
    for change in ({"queues": None}, {"speed": SpeedSpec()}):
        less = given.replace(**change)
        given = given if subject.lacks(less) else less
    return ends_well(replace(subject), given)
