"""The page Jobs: every bad file gets one clear message, the current scenario stays, good ones go on to Cluster."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster
from dlsched.ui.frame import session
from dlsched.workload.catalogue import SAMPLES, data_path, vm_examples
from tests.support.page_text import shown

HEAD = "job_id,submit_time_s,num_gpus,duration_s,user\n"
ROWS = "".join(f"job{i},{60 * i},{1 + i % 4},{600 + i},ann\n" for i in range(20))


def table(*more: str) -> bytes:
    return (HEAD + ROWS + "".join(line + "\n" for line in more)).encode()


def archive(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name in names:
            file.writestr(name, table())
    return content.getvalue()


def parquet() -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(pd.read_csv(io.BytesIO(table())), preserve_index=False), content)
    return content.getvalue()


@pytest.fixture
def drop(open_page):
    def dropped(content: bytes, name: str = "trace.csv"):
        app = open_page("scenario/jobs.py", source="Upload")
        return app.file_uploader(key="upload").upload(name, content, "application/octet-stream").run()

    return dropped


def scenarios(store) -> list[str]:
    return [str(name) for name in store.list_scenarios()["name"]]


BAD = {
    "empty": (b"", "it is empty"),
    "blank": (b" \n \n", "it is empty"),
    "header only": (HEAD.encode(), "only a header and no data rows"),
    "wrong delimiter": (table().replace(b",", b" ~ "), "separated by commas, tabs, semicolons or |"),
    "missing columns": (b"name,when,amount\na,1,2\nb,2,3\n", "no column was recognised"),
    "only text": (f"{HEAD}a,soon,few,long,u\nb,soon,few,long,u\n".encode(), "no row can be used"),
    "zip bomb": (gzip.compress(b"0" * (1 << 20), 1) * 513, "too large when decompressed"),
    "two files": (archive("a.csv", "b.csv"), "must hold exactly one file"),
    "damaged gzip": (gzip.compress(table())[:60], "compression is damaged"),
    "pdf": (b"%PDF-1.7 \n" + bytes(300), "it is a PDF document"),
    "node list": (b"sn,cpu_milli,memory_mib,gpu,model\nn1,96000,786432,8,A100\n", "machines, not jobs"),
    "long column name": (f"submit_time_{'x' * 90},job_id,num_gpus,duration_s\n1,a,1,5\n".encode(), "not clear"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_file_gets_one_clear_message_and_changes_nothing(drop, store, case):
    content, message = BAD[case]
    app = drop(content)
    assert not app.exception
    assert len(app.error) == 1
    assert message in app.error[0].value.replace("\\", "")
    assert app.button(key="use-none").disabled
    assert scenarios(store) == ["Demo"]
    app.segmented_control(key="source").set_value("Current").run()
    assert not app.exception
    assert "1,200 jobs" in shown(app)


REPAIRED = {
    "UTF-16": (table().decode().encode("utf-16"), "Use these 20 jobs", "converted from UTF-16"),
    "Latin-1": (table("jöb,9000,1,50,Jürgen").decode().encode("latin-1"), "Use these 21 jobs", "from Latin-1"),
    "semicolons": (table().replace(b",", b";"), "Use these 20 jobs", "Kept **20** of 20"),
    "text in numbers": (table("x,abc,1,50,u", "y,5000,two,50,u"), "Use these 20 jobs", "dropped 2"),
    "NaN and infinite": (table("x,nan,1,5,u", "y,50,1,inf,u", "z,50,-inf,5,u"), "Use these 20 jobs", "dropped 3"),
    "negative and zero": (table("x,5000,1,-50,u", "y,5000,1,0,u"), "Use these 20 jobs", "dropped 2"),
    "duplicate ids": (table("job1,5000,1,50,u", "job2,120,3,602,ann"), "Use these 21 jobs", "repaired 1, dropped 1"),
    "outlier": (table("big,5000,1,1000000000,u"), "Use these 21 jobs", "Kept **21** of 21"),
    "one job": (f"{HEAD}j,0,1,60,u\n".encode(), "Use these 1 job", "1 job in"),
    "gzip": (gzip.compress(table()), "Use these 20 jobs", "Kept **20**"),
    "bzip2": (bz2.compress(table()), "Use these 20 jobs", "Kept **20**"),
    "xz": (lzma.compress(table()), "Use these 20 jobs", "Kept **20**"),
    "zip": (archive("jobs.csv"), "Use these 20 jobs", "Kept **20**"),
    "Parquet": (parquet(), "Use these 20 jobs", "Kept **20**"),
}


@pytest.mark.parametrize("case", REPAIRED)
def test_file_with_flaws_is_read_and_each_repair_counted(drop, case):
    content, label, told = REPAIRED[case]
    app = drop(content)
    assert not app.exception
    assert not app.error
    assert app.button(key="use-jobs").label == label
    assert told in shown(app)


def test_names_are_shown_letter_by_letter(drop):
    names = ['"=HYPERLINK(""http://x"")"', "<script>alert(1)</script>", "[a](http://b)", ":red[x]", "$x$"]
    app = drop(table(*(f"{name},{9000 + k},1,60,{name}" for k, name in enumerate(names))), "[f](http://x) <b>.csv")
    assert not app.exception
    assert app.button(key="use-jobs").label == "Use these 25 jobs"
    raw = "\n".join(part.value for part in [*app.markdown, *app.header, *app.error])
    assert "(http://" not in raw
    assert "<script" not in raw
    app.session_state["jobs-table"] = True
    app.run()
    tables = [frame.value for frame in app.dataframe]
    assert any("<script>alert(1)</script>" in frame.to_string() for frame in tables)


def test_uploaded_jobs_become_a_scenario_on_the_default_cluster_and_cluster_opens(drop, store):
    app = drop(table(), "mine.csv.gz")
    app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Cluster"
    assert scenarios(store)[0] == "mine"
    assert "smallest number of 8-GPU nodes that fits the largest job at load 0.7" in shown(app)


def test_jobs_can_go_on_the_current_cluster_where_the_widest_may_not_fit(drop):
    app = drop(table("huge,5000,5000,50,u"), "wide.csv")
    choice = next(box for box in app.selectbox if box.label == "On which cluster")
    assert "625 nodes" in choice.options[0]
    app = choice.set_value("current").run()
    assert not app.exception
    assert "1 job can never fit the cluster; the largest asks for 5,000 GPUs" in shown(app)
    assert "1 can never fit" in shown(app)


def test_mapping_screen_reads_what_was_not_clear_and_is_saved_and_used_again(drop, store):
    text = "name,when,amount,lasted\n" + "".join(f"a{i},{i},{1 + i % 2},{60 + i}\n" for i in range(9))
    app = drop(text.encode(), "odd.csv")
    chosen = {"Submission": "when", "Run time": "lasted", "GPUs": "amount"}
    for label, column in chosen.items():
        next(box for box in app.selectbox if box.label == label).set_value(column)
    next(box for box in app.text_input if box.label == "Save this mapping as").set_value("ours")
    app = next(button for button in app.button if button.label == "Read with these columns").click().run()
    assert not app.exception
    assert app.button(key="use-jobs").label == "Use these 9 jobs"
    assert list(store.list_settings("mapping/")) == ["mapping/ours"]
    other = drop(text.replace("a1", "b1").encode(), "odd2.csv")
    assert next(box for box in other.selectbox if box.label == "Mapping").value == "ours"
    assert next(box for box in other.selectbox if box.label == "Submission").value == "when"


def test_units_show_what_the_first_rows_become(drop):
    text = "name,when,amount,lasted\n" + "".join(f"a{i},{1_700_000_000 + i},1,{123 + i}\n" for i in range(9))
    app = drop(text.encode())
    for label, column in {"Submission": "when", "Run time": "lasted", "GPUs": "amount"}.items():
        app = next(box for box in app.selectbox if box.label == label).set_value(column).run()
    captions = [caption.value.replace("\\", "") for caption in app.caption]
    assert "2023-11-14 22:13:20 · 2023-11-14 22:13:21 · 2023-11-14 22:13:22" in captions[0]
    assert "2 min 3 s · 2 min 4 s · 2 min 5 s" in captions[1]
    app = next(box for box in app.selectbox if box.label == "Unit of Run time").set_value("min").run()
    assert "2 h 3 min · 2 h 4 min · 2 h 5 min" in [caption.value for caption in app.caption][1]
    app = next(button for button in app.button if button.label == "Read with these columns").click().run()
    assert app.button(key="use-jobs").label == "Use these 9 jobs"
    assert "2 h 7 min" in shown(app)  # the median run time


def test_gpus_beside_workers_are_asked_about(drop):
    rows = "".join(f"a{i},{i},60,2,{1 + i % 3}\n" for i in range(9))
    app = drop(f"id,submitted_at,runtime_s,gpus,replicas\n{rows}".encode())
    assert not app.error
    assert "may hold the GPUs of the whole job" in app.info[0].value.replace("\\", "")
    assert "Largest job: 6 GPUs, all jobs: 36 GPUs" in shown(app)
    app = next(button for button in app.button if button.label == "Read as the GPUs of each worker").click().run().run()
    assert not app.error
    assert app.button(key="use-jobs").label == "Use these 9 jobs"
    assert "All jobs together request 36 GPUs." in shown(app)


def test_cores_can_stand_for_gpus(drop):
    rows = "".join(f"a{i},{i},60,{8 + 8 * (i % 2)}\n" for i in range(9))
    app = drop(f"id,submitted_at,runtime_s,cores\n{rows}".encode())
    assert "no column gives GPUs" in app.info[0].value
    app = next(box for box in app.number_input if box.label.startswith("Cores that count")).set_value(8).run()
    app = next(button for button in app.button if button.label == "Read as cores that stand for GPUs").click().run()
    assert not app.error
    assert "request 13 GPUs" in shown(app)


def test_a_trace_without_run_times_asks_for_them(drop):
    rows = "".join(f"a{i},{i},alpha,2,64\n" for i in range(9))
    app = drop(f"name,time,application,num_replicas,batch_size\n{rows}".encode())
    assert "applications and no run times" in app.error[0].value
    text = next(box for box in app.text_input if box.label == "Run times by application (s)")
    app = text.set_value("alpha").run()
    assert any("is not of the form" in error.value for error in app.error)
    text = next(box for box in app.text_input if box.label == "Run times by application (s)")
    app = text.set_value("alpha:600").run().run()
    assert not app.error
    assert app.button(key="use-jobs").label == "Use these 9 jobs"


def test_exports_without_a_header_ask_for_the_order_of_fields(drop):
    line = (
        "{0}|u|gpu|2024-03-01T08:00:0{0}|2024-03-01T09:00:00|2024-03-01T10:00:00|COMPLETED|billing=4,cpu=4,gres/gpu=2\n"
    )
    app = drop("".join(line.format(i) for i in range(9)).encode(), "jobs.txt")
    assert "no header line" in app.error[0].value
    box = next(box for box in app.text_input if "sacct" in box.label.lower() or "field" in box.label.lower())
    app = box.set_value("JobID,User,Partition,Submit,Start,End,State,AllocTRES").run().run()
    assert not app.error
    assert app.button(key="use-jobs").label == "Use these 9 jobs"


def test_a_file_without_jobs_is_named_with_the_command_to_copy(drop):
    app = drop(b"NodeName=g1 CfgTRES=cpu=64,mem=1M,gres/gpu=4\n", "nodes.txt")
    assert "it is the node list of scontrol show nodes" in app.error[0].value
    assert "the command below" in app.error[0].value
    assert any(one.value.startswith("sacct -a -X -D -P") for one in app.code)


def test_the_drop_zone_says_how_to_export(open_page):
    app = open_page("scenario/jobs.py", source="Upload")
    assert any(one.value.startswith("sacct -a -X -D -P") for one in app.code)
    app.session_state["export-help"] = True
    app = app.run()
    app = app.segmented_control(key="export-scheduler").set_value("LSF").run()
    assert not app.exception
    assert any("lsb.acct" in one.value for one in app.code)


def test_incomplete_mapping_says_what_is_needed(drop):
    app = drop(b"name,when,amount\na,1,2\nb,2,3\n")
    app = next(button for button in app.button if button.label == "Read with these columns").click().run()
    assert not app.exception
    assert any("Still needed: submission time" in error.value for error in app.error)


def test_wrong_mapping_can_be_corrected(drop):
    text = "name,when,amount,lasted\n" + "".join(f"a{i},{i},{1 + i % 2},{60 + i}\n" for i in range(9))
    app = drop(text.encode())
    for label, column in {"Submission": "name", "Run time": "lasted", "GPUs": "amount"}.items():
        next(box for box in app.selectbox if box.label == label).set_value(column)
    app = next(button for button in app.button if button.label == "Read with these columns").click().run()
    assert "no row can be used" in app.error[0].value
    next(box for box in app.selectbox if box.label == "Submission").set_value("when")
    app = next(button for button in app.button if button.label == "Read with these columns").click().run()
    assert not app.error
    assert app.button(key="use-jobs").label == "Use these 9 jobs"


def test_format_in_doubt_is_chosen_from_previews(drop):
    header = "job_id,submit_time,start_time,end_time,gpu_num,cpu_num,vc,user,state\n"
    rows = "".join(
        f"{i},2020-04-01 00:0{i}:00,2020-04-01 01:00:00,2020-04-01 02:00:00,1,4,1,u,COMPLETED\n" for i in range(9)
    )
    app = drop((header + rows).encode())
    assert not app.exception
    assert "generic CSV (4 of 4 signs) or Helios cluster log (3 of 5" in app.error[0].value.replace("\\", "")
    assert "missing columns" in shown(app)  # why it cannot be read as a Helios log
    app = next(button for button in app.button if button.label == "Read as generic CSV").click().run()
    assert not app.error
    assert app.button(key="use-jobs").label == "Use these 9 jobs"


def test_reading_choice_changes_what_is_read(drop):
    app = drop(table("zero,5000,1,0,u"))
    assert app.button(key="use-jobs").label == "Use these 20 jobs"
    app = next(box for box in app.selectbox if box.label == "Run time of 0 s").set_value("one-second").run()
    assert not app.exception
    assert app.button(key="use-jobs").label == "Use these 21 jobs"


def test_wrong_format_is_refused_and_can_be_taken_back(drop):
    app = drop(table())
    app = next(box for box in app.selectbox if box.label == "Format").set_value("swf").run()
    assert not app.exception
    assert len(app.error) == 1
    app = next(box for box in app.selectbox if box.label == "Format").set_value("auto").run()
    assert not app.error


def test_openb_pods_take_their_node_list_as_cluster(drop):
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    pods += "creation_time,deletion_time,scheduled_time\n"
    pods += "".join(f"p{i},4000,1024,1,1000,,LS,Succeeded,{i},{900 + i},{i}\n" for i in range(9))
    app = drop(pods.encode(), "openb.csv")
    assert not app.error
    nodes = app.file_uploader[1]
    app = nodes.upload("broken.csv", b"a,b\n1,2\n", "text/csv").run()
    assert "describes no cluster" in app.error[0].value
    assert app.button(key="use-jobs").label == "Use these 9 jobs"
    listed = b"sn,cpu_milli,memory_mib,gpu,model\nn1,96000,786432,8,A100\nn2,96000,786432,4,T4\n"
    app = app.file_uploader[1].upload("nodes.csv", listed, "text/csv").run()
    assert not app.error
    assert next(box for box in app.selectbox if box.label == "On which cluster").value == "made"
    assert "of 12 GPUs" in shown(app)


def test_a_log_that_names_its_nodes_brings_its_cluster(drop):
    log = data_path("samples/slurm-sacct.txt").read_bytes()
    app = drop(log, "sacct.txt")
    assert not app.exception
    choice = next(box for box in app.selectbox if box.label == "On which cluster")
    assert choice.value == "made"
    assert choice.options[0].startswith("from the log: 12 nodes, 92 GPUs")
    table = next(frame.value for frame in app.dataframe if "Node type" in frame.value.columns)
    assert table[["Node type", "Nodes", "Cores", "GPUs", "Partitions"]].to_numpy().tolist() == [
        ["8 x a100, 64 cores, gpu", 11, 64.0, 8, "gpu"],
        ["4 x a100, 32 cores, gpu", 1, 32.0, 4, "gpu"],
    ]
    assert "cores: most ever held at once" in shown(app)
    conf = b"ClusterName=lab\nNodeName=gpu[01-16] CPUs=64 RealMemory=524288 Gres=gpu:a100:8\n"
    conf += b"PartitionName=gpu Nodes=ALL\n"
    app = app.file_uploader[1].upload("slurm.conf", conf, "text/plain").run()
    assert (
        next(box for box in app.selectbox if box.label == "On which cluster")
        .options[0]
        .startswith("from slurm.conf: 16 nodes, 128 GPUs")
    )


def test_philly_log_as_json(drop):
    jobs = [
        {
            "status": "Pass", "vc": "vc1", "jobid": f"application_{i}", "user": f"u{i % 2}",
            "submitted_time": f"2017-10-03 09:{i:02d}:00",
            "attempts": [{"start_time": "2017-10-03 10:00:00", "end_time": f"2017-10-03 12:{i:02d}:00",
                          "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}],
        }
        for i in range(9)
    ]  # fmt: skip
    app = drop(json.dumps(jobs).encode(), "cluster_job_log")
    assert not app.exception
    assert "Philly job log" in shown(app)
    assert app.button(key="use-jobs").label == "Use these 9 jobs"
    assert next(box for box in app.selectbox if box.label == "On which cluster").value == "made"


@pytest.mark.parametrize("sample", range(len(SAMPLES)), ids=[one.label for one in SAMPLES])
def test_samples_are_examples_with_an_import_report(open_page, store, sample):
    app = open_page("scenario/jobs.py", source="Sample")
    app = app.radio(key="sample").set_value(SAMPLES[sample].label).run()
    assert not app.exception
    assert "Import check" in shown(app)
    assert data_path(SAMPLES[sample].file).is_file()
    app = app.button(key="use-jobs").click().run()
    assert app.title[0].value == "Cluster"
    newest = store.list_scenarios().iloc[0]
    assert (newest["name"], newest["data_kind"]) == (SAMPLES[sample].label, "example")


def test_file_is_still_there_when_the_page_was_left(drop):
    app = drop(table(), "mine.csv")
    app = app.switch_page("pages/scenario/cluster.py").run()
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.segmented_control(key="source").set_value("Upload").run()
    assert "**mine.csv** is still here" in shown(app)
    assert app.button(key="use-jobs").label == "Use these 20 jobs"
    app = app.button(key="forget-upload").click().run()
    assert app.button(key="use-none").disabled


def test_file_that_was_taken_away_is_gone(drop):
    app = drop(table(), "mine.csv")
    app = app.file_uploader(key="upload").clear().run()
    assert not app.exception
    assert "is still here" not in shown(app)
    assert app.button(key="use-none").disabled


def test_fill_makes_a_new_version_with_its_rule_among_the_assumptions(drop, store):
    app = drop(table(), "mine.csv")
    app.button(key="use-jobs").click().run()
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.segmented_control(key="source").set_value("Current").run()
    app = app.segmented_control(key="part").set_value("Missing data").run()
    due = "due dates: submission + 1 to 3 times the fastest run time"
    rules = {"DUE": due, "WEIGHT": "cost of lateness: $1.00", "PRICE": "$2.50"}
    for key, rule in rules.items():
        assert not app.exception
        app = app.button(key=f"fill-{key}").click().run()
        assert rule.lower() in shown(app).lower()
    assert not [button for button in app.button if button.key in ("fill-DUE", "fill-WEIGHT", "fill-PRICE")]
    assert list(store.list_scenarios()["version"])[:4] == [4, 3, 2, 1]
    app.number_input(key="limit-low").set_value(6.0)
    app = app.button(key="fill-limits").click().run()
    assert "high must be at least low" in shown(app)
    app.number_input(key="limit-low").set_value(2.0)
    app = app.button(key="fill-limits").click().run()
    assert "time limits: 2 to 5 times the run time" in shown(app).lower()
    assert "fill-limits" not in [button.key for button in app.button]


# ---- unusual scenarios ---------------------------------------------------------------------------


def test_cluster_of_free_slots_has_no_load_and_the_mix_takes_a_rate(open_page, store):
    cluster = Cluster(slots=4, catalogue=vm_examples()[:2])
    saved = store.save_scenario(session.demo().replace(cluster=cluster, name="slots"))
    app = open_page("scenario/jobs.py", scenario=saved.scenario_hash[:8])
    assert not app.exception
    assert next(card for card in app.metric if card.label == "Load").value == "–"
    app = app.segmented_control(key="source").set_value("Generate").run()
    app = app.number_input(key="gen-rate").set_value(20.0).run()
    assert not app.exception
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Cluster"


def test_jobs_without_gpus(drop):
    app = drop(
        b"job_id,submit_time_s,num_gpus,duration_s,num_cpus\n" + b"".join(b"c%d,%d,0,60,4\n" % (n, n) for n in range(9))
    )
    assert not app.exception
    assert "Warnings: 9 × job without GPUs" in [box.label for box in app.expander]
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Cluster"


def test_long_names_and_one_job_fit_the_pages(drop):
    app = drop(f"{HEAD}{'j' * 300},0,1,60,{'u' * 300}\n".encode(), f"{'n' * 200}.csv")
    assert not app.exception
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert "Largest job (1 GPU) fits" in shown(app)


# ---- a new scenario ------------------------------------------------------------------------------

NEW = {"nodes": "5", "gpus": "8", "gpu": "A100", "usd": "2.1"}


def card(app, label: str) -> str:
    return next(metric for metric in app.metric if metric.label == label).value


@pytest.mark.parametrize("nodes", ["5", "300"])
def test_generated_jobs_meet_their_load_on_the_new_cluster_and_it_runs(open_page, store, nodes):
    app = open_page("scenario/jobs.py", source="Generate", **{**NEW, "nodes": nodes, "name": "Mine"})
    assert not app.exception
    assert f"New scenario on {nodes} nodes with 8 A100 each" in shown(app).replace("*", "")
    assert "These jobs run on the new cluster" in shown(app).replace("*", "")
    load = float(card(app, "Load").rstrip("%"))
    assert load == pytest.approx(85, abs=1)
    app = app.button(key="use-jobs").click().run()
    assert not app.exception
    assert app.title[0].value == "Run"
    newest = store.list_scenarios().iloc[0]
    assert (newest["name"], newest["version"], newest["nodes"]) == ("Mine", 1, int(nodes))
    made = store.get_scenario(newest["scenario_hash"])
    assert made.cluster.usd_per_h == pytest.approx(int(nodes) * 8 * 2.1)
    assert any("example price, not a quote" in one.words for one in made.assumptions)
    assert made.options == session.demo().options.__class__()


def test_a_sample_goes_on_the_new_cluster_unless_another_one_is_chosen(open_page, store):
    app = open_page("scenario/jobs.py", source="Sample", **NEW)
    choice = next(box for box in app.selectbox if box.label == "On which cluster")
    assert choice.value == "current"
    assert "the new one: 5 nodes, 40 GPUs, load" in choice.options[list(choice.options).index(choice.options[-1])]
    app = app.button(key="use-jobs").click().run()
    assert store.list_scenarios().iloc[0]["nodes"] == 5


def test_new_jobs_on_an_existing_cluster_say_which_and_what_load_that_makes(open_page):
    app = open_page("scenario/jobs.py", source="Generate")
    assert "These jobs run on the cluster of “Demo”: 8 nodes, 64 GPUs, load 85" in shown(app).replace("*", "")


def test_new_asks_for_the_cluster_and_then_opens_the_way_to_jobs(open_page, monkeypatch):
    app = open_page("scenario/cluster.py").button(key="bar-new").click().run()
    assert not app.exception
    assert {"new-generate", "new-upload", "new-sample"} <= {button.key for button in app.button}

    def asking() -> None:
        from dlsched.ui.scenario import new_scenario

        new_scenario.dialog()

    gone: dict[str, str | None] = {}
    monkeypatch.setattr(session, "go", lambda page, **more: gone.update(more))
    asked = AppTest.from_function(asking).run()
    asked.number_input(key="new-nodes").set_value(12)
    asked.selectbox(key="new-gpu").set_value("H100").run()
    asked.button(key="new-generate").click().run()
    assert not asked.exception
    assert gone == {"source": "Generate", "name": None, "nodes": "12", "gpus": "8", "gpu": "H100", "usd": "4.1"}


def test_the_new_cluster_of_an_address_can_be_given_up(open_page):
    app = open_page("scenario/jobs.py", source="Generate", **{**NEW, "nodes": "12"})
    assert "New scenario on 12 nodes with 8 A100 each" in shown(app).replace("*", "")
    app = app.button(key="new-cancel").click().run()
    assert "New scenario" not in shown(app)


IMPOSSIBLE: tuple[dict[str, str], ...] = (
    {"nodes": "0"}, {"nodes": "x"}, {"nodes": "8.5"}, {"gpus": "-1"}, {"gpus": "0"}, {"usd": "nan"}, {"usd": "-3"},
    {"gpu": "[a](http://b)"},
)  # fmt: skip


@pytest.mark.parametrize("bad", IMPOSSIBLE)
def test_an_address_with_an_impossible_cluster_is_no_new_scenario(open_page, bad):
    app = open_page("scenario/jobs.py", source="Generate", **{**NEW, **bad})
    assert not app.exception
    assert ("New scenario on" in shown(app).replace("*", "")) == ("gpu" in bad)


def test_trust_says_what_was_kept_and_that_there_is_nothing_to_replay(drop):
    app = drop(table("bad,abc,1,50,u"), "mine.csv")
    app.button(key="use-jobs").click().run()
    app = app.switch_page("pages/scenario/jobs.py").run()
    app = app.segmented_control(key="part").set_value("Trust").run()
    assert not app.exception
    assert "Kept **20** of 21 rows; repaired 0, dropped 1." in shown(app)
    assert "no recorded start times" in shown(app)
