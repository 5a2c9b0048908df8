"""The Run page offers the elastic policies for any scenario, with their parameters."""

from __future__ import annotations

import pytest

from dlsched.policies.elastic_queueing import ELASTIC
from tests.support.runs_for_store import small_scenario


@pytest.fixture
def page(open_page, store):
    saved = store.save_scenario(small_scenario())
    return open_page("simulate/run.py", scenario=saved.scenario_hash[:8])


def test_the_seven_can_be_ticked_and_lack_nothing(page):
    assert not page.exception
    assert "Elastic: change the width" in [part.value for part in page.subheader]
    boxes = [page.checkbox(key=f"policy-{spec.key}-False") for spec in ELASTIC]
    assert [box.label for box in boxes] == [spec.label for spec in ELASTIC]
    assert not any(box.disabled or box.value for box in boxes)
    assert not any("Needs" in part.value for part in page.markdown if "Knows remaining work and speed-up" in part.value)


def test_their_parameters_become_a_form(page):
    app = page.checkbox(key="policy-knee-moldable-False").check().run()
    app = app.checkbox(key="policy-jsq-chunk-False").check().run()
    assert not app.exception
    labels = {field.label for field in [*app.number_input, *app.checkbox, *app.toggle]}
    assert {"Alpha low", "Alpha high", "Load", "Gamma", "Blocking", "Chunk"} <= {
        label.split(",")[0] for label in labels
    }
