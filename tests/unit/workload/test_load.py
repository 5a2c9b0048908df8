"""One call for every input."""

import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.load import load, scenario_of
from dlsched.workload.readers import ReadOptions, read_trace
from dlsched.workload.scenario_file import write_scenario
from tests.support.assumptions import words_of

TRACE = "job_id,submit_time_s,num_gpus,duration_s,vc\na,0,1,60,v\nb,1000,17,0,v\nc,1000,17,70,v\n"


def test_a_trace_gets_the_default_cluster(tmp_path):
    (tmp_path / "week.csv").write_text(TRACE)
    scenario = load(str(tmp_path / "week.csv"))
    assert (scenario.name, scenario.data_kind) == ("week", "trace")
    assert scenario.read == {"rows": 3, "kept": 2, "repaired": 0, "dropped": 1}
    assert [p.count for p in scenario.cluster.pools] == [3]
    assert words_of(scenario)[-1].startswith("Default cluster: 3 x 8-GPU node")
    kept_all = scenario_of(read_trace(tmp_path / "week.csv", options=ReadOptions(zero_run="one-second")), "week")
    assert kept_all.read["repaired"] == 1


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_scenario_files_are_read_as_such(tmp_path, suffix):
    (tmp_path / "t.csv").write_text(TRACE)
    scenario = load(tmp_path / "t.csv")
    write_scenario(scenario, tmp_path / f"s.{suffix}")
    assert load(tmp_path / f"s.{suffix}").content_hash == scenario.content_hash


def test_a_philly_log_may_be_called_json(tmp_path):
    (tmp_path / "log.json").write_text('[{"jobid": "x"}]')
    with pytest.raises(InputError, match="no known format"):
        load(tmp_path / "log.json")


def test_a_trace_in_json_is_no_scenario(tmp_path):
    (tmp_path / "notes.json").write_text('{"cells": [{"cell_type": "code"}]}')
    with pytest.raises(InputError, match="it is a Jupyter notebook"):
        load(tmp_path / "notes.json")
    (tmp_path / "small.json").write_text('{"name": "small"}')
    with pytest.raises(InputError, match="scenario, format_version"):
        load(tmp_path / "small.json")


def test_reading_choices_are_for_traces(tmp_path):
    (tmp_path / "week.csv").write_text(TRACE)
    assert load(tmp_path / "week.csv", ReadOptions(zero_run="one-second")).read["kept"] == 3
    write_scenario(load(tmp_path / "week.csv"), tmp_path / "s.json")
    assert load(tmp_path / "s.json", ReadOptions()).name == "week"
    with pytest.raises(InputError, match="it is a scenario, not a trace"):
        load(tmp_path / "s.json", ReadOptions(cpu_jobs="drop"))


@pytest.mark.parametrize(
    ("name", "says"), [("absent.csv", "no such file"), (".", "a folder is not a trace"), ("a\0b", "no such")]
)
def test_paths_that_are_no_files(tmp_path, name, says):
    with pytest.raises(InputError, match=says):
        load(f"{tmp_path}/{name}")


def test_public_traces(shared_data):
    philly = load(shared_data / "philly" / "philly_6c71a0.csv")
    assert len(philly.workload) == 9383
    assert philly.read == {"rows": 9383, "kept": 9383, "repaired": 0, "dropped": 0}
    assert philly.workload.columns()["group"][0] == "6c71a0"
    openb = load(shared_data / "openb" / "openb_pod_list_default.csv")
    assert openb.read == {"rows": 8152, "kept": 7255, "repaired": 0, "dropped": 897}
    elastic = load(shared_data / "elasticflow" / "philly_103959.csv")
    assert elastic.read["kept"] == 876
    assert elastic.workload.columns()["due_s"][0] == 771220
    assert elastic.workload.columns()["model"][0] == "vgg16"
