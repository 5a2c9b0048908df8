"""Jobs with parameter servers on the pages Start and Workload."""

import numpy as np
import pytest

from dlsched.domain.scenario import SpeedSpec
from dlsched.ui.scenario import samples
from dlsched.ui.scenario.drawn import SERVERS
from dlsched.ui.scenario.jobs import shown_columns
from dlsched.wording.formats import duration, share
from dlsched.wording.resources import (
    amounts_of,
    asked_of,
    asked_words,
    gang_words,
    scarcest,
    scarcest_card,
    servers_words,
)
from dlsched.workload.studies.smd import ServerJobsSpec, sample_server_jobs, server_jobs_scenario
from tests.support.known import known
from tests.support.page_text import kept, shown
from tests.support.server_scenarios import machines, training, with_servers


@pytest.fixture
def form(open_page):
    app = open_page("scenario/jobs.py", source="Generate")
    return app.segmented_control(key="gen-kind").set_value(SERVERS.label).run()


def test_the_sample_is_two_clicks_away(open_page, store):
    app = open_page("home/home.py")
    app = app.button(key="start-servers").click().run()
    assert not app.exception
    assert app.title[0].value == "Jobs"
    app = app.switch_page("pages/scenario/jobs.py").run()  # the test's next click would go to Start
    assert app.radio(key="sample").value == samples.SERVERS.label
    words = shown(app).replace("*", "")
    assert "50 jobs with parameter servers arrive at once; 3 units of capacity" in words
    asked = asked_of(sample_server_jobs())
    assert f"50 jobs at once ask for {share(asked['gpus'])} of 1,800 GPUs" in words
    assert servers_words(sample_server_jobs()).replace("*", "") in words
    assert {metric.label: metric.value for metric in app.metric}["Requested at once"] == "552% of memory"
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Cluster"
    assert kept(store).content_hash == sample_server_jobs().content_hash
    assert kept(store).data_kind == "example"


def test_what_the_sample_asks_for_is_counted():
    jobs, units = sample_server_jobs().workload, 3
    memory = known(jobs.mem_gib_per_worker) * jobs.workers + known(jobs.mem_gib_per_server) * known(jobs.servers)
    assert asked_of(sample_server_jobs())["mem_gib"] == pytest.approx(memory.sum() / (units * 1400))


def test_jobs_that_come_one_by_one_are_told_by_their_load():
    # steps of 6 s: a holds 2 GPUs and 5 CPUs for 60 s, b as much, over 100 s of 8 GPUs and 32 CPUs
    scenario = with_servers(training((0, 10, 2, 1), (100, 10, 2, 1)), machines(1))
    words = servers_words(scenario).replace("*", "")
    assert words == (
        "The jobs ask for 4 workers and 2 parameter servers in all; the longest runs 1 min with that. "
        "While they arrive, they ask for 30% of the GPUs and 18.8% of the CPUs."
    )


def test_the_form_makes_a_whole_scenario(form, store):
    assert not form.exception
    assert not form.error
    assert form.button(key="use-jobs").label == "Use these 50 jobs"
    app = form.number_input(key="servers-jobs").set_value(30).run()
    app = app.number_input(key="servers-units").set_value(2).run()
    app = app.segmented_control(key="servers-updates").set_value("sync").run()
    app = app.selectbox(key="servers-overlap").set_value("priority").run()
    app = app.segmented_control(key="servers-forward_per").set_value("mini-batch").run()
    app = app.number_input(key="servers-intervals").set_value(4).run()
    app = app.text_input(key="servers-interval_s").set_value("30 min").run()
    app = app.number_input(key="servers-instance_cpus").set_value(16.0).run()
    app = app.number_input(key="servers-seed").set_value(6).run()
    assert not app.exception
    assert not app.error
    app = app.button(key="use-jobs").click().run()
    assert app.title[0].value == "Cluster"
    spec = ServerJobsSpec(
        jobs=30, units=2, updates="sync", overlap="priority", forward_per="mini-batch", intervals=4, interval_s=1800,
        instance_cpus=16,
    )  # fmt: skip
    assert kept(store).content_hash == server_jobs_scenario(spec, 6).content_hash
    assert (kept(store).options.placement, kept(store).options.slot_s) == ("pool", 1800)


def test_the_table_says_what_columns_mean_and_hides_what_says_nothing():
    columns = shown_columns(sample_server_jobs())
    assert columns["work"] == "Training steps"
    assert (columns["servers"], columns["limit_mem_gib"]) == ("Parameter servers", "Limit, memory (GiB)")
    assert columns["worker_overhead_s"] == "Step: per worker (s)"
    assert "batch_s" not in columns  # asynchronous jobs share no part of a step
    assert "batch_s" in sample_server_jobs().workload.columns()
    empty = with_servers(training((0, 1, 1, 1), workers_per_server=[np.nan]))
    assert "workers_per_server" not in shown_columns(empty)


def test_run_times_on_the_page_are_seconds_and_not_steps(form):
    jobs = server_jobs_scenario(ServerJobsSpec(), 1).workload
    pairs = jobs.workers  # as many servers as workers, each worker on its own
    step_s = known(jobs.step_s) + known(jobs.transfer_s)
    step_s = step_s + (known(jobs.worker_overhead_s) + known(jobs.server_overhead_s)) * pairs
    median_s = float(np.median(jobs.work * step_s / pairs))
    assert {metric.label: metric.value for metric in form.metric}["Run time, median"] == duration(median_s)


@pytest.mark.parametrize(
    ("workers", "servers", "words"),
    [(3, 2, "3 workers, 2 servers"), (1, 0, "1 worker"), (0, 1, "1 server")],
    ids=["both", "no server", "no worker"],
)
def test_gangs_in_words(workers, servers, words):
    assert gang_words(workers, servers) == words


def test_a_job_mix_does_not_take_over_step_times(form, store):
    app = form.button(key="use-jobs").click().run()
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.segmented_control(key="source").set_value("Generate").run()
    app = app.segmented_control(key="gen-kind").set_value("Job mix").run()
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert kept(store).speed.kind == "rigid"


def test_the_scarcest_resource_is_named_with_what_is_asked_of_it():
    at_once = with_servers(training((0, 10, 2, 1), (0, 20, 3, 1)))
    assert amounts_of(at_once, "cpus").tolist() == [5, 7]
    assert scarcest(at_once) == ("gpus", 5 / 8)
    assert asked_words(at_once) == "asked 62.5% of GPUs"
    one_by_one = with_servers(training((0, 10, 2, 1), (100, 10, 2, 1)), machines(1, cpus=10.0))
    assert asked_words(one_by_one) == "load 60% of CPUs"  # 2 x 5 CPUs x 60 s of 10 CPUs x 100 s
    assert known(scarcest_card(one_by_one))[:2] == ("Load", "60% of CPUs")
    assert scarcest(at_once.replace(workload=at_once.workload.with_columns(servers=None), speed=SpeedSpec())) is None


def test_the_bar_and_the_cluster_name_the_scarcest_resource(open_page, store):
    saved = store.save_scenario(sample_server_jobs())
    app = open_page("scenario/cluster.py", scenario=saved.scenario_hash[:8])
    assert not app.exception
    assert {metric.label: metric.value for metric in app.metric}["Requested at once"] == "552% of memory"
    assert "asked 552% of memory" in shown(app)  # the bar on top
