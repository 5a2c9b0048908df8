"""Elastic training on the page Jobs: the synthetic trace, and the scenario's jobs on whole nodes."""

import pytest

from dlsched.ui.scenario import samples
from dlsched.ui.scenario.drawn import OWN
from dlsched.wording.formats import number
from dlsched.workload.studies.modelarts import (
    VARIANTS,
    ModelArtsSpec,
    modelarts_scenario,
    on_whole_nodes,
    sample_elastic,
)
from tests.support.known import known
from tests.support.page_text import kept, shown

KIND = "Elastic training (ModelArts study)"


@pytest.fixture
def form(open_page):
    app = open_page("scenario/jobs.py", source="Generate")
    return app.segmented_control(key="gen-kind").set_value(KIND).run()


def test_the_sample_is_two_clicks_away(open_page, store):
    app = open_page("home/home.py")
    app = app.button(key="start-elastic").click().run()
    assert not app.exception
    assert app.title[0].value == "Jobs"
    app = app.switch_page("pages/scenario/jobs.py").run()  # the test's next click would go to Start
    assert app.radio(key="sample").value == samples.ELASTIC.label
    assert "110 nodes of 8 GPUs" in shown(app).replace("*", "")
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Cluster"
    assert kept(store).content_hash == sample_elastic().content_hash
    assert kept(store).data_kind == "example"


def test_the_form_begins_with_the_published_trace(form):
    assert not form.exception
    assert not form.error
    assert form.button(key="use-jobs").label == "Use these 1,252 jobs"
    words = shown(form).replace("*", "")
    hours = modelarts_scenario(ModelArtsSpec(), 1).workload.work.sum() / 3600
    mean_nodes = hours * 3600 / 178_898
    assert f"the jobs need {number(hours)} node-hours, which would keep {number(mean_nodes)} nodes busy while" in words
    assert "the cluster has 70." in words
    assert "1.6 times as fast" in words


def test_the_form_makes_a_whole_scenario(form, store):
    app = form.number_input(key="elastic-nodes").set_value(30).run()
    app = app.number_input(key="elastic-jobs").set_value(200).run()
    app = app.segmented_control(key="elastic-only_long").set_value(True).run()
    app = app.number_input(key="elastic-load_scale").set_value(2.0).run()
    app = app.selectbox(key="elastic-max_nodes").set_value(8).run()
    app = app.selectbox(key="elastic-variant").set_value("mishaps").run()
    app = app.number_input(key="elastic-seed").set_value(6).run()
    assert not app.exception
    assert not app.error
    app = app.button(key="use-jobs").click().run()
    assert app.title[0].value == "Cluster"
    made = kept(store)
    spec = ModelArtsSpec(nodes=30, jobs=200, only_long=True, load_scale=2, max_nodes=8)
    assert made.content_hash == modelarts_scenario(spec, 6, options=VARIANTS["mishaps"]).content_hash
    assert (made.cluster.num_nodes, made.cluster.num_gpus, made.data_kind) == (30, 240, "generated")


def test_the_jobs_of_the_scenario_on_whole_nodes(form, store):
    before = kept(store)
    app = form.segmented_control(key="elastic-source").set_value(OWN).run()
    app = app.number_input(key="elastic-own-nodes").set_value(40).run()
    app = app.selectbox(key="elastic-max_nodes").set_value(4).run()
    assert not app.exception
    assert "GPUs become whole nodes of 8" in shown(app)
    app = app.button(key="use-jobs").click().run()
    made = kept(store)
    assert made.content_hash == on_whole_nodes(before, 40, 4).content_hash
    assert made.name == f"{before.name}, whole nodes"
    assert (made.cluster.num_nodes, known(made.workload.min_workers).max()) == (40, 1)


def test_a_trace_without_long_jobs_says_so(form):
    app = form.number_input(key="elastic-jobs").set_value(1).run()
    app = app.segmented_control(key="elastic-only_long").set_value(True).run()
    seeds = (app.number_input(key="elastic-seed").set_value(seed).run() for seed in range(20))
    refused = next(app for app in seeds if app.error)
    assert not refused.exception
    assert "trains for 5 minutes" in shown(refused)
    assert refused.button(key="use-none").disabled
