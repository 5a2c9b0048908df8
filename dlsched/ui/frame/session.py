"""What one browser session looks at: the scenario, the run, the ticked runs; kept in session state and in the URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dlsched.access.roles import command_line_actor
from dlsched.domain.actor import NO_LOGIN
from dlsched.domain.errors import NotAllowed, StoreError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import policy_label
from dlsched.runner import reading
from dlsched.runner.background import Runner
from dlsched.store import Store, portable
from dlsched.store.connection import store_path
from dlsched.store.scenarios import Deletion, ScenarioInfo
from dlsched.store.server import StoreServer
from dlsched.studies.code_version import code_version, plugin_versions
from dlsched.ui.frame import identity, link
from dlsched.ui.frame.caches import shared
from dlsched.ui.frame.navigation import PART, SCRIPTS
from dlsched.ui.frame.options import access, config, options
from dlsched.wording.formats import amount

SCENARIO, RUN, TICKED = "scenario_hash", "run_id", "ticked_runs"
OPEN_PART = "open_part"
"""The part of the next page that is asked for: no link may name it, as it is bound to the parts of this page."""
HASH_DIGITS = 8
MAX_TICKED = 12
OPEN_WAIT_S = 3.0
"""How long a starting app waits for a command that has the store."""
USED, MOST_USED = "used_scenarios", 30
"""Setting of the store: the scenarios that were looked at, the last one first; with a login one for each user."""


def _close(opened: tuple[Store, StoreServer | None]) -> None:
    if opened[1] is not None:
        opened[1].close()


@st.cache_resource(show_spinner=False, on_release=_close)
def _opened() -> tuple[Store, StoreServer | None]:
    """Return the process's store, and what serves it to commands on this machine; pages ask often, so by no key."""
    path, rules = store_path(options().store, config().server.store), access()
    opened = Store(
        path, rules.read_only, OPEN_WAIT_S, partial(reading.read_within_limits, "import file", portable.read)
    )
    served = None if rules.read_only else StoreServer(opened, lambda name: command_line_actor(rules, name))
    return opened, served


def _server_store() -> Store:
    return _opened()[0]


def store() -> Store:
    """Return the process's store in the hands of this session's user.

    Raises
    ------
    StoreError
        When another process holds the file.
    AccessRefused
        When this user may not even read.
    """
    return _server_store().acting(identity.actor())


@st.cache_resource(show_spinner=False)
def _start_runner(_store: Store) -> Runner:
    return Runner(_store, who=identity.actor)


@st.cache_resource(show_spinner=False)
def _prepare_runner(_runner: Runner) -> None:
    """Let workers load the compiled code while the first page is read; once for the process."""
    _runner.prepare()


def runner() -> Runner:
    """Return the process's background runner; it outlives page switches and closed tabs.

    Its workers are started by the first user who may use them.
    """
    started = _start_runner(_server_store())
    if identity.may_write():
        _prepare_runner(started)
    return started


class ScenarioDeleted(StoreError):
    """What is looked at was deleted; ``deletion`` brings it back."""

    def __init__(self, deletion: Deletion) -> None:
        super().__init__(f"“{deletion.name}” was deleted. You can restore it for one day.")
        self.deletion = deletion


def _known(scenario_hash: str) -> ScenarioInfo:
    """Return the line of a scenario; ScenarioDeleted or StoreError when it is not there."""
    info = info_of(scenario_hash)
    if info is not None:
        return info
    deletion = store().deletion_of(scenario_hash)
    if deletion is not None:
        raise ScenarioDeleted(deletion)
    raise StoreError(
        f"Scenario {scenario_hash[:HASH_DIGITS]} is not in this store. "
        "Ask its owner for the export file (Run > History)."
    )


def follow_url() -> None:
    """Take over what the URL names (scenario, run, ticked runs) where the store knows it."""
    params = st.query_params
    if named := params.get("scenario"):
        st.session_state[SCENARIO] = _known(named).scenario_hash
    if run_id := params.get("run"):
        st.session_state[RUN] = run_id
        _follow_run(run_id)
    wanted, base = [run for run in params.get("runs", "").split(",") if run][:MAX_TICKED], params.get("base")
    if wanted:
        st.session_state[TICKED] = sorted(wanted, key=lambda run: run != base)
    if base not in wanted:
        link.misread("base")


def _follow_run(run_id: str) -> None:
    """A link to a run also names its scenario, unless the URL says another."""
    names_scenario = "scenario" in st.query_params
    if names_scenario and not link.is_new():
        return
    try:
        scenario_hash = store().run_info(run_id).scenario_hash
    except StoreError:
        link.misread("run")
        return
    if not names_scenario:
        st.session_state[SCENARIO] = scenario_hash


def url_params(**more: str | None) -> dict[str, str]:
    """Return the parameters that make a link show what is shown now; None leaves one out."""
    ticked = ticked_runs()
    named: dict[str, str | None] = {
        "scenario": (st.session_state.get(SCENARIO) or "")[:HASH_DIGITS] or None,
        "run": st.session_state.get(RUN),
        "runs": ",".join(ticked) or None,
        "base": ticked[0] if ticked else None,
        **more,
    }
    return {name: value for name, value in named.items() if value}


def write_url(*names: str) -> None:
    """Make the address bar name what the page shows, so that it can be shared."""
    wanted = {name: value for name, value in url_params().items() if name in names}
    for name, value in wanted.items():
        if st.query_params.get(name) != value:
            st.query_params[name] = value


def go(page: str, **more: str | None) -> None:
    """Open another page of the app, by its title, with what is looked at now; ``part`` names a part of that page."""
    st.session_state[OPEN_PART] = more.pop(PART, None)
    st.switch_page(SCRIPTS[page], query_params=url_params(**more))


def open_asked_part() -> None:
    """Open the part that another page or a picture asked for; call it before the parts are shown."""
    if part := st.session_state.pop(OPEN_PART, None):
        st.session_state[PART] = part


def scenario() -> Scenario:
    """Return the scenario that is looked at; the demo when none was chosen."""
    key = st.session_state.get(SCENARIO)
    if key is None:
        key = start_scenario().scenario_hash
        st.session_state[SCENARIO] = key
    return load_scenario(key)


@shared
def load_scenario(scenario_hash: str) -> Scenario:
    """Return a stored scenario; frozen, so that sessions may share it."""
    return store().get_scenario(scenario_hash)


def info_of(scenario_hash: str) -> ScenarioInfo | None:
    """Return the line of a scenario, by the first digits of its hash or all; None if it is not in the store."""
    return _info_of(scenario_hash, store().scenario_changes)


@shared
def _info_of(scenario_hash: str, changes: int) -> ScenarioInfo | None:
    return store().scenario_info(scenario_hash)


def deletions() -> Sequence[Deletion]:
    """Return what was deleted and can be brought back, the latest first."""
    return _deletions(store().changes)


@shared
def _deletions(changes: int) -> Sequence[Deletion]:
    return store().deletions()


def scenario_info() -> ScenarioInfo:
    """Return name and version of the scenario that is looked at; StoreError when it is gone."""
    return _known(scenario().content_hash)


def lineage_of(scenario: Scenario) -> str:
    """Return what a scenario and all its versions have in common: settings of it are kept under this name."""
    info = info_of(scenario.content_hash)
    return scenario.content_hash if info is None else info.lineage


def start_scenario() -> ScenarioInfo:
    """Return the scenario a new session starts with: the last one used that is still there, else the demo.

    Without a scenario of their own, users of a login start with the newest one. NotAllowed where a reader finds none.
    """
    candidates = store().get_setting(_used_key(), [])
    if identity.actor() != NO_LOGIN:
        candidates = [*candidates, *[*scenario_names()][:1]]
    known = (info_of(one) for one in candidates)
    found = next((info for info in known if info is not None), None)
    if found is None and not identity.may_write():
        raise NotAllowed("There is nothing to read here yet. A planner has to open the app first.")
    return found or keep(demo())


def _used_key() -> str:
    name = identity.actor().name
    return f"{USED}/{name}" if name else USED


@st.cache_resource(show_spinner=False)
def demo() -> Scenario:
    """Return the bundled demo scenario."""
    from dlsched.workload.catalogue import data_path
    from dlsched.workload.load import load

    return load(data_path("demo.toml"))


def keep(changed: Scenario, based_on: str | None = None) -> ScenarioInfo:
    """Save a scenario (a new version of ``based_on``) and look at it from now on."""
    info = store().save_scenario(changed, based_on)
    look_at(info.scenario_hash)
    return info


def look_at(scenario_hash: str) -> None:
    """Make a stored scenario the one that is looked at, with its newest run, in this tab and at the next visit."""
    st.session_state[SCENARIO] = scenario_hash
    _drop_params("scenario")
    look_at_run("")  # a run in the address names its own scenario
    if identity.may_write():
        used = [one for one in store().get_setting(_used_key(), []) if one != scenario_hash]
        store().set_setting(_used_key(), [scenario_hash, *used][:MOST_USED])


def setting(key: str) -> Any:
    """Return a setting of the store, as Store.get_setting; sessions share it, so no code may write into it."""
    return _setting(key, store().setting_changes)


@shared
def _setting(key: str, changes: tuple[int, int]) -> Any:
    return store().get_setting(key)


def run_id() -> str | None:
    """Return the run that is looked at: the one named, else the newest of the scenario's future 0, else the newest."""
    named = st.session_state.get(RUN)
    if named:
        return str(named)
    runs = runs_of(scenario().content_hash)
    runs = runs[runs["seed"] == 0] if (runs["seed"] == 0).any() else runs
    return None if runs.empty else str(runs["run_id"].iloc[0])


def look_at_run(chosen: str) -> None:
    """Make a run the one that is looked at; "" stands for the newest of the scenario."""
    st.session_state[RUN] = chosen
    _drop_params("run")


def ticked_runs() -> list[str]:
    """Return the ticked runs; the first is the baseline."""
    return list(st.session_state.get(TICKED, []))


def tick(run_ids: Sequence[str]) -> None:
    """Replace the ticked runs; the first is the baseline."""
    st.session_state[TICKED] = list(dict.fromkeys(run_ids))[:MAX_TICKED]
    _drop_params("runs", "base")


def _drop_params(*names: str) -> None:
    """Take out of the URL what no longer holds: it would be followed again at the next rerun."""
    for name in names:
        if name in st.query_params:
            del st.query_params[name]


RunsState = tuple[int, str, frozenset[str]]


def runs_state() -> RunsState:
    """Return what lists of runs depend on: how often the store was written, the version of the code, the plug-ins."""
    return store().changes, code_version(), frozenset(plugin_versions())


def runs_of(scenario_hash: str) -> Any:
    """Return the stored runs of a scenario, newest first, as Store.list_runs gives them; ``stale`` = older code."""
    return _runs_of(scenario_hash, runs_state())


@shared
def _runs_of(scenario_hash: str, changes: RunsState) -> Any:
    runs = _listed_runs(changes)
    return runs[(runs["state"] == "stored") & (runs["scenario_hash"] == scenario_hash)].reset_index(drop=True)


def listed_runs() -> Any:
    """Return all runs, newest first, as Store.list_runs gives them; ``stale`` = older code."""
    return _listed_runs(runs_state())


@shared
def _listed_runs(changes: RunsState) -> Any:
    _, version, plugins = changes
    return store().list_runs(code_version=version, plugins=plugins)


def run_names() -> Mapping[str, str]:
    """Return what each stored run is called, by its id, newest first: its policy and its future."""
    return _run_names(runs_state())


@shared
def _run_names(changes: RunsState) -> Mapping[str, str]:
    runs = _listed_runs(changes)
    runs = runs[runs["state"] == "stored"]
    named = zip(runs["run_id"], runs["policy"], runs["seed"], strict=True)
    return {str(run): f"{policy_label(str(policy))} · future {seed}" for run, policy, seed in named}


def first_runs(scenario_hash: str) -> Sequence[str]:
    """Return the run of a scenario with the lowest seed for each policy and its parameters."""
    return _first_runs(scenario_hash, runs_state())


@shared
def _first_runs(scenario_hash: str, changes: RunsState) -> Sequence[str]:
    runs = _runs_of(scenario_hash, changes).sort_values("seed", kind="stable")
    return [str(run) for run in runs.drop_duplicates(["policy", "params"])["run_id"]]


def scenario_names() -> Mapping[str, str]:
    """Return a line that tells each scenario from all others, by its hash, newest first."""
    return _scenario_names(store().changes)


@shared
def _scenario_names(changes: int) -> Mapping[str, str]:
    lines = {
        str(row["scenario_hash"]): f"{row['name']} · v{row['version']} · {amount(int(row['jobs']), 'job')}, "
        f"{amount(int(row['runs']), 'run')}"
        for row in store().list_scenarios().to_dict("records")
    }
    times = Counter(lines.values())  # the browser tells a choice by its label: two that are alike would be one
    return {key: line if times[line] == 1 else f"{line} ({key[:HASH_DIGITS]})" for key, line in lines.items()}
