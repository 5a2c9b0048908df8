"""GPU as a service on the page Jobs: sample, generator and upload make whole scenarios."""

import io
import zipfile

import pytest

from dlsched.workload.readers.gpuaas import FILES, JOBS
from dlsched.workload.studies.gpu_as_a_service import (
    APPLICATIONS,
    GpuaasSpec,
    gpuaas_scenario,
    sample_gpuaas,
    study_types,
)
from dlsched.workload.studies.registry import draw
from tests.support.assumptions import words_of
from tests.support.known import known
from tests.support.page_text import kept, shown

TABLES = (
    "UniqueJobsID,SubmissionTime,Deadline,Tardinessweight\na,0,900,0.01\nb,60,500,0.02\n",
    "UniqueJobsID,VMtype,GPUtype,nGPUs,max_nGPUs,cost,ExecutionTime\na,V,K80,1,1,0.5,100\nb,V,K80,1,1,0.5,200\n",
    "Nodes\nn1\nn2\nn3\n",
)


@pytest.fixture
def form(open_page):
    app = open_page("scenario/jobs.py", source="Generate")
    return app.segmented_control(key="gen-kind").set_value("GPU as a service").run()


def edited(app, **rows):
    """Edit cells of rows, given as row_0={...}."""
    cells = {int(name.removeprefix("row_")): values for name, values in rows.items()}
    edits = {"edited_rows": cells, "added_rows": [], "deleted_rows": []}
    app.session_state["service-applications-0"] = edits
    return app.run()


def test_the_sample_is_two_clicks_away(open_page, store):
    app = open_page("home/home.py")
    app = app.button(key="start-service").click().run()
    assert not app.exception
    assert app.title[0].value == "Jobs"
    app = app.switch_page("pages/scenario/jobs.py").run()  # the test's next click would go to Start
    assert "Up to 10 rented machines: each is one of 8 machine types at $0.56 to $4.96" in shown(app).replace("*", "")
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Cluster"
    assert kept(store).content_hash == sample_gpuaas().content_hash
    assert kept(store).data_kind == "example"


def test_the_form_makes_a_whole_scenario(form, store):
    assert not form.exception
    assert form.button(key="use-jobs").label == "Use these 100 jobs"
    assert len(form.get("plotly_chart")) == 4
    app = form.number_input(key="service-nodes").set_value(4).run()
    app = app.text_input(key="service-late_usd_per_s-to").set_value("$72.00").run()
    app = app.radio(key="service-rate").set_value("high").run()
    assert not app.exception
    assert not app.error
    app = app.button(key="use-jobs").click().run()
    assert app.title[0].value == "Cluster"
    made = kept(store)
    assert (made.cluster.slots, made.cluster.catalogue, made.data_kind) == (4, study_types(), "generated")
    assert (made.speed.kind, made.seed, len(made.workload)) == ("table", 1, 40)
    assert known(made.generator)["rate"] == "high"
    assert known(made.generator)["late_usd_per_s"] == pytest.approx([0.003, 0.02])
    assert made.workload == draw(known(made.generator), 1)
    assert any(words.startswith("run time on one K80") for words in words_of(made))


def test_applications_can_be_edited_and_left_out(form, store):
    app = edited(form, row_0={"share": 0.0}, row_1={"name": "Mine", "parallel": 50.0, "low": 2.0, "high": 2.0})
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    times = known(kept(store).speed.times)
    assert set(times.profiles) == {"Mine", *(one.name for one in APPLICATIONS[2:])}
    assert times.rows["Mine"]["M60"][:2] == pytest.approx((1 / 0.5625, 0.75 / 0.5625))


MISTAKES = {
    "empty": ({"m60_ratio": None}, "application row 2, column M60 time (x)", "is empty"),
    "name twice": ({"name": "DeepSpeech"}, "generator", "two applications are called 'DeepSpeech'"),
    "share": ({"share": -1.0}, "application row 2, column Share", "greater than 0"),
    "above 100": ({"parallel": 120.0}, "application row 2, column Speeds up (%)", "less than or equal to 1"),
    "no time": ({"low": 0.0}, "application row 2, column One K80, from (h)", "greater than 0"),
    "falling": ({"low": 9.0, "high": 3.0}, "application row 2, column One K80, to (h)", "must ascend, got 9 to 3"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_name_row_and_column(form, store, case):
    cells, what, why = MISTAKES[case]
    app = edited(form, row_1=cells)
    assert not app.exception
    assert len(app.error) == 1
    assert what in shown(app)
    assert why in shown(app)
    assert app.button(key="use-none").disabled
    assert list(store.list_scenarios()["name"]) == ["Demo"]


def test_a_falling_range_is_one_message(form):
    app = form.number_input(key="service-due-to").set_value(1.0).run()
    app = app.number_input(key="service-due-from").set_value(2.0).run()
    assert not app.exception
    assert "a range must ascend, got 2 to 1" in shown(app)
    assert app.button(key="use-none").disabled


def test_a_job_mix_after_it_runs_without_its_time_table(form, store):
    app = form.button(key="use-jobs").click().run()
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.segmented_control(key="source").set_value("Generate").run()
    app = app.segmented_control(key="gen-kind").set_value("Job mix").run()
    assert not app.exception
    app = app.button(key="use-jobs").click().run()
    newest = store.list_scenarios().iloc[0]
    assert (newest["name"], newest["version"]) == ("Job mix", 1)
    assert kept(store).speed.kind == "rigid"


def archive(tables) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, text in zip(FILES, tables, strict=True):
            file.writestr(f"week/{name}", text)
    return content.getvalue()


def test_a_zip_of_an_instance_is_a_whole_scenario(open_page, store):
    app = open_page("scenario/jobs.py", source="Upload")
    app = app.file_uploader(key="upload").upload("week 1.zip", archive(TABLES), "application/zip").run()
    assert not app.exception
    assert "up to 3 rented machines, 1 machine type" in shown(app)
    assert "Kept **2** of 2 rows" in shown(app)
    app = app.button(key="use-jobs").click().run()
    made = kept(store)
    assert (made.name, made.cluster.slots, made.workload.work.tolist()) == ("week 1", 3, [100, 200])


def test_a_bad_instance_gets_one_message(open_page, store):
    app = open_page("scenario/jobs.py", source="Upload")
    bad = archive((TABLES[0].replace("900", "-1"), *TABLES[1:]))
    app = app.file_uploader(key="upload").upload("week.zip", bad, "application/zip").run()
    assert not app.exception
    assert len(app.error) == 1
    assert f"{JOBS}, line 2, column Deadline" in shown(app)
    assert app.button(key="use-none").disabled


def test_the_forms_scenario_is_that_of_the_library(form, store):
    form.button(key="use-jobs").click().run()
    made = kept(store)
    assert made.content_hash == gpuaas_scenario(GpuaasSpec.model_validate(made.generator), 1).content_hash
