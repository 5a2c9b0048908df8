"""Training jobs on the page Jobs: the sample and the generator make whole scenarios."""

import pytest

from dlsched.ui.scenario import samples
from dlsched.workload.studies.hell_knee import StreamSpec, sample_stream, stream_scenario
from tests.support.assumptions import words_of
from tests.support.known import known
from tests.support.page_text import kept, shown

KIND = "Training jobs on a cluster (HELL/KNEE study)"


@pytest.fixture
def form(open_page):
    app = open_page("scenario/jobs.py", source="Generate")
    return app.segmented_control(key="gen-kind").set_value(KIND).run()


def test_the_sample_is_two_clicks_away(open_page, store):
    app = open_page("home/home.py")
    app = app.button(key="start-stream").click().run()
    assert not app.exception
    assert app.title[0].value == "Jobs"
    app = app.switch_page("pages/scenario/jobs.py").run()  # the test's next click would go to Start
    assert app.radio(key="sample").value == samples.STREAM.label
    assert "100 nodes of one GPU train four networks" in shown(app).replace("*", "")
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Cluster"
    assert kept(store).content_hash == sample_stream().content_hash
    assert kept(store).data_kind == "example"


def test_the_form_begins_with_the_study(form):
    assert not form.exception
    assert form.button(key="use-jobs").label == "Use these 4,000 jobs"
    # 860.8 h alone on one node; one every 860.8 h / (0.7 x 100)
    assert "takes 35 d 21 h on average; one arrives every 12 h 18 min" in shown(form).replace("*", "")
    table = form.dataframe[0].value
    assert list(table["Network"]) == ["NiN", "GoogLeNet", "AlexNet", "VGG19"]
    assert list(table["Run time on one node, mean"])[2] == "11 d 20 h"
    assert list(table.iloc[2])[2:] == ["2.7x", "4.4x", "4.7x"]


def test_the_form_makes_a_whole_scenario(form, store):
    app = form.number_input(key="stream-nodes").set_value(30).run()
    app = app.number_input(key="stream-jobs").set_value(50).run()
    app = app.text_input(key="stream-load").set_value("40%").run()
    app = app.segmented_control(key="stream-networks").set_value("large").run()
    app = app.selectbox(key="stream-network_model").set_value("exact").run()
    app = app.number_input(key="stream-seed").set_value(6).run()
    assert not app.exception
    assert not app.error
    assert list(app.dataframe[0].value.columns)[2:] == ["Speed-up on 4 nodes", "Speed-up on 10 nodes"]
    app = app.button(key="use-jobs").click().run()
    assert app.title[0].value == "Cluster"
    made = kept(store)
    spec = StreamSpec.model_validate(
        {"nodes": 30, "jobs": 50, "load": 0.4, "networks": "large", "network_model": "exact"}
    )
    assert made.content_hash == stream_scenario(spec, 6).content_hash
    assert (made.cluster.num_nodes, made.cluster.num_gpus, made.data_kind) == (30, 30, "generated")
    assert known(made.speed.times).most_gpus == 30
    assert "30 nodes" in shown(app)


def test_a_job_mix_after_it_runs_without_its_speed_curves(form, store):
    app = form.number_input(key="stream-jobs").set_value(20).run()
    app = app.button(key="use-jobs").click().run()
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.segmented_control(key="source").set_value("Generate").run()
    app = app.segmented_control(key="gen-kind").set_value("Job mix").run()
    assert not app.exception
    app.button(key="use-jobs").click().run()
    assert kept(store).speed.kind == "rigid"
    assert words_of(kept(store)) == ()
