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
            if _offer(spec, scenario):
                ticked.append(spec)
    return ticked


def _offer(spec: PolicySpec, scenario: Scenario) -> bool:
    """Show one policy: tick box, what it does, what it must know or is lacking."""
    lacks = unmet_needs(spec, scenario)
    box, words = st.columns([1, 4], vertical_alignment="center", gap="small")
    ticked = box.checkbox(
        spec.label, value=spec.key in EVERYDAY_FIVE and not lacks, disabled=bool(lacks),
        key=f"policy-{spec.key}-{bool(lacks)}", help=dollars(spec.paper) or None,
    )  # fmt: skip
    text = f"{spec.summary} :gray[Knows {spec.knows}.]"
    if lacks:
        text += f" :orange[Needs {' and '.join(need.value for need in lacks)}: fill them on Workload or Cluster.]"
    words.markdown(text)
    return ticked and not lacks


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
        first: dict[str, str] = {}
        for status in mine:
            if status.run_id:
                first.setdefault(status.name, status.run_id)
        if first:
            session.look_at_run(next(iter(first.values())))
            session.tick(list(first.values()))
            st.session_state["batch-done"] = sum(bool(status.run_id) for status in mine)
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
        st.markdown(f"**{done} of {len(statuses)} runs done{about}.** You can leave this page.")
        if st.button("Cancel all", key="cancel-all", help="Finished runs are kept"):
            session.runner().cancel()
    by_name: dict[str, list[TaskStatus]] = {}
    for status in statuses:
        by_name.setdefault(status.name, []).append(status)
    for name, group in by_name.items():
        _line(name, group)
    if not active:
        cancelled = sum(status.state is TaskState.CANCELLED for status in statuses)
        if cancelled:
            st.markdown(f"Cancelled. {done - cancelled} finished runs kept, {cancelled} not run.")
        if st.button("Clear this list", key="clear-queue", type="tertiary"):
            session.runner().forget()


def _line(name: str, group: list[TaskStatus]) -> None:
    """Show one policy with all its draws."""
    over = [status for status in group if status.state.is_over]
    draws = f" ({len(over)} of {len(group)} draws)" if len(group) > 1 else ""
    for status in group:
        if status.state is TaskState.FAILED:
            st.error(f"**{safe(name)}** stopped. {safe(status.message, 600)}")
    if len(over) == len(group):
        kept = sum(status.state is TaskState.STORED for status in group)
        st.markdown(f"{'✓' if kept else '✕'} {safe(name)}{draws}: {'done' if kept == len(group) else f'{kept} kept'}")
        return
    now = next((status for status in group if status.state is TaskState.RUNNING), None)
    text = now.text if now else "waiting"
    share = sum(1.0 if status.state.is_over else status.share for status in group) / len(group)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.progress(min(max(share, 0.0), 1.0), text=f"{safe(name)}{draws}: {safe(text)}")
        if st.button("✕", key=f"cancel-{group[0].id}", help=f"Cancel {name}"):
            session.runner().cancel([status.id for status in group])
