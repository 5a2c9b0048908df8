"""Bundled data: the demo shows what it is meant to show, samples can be made again, documents' examples work."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.policies.registry import find
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from dlsched.workload import catalogue
from dlsched.workload.fill import missing
from dlsched.workload.import_report import offered_load
from dlsched.workload.load import load
from dlsched.workload.readers import read_trace
from dlsched.workload.scenario_file import from_document, read_scenario
from tools import make_samples

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "scenario-format.md"


@pytest.fixture(scope="module")
def demo():
    return load(catalogue.data_path("demo.toml"))


def test_demo_is_what_its_name_says(demo):
    assert demo.name == "Demo"
    assert len(demo.workload) == 1200
    assert demo.cluster.num_gpus == 64
    assert demo.cluster.usd_per_h == pytest.approx(64 * 2.10)
    assert demo.data_kind == "example"
    assert missing(demo) == []
    assert 0.75 < offered_load(demo.workload, demo.cluster) < 0.9
    assert 8 < demo.workload.submit_s[-1] / 86_400 < 11


def test_demo_is_the_same_on_every_machine(demo):
    assert demo.workload.content_hash == "8fb8ff2104b620b1d0bcf0259dd92b1a"


def test_demo_policies_differ_in_plain_sight(demo):
    waits_h = {}
    for key in ("fifo", "easy-backfill", "sjf"):
        spec = find(key)
        log = run_policy(prepare(demo, 0), spec.build(spec.parse({})), 0, use_kernel=False)  # compiling takes longer
        waits_h[key] = (log.job_first_start_s - demo.workload.submit_s) / 3600
    p95 = {key: np.percentile(values, 95) for key, values in waits_h.items()}
    assert p95["fifo"] > 2 * p95["easy-backfill"] > 4 * p95["sjf"]
    assert waits_h["sjf"].max() > 3 * waits_h["easy-backfill"].max()  # SJF starves some


@pytest.mark.parametrize("name", ["campus.csv", "shared-gpus.csv", "slurm-sacct.txt"])
def test_samples_are_made_again_byte_for_byte(name):
    assert make_samples.samples()[name] == (make_samples.SAMPLES / name).read_bytes()


def test_every_sample_is_listed_and_can_be_read():
    assert {sample.file for sample in catalogue.SAMPLES} == {f"samples/{name}" for name in make_samples.samples()}
    kept = [read_trace(catalogue.data_path(sample.file)).report.kept for sample in catalogue.SAMPLES]
    assert kept == [2000, 800, 293]


def test_sample_has_the_jobs_of_the_generator():
    jobs = read_trace(catalogue.data_path("samples/shared-gpus.csv")).workload
    assert set(jobs.gpus) == {0.25, 0.5, 1, 2, 4}
    assert set(jobs.columns()["gpu_types"]) == {"", "V100", "T4|V100"}


def test_vm_examples_are_priced_and_dated():
    types = catalogue.vm_examples()
    assert {"T4", "L4", "V100", "A100", "H100"} <= {vm.gpu_type for vm in types}
    assert all(vm.usd_per_h for vm in types)
    assert len({vm.name for vm in types}) == len(types)
    offers = catalogue.price_list(catalogue.EXAMPLES).offers
    assert {(offer.source, str(offer.as_of)) for offer in offers} == {("example price, not a quote", "2026-03-01")}
    assert all(offer.spot_usd_per_h < offer.usd_per_h for offer in offers if offer.spot_usd_per_h)
    assert "not quotes" in catalogue.EXAMPLES.note


def test_demo_has_the_price_of_the_example_type(demo):
    (vm,) = demo.cluster.vm_types
    assert vm in catalogue.vm_examples()


def test_table_2_of_the_paper_is_there_to_the_cent():
    offers = catalogue.price_list(catalogue.PAPER).offers
    assert [(offer.name, offer.gpu_type, offer.gpus, offer.usd_per_h) for offer in offers] == [
        ("NC6", "K80", 1, 0.56), ("NC12", "K80", 2, 1.13), ("NC24", "K80", 4, 2.25),
        ("NV6", "M60", 1, 0.62), ("NV12", "M60", 2, 1.24), ("NV24", "M60", 4, 2.48),
        ("NC48*", "K80", 8, 4.48), ("NV48*", "M60", 8, 4.96),
    ]  # fmt: skip
    assert [offer.name for offer in offers if offer.provider == "synthetic"] == ["NC48*", "NV48*"]


def test_missing_bundled_file_is_named():
    with pytest.raises(InputError, match=r"bundled file none\.toml"):
        catalogue.data_path("none.toml")


def blocks(language: str) -> list[bytes]:
    return [text.encode() for text in re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)]


def test_examples_of_the_document_work():
    first, cluster, last = blocks("toml")
    small, generated = read_scenario(first), read_scenario(last)
    mixed = from_document(tomllib.loads(first.decode()) | tomllib.loads(cluster.decode()))
    (same,) = (read_scenario(text) for text in blocks("json"))
    assert small.content_hash == same.content_hash
    assert small.workload.gpus.tolist() == [8, 16, 1]
    assert [pool.kind for pool in mixed.cluster.pools] == ["owned", "reserved", "on-demand", "spot"]
    assert np.isnan(small.workload.columns()["due_s"]).tolist() == [False, True, False]
    assert len(generated.workload) == 500


def test_document_names_every_key():
    from dlsched.domain.scenario import SimulationRules
    from dlsched.domain.workload import COLUMN
    from dlsched.workload.scenario_file import ScenarioDocument, WorkloadPart
    from dlsched.workload.studies.job_mix import JobClass

    text = DOCUMENT.read_text()
    models = (SimulationRules, ScenarioDocument, WorkloadPart, JobClass)
    keys = {field.alias or name for model in models for name, field in model.model_fields.items()} | set(COLUMN)
    assert [name for name in keys if f"`{name}`" not in text and not re.search(rf"\b{re.escape(name)}\b", text)] == []


def test_samples_are_named_by_sample_and_paths_stay_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(load("sample:campus").workload) == 2000
    assert load("sample:demo").content_hash == load(catalogue.data_path("demo.toml")).content_hash
    assert len(read_trace("sample:shared-gpus").workload) == 800
    assert catalogue.file_of("data/demo.toml") == Path("data/demo.toml")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert catalogue.file_of("~/log.csv") == tmp_path / "log.csv"
    for sample in ("demo", "quotas", "campus", "shared-gpus", "slurm-sacct"):
        assert catalogue.file_of(f"sample:{sample}").is_file()


@pytest.mark.parametrize("name", ["", "none", "../demo", "samples/campus"])
def test_a_sample_that_is_not_there_is_refused_with_those_that_are(name):
    with pytest.raises(InputError, match=rf"^sample:{name}: there is no such sample\. Samples are sample:demo, .*acct"):
        load(f"sample:{name}")
