"""The part Training time of Speed-up: generated rows, files, one job, a scenario that gets the times; errors."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.ui.frame import session
from dlsched.ui.lab.apply_times import DRAWN
from dlsched.ui.lab.training_time import ACCURACY, APPLY, PREDICT, VIEW
from dlsched.workload.catalogue import vm_examples
from tests.support.assumptions import words_of
from tests.support.page_text import shown

HEAD = "network,gpu_type,gpus,batch_size,iterations,seconds\n"
PAGE = "lab/speed_up.py"
PART = {"part": "Training time"}


def rows(network: str = "net", speeds: tuple[tuple[str, float], ...] = (("A100", 1.0), ("V100", 2.0))) -> str:
    return "".join(
        f"{network},{gpu_type},{gpus},{batch},{steps},{factor * steps * (0.1 + 0.9 / gpus) * batch / 64:.3f}\n"
        for gpu_type, factor in speeds
        for gpus in (1, 2, 4, 8)
        for batch in (32, 64)
        for steps in (1000, 3000)
    )


def box(app, label: str):
    return next(box for box in app.selectbox if box.label.replace("\\", "").startswith(label))


@pytest.fixture
def drop(open_page):
    def dropped(content: str | bytes, name: str = "runs.csv"):
        app = open_page(PAGE, **PART, rows="Upload")
        raw = content.encode() if isinstance(content, str) else content
        return app.file_uploader(key="profile").upload(name, raw, "text/csv").run()

    return dropped


def view(app, name: str):
    return app.segmented_control(key=VIEW).set_value(name).run()


def keep(**jobs) -> Scenario:
    columns = {"job_id": ["a", "b", "c"], "submit_s": [0, 1, 2], "work": [100, 200, 300], "workers": [1, 2, 4]}
    node = VmType(name="8 x A100", gpu_type="A100", gpus=8, usd_per_h=8)
    scenario = Scenario(Workload.from_columns(columns | jobs), Cluster(pools=(Pool(vm=node, count=2),)), name="mine")
    session.store().save_scenario(scenario)
    return scenario


def test_opens_on_generated_rows_and_says_so(open_page):
    app = open_page(PAGE, **PART)
    assert not app.exception
    assert "Times of 6 networks are predicted to 5.4% on average (cross-validated, 720 rows)" in shown(app)
    assert [metric.label for metric in app.metric] == [
        "Error, mean", "Error, worst network", "Error, new GPU type", "Profiling rows",
    ]  # fmt: skip
    assert "generated rows" in shown(app)
    assert "time = a constant + iterations × batch size / (GFLOPS × GPUs)" in shown(app)
    primary = [button.label for button in app.button if button.proto.type == "primary"]
    assert primary == ["Apply to my jobs"]


def test_upload_is_empty_at_first_and_says_what_is_needed(open_page):
    app = open_page(PAGE, **PART, rows="Upload")
    assert not app.exception
    assert "Needed are the time and the number of GPUs" in shown(app)
    assert app.button(key="fill-none").disabled


def test_uploaded_rows_are_fitted_and_told(drop):
    app = drop(HEAD + rows())
    assert not app.exception
    assert not app.error
    assert "net: times are predicted to " in shown(app)
    assert "Kept **32** of 32 rows" in shown(app)
    assert "disk seconds not in the file" in shown(app)


BAD = {
    "no time": ("network,gpus\na,1\n", "no column was recognised for the training time"),
    "one row": (HEAD + "a,V100,1,64,10,5\n", "rows of 1 different configuration, but a prediction needs at least 8"),
    "text": (HEAD + "a,V100,x,64,10,5\n", "no row can be used"),
    "pdf": (b"%PDF-1.7 \n" + bytes(300), "PDF"),
    "empty": (b"", "it is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_file_gets_one_message_and_changes_nothing(drop, store, case):
    content, message = BAD[case]
    app = drop(content)
    assert not app.exception
    assert len(app.error) == 1
    assert message in app.error[0].value.replace("\\", "")
    assert app.button(key="fill-none").disabled
    assert len(store.list_scenarios()) == 1


def test_a_network_with_too_few_rows_is_named_and_the_others_predicted(drop):
    app = drop(HEAD + rows() + "tiny,V100,1,64,10,5\n")
    assert not app.exception
    assert "Not predicted: tiny: it has profiling rows of 1 different configuration" in shown(app)


def test_names_are_shown_letter_by_letter(drop):
    app = drop(HEAD + rows("[a](http://b) <b>$x$"))
    assert not app.exception
    raw = "\n".join(part.value for part in [*app.markdown, *app.header])
    assert "](http://" not in raw
    assert "<b>" not in raw


def test_files_that_name_nothing_ask_for_network_and_gpu_type(drop):
    text = "placement,local_bsz,step_time\n" + "".join(
        f"{gpus},{batch},{0.1 + 0.01 * batch}\n" for gpus in (1, 2, 4) for batch in (4, 8, 16)
    )
    app = drop(text, "placements.csv")
    assert "placements: times are predicted" in shown(app)
    app = view(app, APPLY)
    assert app.button(key="fill-times").disabled
    next(text for text in app.text_input if text.label == "GPU type").set_value("A100")
    app = next(text for text in app.text_input if text.label == "Name of the network").set_value("bert").run()
    assert not app.exception
    assert not app.button(key="fill-times").disabled
    assert "bert: times are predicted" in view(app, ACCURACY).header[0].value.replace("\\", "")


def test_a_gpu_type_can_be_left_out(drop):
    app = drop(HEAD + rows() + rows(speeds=(("T4", 40.0),)))
    (types,) = app.multiselect
    assert types.value == ["A100", "T4", "V100"]
    app = types.unselect("T4").run()
    assert not app.exception
    assert next(metric.value for metric in app.metric if metric.label == "Profiling rows") == "32"
    app = app.multiselect[0].set_value([]).run()
    assert "none is chosen" in app.error[0].value


def test_one_job_is_predicted_by_gpu_type_and_gpus(drop):
    app = view(drop(HEAD + rows()), PREDICT)
    assert app.header[0].value.startswith("net takes ")
    times = next(frame.value for frame in app.dataframe if "8 GPUs" in frame.value)
    assert times["GPU type"].tolist() == ["A100"]
    assert times["1 GPU"].tolist() == ["8 min 20 s"]  # 1,000 iterations of batch 32: half a second each
    app.number_input(key=next(n.key for n in app.number_input if n.label == "Iterations")).set_value(2000.0)
    app = box(app, "On").set_value("examples").run()
    times = next(frame.value for frame in app.dataframe if "8 GPUs" in frame.value).set_index("GPU type")
    assert times.loc["A100", "1 GPU"] == "17 min"
    assert times.loc["T4", "1 GPU"].endswith("*")
    assert "* extrapolated: this GPU type or size was not measured" in shown(app)


def test_filling_makes_a_new_version_that_runs_by_table(drop, store):
    before = keep(model=["net", "net", "net"])
    app = drop(HEAD + rows() + rows("other"))
    session_scenario = app.query_params.get("scenario")
    assert session_scenario
    box(app, "Scenario").set_value(before.content_hash)
    app = view(app.run(), APPLY)
    assert box(app, "net: 3 jobs").value == "net"
    app = app.button(key="fill-times").click().run()
    assert not app.exception
    assert not app.error
    newest = store.list_scenarios().iloc[0]
    filled = store.get_scenario(newest["scenario_hash"])
    assert filled.speed.kind == "table"
    assert set(filled.workload.profile) == {"net, 1 GPU", "net, 2 GPUs", "net, 4 GPUs"}
    assert filled.workload.work.tolist() == [100, 200, 300]
    assert store.scenario_info(filled.content_hash).based_on == before.content_hash
    assert any(note.startswith("times predicted, ± ") for note in words_of(filled))
    assert app.button(key="times-to-run").label == "Next: run policies"
    assert app.button(key="fill-times").label == "Apply again"


def test_demo_filled_from_generated_rows_says_so(open_page, store):
    app = open_page(PAGE, **PART)
    app = app.button(key="times-apply").click().run()
    assert app.segmented_control(key=VIEW).value == APPLY
    assert box(app, "The jobs name no model").value == DRAWN
    assert "66 jobs that ask for more than 8 GPUs would be limited to one machine" in shown(app)
    app = app.button(key="fill-times").click().run()
    assert not app.exception
    filled = store.get_scenario(store.list_scenarios().iloc[0]["scenario_hash"])
    assert any(note.startswith("times predicted from generated rows, ± ") for note in words_of(filled))
    assert filled.data_kind == "example"
    assert app.title[0].value == "Speed-up"


def test_jobs_with_shares_of_a_gpu_are_refused_with_the_reason(open_page, store):
    shared = keep(gpus_per_worker=[0.5, 1, 1])
    app = open_page(PAGE, **PART, times=APPLY, scenario=shared.content_hash)
    app = app.button(key="fill-times").click().run()
    assert not app.exception
    assert "one job requests no GPU or a share of one" in app.error[0].value.replace("\\", "")
    assert set(store.list_scenarios()["version"]) == {1}


def test_free_slots_show_the_types_of_the_catalogue(open_page):
    scenario = keep()
    slots = scenario.replace(cluster=Cluster(slots=4, catalogue=vm_examples()))
    session.store().save_scenario(slots)
    app = open_page(PAGE, **PART, times=APPLY, scenario=slots.content_hash)
    assert not app.exception
    assert "are extrapolated" in shown(app)
    assert {"A100", "V100"} <= set(box(app, "Current run times").options)
    app = view(app, PREDICT)
    times = next(frame.value for frame in app.dataframe if "8 GPUs" in frame.value)
    assert {"A100", "V100", "T4"} <= set(times["GPU type"])


def test_a_cluster_without_gpus_is_told(open_page):
    cpu = VmType(name="cpu", gpu_type="none", gpus=0, cpus=8)
    scenario = keep().replace(cluster=Cluster(pools=(Pool(vm=cpu, count=2),)))
    session.store().save_scenario(scenario)
    app = open_page(PAGE, **PART, times=APPLY, scenario=scenario.content_hash)
    assert not app.exception
    assert app.button(key="fill-times").disabled
    assert "none of these machines has a predicted time" in view(app, PREDICT).header[0].value
