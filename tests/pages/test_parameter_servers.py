"""The part Parameter servers of Speed-up: a described job, jobs of a scenario, wrong units, faults that are told."""

from __future__ import annotations

import pytest

from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session
from dlsched.ui.lab.parameter_servers import LAYERS, SPLIT, VIEW
from dlsched.workload.described_job import COLUMNS
from dlsched.workload.studies.smd import ServerJobsSpec, sample_server_jobs, server_jobs_scenario
from tests.support.page_text import kept, shown
from tests.support.server_scenarios import machines, training, with_servers

PAGE = "lab/speed_up.py"
PART = {"part": "Parameter servers"}
OPTIMUS = "With the same admission rule Optimus is within 0.5% of SMD."


def cards(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def layers(app):
    return app.segmented_control(key=VIEW).set_value(LAYERS).run()


def keep(scenario: Scenario) -> str:
    session.store().save_scenario(scenario)
    return scenario.content_hash[:8]


def faults(app) -> list[str]:
    assert not app.exception
    return [error.value.replace("\\", "") for error in app.error]


def test_opens_with_the_answer_for_a_described_job(open_page):
    app = open_page(PAGE, **PART)
    assert not app.exception
    assert not app.error
    assert app.header[0].value.replace("\\", "") == (
        "7 workers and 9 servers finish in 13 h 58 min; equal numbers take 14 h 20 min; one more server would take "
        "13 h 42 min, but the limit on CPUs forbids it; one more worker does not help."
    )
    assert cards(app) == {
        "Best, SMD": "13 h 58 min", "Equal numbers, ESW": "14 h 20 min", "Optimus": "13 h 58 min",
        "Limit used, CPUs": "100%",
    }  # fmt: skip
    assert OPTIMUS in shown(app)
    assert "example layers" in shown(app)
    assert "on one worker" not in shown(app)
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Generate such jobs"]
    app = layers(app)
    assert "6 layers, on one worker" in shown(app)
    assert app.header[0].value.startswith("On one worker an iteration takes 2 s with one step after the other, ")
    assert not app.metric


def test_a_link_opens_the_same_job(open_page):
    app = open_page(
        PAGE, **PART, ps_updates="asynchronous", ps_overlap="priority", ps_steps="1000", ps_samples="64",
        ps_gpus_limit="3", ps_layers="Drawn", ps_seed="5", ps_alpha="0.25",
    )  # fmt: skip
    assert not app.exception
    assert app.number_input(key="ps_alpha").value == 0.25
    assert app.number_input(key="ps_samples").label == "Mini-batch, samples"
    assert app.header[0].value.startswith("3 workers and ")
    assert "generated, seed 5" in shown(app)
    assert "This job uses: transfers by priority." in shown(layers(app))


def test_tables_have_the_numbers_of_the_charts(open_page):
    app = open_page(PAGE, **PART)
    app = app.toggle(key="table-split").set_value(True).run()
    assert not app.exception
    table = next(frame.value for frame in app.dataframe if "forbidden by" in frame.value)
    best = table[(table["workers"] == 7) & (table["servers"] == 9)]
    assert best["time (s)"].iloc[0] == pytest.approx(50_284.6, abs=0.1)
    assert table.loc[(table["workers"] == 8) & (table["servers"] == 9), "forbidden by"].tolist() == ["limit on CPUs"]
    app = layers(app).toggle(key="table-layers-2").set_value(True).run()
    assert any("what" in frame.value and len(frame.value) > 24 for frame in app.dataframe)


def test_a_unit_of_time_in_which_all_is_worth_nothing_is_told(open_page):
    app = open_page(PAGE, **PART)
    assert "Worth 13.6 of 50" in shown(app)
    app = app.number_input(key="ps_slope").set_value(5.0).run()
    app = app.selectbox(key="ps_unit").set_value("seconds").run()
    assert not app.exception
    assert app.number_input(key="ps_slope").value == 5.0
    assert "Every job is worth 0 in this time unit (seconds): use hours." in shown(app)
    app = app.selectbox(key="ps_unit").set_value("days").run()
    assert "Every job" not in shown(app)
    assert not app.warning


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("ps_gbps", 0.0, "bandwidth\nmust be above 0 Gbit/s, got 0"),
        ("ps_cpus_limit", 7.0, "CPUs\none worker and one server need 8 together; the limit is 7"),
        ("ps_gpus_worker", 13.0, "GPUs\none worker and one server need 13 together; the limit is 12"),
    ],
    ids=["bandwidth", "small-limit", "large-worker"],
)
def test_bad_numbers_get_one_message_and_the_page_goes_on(open_page, key, value, message):
    app = open_page(PAGE, **PART)
    before = app.number_input(key=key).value
    app = app.number_input(key=key).set_value(value).run()
    (told,) = faults(app)
    assert told.replace("**", "").replace("  \n", "\n").startswith(message)
    assert not app.metric
    app = app.number_input(key=key).set_value(before).run()
    assert not app.error
    assert cards(app)["Best, SMD"] == "13 h 58 min"


def test_no_limits_are_said(open_page):
    app = open_page(PAGE, **PART)
    for name in ("gpus", "cpus", "mem"):
        app.number_input(key=f"ps_{name}_limit").set_value(0.0)
    app = app.run()
    assert not app.exception
    assert not app.error
    assert "Nothing limits the workers and servers of this job: up to 1,000 were tried" in shown(app)
    assert cards(app)["Limit used"] == "–"
    assert "workers of up to 1,000" in shown(app)


def test_edited_layers_change_the_answer_and_a_negative_time_is_told(open_page):
    app = open_page(PAGE, **PART)
    app.session_state["ps-table-example-0"] = {
        "edited_rows": {0: {COLUMNS[0]: 900.0}}, "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    app = app.run()
    assert not app.exception
    assert cards(app)["Best, SMD"] != "13 h 58 min"
    assert "6 layers typed in" in shown(app)
    app.session_state["ps-table-example-0"] = {
        "edited_rows": {2: {COLUMNS[1]: -80.0}}, "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    app = app.run()
    (told,) = faults(app)
    assert "layer 3, backward" in told
    assert "got -80" in told


def test_layers_from_a_file_and_a_bad_one(open_page):
    app = open_page(PAGE, **PART, ps_layers="Upload")
    assert not app.exception
    text = "forward,backward,transfer\n100,50,40\n100,50,40\n"
    app = app.file_uploader(key="ps-layers").upload("net.csv", text.encode(), "text/csv").run()
    assert not app.exception
    assert "layers of net.csv" in shown(app)
    app = layers(app)
    assert "2 layers, on one worker" in shown(app)
    app = app.file_uploader(key="ps-layers").upload("bad.csv", b"a,b\n1,2\n", "text/csv").run()
    (told,) = faults(app)
    assert "no column 'forward'" in told


def test_without_servers_in_the_scenario_the_sample_is_one_click_away(open_page, store):
    app = open_page(PAGE, **PART, ps_source="Job of the scenario")
    assert not app.exception
    assert "No job of this scenario has parameter servers" in shown(app)
    assert [button.label for button in app.button if button.proto.type == "primary"] == [
        "Open the sample: 50 jobs with parameter servers"
    ]
    app = app.button(key="ps-sample").click().run()
    assert not app.exception
    assert kept(store).workload.has_servers
    assert app.selectbox(key=f"ps-job-{sample_server_jobs().content_hash[:8]}").value == 0
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Next: run policies"]


def test_jobs_of_a_generated_scenario_have_their_layers(open_page):
    tag = keep(sample_server_jobs())
    app = open_page(PAGE, **PART, scenario=tag, job="3")
    assert not app.exception
    assert app.header[0].value.startswith(
        "20 workers and 10 servers finish in 1 h 38 min; equal numbers take 2 h 27 min"
    )
    assert "generated, seed 1" in shown(app)
    assert "Worth 94.1 of 94.1 when it starts at once" in shown(app)
    app = app.selectbox(key=f"ps-job-{tag}").set_value(1).run()
    assert app.query_params["job"] == "1"
    assert app.header[0].value.startswith("8 workers and 8 servers")
    assert "layers, on one worker; of more than 20 layers" in shown(layers(app))
    unknown = open_page(PAGE, **PART, scenario=tag, job="999")
    assert not unknown.exception
    assert unknown.selectbox(key=f"ps-job-{tag}").value == 0


def test_a_synchronous_batch_in_hours_is_told_to_use_days(open_page):
    scenario = server_jobs_scenario(ServerJobsSpec(jobs=5, updates="sync"), 2)
    options = scenario.options.model_copy(update={"utility_unit_s": 1.0})
    app = open_page(PAGE, **PART, scenario=keep(scenario.replace(options=options)))
    assert not app.exception
    assert "Every job is worth 0 in this time unit (seconds): use " in shown(app)


def test_layers_of_other_jobs_are_not_known_and_faults_of_a_job_are_told(open_page):
    jobs = training((0, 10, 2, 1), (0, 10, 2, 1), limit_gpus=[4.0, 0.5], workers_per_server=[2.0, 2.0])
    tag = keep(with_servers(jobs, machines(1, gpus=8, cpus=32.0)))
    app = open_page(PAGE, **PART, scenario=tag)
    assert not app.exception
    assert app.header[0].value.startswith("4 workers and 24 servers")
    assert "These jobs have no utility" in shown(app)
    assert "The layers of this job are not known" in shown(layers(app))
    app = app.segmented_control(key=VIEW).set_value(SPLIT).run()
    app = app.selectbox(key=f"ps-job-{tag}").set_value(1).run()
    (told,) = faults(app)
    assert "one worker and one server need 1 together; the limit is 0.5" in told
    app = app.selectbox(key=f"ps-job-{tag}").set_value(0).run()
    assert not app.error


def test_a_scenario_of_such_jobs_without_times_of_steps_says_what_to_fill(open_page):
    jobs = training((0, 10, 2, 1), batch_s=[0.0], step_s=[0.0], transfer_s=[0.0])
    app = open_page(PAGE, **PART, scenario=keep(with_servers(jobs)))
    (told,) = faults(app)
    assert "has no times of a training step" in told
