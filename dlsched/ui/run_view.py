"""Choose policies and follow their runs."""

from __future__ import annotations

from typing import Any

import streamlit as st
from pydantic import ValidationError

from dlsched.domain.cluster import Frozen
from dlsched.domain.errors import DlschedError, from_validation
from dlsched.domain.policy import PolicySpec
from dlsched.domain.scenario import Options, Scenario, SpeedSpec
from dlsched.experiments.background import Task, TaskState, TaskStatus
from dlsched.experiments.estimate import estimate_s
from dlsched.experiments.run import key_of
from dlsched.metrics.findings import is_random
from dlsched.metrics.formats import duration
from dlsched.policies.registry import POLICIES, unmet_needs
from dlsched.ui import session
from dlsched.ui.forms import model_fields
from dlsched.ui.parts import error_box
from dlsched.ui.text import dollars, safe

EVERYDAY_FIVE = ("fifo", "fifo-skip", "sjf", "easy-backfill", "las")
GROUP_TITLES = {
    "everyday": "Everyday",
    "elastic": "Elastic: change the width",
    "pay less": "Pay less",
    "who gets in": "Who gets in",
}
ASK_ABOVE_S = 60.0


def choose(scenario: Scenario) -> list[PolicySpec]:
    """Show the policies by what the user wants and return the ticked ones."""
    wanted = st.text_input("Search policies", key="policy-search", placeholder="backfill, due, fair …").lower()
    ticked = []
    for group, title in GROUP_TITLES.items():
        specs = [spec for spec in POLICIES if spec.group == group and _matches(spec, wanted)]
        if not specs:
            continue
        st.markdown(f"**{title}**")
        for spec in specs:
            lacks = unmet_needs(spec, scenario)
            needs = (
                f" Needs {' and '.join(need.value for need in lacks)}: fill on Workload or Cluster." if lacks else ""
            )
            chosen = st.checkbox(
                f"**{spec.label}** · {spec.summary} :gray[Knows {spec.knows}.]" + (f" :orange[{needs}]" if needs else ""),
                value=spec.key in EVERYDAY_FIVE and not lacks, disabled=bool(lacks), key=f"policy-{spec.key}-{bool(lacks)}",
                help=dollars(spec.paper) or None,
            )  # fmt: skip
            if chosen and not lacks:
                ticked.append(spec)
    return ticked


def _matches(spec: PolicySpec, wanted: str) -> bool:
    return not wanted or wanted in f"{spec.key} {spec.label} {spec.summary} {spec.knows} {spec.paper}".lower()


def parameters(specs: list[PolicySpec]) -> dict[str, dict[str, Any]]:
    """Show the parameters of the ticked policies and return the values that differ from the defaults."""
    with_params = [spec for spec in specs if spec.params.model_fields]
    values: dict[str, dict[str, Any]] = {}
    if not with_params:
        return values
    with st.expander(f"Parameters of {len(with_params)} policies"):
        for spec in with_params:
            st.markdown(f"**{spec.label}**")
            given = model_fields(spec.params, f"param-{spec.key}")
            try:
                parsed = spec.parse(given)
            except DlschedError as error:
                error_box(error)
                continue
            changed = parsed.model_dump(exclude_defaults=True, mode="json")
            if changed:
                values[spec.key] = changed
                st.markdown(" ".join(f":violet-badge[{safe(name)} = {safe(value)}]" for name, value in changed.items()))
    return values


def options_form(scenario: Scenario) -> None:
    """Edit the rules of the simulation and the speed-up; saving makes a new version of the scenario."""
    with st.expander("Rules of the simulation: placement, estimates, restarts, failures of jobs, billing, speed-up"):
        tag = scenario.content_hash[:8]
        with st.form(f"options-{tag}", border=False):
            left, right = st.columns([3, 1])
            with left:
                options = _in_columns(Options, scenario.options, f"opt-{tag}")
            with right:
                st.markdown("**Speed-up of jobs**")
                speed = model_fields(SpeedSpec, f"speed-{tag}", scenario.speed)
            if not st.form_submit_button("Save these rules"):
                return
        try:
            changed = scenario.replace(options=Options(**options), speed=SpeedSpec(**speed))
        except ValidationError as error:
            error_box(from_validation("rules of the simulation", error))
            return
        if changed.content_hash != scenario.content_hash:
            session.keep(changed, based_on=scenario.content_hash)
            st.query_params.clear()
            st.rerun()


def _in_columns(model: type[Frozen], current: Frozen, key: str) -> dict[str, Any]:
    from dlsched.ui.forms import field, label_of

    columns, values = st.columns(3), {}
    for place, (name, info) in enumerate(model.model_fields.items()):
        with columns[place % 3]:
            values[name] = field(label_of(name, info), info, getattr(current, name), f"{key}-{name}")
    return values


def tasks_of(scenario: Scenario, specs: list[PolicySpec], params: dict[str, dict[str, Any]], draws: int) -> list[Task]:
    """Return one task per policy and draw; without anything random one draw says all."""
    seeds = range(draws if is_random(scenario) else 1)
    return [Task(scenario, spec.key, params.get(spec.key, {}), seed, spec.label) for seed in seeds for spec in specs]


def expected(tasks: list[Task]) -> tuple[int, float]:
    """Return how many tasks are answered from the store, and about how many seconds the others take."""
    store = session.store()
    fresh = [
        task for task in tasks if store.find_run(key_of(task.scenario, task.policy, task.params, task.seed)) is None
    ]
    cores = max(1, min(2, len(fresh)))
    return len(tasks) - len(fresh), sum(estimate_s(task.scenario, task.policy, store).seconds for task in fresh) / cores


def start(tasks: list[Task]) -> None:
    """Hand the tasks to the background runner and remember them as this session's batch."""
    ids = session.runner().submit(tasks)
    st.session_state["batch"] = ids
    st.session_state["batch-open"] = True


@st.fragment(run_every=0.5)
def live_queue() -> None:
    """Show progress of all work, with cancel; open the results when this session's batch is done."""
    statuses = session.runner().status()
    batch = st.session_state.get("batch", [])
    mine = [status for status in statuses if status.id in batch]
    if mine and st.session_state.get("batch-open") and all(status.state.is_over for status in mine):
        st.session_state["batch-open"] = False
        stored = [status.run_id for status in mine if status.run_id]
        if stored:
            first = list(dict.fromkeys(stored))
            session.look_at_run(first[0])
            session.tick(first)
            st.session_state["batch-done"] = len(first)
        st.rerun()
    _progress(statuses)


def _progress(statuses: list[TaskStatus]) -> None:
    if not statuses:
        st.markdown(":gray[Nothing runs. Results of earlier runs are on the page Runs.]")
        return
    active = [status for status in statuses if not status.state.is_over]
    done = len(statuses) - len(active)
    if active:
        left = max((status.eta_s for status in active if status.eta_s is not None), default=None)
        about = f", about {duration(left)} left" if left is not None else ""
        st.markdown(f"**{done} of {len(statuses)} done{about}.** You can leave this page.")
        if st.button("Cancel all", key="cancel-all", help="Finished runs are kept"):
            session.runner().cancel()
    for status in statuses[-30:]:
        _line(status)
    if not active and st.button("Clear this list", key="clear-queue", type="tertiary"):
        session.runner().forget()


def _line(status: TaskStatus) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if status.state in (TaskState.QUEUED, TaskState.RUNNING):
            text = f"{safe(status.name)}: {safe(status.text or status.state.value)}"
            st.progress(min(max(status.share, 0.0), 1.0), text=text)
            if st.button("✕", key=f"cancel-{status.id}", help=f"Cancel {safe(status.name)}"):
                session.runner().cancel([status.id])
        elif status.state is TaskState.FAILED:
            st.error(f"**{safe(status.name)}** stopped. {safe(status.message, 600)}")
        elif status.state is TaskState.CANCELLED:
            st.markdown(f"{safe(status.name)}: cancelled, nothing kept")
        else:
            st.markdown(f"✓ {safe(status.name)}: {safe(status.text or 'done')}")


def first_run_of(statuses: list[TaskStatus]) -> str | None:
    """Return the first stored run of these tasks."""
    return next((status.run_id for status in statuses if status.run_id), None)
