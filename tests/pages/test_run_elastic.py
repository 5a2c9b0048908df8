"""The Run page offers the elastic policies for any scenario, with their parameters."""

from __future__ import annotations

import pytest

from dlsched.policies.elastic_queueing import ELASTIC
from tests.support.runs_for_store import small_scenario


@pytest.fixture
def page(open_page, store):
    saved = store.save_scenario(small_scenario())
    return open_page("simulate/run.py", scenario=saved.scenario_hash[:8])


def test_the_seven_are_offered_and_lack_nothing(page):
    app = page.button(key="more-policies").click().run()
    assert not app.exception
    assert "Elastic jobs (change GPU count while running)" in [part.value for part in app.subheader]
    boxes = [app.checkbox(key=f"more-{spec.key}") for spec in ELASTIC]
    assert [box.label for box in boxes] == [f"**{spec.label}**" for spec in ELASTIC]
    assert not any(box.disabled or box.value for box in boxes)


def test_their_parameters_become_a_form(page):
    page.query_params["policies"] = "knee-moldable,jsq-chunk"
    app = page.run()
    assert not app.exception
    assert app.button(key="run-now").label == "Run 2 policies"
    labels = {field.label for field in [*app.number_input, *app.checkbox, *app.toggle]}
    assert {"Alpha low", "Alpha high", "Load", "Gamma", "Blocking", "Chunk"} <= {
        label.split(",")[0] for label in labels
    }
