"""The page Run: parameters of policies, rules of the simulation, what a run will take; start it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from pydantic import ValidationError

from dlsched.domain.assumptions import stated
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.model import FrozenModel
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask
from dlsched.runner.executor import num_workers
from dlsched.studies.design import Variant, in_full
from dlsched.studies.estimate import estimate_run
from dlsched.studies.futures_numbers import FuturesNumbers
from dlsched.studies.simulation import key_of
from dlsched.ui.fields.policy_and_params import checked_params, has_params, param_fields, todays_policy
from dlsched.ui.frame import futures_numbers, run_state, session, writing
from dlsched.ui.frame.forms import field, label_of, model_fields
from dlsched.ui.frame.parts import error_box
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import about_seconds, amount, duration

ASK_ABOVE_S = 60.0
TENTH = 10
LEAST_JOBS_FOR_TENTH = 100
SPEED_WORDS = {"rigid": "one fixed width", "scaling": "scaling law", "table": "run times by table"}


def parameters(specs: list[PolicySpec], scenario: Scenario) -> tuple[dict[str, dict[str, Any]], bool]:
    """Show the parameters of the ticked policies; those of the policy that runs today start with its own.

    Returns
    -------
    The values that differ from the defaults by policy, and whether all are valid. Parameters without effect on this
    cluster are left out.
    """
    having = [spec for spec in specs if has_params(spec, scenario)]
    values: dict[str, dict[str, Any]] = {}
    valid, said = True, todays_policy(scenario)
    if not having:
        return values, valid
    chips = st.container(horizontal=True, gap="xsmall")
    names = ", ".join(spec.label for spec in having)
    with st.expander(f"Parameters of {names}", key="params-open"):
        for spec in having:
            st.markdown(f"**{spec.label}**")
            own = dict(said.params) if said is not None and said.policy == spec.key else None
            given = param_fields(spec, scenario, f"param-{spec.key}", own)
            try:
                changed = checked_params(spec, given)
            except InputError as error:
                name = error.what.rpartition(", ")[2]
                label = label_of(name, spec.params.model_fields[name]) if name in spec.params.model_fields else ""
                error_box(InputError(f"{spec.label}{label and ', '}{label}", error.why, error.do))
                valid = False
                continue
            if changed:
                values[spec.key] = changed
    for spec in having:
        for name, value in values.get(spec.key, {}).items():
            text = ", ".join(f"{part:g}" for part in value) if isinstance(value, list) else value
            chips.badge(
                safe(f"{spec.label}: {label_of(name, spec.params.model_fields[name])} = {text}"), color="violet"
            )
    return values, valid


def options_form(scenario: Scenario) -> None:
    """Edit the rules of the simulation and the speed-up; saving makes a new version of the scenario."""
    with st.expander("Rules of the simulation: placement, estimates, restarts, failures of jobs, billing, speed-up"):
        tag = scenario.content_hash[:8]
        with st.form(f"options-{tag}", border=False):
            left, right = st.columns([3, 1])
            with left:
                options = _in_columns(SimulationRules, scenario.options, f"opt-{tag}")
            with right:
                st.markdown("**Speed-up of jobs**")
                speed = speed_fields(scenario, f"speed-{tag}")
            if not writing.submit("Save these rules"):
                return
        try:
            changed = scenario.replace(options=SimulationRules(**options), speed=SpeedSpec(**speed))
        except ValidationError as error:
            error_box(from_validation("rules of the simulation", error))
            return
        if changed.content_hash != scenario.content_hash:
            session.keep(changed, based_on=scenario.content_hash)
            st.rerun()


def speed_fields(scenario: Scenario, key: str) -> dict[str, Any]:
    """Show the fields of the speed-up; what the jobs do not come with is not offered, and stays as it is.

    A table of run times is kept, and offered only where there is one. Jobs with times of training steps count their
    work in steps: any other kind would take those for seconds.
    """
    current = scenario.speed
    if current.kind != "parameter-server":
        hidden = {"updates", "times", "params"}
    else:
        st.markdown(
            ":gray[Jobs come with the times of a training step, and their work is steps: a speed-up by another rule "
            "would take steps for seconds.]"
        )
        # Jobs are drawn for one kind of updates.
        hidden = {"kind", "efficiency", "max_factor", "times", "params", *(["updates"] if scenario.generator else [])}
    kinds = {kind: words for kind, words in SPEED_WORDS.items() if kind != "table" or current.times is not None}
    values = model_fields(SpeedSpec, key, current, hidden=hidden, choices={"kind": kinds})
    return {name: getattr(current, name) for name in hidden} | values


def _in_columns(model: type[FrozenModel], current: FrozenModel, key: str) -> dict[str, Any]:
    columns, values = st.columns(3), {}
    for place, (name, info) in enumerate(model.model_fields.items()):
        with columns[place % 3]:
            values[name] = field(name, info, getattr(current, name), f"{key}-{name}")
    return values


@dataclass(frozen=True, eq=False)
class RunPlan:
    """What pressing Run makes: ``tasks`` with all their jobs, of the futures at ``in_full``; numbers of the others."""

    tasks: list[RunTask]
    numbers: FuturesNumbers
    in_full: range

    def start(self) -> None:
        """Hand it to the background runner."""
        run_state.start(self.tasks, self.numbers, self.in_full)


def plan_of(scenario: Scenario, specs: Sequence[PolicySpec], params: Mapping[str, Mapping[str, Any]]) -> RunPlan:
    """Return what there is to run of these policies, one at least; InputError where one cannot run the jobs."""
    variants = [Variant(policy=spec.key, params=dict(params.get(spec.key, {}))) for spec in specs]
    numbers = futures_numbers.futures_numbers([(scenario, variant) for variant in variants])
    futures = numbers.plan.futures
    whole = range(1) if futures.are_replays else in_full(numbers.plan.basis, futures)  # what was recorded
    tasks = [
        RunTask(scenario, variant.policy, variant.params, futures.seeds[place], spec.label)
        for place in whole
        for spec, variant in zip(specs, variants, strict=True)
    ]
    return RunPlan(tasks, numbers, whole)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a plan will take: of ``asked`` simulations ``stored`` before, ``seconds`` for the others; rough."""

    asked: int
    stored: int
    seconds: float
    cores: int


def expected(plan: RunPlan) -> Expected:
    """Return how much of a plan is answered from the store, and about how many seconds the rest takes."""
    store, numbers = session.store(), plan.numbers
    keys = [key_of(task.scenario, task.policy, task.params, task.seed) for task in plan.tasks]
    known = store.find_runs(keys)
    fresh = [task for task, key in zip(plan.tasks, keys, strict=True) if key not in known]
    each_s = {task.policy: estimate_run(task.scenario, task.policy, store).seconds for task in plan.tasks}
    cores = max(1, min(num_workers(), len(fresh)))
    seconds = sum(each_s[task.policy] for task in fresh) / cores
    whole = futures_numbers.keys_at(numbers, plan.in_full)
    rest = sum(key not in whole for key in numbers.missing)
    asked = len(plan.tasks) + len(numbers.plan.tasks.keys() - whole)
    seconds += futures_numbers.seconds_of(numbers, plan.in_full)
    return Expected(asked, asked - len(fresh) - rest, seconds, cores)


def first_tenth(scenario: Scenario) -> Scenario:
    """Return the scenario with the first tenth of its jobs by submission: the load stays, the time shrinks."""
    jobs = scenario.workload
    count = max(1, len(jobs) // TENTH)
    return scenario.replace(
        workload=jobs.head(count),
        generator=None,
        name=f"{scenario.name}, first tenth",
        assumptions=stated(*scenario.assumptions, f"first {count:,} of {len(jobs):,} jobs"),
    )


# ---- start -------------------------------------------------------------------------------------------


def facts(expected: Expected) -> str:
    """Return what a batch will take, in words."""
    parts = []
    if expected.asked > expected.stored:
        parts.append(about_seconds(expected.seconds))
    if expected.stored:
        parts.append(f"{expected.stored:,} of {amount(expected.asked, 'simulation')} answered from the store")
    return ", ".join(parts)


def start_or_ask(scenario: Scenario, plan: RunPlan, expected: Expected) -> None:
    """Start a plan, or ask first when it takes over a minute."""
    if expected.seconds > ASK_ABOVE_S:
        _ask(scenario, plan, expected)
    else:
        plan.start()
        st.rerun()


@st.dialog("This takes a while")
def _ask(scenario: Scenario, plan: RunPlan, expected: Expected) -> None:
    cores = amount(expected.cores, "core")
    st.markdown(
        f"About **{duration(expected.seconds)}** on {cores} for {amount(expected.asked, 'simulation')}. "
        "The recorded jobs come first, and what they say opens. You can leave the page or cancel; what is finished "
        "is kept."
    )
    with st.container(horizontal=True):
        if writing.button("Run all of it", type="primary", key="ask-run"):
            plan.start()
            st.rerun()
        tenth = writing.button(
            "Try a tenth of the jobs", key="ask-tenth", disabled=len(scenario.workload) < LEAST_JOBS_FOR_TENTH,
            help="The first tenth by submission, as a scenario of its own",
        )  # fmt: skip
        if tenth:
            part = first_tenth(scenario)
            session.keep(part)
            policies = {task.policy: task.params for task in plan.tasks}
            plan_of(part, [find(policy) for policy in policies], policies).start()
            st.rerun()
        if st.button("Not now", key="ask-back"):
            st.rerun()
