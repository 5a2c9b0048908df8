"""Job mix: shares and sizes as asked, draws that stay put when something else changes, load as computed."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.workload.import_report import offered_load
from dlsched.workload.studies.job_mix import JobMixSpec, at_load, expected_load, scale_to_load
from dlsched.workload.studies.registry import canonical, draw

SMALL = {
    "name": "small",
    "share": 3,
    "gpus": [1, 2, 0.5],
    "gpu_weights": [2, 1, 1],
    "run_time": {"kind": "lognormal", "median_s": 600, "p90_s": 3600},
    "due": {"kind": "run-times", "low": 1.5, "high": 4},
    "late_usd_per_h": [1, 3],
    "users": ["ann", "bob"],
}
LARGE = {
    "name": "large",
    "share": 1,
    "gpus": [8],
    "run_time": {"kind": "empirical", "values_s": [7200]},
    "due": {"kind": "fixed", "slack_s": 100},
    "group": "core",
    "priority": 5,
    "max_workers": 16,
}
CPU = {
    "name": "prepare",
    "share": 1,
    "gpus": [0],
    "cpus_per_worker": 4,
    "run_time": {"kind": "pareto", "shortest_s": 60},
}


def mix(*classes, jobs=4000, **arrivals):
    return {
        "kind": "job-mix",
        "jobs": jobs,
        "arrivals": {"kind": "poisson", "jobs_per_h": 30, **arrivals},
        "classes": list(classes or (SMALL, LARGE)),
    }


def test_same_seed_same_jobs_other_seed_others():
    assert draw(mix(), 7) == draw(mix(), 7)
    assert draw(mix(), 7) != draw(mix(), 8)


def columns_of(spec) -> dict[str, np.ndarray]:
    return draw(spec, 1).columns()


def test_shares_sizes_and_users():
    jobs = columns_of(mix(jobs=40_000))
    small = jobs["job_class"] == "small"
    assert small.mean() == pytest.approx(0.75, abs=0.01)
    values, counts = np.unique(jobs["workers"][small] * jobs["gpus_per_worker"][small], return_counts=True)
    assert values.tolist() == [0.5, 1, 2]
    assert counts / small.sum() == pytest.approx([0.25, 0.5, 0.25], abs=0.01)
    assert (jobs["user"][small] == "ann").mean() == pytest.approx(2 / 3, abs=0.01)  # skew 1: 1 to 1/2
    mean_s = JobMixSpec.model_validate(mix()).classes[0].run_time.mean_s
    assert jobs["work"][small].mean() == pytest.approx(mean_s, rel=0.05)


def test_columns_of_each_class():
    jobs = columns_of(mix())
    small, large = jobs["job_class"] == "small", jobs["job_class"] == "large"
    slack = (jobs["due_s"] - jobs["submit_s"]) / jobs["work"]
    assert 1.49 < slack[small].min() < 1.6
    assert 3.9 < slack[small].max() < 4.01
    assert jobs["due_s"][large] == pytest.approx(jobs["submit_s"][large] + 7300)
    weight_h = jobs["weight_usd_per_s"] * 3600
    assert 1 <= weight_h[small].min() < weight_h[small].max() <= 3
    assert np.isnan(weight_h[large]).all()
    assert np.isnan(jobs["priority"][small]).all()
    assert set(jobs["priority"][large]) == {5}
    assert set(jobs["group"][large]) == {"core"}
    assert set(jobs["group"][small]) == set(jobs["user"][large]) == {""}
    assert set(jobs["max_workers"][large]) == {16}
    assert jobs["max_workers"][small].tolist() == jobs["workers"][small].tolist()
    assert "min_workers" not in jobs
    assert {(w, g) for w, g in zip(jobs["workers"], jobs["gpus_per_worker"], strict=True)} == {
        (1, 0.5),
        (1, 1),
        (2, 1),
        (8, 1),
    }


def test_cpu_jobs_ask_for_cpus():
    jobs = columns_of(mix(SMALL, CPU))
    cpu_job = jobs["job_class"] == "prepare"
    assert set(jobs["gpus_per_worker"][cpu_job]) == {0}
    assert set(jobs["cpus_per_worker"][cpu_job]) == {4}
    assert set(jobs["cpus_per_worker"][~cpu_job]) == {0}


def test_no_column_that_no_class_needs():
    plain = {"name": "a", "share": 1, "run_time": {"kind": "empirical", "values_s": [1]}}
    assert set(draw(mix(plain), 1).columns()) == {
        "job_id",
        "submit_s",
        "work",
        "workers",
        "gpus_per_worker",
        "job_class",
    }


def test_longer_draw_begins_with_the_shorter():
    assert draw(mix(jobs=1000), 3).head(100) == draw(mix(jobs=100), 3)


def test_changed_share_moves_only_jobs_at_the_border():
    before, after = draw(mix(), 2), draw(mix({**SMALL, "share": 3.3}, LARGE), 2)
    moved = before.columns()["job_class"] != after.columns()["job_class"]
    assert before.submit_s.tolist() == after.submit_s.tolist()
    assert before.work[~moved].tolist() == after.work[~moved].tolist()
    assert set(after.columns()["job_class"][moved]) == {"small"}
    assert moved.mean() == pytest.approx(3.3 / 4.3 - 3 / 4, abs=0.006)


def test_changed_class_leaves_the_others_alone():
    before, after = draw(mix(), 2), draw(mix({**SMALL, "run_time": LARGE["run_time"], "users": ["eve"]}, LARGE), 2)
    large = before.columns()["job_class"] == "large"
    assert before.select(large) == after.select(large)


def test_times_are_whole_milliseconds():
    jobs = draw(mix(), 1)
    for values in (jobs.submit_s, jobs.work, jobs.columns()["due_s"]):
        assert (values == np.round(values, 3)).all()
    instant = {**LARGE, "run_time": {"kind": "empirical", "values_s": [1e-9]}}
    assert set(draw(mix(instant), 1).work) == {0.001}


def test_canonical_is_stable_and_draws_the_same():
    spec = mix()
    assert canonical(canonical(spec)) == canonical(spec)
    assert draw(canonical(spec), 4) == draw(spec, 4)


# ---- load ------------------------------------------------------------------------------------------

NODES = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=4),))


def test_expected_load_by_hand():
    # 30 jobs/h x (1/4 of 8 GPUs for 2 h = 4 GPU-h) = 120 GPU-h per hour on 32 GPUs; the rest uses no GPU
    spec = JobMixSpec.model_validate(mix({**CPU, "share": 3}, LARGE))
    assert expected_load(spec, NODES) == pytest.approx(120 / 32)


@pytest.mark.parametrize("kind", ["poisson", "batches", "bursts", "daily"])
def test_scaled_mix_has_the_load_in_the_mean(kind):
    scaled = scale_to_load(JobMixSpec.model_validate(mix(kind=kind, jobs=40_000)), NODES, 0.85)
    assert expected_load(scaled, NODES) == pytest.approx(0.85)
    assert offered_load(draw(scaled.model_dump(), 1), NODES) == pytest.approx(0.85, rel=0.05)


@pytest.mark.parametrize(
    ("spec", "cluster", "load", "message"),
    [
        (mix(), NODES, 0, "must be above 0"),
        (mix(CPU), NODES, 0.5, "no job of the mix uses a GPU"),
        (mix(), Cluster(slots=2, catalogue=(VmType(name="a"),)), 0.5, "the cluster has no GPUs"),
        (mix(), Cluster(pools=(Pool(vm=VmType(name="a", gpus=1024), count=10**5),)), 50, "at load 50, arrivals"),
    ],
)
def test_load_out_of_reach_is_refused(spec, cluster, load, message):
    with pytest.raises(InputError, match=message):
        scale_to_load(JobMixSpec.model_validate(spec), cluster, load)


@pytest.mark.parametrize("kind", ["poisson", "batches", "bursts", "daily"])
@pytest.mark.parametrize("nodes", [1, 30, 400])
def test_jobs_of_a_seed_have_the_load_they_were_asked_for_on_any_cluster(kind, nodes):
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=nodes),))
    spec = at_load(JobMixSpec.model_validate(mix(kind=kind, jobs=1200)), cluster, 0.85, 7)
    assert offered_load(draw(spec.model_dump(), 7), cluster) == pytest.approx(0.85, rel=0.02)
    assert spec.model_copy(update={"arrivals": None}) == JobMixSpec.model_validate(mix(jobs=1200)).model_copy(
        update={"arrivals": None}
    )


def test_jobs_that_come_at_once_keep_the_mean_load():
    alone = JobMixSpec.model_validate(mix(jobs=1))
    assert at_load(alone, NODES, 0.85, 1) == scale_to_load(alone, NODES, 0.85)


# ---- bad specifications ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "generator, kind: must be a known kind"),
        ({"kind": "job mix"}, "Try 'job-mix'"),
        (mix(jobs=0), "generator, jobs: .*got 0"),
        (mix(jobs=10**9), "generator, jobs: "),
        (mix(jobs=10**6, jobs_per_h=0.01), "over 100 years to arrive"),
        (mix({**SMALL, "share": 0}), r"classes\.0\.share: .*greater than 0"),
        (mix({**SMALL, "gpus": [1.5], "gpu_weights": []}), "GPU counts above 1 must be whole, got 1.5"),
        (mix({**SMALL, "gpu_weights": [1]}), "3 GPU counts need as many weights, got 1"),
        (mix({**SMALL, "gpu_weights": [0, 0, 0]}), "at least one GPU weight"),
        (mix({**SMALL, "late_usd_per_h": [3, 1]}), "must ascend"),
        (mix({**SMALL, "due": {"kind": "run-times", "low": 3, "high": 1}}), "high must be at least low"),
        (mix({**CPU, "cpus_per_worker": 0}), "need CPUs or memory"),
        (mix(SMALL, SMALL), "two classes are called 'small'"),
        (mix({**SMALL, "colour": "red"}), r"classes\.0\.colour: "),
    ],
)
def test_bad_specification_is_refused_in_plain_words(spec, message):
    with pytest.raises(InputError, match=message) as caught:
        draw(spec, 0)
    assert "Value error" not in str(caught.value)
