"""The part Throughput of Speed-up: four timings, example networks, measurements; what jobs get; faults."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.speed.queueing import StepTimes, throughput
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import session
from dlsched.ui.lab import stream_network
from dlsched.workload.profiles.demo_throughput import demo_csv
from dlsched.workload.studies.hell_knee import TABLE_III
from tests.support.assumptions import words_of
from tests.support.page_text import shown

PAGE = "lab/speed_up.py"
UPLOAD = {"source": "Upload"}
PAPER = StepTimes(worker_s=0.029, uplink_s=0.072, server_s=0.018, downlink_s=0.072)


def card(app, label: str) -> str:
    return next(metric.value for metric in app.metric if metric.label == label)


def rows(rates, name: str = "net") -> str:
    return "name,workers,throughput\n" + "".join(
        f"{name},{workers},{rate:.5f}\n" for workers, rate in enumerate(rates, start=1)
    )


@pytest.fixture
def drop(open_page):
    def dropped(content: str | bytes, name: str = "runs.csv", **params: str):
        app = open_page(PAGE, **UPLOAD, **params)
        raw = content.encode() if isinstance(content, str) else content
        return app.file_uploader(key="measurements").upload(name, raw, "text/csv").run()

    return dropped


def keep(gpus: tuple[int, ...] = (1, 2, 4), nodes: int = 8) -> Scenario:
    columns = {"job_id": [f"j{i}" for i in range(len(gpus))], "submit_s": [0] * len(gpus), "work": [100] * len(gpus)}
    node = VmType(name="K520 node", gpu_type="K520", gpus=1)
    jobs = Workload.from_columns(columns | {"workers": list(gpus)})
    scenario = Scenario(jobs, Cluster(pools=(Pool(vm=node, count=nodes),)), name="mine")
    session.store().save_scenario(scenario)
    return scenario


def test_opens_with_an_answer(open_page):
    app = open_page(PAGE)
    assert not app.exception
    assert app.header[0].value.replace("\\", "") == (
        "Beyond 4 nodes (3 workers) each adds under 10%; the links are the limit (2.7x). "
        "KNEE stops at 8 nodes (7 workers), HELL stops at 4 nodes (3 workers)."
    )
    assert [(metric.label, metric.value) for metric in app.metric] == [
        ("Speed-up, HELL", "2.2x"), ("Knee", "8 nodes"), ("Limit of the speed-up", "2.7x"), ("Bottleneck", "Links"),
    ]  # fmt: skip
    primary = [button.label for button in app.button if button.proto.type == "primary"]
    assert primary == ["Use this curve for my jobs"]


def test_a_link_opens_the_same_curve(open_page):
    app = open_page(
        PAGE, worker_ms="100", uplink_ms="5", server_ms="40", downlink_ms="5", links="exact", most_nodes="30",
        servers="2", alpha="0.05", shared="true",
    )  # fmt: skip
    assert not app.exception
    assert app.number_input(key="server_ms").value == 40
    assert app.segmented_control(key="links").value == "exact"
    assert card(app, "Bottleneck") == "Server"
    assert card(app, "Limit of the speed-up") == "7.5x"  # 150 ms over 40 ms / 2
    assert "exact network" in shown(app)
    assert "servers cost their nodes nothing" in shown(app)
    assert "workers)" not in app.header[0].value  # every node has a worker


def test_alpha_moves_the_knee(open_page):
    app = open_page(PAGE)
    app = app.slider(key="alpha").set_value(0.06).run()
    assert card(app, "Knee") == "4 nodes"
    assert not app.exception


def test_all_four_times_zero_get_one_message_and_no_chart(open_page):
    app = open_page(PAGE)
    for name in ("worker_ms", "uplink_ms", "server_ms"):
        app.number_input(key=name).set_value(0.0)
    app = app.number_input(key="downlink_ms").set_value(0.0).run()
    assert not app.exception
    assert len(app.error) == 1
    assert "the four times must sum to" in shown(app)
    assert not app.metric
    assert app.button(key="use-none").disabled
    app = app.number_input(key="worker_ms").set_value(5.0).run()
    assert not app.error
    assert card(app, "Bottleneck") == "Workers"
    assert card(app, "Limit of the speed-up") == "none"


def test_networks_of_the_study_and_other_nodes(open_page):
    app = open_page(PAGE, source="Example network")
    assert not app.exception
    assert card(app, "Limit of the speed-up") == "4.9x"  # AlexNet: 9.68 s over 1.992 s
    assert "Table III, 1 Gbit/s, 1.229 TFLOP/s, batches of 1,024" in shown(app)
    app = app.number_input(key="gbit").set_value(10.0).run()
    assert card(app, "Limit of the speed-up") == "30.6x"  # (5.696 + 2 x 0.1992) / 0.1992
    assert "Table III, other nodes than in the study" in shown(app)


def test_examples_a_second_are_told_where_the_batch_is_given(open_page):
    app = open_page(PAGE)
    app.number_input(key="examples").set_value(10)
    app = app.toggle(key="table-throughput").set_value(True).run()
    table = app.dataframe[0].value
    assert table["examples/s, hybrid"][3] == pytest.approx(113.77, abs=0.01)
    assert table["workers"].tolist()[:4] == [1, 1, 2, 3]


def test_upload_is_empty_at_first_and_offers_an_example(open_page):
    app = open_page(PAGE, **UPLOAD)
    assert not app.exception
    assert "Needed are workers and throughput at three numbers of workers or more" in shown(app)
    assert app.button(key="use-none").disabled
    assert not app.metric
    app = app.button(key="throughput-example").click().run()
    assert not app.exception
    assert "generated measurements" in shown(app)
    assert card(app, "Bottleneck") == "Links or server"
    (series,) = [box for box in app.selectbox if box.label == "Series"]
    assert series.options == ["small batch", "large batch"]
    knee = card(app, "Knee")
    app = series.set_value("large batch").run()
    assert not app.exception
    assert card(app, "Knee") != knee


def test_measured_series_are_fitted_and_the_errors_told(drop):
    app = drop(rows(throughput(PAPER, 10, "hybrid")))
    assert not app.exception
    assert not app.error
    fit = next(frame.value for frame in app.dataframe if "error, mean (%)" in frame.value)
    errors = dict(zip(fit["network"], fit["error, mean (%)"], strict=True))
    assert errors["hybrid"] == 0
    assert errors["exact"] > 1
    assert "Throughput does not separate uplink from downlink" in shown(app)
    assert "extrapolated beyond 10 workers" in shown(app)
    assert not app.warning
    app = app.toggle(key="table-throughput").set_value(True).run()
    table = next(frame.value for frame in app.dataframe if "measured (mini-batches/s)" in frame.value)
    assert table["error, hybrid (%)"].dropna().max() < 0.01
    assert table["error, hybrid (%)"].notna().sum() == 11  # one worker counts on one node and on two


def test_synchronous_measurements_that_do_not_fit_say_so_and_begin_with_the_measured_curve(drop):
    step = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n" + "".join(
        f"{nodes},{nodes},32,{seconds},0.1\n" for nodes, seconds in ((1, 1.0), (2, 9.0), (4, 1.5), (8, 16.0), (16, 2.0))
    )
    app = drop(step)
    assert not app.exception
    assert "An asynchronous model misses these synchronous measurements by" in shown(app)
    assert "use the measured curve" in shown(app)
    curve = next(control for control in app.segmented_control if control.label == "Curve")
    assert curve.value == "measured"
    assert "(1 worker)" not in app.header[0].value.replace("\\", "")  # every node has a worker
    assert next(toggle for toggle in app.toggle if toggle.label == "Server shares a node").value


BAD = {
    "no throughput": ("workers,speed\n1,2\n", "no column was recognised for mini-batches per second"),
    "one point": ("workers,throughput\n1,2\n", "no row can be used"),
    "negative": ("workers,throughput\n1,-2\n2,-3\n3,0\n", "no row can be used"),
    "text": ("workers,throughput\nx,y\n", "no row can be used"),
    "zero times": ("worker_s,uplink_s,server_s,downlink_s\n0,0,0,0\n", "no row can be used"),
    "pdf": (b"%PDF-1.7 \n" + bytes(300), "PDF"),
    "empty": (b"", "it is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_gets_one_message_and_nothing_is_plotted(drop, store, case):
    content, message = BAD[case]
    app = drop(content)
    assert not app.exception
    assert len(app.error) == 1
    assert message in app.error[0].value.replace("\\", "")
    assert not app.metric
    assert app.button(key="use-none").disabled
    assert len(store.list_scenarios()) == 1
    app = app.segmented_control(key="source").set_value("Enter timings").run()
    assert not app.error
    assert card(app, "Knee") == "8 nodes"


def test_two_points_are_too_few_to_judge_and_falling_ones_are_told(drop):
    app = drop(rows([1.0, 1.8]))
    assert not app.exception
    assert "2 numbers of workers are too few to judge a network" in shown(app)
    app = drop(rows([5.0, 9.0, 11.0, 10.5, 11.2, 11.3]), "other.csv")
    assert "Throughput falls from 11 mini-batches/s at 3 workers to 10.5 at 4" in shown(app)


def test_profiled_times_are_averaged_with_their_intervals(drop):
    app = drop("worker_ms,uplink_ms,server_ms,downlink_ms\n29,72,18,72\n31,70,18,72\n27,74,18,72\n")
    assert not app.exception
    assert card(app, "Limit of the speed-up") == "2.7x"
    # t interval of 29, 31, 27: 4.30 x 2 / sqrt 3 = 4.97 ms, 17% of 29 ms
    assert "Means of 3 profiled mini-batches, 95%: worker ± 17.1%" in shown(app)


def test_names_are_shown_letter_by_letter(drop):
    app = drop(rows([1, 2, 3], "[a](http://b) <b>") + rows([1, 1.5, 2], "=x").split("\n", 1)[1], "[c](http://d).csv")
    assert not app.exception
    raw = "\n".join(part.value for part in [*app.markdown, *app.header, *app.warning, *app.info])
    assert "](http://" not in raw
    assert "<b>" not in raw
    (series,) = [box for box in app.selectbox if box.label == "Series"]
    assert series.options == ["[a](http://b) <b>", "=x"]  # options are plain text already


def test_the_curve_goes_to_the_jobs_as_a_new_version(open_page, store):
    before = keep()
    app = open_page(PAGE, scenario=before.content_hash, source="Example network")
    app = app.button(key="use-curve").click().run()
    assert not app.exception
    assert not app.error
    after = store.get_scenario(store.list_scenarios().iloc[0]["scenario_hash"])
    assert store.scenario_info(after.content_hash).based_on == before.content_hash
    assert after.speed.kind == "table"
    assert after.workload.work.tolist() == [100, 100, 100]  # as long as before with what they ask for
    assert any(
        note.startswith("speed curve: AlexNet, hybrid queueing network (worker 5.7 s") for note in words_of(after)
    )
    row = after.speed.times.rows["AlexNet"]["K520"]
    assert len(row) == 8
    assert row[3] == pytest.approx(1 / 3.0, rel=0.2)  # 3 workers on 4 nodes
    assert app.button(key="curve-to-run").label == "Next: run policies"
    run = simulate(after, "hell-malleable")
    assert run.metrics["completed"] == 3


def test_the_measured_curve_goes_to_the_jobs_and_is_refused_where_it_ends(drop, store):
    measured = rows([1.0, 1.9, 2.5])
    before = keep((1, 2, 4))
    app = drop(measured, scenario=before.content_hash)
    curve = next(control for control in app.segmented_control if control.label == "Curve")
    app = curve.set_value("measured").run()
    app = app.button(key="use-curve").click().run()
    assert not app.exception
    after = store.get_scenario(store.list_scenarios().iloc[0]["scenario_hash"])
    assert after.speed.times.rows["net"]["K520"] == pytest.approx([1, 1, 1 / 1.9, 1 / 2.5])
    assert any("measurements at 3 numbers of workers, straight lines between" in note for note in words_of(after))
    wide = keep((1, 8))
    app = drop(measured, scenario=wide.content_hash)
    curve = next(control for control in app.segmented_control if control.label == "Curve")
    app = curve.set_value("measured").run()
    button = app.button(key="use-curve")
    assert button.disabled
    assert "1 job of this scenario asks for more than 4 GPUs" in button.help.replace("\\", "")


def test_a_cluster_without_gpus_is_told(open_page, store):
    cpu = VmType(name="cpu", gpu_type="none", gpus=0, cpus=8)
    scenario = keep().replace(cluster=Cluster(pools=(Pool(vm=cpu, count=2),)))
    store.save_scenario(scenario)
    app = open_page(PAGE, scenario=scenario.content_hash)
    assert not app.exception
    assert app.button(key="use-curve").disabled
    assert "has no GPUs" in app.button(key="use-curve").help.replace("\\", "")


def test_the_network_goes_to_the_steady_state_page(open_page):
    app = open_page(PAGE, source="Example network", links="exact")
    app = app.button(key="to-steady").click().run()
    assert not app.exception
    spec = app.session_state[stream_network.KEY]
    assert spec.networks == (TABLE_III[2],)
    assert (spec.network_model, spec.servers, spec.shared_server) == ("exact", 1, False)
    assert app.segmented_control(key="steady-networks").value == "own"
    assert "AlexNet" in shown(app)


def test_a_job_of_the_readers_own_has_the_steps_that_are_given(open_page):
    app = open_page(PAGE, worker_ms="100")
    app.number_input(key="job_steps").set_value(5000)
    app = app.button(key="to-steady").click().run()
    (network,) = app.session_state[stream_network.KEY].networks
    assert network.times.worker_s == pytest.approx(0.1)
    assert network.steps_per_epoch * network.epochs == 5000


def test_the_measured_curve_goes_to_the_steady_state_page(drop):
    app = drop(rows([1.0, 1.9, 2.5]))
    curve = next(control for control in app.segmented_control if control.label == "Curve")
    app = curve.set_value("measured").run()
    app = app.button(key="to-steady").click().run()
    assert not app.exception
    spec = app.session_state[stream_network.KEY]
    assert spec.networks[0].measured_per_s == pytest.approx((1.0, 1.0, 1.9, 2.5))
    assert spec.curve(spec.networks[0], 6).tolist() == pytest.approx([1.0, 1.0, 1.9, 2.5, 2.5, 2.5])


def test_the_example_file_is_what_the_button_shows(drop):
    app = drop(demo_csv())
    assert "generated measurements" in shown(app)
    assert np.isfinite(float(card(app, "Limit of the speed-up").removesuffix("x")))
