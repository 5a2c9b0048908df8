"""The part Slurm of the Cluster page: empty state, settings that were read, edits, saving, removal."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.scenario import Scenario
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import ReadOptions, read_trace
from tests.support.slurm_files import ASSOC, CONF, QOS, RESERVATIONS

LOG = b"""\
JobID|User|Account|Partition|QOS|Submit|Start|End|ElapsedRaw|Timelimit|NCPUS|NodeList|State
1|ann|optics|cpu|normal|2024-05-01T09:00:00|2024-05-01T09:00:00|2024-05-01T09:10:00|600|01:00:00|32|n01|COMPLETED
2|bob|bio|gpu|high|2024-05-01T09:00:00|2024-05-01T09:05:00|2024-05-01T09:10:00|600||32|g1|COMPLETED
"""
FILES = tuple(text.encode() for text in (CONF, QOS, ASSOC, RESERVATIONS))


def opened(open_page: Any, store: Any, slurm: tuple[bytes, ...]) -> Any:
    scenario = scenario_of(read_trace(LOG, "log.txt", ReadOptions(slurm=slurm)), "mine")
    saved = store.save_scenario(scenario)
    return open_page("scenario/cluster.py", scenario=saved.scenario_hash[:8])


def edit(app: Any, table: str, row: int, **cells: Any) -> Any:
    key = f"slurm-{table}-{app.session_state['scenario_hash'][:8]}"
    resets = app.session_state.to_dict().get(f"{key}-round", 0)
    app.session_state[f"{key}-{resets}"] = {"edited_rows": {row: cells}, "added_rows": [], "deleted_rows": []}
    return app.run()


def shown(app: Any) -> str:
    return "\n".join(part.value for part in [*app.markdown, *app.error, *app.code]).replace("\\", "")


def current(app: Any, store: Any) -> Scenario:
    scenario: Scenario = store.get_scenario(app.session_state["scenario_hash"])
    return scenario


def test_without_settings_the_commands_are_shown(open_page: Any, store: Any) -> None:
    app = opened(open_page, store, ())
    assert not app.exception
    assert "No settings of Slurm" in shown(app)
    assert "sacctmgr show assoc tree -P" in shown(app)
    app.button(key="slurm-empty").click().run()
    assert not app.exception
    assert "Not saved yet: Slurm's defaults" in shown(app)
    app = edit(app, "options", 1, value="1000")
    assert "Not saved yet: 1 option" in shown(app)
    app.button(key="slurm-save").click().run()
    saved = current(app, store)
    assert saved.slurm is not None
    assert saved.slurm.options.PriorityWeightAge == 1000
    assert any(one.words == "Slurm: settings entered by hand" for one in saved.assumptions)


def test_what_was_read_is_shown_and_edited(open_page: Any, store: Any) -> None:
    app = opened(open_page, store, FILES)
    assert not app.exception
    assert "Saved: 21 options, 2 partitions, 2 QOS, 4 accounts, 2 users, 1 reservation, 2 node weights" in shown(app)
    assert app.button(key="slurm-save").disabled
    app = edit(app, "partitions", 0, MaxTime="3-0")
    assert not app.exception
    assert "Not saved yet" in shown(app)
    app.button(key="slurm-save").click().run()
    saved = current(app, store)
    assert saved.slurm is not None
    assert saved.slurm.partitions[0].MaxTime_s == 3 * 86400
    assert len(saved.slurm.reservations) == 1
    assert next(one for one in saved.assumptions if one.kind == "slurm").text.endswith("Then changed by hand")


@pytest.mark.parametrize(
    ("table", "cells", "message"),
    [
        ("options", {"value": "many"}, "cannot be 'many'"),
        ("qos", {"MaxWall": "soon"}, "'soon' cannot be read"),
        ("accounts", {"Share": "x"}, "share x"),
        ("reservations", {"to day": 0.0}, "must be after day"),
    ],
)
def test_a_mistake_names_its_cell(open_page: Any, store: Any, table: str, cells: dict[str, Any], message: str) -> None:
    app = edit(opened(open_page, store, FILES), table, 0, **cells)
    assert not app.exception
    assert message in shown(app)


def test_one_click_says_that_slurm_runs_here(open_page: Any, store: Any) -> None:
    app = opened(open_page, store, FILES)
    app.button(key="slurm-today").click().run()
    assert not app.exception
    assert "Slurm runs here today: other policies are compared with it" in shown(app)
    assert "slurm-today" not in {button.key for button in app.button}


def test_settings_are_removed(open_page: Any, store: Any) -> None:
    app = opened(open_page, store, FILES)
    app.button(key="slurm-remove").click().run()
    assert not app.exception
    assert current(app, store).slurm is None
    assert "No settings of Slurm" in shown(app)
