"""Which policies the Run page offers first, and what they lack."""

import pytest

from dlsched.ui.policy_choice import ELASTIC_FIVE, has_curves, usual
from dlsched.workload.generators import StreamSpec
from dlsched.workload.streams import stream_scenario
from tests.support.runs_for_store import small_scenario


@pytest.fixture
def stream(open_page, store):
    """The page on a few jobs with speed curves on fixed nodes."""
    saved = store.save_scenario(stream_scenario(StreamSpec(nodes=8, jobs=10)))
    return open_page("run/run.py", scenario=saved.scenario_hash[:8])


def test_jobs_with_speed_curves_are_met_by_elastic_policies_first(stream):
    assert not stream.exception
    assert stream.subheader[0].value == "Elastic: change the width"
    ticked = {key for key in ELASTIC_FIVE if stream.checkbox(key=f"policy-{key}-False-curves").value}
    assert ticked == set(ELASTIC_FIVE)
    assert stream.button(key="run-now").label.startswith("Run 5 policies")


def test_what_a_whole_group_lacks_is_told_once(stream):
    told = [part.value for part in stream.markdown if "Needs due dates" in part.value]
    renting = [box for box in stream.checkbox if box.key.startswith("policy-gpuaas-")]
    assert len(renting) > 5
    assert all(box.disabled for box in renting)
    # once for all who rent, once for EDF of the everyday policies
    assert len(told) == 2
    app = stream.button(key="fill-pay less-DUE").click().run()
    assert not app.exception
    assert not [part.value for part in app.markdown if "Needs due dates" in part.value]


def test_with_fixed_widths_elastic_policies_say_that_they_only_order(open_page, store):
    rigid = small_scenario()
    assert not has_curves(rigid)
    assert "fifo" in usual(rigid)
    saved = store.save_scenario(rigid)
    app = open_page("run/run.py", scenario=saved.scenario_hash[:8])
    assert any("can only choose the order" in part.value for part in app.markdown)
